"""Read a run file: finished, growing, abandoned, or foreign.

A run file is untrusted input: it is opened read-only, must have exactly the schema of its format
(`app.runfile.writer`), may use what its size justifies (`app.runfile.bounds`), and its values must have the
expected type and a reasonable length. Every damage becomes a `CorruptRunFileError`, never a traceback.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError, NewerRunFileError, NotARunFileError, RunFileError
from app.domain.json_value import Json
from app.domain.run import Phase, PhaseName, RunState, read_phase_name
from app.domain.text import tr
from app.runfile.bounds import (
    MOST_NUMBER_BYTES,
    MOST_TEXT_BYTES,
    BoundedConnection,
    TooMuchError,
    check_regular,
)
from app.runfile.metadata.environment import EnvironmentFacts, read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, read_metadata
from app.runfile.metadata.safety import judged_marks
from app.runfile.writer import APPLICATION_ID, FORMAT, ONE_PHASE_FORMAT, LatencySecond, strange_part

NAME_CHARS: Final = 1_000
"""Characters of a name, which is repeated in every row of an export. pgFooting's own names have at most 200.
"""

TEXT_CHARS: Final = 100_000
"""Characters of a sentence, a reason or a source."""

JSON_CHARS: Final = 4 << 20
JSON_DEPTH: Final = 60
"""Nesting depth of lists and objects: recursive code stays far from Python's limit."""

_SLOW: Final = re.compile(r"[0-9](?:[0-9]{15}|[eE]\+?[0-9]{3})")
"""Numbers that might be too large: other texts, if they have no escapes either, take the quick way."""

_HALVES: Final = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which no encoding has: they are shown as escapes."""

_MOST_WHOLE: Final = 2**63

Value = TypeVar("Value")


def _nothing(_constant: str) -> None:
    """Drop NaN and Infinity, which Python writes and JSON does not have."""


def _whole(digits: str) -> int | None:
    value = int(digits) if len(digits) < 25 else _MOST_WHOLE
    return value if abs(value) < _MOST_WHOLE else None


def _fraction(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


_QUICK: Final = json.JSONDecoder(parse_constant=_nothing)
_CAREFUL: Final = json.JSONDecoder(parse_constant=_nothing, parse_int=_whole, parse_float=_fraction)


_DAMAGE: Final = (sqlite3.Error, struct.error, ValueError, TypeError, KeyError, OverflowError, RecursionError)
"""Errors of reading what no pgFooting wrote."""
_WRONG_TYPE: Final = tr("a value has the wrong type")
_TOO_LONG: Final = tr("a text is too long")


def json_value(text: object) -> Json:
    """Return the value of a JSON text; unusable numbers are None.

    Raises:
        TooMuchError: it is too long or nested too deeply.
        ValueError: it is not JSON.
        TypeError: it is not a text.
    """
    if not isinstance(text, str):
        raise TypeError(_WRONG_TYPE)
    if len(text) > JSON_CHARS:
        raise TooMuchError(_TOO_LONG)
    try:
        if "\\u" not in text and _SLOW.search(text) is None:
            value = _QUICK.decode(text)
        else:
            careful = json.dumps(_CAREFUL.decode(text), ensure_ascii=False)
            value = _QUICK.decode(_HALVES.sub(lambda half: f"\\\\u{ord(half[0]):04x}", careful))
    except RecursionError as error:
        raise TooMuchError(_too_deep()) from error
    if text.count("[") + text.count("{") > JSON_DEPTH and not _is_flat(value):
        raise TooMuchError(_too_deep())
    found: Json = value
    return found


def _too_deep() -> str:
    return tr("lists and objects in it are nested deeper than {most}").format(most=JSON_DEPTH)


def _is_flat(value: Json) -> bool:
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(JSON_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, _CONTAINERS)
        ]
        if not level:
            return True
    return False


_CONTAINERS: Final = (dict, list)


Texts = tuple[tuple[str, str], ...]
"""Names and JSON texts of facts."""


def kept_if_small(make: Callable[[Texts], Value]) -> Callable[[Texts], Value]:
    """Keep what is made of small facts, as repeats have them in common; large ones would fill the memory."""
    kept = lru_cache(64)(make)

    def made(texts: Texts) -> Value:
        return (kept if sum(len(text) for _, text in texts) <= _MOST_KEPT_CHARS else make)(texts)

    return made


@kept_if_small
def facts_of(texts: Texts) -> Mapping[str, Json]:
    """Return facts by name."""
    return {name_value(name): json_value(text) for name, text in texts}


@kept_if_small
def _environment_of(texts: Texts) -> EnvironmentFacts:
    return read_environment_facts(facts_of(texts))


def json_object(text: object) -> dict[str, Json]:
    """Return a JSON object.

    Raises:
        TooMuchError, ValueError, TypeError: see `json_value`; it is something else.
    """
    value = json_value(text)
    if not isinstance(value, dict):
        raise TypeError(_WRONG_TYPE)
    return value


def json_words(text: object) -> tuple[str, ...]:
    """Return a JSON array of texts.

    Raises:
        TooMuchError, ValueError, TypeError: see `json_value`; it is something else.
    """
    value = json_value(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(_WRONG_TYPE)
    return tuple(str(item) for item in value)


def text_value(value: object, most: int = TEXT_CHARS) -> str:
    """Return a text.

    Raises:
        TooMuchError: it has more characters than `most`.
        TypeError: it is something else.
    """
    if not isinstance(value, str):
        raise TypeError(_WRONG_TYPE)
    if len(value) > most:
        raise TooMuchError(_TOO_LONG)
    return value


def name_value(value: object) -> str:
    """Return a name.

    Raises:
        TooMuchError, TypeError: see `text_value`.
    """
    return text_value(value, NAME_CHARS)


def whole_value(value: object) -> int:
    """Return a whole number.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, int):
        raise TypeError(_WRONG_TYPE)
    return value


