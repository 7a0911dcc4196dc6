"""The verdict on saved runs in the shortest form: one row per configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.analysis.facts import RunFacts, read_run_facts
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.table import ComparisonRow
from app.domain.errors import RunFileError


def judge_runs(runs: Sequence[RunFacts]) -> tuple[ComparisonRow, ...]:
    """Return one row per configuration, in the order of the runs; each is compared with the first.

    Empty where the runs are of one configuration only. What is left out of the runs and why, and what weakens
    the verdicts, is said by `app.comparison.comparison` and `app.comparison.warnings`.
    """
    rows = compare_runs(runs).rows
    return rows if len(rows) > 1 else ()


def judge_files(paths: Iterable[str | None], *, baseline: str = "") -> RunComparison | None:
    """Return the comparison of finished run files, the same that the window and the report make of them.

    Args:
        paths: of the files; None for a run that left none.
        baseline: name of the configuration to compare with.

    Returns:
        None where a file is missing or cannot be read: then only what is in memory can be told.
    """
    found = list(paths)
    try:
        facts = [read_run_facts(Path(path)) for path in found if path is not None]
    except RunFileError:
        return None
    return compare_runs(facts, baseline=baseline) if len(facts) == len(found) else None
