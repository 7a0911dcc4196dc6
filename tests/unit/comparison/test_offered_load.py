"""Load at a rate: kept or not, never a speed verdict unless neither kept the same rate."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.cli import main as command
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.offered_load import (
    common_load,
    kept_rate,
    speed_comparable,
)
from app.comparison.table import COMPARISON_COLUMNS, columns_for
from app.domain.columns import texts
from app.domain.json_value import Json
from app.export.comparison import comparison_as_json
from app.report.blocks import Report, ReportTable, Text, TextRole
from app.report.report import read_report
from app.runfile.metadata.offered_load import KEPT_SHARE, LoadKind, OfferedLoad, run_kept_rate
from tests.fix_window import Trial, write_trial

pytestmark = pytest.mark.usefixtures("own_folders")

Capture = pytest.CaptureFixture[str]
FAST = OfferedLoad(LoadKind.CLOSED, limit_is_known=True)
AT_200 = OfferedLoad(LoadKind.RATE, 200.0, None, limit_is_known=True)
LIMITED = OfferedLoad(LoadKind.RATE, 200.0, 100.0, limit_is_known=True)
RATE_UNKNOWN = OfferedLoad(LoadKind.RATE)


def figures(tps: float, seconds: float = 60, **more: float) -> dict[str, float | None]:
    return {"tps": tps, "transactions": tps * seconds, "duration_s": seconds, **more}


# --- kept or not ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "found", "kept"),
    [
        (AT_200, figures(200), True),
        (AT_200, figures(196), True),  # 12,000 arrivals: chance alone takes three times 110
        (AT_200, figures(190), False),
        (AT_200, figures(150, 3), False),
        (AT_200, figures(185, 3), None),  # of 600 chance may take 73
        (AT_200, figures(199, 3), True),
        (AT_200, figures(198.5, 3600), True),
        (AT_200, figures(196, 3600), False),
        (AT_200, figures(0), False),
        (AT_200, {"tps": 200.0}, None),
        (AT_200, figures(150, failed=3000.0), True),  # failed ones were done, too
        (LIMITED, figures(200, skipped=0.0), True),
        (LIMITED, figures(199, skipped=60.0), True),
        (LIMITED, figures(195, skipped=300.0), False),  # 2.5 % skipped
        (RATE_UNKNOWN, figures(200), None),
        (RATE_UNKNOWN, figures(200, skipped=0.0), True),
        (RATE_UNKNOWN, figures(200, skipped=3000.0), False),
    ],
)
def test_run_kept_rate_within_tolerance(
    load: OfferedLoad,
    found: Mapping[str, float | None],
    kept: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert run_kept_rate(load, found) is kept


@pytest.mark.parametrize("seconds", [5, 60, 900])
@pytest.mark.parametrize("rate", [20.0, 200.0, 5000.0])
def test_false_and_missed_rate_failures(seconds: int, rate: float) -> None:
    arrived = np.random.default_rng(7).poisson(rate * seconds, 2000)
    load = OfferedLoad(LoadKind.RATE, rate)
    found = [run_kept_rate(load, figures(count / seconds, seconds)) for count in arrived.tolist()]
    assert found.count(False) <= 0.003 * len(found)
    slower = [run_kept_rate(load, figures(0.8 * count / seconds, seconds)) for count in arrived.tolist()]
    assert rate * seconds < 500 or slower.count(False) > 0.95 * len(slower)


def test_one_failed_run_and_shares() -> None:
    runs = [figures(200, skipped=0.0, late=120.0), figures(100, skipped=6000.0, late=0.0)]
    found = kept_rate(LIMITED, runs)
    assert found.kept is False
    assert found.skipped == pytest.approx(6000 / 24000)
    assert found.late == pytest.approx(120 / 24000)
    assert kept_rate(LIMITED, [runs[0]]).kept is True
    assert kept_rate(FAST, runs).kept is None
    assert kept_rate(LIMITED, []).kept is None
    assert KEPT_SHARE == 0.99


def test_common_load_of_mixed_runs() -> None:
    assert common_load([AT_200, AT_200]) == AT_200
    assert common_load([AT_200, FAST]) == RATE_UNKNOWN
    assert common_load([FAST, OfferedLoad()]) == OfferedLoad()
    assert common_load([]) == OfferedLoad()


def test_speed_comparable_pairs() -> None:
    kept, lost = kept_rate(AT_200, [figures(200)]), kept_rate(AT_200, [figures(100)])
    free, unknown = kept_rate(FAST, [figures(900)]), kept_rate(OfferedLoad(), [figures(900)])
    other = kept_rate(OfferedLoad(LoadKind.RATE, 300.0, None, limit_is_known=True), [figures(100)])
    pairs = [(a, b) for a in (kept, lost, free, unknown, other) for b in (kept, lost, free, unknown, other)]
    comparable = [pair for pair in pairs if speed_comparable(*pair)]
    assert comparable == [
        *((lost, lost), (free, free), (free, unknown), (unknown, free), (unknown, unknown), (other, other))
    ]
    assert not speed_comparable(kept_rate(RATE_UNKNOWN, [figures(1)]), kept_rate(RATE_UNKNOWN, [figures(2)]))


# --- in sentences and tables ----------------------------------------------------------------------


def write(folder: Path, *runs: tuple[str, float | None, float, float | None]) -> list[Path]:
    """Write three runs for each (name, rate, TPS, limit)."""
    paths: list[Path] = []
    for repeat in range(3):
        for name, rate, tps, limit in runs:
            done = 60 * (tps + repeat / 10)
            printed: dict[str, Json] = {"tps": tps + repeat / 10, "transactions": done, "latency_ms": 3.0}
            if rate is not None:
                printed["lag_ms"] = 1.0
            if limit is not None:
                skipped = max(0.0, round(60 * (rate or 0) - done))
                printed |= {"skipped": skipped, "above_latency_limit": 60, "latency_limit_ms": limit}
            workload: dict[str, Json] = {
                "label": "tpcb-like",
                "clients": 4,
                "rate_tps": rate,
                "latency_limit_ms": limit,
            }
            trial = Trial(
                f"{name} #{repeat + 1}",
                name,
                repeat,
                tps + repeat / 10,
                60,
                more={"workload": workload, "pgbench": printed},
            )
            path = write_trial(folder / f"{len(paths):02}.footing", trial)
            _add_figures(path, printed)
            paths.append(path)
    return paths


def _add_figures(path: Path, printed: Mapping[str, Json]) -> None:
    names = {"transactions": "transactions", "skipped": "skipped", "above_latency_limit": "late"}
    rows = [(name, printed[key]) for key, name in names.items() if key in printed]
    rows += [("latency_limit_ms", printed.get("latency_limit_ms"))]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT OR REPLACE INTO summary VALUES (?, ?)", rows)


def compared(paths: Sequence[Path]) -> RunComparison:
    facts: list[RunFacts] = [read_run_facts(path) for path in paths]
    return compare_runs(facts, cut_s=0.0)


def test_kept_rates_no_speed_verdict(tmp_path: Path) -> None:
    found = compared(write(tmp_path, ("a", 200.0, 200.0, 100.0), ("b", 200.0, 199.5, 100.0)))
    one, two = found.verdicts
    assert one == (
        "a kept up with its target rate (200 per second); 0.0 % skipped; 0.5 % later than 100 ms; p99 4.25 "
        "ms over all offered transactions."
    )
    assert two.startswith(
        "b kept up with its target rate (200 per second); 0.2 % skipped; 0.5 % later than 100 ms"
    )
    assert not any("faster" in each or "slower" in each or "equal" in each for each in found.verdicts)
    assert [row.comparison for row in found.rows] == [None, None]
    columns = columns_for(COMPARISON_COLUMNS, found.rows)
    cells = [texts(columns, row) for row in found.rows]
    assert [(each["rate"], each["shares"], each["difference"]) for each in cells] == [
        ("kept", "0.5 %, 0.0 %", ""),
        ("kept", "0.5 %, 0.2 %", ""),
    ]


def test_capacity_only_for_unkept_rate(tmp_path: Path) -> None:
    runs = (("a", 200.0, 150.0, None), ("b", 200.0, 200.0, None), ("c", 200.0, 120.0, None))
    found = compared(write(tmp_path, *runs))
    one, two, three = found.verdicts
    assert one.startswith(
        "a did not keep up with its target rate (200 per second): its capacity is 150 TPS (95 % CI"
    )
    assert (
        two == "b kept up with its target rate (200 per second); p99 4.25 ms over all offered transactions."
    )
    assert "; c is 20 % slower than a (" in three
    assert three.startswith(
        "c did not keep up with its target rate (200 per second): its capacity is 120 TPS"
    )
    assert "allowing for" not in three  # one comparison is made, not two


@pytest.mark.parametrize("limit", [50.0, None])
def test_limited_rate_claims_no_capacity(tmp_path: Path, limit: float | None) -> None:
    found = compared(write(tmp_path, ("a", 200.0, 150.0, limit), ("b", 200.0, 120.0, limit)))
    for sentence in found.verdicts:
        assert ("capacity is" in sentence) is (limit is None)
        assert (": it reached " in sentence) is (limit is not None)
    assert (found.rows[1].comparison is None) is (limit is not None)


def test_different_loads_not_compared(tmp_path: Path) -> None:
    runs = (("a", None, 900.0, None), ("b", 200.0, 100.0, None), ("c", 300.0, 100.0, 50.0))
    paths = write(tmp_path, *runs, ("d", None, 800.0, None))
    found = compared(paths)
    two, three, four = found.verdicts
    assert two.endswith(
        "throughput is not compared, because the target rates differ (a without a target rate; b at "
        "200 per second)."
    )
    assert "c at 300 per second, limit 50 ms)." in three
    assert four.startswith("d is 11 % slower than a (")
    assert [row.comparison is None for row in found.rows] == [True, True, True, False]
    document = json.loads(json.dumps(comparison_as_json(found)))["configurations"]
    assert ["verdict" in each for each in document] == [False, False, False, True]
    assert document[1]["rate"] == {
        "rate_tps": 200.0,
        "limit_ms": None,
        "kept": False,
        "late": None,
        "skipped": None,
    }
    assert "sentence" in document[1]
    assert "sentence" not in document[0]


def test_no_rate_no_rate_columns(tmp_path: Path, capsys: Capture) -> None:
    paths = write(tmp_path, ("a", None, 900.0, None), ("b", None, 800.0, None))
    found = compared(paths)
    assert {column.id for column in COMPARISON_COLUMNS} - {
        column.id for column in columns_for(COMPARISON_COLUMNS, found.rows)
    } == {"condition", "rate", "shares", "chance", "reference", "rows_ratio", "compressed"}
    assert command.main(["compare", *map(str, paths)]) == 0
    assert "Late, skipped" not in capsys.readouterr().out


def test_disturbed_run_at_rate_still_compared(tmp_path: Path) -> None:
    paths = write(tmp_path, ("a", 200.0, 150.0, None), ("b", 200.0, 120.0, None), ("c", 200.0, 200.0, None))
    for path in paths[:3]:  # the first run of each; of "a" all
        _disturb(path)
    for path in paths[3::3]:
        _disturb(path)
    found = compared(paths)
    one, two, three = found.verdicts
    assert "its capacity is 150 TPS" in one
    assert one.endswith("; 3 of 3 runs were disturbed.")
    assert "its capacity is 120 TPS" in two
    assert "no verdict, because 4 of 6 runs were disturbed" in two
    assert three.startswith("c kept up with its target rate (200 per second)")


def _disturb(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        path_of_user = '$."cpu.user"'
        used = "UPDATE fact SET value = json_set(value, ?, 1.8) WHERE name = 'means'"
        connection.execute(used, (path_of_user,))


def _texts(report: Report, role: TextRole) -> list[str]:
    return [block.text for block in report.blocks if isinstance(block, Text) and block.role is role]


def test_command_line_and_report_say_the_same(tmp_path: Path, capsys: Capture) -> None:
    paths = write(tmp_path, ("a", 200.0, 200.0, 100.0), ("b", 200.0, 150.0, 100.0))
    assert command.main(["compare", *map(str, paths)]) == 0
    runs = capsys.readouterr().out
    assert "b did not keep up with its target rate (200 per second): it reached 150 TPS" in runs
    assert "NOT KEPT" in runs
    assert re.search(r"0\.5 %, 2[45]\.\d %", runs)
    report = read_report(paths)
    answers = _texts(report, TextRole.ANSWER)
    assert any(each.startswith("a kept up with its target rate (200 per second)") for each in answers)
    assert any(each.startswith("b did not keep up with its target rate (200 per second)") for each in answers)
    table = next(block for block in report.blocks if isinstance(block, ReportTable))
    assert [(row.cells["rate"], row.cells["difference"]) for row in table.rows] == [
        ("kept", "baseline"),
        ("NOT KEPT", ""),
    ]
    alone = read_report(paths[::2])
    assert any(each.startswith("a kept up with its target rate") for each in _texts(alone, TextRole.ANSWER))
