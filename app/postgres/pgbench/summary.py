"""Parse pgbench's output: the final summary, error messages, progress lines and load times. Pure.

Formats of 9.4 to 19rc1 (printResults(), printProgressReport() and initGenerateData() of pgbench.c; those from
13 on recorded in tests/data/pgbench). The last line of ``pgbench --initialize`` names every step with its
seconds, to the hundredth (runInitSteps of 13 to 19).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from app.domain.errors import PgbenchError
from app.domain.text import tr

_MS: Final = r"-?(?:\d+\.\d+|nan)"
_VERSION: Final = r"\d[^(),]*(?:\([^()]*\))?"
_SHARE: Final = r"\((?:-?\d+\.\d+|-?nan|-?NaN) ?%\)"

# Groups are named as the attributes that they fill.
_RUN_LINES: Final = (
    # printVersion() names the server only if its number is another one.
    rf"pgbench \((?P<version>{_VERSION})(?:, server (?P<server_version>{_VERSION}))?\)",
    r"transaction type: (?P<transaction_type>.+)",
    r"scaling factor: (?P<scale>\d+)",
    r"partition method: (?P<partition_method>.+)",
    r"partitions: (?P<partitions>\d+)",
    r"query mode: (?P<protocol>\w+)",
    r"number of clients: (?P<clients>\d+)",
    r"number of threads: (?P<threads>\d+)",
    r"maximum number of tries: (?P<max_tries>\d+)",
    r"number of transactions per client: (?P<transactions_per_client>\d+)",
    r"duration: (?P<duration_s>\d+) s",
    r"number of transactions actually processed: (?P<transactions>\d+)(?:/(?P<transactions_planned>-?\d+))?",
    rf"rate limit schedule lag: avg (?P<lag_ms>{_MS}) \(max (?P<lag_max_ms>{_MS})\) ms",
    rf"initial connection time = (?P<initial_connection_ms>{_MS}) ms",
    rf"average connection time = (?P<average_connection_ms>{_MS}) ms",
    r"tps = (?P<tps_without_connecting>\d+\.\d+) \(without initial connection time\)",
    r"tps = (?P<tps_without_connecting>\d+\.\d+) \(excluding connections establishing\)",
    r"tps = (?P<tps_with_connecting>\d+\.\d+) \(including reconnection times\)",
    r"tps = (?P<tps_with_connecting>\d+\.\d+) \(including connections establishing\)",
)
_SCRIPT_LINES: Final = (
    r"weight: (?P<weight>\d+) \(targets \d+\.\d+% of total\)",
    r"(?P<transactions>\d+) transactions \(\S+% of total, tps = (?P<tps>\d+\.\d+)\)",  # until 17
    r"(?P<ended>\d+) transactions \(\S+% of total\)",  # 18: with skipped and failed ones
    r"number of transactions actually processed: (?P<transactions>\d+) \(tps = (?P<tps>\d+\.\d+)\)",
)
_COMMON_LINES: Final = (
    rf"number of failed transactions: (?P<failed>\d+) {_SHARE}",
    rf"number of serialization failures: (?P<serialization_failures>\d+) {_SHARE}",
    rf"number of deadlock failures: (?P<deadlock_failures>\d+) {_SHARE}",
    rf"number of other failures: (?P<other_failures>\d+) {_SHARE}",
    rf"number of transactions retried: (?P<retried>\d+) {_SHARE}",
    r"total number of retries: (?P<retries>\d+)",
    rf"number of transactions skipped: (?P<skipped>\d+) {_SHARE}",
    (
        r"number of transactions above the (?P<latency_limit_ms>\d+\.\d+) ms latency limit: "
        rf"(?P<above_latency_limit>\d+)(?:/\d+)? {_SHARE}"  # the second number since 11
    ),
    rf"latency average(?: =|:) (?P<latency_ms>{_MS}) ms(?: \(including failures\))?",  # a colon until 9.6
    rf"latency stddev(?: =|:) (?P<latency_stddev_ms>{_MS}) ms",
)


@cache
def _compiled(*lines: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns in which a number has no more digits than any that pgbench can print."""
    return tuple(re.compile(line.replace(r"\d+", r"\d{1,20}"), re.ASCII) for line in lines)


