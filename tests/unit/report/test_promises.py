"""Numbers that the manual promises are those that are declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.analysis.data_set import MOST_CACHED
from app.report.blocks import TextRole
from app.report.options import ReportOptions, Section
from app.report.report import read_report
from app.runfile.metadata.offered_load import KEPT_SHARE
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.selection import ENOUGH, SIMULATED_ALONE, SIMULATED_LOST, SIMULATED_LOST_UNEQUAL
from tests.fix_report import Case, write_cases
from tests.unit.report.test_report_content import SHORT, texts

TOP = Path(__file__).parents[3]


def test_three_runs_are_what_a_verdict_needs() -> None:
    assert RUNS_FOR_A_VERDICT == 3, "README, manual and the recipe say it in words"


METHOD = " ".join((TOP / "resources/manual/method.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"above {100 * MOST_CACHED:g} % the run is marked",
        f"A rate is kept if at least {100 * KEPT_SHARE:g} % of what was offered was done",
        f"| ten rounds, {ENOUGH} to 33 configurations",
        f"dropped in at most {100 * SIMULATED_LOST:g} %, in {100 * SIMULATED_LOST_UNEQUAL:g} % if variations",
        f"of equal ones a single one remains in {100 * SIMULATED_ALONE:g} %",
    ],
)
def test_manual_names_declared_numbers(sentence: str) -> None:
    """That they hold is simulated in tests/unit/statistics/test_selection.py."""
    assert sentence in METHOD


def test_method_page_has_three_rules(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case(name, repeat, SHORT) for repeat in range(2) for name in "ab"])
    report = read_report(paths, ReportOptions(sections=(Section.METHOD,)))
    rules = [each for each in texts(report, TextRole.SUBHEADING) if each[:3] in {"1. ", "2. ", "3. "}]
    assert len(rules) == 3
    assert any(" ran 2 times, with " in each for each in texts(report, TextRole.BODY))
