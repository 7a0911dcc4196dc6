"""Sentences and cells common to several pages of a report. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from app.analysis.facts import RunFacts, property_of
from app.analysis.labels import mark_words, one_line, state_words
from app.domain.run import RunState
from app.domain.text import tr
from app.report.report_data import ReportedRun


def moment(epoch_s: float | None) -> str:
    """Return a time in UTC, so that a report reads the same everywhere; empty if unknown."""
    then = _in_utc(epoch_s)
    return "" if then is None else f"{_day(then)} {then:%H:%M} UTC"


def _in_utc(epoch_s: float | None) -> datetime | None:
    if epoch_s is None:
        return None
    try:
        return datetime.fromtimestamp(epoch_s, tz=UTC)
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may contain any number
        return None


def _day(then: date) -> str:
    day = tr("{year}-{month:02}-{day:02}")  # in the order of the language
    return day.format(year=then.year, month=then.month, day=then.day)


def days(runs: Iterable[RunFacts]) -> str:
    """Return the day, or the first and last day, on which runs started; empty if unknown."""
    moments = (_in_utc(run.started_epoch_s) for run in runs)
    found = sorted({then.date() for then in moments if then is not None})
    if not found:
        return ""
    first, last = _day(found[0]), _day(found[-1])
    return first if first == last else tr("{first} to {last}").format(first=first, last=last)


def common(runs: Iterable[RunFacts], topic: str, name: str) -> str:
    """Return the common value of a property; empty if runs differ."""
    values = {property_of(run, topic, name) for run in runs}
    return one_line(values.pop()) if len(values) == 1 else ""


def state_cell(run: ReportedRun) -> str:
    """Return the noteworthy end states of a run, and its marks."""
    state = run.facts.state
    words = [] if state == RunState.DONE else [state_words(state)]
    words += dict.fromkeys(mark_words(kind) for kind, _ in run.facts.marks)
    return ", ".join(words)