_TEXTS: Final = frozenset({"version", "server_version", "transaction_type", "partition_method", "protocol"})
_FLOATS: Final = re.compile(r"tps|.*_ms|tps_.*")
_SCRIPT_TITLE: Final = re.compile(r"SQL script (\d+): (.+)")
_STATEMENTS_TITLE: Final = re.compile(
    r"statement latencies in milliseconds(?: and failures|, failures and retries)?:"
)
_STATEMENT: Final = re.compile(r"\s+-?(?:\d+\.\d+|nan)(?:\s+\d+){0,2}\s{1,2}\S.*")
"""What ``-r`` prints of each statement is skipped: pgFooting never asks for it."""
_ABORTED: Final = re.compile(
    r"Run was aborted|\b[Cc]lient \d+ (?:script \d+ )?aborted\b"
    r"|\b[Cc]onnection to (?:database|server) .* failed"  # before 14 the only words, followed by a summary
)
_ERROR: Final = re.compile(r"\b(?:error|fatal): (.+)")
_CHATTER: Final = re.compile(r"progress: |pgbench: setting random seed|(?:pgbench: hint: )?Try ")


class Connecting(StrEnum):
    """Whether TPS include the time for connecting.

    Before 14 pgbench printed TPS with and without it; since then without the first connections, and with it
    if each transaction has its own connection (``--connect``).
    """

    LEFT_OUT = "left-out"
    FIRST_LEFT_OUT = "first-left-out"
    INCLUDED = "included"


_MUCH_CONNECTING: Final = 0.05
"""Share of the TPS."""


def much_connecting(tps: float | None, with_it: float | None) -> Connecting | None:
    """Return whether TPS include the time for connecting where that makes a difference; else None.

    Args:
        tps: as `PgbenchSummary.tps`.
        with_it: as `PgbenchSummary.tps_with_connecting`.
    """
    if tps is None or with_it is None:
        return None
    if tps == with_it:
        return Connecting.INCLUDED
    return Connecting.LEFT_OUT if abs(with_it - tps) > _MUCH_CONNECTING * tps else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """Values of the run and of each script; None if the version or options do not print them.

    Attributes:
        transactions: successful ones.
        failed: since 15.
        skipped: only with ``--rate`` and ``--latency-limit``.
        above_latency_limit: successful, but later than the limit; only with ``--latency-limit``.
        latency_limit_ms: the limit.
        latency_ms: mean; includes failures if pgbench has no better value.
        latency_stddev_ms: only with ``--progress``, ``--rate`` or ``--latency-limit``.
    """

    transactions: int
    failed: int | None = None
    serialization_failures: int | None = None
    deadlock_failures: int | None = None
    other_failures: int | None = None
    retried: int | None = None
    retries: int | None = None
    skipped: int | None = None
    above_latency_limit: int | None = None
    latency_limit_ms: float | None = None
    latency_ms: float | None = None
    latency_stddev_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSummary(_Outcome):
    """The block of one script, printed if there are several.

    Attributes:
        title: pgbench's name: the file's path as given, or ``<builtin: ...>``.
        weight: relative frequency.
        tps: its share of the run's TPS.
    """

    title: str
    weight: int
    tps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PgbenchSummary(_Outcome):
    """The summary of a run.

    Attributes:
        tps: without the time for connecting if pgbench prints that; 0 without transactions.
        tps_with_connecting: 13, and ``--connect``.
        transactions_planned: clients times transactions; None for a run of a given duration.
        server_version: of the server, if it differs from pgbench's.
        aborted: a client or a thread failed: the values cover the rest.
        messages: errors of pgbench, in order.
        other_lines: unknown lines, unchanged.
    """

    tps: float
    tps_with_connecting: float | None = None
    version: str = ""
    server_version: str = ""
    transaction_type: str = ""
    partition_method: str | None = None
    partitions: int | None = None
    scale: int | None = None
    protocol: str = ""
    clients: int | None = None
    threads: int | None = None
    max_tries: int | None = None
    duration_s: int | None = None
    transactions_per_client: int | None = None
    transactions_planned: int | None = None
    lag_ms: float | None = None
    lag_max_ms: float | None = None
    initial_connection_ms: float | None = None
    average_connection_ms: float | None = None
    scripts: tuple[ScriptSummary, ...] = ()
    aborted: bool = False
    messages: tuple[str, ...] = ()
    other_lines: tuple[str, ...] = ()

    @property
    def connecting(self) -> Connecting:
        """Whether its TPS include the time for connecting."""
        if self.tps_with_connecting is None:
            return Connecting.FIRST_LEFT_OUT
        return Connecting.LEFT_OUT if self.tps != self.tps_with_connecting else Connecting.INCLUDED

    @property
    def not_done(self) -> int:
        """Planned transactions that were neither done nor counted as failed or skipped."""
        if self.transactions_planned is None:
            return 0
        ended = self.transactions + (self.failed or 0) + (self.skipped or 0)
        return max(0, self.transactions_planned - ended)


