"""Runs as CSV and JSON for other programs; unreadable files are named and skipped.

CSV is one long table, one value per row: run, name, t_s, phase, metric, instance, unit, value, marks of the
run; t_s counts from the start of the measured phase, seconds with a decimal point in every locale. Further
columns are the run's `dimensions`: the usual ones, and all in which the runs differ. JSON
contains everything in the run file except the verbatim output of the programs; its keys: `JSON_KEYS`.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TextIO, TypeVar

from app import VERSION
from app.analysis.bottleneck import Bottleneck, read_bottleneck
from app.analysis.cannot_show import read_limitations
from app.analysis.facts import read_phase_figures, read_run_facts
from app.domain.columns import CellKind, Column
from app.domain.disturbances import THRESHOLDS
from app.domain.errors import RunFileError, UsageError, did_you_mean
from app.domain.json_value import Json
from app.domain.run import Phase
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.library.entries import effective_state, entry_of, read_entry
from app.library.query import DIMENSIONS, dimensions
from app.postgres.pgbench.histogram import Histogram
from app.runfile.disturbance import marks_of, read_disturbances
from app.runfile.histogram_decoding import percentiles
from app.runfile.metadata.environment import counted_devices
from app.runfile.metadata.typed_json import known, values_of
from app.runfile.output_file import check_output, write_output
from app.runfile.reader import RunFile
from app.runfile.summary import figures_of
from app.runfile.writer import compact

# Write CSV without cells that a spreadsheet would execute as formulas.
#
# A spreadsheet evaluates a cell that begins like a formula, even if quoted, and in some locales splits cells
# at semicolons and tabs as well (OWASP, "CSV Injection"). An apostrophe makes it text.


_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?: ?%)?\Z", re.ASCII)
_BEGINNING: Final = frozenset("=+-@")
_MORE: Final = "\N{MINUS SIGN}"
_BLANK: Final = "\ufeff\u200b\u2060"
_PARTS: Final = re.compile(r"([;,|\t\r\n\"'`])")
"""Characters that a program may take for the end of a cell."""


def write_rows(stream: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV; escape text that a spreadsheet might evaluate, keep numbers."""
    csv.writer(stream).writerows(map(escape_formula, row) for row in rows)


def escape_formula(cell: object) -> object:
    """Return a cell that no spreadsheet evaluates."""
    return _escape(cell) if isinstance(cell, str) else cell


@lru_cache(1 << 15)
def _escape(text: str) -> str:
    """Escape a text; cached, because names, units and phases repeat in many rows."""
    if _NUMBER.match(text):
        return text
    escaped = "".join(map(_part, _PARTS.split(text)))
    return f"'{escaped}" if escaped[:1] in {"\t", "\r", "\n"} else escaped


def _part(text: str) -> str:
    begun = text.lstrip().lstrip(_BLANK).lstrip()
    if not begun or _NUMBER.match(begun.rstrip()):
        return text
    first = unicodedata.normalize("NFKC", begun[0])[:1]
    return "'" + text if first in _BEGINNING or first in _MORE else text


PERCENTILES: Final = (50.0, 95.0, 99.0)
JSON_FORMAT: Final = "pgfooting-runs"
JSON_VERSION: Final = 1
"""Increased when a key is removed or changes its meaning, not for a new key."""

JSON_KEYS: Final = frozenset(
    {
        "format",
        "version",
        "program",
        "runs[]",
        "runs[].id",
        "runs[].name",
        "runs[].campaign",
        "runs[].configuration",
        "runs[].repeat",
        "runs[].state",
        "runs[].started_epoch_s",
        "runs[].path",
        "runs[].dimensions",
        "runs[].target",
        "runs[].workload",
        "runs[].installation",
        "runs[].postgresql",
        "runs[].settings",
        "runs[].io_baseline",
        "runs[].scale",
        "runs[].summary",
        "runs[].marks",
        "runs[].disturbances",
        "runs[].bottleneck",
        "runs[].cannot_show",
        "runs[].phases",
        "runs[].workload_phases",
        "runs[].events",
        "runs[].commands",
        "runs[].devices",
        "runs[].facts",
        "runs[].unavailable",
        "runs[].series",
    }
)
"""Every promised key of the JSON document; a run may have more. Times t_ms are of the run's clock."""


