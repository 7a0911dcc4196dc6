"""Yield the runs below a path: first those of folders, then rows of tables without a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.errors import ForeignDataError
from app.domain.json_value import Json
from app.domain.text import tr
from app.importers.files.members import BadLines, ForeignFile, opened, text_of
from app.importers.formats.file_types import FileType
from app.importers.formats.outputs import PgbenchOutput, split_output
from app.importers.formats.storage_texts import LEVELS, ResultRow, numbered, parse_results, read_place
from app.importers.formats.time_tables import TimeTable, read_time_table
from app.importers.runs.assemble import RunFiles, campaign_name
from app.importers.runs.discovery import (
    FoundFile,
    OutputWithLogs,
    ScanResult,
    SkippedFile,
    group_logs,
    join_outputs,
    members_of,
    pair_up,
    unread,
)
from app.importers.runs.foreign_run import Array, ForeignRun, ForeignSeries
from app.importers.runs.timeline import TPS, missing_between_reports
from app.postgres.pgbench.summary import PgbenchSummary
from app.runfile.metadata.run_metadata import (
    IMPORTED,
    ImportMetadata,
    InstallationMetadata,
    RunMetadata,
    TargetMetadata,
    WorkloadMetadata,
)
from app.runfile.metadata.typed_json import NOT_KNOWN, if_known

_SAME_TPS: Final = 5e-7
"""pgbench prints six decimals."""


@dataclass(slots=True)
class _Table:
    """A table of results with the rows not yet assigned to a run."""

    folder: Path
    shown_path: str
    rows: list[ResultRow]
    summaries: dict[str, list[PgbenchSummary]] = field(default_factory=dict)


class CandidateFinder:
    """Sorts the files of one tree into runs. Keeps nothing of a run once the next one is requested."""

    def __init__(self, tree: ScanResult, machines: frozenset[str], left: list[SkippedFile]) -> None:
        self._tree = tree
        self._machines = machines
        self._left = left
        self._beside: dict[Path, set[str]] = {}
        for place in {each for folder in tree.folders for each in (folder, *folder.parents)}:
            self._beside.setdefault(place.parent, set()).add(place.name)
        self._tables = [table for folder in tree.folders for table in self._read_tables(folder)]

    @property
    def count(self) -> int:
        """Greatest possible number of runs: folders and rows."""
        return len(self._tree.run_folders()) + sum(len(table.rows) for table in self._tables)

    def __iter__(self) -> Iterator[RunFiles]:
        for folder in self._tree.run_folders():
            yield from self._of_folder(folder)
        for table in self._tables:
            yield from (self._of_row(table, row) for row in table.rows)

    def _read_tables(self, folder: Path) -> Iterator[_Table]:
        for member in members_of(self._tree.folders[folder], FileType.RESULTS):
            bad = BadLines()
            try:
                rows = parse_results(text_of(member), member.shown_path, bad)
            except ForeignDataError as error:
                self._left.append(unread(member.shown_path, error))
                continue
            self._left += [SkippedFile(member.shown_path, text, is_problem=True) for text in bad.messages]
            yield _Table(folder, member.shown_path, list(rows))

    def _of_folder(self, folder: Path) -> Iterator[RunFiles]:
        files = self._tree.folders[folder]
        outputs = self._with_result(join_outputs(self._outputs(files)))
        logs = [
            *group_logs(members_of(files, FileType.TRANSACTIONS), is_aggregated=False),
            *group_logs(members_of(files, FileType.AGGREGATES), is_aggregated=True),
        ]
        statistics = tuple(members_of(files, FileType.STATISTICS))
        if not (outputs or logs or statistics):
            return
        pairs = pair_up(outputs, logs, self._left)
        stems = [_stem(pair, pairs) for pair in pairs]
        repeats = numbered(stems)
        if len(pairs) > 1 and statistics:
            reason = tr("it could belong to any of {count} runs next to it").format(count=len(pairs))
            self._left += [SkippedFile(member.shown_path, reason) for member in statistics]
            statistics = ()
        for pair, stem in zip(pairs, stems, strict=True):
            yield self._candidate(folder, pair, statistics, *repeats.get(stem, (stem, None)))

    def _outputs(self, files: Sequence[FoundFile]) -> list[PgbenchOutput]:
        found: list[PgbenchOutput] = []
        for member in members_of(files, FileType.OUTPUT):
            outputs: list[PgbenchOutput] = []
            bad = BadLines()
            try:
                for _, stream in opened([member]):
                    outputs += split_output(stream, member.shown_path, bad)
            except (ForeignDataError, OSError) as error:
                self._left.append(unread(member.shown_path, error))
                continue
            self._left += [SkippedFile(member.shown_path, text, is_problem=True) for text in bad.messages]
            for each in outputs:
                if each.problem and not each.progress:
                    self._left.append(SkippedFile(member.shown_path, each.problem, is_problem=True))
                else:
                    found.append(each)
            if not outputs:
                reason = tr("pgbench printed no result here")
                self._left.append(SkippedFile(member.shown_path, reason, is_problem=True))
        return found

    def _with_result(self, outputs: Sequence[PgbenchOutput]) -> list[PgbenchOutput]:
        """Return the outputs with a result; the others are reported with pgbench's errors."""
        found = []
        for each in outputs:
            if each.summary or each.progress:
                found.append(each)
            else:
                sentence = tr("pgbench printed no result here") + ": " + "; ".join(each.messages[:2])
                self._left.append(SkippedFile(each.file, sentence, is_problem=True))
        return found

    def _candidate(
        self,
        folder: Path,
        pair: OutputWithLogs,
        statistics: tuple[ForeignFile, ...],
        stem: str,
        number: int | None,
    ) -> RunFiles:
        summary = pair.output.summary if pair.output else None
        table = self._table_of(folder)
        top = table.folder if table else self._tree.root
        campaign = self._campaign(top)
        folders, folder_number = self._without_repeats(top, folder)
        place = read_place(
            campaign.split("/"),
            [*folders, *filter(None, [stem])],
            machines=self._machines,
            scale=summary.scale if summary else None,
        )
        number_found = number if number is not None else folder_number
        candidate = RunFiles(
            tree=self._tree,
            folder=folder,
            place=place if number_found is None else replace(place, repeat=number_found),
            campaign=campaign,
            title=top.name,
            output=pair.output,
            log=pair.log,
            statistics=statistics,
        )
        if table is not None:
            self._take_row(candidate, table)
        return candidate

    def _without_repeats(self, top: Path, folder: Path) -> tuple[list[str], int | None]:
        """Return the names of the folders down to `folder`, and the number of a numbered repeat."""
        names, number = [], None
        for place in reversed([folder, *folder.parents]):
            if place == top or not place.is_relative_to(top):
                continue
            name, repeat = numbered(self._beside.get(place.parent, ())).get(place.name, (place.name, None))
            if repeat is None or not name:  # the name of a run alone is understood as a whole
                names.append(place.name)
            else:
                names.append(name)
                number = repeat
        return names, number

    def _campaign(self, folder: Path) -> str:
        return "/".join((self._tree.root.name, *folder.relative_to(self._tree.root).parts))

    def _table_of(self, folder: Path) -> _Table | None:
        above = [table for table in self._tables if folder.is_relative_to(table.folder)]
        return max(above, key=lambda table: len(table.folder.parts), default=None)

    def _take_row(self, candidate: RunFiles, table: _Table) -> None:
        """Assign a row to a run: the one with its TPS, or the only one with the names of its folders."""
        summary = candidate.summary
        if summary is not None:
            rows = [
                row
                for row in table.rows
                if abs(row.tps - summary.tps) < _SAME_TPS and row.scale == (summary.scale or row.scale)
            ]
        else:
            names = set(candidate.folder.relative_to(table.folder).parts)
            rows = [
                row
                for row in table.rows
                if str(row.scale) in names
                and row.mode == candidate.place.mode
                and set(row.labels) - names <= {"default"}
            ]
        if len(rows) != 1:
            return
        row = rows[0]
        table.rows.remove(row)
        candidate.row, candidate.row_source = row, _row_source(table, row)
        if summary is not None:
            table.summaries.setdefault(row.mode, []).append(summary)

    def _of_row(self, table: _Table, row: ResultRow) -> RunFiles:
        campaign = self._campaign(table.folder)
        labels = (*row.labels, row.mode)
        place = read_place(campaign.split("/"), labels, machines=self._machines, scale=row.scale)
        return RunFiles(
            tree=self._tree,
            folder=table.folder,
            place=place,
            campaign=campaign,
            title=" ".join(labels),
            row=row,
            row_source=_row_source(table, row),
            alike=_alike(table.summaries.get(row.mode, ())),
        )


