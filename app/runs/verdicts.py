"""The verdict on saved runs in the shortest form: one row per configuration."""

from __future__ import annotations

from collections.abc import Sequence

from app.runs.compare import compare_runs
from app.runs.comparison_table import Row
from app.runs.run_facts import RunFacts


def judge_runs(runs: Sequence[RunFacts]) -> tuple[Row, ...]:
    """Return one row per configuration, in the order of the runs; each is compared with the first.

    Empty where the runs are of one configuration only. What is left out of the runs and why, and what weakens
    the verdicts, is said by `app.runs.compare` and `app.runs.comparison_warnings`.
    """
    rows = compare_runs(runs).rows
    return rows if len(rows) > 1 else ()
