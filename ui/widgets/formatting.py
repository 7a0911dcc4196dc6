"""Texts of the window for states, marks, times and figures; no widgets."""

from __future__ import annotations

import html
import re
from datetime import datetime
from typing import Final

from app.analysis.labels import (
    MARK_WORDS,
    STATE_WORDS,
    UNREADABLE,
    format_figure,
    format_number,
    format_tps,
    mark_words,
    one_line,
    state_words,
)
from app.domain.run import RunState
from app.domain.text import tr
from app.library.scan import ListedRun

__all__ = [
    "MARK_WORDS",
    "SEPARATOR",
    "STATE_WORDS",
    "UNREADABLE",
    "breakable",
    "format_figure",
    "format_number",
    "mark_words",
    "moment",
    "one_line",
    "run_name",
    "second_line",
    "spoken",
    "state_words",
    "tooltip",
]

SEPARATOR: Final = " · "


def tooltip(*lines: str) -> str:
    """Return a tool tip that shows these lines as plain text and wraps long ones."""
    texts = [html.escape(line) for line in lines if line]
    return f"<qt>{'<br>'.join(texts)}</qt>" if texts else ""


def moment(epoch_s: float | None) -> str:
    """Format a time in local time, with the year only if it is another one."""
    if epoch_s is None:
        return ""
    try:
        then = datetime.fromtimestamp(epoch_s).astimezone()
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return ""
    now = datetime.now().astimezone()
    if then.date() == now.date():
        return tr("today {time}").format(time=then.strftime("%H:%M"))
    return then.strftime(tr("%d %b %H:%M") if then.year == now.year else tr("%d %b %Y"))


def breakable(text: str) -> str:
    """Let a label break words of more than 40 characters, such as a serial number of 128.

    Not for commands: a copy would include the break characters, which break them in a shell.
    """
    return re.sub(r"\S{41,}", lambda word: "\u200b".join(re.findall(".{1,16}", word[0])), text)


def run_name(run: ListedRun) -> str:
    """Return the name of a listed run in one line, never empty."""
    entry = run.entry
    return one_line(entry.name or "") or entry.path.rsplit("/", 1)[-1]


def second_line(run: ListedRun) -> str:
    """Return the line below the name in the list: the read error, or storage and latency."""
    entry = run.entry
    if entry.problem is not None:
        return one_line(entry.problem.replace(entry.path, "").strip())
    parts = [state_words(entry.state)] if entry.state == RunState.RUNNING else []
    if entry.filesystem:
        parts.append(one_line(entry.filesystem))
    if entry.p99_ms is not None:
        parts.append(tr("p99 {value:.3g} ms").format(value=entry.p99_ms))
    parts += [f"#{one_line(tag)}" for tag in entry.tags]
    return SEPARATOR.join(parts)


def spoken(run: ListedRun) -> str:
    """Return the text of a listed run for a screen reader."""
    entry = run.entry
    tps = (
        tr("{tps} transactions per second, whole run").format(tps=format_tps(entry.tps))
        if entry.tps is not None
        else ""
    )
    state = "" if entry.state in {RunState.DONE, RunState.RUNNING} else state_words(entry.state)
    words = [tps, state, *map(mark_words, entry.marks), second_line(run), moment(entry.started)]
    parts = [run_name(run), *words]
    return ", ".join(part for part in parts if part)
