from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.probes.sources import server_log
from app.probes.sources.server_log import (
    RecordReader,
    ServerEvent,
    ServerEventKind,
    ServerLogTail,
    checkpoint_values,
)

LOGS = Path(__file__).parents[2] / "data" / "server_log"
MAJORS = (13, 14, 15, 16, 17, 18)


def tail_of(path: Path) -> ServerLogTail:
    return ServerLogTail(lambda: path.open("rb", buffering=0))


def events_of(major: int) -> list[ServerEvent]:
    return tail_of(LOGS / f"{major}.log").finish()


def lines_of(major: int) -> list[str]:
    return (LOGS / f"{major}.log").read_text().splitlines()


@pytest.mark.parametrize("major", MAJORS)
def test_events_of_recorded_log(major: int) -> None:
    found = Counter(event.kind for event in events_of(major))
    lines = lines_of(major)

    def count(text: str) -> int:
        return sum(text in line for line in lines)

    assert found[ServerEventKind.CHECKPOINT_START] == count(" checkpoint starting:")
    assert found[ServerEventKind.CHECKPOINT_COMPLETE] == count(" checkpoint complete:")
    assert found[ServerEventKind.CHECKPOINTS_TOO_FREQUENT] == count("too frequently")
    assert found[ServerEventKind.AUTOVACUUM] == count(" vacuum of table ")
    assert found[ServerEventKind.AUTOANALYZE] == count(" analyze of table ")
    assert found[ServerEventKind.ERROR] == count(" ERROR: ") == 1
    assert found[ServerEventKind.WARNING] == count(" WARNING: ") >= 1
    assert found[ServerEventKind.CRASH] == 2
    assert found[ServerEventKind.FATAL] == 1


@pytest.mark.parametrize("major", MAJORS)
def test_every_checkpoint_has_all_its_numbers(major: int) -> None:
    counts = {"buffers", "wal_files_added", "wal_files_removed", "wal_files_recycled", "sync_files"}
    times = {"write_s", "sync_s", "total_s", "longest_s", "average_s"}
    expected = counts | times | {"distance_bytes", "estimate_bytes"}
    if major >= 18:
        expected.add("slru_buffers")
    completed = [event for event in events_of(major) if event.kind is ServerEventKind.CHECKPOINT_COMPLETE]
    assert completed
    assert all(event.values.keys() == expected for event in completed)


@pytest.mark.parametrize("major", MAJORS)
def test_the_causes_of_checkpoints_are_kept(major: int) -> None:
    starts = [event for event in events_of(major) if event.kind is ServerEventKind.CHECKPOINT_START]
    causes = {str(event.values["cause"]) for event in starts}
    assert {"wal", "time", "immediate force wait", "shutdown immediate"} <= causes


@pytest.mark.parametrize("major", MAJORS)
def test_autovacuum_has_its_table_and_times(major: int) -> None:
    works = {ServerEventKind.AUTOVACUUM, ServerEventKind.AUTOANALYZE}
    found = [event for event in events_of(major) if event.kind in works]
    assert any(event.values["table"] == "postgres.public.pgbench_accounts" for event in found)
    assert all(event.values.keys() >= {"table", "user_s", "system_s", "elapsed_s"} for event in found)


def test_numbers_of_a_checkpoint_of_18() -> None:
    text = (
        "checkpoint complete: wrote 39 buffers (1.0%), wrote 3 SLRU buffers; 0 WAL file(s) added, 1 removed, "
        "2 recycled; write=0.067 s, sync=0.031 s, total=0.108 s; sync files=39, longest=0.019 s, "
        "average=0.001 s; distance=10011 kB, estimate=10012 kB; lsn=0/3479058, redo lsn=0/20B4170"
    )
    assert checkpoint_values(text) == {
        "buffers": 39,
        "slru_buffers": 3,
        "wal_files_added": 0,
        "wal_files_removed": 1,
        "wal_files_recycled": 2,
        "sync_files": 39,
        "write_s": 0.067,
        "sync_s": 0.031,
        "total_s": 0.108,
        "longest_s": 0.019,
        "average_s": 0.001,
        "distance_bytes": 10011 * 1024,
        "estimate_bytes": 10012 * 1024,
    }


def test_event_time_and_process() -> None:
    error = next(event for event in events_of(18) if event.kind is ServerEventKind.ERROR)
    assert (error.epoch_s, error.pid) == (1795172012.527, 13013)
    assert error.text == "division by zero\nSTATEMENT:  select 1/0"


def test_statement_like_log_line() -> None:
    reader = RecordReader()
    lines = [
        "1795172012.527 [13013] ERROR:  syntax error",
        "1795172012.527 [13013] STATEMENT:  select",
        "\t1795172012.527 [13013] PANIC:  made up",
        "1795172012.600 [13014] LOG:  checkpoint starting: time",
    ]
    events = reader.feed(lines) + reader.flush()
    assert [event.kind for event in events] == [ServerEventKind.ERROR, ServerEventKind.CHECKPOINT_START]


@pytest.mark.parametrize("message", ["the database system is starting up", "connection to client lost"])
def test_provoked_messages_are_no_events(message: str) -> None:
    reader = RecordReader()
    reader.feed([f"1795172012.527 [13013] FATAL:  {message}"])
    assert reader.flush() == []


def test_a_very_long_message_is_cut() -> None:
    reader = RecordReader()
    reader.feed([f"1795172012.527 [13013] ERROR:  {'x' * 10_000}"])
    (event,) = reader.flush()
    assert len(event.text) == 2000


@given(st.lists(st.text(max_size=80), max_size=20))
def test_no_text_breaks_the_reader(lines: list[str]) -> None:
    reader = RecordReader()
    reader.feed(lines)
    reader.flush()


@given(st.data())
def test_any_cut_gives_same_events(data: st.DataObject) -> None:
    content = (LOGS / "15.log").read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    tail = tail_of(LOGS / "unused")
    events: list[ServerEvent] = []
    for begun, ended in zip([0, *cuts], [*cuts, len(content)], strict=True):
        events += tail._reader.feed(tail._lines(content[begun:ended]))
    events += tail._reader.flush()
    assert events == events_of(15)


def test_a_cut_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("1795172012.527 [1] WARNING:  bew")
    tail = tail_of(path)
    assert tail.poll() == []
    with path.open("a") as log:
        log.write("are\n")
    assert tail.poll() == []
    assert [event.text for event in tail.poll()] == ["beware"]
    tail.close()


def test_message_complete_at_next(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        "1795172012.527 [1] WARNING:  one\n1795172012.527 [1] HINT:  two\n1795172013.000 [2] LOG:  x\n"
    )
    tail = tail_of(path)
    assert [event.text for event in tail.poll()] == ["one\nHINT:  two"]
    tail.close()


def test_log_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    tail = tail_of(path)
    assert tail.poll() == []
    path.write_text("1795172012.527 [1] WARNING:  one")
    assert [event.text for event in tail.finish()] == ["one"]


def test_endless_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_log, "LONGEST_LINE", 100)
    path = tmp_path / "server.log"
    path.write_text(f"1795172012.527 [1] WARNING:  {'x' * 200_000}\n1795172012.600 [1] WARNING:  next\n")
    tail = tail_of(path)
    texts = [event.text for event in tail.finish()]
    assert [len(text) for text in texts] == [100 - len("1795172012.527 [1] WARNING:  "), 4]
