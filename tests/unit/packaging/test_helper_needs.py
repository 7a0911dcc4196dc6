"""packaging/helper install: what it asks of the machine before anything is put in place."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.unit.packaging.conftest import Scripts


def called(scripts: Scripts, code: str, *, polkit: str = "/nonexistent") -> subprocess.CompletedProcess[str]:
    """Runs `code` with the functions of packaging/helper, for which polkit's file is `polkit`."""
    text = (scripts.checkout / "packaging" / "helper").read_text()
    text, replaced = re.subn(r"(?m)^POLKIT=/usr/share/.*$", f"POLKIT='{polkit}'", text)
    assert replaced == 1
    script = scripts.checkout / "packaging" / "needs"
    script.write_text(text[: text.index("case ${1:-}:$# in")] + code + "\n")
    return scripts.run(["bash", str(script)])


@pytest.mark.parametrize("there", [True, False])
def test_without_polkit_nothing_is_installed(scripts: Scripts, there: bool) -> None:  # noqa: FBT001
    """Folders of polkit are there without it, too: systemd's and dpkg's packages have files in them."""
    service = scripts.fake / "org.freedesktop.PolicyKit1.service"
    if there:
        service.touch()
    outcome = called(scripts, "check_needs; echo enough", polkit=str(service))
    assert ("polkit (polkitd)" in outcome.stderr) is not there
    assert there or "nothing was changed" in outcome.stderr
    assert there or outcome.returncode == 1


@pytest.mark.parametrize("state", ["half-installed", "unpacked", "half-configured", "triggers-pending"])
def test_refused_over_half_installed_package(scripts: Scripts, state: str) -> None:
    """dpkg knows no file of it yet, and the package would refuse to go on over a copy from a checkout."""
    outcome = called(scripts, f"dpkg-query() {{ printf '{state}'; }}; refuse_half_installed; echo free")
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert (
        f"belongs to the package pgfooting-helper, which is {state}. Nothing was changed." in outcome.stderr
    )


@pytest.mark.parametrize("answer", ["printf not-installed", "printf config-files", "return 1"])
def test_allowed_without_package(scripts: Scripts, answer: str) -> None:
    outcome = called(scripts, f"dpkg-query() {{ {answer}; }}; refuse_half_installed; echo free")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "free\n", "")


def test_half_package_checked_before_writing(scripts: Scripts) -> None:
    text = (scripts.checkout / "packaging" / "helper").read_text()
    body = text[text.index("install_helper() {") :]
    assert body.index("\n  refuse_half_installed\n") < body.index("mkdir --parents")