def parse_summary(output: str, errors: str = "", *, allow_remarks: bool = False) -> PgbenchSummary:
    """Parse the output of a finished pgbench.

    Args:
        output: all of its stdout.
        errors: all of its stderr; shows whether the run was aborted.
        allow_remarks: accept text after a line, separated by a blank, which a person may have added.

    Raises:
        PgbenchError: there is no summary, or the number of transactions or TPS is missing.
    """
    reader = _Reader(allow_remarks=allow_remarks)
    for line in output.splitlines():
        reader.feed(line)
    values = reader.run
    tps = values.pop("tps_without_connecting", None)
    if tps is None:
        tps = values.get("tps_with_connecting")
    if values.get("transactions") == 0:
        tps = 0.0  # printResults() returns before the TPS line
    messages = error_messages(errors)
    missing = [
        name
        for name, value in (
            ("number of transactions actually processed", values.get("transactions")),
            ("tps", tps),
        )
        if value is None
    ]
    if missing:
        raise _incomplete(missing, messages)
    return PgbenchSummary(
        **values,
        tps=tps,
        scripts=tuple(_script(script) for script in reader.scripts),
        aborted=is_aborted(errors),
        messages=messages,
        other_lines=tuple(reader.other_lines),
    )


def is_aborted(errors: str) -> bool:
    """Return whether pgbench's stderr says that a client or the run was aborted; since 9.0."""
    return _ABORTED.search(errors) is not None


def error_messages(errors: str) -> tuple[str, ...]:
    """Return the error messages in pgbench's stderr, without the program's name.

    If no line is marked as an error (getopt's message about an option is not), return all lines but progress
    and advice.
    """
    lines = errors.splitlines()
    marked = tuple(match[1] for match in map(_ERROR.search, lines) if match)
    return marked or tuple(line for line in lines if line.strip() and not _CHATTER.match(line))


class _Reader:
    """Sorts lines into the run, its scripts and their statements."""

    def __init__(self, *, allow_remarks: bool) -> None:
        self._allow_remarks = allow_remarks
        self.run: dict[str, Any] = {}
        self.scripts: list[dict[str, Any]] = []
        self.other_lines: list[str] = []
        self._current = self.run
        self._in_statements = False

    def feed(self, line: str) -> None:
        if not line.strip():
            return
        title = _SCRIPT_TITLE.fullmatch(line)
        if title:
            self._current = {"title": title[2]}
            self._in_statements = False
            self.scripts.append(self._current)
        elif not (self._feed_statement(line) or self._feed_value(line.removeprefix(" - "))):
            self.other_lines.append(line)

    def _feed_statement(self, line: str) -> bool:
        is_title = _STATEMENTS_TITLE.fullmatch(line.removeprefix(" - ")) is not None
        self._in_statements = is_title or (self._in_statements and _STATEMENT.fullmatch(line) is not None)
        return self._in_statements

    def _feed_value(self, line: str) -> bool:
        lines = _RUN_LINES if self._current is self.run else _SCRIPT_LINES
        for pattern in _compiled(*lines, *_COMMON_LINES):
            match = pattern.match(line)
            if match and (not (rest := line[match.end() :]) or (self._allow_remarks and rest[0].isspace())):
                self._current |= {
                    name: _value(name, text) for name, text in match.groupdict().items() if text is not None
                }
                return True
        return False


def _value(name: str, text: str) -> str | int | float:
    if name in _TEXTS:
        return text
    return float(text) if _FLOATS.fullmatch(name) else int(text)


def _script(values: dict[str, Any]) -> ScriptSummary:
    values.setdefault("weight", 1)  # 9.6 and older have none, or print none
    if values.pop("ended", None) == 0:
        values |= {"transactions": 0, "tps": 0.0}
    missing = [name for name in ("weight", "transactions", "tps") if name not in values]
    if missing:
        raise _incomplete([f"{values['title']}: {name}" for name in missing], ())
    return ScriptSummary(**values)


def _incomplete(missing: list[str], messages: tuple[str, ...]) -> PgbenchError:
    sentence = tr("pgbench's summary does not contain {missing}.").format(missing=", ".join(missing))
    said = tr("pgbench reported: {messages}").format(messages="; ".join(messages)) if messages else ""
    return PgbenchError(
        f"{sentence} {said}".strip(),
        hint=tr("Data measured so far is kept. The full output is in the run file."),
    )


