"""Import everything below some paths as run files of a library; skipped files are reported with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from app import VERSION
from app.domain.errors import FootingError, UsageError
from app.domain.json_value import Json
from app.domain.run import Phase, RunState
from app.domain.text import tr, trn
from app.importers.files.members import BadLines, ForeignFile
from app.importers.formats.file_types import FileType
from app.importers.runs.assemble import ConfigurationNames, build_run, conditions_of
from app.importers.runs.discovery import (
    ScanResult,
    SkippedFile,
    look_at,
    members_of,
    shown,
    shown_json,
    shown_run,
    unread,
)
from app.importers.runs.environment import read_machines
from app.importers.runs.foreign_run import ForeignRun, ForeignSeries
from app.importers.runs.run_grouping import CandidateFinder, table_run
from app.importers.runs.timeline import TPS
from app.library.entries import run_paths
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.typed_json import known, values_of
from app.runfile.output_file import slug
from app.runfile.reader import RunFile
from app.runfile.summary import marks_after, summarise
from app.runfile.writer import SUFFIX, LatencySecond, RunFileWriter, compact

_SAMPLES_AT_ONCE: Final = 65_536
_JOURNALS: Final = ("", "-wal", "-shm", "-journal")


def write_run(run: ForeignRun, path: Path) -> Path:
    """Write the run file completely, or leave none at `path`.

    Nothing waits for the disk: after a power failure the file can be imported again.

    Raises:
        RunFileError: it cannot be written; an existing file is unchanged.
        ForeignDataError: the log cannot be read to its end.
    """
    part = path.with_name(f"{path.name}.part")
    _remove(part)
    try:
        _fill(part, run)
        with RunFile(part) as made:
            # Nothing was sampled, so nothing was missed: a zero would claim that all is well.
            summary = summarise(made) | {"missed_ticks": None}
        marks = (*run.marks, *marks_after(summary))
        finish_run_file(part, RunState.DONE, summary, marks, is_durable=False)
        part.replace(path)
    finally:
        _remove(part)
    return path


def _remove(path: Path) -> None:
    for end in _JOURNALS:
        path.with_name(path.name + end).unlink(missing_ok=True)


def _fill(path: Path, run: ForeignRun) -> None:
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    try:
        with writer.transaction():
            writer.set_run(
                values_of(
                    replace(
                        run.metadata,
                        id=run.digest[:16],
                        name=run.name,
                        campaign=run.campaign,
                        state=RunState.RUNNING.value,
                        program_version=VERSION,
                        started_epoch_s=run.started_epoch_s,
                        ended_epoch_s=(
                            None if run.started_epoch_s is None else run.started_epoch_s + run.duration_s
                        ),
                    )
                )
            )
            writer.begin_phase(Phase.MEASURE, 0)
            writer.end_phase(round(1000 * run.duration_s))
            for series in run.series:
                _write_series(writer, series)
            _write_seconds(writer, run)
            writer.add_facts("before", run.facts)
            for event in run.events:
                writer.add_event(round(1000 * event.t_s), event.kind, event.message, event.data)
            for name, text in run.outputs.items():
                writer.set_output(name, text)
            for source, reason in run.missing:
                writer.add_unavailable(0, source, reason)
    finally:
        writer.close()


def _write_series(writer: RunFileWriter, series: ForeignSeries) -> None:
    pieces = range(0, len(series.t_s), _SAMPLES_AT_ONCE)
    writer.add_samples(
        series.metric,
        (
            (round(1000 * t_s), compact(value))
            for begin in pieces
            for t_s, value in zip(
                series.t_s[begin : begin + _SAMPLES_AT_ONCE].tolist(),
                series.values[begin : begin + _SAMPLES_AT_ONCE].tolist(),
                strict=True,
            )
            if math.isfinite(value)
        ),
        source=series.source,
    )


def _write_seconds(writer: RunFileWriter, run: ForeignRun) -> None:
    for second in run.seconds() if run.seconds else ():
        writer.put_latency_second(
            LatencySecond(
                1000 * second.number,
                second.transactions,
                second.latency_sum_us,
                second.skipped,
                second.failed,
                partial=False,
                buckets=second.histogram.encode(),
            )
        )


_NAME_LENGTH: Final = 70
_REASONS: Final = {
    FileType.RUN_FILE: tr("is a run file already: open it, or copy it into the library"),
    FileType.UNREAD_ARCHIVE: tr("an unsupported or nested archive: unpack it"),
    FileType.BINARY: tr("was not written by pgbench or a known benchmark"),
    FileType.EMPTY: tr("is empty"),
    FileType.OTHER: tr("was not written by pgbench or a known benchmark"),
}

Progress = Callable[[int, int, str], None]
"""Called with (done, total, next item); the total is 0 while unknown."""


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """An imported run.

    Attributes:
        id: of the run.
        path: of the run file.
        name: of the run.
        campaign: of the run.
        tps: mean; None if unknown.
        tps_source: source of the TPS by the second; empty if they are unknown.
        marks: kinds of labels.
        missing: (source, reason) of unknown values.
        notes: skipped lines and decisions, by file and line.
    """

    id: str
    path: Path
    name: str
    campaign: str
    tps: float | None
    tps_source: str
    marks: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class ImportReport:
    """Result of an import.

    Attributes:
        imported: runs in the order in which they were found.
        present: (name, path of the run file) of runs that the library already has.
        left: unused files, with the reason.
    """

    imported: list[ImportedRun] = field(default_factory=list)
    present: list[tuple[str, Path]] = field(default_factory=list)
    left: list[SkippedFile] = field(default_factory=list)

    @property
    def problems(self) -> list[SkippedFile]:
        """Files that look like a result and could not be read."""
        return [each for each in self.left if each.is_problem]


def import_paths(paths: Sequence[Path], library: Path, progress: Progress) -> ImportReport:
    """Import everything below some paths.

    Args:
        paths: folders, logs, outputs, tables or archives.
        library: a folder for each campaign is created in it.
        progress: called with the current step.

    Raises:
        UsageError: a path does not exist, or the library cannot be written.
    """
    try:
        library.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = tr("{path} cannot be written: {reason}. Nothing was imported.")
        raise UsageError(message.format(path=library, reason=error.strerror)) from error
    trees = [look_at(path, lambda file: progress(0, 0, file)) for path in paths]
    report = ImportReport()
    importer = _Importer(library, report, _known_ids(library))
    for tree in trees:
        importer.take(tree, progress)
    return report


def _known_ids(library: Path) -> dict[str, Path]:
    found = {}
    for path in run_paths(library):
        with suppress(FootingError), RunFile(path) as run:
            found[known(run.metadata.id, "")] = path
    return found


class _Importer:
    def __init__(self, library: Path, report: ImportReport, known: dict[str, Path]) -> None:
        self._library = library
        self._report = report
        self._known = known

    def take(self, tree: ScanResult, progress: Progress) -> None:
        """Import one tree."""
        left = self._report.left
        left += tree.left
        notes: list[str] = []
        machines = read_machines(tree, notes)
        names = ConfigurationNames()
        for candidate in CandidateFinder(tree, frozenset(machines), []):
            names.note(candidate.key, conditions_of(candidate.known_summary))
        finder = CandidateFinder(tree, frozenset(machines), left)
        tables = [
            member for files in tree.folders.values() for member in members_of(files, FileType.TIME_TABLE)
        ]
        total = finder.count + len(tables)
        jobs = chain(
            (
                (partial(build_run, each, machines, names), str(each.row_source or each.folder))
                for each in finder
            ),
            ((partial(_build_table, each, tree), each.shown_path) for each in tables),
        )
        for done, (build, source) in enumerate(jobs):
            progress(done, total, source)
            bad = BadLines()
            try:
                self._write(build(bad), bad)
            except (OSError, FootingError) as error:
                left.append(unread(source, error))
        progress(total, total, "")
        for files in tree.folders.values():
            left += [
                SkippedFile(each.member.shown_path, _REASONS[each.kind], each.kind is FileType.UNREAD_ARCHIVE)
                for each in files
                if each.kind in _REASONS
            ]

    def _write(self, run: ForeignRun, bad: BadLines) -> None:
        id_ = run.digest[:16]
        if id_ in self._known:
            self._report.present.append((shown(run.name), self._known[id_]))
            return
        folder = self._library / slug(f"imported {run.folder}", _NAME_LENGTH)
        folder.mkdir(exist_ok=True)
        path = folder / f"{slug(run.name, _NAME_LENGTH)}-{id_[:8]}{SUFFIX}"
        if bad.messages:
            run.notes += bad.messages
            reason = trn(
                "pgFooting could not parse {count} line and skipped it: {first}",
                "pgFooting could not parse {count} lines and skipped them, the first: {first}",
                len(bad.messages),
            )
            run.marks.append(("damaged-log", reason.format(count=len(bad.messages), first=bad.messages[0])))
        run = shown_run(run)
        self._known[id_] = write_run(run, path)
        self._report.imported.append(
            ImportedRun(
                id=id_,
                path=path,
                name=run.name,
                campaign=run.campaign,
                tps=_stored_tps(path),
                tps_source=next((each.source for each in run.series if each.metric == TPS), ""),
                marks=tuple(sorted({kind for kind, _ in run.marks})),
                missing=tuple(run.missing),
                notes=tuple(run.notes),
            )
        )


def _build_table(member: ForeignFile, tree: ScanResult, _bad: BadLines) -> ForeignRun:
    return table_run(member, tree)


def _stored_tps(path: Path) -> float | None:
    with RunFile(path) as run:
        return run.summary().get("tps")


def as_json(report: ImportReport, library: Path) -> Mapping[str, Json]:
    """Return a report for other programs."""
    document: dict[str, Json] = {
        "library": str(library),
        "imported": [
            {
                "id": each.id,
                "path": str(each.path),
                "name": each.name,
                "campaign": each.campaign,
                "tps": each.tps,
                "tps_by_second": each.tps_source or None,
                "marks": list(each.marks),
                "missing": [{"what": what, "reason": reason} for what, reason in each.missing],
                "notes": list(each.notes),
            }
            for each in report.imported
        ],
        "present": [{"name": name, "path": str(path)} for name, path in report.present],
        "left": [
            {"path": each.path, "reason": each.reason, "problem": each.is_problem} for each in report.left
        ],
    }
    return {key: shown_json(value) for key, value in document.items()}