class ExportedValue(NamedTuple):
    """One value of a run, a row of the CSV; a named tuple because a long run has millions.

    Attributes:
        run: identity of the run.
        name: of the run.
        t_s: end of the interval, from the start of the measured phase.
        phase: of the interval; empty if unknown.
        metric: name of the metric.
        instance: disk, process ...; empty if there is only one.
        unit: of the value.
        value: finite.
        marks: kinds of the run's marks, such as ``unsafe``, separated by blanks; empty for none.
    """

    run: str
    name: str
    t_s: float
    phase: str
    metric: str
    instance: str
    unit: str
    value: float
    marks: str


CSV_COLUMNS: Final[tuple[Column[ExportedValue], ...]] = (
    Column("run", "run", lambda row: row.run, CellKind.LABEL),
    Column("name", "name", lambda row: row.name, CellKind.WORDS),
    Column("t_s", "t_s", lambda row: f"{row.t_s:.3f}"),
    Column("phase", "phase", lambda row: row.phase, CellKind.LABEL),
    Column("metric", "metric", lambda row: row.metric, CellKind.LABEL),
    Column("instance", "instance", lambda row: row.instance, CellKind.LABEL),
    Column("unit", "unit", lambda row: row.unit, CellKind.LABEL),
    Column("value", "value", lambda row: str(compact(row.value))),
    Column("marks", "marks", lambda row: row.marks, CellKind.WORDS),
)
"""Columns of the long table; their headings are stable and not translated."""


def _origin_ms(run: RunFile) -> int:
    measured = run.phase(Phase.MEASURE)
    return measured.started_ms if measured else 0


def _phase_at(phases: Sequence[tuple[int, str]], t_ms: float) -> str:
    """Return the phase of the interval that ends at t_ms.

    Args:
        phases: start and name of each, the last one first.
        t_ms: of the run's clock.
    """
    for started_ms, name in phases:
        if t_ms > started_ms:
            return name
    _, first = phases[-1] if phases else (0, "")
    return first


def _values(run: RunFile) -> Iterator[tuple[float, str, str, str, float]]:
    """Yield (t_ms, metric, instance, unit, value) of every series and of the latency percentiles."""
    for series in run.series():
        if series.metric.startswith("latency.p"):
            continue  # from the histograms below, for files of any age
        t_ms, values = run.samples(series.metric, series.instance)
        for moment, value in zip(t_ms.tolist(), values.tolist(), strict=True):
            if not math.isfinite(value):  # no run of ours contains such a value
                continue
            yield moment, series.metric, series.instance, series.unit, value
    for second in run.latency_seconds():
        end_ms = second.t_ms + 1000.0
        yield end_ms, "log.transactions", "", "transactions", float(second.transactions)
        if second.transactions:
            histogram = Histogram.decode(second.buckets)
            for percent in PERCENTILES:
                value_ms = histogram.percentile(percent) / 1000
                yield end_ms, f"latency.p{percent:g}", "", "ms", value_ms


def write_csv(paths: Iterable[Path], stream: TextIO, disguise: Anonymizer) -> None:
    """Write the long table of several runs."""
    paths = list(paths)
    tables = [dimensions(read_entry(path)) for path in paths]
    names = [name for name in dict.fromkeys(chain(*tables)) if _is_column(name, tables)]
    write_rows(stream, [[*(column.heading for column in CSV_COLUMNS), *map(disguise.sentence, names)]])
    cells = [column.cell for column in CSV_COLUMNS]
    for path, table in zip(paths, tables, strict=True):
        with RunFile(path) as run:
            disguise.learn(describe_run(run))
            own = [disguise.sentence(str(table.get(name) or "")) for name in names]
            exported = _exported(run, disguise)
            write_rows(stream, ([*(cell(value) for cell in cells), *own] for value in exported))


