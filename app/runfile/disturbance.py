"""Judge from the series of a run file whether other processes disturbed the measurement.

The kinds and their limits are in `app.domain.disturbances`. Transactions are not considered. Missing series
are unknown, and reported as such: without them a run is neither quiet nor disturbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.disturbances import (
    DISTURBING_METRICS,
    FEWEST_SECONDS,
    THRESHOLDS,
    Disturbances,
    MeasuredActivity,
    Totals,
    judge_disturbances,
)
from app.domain.json_value import Json
from app.domain.run import Phase
from app.domain.text import tr
from app.runfile.metadata.environment import governor_of
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import NOT_STEADY, figures_of, has_older_definitions, steadiness_marks
from app.runfile.writer import WHOLE_PHASE

DISTURBED: Final = "disturbed"
"""Kind of the mark for a disturbed run."""

REPEATED: Final = "repeated"
"""Kind of the mark for a disturbed run that was measured again."""

_TICK_MS: Final = 1000
_LONGEST_S: Final = 1e9
_KERNEL_THREADS: Final = "kernel-threads"
"""`Probe.id` of the source that may be missing in containers."""


def read_disturbances(run: RunFile) -> Disturbances:
    """Judge a run by its file: a finished one, or one with its measured phase over.

    Raises:
        CorruptRunFileError: it is damaged.
    """
    measured = run.phase(Phase.MEASURE)
    if measured is None or measured.ended_ms is None:
        reason = tr("the run was not measured completely")
        return Disturbances(unknown=tuple((kind, reason) for kind in THRESHOLDS))
    # A sample is the mean of the second before it: start with the first one completely inside.
    totals: Totals = run.totals(measured.started_ms + _TICK_MS, measured.ended_ms, metrics=DISTURBING_METRICS)
    whole = run.facts(WHOLE_PHASE)
    counted = totals_of_whole_phase(whole)
    is_short = max((count for _, _, count in totals.values()), default=0) < FEWEST_SECONDS
    totals = {**totals, **counted} if is_short else {**counted, **totals}
    metadata, facts = run.metadata, run.environment
    cpus = whole.get("cpus")
    data_bytes, limit = or_none(metadata.data_bytes), or_none(metadata.target.memory_limit_bytes)
    needs: bool | None = True if limit is not None else None
    if limit is None and data_bytes is not None and facts.memory_bytes:
        needs = data_bytes >= facts.memory_bytes / 2
    return judge_disturbances(
        MeasuredActivity(
            totals=totals,
            cpus=cpus if facts.online_cpus is None and isinstance(cpus, int) else facts.online_cpus,
            needs_memory=needs,
            sees_kernel_threads=not any(
                source == _KERNEL_THREADS or source.startswith("kernel.cpu")
                for _, source, _ in run.unavailable()
            ),
            governors=(facts.governor, governor_of(run.facts("after"))),
            beside=next((each.background.name for each in known(metadata.phases, ()) if each.is_own), ""),
        )
    )


def totals_of_whole_phase(facts: Mapping[str, Json]) -> Totals:
    """Return the kernel's counters over the whole phase, in the form of samples; empty if there are none.

    Args:
        facts: `seconds`, `cpus`, and `means` by metric and instance (`app.probes.sampling.sampler`).
    """
    seconds, means = facts.get("seconds"), facts.get("means")
    if not isinstance(means, Mapping) or not isinstance(seconds, int | float):
        return {}
    if not 1 <= seconds < _LONGEST_S:
        return {}
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for name, mean in means.items():
        metric, _, instance = name.partition(" ")
        if metric in DISTURBING_METRICS and isinstance(mean, int | float):
            found[metric, instance] = (float(mean) * int(seconds), float(mean), int(seconds))
    return found


def marks_of(run: RunFile, judged: Disturbances | None = None) -> tuple[tuple[str, str], ...]:
    """Return all marks of a run: the stored ones, and its disturbance by the present thresholds.

    Earlier files have no mark of a disturbance, and thresholds may have changed since; their "not steady" is
    judged again too.

    Args:
        run: the file.
        judged: result of `read_disturbances`, if already known.
    """
    stored, figures = run.marks(), run.summary()
    if has_older_definitions(run, figures):
        kept = [(kind, reason) for kind, reason in stored if kind != NOT_STEADY]
        stored = tuple(sorted([*kept, *steadiness_marks(figures_of(run))]))
    judged = read_disturbances(run) if judged is None else judged
    if judged.not_known:
        return stored
    others = [(kind, reason) for kind, reason in stored if kind != DISTURBED]
    return tuple(sorted([*others, *disturbance_marks(judged)]))


def disturbance_marks(judged: Disturbances) -> Sequence[tuple[str, str]]:
    """Return the (kind, reason) label of a disturbed run; empty for another."""
    return [(DISTURBED, judged.reason)] if judged.found else []
