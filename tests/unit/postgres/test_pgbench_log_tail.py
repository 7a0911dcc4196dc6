"""Following a transaction log that is being written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import PgbenchError
from app.postgres.pgbench import transaction_log as pgbench_log_tail
from app.postgres.pgbench.transaction_log import CHUNK_BYTES, LogFormat, TransactionBatch, TransactionLogTail
from tests.transactions import concatenate, unread_bytes

PID = 4242
MEMORY = Path("/dev/shm")  # where the logs of a run lie


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where holes can be punched."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def tail(folder: Path) -> Iterator[TransactionLogTail]:
    with closing(TransactionLogTail(str(folder), "log", PID, LogFormat())) as opened:
        yield opened


def _line(number: int) -> bytes:
    return b"0 %d 100 0 1795171066 %d\n" % (number, number)


def _append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def _read(tail: TransactionLogTail) -> list[int]:
    return [int(epoch_us % 1_000_000) for epoch_us in concatenate(tail.poll()).epoch_us]


def _read_up_to_us(tail: TransactionLogTail) -> int | None:
    return tail.read_up_to_us


def test_only_new_lines_are_read(folder: Path, tail: TransactionLogTail) -> None:
    log = folder / f"log.{PID}"
    assert _read(tail) == []
    _append(log, _line(1) + _line(2))
    assert _read(tail) == [1, 2]
    assert _read(tail) == []
    _append(log, _line(3))
    assert _read(tail) == [3]
    assert (tail.lines, tail.transactions, unread_bytes(tail)) == (3, 3, 0)


def test_a_cut_line_waits_for_its_rest(folder: Path, tail: TransactionLogTail) -> None:
    log = folder / f"log.{PID}"
    line = _line(7)
    _append(log, _line(6) + line[:9])
    assert _read(tail) == [6]
    _append(log, line[9:-1])
    assert _read(tail) == []
    _append(log, line[-1:])
    assert _read(tail) == [7]


def test_files_of_threads_may_appear_later(folder: Path, tail: TransactionLogTail) -> None:
    _append(folder / f"log.{PID}.1", _line(1))
    assert _read(tail) == [1]
    _append(folder / f"log.{PID}.12", _line(2))
    _append(folder / f"log.{PID}", _line(3))
    assert sorted(_read(tail)) == [2, 3]


@pytest.mark.parametrize(
    "name", ["log.4243", f"blog.{PID}", f"log.{PID}x", f"log.{PID}.1.2", f"log.{PID}.", "log"]
)
def test_files_of_others_are_not_read(folder: Path, tail: TransactionLogTail, name: str) -> None:
    _append(folder / name, _line(1))
    assert _read(tail) == []


def test_a_prefix_is_no_pattern(folder: Path) -> None:
    with closing(TransactionLogTail(str(folder), "l.g", PID, LogFormat())) as tail:
        _append(folder / f"log.{PID}", _line(1))
        _append(folder / f"l.g.{PID}", _line(2))
        assert _read(tail) == [2]


def test_outcomes_without_latency(folder: Path, tail: TransactionLogTail) -> None:
    _append(folder / f"log.{PID}", _line(1) + b"0 2 failed 0 1795171066 9\n")
    assert len(list(tail.poll())) == 1
    assert (tail.lines, tail.transactions) == (2, 1)


def test_what_was_read_gives_its_memory_back(folder: Path, tail: TransactionLogTail) -> None:
    log = folder / f"log.{PID}"
    text = b"".join(map(_line, range(40_000)))
    for _ in range(5):
        _append(log, text)
        assert len(_read(tail)) == 40_000
    status = log.stat()
    assert status.st_size == 5 * len(text)
    assert status.st_blocks * 512 <= 8192
    _append(log, _line(1))
    assert _read(tail) == [1]


def test_log_read_without_punching_holes(
    folder: Path, tail: TransactionLogTail, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def refuse(descriptor: int, offset: int, length: int) -> bool:
        tried.append(descriptor)
        return False

    monkeypatch.setattr(pgbench_log_tail, "_punch_hole", refuse)
    log = folder / f"log.{PID}"
    text = b"".join(map(_line, range(40_000)))
    for _ in range(2):
        _append(log, text)
        assert len(_read(tail)) == 40_000
    assert len(tried) == 1
    assert log.stat().st_blocks * 512 >= 2 * len(text)


def test_read_only_log(folder: Path, tail: TransactionLogTail, monkeypatch: pytest.MonkeyPatch) -> None:
    log = folder / f"log.{PID}"
    text = b"".join(map(_line, range(1000)))
    _append(log, text)
    really_open = os.open

    def open_for_reading_only(path: str, flags: int, *, dir_fd: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return really_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_for_reading_only)
    assert len(_read(tail)) == 1000
    assert log.read_bytes() == text  # fallocate() refused a descriptor for reading


def test_a_large_backlog_comes_in_pieces(folder: Path, tail: TransactionLogTail) -> None:
    text = b"".join(map(_line, range(100_000)))
    _append(folder / f"log.{PID}", text)
    _append(folder / f"log.{PID}.1", text)
    batches: list[TransactionBatch] = []
    for batch in tail.poll():
        batches.append(batch)
        assert tail.lines == sum(each.lines for each in batches)
    assert tail.lines == 200_000
    assert max(batch.lines for batch in batches) * len(_line(0)) <= 2 * CHUNK_BYTES
    assert len(batches) >= 2 * len(text) // (2 * CHUNK_BYTES)


def test_poll_left_early_loses_nothing(folder: Path, tail: TransactionLogTail) -> None:
    for suffix in ("", ".1", ".2"):
        _append(folder / f"log.{PID}{suffix}", b"".join(map(_line, range(100_000))))
    first = next(iter(tail.poll()))
    rest = concatenate(tail.poll())
    assert first.lines + rest.lines == tail.lines == 300_000


def test_seconds_complete_up_to_slowest_thread(folder: Path, tail: TransactionLogTail) -> None:
    assert _read_up_to_us(tail) is None
    _append(folder / f"log.{PID}", _line(1) + _line(20))
    _append(folder / f"log.{PID}.1", b"")
    _read(tail)
    assert _read_up_to_us(tail) is None
    _append(folder / f"log.{PID}.1", _line(5) + _line(7) + b"0 1 skipped 0 1795171066 9\n" + _line(30)[:-1])
    _read(tail)
    assert _read_up_to_us(tail) == 1795171066_000009
    _append(folder / f"log.{PID}.1", b"\n")
    _read(tail)
    assert _read_up_to_us(tail) == 1795171066_000020


def test_draining_reads_what_came_while_it_read(folder: Path, tail: TransactionLogTail) -> None:
    log = folder / f"log.{PID}"
    _append(log, _line(1))
    found = []
    for batch in tail.drain():
        found += (batch.epoch_us % 1_000_000).tolist()
        if found == [1]:
            _append(log, _line(2) + b"0 3 10")
    assert found == [1, 2]
    assert unread_bytes(tail) == len(b"0 3 10")


def test_damaged_line_names_file_and_place(folder: Path, tail: TransactionLogTail) -> None:
    _append(folder / f"log.{PID}", _line(1))
    _append(folder / f"log.{PID}.1", _line(1) * 3)
    assert len(_read(tail)) == 4
    _append(folder / f"log.{PID}", _line(2))
    _append(folder / f"log.{PID}.1", _line(2) + b"0 1 1795171066 7\n")
    for _ in range(2):  # it stays where it is
        with pytest.raises(PgbenchError, match=rf"log\.{PID}\.1 is damaged at byte {4 * len(_line(1))}"):
            _read(tail)
    assert tail.lines == 4


def test_missing_line_end_is_damage(folder: Path, tail: TransactionLogTail) -> None:
    _append(folder / f"log.{PID}", b"\0" * 5000)
    with pytest.raises(PgbenchError, match="damaged at byte 0"):
        _read(tail)


def test_a_symbolic_link_is_not_followed(folder: Path, tail: TransactionLogTail) -> None:
    victim = folder / "victim"
    victim.write_bytes(_line(1) * 1000)
    (folder / f"log.{PID}").symlink_to(victim)
    with pytest.raises(PgbenchError, match="cannot be read"):
        _read(tail)


def test_a_hard_link_is_not_touched(folder: Path, tail: TransactionLogTail) -> None:
    victim = folder / "victim"
    victim.write_bytes(_line(1) * 1000)
    (folder / f"log.{PID}").hardlink_to(victim)
    with pytest.raises(PgbenchError, match="not a regular file"):
        _read(tail)
    assert victim.read_bytes() == _line(1) * 1000


def test_pipe_refused_without_blocking(folder: Path, tail: TransactionLogTail) -> None:
    os.mkfifo(folder / f"log.{PID}")
    with pytest.raises(PgbenchError, match="not a regular file"):
        _read(tail)


def test_missing_folder_is_named(folder: Path) -> None:
    with pytest.raises(PgbenchError, match="nowhere"):
        TransactionLogTail(str(folder / "nowhere"), "log", PID, LogFormat())


def test_close_twice(folder: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    tail = TransactionLogTail(str(folder), "log", PID, LogFormat())
    _append(folder / f"log.{PID}", _line(1))
    assert _read(tail) == [1]
    tail.close()
    tail.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@given(st.lists(st.integers(1, 400), max_size=30), st.integers(0, 60))
def test_any_cut_reads_each_line_once(cuts: list[int], count: int) -> None:
    text = b"".join(map(_line, range(count)))
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name,
        closing(TransactionLogTail(name, "log", PID, LogFormat())) as tail,
    ):
        found: list[int] = []
        position = 0
        for cut in [*cuts, len(text)]:
            _append(Path(name) / f"log.{PID}", text[position : position + cut])
            position += cut
            found += _read(tail)
        assert found == list(range(count))
        assert unread_bytes(tail) == 0