def _is_column(name: str, tables: Sequence[Mapping[str, object]]) -> bool:
    return name in DIMENSIONS or len({table.get(name) for table in tables}) > 1


def _exported(run: RunFile, disguise: Anonymizer) -> Iterator[ExportedValue]:
    """Yield every value of a run, anonymised."""
    metadata, origin_ms = run.metadata, _origin_ms(run)
    phases = [(times.started_ms, times.name.text) for times in reversed(run.phases())]
    identity = disguise.identity(known(metadata.id, ""))
    name = disguise.sentence(known(metadata.name, ""))
    marks = disguise.sentence(" ".join(dict.fromkeys(kind for kind, _ in marks_of(run))))
    for t_ms, metric, instance, unit, value in _values(run):
        yield ExportedValue(
            run=identity,
            name=name,
            t_s=(t_ms - origin_ms) / 1000,
            phase=_phase_at(phases, t_ms),
            metric=disguise.sentence(metric),
            instance=disguise.sentence(instance),
            unit=disguise.sentence(unit),
            value=value,
            marks=marks,
        )


def run_as_json(run: RunFile) -> dict[str, Json]:
    """Return the complete contents of a run file as plain JSON values."""
    series: list[Json] = []
    for spec in run.series():
        t_ms, values = run.samples(spec.metric, spec.instance)
        series.append(
            {
                "metric": spec.metric,
                "instance": spec.instance,
                "unit": spec.unit,
                "label": spec.label,
                "source": spec.source,
                "t_ms": t_ms.tolist(),
                "values": values.tolist(),
            }
        )
    return {**describe_run(run), "series": series}


def bottleneck_as_json(bottleneck: Bottleneck) -> dict[str, Json]:
    """Return the bottleneck of a run as JSON values."""
    return {
        "cause": bottleneck.cause.value,
        "sentence": bottleneck.sentence,
        "evidence": list(bottleneck.evidence),
    }


def describe_run(run: RunFile) -> dict[str, Json]:
    """Return the contents of a run file except its samples."""
    before = run.facts("before")
    judged, environment = read_disturbances(run), run.environment
    return {
        **run.values,
        "path": str(run.path),
        "dimensions": dict(dimensions(entry_of(run))),
        "state": effective_state(run.path, run.state).value,
        "summary": figures_of(run),
        "marks": [{"kind": kind, "reason": reason} for kind, reason in marks_of(run, judged)],
        "disturbances": {
            "found": [
                {"kind": each.kind.value, "amount": each.amount, "unit": THRESHOLDS[each.kind].unit.value}
                for each in judged.found
            ],
            "not_known": {kind.value: why for kind, why in judged.unknown},
        },
        "bottleneck": bottleneck_as_json(read_bottleneck(run)),
        "cannot_show": [{"kind": each.limit.value, "words": each.words} for each in read_limitations(run)],
        "phases": [
            {"phase": times.name.text, "started_ms": times.started_ms, "ended_ms": times.ended_ms}
            for times in run.phases()
        ],
        "workload_phases": [
            {**values_of(each.metadata), "label": each.metadata.label, "summary": dict(each.figures)}
            for each in read_phase_figures(run)
        ],
        "events": [
            {"t_ms": event.t_ms, "kind": event.kind, "message": event.message, "data": event.data}
            for event in run.events()
        ],
        "commands": [
            {
                "argv": list(command.argv),
                "account": command.account,
                "started_ms": command.started_ms,
                "duration_ms": command.duration_ms,
                "exit_code": command.exit_code,
            }
            for command in run.commands()
        ],
        "devices": counted_devices(environment),
        "facts": {"before": before, "after": run.facts("after")},
        "unavailable": [
            {"t_ms": t_ms, "source": source, "reason": reason} for t_ms, source, reason in run.unavailable()
        ],
    }


