"""What is written to the system's log cannot be forged from outside."""

from __future__ import annotations

import logging

import pytest

from app.helper.audit import escape


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
