"""Words and numbers of runs for users: states, marks, figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from app.domain.campaign.disk_target import NOT_READ_BACK
from app.domain.campaign.matrix import LEFT_OUT
from app.domain.run import RunState
from app.domain.text import format_size, number_text, tr
from app.runfile.figures import Figure
from app.runfile.metadata.run_metadata import EXISTING_SERVER, IMPORTED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE, UNVERIFIED

UNREADABLE: Final = "unreadable"
"""State of an entry for an unreadable file, see `app.library.entries.LibraryEntry`."""

STATE_WORDS: Final = {
    RunState.RUNNING: tr("running"),
    RunState.DONE: tr("done"),
    RunState.STOPPED: tr("stopped early"),
    RunState.FAILED: tr("failed"),
    RunState.INCOMPLETE: tr("incomplete"),
    UNREADABLE: tr("unreadable"),
}

MARK_WORDS: Final = {
    NOT_DURABLE: tr("NOT DURABLE"),
    UNSAFE: tr("unsafe"),
    UNVERIFIED: tr("unverified"),
    "contended": tr("contended"),
    "client-bound": tr("client-bound"),
    "disturbed": tr("disturbed"),
    "repeated": tr("measured again"),
    LEFT_OUT: tr("excluded"),
    "missed-seconds": tr("seconds missed"),
    "not-steady": tr("not steady"),
    "no-checkpoint-cycle": tr("no checkpoint cycle"),
    "suspended": tr("suspended"),
    "clock-step": tr("clock set"),
    "partial-latencies": tr("partial latencies"),
    "newer-than-tested": tr("newer than tested"),
    "unknown-lines": tr("unknown lines"),
    "compressed-nothing": tr("compressed nothing"),
    "still-cached": tr("not cold"),
    "other-compressibility": tr("rows not as specified"),
    NOT_READ_BACK: tr("not verified"),
    "memory-limited": tr("memory limited"),
    "test-devices": tr("TEST DEVICES"),
    EXISTING_SERVER: tr("existing server"),
    "burst-credit": tr("may have burst credits"),
    "left-over": tr("disks not released"),
    "database-left": tr("database not removed"),
    "disk-failed": tr("disk failed"),
    "helper-lost": tr("helper lost"),
    IMPORTED: tr("imported"),
    "sampled": tr("sampled"),
    "mean-only": tr("means only"),
    "tps-from-statistics": tr("TPS from statistics"),
    "damaged-log": tr("log damaged"),
    "aborted": tr("aborted"),
    "connecting": tr("connection time"),
}
"""Names of marks; marks without one are shown as stored."""

DISK_MARKS: Final = frozenset({"left-over", "database-left", "disk-failed", "helper-lost"})
"""Marks of runs with disks or a server that need attention: always shown as warnings."""


def safety_warning(*, unsafe: object, not_durable: object) -> str:
    """Return the warning next to the name of anything that trades safety for speed.

    Args:
        unsafe: true if its numbers depend on an unsafe option.
        not_durable: true if it may lose commits that it acknowledged.
    """
    if not_durable:
        return mark_words(NOT_DURABLE)
    return mark_words(UNSAFE).upper() if unsafe else ""


def with_warning(name: str, warning: str) -> str:
    """Return a name with its warning, for places without marks; without a warning the name."""
    return f"{name} ({warning})" if warning else name


def state_words(state: str) -> str:
    """Return a run's state for users."""
    return STATE_WORDS.get(state, state)


def mark_words(kind: str) -> str:
    """Return the kind of a mark for users."""
    return MARK_WORDS.get(kind, one_line(kind).replace("-", " "))


@lru_cache(1 << 14)
def one_line(text: str) -> str:
    """Return a foreign text without line breaks and control characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def some(names: Sequence[str], most: int) -> str:
    """Return names, of more than `most` the first ones and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    text = tr("{names} and {count} more")
    return text.format(names=", ".join(names[: most - 1]), count=len(names) - most + 1)


def format_number(value: float) -> str:
    """Return a number with about three digits, thousands separators and never an exponent."""
    size = abs(value)
    if size >= 99.95 or value == round(value):
        return number_text(value, ",.0f")
    for decimals, least in ((1, 9.995), (2, 0.9995), (3, 0.09995), (4, 0.009995)):
        if size >= least:
            return number_text(value, f",.{decimals}f")
    return number_text(value, ",.6f").rstrip("0")


def format_figure(figure: Figure, value: float) -> str:
    """Return a figure of the summary with its unit."""
    if figure.name == "steady":
        return tr("yes") if value else tr("no")
    if figure.name in {"jitter_cv", "drift", "checkpoint_share"}:
        return f"{format_number(round(100 * value, 2))} %"
    if figure.unit == "B":
        return format_size(value)
    if figure.unit == ":1":
        return f"{format_number(value)}:1"
    return format_number(value) if figure.unit in {"1/s", ""} else f"{format_number(value)} {figure.unit}"


def at_least(text: str, *, is_bound: bool) -> str:
    """Return a figure in words; marked if it is only a lower bound."""
    return f"≥ {text}" if is_bound and text else text


_FEW_TPS: Final = 0.95


WHOLE_RUN_TPS: Final = tr("TPS, whole run")
"""Label of the mean over all measured seconds; a comparison may exclude some."""


def format_tps(tps: float | None) -> str:
    """Return TPS with thousands separators, with a decimal below 100, two digits below 1; empty for None."""
    if tps is None:
        return ""
    if 0 < tps < _FEW_TPS:
        return number_text(tps, ".2g")
    return number_text(tps, ",.0f") if tps >= 99.95 else number_text(tps, ".1f")


def of_part(what: str, cut_s: float) -> str:
    """Return the name of a figure with the part of the runs that it covers: `what` if it covers all.

    Args:
        what: the name.
        cut_s: seconds excluded from the start of each run.
    """
    if not cut_s:
        return what
    minutes, seconds = divmod(round(cut_s), 60)
    return tr("{what} after {time}").format(what=what, time=f"{minutes}:{seconds:02}")