def finite(value: Json) -> Json:
    """Replace numbers that JSON lacks (NaN, infinite) by null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def write_json(paths: Iterable[Path], stream: TextIO, disguise: Anonymizer) -> None:
    """Write one object: format, version, program and the runs."""
    runs: list[Json] = []
    for path in paths:
        with RunFile(path) as run:
            value = run_as_json(run)
            disguise.learn(value)
            runs.append(disguise.json(value))
    document: dict[str, Json] = {
        "format": JSON_FORMAT,
        "version": JSON_VERSION,
        "program": f"pgFooting {VERSION}",
        "runs": runs,
    }
    json.dump(finite(document), stream, ensure_ascii=False, indent=1, allow_nan=False)
    stream.write("\n")


FORMATS: Final[dict[str, Callable[[Iterable[Path], TextIO, Anonymizer], None]]] = {
    ".csv": write_csv,
    ".json": write_json,
}


def format_of(output: Path, known: Iterable[str] = FORMATS) -> str:
    """Return the suffix of an output, which determines its format.

    Raises:
        UsageError: an unknown suffix.
    """
    ending, endings = output.suffix.lower(), tuple(known)
    if ending not in endings:
        message = tr("The extension of {path} must be one of: {known}.")
        if os.path.isdir(output):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
            message = tr("{path} is a folder; name a file in it that ends with {known}.")
        sentence = message.format(path=output, known=", ".join(endings))
        raise UsageError(sentence, hint=did_you_mean(ending, endings) if ending else "")
    return ending


def export_runs(paths: Sequence[Path], output: Path, *, anonymous: bool, replace: bool = False) -> None:
    """Write runs to a file in the format of its suffix; a failure leaves no partial file.

    Args:
        paths: run files.
        output: the file to write.
        anonymous: whether serials, host, user and folders are replaced.
        replace: whether an existing file may be replaced.

    Raises:
        UsageError: an unknown suffix.
        RefusedError: the file exists already.
        FootingError: a run file cannot be read, or the output cannot be written.
    """
    write = FORMATS[format_of(output)]
    check_output(output, replace=replace)
    disguise = Anonymizer.of_this_machine() if anonymous else Anonymizer.none()

    def write_text(binary: BinaryIO) -> None:
        stream = TextIOWrapper(binary, encoding="utf-8", newline="", errors="backslashreplace")
        write(paths, stream, disguise)
        stream.detach()

    write_output(output, write_text)


# Process several run files even if some are unreadable: report and skip those.


T = TypeVar("T")


def with_readable(
    paths: Sequence[Path], work: Callable[[Sequence[Path]], T], report: Callable[[str], object]
) -> T:
    """Return the result of `work` for the readable ones of these run files.

    Files are read only once unless one is damaged.

    Args:
        paths: run files.
        work: raises RunFileError for an unreadable file; then it is called again without those.
        report: called with a sentence for each skipped file.

    Raises:
        RunFileError: none can be read, or the only one.
    """
    try:
        return work(paths)
    except RunFileError:
        if len(paths) < 2:
            raise
        good, problems = _sort_out(paths)
        if not good or not problems:
            raise
        for problem in problems:
            report(tr("Skipped: {problem}").format(problem=problem.message))
        return work(good)


def _sort_out(paths: Sequence[Path]) -> tuple[list[Path], list[RunFileError]]:
    good: list[Path] = []
    problems: list[RunFileError] = []
    for path in paths:
        try:
            _read_whole(path)
        except RunFileError as error:
            problems.append(error)
        else:
            good.append(path)
    return good, problems


def _read_whole(path: Path) -> None:
    """Read every part of a run file.

    Raises:
        RunFileError: a part is damaged.
    """
    with RunFile(path) as run:
        describe_run(run)
        for series in run.series():
            run.samples(series.metric, series.instance)
        percentiles([second.buckets for second in run.latency_seconds()], (50.0,))
    read_run_facts(path)
