from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.campaign_file.kinds import parse_duration, parse_size
from app.domain.text import GIB, KIB, MIB, format_duration, format_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4096 B", 4096),
        ("200 MB", 200_000_000),
        ("200mb", 200_000_000),
        ("2GiB", 2 * GIB),
        ("1.5 KiB", 1536),
        (" 3 TB ", 3_000_000_000_000),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text", ["GiB", "-1", "1 2", "1,5 GiB", "1e9", "nan", "inf", "5 parsecs", "٣ MB", " "]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("250ms", 0.25), ("5 min", 300), ("1h", 3600), ("1.5 h", 5400)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["s", "-3s", "3 m", "1d", "1:30", "infinity", " "])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_duration(text)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "0.999 KiB"),
        (999, "999 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1023 * KIB, "0.999 MiB"),
        (int(1.46 * GIB), "1.46 GiB"),
        (1000 * MIB, "0.977 GiB"),
        (5000 * 1024 * GIB, "5000 TiB"),
    ],
)
def test_sizes_are_written_short(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


@given(st.integers(0, 2**60))
def test_format_size_within_rounding(size_bytes: int) -> None:
    number, unit = format_size(size_bytes).split()
    assert "e" not in number
    assert parse_size(f"{number} {unit}") == pytest.approx(size_bytes, rel=0.025, abs=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00"), (59.4, "00:59"), (59.6, "01:00"), (3599, "59:59"), (3600, "1:00:00"), (90061, "25:01:01")],
)
def test_durations_are_written_as_clocks(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
