"""Numbers that README and the method of reports promise are those that are declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.analysis.data_set import MOST_CACHED
from app.comparison.offered_load import AGAIN_SHARE
from app.domain.campaign.configuration import default_repeats
from app.domain.campaign.order import DEFAULT_CAP, Design, RunOrder
from app.domain.json_value import Json
from app.report.blocks import Text, TextRole
from app.report.report import read_report
from app.runfile.metadata.offered_load import KEPT_SHARE
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.selection import ENOUGH, SIMULATED_ALONE, SIMULATED_LOST, SIMULATED_LOST_UNEQUAL
from tests.fix_window import Trial, write_trial

README = " ".join((Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "sentence",
    [
        f"a campaign of the same at {100 * AGAIN_SHARE:g} % of the slowest",
        f"`repeats` is {default_repeats(2)}, or {default_repeats(3)} from three configurations on",
        f'AB BA is a choice (`order = "{RunOrder.ALTERNATING}"`)',
        "Below three runs of a configuration the table says",
    ],
)
def test_readme_names_declared_limits(sentence: str) -> None:
    assert sentence in README


def test_three_runs_are_what_a_verdict_needs() -> None:
    assert RUNS_FOR_A_VERDICT == 3, "README and the recipe say it in words"


def method_text(folder: Path, *, design: Design = Design.FIXED, **workload: Json) -> str:
    """Return the method of a report about two runs with such a workload."""
    folder.mkdir()
    more: dict[str, Json] = {"workload": {"label": "tpcb-like", "clients": 4, **workload}}
    if design is Design.SEQUENTIAL:
        more |= {"design": design, "rivals": ["a", "b"]}
    paths = [
        write_trial(folder / f"{number}.footing", Trial(name, name, 0, 100.0, 60, more=more))
        for number, name in enumerate("ab")
    ]
    blocks = read_report(paths).blocks
    return " ".join(
        block.text for block in blocks if isinstance(block, Text) and block.role is TextRole.SMALL
    )


def test_method_states_cache_emptying(tmp_path: Path) -> None:
    cold = f"runs with more than {100 * MOST_CACHED:g} % of the data are marked"
    assert cold in method_text(tmp_path / "cold", rate_tps=None, caches="cold")
    assert cold not in method_text(tmp_path / "warm", rate_tps=None, caches="warm")


def test_method_explains_rate(tmp_path: Path) -> None:
    kept = f"A rate is kept where at least {100 * KEPT_SHARE:g} % of what was offered was done"
    assert kept in method_text(tmp_path / "rate", rate_tps=100.0, caches="warm")
    assert kept not in method_text(tmp_path / "closed", rate_tps=None, caches="warm")


def test_method_states_sequential_error_rate(tmp_path: Path) -> None:
    """That it does so no more often is simulated in tests/unit/statistics/test_selection.py."""
    promises = [
        f"simulated campaigns of {DEFAULT_CAP} rounds, with {ENOUGH} to 33 configurations",
        f"left out in at most {100 * SIMULATED_LOST:g} % of cases",
        f"up to {100 * SIMULATED_LOST_UNEQUAL:g} % where some spread much more than others",
        f"of equal ones a single one was left in at most {100 * SIMULATED_ALONE:g} %",
    ]
    sequential = method_text(tmp_path / "sequential", design=Design.SEQUENTIAL)
    assert all(promise in sequential for promise in promises)
    fixed = method_text(tmp_path / "fixed")
    assert not any(promise in fixed for promise in promises)
