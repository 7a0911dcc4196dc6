"""Tests that run inside of the guest as somebody else than root."""

from __future__ import annotations

import os
import pwd

import pytest

pytestmark = pytest.mark.machine


@pytest.mark.inside("virtio:64M", account="seat")
def test_one_may_be_the_user_at_the_machine() -> None:
    assert pwd.getpwuid(os.getuid()).pw_name == "tester"
    assert os.environ["XDG_SEAT"] == "seat0"


@pytest.mark.inside("virtio:64M", account="user")
def test_one_may_be_a_user_from_elsewhere() -> None:
    assert pwd.getpwuid(os.getuid()).pw_name == "tester"
    assert "XDG_SEAT" not in os.environ
