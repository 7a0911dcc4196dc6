from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.errors import CorruptRunFileError, NewerRunFileError, NotARunFileError, RunFileError
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.writer import LatencySecond, RunFileWriter, compact

SECONDS = 20


def write_live(path: Path, *, seconds: int = SECONDS) -> RunFileWriter:
    """A run that has measured for `seconds`."""
    writer = RunFileWriter(path, started_monotonic_s=0.0)
    with writer.transaction():
        writer.set_run({"id": "ab12", "name": "ext4", "state": RunState.RUNNING.value, "scale": 13})
        writer.begin_phase(Phase.MEASURE, 500)
        writer.add_command(CommandOutcome(("initdb", "-D", "x y"), "postgres", 0.25, 1.5, 0, "ok", ""))
        writer.add_facts("before", {"kernel": {"release": "6.1"}})
        writer.add_mark("unsafe", "fsync = off")
    for number in range(seconds):
        with writer.transaction():
            t_ms = 1000 * (number + 1)
            samples = [
                (t_ms, Sample("pgbench.tps", 100.0 + number)),
                (t_ms, Sample("device.writes", 3, "vda")),
            ]
            writer.add_tick(number, t_ms, lateness_us=120, missed=0, samples=samples)
            writer.put_latency_second(LatencySecond(t_ms, 100, 5000, 0, 0, number == seconds - 1, b"\x01"))
            writer.append_output("pgbench.stderr", f"progress: {number}\n")
    return writer