def number_value(value: object) -> float:
    """Return a number.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, int | float):
        raise TypeError(_WRONG_TYPE)
    return float(value)


_SQLITE_HEADER = b"SQLite format 3\0"
_MOST_VALUES_BYTES: Final = 16 << 20
"""Limit of all keys of table `run`, or all facts: they are in memory as objects."""
_MOST_KEPT_CHARS: Final = 1 << 18

_NAMES: Final = ("id", "name", "campaign", "campaign_folder", "configuration")

# The view `samples` of the file is for users; with trusted_schema off SQLite 3.40 refuses the JSON functions
# inside it. None of these statements sorts, which would waste memory.
_SAMPLES: Final = """
    SELECT t_ms, value FROM sample WHERE series = ?1 AND t_ms > ?2
    UNION ALL
    SELECT json_extract(entry.value, '$[1]'), json_extract(entry.value, '$[2]')
    FROM tick, json_each(tick.live) AS entry
    WHERE tick.live IS NOT NULL
      AND json_extract(entry.value, '$[0]') = ?1
      AND json_extract(entry.value, '$[1]') > ?2
"""
_TOTALS: Final = """
    WITH wanted(id) AS (SELECT value FROM json_each(?1))
    SELECT series, total(value), max(value), count(*) FROM sample
    WHERE series IN wanted AND t_ms > ?2 AND t_ms <= ?3 GROUP BY series
    UNION ALL
    SELECT json_extract(entry.value, '$[0]'), json_extract(entry.value, '$[2]'),
           json_extract(entry.value, '$[2]'), 1
    FROM tick, json_each(tick.live) AS entry
    WHERE tick.live IS NOT NULL
      AND json_extract(entry.value, '$[0]') IN wanted
      AND json_extract(entry.value, '$[1]') > ?2 AND json_extract(entry.value, '$[1]') <= ?3
