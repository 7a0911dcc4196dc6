"""Runs as CSV and JSON for other programs.

CSV is one long table, one value a row: run, name, t_s, phase, metric, instance, unit, value; t_s counts from
the begin of the measured phase, seconds with a decimal point whatever the locale. JSON holds everything
that the run file holds but the verbatim output of the programs.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from app.domain.errors import FootingError, UsageError, did_you_mean
from app.domain.text import tr
from app.postgres.histogram import Histogram
from app.runs.anonymous import Disguise
from app.runs.library import effective_state
from app.runs.runfile import Json, Phase, compact
from app.runs.runfile_reader import PhaseTimes, RunFile

PERCENTILES: Final = (50.0, 95.0, 99.0)
COLUMNS: Final = ("run", "name", "t_s", "phase", "metric", "instance", "unit", "value")


def _origin_ms(run: RunFile) -> int:
    measured = run.phase(Phase.MEASURE)
    return measured.started_ms if measured else 0


def _phase_at(phases: Sequence[PhaseTimes], t_ms: float) -> str:
    """Return the phase in which the interval that ends at t_ms lies."""
    for times in reversed(phases):
        if t_ms > times.started_ms:
            return times.phase.value
    return phases[0].phase.value if phases else ""


def _values(run: RunFile) -> Iterator[tuple[float, str, str, str, float]]:
    """Yield (t_ms, metric, instance, unit, value) of every series and of the latency percentiles."""
    for series in run.series():
        if series.metric.startswith("latency.p"):
            continue  # from the histograms below, for files of any age
        t_ms, values = run.samples(series.metric, series.instance)
        for moment, value in zip(t_ms.tolist(), values.tolist(), strict=True):
            if not math.isfinite(value):  # no run of ours holds such a value
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


def write_csv(paths: Iterable[Path], stream: TextIO, disguise: Disguise) -> None:
    """Write the long table of several runs."""
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for path in paths:
        with RunFile(path) as run:
            disguise.learn(describe_run(run))
            values, origin_ms, phases = run.values, _origin_ms(run), run.phases()
            head = (values.get("id"), disguise.text(str(values.get("name"))))
            for t_ms, metric, instance, unit, value in _values(run):
                t_s = f"{(t_ms - origin_ms) / 1000:.3f}"
                place = (t_s, _phase_at(phases, t_ms), metric, disguise.text(instance))
                writer.writerow((*head, *place, unit, str(compact(value))))


def run_as_json(run: RunFile) -> dict[str, Json]:
    """Return everything a run file says, as plain JSON values."""
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


def describe_run(run: RunFile) -> dict[str, Json]:
    """Return what a run file says but its samples."""
    return {
        **run.values,
        "path": str(run.path),
        "state": effective_state(run.path, run.state).value,
        "summary": dict(run.summary()),
        "marks": [{"kind": kind, "reason": reason} for kind, reason in run.marks()],
        "phases": [
            {"phase": times.phase.value, "started_ms": times.started_ms, "ended_ms": times.ended_ms}
            for times in run.phases()
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
        "facts": {"before": run.facts("before"), "after": run.facts("after")},
        "unavailable": [
            {"t_ms": t_ms, "source": source, "reason": reason} for t_ms, source, reason in run.unavailable()
        ],
    }


def finite(value: Json) -> Json:
    """Return a JSON value in which numbers that JSON does not have (NaN, infinite) are null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def write_json(paths: Iterable[Path], stream: TextIO, disguise: Disguise) -> None:
    """Write an array with one object a run."""
    runs: list[Json] = []
    for path in paths:
        with RunFile(path) as run:
            value = run_as_json(run)
            disguise.learn(value)
            runs.append(disguise.json(value))
    json.dump(finite(runs), stream, ensure_ascii=False, indent=1, allow_nan=False)
    stream.write("\n")


FORMATS: Final[dict[str, Callable[[Iterable[Path], TextIO, Disguise], None]]] = {
    ".csv": write_csv,
    ".json": write_json,
}


def export_runs(paths: Sequence[Path], output: Path, *, anonymous: bool) -> None:
    """Write runs to a file whose ending chooses the format; a failure leaves no half file.

    Raises:
        UsageError: an unknown ending.
        FootingError: a run file cannot be read, or the output not be written.
    """
    write = FORMATS.get(output.suffix.lower())
    if write is None:
        message = tr("“{suffix}” is no known ending of an export; known are {known}.")
        raise UsageError(
            message.format(suffix=output.suffix or output.name, known=", ".join(FORMATS)),
            hint=did_you_mean(output.suffix.lower(), FORMATS),
        )
    part = output.with_name(output.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="", errors="backslashreplace") as stream:
            write(paths, stream, Disguise.of_this_machine() if anonymous else Disguise.none())
        part.replace(output)
    except OSError as error:
        message = tr("{path} cannot be written: {reason}.")
        raise FootingError(message.format(path=output, reason=error.strerror)) from error
    finally:
        part.unlink(missing_ok=True)
