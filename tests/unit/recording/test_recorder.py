from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from app.analysis.labels import mark_words
from app.domain.errors import PgbenchError, RunFileError
from app.domain.run import Phase
from app.hosts.folders.descriptors import identity_of, strictly
from app.hosts.folders.private_folder import PrivateFolder, open_private
from app.postgres.pgbench.argv import TransactionLog
from app.postgres.pgbench.summary import parse_summary
from app.postgres.pgbench.transaction_log import LogFormat
from app.probes.base.probe import ProbeUnavailable
from app.probes.sampling.sampler import Tick
from app.process.starter import CommandOutcome, current_account
from app.recording.recorder import Recorder
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.reader import RunFile
from app.runfile.writer import RunFileWriter
from tests.unit.postgres.recordings import recording

PID = 4711


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    private = tmp_path / "private"
    private.mkdir()
    with strictly(str(private)) as folder:
        identity = identity_of(folder)
    return PrivateFolder(str(private), identity, current_account())


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(RunFileWriter(tmp_path / "a.footing"))
    recorder.set_run(RunMetadata(id="ab", state="running"))
    recorder.begin_phase(Phase.MEASURE)
    yield recorder
    recorder.writer.close()


def read(recorder: Recorder) -> RunFile:
    return RunFile(recorder.writer.path)


def write_log(folder: PrivateFolder, text: str) -> None:
    with Path(folder.path, "measure.stderr").open("a") as file:
        file.write(text)


def progress(tps: float) -> str:
    return f"progress: {time.time():.3f} s, {tps:.1f} tps, lat 0.275 ms stddev 0.136, 0 failed\n"


def log_line(latency_us: int = 500) -> str:
    second, micro = divmod(time.time_ns() // 1000, 1_000_000)
    return f"0 1 {latency_us} 0 {second} {micro}\n"


def follow(recorder: Recorder, folder: PrivateFolder) -> Path:
    write_log(folder, "")
    recorder.begin_pgbench(Phase.MEASURE, folder, time.monotonic())
    log = TransactionLog(f"{folder.path}/transactions")
    recorder.follow_transactions(log, PID, LogFormat())
    return Path(f"{log.prefix}.{PID}")


def tick(recorder: Recorder, number: int) -> None:
    recorder.tick(Tick(number, time.monotonic(), 0.0, 1.0, ()))


def stored(recorder: Recorder) -> list[float]:
    """TPS that somebody finds in the file now, whatever becomes of its writer."""
    with read(recorder) as run:
        values: list[float] = run.samples("pgbench.tps")[1].tolist()
    return values


def test_second_shown_once_written(recorder: Recorder, folder: PrivateFolder) -> None:
    """On a busy machine a second comes without a tick of the sampler, beside which it is written."""
    follow(recorder, folder)
    write_log(folder, progress(100))
    assert (recorder.flush(), stored(recorder)) == (None, [])
    tick(recorder, 0)
    shown = recorder.flush()
    assert (shown and shown.tps, stored(recorder)) == (100, [100])
    assert recorder.flush() is None
    write_log(folder, progress(200))
    assert (recorder.flush(), stored(recorder)) == (None, [100])
    write_log(folder, progress(300))
    shown = recorder.flush()
    assert (shown and shown.tps, stored(recorder)) == (300, [100, 200, 300])
    tick(recorder, 1)
    write_log(folder, progress(400))
    shown = recorder.flush()
    assert (shown and shown.tps, stored(recorder)) == (400, [100, 200, 300, 400])
    recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)


def test_damaged_transaction_log_loses_only_percentiles(recorder: Recorder, folder: PrivateFolder) -> None:
    log = follow(recorder, folder)
    log.write_text(log_line())
    write_log(folder, progress(100))
    tick(recorder, 0)
    assert recorder.flush() is not None
    log.write_text(log.read_text() + "this is no line of pgbench\n")
    write_log(folder, progress(200))
    tick(recorder, 1)
    second = recorder.flush()
    assert second is not None
    assert second.tps == 200
    write_log(folder, progress(300))
    tick(recorder, 2)
    assert recorder.flush() is not None
    recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)
    recorder.close()
    with read(recorder) as run:
        assert run.samples("pgbench.tps")[1].tolist() == [100, 200, 300]
        (event,) = [event for event in run.events() if event.kind == "latency-log"]
        assert "unknown from here on" in event.message
        assert "partial-latencies" in dict(run.marks())
        assert [source for _, source, _ in run.unavailable()] == ["transaction-log"]
        assert all(second.partial for second in run.latency_seconds())  # nothing says that they are whole


