"""What the doctor says of the helper."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.cli.doctor.doctor import helper_check
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus


def test_a_helper_that_answers_is_told_with_its_version_and_what_it_takes_for_disks(
    bus: Serving, serve: Callable[..., Serving]
) -> None:
    process = serve("tests.bus.helper_stand_in", "works")
    assert next_line(process) == "ready"
    check = helper_check()
    assert (check.topic, check.works) == ("disks", True)
    assert "helper 0.0 answers" in check.message
    assert "TEST DEVICES" in check.message


def test_a_machine_without_the_helper_is_told_what_to_do(bus: Serving) -> None:
    check = helper_check()
    assert check.works is False
    assert check.message.endswith("not installed on this machine.")
    assert "packaging/helper install" in check.hint
