"""Words of the window for states, marks, moments and figures; no widgets."""

from __future__ import annotations

import html
from datetime import datetime
from typing import Final

from app.domain.text import tr
from app.domain.units import format_size
from app.runs.comparison_table import format_tps
from app.runs.library_scan import ListedRun
from app.runs.runfile import RunState
from app.runs.summary import Figure

UNREADABLE: Final = "unreadable"
"""State of an entry whose file cannot be read, see `app.runs.library.LibraryEntry`."""

SEPARATOR: Final = " · "

STATE_WORDS: Final = {
    RunState.RUNNING: tr("running"),
    RunState.DONE: tr("done"),
    RunState.STOPPED: tr("stopped early"),
    RunState.FAILED: tr("failed"),
    RunState.INCOMPLETE: tr("incomplete"),
    UNREADABLE: tr("unreadable"),
}

MARK_WORDS: Final = {
    "unsafe": tr("unsafe"),
    "contended": tr("contended"),
    "client-bound": tr("client-bound"),
    "missed-seconds": tr("seconds missed"),
    "not-steady": tr("not steady"),
    "suspended": tr("suspended"),
    "partial-latencies": tr("latencies partial"),
}
"""Marks that have a name of their own; others are shown as they are stored."""


def state_words(state: str) -> str:
    """Return a state of a run as people read it."""
    return STATE_WORDS.get(state, state)


def mark_words(kind: str) -> str:
    """Return the kind of a mark as people read it."""
    return MARK_WORDS.get(kind, one_line(kind).replace("-", " "))


def one_line(text: str) -> str:
    """Return a foreign text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def tooltip(*lines: str) -> str:
    """Return a tool tip that Qt shows as these lines, whatever is in them; it wraps long ones."""
    told = [html.escape(line) for line in lines if line]
    return f"<qt>{'<br>'.join(told)}</qt>" if told else ""


def moment(epoch_s: float | None) -> str:
    """Return a moment in local time, as short as it stays clear: the year only where it is another one."""
    if epoch_s is None:
        return ""
    try:
        then = datetime.fromtimestamp(epoch_s).astimezone()
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return ""
    now = datetime.now().astimezone()
    if then.date() == now.date():
        return tr("today {time}").format(time=then.strftime("%H:%M"))
    return then.strftime("%d %b %H:%M") if then.year == now.year else then.strftime("%d %b %Y")


def run_name(run: ListedRun) -> str:
    """Return the name of a listed run in one line, never empty."""
    entry = run.entry
    return one_line(entry.name or "") or entry.path.rsplit("/", 1)[-1]


def second_line(run: ListedRun) -> str:
    """Return what stands below the name in the list: why it cannot be read, or place and latency."""
    entry = run.entry
    if entry.problem is not None:
        return one_line(entry.problem.replace(entry.path, "").strip())
    parts = [state_words(entry.state)] if entry.state == RunState.RUNNING else []
    if entry.filesystem:
        parts.append(one_line(entry.filesystem))
    if entry.p99_ms is not None:
        parts.append(tr("p99 {value:.3g} ms").format(value=entry.p99_ms))
    return SEPARATOR.join(parts)


def spoken(run: ListedRun) -> str:
    """Return a listed run as a screen reader says it."""
    entry = run.entry
    tps = (
        tr("{tps} transactions per second").format(tps=format_tps(entry.tps)) if entry.tps is not None else ""
    )
    state = "" if entry.state in {RunState.DONE, RunState.RUNNING} else state_words(entry.state)
    words = [tps, state, *map(mark_words, entry.marks), second_line(run), moment(entry.started)]
    parts = [run_name(run), *words]
    return ", ".join(part for part in parts if part)


def format_number(value: float) -> str:
    """Return a number with about three digits, thousands separators and never an exponent."""
    size = abs(value)
    if size >= 99.95 or value == round(value):
        return f"{value:,.0f}"
    for decimals, least in ((1, 9.995), (2, 0.9995), (3, 0.09995), (4, 0.009995)):
        if size >= least:
            return f"{value:,.{decimals}f}"
    return f"{value:,.6f}".rstrip("0")


def format_figure(figure: Figure, value: float) -> str:
    """Return a figure of the summary with its unit."""
    if figure.name == "steady":
        return tr("yes") if value else tr("no")
    if figure.name in {"jitter_cv", "drift"}:
        return tr("{percent} %").format(percent=format_number(round(100 * value, 2)))
    if figure.unit == "B":
        return format_size(value)
    if figure.unit == "us":
        return tr("{value} µs").format(value=format_number(value))
    return format_number(value) if figure.unit in {"1/s", ""} else f"{format_number(value)} {figure.unit}"
