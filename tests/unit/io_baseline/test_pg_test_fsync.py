"""What is read of pg_test_fsync: the methods with one write, whether it came to its end or was ended."""

from __future__ import annotations

import pytest

from app import TOP
from app.io_baseline.fio import has_all_methods, parse_pg_test_fsync, pg_test_fsync_argv

DATA = TOP / "tests" / "data" / "io_baseline"


def recorded(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("pg_test_fsync-15.txt", [3806.645, 2032.793, 264.956, 1812.865]),
        ("pg_test_fsync-18-ended.txt", [7659.484, 51.888, 3.290, 23.666]),
        ("pg_test_fsync-15-tmpfs.txt", [746641.479, 412925.025, 571295.432, 762715.929]),
    ],
)
def test_single_write_methods_only(name: str, rates: list[float]) -> None:
    found = parse_pg_test_fsync(recorded(name))
    assert [each.method for each in found] == ["open_datasync", "fdatasync", "fsync", "open_sync"]
    assert [each.per_s for each in found] == rates
    assert has_all_methods(recorded(name))


def test_partial_output() -> None:
    text = recorded("pg_test_fsync-15.txt")
    begun = text[: text.index("        fsync   ")]
    assert [each.method for each in parse_pg_test_fsync(begun)] == ["open_datasync", "fdatasync"]
    assert not has_all_methods(begun)
    assert parse_pg_test_fsync(text[:100]) == ()
    assert parse_pg_test_fsync("") == ()


def test_unsupported_method_left_out() -> None:
    text = recorded("pg_test_fsync-15.txt")
    line = next(line for line in text.splitlines() if "open_datasync" in line and "ops" in line)
    without = text.replace(line, "        open_datasync                                   n/a*", 1)
    assert [each.method for each in parse_pg_test_fsync(without)] == ["fdatasync", "fsync", "open_sync"]


def test_file_location_and_one_second_each() -> None:
    argv = pg_test_fsync_argv("/bin/pg_test_fsync", "/srv/spare/synced")
    assert argv == ("/bin/pg_test_fsync", "--secs-per-test=1", "--filename=/srv/spare/synced")
