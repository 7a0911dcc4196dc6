"""Rate and limit as pgbench's own words prove them, and what they do to percentiles; of real recordings."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.cli import main as command
from app.comparison.comparison import compare_runs
from app.comparison.differences import describe_sameness, what_differs
from app.comparison.figures import compare_figure, format_mean
from app.importers.runs.assemble import workload_of
from app.postgres.pgbench.summary import parse_summary
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.runfile.metadata.typed_json import NOT_KNOWN
from app.runfile.summary import is_lower_bound
from tests.unit.importers.imports import RECORDED, bring_in, only, recorded_folder

pytestmark = pytest.mark.usefixtures("own_folders")


VERSIONS = ("13", "14", "15", "16", "17", "18")
LIMIT_MS = 100.0


def imported(folder: Path, version: str, scenario: str) -> RunFacts:
    found = only(bring_in(folder / "library", recorded_folder(folder / scenario, version, scenario)))
    return read_run_facts(found.path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("scenario", "load"),
    [
        ("plain", OfferedLoad(LoadKind.CLOSED, None, None, limit_is_known=True)),
        ("limit", OfferedLoad(LoadKind.CLOSED, None, 5.0, limit_is_known=True)),
        ("rate", OfferedLoad(LoadKind.RATE, None, None, limit_is_known=True)),
        ("rate_limit", OfferedLoad(LoadKind.RATE, None, 25.0, limit_is_known=True)),
    ],
)
def test_rate_and_limit_from_pgbench_output(
    tmp_path: Path, version: str, scenario: str, load: OfferedLoad
) -> None:
    facts = imported(tmp_path, version, scenario)
    assert facts.load == load
    values = {item.name: item.value for item in facts.properties if item.topic == "Workload"}
    assert values.get("target rate") == ("not known" if load.kind is LoadKind.RATE else None)
    assert values.get("latency limit, ms") == (f"{load.limit_ms:.0f}" if load.limit_ms else None)


def test_load_unknown_without_transactions() -> None:
    summary = parse_summary((RECORDED / "15" / "all_clients_aborted.out").read_text())
    assert summary.transactions == 0
    workload = workload_of(summary)
    assert (workload.rate_tps, workload.latency_limit_ms) == (NOT_KNOWN, NOT_KNOWN)


def test_rate_limited_and_unlimited_not_repeats(tmp_path: Path) -> None:
    runs = [imported(tmp_path, "15", "rate"), imported(tmp_path, "15", "plain")]
    differences = {each.name: [one.value for one in each.variants] for each in what_differs(runs).differences}
    assert differences["target rate"] == ["not known", "none"]


def test_unknown_rates_not_repeats(tmp_path: Path) -> None:
    one, two = imported(tmp_path / "a", "15", "rate"), imported(tmp_path / "b", "15", "rate")
    found = what_differs([one, two])
    assert not found.differences
    assert not found.are_repeats
    assert ("Workload", "target rate value") in {item.key for item in found.not_known}
    assert "unknown values: " in describe_sameness(found)


# --- A server that stands still for three of eight seconds (record-stopped.sh).


def logged(name: str) -> list[list[str]]:
    text = (RECORDED / "stopped" / f"{name}.log").read_text()
    return [line.split() for line in text.splitlines()]


def test_percentiles_count_skipped_beyond_limit(tmp_path: Path) -> None:
    facts = imported(tmp_path, "stopped", "rate_limit")
    lines = logged("rate_limit")
    # Plainly, beside the program: the limit is the least that a skipped transaction waited.
    waited = [LIMIT_MS if line[2] == "skipped" else int(line[2]) / 1000 for line in lines]
    assert waited.count(LIMIT_MS) == facts.summary["skipped"] == 285
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("p999", 99.9)):
        true_ms = float(np.percentile(waited, percent, method="inverted_cdf"))
        figure = f"latency_{name}_ms"
        assert facts.summary[figure] == pytest.approx(min(true_ms, LIMIT_MS), rel=0.01)
        assert is_lower_bound(facts.summary, figure) is (true_ms >= LIMIT_MS)
    done = [int(line[2]) / 1000 for line in lines if line[2] != "skipped"]
    assert np.percentile(done, 99) < LIMIT_MS  # what it was called before
    assert facts.summary["late"] == 3
    assert facts.summary["latency_limit_ms"] == LIMIT_MS
    assert not is_lower_bound(facts.summary, "latency_max_ms")


def test_bound_shown_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [imported(tmp_path, "stopped", name) for name in ("rate_limit", "rate")]
    found = compare_figure(compare_runs(runs), "latency_p99_ms")
    assert found.at_least == (True, False)
    assert format_mean(found, 0) == "≥ 100 ms"
    assert found.better(1) is None
    assert found.verdicts[1] == ""  # a latency limit is a condition
    p50 = compare_figure(compare_runs(runs), "latency_p50_ms")
    assert p50.at_least == (False, False)
    assert command.main(["show", runs[0].path]) == 0
    output = capsys.readouterr().out
    assert re.search(r"latency, 99th percentile +≥ 100 +ms", output)
    assert re.search(r"latency, 50th percentile +[\d.]+ +ms", output)
    assert command.main(["compare", *(run.path for run in runs)]) == 0
    assert "≥ 100 ms" in capsys.readouterr().out


def test_stall_visible_at_rate_hidden_closed_loop(tmp_path: Path) -> None:
    rate, closed = imported(tmp_path, "stopped", "rate"), imported(tmp_path, "stopped", "closed")
    assert rate.load.kind is LoadKind.RATE
    assert closed.load.kind is LoadKind.CLOSED
    assert (rate.summary["latency_p99_ms"] or 0) > 2500
    assert (closed.summary["latency_p99_ms"] or 1e9) < 50
    assert not is_lower_bound(rate.summary, "latency_p99_ms")


def test_old_files_recompute_percentiles_with_limit(tmp_path: Path) -> None:
    made = imported(tmp_path, "stopped", "rate_limit")
    with closing(sqlite3.connect(made.path)) as connection, connection:
        connection.execute("DELETE FROM summary WHERE name IN ('late', 'latency_limit_ms')")
        connection.execute("UPDATE summary SET value = 15 WHERE name = 'latency_p99_ms'")
    again = read_run_facts(Path(made.path))
    assert again.summary == made.summary
    with closing(sqlite3.connect(made.path)) as connection, connection:
        connection.execute("DELETE FROM summary WHERE name IN ('late', 'latency_limit_ms')")
        connection.execute(
            "UPDATE run SET value = json_remove(value, '$.latency_limit_ms')"
            " WHERE key IN ('pgbench', 'workload')"
        )
    unknown = read_run_facts(Path(made.path))
    assert unknown.load == OfferedLoad(LoadKind.RATE)
    assert unknown.summary["latency_p50_ms"] == made.summary["latency_p50_ms"]
    assert unknown.summary["latency_p99_ms"] is None