"""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of a run file: metric, instance and unit."""

    metric: str
    instance: str
    unit: str
    label: str
    source: str


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Start and end of a phase, in ms of the run's clock; `ended_ms` is None while it lasts."""

    phase: Phase
    started_ms: int
    ended_ms: int | None
    number: int = 0

    @property
    def name(self) -> PhaseName:
        """Its unique name within the run."""
        return PhaseName(self.phase, self.number)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of the run."""

    t_ms: int
    kind: str
    message: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True)
class LiveTick:
    """The samples of one second of a growing file: (number of the series, t_ms, value)."""

    number: int
    t_ms: int
    samples: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """An executed program as stored; `exit_code` is None for root's own action, described in words."""

    started_ms: int
    duration_ms: int
    account: str
    argv: tuple[str, ...]
    exit_code: int | None
    stdout: str
    stderr: str


def _check_header(path: Path) -> bool:
    """Check the first 100 bytes before SQLite sees the file; return whether it is in WAL mode.

    Offsets from SQLite's "Database File Format", section 1.3.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size_bytes = os.fstat(file.fileno()).st_size
    except OSError as error:
        message = tr("{path} cannot be read: {reason}.")
        raise RunFileError(message.format(path=path, reason=error.strerror)) from error
    is_ours = header.startswith(_SQLITE_HEADER) and int.from_bytes(header[68:72], "big") == APPLICATION_ID
    if len(header) < 100 or not is_ours:
        raise NotARunFileError(tr("{path} is not a pgFooting run file.").format(path=path))
    version = int.from_bytes(header[60:64], "big")
    if version > FORMAT:
        message = tr("{path} has format {version}; this pgFooting reads formats up to {known}.")
        hint = tr("Open it with a newer pgFooting.")
        raise NewerRunFileError(message.format(path=path, version=version, known=FORMAT), hint=hint)
    in_wal_mode = header[18] == 2
    pages, page_bytes = int.from_bytes(header[28:32], "big"), int.from_bytes(header[16:18], "big")
    if not in_wal_mode and pages * (65536 if page_bytes == 1 else page_bytes) > size_bytes:
        raise CorruptRunFileError(
            tr("{path} is truncated: it has {size} of {expected} bytes.").format(
                path=path, size=size_bytes, expected=pages * page_bytes
            )
        )
    return in_wal_mode


class RunFile:
    """A run file open for reading. Use as a context manager; belongs to one thread.

    Raises:
        NotARunFileError: not written by pgFooting.
        NewerRunFileError: a format this program does not know.
        CorruptRunFileError: damaged, at opening or at any later reading.
        RunFileError: cannot be read at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        in_wal_mode = _check_header(path)
        # A WAL file on a read-only medium has no index of its journal and needs `immutable`.
        is_fixed = in_wal_mode and not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)  # noqa: PTH120
        flags = "mode=ro&immutable=1" if is_fixed else "mode=ro"
        with self._errors_reported():
            self._file = BoundedConnection(path, flags, grows=in_wal_mode)
        self._is_finished = False
        self._kept: dict[str, Any] = {}
        try:
            self._refuse_strange()
        except BaseException:
            self.close()
            raise

    def _refuse_strange(self) -> None:
        with self._errors_reported():
            strange = strange_part(self._file.connection)
        if strange:
            message = tr("{path} is not a valid pgFooting run file: {what}. It was not read.")
            raise NotARunFileError(message.format(path=self.path, what=strange))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _errors_reported(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            message = tr("{path} is damaged: {reason}.")
            raise CorruptRunFileError(message.format(path=self.path, reason=error)) from error

    def _once(self, name: str, read: Callable[[], Value]) -> Value:
        """Return a part of the file; that of a finished run is read once."""
        if name in self._kept:
            kept: Value = self._kept[name]
            return kept
        found = read()
        if self._is_finished:
            self._kept[name] = found
        return found

    def _rows(
        self, statement: str, values: Sequence[object] = (), *, most_text: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        return chain.from_iterable(
            self._file.rows(statement, values, longest=MOST_TEXT_BYTES, most_text=most_text)
        )

    def _has_live_samples(self) -> bool:
        statement = "SELECT 1 FROM tick WHERE live IS NOT NULL LIMIT 1"
        return not self._is_finished or any(True for _ in self._rows(statement))

    def _numbers(self, statement: str, *values: object) -> NDArray[np.float64]:
        """Return the numbers of all rows, one row after the other."""
        if "UNION" in statement and not self._once("live samples", self._has_live_samples):
            statement = statement.partition("UNION")[0]
        found = bytearray()
        for batch in self._file.rows(statement, values, longest=MOST_NUMBER_BYTES):
            numbers = tuple(chain.from_iterable(batch))
            found += struct.pack(f"{len(numbers)}d", *numbers)  # a text is a struct.error
        return np.frombuffer(found)

    @property
    def metadata(self) -> RunMetadata:
        """Metadata of the run."""
        return self._once("metadata", lambda: read_metadata(self.values))

    @property
    def environment(self) -> EnvironmentFacts:
        """Facts from before the run."""
        return self._once("environment", lambda: self.of_facts("before", _environment_of))

    @property
    def values(self) -> Mapping[str, Json]:
        """All keys of table `run`."""
        return self._once("values", self._values)

    def _values(self) -> Mapping[str, Json]:
        with self._errors_reported():
            rows = self._rows("SELECT key, value FROM run", most_text=_MOST_VALUES_BYTES)
            found = {name_value(key): json_value(value) for key, value in rows}
            for name in _NAMES:
                if isinstance(value := found.get(name), str):
                    name_value(value)
        self._is_finished = found.get("state") != RunState.RUNNING.value
        return found

    @property
    def state(self) -> RunState:
        """The state as stored; `running` may mean that the runner died."""
        with self._errors_reported():
            return RunState(text_value(self.values.get("state")))

    def phases(self) -> tuple[PhaseTimes, ...]:
        """The phases so far, in order."""
        return self._once("phases", self._phases)

    def _phases(self) -> tuple[PhaseTimes, ...]:
        with self._errors_reported():
            found = []
            for name, start, end in self._rows("SELECT name, started_ms, ended_ms FROM phase"):
                named = read_phase_name(name_value(name))
                ended_ms = None if end is None else whole_value(end)
                found.append(PhaseTimes(named.phase, whole_value(start), ended_ms, named.number))
            return tuple(sorted(found, key=lambda times: times.started_ms))

    def phase(self, phase: Phase, number: int = 0) -> PhaseTimes | None:
        """The times of one phase, None if it was not reached."""
        name = PhaseName(phase, number)
        return next((times for times in self.phases() if times.name == name), None)

    def series(self) -> tuple[Series, ...]:
        """All series of the file."""
        with self._errors_reported():
            return tuple(
                Series(
                    name_value(metric),
                    name_value(instance),
                    name_value(unit),
                    name_value(label),
                    text_value(source),
                )
                for metric, instance, unit, label, source in self._rows(
                    "SELECT metric, instance, unit, label, source FROM series ORDER BY id"
                )
            )

    def samples(
        self, metric: str, instance: str = "", *, after_ms: int = -1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (t_ms, values) of one series, ascending; empty arrays if there is none.

        Args:
            metric: `Metric.id`.
            instance: device, thread ...
            after_ms: only samples later than this, to follow a growing file.
        """
        with self._errors_reported():
            number = self._once("series", self.series_numbers).get((metric, instance))
            table = self._numbers(_SAMPLES, number, after_ms).reshape(-1, 2)
        t_ms = table[:, 0]
        if (t_ms[1:] < t_ms[:-1]).any():  # late samples of a growing file
            table = table[np.argsort(t_ms, kind="stable")]
        return table[:, 0], table[:, 1]

    def live_ticks(self, *, after: int) -> tuple[LiveTick, ...]:
        """Return the seconds of a growing file later than number `after`, and those without a number.

        pgbench's last report has no tick of the sampler: its number is negative, and it is always returned.
        """
        with self._errors_reported():
            found = [
                LiveTick(
                    whole_value(number),
                    whole_value(t_ms),
                    tuple((int(series), int(t), float(value)) for series, t, value in json.loads(live)),
                )
                for number, t_ms, live in self._rows(
                    "SELECT number, t_ms, live FROM tick WHERE (number > ? OR number < 0)"
                    " AND live IS NOT NULL",
                    (after,),
                )
            ]
        return tuple(sorted(found, key=lambda tick: (tick.number < 0, tick.number)))

    def series_numbers(self) -> dict[tuple[str, str], int]:
        """Return the number of each series by (metric, instance)."""
        with self._errors_reported():
            return {
                (name_value(metric), name_value(instance)): whole_value(number)
                for number, metric, instance in self._rows("SELECT id, metric, instance FROM series")
            }

    def totals(
        self, start_ms: int, end_ms: int, *, metrics: Sequence[str] | None = None
    ) -> dict[tuple[str, str], tuple[float, float, int]]:
        """Return (sum, maximum, count) of every series over start_ms < t_ms <= end_ms.

        Args:
            start_ms: start, excluded.
            end_ms: end.
            metrics: of these only; None for all.
        """
        found: dict[tuple[str, str], tuple[float, float, int]] = {}
        with self._errors_reported():
            names = self._once("series", self.series_numbers)
            wanted = {n: key for key, n in names.items() if metrics is None or key[0] in metrics}
            ids = json.dumps([*wanted])
            numbers = self._numbers(_TOTALS, ids, start_ms, end_ms) if wanted else np.empty(0)
            for series, total, maximum, count in numbers.reshape(-1, 4).tolist():
                key = wanted[int(series)]
                known = found.get(key, (0.0, -math.inf, 0))
                found[key] = (known[0] + total, max(known[1], maximum), known[2] + int(count))
        return found

    def latency_seconds(self, *, after_ms: int = -1) -> Iterator[LatencySecond]:
        """The per-second latency histograms later than `after_ms`, ascending."""
        with self._errors_reported():
            for batch in self._file.rows(
                "SELECT t_ms, transactions, latency_sum_us, skipped, failed, partial, buckets"
                " FROM histogram WHERE t_ms > ? ORDER BY t_ms",
                (after_ms,),
                longest=MOST_NUMBER_BYTES,
            ):
                for *numbers, buckets in batch:
                    t_ms, transactions, latency_sum_us, skipped, failed, partial = map(whole_value, numbers)
                    if not isinstance(buckets, bytes):
                        raise TypeError(_WRONG_TYPE)
                    yield LatencySecond(
                        t_ms, transactions, latency_sum_us, skipped, failed, bool(partial), buckets
                    )

    def partial_latency_seconds(self) -> tuple[int, ...]:
        """The starts, in ms, of the seconds with possibly missing lines of the transaction log."""
        with self._errors_reported():
            statement = "SELECT t_ms FROM histogram WHERE partial ORDER BY t_ms"
            return tuple(map(int, self._numbers(statement)))

    def events(self, *kinds: str) -> tuple[RunEvent, ...]:
        """Events in the order they were recorded; of these kinds only, if any."""
        found = self._once(f"events {kinds}", lambda: self.numbered_events(*kinds))
        return tuple(event for _, event in found)

    def event_times(self, first: str, second: str) -> list[tuple[int, bool]]:
        """(t_ms, whether it is of the first kind) of the events of two kinds, in the order of recording."""
        statement = "SELECT t_ms, kind = ?1 FROM event WHERE kind IN (?1, ?2) ORDER BY id"
        with self._errors_reported():
            rows = self._rows(statement, (first, second))
            return [(whole_value(t_ms), bool(is_first)) for t_ms, is_first in rows]

    def numbered_events(self, *kinds: str, after_id: int = 0) -> tuple[tuple[int, RunEvent], ...]:
        """Events with their numbers, ascending, to follow a growing file."""
        chosen = f"AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        with self._errors_reported():
            return tuple(
                (
                    whole_value(number),
                    RunEvent(whole_value(t_ms), name_value(kind), text_value(message), json_object(data)),
                )
                for number, t_ms, kind, message, data in self._rows(
                    f"SELECT id, t_ms, kind, message, data FROM event WHERE id > ? {chosen} ORDER BY id",
                    (after_id, *kinds),
                )
            )

    def commands(self) -> tuple[CommandRecord, ...]:
        """Every executed program."""
        with self._errors_reported():
            return tuple(
                CommandRecord(
                    whole_value(start),
                    whole_value(duration),
                    name_value(account),
                    json_words(argv),
                    whole_value(code),
                    text_value(out, MOST_TEXT_BYTES),
                    text_value(err, MOST_TEXT_BYTES),
                )
                for start, duration, account, argv, code, out, err in self._rows(
                    "SELECT started_ms, duration_ms, account, argv, exit_code, stdout, stderr"
                    " FROM command ORDER BY id"
                )
            )

    def facts(self, moment: str) -> Mapping[str, Json]:
        """Facts of the environment at a moment, 'before' or 'after'."""
        return self._once(f"facts {moment}", lambda: self.of_facts(moment, facts_of))

    def of_facts(self, moment: str, make: Callable[[Texts], Value]) -> Value:
        """What is made of the facts at a moment, as stored."""
        with self._errors_reported():
            return make(self._once("texts of facts", self._facts).get(moment, ()))

    def _facts(self) -> Mapping[str, Texts]:
        """Return the facts of every moment."""
        statement = "SELECT moment, name, value FROM fact ORDER BY moment"  # as it is stored
        rows = self._rows(statement, most_text=_MOST_VALUES_BYTES)
        found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for moment, *text in rows:  # of a damaged file not in order
            found[moment].append(tuple(text))
        return {moment: tuple(texts) for moment, texts in found.items()}

    def output(self, name: str) -> str | None:
        """Output of a program, None if nothing is stored."""
        with self._errors_reported():
            rows = list(self._rows("SELECT text FROM output WHERE name = ?", (name,)))
            return text_value(rows[0][0], MOST_TEXT_BYTES) if rows else None

    def unavailable(self) -> tuple[tuple[int, str, str], ...]:
        """(t_ms, source, reason) of sources that do not exist or failed."""
        with self._errors_reported():
            return tuple(
                (whole_value(t_ms), name_value(source), text_value(reason))
                for t_ms, source, reason in self._rows(
                    "SELECT t_ms, source, reason FROM unavailable ORDER BY id"
                )
            )

    def marks(self) -> tuple[tuple[str, str], ...]:
        """(kind, reason) labels of the run: the stored ones, and those derived from the file's contents."""
        with self._errors_reported():
            rows = self._rows("SELECT kind, reason FROM mark ORDER BY kind, reason")
            stored = [(name_value(kind), text_value(reason)) for kind, reason in rows]
        return judged_marks(stored, self.metadata, self.environment)

    def summary(self) -> dict[str, float | None]:
        """The stored figures; empty while the run lasts."""
        return dict(self._once("summary", self._summary))

    def _summary(self) -> dict[str, float | None]:
        with self._errors_reported():
            return {
                name_value(name): None if value is None else number_value(value)
                for name, value in self._rows("SELECT name, value FROM summary")
            }

    def phase_figures(self) -> dict[int, dict[str, float | None]]:
        """The stored figures of the workload's phases other than `measure`, by their number."""
        found: dict[int, dict[str, float | None]] = {}
        with self._errors_reported():
            if next(self._rows("PRAGMA user_version"))[0] == ONE_PHASE_FORMAT:
                return found
            for number, name, value in self._rows("SELECT phase, name, value FROM phase_figure"):
                figures = found.setdefault(whole_value(number), {})
                figures[name_value(name)] = None if value is None else number_value(value)
        return found

    def ticks(self) -> NDArray[np.float64]:
        """Rows of (number, t_ms, lateness_us, missed)."""
        with self._errors_reported():
            statement = "SELECT number, t_ms, lateness_us, missed FROM tick WHERE number >= 0 ORDER BY number"
            return self._numbers(statement).reshape(-1, 4)

    def check(self) -> None:
        """Read every page (SQLite's quick_check).

        Raises:
            CorruptRunFileError: damaged anywhere.
        """
        with self._errors_reported():
            verdict = next(self._rows("PRAGMA quick_check(1)"))[0]
        if verdict != "ok":
            message = tr("{path} is damaged: {reason}.")
            raise CorruptRunFileError(message.format(path=self.path, reason=verdict))