_NUMBER: Final = r"-?(?:\d+(?:\.\d+)?|nan|inf)"
_PROGRESS: Final = (
    rf"progress: (?P<time>\d+\.\d+) s, (?P<tps>{_NUMBER}) tps, lat (?P<latency>{_NUMBER}) ms"
    rf" stddev (?P<stddev>{_NUMBER})(?:, (?P<failed>\d+) failed)?(?:, lag (?P<lag>{_NUMBER}) ms)?"
    r"(?:, (?P<skipped>\d+) skipped)?(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?"
)
_EPOCH_DECIMALS: Final = 3


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """One report of ``--progress``.

    The interval is the time since the previous line: late reports are merged, so the position of a line does
    not give its time. The first interval includes connecting. Failed transactions are in neither TPS nor
    latency.

    Attributes:
        time_s: end of the interval: seconds since the epoch, or since the start.
        is_epoch: whether `time_s` counts from the epoch (``--progress-timestamp``).
        tps: transactions per second in the interval.
        latency_ms: their mean latency; 0 if there were none; may be NaN.
        stddev_ms: their standard deviation; may be NaN (rounding below zero).
        failed: transactions that failed; None before 15.
        lag_ms: mean schedule lag; None without ``--rate``.
        skipped: transactions skipped; None without ``--rate`` and ``--latency-limit``.
        retried: transactions tried again; None without ``--max-tries``.
        retries: number of such tries; None without ``--max-tries``.
    """

    time_s: float
    is_epoch: bool
    tps: float
    latency_ms: float
    stddev_ms: float
    failed: int | None = None
    lag_ms: float | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None


def parse_progress(line: str, *, allow_remarks: bool = False) -> ProgressLine | None:
    """Parse a progress report; return None for any other line.

    Args:
        line: with or without its line end.
        allow_remarks: accept text after the line, separated by a blank, which a person may have added.
    """
    line = line.rstrip("\r\n")
    match = _compiled(_PROGRESS)[0].match(line)
    if match is None or not ((rest := line[match.end() :]) == "" or (allow_remarks and rest[0].isspace())):
        return None
    time = match["time"]
    return ProgressLine(
        time_s=float(time),
        is_epoch=len(time) - time.index(".") - 1 == _EPOCH_DECIMALS,
        tps=float(match["tps"]),
        latency_ms=float(match["latency"]),
        stddev_ms=float(match["stddev"]),
        failed=_count(match["failed"]),
        lag_ms=None if match["lag"] is None else float(match["lag"]),
        skipped=_count(match["skipped"]),
        retried=_count(match["retried"]),
        retries=_count(match["retries"]),
    )


def _count(text: str | None) -> int | None:
    return None if text is None else int(text)


_DONE: Final = re.compile(r"^done in \d+\.\d\d s \((?P<steps>[^()]+)\)\.$", re.MULTILINE | re.ASCII)
_STEP: Final = re.compile(r"(?P<name>[a-z][a-z -]*) (?P<seconds>\d{1,9}\.\d\d) s", re.ASCII)
_ROWS: Final = ("client-side generate", "server-side generate")
_VACUUM: Final = "vacuum"
_INDEX: Final = "primary keys"


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Seconds of the steps that write data; None if unknown.

    Attributes:
        rows_s: of the rows of all tables.
        vacuum_s: of vacuuming and analysing them.
        index_s: of their primary keys.
    """

    rows_s: float | None = None
    vacuum_s: float | None = None
    index_s: float | None = None


def load_steps(stderr: str) -> dict[str, float]:
    """Return the seconds of each step by its name; empty if pgbench printed none.

    Args:
        stderr: of a successful ``pgbench --initialize``.
    """
    done = _DONE.search(stderr)
    found = [_STEP.fullmatch(part) for part in done["steps"].split(", ")] if done else []
    return {step["name"]: float(step["seconds"]) for step in found if step}


def load_times(programs: Iterable[tuple[str, float]]) -> LoadTimes:
    """Return how long loading took.

    Args:
        programs: standard error and duration in seconds of each pgbench that loaded; one without steps
            executed a script that inserts rows.
    """
    steps: dict[str, float] = {}
    rows_s: float | None = None
    for stderr, seconds in programs:
        durations = load_steps(stderr)
        steps |= durations
        made = [durations[name] for name in _ROWS if name in durations] if durations else [seconds]
        rows_s = sum(made, rows_s or 0.0) if made else rows_s
    return LoadTimes(rows_s, steps.get(_VACUUM), steps.get(_INDEX))
