"""Numbers, phases and states of the live page as shown; no widgets."""

from __future__ import annotations

from typing import Final

from app.analysis.labels import one_line
from app.domain.run import Phase, RunState
from app.domain.storage_plan.words import place_words
from app.domain.text import format_duration, number_text, titled, tr, trn
from app.execution.control import Request
from app.live.campaign_follower import CampaignStatus, LiveState
from app.runfile.metadata.typed_json import or_none
from app.runfile.series import RunData

NOTHING: Final = "–"  # noqa: RUF001 - an en dash stands for no value
"""Shown for a missing value."""

PHASE_NAMES: Final = {
    Phase.BASELINE: tr("Prepare"),
    Phase.PREPARE: tr("Prepare"),
    Phase.INITDB: tr("Prepare"),
    Phase.LOAD: tr("Load"),
    Phase.SETTLE: tr("Settle"),
    Phase.WARM_UP: titled(tr("warm-up")),
    Phase.MAINTENANCE: tr("Maintenance"),
    Phase.PART: tr("Measure"),
    Phase.MEASURE: tr("Measure"),
    Phase.COLLECT: tr("Clean up"),
    Phase.TEARDOWN: tr("Clean up"),
}

REQUEST_WORDS: Final = {
    Request.FINISH: tr("ends after this run"),
    Request.STOP: tr("is being stopped; its data is kept"),
    Request.DISCARD: tr("is being stopped; this run is discarded"),
}


def three_digits(value: float) -> str:
    """Return a number with three significant digits, from 1000 on whole with thousands separators."""
    if value >= 99.95:
        return number_text(value, ",.0f")
    if value >= 9.995:
        return number_text(value, ".1f")
    if value >= 0.9995:
        return number_text(value, ".2f")
    return number_text(value, ".3f") if value >= 0.0995 or value == 0 else number_text(value, ".2g")


def format_rate(value: float | None) -> str:
    """Return operations per second: whole, below 10 with decimals."""
    if value is None:
        return NOTHING
    return number_text(value, ",.0f") if value >= 9.995 or value == 0 else three_digits(value)


def format_number(value: float | None) -> str:
    """Return a latency or a throughput with three digits."""
    return NOTHING if value is None else three_digits(value)


def format_cores(value: float | None) -> str:
    """Return cores with two decimals."""
    return NOTHING if value is None else number_text(value, ".2f")


def format_megabytes(bytes_: float | None) -> str:
    """Return 10^6 bytes with three digits."""
    return NOTHING if bytes_ is None else three_digits(bytes_ / 1e6)


def clock_words(elapsed_s: float, planned_s: float | None) -> str:
    """Return how long something has taken, and its planned length if known."""
    if planned_s is None:
        return format_duration(elapsed_s)
    return f"{format_duration(elapsed_s)} / {format_duration(planned_s)}"


def signed_clock(t_s: float) -> str:
    """Return a time of the run's axis: negative before the measured phase."""
    return ("−" if t_s <= -0.5 else "") + format_duration(abs(t_s))  # noqa: RUF001 - a minus sign


def disk_words(data: RunData) -> str:
    """Return the storage created on spare disks, by serial numbers; empty if there is none."""
    plan = or_none(data.metadata.target.plan)
    if plan is None:
        return ""
    serials = ", ".join(one_line(disk.serial) for _, disk in plan.members())
    return f"{'; '.join(place_words(plan).splitlines())} ({serials})"


def campaign_words(watched: LiveState, request: Request | None) -> str:
    """Return the progress of a campaign, in one line."""
    status = watched.status
    if status is None:
        return ""
    if watched.ended:
        return _end_words(status)
    begun = status.current or status.newest
    parts = []
    if begun is None:
        parts.append(
            trn(
                "{total} run, about to start",
                "{total} runs, the first about to start",
                status.total,
            ).format(total=status.total)
        )
    else:
        parts.append(tr("run {number} of {total}").format(number=begun.number, total=status.total))
    if request is not None:
        parts.append(REQUEST_WORDS[request])
    elif status.left_s is not None and status.left_s > 0:
        parts.append(tr("about {time} left").format(time=format_duration(status.left_s)))
    return " · ".join(parts)


def awaited_words(watched: LiveState) -> str:
    """Return what a campaign without a first run waits for, or that there will be none."""
    status = watched.status
    if watched.ended:
        return tr("The campaign ended before its first run.")
    if status is None or not status.runs:
        return tr("Waiting for the first run …")
    return tr("The first run is being prepared: {name}.").format(name=one_line(status.runs[0].name))


def _end_words(status: CampaignStatus) -> str:
    states = [run.state for run in status.runs]
    done, total = states.count(RunState.DONE), status.total
    words = trn("{done} of {total} run is done", "{done} of {total} runs are done", total)
    words = words.format(done=done, total=total)
    how = tr("stopped")
    if done == total and total:
        how = tr("ended")
    elif RunState.INCOMPLETE in states:
        how = tr("its runner died")
    elif failed := states.count(RunState.FAILED):
        return ", ".join((tr("ended") + f": {words}", f"{failed} " + tr("failed")))
    return f"{how}: {words}"


def quiet_words(quiet_s: float) -> str:
    """Return the message about a live runner that writes nothing."""
    words = tr(
        "No new data for {seconds:.0f} s: the runner is waiting for disk or CPU. These are the "
        "last numbers received."
    )
    return words.format(seconds=quiet_s)
