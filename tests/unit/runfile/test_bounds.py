"""What reading a run file may take: measured in steps of SQLite's machine, rows and bytes, never in time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.errors import CorruptRunFileError
from app.domain.metrics import METRICS, Sample
from app.domain.run import Phase, RunState
from app.runfile import bounds as runfile_bounds
from app.runfile.bounds import DEADLINE_S, STEPS_PER_BYTE, BoundedConnection, TooMuchError
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import LatencySecond, RunFileWriter
from tests.hostile_files import script, value_of_run
from tests.made_runs import finished_run, latencies

SECONDS = 400
HEADROOM = 8
"""So many times less than the bound is what a real file takes."""

FEWEST = 150_000
"""Steps below which nothing is compared: the bounds have an absolute part for small files."""


def write_hundred_series(path: Path) -> RunFileWriter:
    """Write so many series as a machine with several disks gives, each second."""
    metrics = [metric for metric in METRICS if metric.startswith(("device.", "process.", "cpu."))]
    series = [(metric, f"sd{letter}") for letter in "abcde" for metric in metrics][:100]
    encoded = latencies(5000)
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    with writer.transaction():
        writer.set_run({"id": "ab", "name": "long", "state": RunState.RUNNING.value})
        writer.begin_phase(Phase.MEASURE, 0)
        for number in range(SECONDS):
            t_ms = 1000 * (number + 1)
            samples = [(t_ms, Sample(metric, number + 0.25, name)) for metric, name in series]
            samples.append((t_ms, Sample("pgbench.tps", 5000.0 + number)))
            writer.add_tick(number, t_ms, lateness_us=100, missed=0, samples=samples)
            writer.put_latency_second(LatencySecond(t_ms, 5000, 9, 0, 0, partial=False, buckets=encoded))
    writer.close()
    return writer


@pytest.fixture(scope="module", params=["growing", "finished"])
def long_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "run.footing"
    write_hundred_series(path)
    if request.param == "finished":
        finish_run_file(path, RunState.DONE, {"tps": 1.0})
    return path


def read_all(path: Path) -> None:
    with RunFile(path) as run:
        for series in run.series()[:9]:
            run.samples(series.metric, series.instance)
        assert run.samples("pgbench.tps")[1].tolist() == [5000.0 + number for number in range(SECONDS)]
        run.totals(0, 10**9)
        assert len(list(run.latency_seconds())) == SECONDS
        run.live_ticks(after=-1)
        run.ticks()
        run.events()
        run.values  # noqa: B018 - read
        summarise(run)


def test_real_file_far_below_step_limit(long_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(each.stat().st_size for each in long_run.parent.glob("run.footing*"))
    monkeypatch.setattr(runfile_bounds, "STEPS", FEWEST)
    monkeypatch.setattr(runfile_bounds, "STEPS_PER_BYTE", STEPS_PER_BYTE / HEADROOM)
    monkeypatch.setattr(runfile_bounds, "_HANDLER_STEPS", 1_000)
    assert size > 500_000
    read_all(long_run)


def test_step_limit_per_statement(long_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFile(long_run) as run:
        with monkeypatch.context() as patch:
            patch.setattr(runfile_bounds, "STEPS", 0)
            patch.setattr(runfile_bounds, "STEPS_PER_BYTE", 0)
            with pytest.raises(CorruptRunFileError, match="more steps than any valid file"):
                run.totals(0, 10**9)
        assert run.totals(0, 10**9)


def test_deadline_exceeded(long_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFile(long_run) as run:
        monkeypatch.setattr(runfile_bounds, "DEADLINE_S", -1.0)
        with pytest.raises(CorruptRunFileError, match="could not be read within"):
            run.totals(0, 10**9)


def test_slow_consumer_not_stopped(long_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("app.runfile.bounds.time.monotonic", lambda: now_s)
    with RunFile(long_run) as run:
        found = 0
        for _ in run.latency_seconds():
            found += 1
            now_s += DEADLINE_S
            if found % 100 == 0:
                run.ticks()
    assert found == SECONDS


def _statements(path: Path) -> Iterator[str]:
    """Yield every statement that reading asks SQLite for."""
    lines: list[str] = []
    with RunFile(path) as run:
        run._file.connection.set_trace_callback(lines.append)
        run.facts("before")
        run.commands()
        run.marks()
        run.phases()
        run.unavailable()
        run.summary()
        run.output("x")
        run.partial_latency_seconds()
        run.series_numbers()
        run.samples("pgbench.tps")
        run.totals(0, 10)
        list(run.latency_seconds())
        run.live_ticks(after=-1)
        run.ticks()
        run.events()
        run.state  # noqa: B018 - read
    yield from lines


def test_statements_without_sorting_or_temp_tables(long_run: Path) -> None:
    statements = list(_statements(long_run))
    assert len(statements) >= 16
    with closing(sqlite3.connect(long_run)) as connection:
        for statement in statements:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            assert not [row for row in plan if "TEMP B-TREE" in str(row) or "AUTOMATIC" in str(row)]


def _open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def test_nothing_is_spilled_to_the_disk(tmp_path: Path) -> None:
    with RunFile(finished_run(tmp_path / "run.footing")) as run:
        connection = run._file.connection
        assert connection.execute("PRAGMA temp_store").fetchone() == (2,)  # MEMORY
        before = _open_files()
        cursor = connection.execute(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 60000)"
            " SELECT x FROM c ORDER BY -x"
        )
        assert cursor.fetchone() == (60000,)
        assert _open_files() == before
        cursor.close()


def test_rows_or_text_beyond_file_size(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "run.footing")
    bounded = BoundedConnection(path, "mode=ro")
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c LIMIT 100000"
    with pytest.raises(TooMuchError, match="it claims to hold more data than fits in a file of its size"):
        list(bounded.rows(numbers))
    with pytest.raises(TooMuchError, match="it claims to hold more data than fits in a file of its size"):
        list(bounded.rows(f"SELECT printf('%.*c', 1000, 'x') FROM ({numbers} OFFSET 0) LIMIT 3000"))
    with pytest.raises(sqlite3.DataError, match="too big"):
        list(bounded.rows("SELECT zeroblob(20000)", longest=10_000))
    assert list(bounded.rows("SELECT 1")) == [[(1,)]]
    bounded.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1e999", None),
        ("NaN", None),
        ("-Infinity", None),
        ("9223372036854775807", 2**63 - 1),
        ("9" * 400, None),
        ("9" * 5000, None),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        ('"\\ud83d"', "\\ud83d"),
        ('["\\udc00", 1.5]', ["\\udc00", 1.5]),
        ('"a\\"b\\\\"', 'a"b\\'),
        ('{"a": "\\ud800\\\\", "b": 12345678901234567}', {"a": "\\ud800\\", "b": 12345678901234567}),
    ],
)
def test_undecodable_values_none_surrogates_shown(tmp_path: Path, text: str, found: object) -> None:
    path = finished_run(tmp_path / "run.footing")
    value_of_run("more", text)(path)
    with RunFile(path) as run:
        assert run.values["more"] == found


def test_nesting_limited_to_sixty(tmp_path: Path) -> None:
    for depth, is_read in ((60, True), (61, False), (900, False), (100_000, False)):
        path = finished_run(tmp_path / f"{depth}.footing")
        value_of_run("more", "[" * depth + "]" * depth)(path)
        with RunFile(path) as run:
            if is_read:
                assert run.values["more"]
                continue
            with pytest.raises(CorruptRunFileError, match="nested deeper than 60"):
                _ = run.values


def test_a_long_flat_list_is_not_deep(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "run.footing")
    value_of_run("more", [[number] for number in range(5000)])(path)
    with RunFile(path) as run:
        assert len(list(run.values["more"])) == 5000  # type: ignore[arg-type]


def test_names_limited_in_length(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "run.footing")
    value_of_run("name", '"' + "x" * 1000 + '"')(path)
    with RunFile(path) as run:
        assert len(str(run.values["name"])) == 1000
    value_of_run("name", '"' + "x" * 1001 + '"')(path)
    with RunFile(path) as run, pytest.raises(CorruptRunFileError, match="a text is too long"):
        _ = run.values
    script("UPDATE series SET instance = printf('%.*c', 1001, 'x')")(path)
    with RunFile(path) as run, pytest.raises(CorruptRunFileError, match="a text is too long"):
        run.series()