def _row_source(table: _Table, row: ResultRow) -> str:
    return tr("{file}, line {line}").format(file=table.shown_path, line=row.line)


_GENERIC: Final = frozenset(
    {
        *("bench", "benchmark", "console", "log", "out", "output", "pgbench", "pgbench_log", "print"),
        *("progress", "report", "result", "results", "run", "stderr", "stdout", "summary", "test"),
    }
)
"""Usual names of the only output of a folder, without information about the run."""


def _stem(pair: OutputWithLogs, beside: Sequence[OutputWithLogs]) -> str:
    """Return the part of a file's name that describes the run; empty if it could be any run."""
    if pair.output is None:
        return pair.log.name if pair.log is not None and len(beside) > 1 else ""
    file = pair.output.file.split(", ")[0]
    name = file.rpartition(": ")[2].rpartition("/")[2]
    stem = name.removesuffix(".gz").removesuffix(".bz2").rpartition(".")[0] or name
    files = {each.output.file for each in beside if each.output is not None}
    words = set(filter(None, re.split(r"[-_. ]", stem.lower())))
    return "" if len(files) == 1 and words <= _GENERIC else stem


def _alike(found: Sequence[PgbenchSummary]) -> PgbenchSummary | None:
    """Return one of the summaries if they all have the same workload."""
    kinds = {(each.transaction_type, each.clients, each.threads, each.protocol) for each in found}
    return found[0] if len(kinds) == 1 else None


