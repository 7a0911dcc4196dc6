"""What is written to the system's log cannot be forged from outside."""

from __future__ import annotations

import logging

import pytest

from app.helper.audit import Sparing, escape


@pytest.mark.parametrize(
    ("outside", "written"),
    [
        ("S1\nNov 21 kernel: all is well", r"disk S1\nNov 21 kernel: all is well"),
        ("\x1b[2J", r"disk \x1b[2J"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}", r"disk \u202e"),
        (
            "Modell \N{LATIN SMALL LETTER U WITH DIAERESIS}",
            "disk Modell \N{LATIN SMALL LETTER U WITH DIAERESIS}",
        ),
    ],
)
def test_a_record_is_one_line_of_printable_characters(outside: str, written: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "disk %s", (outside,), None)
    assert escape(record)
    assert record.getMessage() == written


def test_a_flood_of_one_kind_is_written_in_part_and_counted() -> None:
    sparing = Sparing(most=2, period_s=60.0)
    wrote = [sparing.lets((7, "Execute"), now_s) for now_s in (0.0, 1.0, 2.0, 3.0)]
    assert wrote == [True, True, False, False]
    assert sparing.lets((8, "Execute"), 3.0), "another user's are another kind"
    assert sparing.lets((7, "Make"), 3.0)
    assert sparing.over(59.0) == []
    assert sparing.over(60.0) == [((7, "Execute"), 2)]
    assert sparing.lets((7, "Execute"), 60.5)
    assert sparing.over(63.0) == [], "those that were written need no line"
