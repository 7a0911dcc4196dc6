"""packaging/helper install: what it asks of the machine before anything is put in place."""

from __future__ import annotations

import re

import pytest

from tests.unit.packaging.conftest import Scripts


@pytest.mark.parametrize("there", [True, False])
def test_without_polkit_nothing_is_installed(scripts: Scripts, there: bool) -> None:  # noqa: FBT001
    """Folders of polkit are there without it, too: systemd's and dpkg's packages have files in them."""
    service = scripts.fake / "org.freedesktop.PolicyKit1.service"
    if there:
        service.touch()
    text = (scripts.checkout / "packaging" / "helper").read_text()
    text, replaced = re.subn(r"(?m)^POLKIT=/usr/share/.*$", f"POLKIT='{service}'", text)
    assert replaced == 1
    text = text[: text.index("case ${1:-}:$# in")] + "check_needs; echo enough\n"
    script = scripts.checkout / "packaging" / "needs"
    script.write_text(text)
    outcome = scripts.run(["bash", str(script)])
    assert ("polkit (polkitd)" in outcome.stderr) is not there
    assert there or "nothing was changed" in outcome.stderr
    assert there or outcome.returncode == 1
