"""The verdict on saved runs: configurations of one campaign, judged as the table at its end judges them."""

from __future__ import annotations

from collections.abc import Sequence

from app.runs.comparison_table import MeasuredConfiguration, MeasuredRun, Row, build_rows
from app.runs.run_facts import RunFacts
from app.runs.runfile import RunState


def judge_runs(runs: Sequence[RunFacts]) -> tuple[Row, ...]:
    """Return one row per configuration, in the order of the runs; each is compared with the first.

    Empty where the runs are of several campaigns, or of one configuration only: runs that were not
    interleaved differ by whatever changed on the machine between them.
    """
    if len({run.campaign_key for run in runs}) != 1:
        return ()
    by_configuration: dict[str, list[RunFacts]] = {}
    for run in runs:
        by_configuration.setdefault(run.configuration, []).append(run)
    if len(by_configuration) < 2:
        return ()
    return build_rows([_measured(name, of_it) for name, of_it in by_configuration.items()])


def _measured(name: str, runs: Sequence[RunFacts]) -> MeasuredConfiguration:
    measured = tuple(
        MeasuredRun(
            repeat=run.repeat,
            # A run that was stopped early is kept, but it is another measurement than the others.
            tps=run.summary.get("tps") if run.state == RunState.DONE else None,
            p99_ms=run.summary.get("latency_p99_ms"),
            jitter=run.summary.get("jitter_cv"),
        )
        for run in runs
    )
    marks = tuple(sorted({kind for run in runs for kind, _ in run.marks}))
    return MeasuredConfiguration(name, measured, marks)
