"""What is written to the system's log cannot be forged from outside."""

from __future__ import annotations

import logging

import pytest

from app.helper.base.audit import RateLimitedLog, escape


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
def test_record_is_one_printable_line(outside: str, written: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "disk %s", (outside,), None)
    assert escape(record)
    assert record.getMessage() == written


def test_long_record_is_cut() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "disk %s", ("S" * 100_000,), None)
    assert escape(record)
    assert len(record.getMessage()) == 4000


def test_long_traceback_is_cut() -> None:
    with pytest.raises(OSError, match="x") as raised:
        _fail("\n" * 100_000 + "x" * 100_000)
    record = logging.LogRecord("x", logging.ERROR, "", 1, "", (), (raised.type, raised.value, raised.tb))
    assert escape(record)
    assert record.exc_text is not None
    lines = record.exc_text.split("\n")
    assert (len(lines), max(map(len, lines))) == (100, len("  | ") + 4000)


def test_traceback_line_is_no_record() -> None:
    forged = "x\npgfooting-helper: session of :1.7, user 0\x1b[2J\u2028pgfooting-helper: done"
    with pytest.raises(OSError, match="x") as raised:
        _fail(forged)
    why = (raised.type, raised.value, raised.tb)
    record = logging.LogRecord("x", logging.ERROR, "", 1, "it failed", (), why)
    assert escape(record)
    first, *rest = logging.Formatter("pgfooting-helper: %(message)s").format(record).split("\n")
    assert first == "pgfooting-helper: it failed"
    assert len(rest) > 3
    assert all(line.startswith("  | ") and line.isprintable() for line in rest)
    assert r"\x1b[2J" in rest[-2] + rest[-1]


def _fail(text: str) -> None:
    raise OSError(text)


def test_flood_is_written_in_part_and_counted() -> None:
    sparing = RateLimitedLog(most=2, period_s=60.0)
    wrote = [sparing.lets((7, "Execute"), now_s) for now_s in (0.0, 1.0, 2.0, 3.0)]
    assert wrote == [True, True, False, False]
    assert sparing.lets((8, "Execute"), 3.0), "another user's are another kind"
    assert sparing.lets((7, "Make"), 3.0)
    assert sparing.over(59.0) == []
    assert sparing.over(60.0) == [((7, "Execute"), 2)]
    assert sparing.lets((7, "Execute"), 60.5)
    assert sparing.over(63.0) == [], "those that were written need no line"