# Convert a table of seconds into a run; see `app.importers.formats.time_tables` for the format.


_WHOLE_KEYS: Final = ("scale", "clients", "threads")


def table_run(member: ForeignFile, tree: ScanResult) -> ForeignRun:
    """Return the run of a table.

    Raises:
        ForeignDataError: the table deviates from the format, or has no TPS.
    """
    table = _read(member)
    given = table.given
    if TPS not in table.series and "tps" not in given:
        message = tr("{file}: neither a column tps nor a line “# tps: …”.")
        raise ForeignDataError(message.format(file=member.shown_path))
    configuration = given.get("name") or member.disk.stem
    folder = "/".join((tree.root.name, *member.disk.parent.relative_to(tree.root).parts))
    duration_s = float(given.get("duration_s", table.t_s[-1]))
    reason = tr("not measured by pgFooting: {path}").format(path=member.shown_path)
    return ForeignRun(
        digest=hashlib.sha256(f"{member.size}\n".encode() + member.head + member.tail).hexdigest(),
        name=f"{configuration} #1",
        campaign=campaign_name(folder),
        folder=folder,
        started_epoch_s=float(given["started"]) if "started" in given else None,
        duration_s=duration_s,
        metadata=_metadata(table, member, configuration),
        facts=_facts(table),
        series=[_series(metric, table, values) for metric, values in table.series.items()],
        marks=[(IMPORTED, reason)],
        missing=_missing(table),
    )


def _read(member: ForeignFile) -> TimeTable:
    for _, stream in opened([member]):
        return read_time_table(stream, member.shown_path)
    raise ForeignDataError(f"{member.shown_path} " + tr("does not exist") + ".")


def _series(metric: str, table: TimeTable, values: Array) -> ForeignSeries:
    known = np.isfinite(values)
    return ForeignSeries(metric, table.t_s[known], values[known], tr("per-second table"))


def _metadata(table: TimeTable, member: ForeignFile, configuration: str) -> RunMetadata:
    given = table.given
    whole = {key: int(given[key]) for key in _WHOLE_KEYS if key in given}
    raid = given.get("raid", "").lower()
    printed: dict[str, Json] = {"tps": float(given["tps"])} if "tps" in given else {}
    if printed and "transactions" in given:
        printed["transactions"] = int(given["transactions"])
    return RunMetadata(
        configuration=configuration,
        campaign_folder=str(member.disk),
        repeat=0,
        number=1,
        target=TargetMetadata(kind=IMPORTED, path="", raid=LEVELS.get(raid, given.get("raid")) or None),
        workload=WorkloadMetadata(
            label=if_known(given.get("workload")),
            clients=if_known(whole.get("clients")),
            threads=if_known(whole.get("threads")),
        ),
        scale=whole.get("scale"),
        installation=InstallationMetadata(version=given.get("postgresql", ""), folder="", origin=IMPORTED),
        imported=ImportMetadata(
            path=member.shown_path, files=(member.shown_path,), note=given.get("note", "")
        ),
        pgbench=printed or NOT_KNOWN,
    )


def _facts(table: TimeTable) -> dict[str, Json]:
    given = table.given
    facts: dict[str, Json] = {}
    if "filesystem" in given:
        options = [option for option in given.get("mount_options", "").split(",") if option]
        facts["storage"] = {"mount": {"filesystem": given["filesystem"], "options": options}}
    machine = {
        name: given[key] for key, name in (("machine", "name"), ("storage", "storage")) if key in given
    }
    if machine:
        facts["machine"] = machine
    if "processor" in given:
        facts["processor"] = {"info": {"model_name": given["processor"]}}
    if "kernel" in given:
        facts["kernel"] = {"release": given["kernel"]}
    return facts


def _missing(table: TimeTable) -> list[tuple[str, str]]:
    missing = [
        (tr(what), tr("no file contains it"))
        for key, what in (
            ("filesystem", "filesystem"),
            ("postgresql", "server version"),
            ("machine", "machine"),
            ("workload", "workload"),
        )
        if key not in table.given
    ]
    if TPS in table.series:
        missing += missing_between_reports(table.t_s)
    else:
        missing.append((tr("per-second TPS"), tr("no file contains it")))
    if not any(metric.startswith("latency.p") for metric in table.series):
        missing.append((tr("latency percentiles"), tr("no file contains it")))
    return missing