def test_whole_transaction_log_complete(recorder: Recorder, folder: PrivateFolder) -> None:
    follow(recorder, folder).write_text(log_line() * 3)
    recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)
    recorder.close()
    with read(recorder) as run:
        assert [(second.transactions, second.partial) for second in run.latency_seconds()] == [(3, False)]
        assert run.marks() == ()


def test_unreadable_server_log_noted(recorder: Recorder, folder: PrivateFolder) -> None:
    os.mkfifo(f"{folder.path}/server.log")
    recorder.follow_server_log(lambda: open_private(folder, "server.log"))
    recorder.flush()
    recorder.flush()
    recorder.close()
    with read(recorder) as run:
        ((_, source, reason),) = run.unavailable()
    assert source == "server.log"
    assert "cannot be read" in reason


def test_unknown_server_log_noted_once(recorder: Recorder) -> None:
    def open_log() -> IO[bytes]:
        raise ProbeUnavailable("started elsewhere")

    recorder.follow_server_log(open_log)
    recorder.flush()
    recorder.flush()
    recorder.keep_server_log(open_log)
    recorder.close()
    with read(recorder) as run:
        assert [found[1:] for found in run.unavailable()] == [("server.log", "started elsewhere")]
        assert run.output("server.log") is None


def test_missing_pgbench_output_is_its_error(recorder: Recorder, folder: PrivateFolder) -> None:
    with pytest.raises(PgbenchError, match="cannot be read"):
        recorder.output(folder, "measure.stdout", "measure.stdout")
    with pytest.raises(PgbenchError, match="cannot be read"):
        recorder.begin_pgbench(Phase.MEASURE, folder, time.monotonic())


def test_complaints_immediately_output_at_end(recorder: Recorder, folder: PrivateFolder) -> None:
    follow(recorder, folder)
    lines = [progress(1), "NOTICE:  hello\n", progress(2), "pgbench: error: client 0 script 0 aborted in x\n"]
    write_log(folder, "".join(lines[:3]))
    recorder.flush()
    with read(recorder) as run:
        assert run.output("measure.stderr") == lines[1]
    aborted = [recorder.client_aborted]
    write_log(folder, lines[3] + "the last has no end")
    recorder.flush()
    aborted.append(recorder.client_aborted)
    assert aborted == [False, True]
    text = recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=False)
    assert text == "".join(lines) + "the last has no end"
    with read(recorder) as run:
        assert run.output("measure.stderr") == text


def test_message_flood_bounded_keeps_progress(recorder: Recorder, folder: PrivateFolder) -> None:
    follow(recorder, folder)
    write_log(folder, "NOTICE:  again and again\n" * 50_000 + progress(7))
    tick(recorder, 0)
    second = recorder.flush()
    assert second is not None
    text = recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)
    assert len(text) < 300_000
    assert "progress: " in text
    assert "lines omitted" in text


def test_unknown_lines_mark_run(recorder: Recorder) -> None:
    output = recording(18, "plain").output
    recorder.pgbench_summary(parse_summary(output))
    with read(recorder) as run:
        assert list(run.marks()) == []
    recorder.pgbench_summary(parse_summary("server hops: 7\n" + output + "median latency = 3 ms\n" * 9))
    with read(recorder) as run:
        ((kind, reason),) = run.marks()
    assert kind == "unknown-lines"
    assert "10 lines" in reason
    assert "server hops: 7" in reason
    assert mark_words(kind) == "unknown lines"


def outcome(name: str) -> CommandOutcome:
    return CommandOutcome((name,), "jo", time.monotonic(), 0.1, 0, "", "")


def test_command_of_thread_written_by_main(recorder: Recorder) -> None:
    thread = threading.Thread(target=recorder.command, args=(outcome("initdb"),))
    thread.start()
    thread.join()
    with read(recorder) as run:
        assert run.commands() == ()
    recorder.flush()
    with read(recorder) as run:
        assert [command.argv for command in run.commands()] == [("initdb",)]


def test_unwritable_file_reported_once(recorder: Recorder) -> None:
    recorder.writer._connection.execute("PRAGMA query_only=ON")  # SQLite refuses as on a full disk
    recorder.command(outcome("rm"))
    with pytest.raises(RunFileError, match="cannot be written"):
        recorder.flush()
    recorder.flush()
    recorder.event("note", "nobody can write this")
    recorder.command(outcome("rm"))
    recorder.close()
    assert recorder.failure is not None
