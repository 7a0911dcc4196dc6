from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.errors import PgbenchError, RunFileError
from app.hosts.folders.descriptors import identity_of, strictly
from app.hosts.folders.run_folders import RunFolders
from app.postgres.pgbench.argv import TransactionLog
from app.postgres.pgbench.transaction_log import LogFormat
from app.process.starter import CommandOutcome, current_account
from app.recording.recorder import Recorder
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.reader import RunFile
from app.runfile.writer import Phase, RunFileWriter

PID = 4711


@pytest.fixture
def site(tmp_path: Path) -> RunFolders:
    private = tmp_path / "private"
    private.mkdir()
    with strictly(str(private)) as folder:
        identity = identity_of(folder)
    return RunFolders(
        root=str(tmp_path),
        data_directory=str(tmp_path / "data"),
        socket_directory=str(tmp_path),
        private_directory=str(private),
        account=current_account(),
        limit_bytes=None,
        identity=identity,
        private_identity=identity,
    )


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(RunFileWriter(tmp_path / "a.footing"))
    recorder.set_run(RunMetadata(id="ab", state="running"))
    recorder.begin_phase(Phase.MEASURE)
    yield recorder
    recorder.writer.close()


def read(recorder: Recorder) -> RunFile:
    return RunFile(recorder.writer.path)


def say(site: RunFolders, text: str) -> None:
    with Path(site.private_directory, "measure.stderr").open("a") as file:
        file.write(text)


def progress(tps: float) -> str:
    return f"progress: {time.time():.3f} s, {tps:.1f} tps, lat 0.275 ms stddev 0.136, 0 failed\n"


def log_line(latency_us: int = 500) -> str:
    second, micro = divmod(time.time_ns() // 1000, 1_000_000)
    return f"0 1 {latency_us} 0 {second} {micro}\n"


def follow(recorder: Recorder, site: RunFolders) -> Path:
    say(site, "")
    recorder.begin_pgbench(Phase.MEASURE, site, time.monotonic())
    log = TransactionLog(f"{site.private_directory}/transactions")
    recorder.follow_transactions(log, PID, LogFormat())
    return Path(f"{log.prefix}.{PID}")


def test_a_damaged_transaction_log_costs_percentiles_and_not_the_run(
    recorder: Recorder, site: RunFolders
) -> None:
    log = follow(recorder, site)
    log.write_text(log_line())
    say(site, progress(100))
    assert recorder.flush() is not None
    log.write_text(log.read_text() + "this is no line of pgbench\n")
    say(site, progress(200))
    second = recorder.flush()
    assert second is not None
    assert second.tps == 200
    say(site, progress(300))
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


def test_a_whole_transaction_log_is_complete_at_the_end(recorder: Recorder, site: RunFolders) -> None:
    follow(recorder, site).write_text(log_line() * 3)
    recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)
    recorder.close()
    with read(recorder) as run:
        assert [(second.transactions, second.partial) for second in run.latency_seconds()] == [(3, False)]
        assert run.marks() == ()


def test_a_server_log_that_cannot_be_read_is_noted_and_not_an_error_of_the_run_file(
    recorder: Recorder, site: RunFolders
) -> None:
    os.mkfifo(f"{site.private_directory}/server.log")
    recorder.follow_server_log(f"{site.private_directory}/server.log")
    recorder.flush()
    recorder.flush()
    recorder.close()
    with read(recorder) as run:
        ((_, source, reason),) = run.unavailable()
    assert source == "server.log"
    assert "cannot be read" in reason


def test_output_that_is_missing_is_an_error_of_pgbench(recorder: Recorder, site: RunFolders) -> None:
    with pytest.raises(PgbenchError, match="cannot be read"):
        recorder.output(site, "measure.stdout", "measure.stdout")
    with pytest.raises(PgbenchError, match="cannot be read"):
        recorder.begin_pgbench(Phase.MEASURE, site, time.monotonic())


def test_complaints_are_stored_at_once_and_everything_verbatim_at_the_end(
    recorder: Recorder, site: RunFolders
) -> None:
    follow(recorder, site)
    lines = [progress(1), "NOTICE:  hello\n", progress(2), "pgbench: error: client 0 script 0 aborted in x\n"]
    say(site, "".join(lines[:3]))
    recorder.flush()
    with read(recorder) as run:
        assert run.output("measure.stderr") == lines[1]
    aborted = [recorder.client_aborted]
    say(site, lines[3] + "the last has no end")
    recorder.flush()
    aborted.append(recorder.client_aborted)
    assert aborted == [False, True]
    text = recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=False)
    assert text == "".join(lines) + "the last has no end"
    with read(recorder) as run:
        assert run.output("measure.stderr") == text


def test_a_flood_of_messages_is_bounded_and_costs_no_progress_line(
    recorder: Recorder, site: RunFolders
) -> None:
    follow(recorder, site)
    say(site, "NOTICE:  again and again\n" * 50_000 + progress(7))
    second = recorder.flush()
    assert second is not None
    text = recorder.end_pgbench(Phase.MEASURE, time.monotonic(), complete=True)
    assert len(text) < 300_000
    assert "progress: " in text
    assert "more lines were left out" in text


def outcome(name: str) -> CommandOutcome:
    return CommandOutcome((name,), "jo", time.monotonic(), 0.1, 0, "", "")


def test_a_command_of_another_thread_is_written_by_the_main_thread(recorder: Recorder) -> None:
    thread = threading.Thread(target=recorder.command, args=(outcome("initdb"),))
    thread.start()
    thread.join()
    with read(recorder) as run:
        assert run.commands() == ()
    recorder.flush()
    with read(recorder) as run:
        assert [command.argv for command in run.commands()] == [("initdb",)]


def test_a_file_that_cannot_be_written_is_told_once_and_never_disturbs_the_end(recorder: Recorder) -> None:
    recorder.writer._connection.execute("PRAGMA query_only=ON")  # SQLite refuses as on a full disk
    recorder.command(outcome("rm"))
    with pytest.raises(RunFileError, match="cannot be written"):
        recorder.flush()
    recorder.flush()
    recorder.event("note", "nobody can write this")
    recorder.command(outcome("rm"))
    recorder.close()
    assert recorder.failure is not None
