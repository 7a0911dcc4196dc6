"""Units, control groups and bus activation with a systemd of their own (tests/system/in-container)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.fix_machine import IN_GUEST
from tests.machine.batches import GUEST_PYTEST
from tests.machine.rig import CHECKOUT

pytestmark = [pytest.mark.machine, pytest.mark.short]

_LIMIT_S = 900


@pytest.mark.skipif(IN_GUEST, reason="a container is started from the host")
@pytest.mark.skipif(shutil.which("systemd-nspawn") is None, reason="systemd-nspawn is not installed")
@pytest.mark.timeout(_LIMIT_S)
def test_systemd_tests_pass_in_container() -> None:
    inner = ("env", "PGFOOTING_GUEST=yes", *GUEST_PYTEST, "tests/machine/inside_container.py")
    ended = subprocess.run(
        [CHECKOUT / "tests/system/in-container", *inner],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_LIMIT_S,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert " skipped" not in ended.stdout