def latency_second(t_ms: int) -> LatencySecond:
    return LatencySecond(t_ms, 100, 5000, 0, 0, partial=True, buckets=b"\x01")


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    """Ask as plain sqlite3 does."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def fill_up(writer: RunFileWriter, written: list[int]) -> None:
    for number in range(1000):
        with writer.transaction():
            samples = [(number, Sample("device.writes", float(number), f"disk{i}")) for i in range(50)]
            writer.add_tick(number, number, lateness_us=0, missed=0, samples=samples)
        written.append(number)


def test_second_partial_until_log_passed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.footing"
    writer = RunFileWriter(path, started_monotonic_s=0.0)

    def partial_after(*t_ms: int, before_ms: int | None) -> list[int]:
        with writer.transaction():
            for moment in t_ms:
                writer.put_latency_second(latency_second(moment))
            writer.complete_latency_seconds(before_ms)
        with RunFile(path) as run:
            return [second.t_ms for second in run.latency_seconds() if second.partial]

    assert partial_after(1000, 2000, 3000, before_ms=2000) == [2000, 3000]
    assert partial_after(4000, before_ms=2000) == [2000, 3000, 4000]
    assert partial_after(5000, 6000, before_ms=5000) == [5000, 6000]
    assert partial_after(1000, before_ms=1000) == [1000, 5000, 6000]  # read anew, its thread is behind
    assert partial_after(before_ms=6000) == [6000]
    assert partial_after(before_ms=None) == []
    writer.close()


def test_growing_file_read_per_commit(tmp_path: Path) -> None:
    path = tmp_path / "a run.footing"
    writer = write_live(path)
    with RunFile(path) as run:
        t_ms, values = run.samples("pgbench.tps")
        assert t_ms.tolist() == [1000.0 * (second + 1) for second in range(SECONDS)]
        assert values.tolist() == [100.0 + second for second in range(SECONDS)]
        assert run.state is RunState.RUNNING
        with writer.transaction():
            writer.add_tick(
                SECONDS, 21000, lateness_us=0, missed=0, samples=[(21000, Sample("pgbench.tps", 7.5))]
            )
        assert run.samples("pgbench.tps", after_ms=20000)[1].tolist() == [7.5]
    writer.close()


def test_finished_file_alone_and_equal(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    with RunFile(path) as run:
        live = run.samples("device.writes", "vda")
    finish_run_file(path, RunState.DONE, {"tps": 109.5, "latency_p99_ms": None})
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.footing"]
    with RunFile(path) as run:
        assert run.samples("device.writes", "vda")[1].tolist() == live[1].tolist()
        assert run.state is RunState.DONE
        assert run.summary() == {"tps": 109.5, "latency_p99_ms": None}
        assert run.facts("before") == {"kernel": {"release": "6.1"}}
        assert run.marks() == (("unsafe", "fsync = off"),)
        command = run.commands()[0]
        assert (command.argv, command.started_ms, command.duration_ms) == (("initdb", "-D", "x y"), 250, 1500)
        seconds = list(run.latency_seconds())
        assert [second.partial for second in seconds] == [False] * (SECONDS - 1) + [True]
        assert (run.output("pgbench.stderr") or "").count("\n") == SECONDS
        assert run.totals(1000, 3000)["pgbench.tps", ""] == (203.0, 102.0, 2)
        run.check()


def test_reader_at_end_does_not_fail_run(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    looking = sqlite3.connect(path, check_same_thread=False)
    assert looking.execute("SELECT count(*) FROM run").fetchall()
    leaving = threading.Timer(0.2, looking.close)
    leaving.start()
    finish_run_file(path, RunState.DONE, {"tps": 109.5})
    leaving.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.footing"]


def test_finish_with_open_reader(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    with RunFile(path) as reader:
        assert reader.state is RunState.RUNNING
        finish_run_file(path, RunState.DONE, {"tps": 109.5}, readers_s=0.1)
        assert reader.values["state"] == RunState.DONE.value
    alone = tmp_path / "copy"
    alone.mkdir()
    (alone / "run.footing").write_bytes(path.read_bytes())
    with RunFile(alone / "run.footing") as run:
        run.check()
        assert run.summary() == {"tps": 109.5}


def test_finish_with_locked_journal_fails(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM run").fetchone()
        with pytest.raises(RunFileError, match="locked"):
            finish_run_file(path, RunState.DONE, {"tps": 109.5}, readers_s=0.1)
    finish_run_file(path, RunState.DONE, {"tps": 109.5})
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.footing"]


def test_finishing_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    finish_run_file(path, RunState.INCOMPLETE, {"tps": 1.0})
    first = ask(path, "SELECT * FROM samples ORDER BY 1, 2, 3")
    finish_run_file(path, RunState.INCOMPLETE, {"tps": 1.0})
    assert ask(path, "SELECT * FROM samples ORDER BY 1, 2, 3") == first


def test_sqlite3_reads_live_view(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    writer = write_live(path)
    query = "SELECT count(*), min(value) FROM samples WHERE metric = 'pgbench.tps'"
    assert ask(path, query) == [(SECONDS, 100.0)]
    writer.close()


def test_a_killed_writer_leaves_every_committed_second(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from app.domain.metrics import Sample
        from app.runfile.writer import (RunFileWriter)
        writer = RunFileWriter(Path(sys.argv[1]), started_monotonic_s=0.0)
        for number in range(8):
            with writer.transaction():
                sample = (number, Sample("pgbench.tps", 5))
                writer.add_tick(number, number, lateness_us=0, missed=0, samples=[sample])
        writer._connection.execute("BEGIN")
        writer.add_tick(99, 99, lateness_us=0, missed=0, samples=[(99, Sample("pgbench.tps", 5))])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    with RunFile(path) as run:
        assert run.samples("pgbench.tps")[0].tolist() == [float(number) for number in range(8)]


def test_text_and_other_database_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    path.write_text("hello" * 100)
    with pytest.raises(NotARunFileError, match="not a pgFooting run file"):
        RunFile(path)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (a)")
    connection.close()
    with pytest.raises(NotARunFileError, match="not a pgFooting run file"):
        RunFile(path)


def test_newer_format_names_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    finish_run_file(path, RunState.DONE, {})
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(NewerRunFileError, match="format 9; this pgFooting reads formats up to 2"):
        RunFile(path)


def test_missing_file_named(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="No such file"):
        RunFile(tmp_path / "none.footing")


def test_truncated_file_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.footing"
    write_live(whole, seconds=200).close()
    finish_run_file(whole, RunState.DONE, {"tps": 1.0})
    content = whole.read_bytes()
    for share in (0.1, 0.5, 0.99):
        cut = tmp_path / f"{share}.footing"
        cut.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(CorruptRunFileError, match="truncated"):
            RunFile(cut)


def test_damaged_pages_raise_own_error(tmp_path: Path) -> None:
    whole = tmp_path / "whole.footing"
    write_live(whole, seconds=200).close()
    finish_run_file(whole, RunState.DONE, {"tps": 1.0})
    content = whole.read_bytes()
    refused = 0
    for offset in range(4096, len(content), 4096):
        damaged = tmp_path / "damaged.footing"
        damaged.write_bytes(content[:offset] + b"\xa5" * 2048 + content[offset + 2048 :])
        try:
            with RunFile(damaged) as run:
                run.check()
                run.samples("pgbench.tps")
        except RunFileError:
            refused += 1
    assert refused > len(content) // 4096 * 0.8


def test_wrong_value_types_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE run SET value = 'not json' WHERE key = 'state'")
    connection.execute("UPDATE series SET metric = 'x'")
    connection.execute("UPDATE tick SET live = '[[1, 2'")
    connection.commit()
    connection.close()
    with RunFile(path) as run:
        with pytest.raises(CorruptRunFileError):
            _ = run.state
        with pytest.raises(CorruptRunFileError):
            run.samples("x")


def test_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    write_live(path).close()
    with RunFile(path) as run, pytest.raises(sqlite3.OperationalError, match="readonly|query_only"):
        list(run._rows("INSERT INTO mark VALUES ('a', 'b')"))


def test_read_only_folder(tmp_path: Path) -> None:
    folder = tmp_path / "medium"
    folder.mkdir()
    write_live(folder / "run.footing").close()
    finish_run_file(folder / "run.footing", RunState.DONE, {"tps": 5.0})
    folder.chmod(0o555)
    (folder / "run.footing").chmod(0o444)
    try:
        with RunFile(folder / "run.footing") as run:
            assert run.summary() == {"tps": 5.0}
    finally:
        folder.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs, which needs root")
def test_full_filesystem_keeps_earlier_seconds(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount") or "mount"
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], check=False).returncode:
        pytest.skip("no right to mount here")
    try:
        writer = RunFileWriter(folder / "run.footing", started_monotonic_s=0.0)
        written: list[int] = []
        with pytest.raises(RunFileError, match="disk is full.*Complete seconds so far are kept"):
            fill_up(writer, written)
        with RunFile(folder / "run.footing") as run:
            assert len(run.samples("device.writes", "disk7")[0]) == len(written) > 3
        writer.close()
    finally:
        subprocess.run(["umount", folder], check=True)


def test_compact_values_keep_six_digits() -> None:
    assert compact(3.0) == 3
    assert isinstance(compact(3.0), int)
    assert compact(1.23456789) == 1.23457
    assert json.dumps(compact(5e20)) == "5e+20"


def test_unregistered_metric_raises(tmp_path: Path) -> None:
    writer = RunFileWriter(tmp_path / "run.footing")
    with pytest.raises(KeyError), writer.transaction():
        writer.series_id("no.such.metric")
    writer.close()
