"""The kernel's own words are told where a program only knows that something failed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from app.storage.system.programs import KernelLog, kernel_log, naming_pattern

RECORDS = (
    b"6,1204,5127348821,-;xfs: Unknown parameter 'nobarrier'\n",
    b"4,1205,5127348900,-;EXT4-fs (loop0p1): bad\x1b[31m option\n SUBSYSTEM=block\n DEVICE=b7:0\n",
)


class Pipe:
    """A pipe in packet mode: one record a read, as the kernel's log gives them."""

    def __init__(self, records: tuple[bytes, ...]) -> None:
        self.reading, self.writing = os.pipe2(os.O_DIRECT | os.O_NONBLOCK)
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        for record in records:
            os.write(self.writing, record)

    def close(self) -> None:
        os.close(self.reading)
        os.close(self.writing)


def test_records_are_clean_single_lines() -> None:
    pipe = Pipe(RECORDS)
    found = KernelLog(pipe.reading).lines()
    pipe.close()
    assert found == ("xfs: Unknown parameter 'nobarrier'", "EXT4-fs (loop0p1): bad?[31m option")


def test_only_the_last_lines_are_told() -> None:
    pipe = Pipe(tuple(b"6,1,2,-;line %d\n" % number for number in range(9)))
    found = KernelLog(pipe.reading).lines()
    pipe.close()
    assert found == ("line 6", "line 7", "line 8")


def test_denied_log_is_silent(tmp_path: Path) -> None:
    with kernel_log(tmp_path / "none") as messages:
        assert messages.lines() == ()
        assert messages.lines_about(("sda",)) == ()


def test_nobody_waits_for_the_next_message(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.touch()
    with kernel_log(log):
        opened = [int(fd.name) for fd in Path("/proc/self/fd").iterdir() if fd.resolve() == log]
        flags = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in opened]
    assert [each & os.O_NONBLOCK for each in flags] == [os.O_NONBLOCK]


def test_reading_stops_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter((b"6,1,2,-;last\n", b""))
    monkeypatch.setattr(os, "read", lambda _fd, _size: next(answers))
    assert KernelLog(0).lines() == ("last",)


def test_what_was_said_before_is_not_told(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text("6,1,2,-;before\n")
    with kernel_log(log) as messages, log.open("a") as file:
        assert messages.lines() == ()
        file.write("6,2,3,-;meanwhile\n")
        file.flush()
        assert messages.lines() == ("meanwhile",)


def test_lines_about_the_disks_once() -> None:
    lines = (
        "EXT4-fs (loop1p1): of a partition",
        "I/O error, dev loop1, sector 1",
        "I/O error, dev loop10, sector 1",
        "I/O error, dev sda11, sector 1",
        "I/O error, dev xloop1, sector 1",
        "usb 1-1: new device: the secret of somebody else",
        "I/O error, dev nvme0n1p1, " + "x" * 400,
    )
    pipe = Pipe(tuple(f"3,1,2,-;{line}\n".encode() for line in lines))
    log = KernelLog(pipe.reading)
    found = log.lines_about(("loop1", "nvme0n1"))
    again = log.lines_about(("loop1", "nvme0n1"))
    pipe.close()
    assert [line[:30] for line in found] == [line[:30] for line in (lines[0], lines[1], lines[6])]
    assert max(map(len, found)) == 300
    assert again == ()


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [("sda", "sda2", "sdap2"), ("nvme0n1", "nvme0n1p2", "nvme0n12"), ("dm-0", "dm-0p1", "dm-01")],
)
def test_partition_suffix_after_a_digit(name: str, own: str, other: str) -> None:
    assert naming_pattern(name).fullmatch(own)
    assert not naming_pattern(name).search(other)


def test_newest_twenty_lines_of_a_disk() -> None:
    pipe = Pipe(tuple(b"3,1,2,-;I/O error, dev sdb, sector %d\n" % number for number in range(50)))
    found = KernelLog(pipe.reading).lines_about(("sdb",))
    pipe.close()
    assert found == tuple(f"I/O error, dev sdb, sector {number}" for number in range(30, 50))
