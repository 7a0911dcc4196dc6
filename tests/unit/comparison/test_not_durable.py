"""What is not durable stands apart: behind all others, never a baseline, never the fastest, and says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.cli import main as command
from app.comparison.comparison import compare_runs
from app.comparison.factors import Dimension, sweep
from app.comparison.figures import compare_figure
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn
from app.domain.columns import column_of
from app.domain.json_value import Json
from app.domain.options.checks import RULES
from app.export.comparison import comparison_as_json
from app.report.blocks import BarFigure, Key, Report, ReportTable, Text, TextRole
from app.report.report import read_picture, read_report
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.fix_window import Trial, write_trial

pytestmark = pytest.mark.usefixtures("own_folders")

Capture = pytest.CaptureFixture[str]

OFF = (("fsync", "off"),)
TPS = {"off": 3000.0, "ext4": 1000.0, "xfs": 1100.0}
NAMES = tuple(TPS)


def write(folder: Path, names: Sequence[str] = NAMES, lost: Sequence[str] = ("off",)) -> list[Path]:
    trials = [
        Trial(f"{name} #{repeat}", name, repeat, TPS[name] + repeat, settings=OFF if name in lost else ())
        for repeat in range(3)
        for name in names
    ]
    return [write_trial(folder / f"{number:02}.footing", trial) for number, trial in enumerate(trials)]


def read(folder: Path, *arguments: Sequence[str]) -> list[RunFacts]:
    return [read_run_facts(path) for path in write(folder, *arguments)]


@pytest.mark.parametrize("names", list(permutations(NAMES)))
def test_last_and_never_baseline(tmp_path: Path, names: tuple[str, ...]) -> None:
    found = compare_runs(read(tmp_path, names), baseline="off")
    assert [group.name for group in found.groups] == [*(name for name in names if name != "off"), "off"]
    assert [row.is_ranked for row in found.rows] == [True, True, False]
    assert [row.name for row in found.rows] == [group.name for group in found.groups]


def test_verdict_not_quotable_as_ranking(tmp_path: Path) -> None:
    found = compare_runs(read(tmp_path))
    ranked, lost = found.verdicts
    assert ranked.startswith("xfs is 10 % faster than ext4 (")
    assert "DURABLE" not in ranked
    assert lost.startswith("off is 3.0 times as fast as ext4 (")
    assert "but it is NOT DURABLE, so it is not ranked" in lost
    marks = column_of(COMPARISON_COLUMNS, ComparisonColumn.MARKS)
    assert [marks.cell(row) for row in found.rows] == ["", "", "NOT DURABLE"]
    jitter = compare_figure(found, "jitter_cv").verdicts
    assert ["; off is NOT DURABLE, so it is not ranked" in each for each in jitter] == [False, False, True]


def test_all_not_durable_compared_and_marked(tmp_path: Path) -> None:
    found = compare_runs(read(tmp_path, NAMES, NAMES), baseline="xfs")
    assert found.groups[0].name == "xfs"
    assert [row.is_ranked for row in found.rows] == [True, True, True]
    assert all("NOT DURABLE: " in verdict and "not ranked" not in verdict for verdict in found.verdicts)


def test_json_says_who_is_ranked(tmp_path: Path) -> None:
    document = json.loads(json.dumps(comparison_as_json(compare_runs(read(tmp_path)))))["configurations"]
    assert [(each["name"], each["ranked"], each["marks"]) for each in document] == [
        ("ext4", True, []),
        ("xfs", True, []),
        ("off", False, ["not-durable"]),
    ]


def test_charts_never_mix_durability(tmp_path: Path) -> None:
    found = compare_runs(read(tmp_path))
    rows = Dimension("b", ("1", "1", "1"), is_swept=True)
    lines = {line.name: len(line.points) for line in sweep(found, rows, "tps")}
    assert lines.get("NOT DURABLE", lines.get("off, NOT DURABLE")) == 1


def test_command_marks_and_refuses_baseline(tmp_path: Path, capsys: Capture) -> None:
    paths = list(map(str, write(tmp_path / "runs")))
    assert command.main(["compare", *paths]) == 0
    output = capsys.readouterr().out
    table = output[output.index("Configuration ") :].splitlines()[:4]
    assert [line.split()[0] for line in table] == ["Configuration", "ext4", "xfs", "off"]
    assert table[3].rstrip().endswith("NOT DURABLE")
    assert command.main(["compare", *paths, "--baseline", "off"]) == 2
    refused = capsys.readouterr().err
    assert "“off” is NOT DURABLE" in refused
    assert "ext4, xfs" in refused


def reported(folder: Path) -> list[Path]:
    cases = [
        Case(name, repeat, Shape(30, TPS[name] + repeat), values=(("settings", _settings(name)),))
        for repeat in range(2)
        for name in NAMES
    ]
    return write_cases(folder, cases)


def _settings(name: str) -> Json:
    return [{"name": "fsync", "value": "off" if name == "off" else "on", "origin": "user"}]


def _texts(report: Report, role: TextRole) -> list[str]:
    return [block.text for block in report.blocks if isinstance(block, Text) and block.role is role]


def test_report_order_and_marks(tmp_path: Path) -> None:
    paths = reported(tmp_path)
    report = read_report(paths)
    (chart,) = (block for block in report.blocks if isinstance(block, BarFigure))
    assert [(bar.label, bar.warning) for bar in chart.bars] == [
        ("xfs", ""),
        ("ext4", ""),
        ("off", "NOT DURABLE"),
    ]
    first = next(block for block in report.blocks if isinstance(block, ReportTable))
    assert [row.cells["marks"] for row in first.rows] == ["", "", "NOT DURABLE"]
    assert [set(row.warned) for row in first.rows] == [set(), set(), {"marks"}]
    assert first.rows[1].cells["difference"] == "baseline"
    assert all(each.startswith("NOT DURABLE: ") for each in _texts(report, TextRole.WARNING))
    answers = _texts(report, TextRole.ANSWER)
    assert "NOT DURABLE" not in answers[0]
    pairs = _texts(report, TextRole.SMALL)
    assert any("but it is NOT DURABLE, so it is not ranked" in each for each in pairs)
    keys = [block for block in (*report.blocks, *read_picture(paths).blocks) if isinstance(block, Key)]
    assert keys
    assert all([name for _, name in key.entries] == ["xfs", "ext4", "off (NOT DURABLE)"] for key in keys)


def test_wizard_rule_promises_no_ranking() -> None:
    (rule,) = (each for each in RULES if each.id == "C24")
    assert "The result is always marked NOT DURABLE and is not ranked" in rule.message
