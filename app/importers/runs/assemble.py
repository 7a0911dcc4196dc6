"""Assemble a `ForeignRun` from the files of one run: its metadata, its series, and missing values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import BuiltinScript
from app.domain.errors import ForeignDataError
from app.domain.json_value import Json
from app.domain.text import tr
from app.importers.files.members import BadLines, ForeignFile, opened, read_lines
from app.importers.formats.file_types import FileType
from app.importers.formats.outputs import PgbenchOutput, ReportColumns
from app.importers.formats.server_statistics import server_events, zone_of
from app.importers.formats.storage_texts import FolderNameFacts, ResultRow
from app.importers.runs.discovery import ScanResult, ThreadLogs
from app.importers.runs.environment import Environment, read_environment
from app.importers.runs.foreign_run import ForeignEvent, ForeignRun
from app.importers.runs.timeline import Timeline, TimelineInputs, read_timeline
from app.postgres.installations.installation import block_size_of
from app.postgres.pgbench.summary import Connecting, PgbenchSummary, much_connecting
from app.postgres.settings import Setting, unsafe_settings
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import (
    IMPORTED,
    ImportMetadata,
    InstallationMetadata,
    PostgresqlMetadata,
    RunMetadata,
    ScriptMetadata,
    TargetMetadata,
    WorkloadMetadata,
)
from app.runfile.metadata.safety import judged_marks
from app.runfile.metadata.typed_json import NOT_KNOWN, Known, if_known, known

# Find the repeats of one configuration among foreign runs, and name the configurations.
#
# Runs in one place are repeats if pgbench's printed workload and versions are equal. Differences become part
# of the name; common values do not.


Conditions = Mapping[str, str]
Place = tuple[str, FolderNameFacts, int | None]
_SCRIPT: Final = "script"


def place_key(campaign: str, place: FolderNameFacts, scale: int | None) -> Place:
    """Return a key shared by runs that names and scale do not distinguish; repeats are ignored."""
    return campaign, replace(place, repeat=0), scale


def conditions_of(summary: PgbenchSummary | None) -> Conditions:
    """Return pgbench's printed conditions of a run, by their key in a configuration's name.

    It prints that there was a rate, but not its value (`app.runfile.metadata.offered_load`).
    """
    if summary is None:
        return {}
    scripts = [f"{each.title}@{each.weight}" for each in summary.scripts]
    found = {
        _SCRIPT: " + ".join(scripts) or summary.transaction_type,
        "clients": summary.clients,
        "threads": summary.threads,
        "protocol": summary.protocol,
        "seconds": summary.duration_s,
        "transactions": summary.transactions_per_client,
        "rate": None if summary.lag_ms is None else "limited",
        "latency_limit_ms": summary.latency_limit_ms,
        "tries": summary.max_tries,
        "partitions": summary.partitions,
        "pgbench": summary.version,
        "server": summary.server_version,
        "connecting": summary.connecting.value,
    }
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value or "") for name, value in found.items()
    }


@dataclass(slots=True)
class ConfigurationNames:
    """The names of all runs below one path; every run is noted before the first one is named."""

    _seen: dict[Place, list[Conditions]] = field(default_factory=dict)
    _owners: dict[tuple[str, str], tuple[Place, str]] = field(default_factory=dict)
    _repeats: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def note(self, place: Place, conditions: Conditions) -> None:
        """Note the conditions of a run."""
        seen = self._seen.setdefault(place, [])
        if conditions not in seen:
            seen.append(conditions)

    def differing(self, place: Place, conditions: Conditions, label_of: Callable[[str], str]) -> list[str]:
        """Return the words that distinguish a run from others in its place.

        Args:
            place: of the run.
            conditions: of the run.
            label_of: returns a script's part of every name.
        """
        others = self._seen.get(place, [])
        words = []
        for name, value in conditions.items():
            values = {each.get(name, "") for each in others}
            if len(values) < 2:
                continue
            labels = {label_of(each) for each in values}
            if name == _SCRIPT and len(labels) == len(values):
                continue  # the label is in every name
            words.append(f"{name}={value.replace(' ', '_') or 'none'}")
        return words

    def settle(self, place: Place, conditions: Conditions, name: str, repeat: int) -> tuple[str, int]:
        """Return the name of the configuration and the number of the repeat, 0-based, of the next run.

        Args:
            place: of the run.
            conditions: of the run.
            name: the wanted one.
            repeat: number in its own name; the next free one if another run has it.
        """
        campaign, owner = place[0], (place, repr(sorted(conditions.items())))
        unique, number = name, 1
        while self._owners.setdefault((campaign, unique), owner) != owner:
            number += 1
            unique = f"{name} [{number}]"
        taken = self._repeats.setdefault((campaign, unique), set())
        while repeat in taken:
            repeat += 1
        taken.add(repeat)
        return unique, repeat


_EVENT_MARGIN_S: Final = 5.0
_DEFAULT: Final = "default"
MODE_LABELS: Final = {"ro": "read-only", "rw": "read-write"}


@dataclass(slots=True)
class RunFiles:
    """The files of one run, sorted.

    Attributes:
        tree: all scanned files.
        folder: of the run.
        place: facts from names.
        campaign: its path; unique below the root.
        title: name if there is no other.
        output: of pgbench.
        log: of pgbench.
        statistics: of the server, in the same folder.
        row: in a table of results.
        row_source: file and line of it.
        alike: summary of another run with the same mode, for a run that has only its row.
    """

    tree: ScanResult
    folder: Path
    place: FolderNameFacts
    campaign: str
    title: str
    output: PgbenchOutput | None = None
    log: ThreadLogs | None = None
    statistics: tuple[ForeignFile, ...] = ()
    row: ResultRow | None = None
    row_source: str = ""
    alike: PgbenchSummary | None = None

    @property
    def summary(self) -> PgbenchSummary | None:
        """The summary of pgbench, if there is one."""
        return self.output.summary if self.output else None

    @property
    def known_summary(self) -> PgbenchSummary | None:
        """The summary, or that of another run with the same mode."""
        return self.summary or self.alike

    @property
    def scale(self) -> int | None:
        """The scale of pgbench; None if unknown."""
        if self.summary is not None and self.summary.scale is not None:
            return self.summary.scale
        return self.row.scale if self.row else None

    @property
    def key(self) -> Place:
        """A key shared by runs that names and scale do not distinguish."""
        return place_key(self.campaign, self.place, self.scale)

    def digest(self) -> str:
        """Return a digest of the files."""
        found = hashlib.sha256()
        if self.output is not None:
            found.update(self.output.stdout.encode())
            found.update(self.output.stderr.encode())
            found.update(self.output.left_out.encode())
        for member in (*(self.log.members if self.log else ()), *self.statistics):
            found.update(f"{member.size}\n".encode() + member.head[:1024] + member.tail[-1024:])
        if self.row is not None:
            found.update(repr((self.row.begin_s, self.row.labels, self.row.scale, self.row.tps)).encode())
        return found.hexdigest()


def build_run(
    candidate: RunFiles,
    machines: Mapping[str, Mapping[str, Json]],
    names: ConfigurationNames,
    bad: BadLines,
) -> ForeignRun:
    """Return the run; reads its log once.

    Args:
        candidate: its files.
        machines: facts of described machines.
        names: of all runs imported with it; earlier ones are settled.
        bad: collects invalid lines.
    """
    notes: list[str] = []
    environment = read_environment(candidate.tree, candidate.folder, candidate.place, notes)
    environment.machine = dict(machines.get(candidate.place.machine, {}))
    timeline = read_timeline(_sources(candidate), bad)
    workload = _workload(candidate)
    conditions = conditions_of(candidate.known_summary)
    configuration, repeat = names.settle(
        candidate.key,
        conditions,
        _configuration(candidate, environment, workload, names),
        candidate.place.repeat,
    )
    candidate.place = replace(candidate.place, repeat=repeat)
    metadata = _metadata(candidate, environment, timeline, workload, configuration)
    return ForeignRun(
        digest=candidate.digest(),
        name=f"{configuration} #{candidate.place.repeat + 1}",
        campaign=campaign_name(candidate.campaign),
        folder=candidate.campaign,
        started_epoch_s=timeline.origin_s,
        duration_s=timeline.duration_s,
        metadata=metadata,
        facts=environment.facts(),
        series=timeline.series,
        seconds=timeline.seconds,
        events=_events(candidate, environment, timeline, notes),
        outputs=_outputs(candidate),
        marks=_marks(candidate, environment, timeline, metadata),
        missing=_missing(candidate, environment, timeline),
        notes=[*notes, *timeline.notes],
    )


def campaign_name(path: str) -> str:
    """Return the name of a campaign from its path: its own folder first, for narrow lists."""
    above, _, name = path.rpartition("/")
    return f"{name} ({above})" if above else name


def _sources(candidate: RunFiles) -> TimelineInputs:
    row = candidate.row
    return TimelineInputs(
        summary=candidate.summary,
        progress=candidate.output.progress if candidate.output else ReportColumns(),
        log=candidate.log,
        statistics=candidate.statistics,
        begin_s=None if row is None else float(row.begin_s),
        seconds=None if row is None else row.seconds,
    )


def _workload(candidate: RunFiles) -> WorkloadMetadata:
    if candidate.summary is not None and candidate.summary.transaction_type:
        return workload_of(candidate.summary)
    if candidate.alike is not None:
        return workload_of(candidate.alike)
    mode = candidate.place.mode
    return WorkloadMetadata(label=MODE_LABELS[mode]) if mode else WorkloadMetadata()


def _configuration(
    candidate: RunFiles, environment: Environment, workload: WorkloadMetadata, names: ConfigurationNames
) -> str:
    """Return the name that distinguishes this run from others, except for its repeat."""
    storage, scale = environment.storage, candidate.scale
    others = [name for name in candidate.place.configuration if name != _DEFAULT]
    parts = [storage.filesystem, storage.level, *others]
    if not any(parts):
        parts = [candidate.title]
    parts += [tr("scale {scale}").format(scale=scale) if scale else "", known(workload.label, "")]
    conditions = conditions_of(candidate.known_summary)
    parts += names.differing(candidate.key, conditions, label_of)
    return " ".join(part for part in parts if part)


def _metadata(
    candidate: RunFiles,
    environment: Environment,
    timeline: Timeline,
    workload: WorkloadMetadata,
    configuration: str,
) -> RunMetadata:
    tps_one_in = timeline.tps_one_in
    found = RunMetadata(
        configuration=configuration,
        # One for each configuration: interleaving is not recorded, so the runs are not pairs.
        campaign_folder=f"{candidate.tree.root.parent / candidate.campaign}/{configuration}",
        repeat=candidate.place.repeat,
        number=candidate.place.repeat + 1,
        target=TargetMetadata(kind=IMPORTED, path="", raid=environment.storage.level or None),
        workload=workload,
        scale=candidate.scale,
        data_bytes=environment.data_bytes,
        installation=InstallationMetadata(
            version=if_known(environment.version or _server_version(candidate.summary) or None),
            folder=environment.build.get("BINDIR", ""),
            origin=IMPORTED,
            configure=environment.build.get("CONFIGURE", ""),
            block_size=_block_size(environment),
        ),
        imported=ImportMetadata(
            path=str(candidate.folder), files=tuple(_files(candidate)), row=candidate.row_source
        ),
        transaction_log_one_in=if_known(None if timeline.log_one_in is None else _whole(timeline.log_one_in)),
        tps_one_in=NOT_KNOWN if tps_one_in in {None, 1.0} else _whole(tps_one_in or 1.0),
        pgbench=_printed(candidate) or NOT_KNOWN,
    )
    settings = environment.settings
    if settings is None:
        return found
    checksums = settings.values.get("data_checksums")
    return replace(
        found,
        settings=tuple(Setting(name, value, origin=IMPORTED) for name, value in settings.chosen),
        postgresql=PostgresqlMetadata(
            preset=IMPORTED, checksums=if_known(None if checksums is None else checksums == "on")
        ),
    )


def _block_size(environment: Environment) -> Known[int | None]:
    """Return the bytes of a data page: from the server's settings, else from its build."""
    shown = environment.settings.values.get("block_size", "") if environment.settings else ""
    size = int(shown) if shown.isdecimal() and len(shown) < 7 else None
    return if_known(size or block_size_of(environment.build.get("CONFIGURE", "")))


def _printed(candidate: RunFiles) -> dict[str, Json]:
    """Return pgbench's own figures, from its summary or from the row that repeats its TPS."""
    if candidate.summary is not None:
        values = asdict(candidate.summary)
        return {key: value for key, value in values.items() if isinstance(value, int | float | str)}
    return {"tps": candidate.row.tps} if candidate.row else {}


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else number


def _server_version(summary: PgbenchSummary | None) -> str:
    """Return the server's version from pgbench's output: pgbench prints only its own if they are equal."""
    return (summary.server_version or summary.version).split(" ")[0] if summary else ""


def _files(candidate: RunFiles) -> list[str]:
    members = (*(candidate.log.members if candidate.log else ()), *candidate.statistics)
    return [
        *([candidate.output.file] if candidate.output else []),
        *(member.shown_path for member in members),
    ]


def _outputs(candidate: RunFiles) -> dict[str, str]:
    if candidate.output is None:
        return {}
    texts = {"pgbench.stdout": candidate.output.stdout, "pgbench.stderr": candidate.output.stderr}
    return {name: text for name, text in texts.items() if text.strip()}


def _marks(
    candidate: RunFiles, environment: Environment, timeline: Timeline, metadata: RunMetadata
) -> list[tuple[str, str]]:
    reason = tr("not measured by pgFooting: {path}").format(path=candidate.folder)
    marks = [(IMPORTED, reason), *timeline.marks]
    if environment.settings is not None:
        marks += [
            ("unsafe", f"{name} = {value}: {why}")
            for name, value, why in unsafe_settings(environment.settings.values.items())
        ]
    marks = list(judged_marks(marks, metadata, read_environment_facts(environment.facts())))
    if candidate.summary is not None and (reason := _connecting(candidate.summary)):
        marks.append(("connecting", reason))
    if candidate.output is not None and (reason := candidate.output.why_incomplete):
        marks.append(("aborted", reason))
    return marks


def _connecting(summary: PgbenchSummary) -> str:
    """Return a sentence about connection times in the TPS of a run, if they make a difference."""
    with_it = summary.tps_with_connecting
    connecting = much_connecting(summary.tps, with_it)
    if connecting is Connecting.INCLUDED:
        return tr("its TPS include connection time, unlike those of other runs")
    if connecting is None:
        return ""
    message = tr(
        "its TPS exclude connection time ({tps:g} with it); since version 14, pgbench -C prints only TPS "
        "with it"
    )
    return message.format(tps=with_it)


def _missing(candidate: RunFiles, environment: Environment, timeline: Timeline) -> list[tuple[str, str]]:
    missing = list(timeline.missing)
    if candidate.summary is None:
        reason = candidate.output.problem if candidate.output and candidate.output.problem else ""
        if candidate.row is not None:
            reason = reason or tr("none; TPS are from the results table")
        missing.append((tr("pgbench summary"), reason or tr("none; TPS are computed from per-second data")))
    if candidate.summary is None and candidate.alike is not None:
        reason = tr("taken from other runs in the same results table")
        missing.append((tr("workload"), reason))
    if not environment.storage.filesystem:
        missing.append((tr("filesystem"), tr("no file contains it")))
    if environment.settings is None:
        reason = environment.no_settings or tr("no file contains it")
        missing.append((tr("server settings"), reason))
    if not environment.version and not _server_version(candidate.summary):
        missing.append((tr("server version"), tr("no file contains it")))
    if not environment.machine:
        missing.append((tr("machine"), tr("no file contains it")))
    missing.append((tr("CPU, devices, memory, pressure"), tr("no file contains it")))
    return missing


def _events(
    candidate: RunFiles, environment: Environment, timeline: Timeline, notes: list[str]
) -> list[ForeignEvent]:
    """Return the server's log events during the run."""
    if timeline.origin_s is None:
        return []
    zone_name = environment.settings.values.get("log_timezone", "") if environment.settings else ""
    zone = zone_of(timeline.utc_offset_s, zone_name)
    found = []
    members = [each.member for each in candidate.tree.context(candidate.folder, FileType.SERVER_LOG)]
    try:
        for member, stream in opened(members):
            lines = (
                line for piece in read_lines(stream, member.shown_path) for line in piece.text.splitlines()
            )
            for event in server_events(lines, zone):
                t_s = event.epoch_s - timeline.origin_s
                if -_EVENT_MARGIN_S <= t_s <= timeline.duration_s + _EVENT_MARGIN_S:
                    found.append(ForeignEvent(t_s, event.kind.value, event.text, dict(event.values)))
    except ForeignDataError as error:
        notes.append(error.message)
    return found


# --- The workload of a foreign run, from pgbench's output


_BUILTINS: Final = {
    "<builtin: TPC-B (sort of)>": BuiltinScript.TPCB_LIKE.value,
    "TPC-B (sort of)": BuiltinScript.TPCB_LIKE.value,
    "<builtin: simple update>": BuiltinScript.SIMPLE_UPDATE.value,
    "Update only pgbench_accounts": BuiltinScript.SIMPLE_UPDATE.value,
    "<builtin: select only>": BuiltinScript.SELECT_ONLY.value,
    "SELECT only": BuiltinScript.SELECT_ONLY.value,
}
"""Names of pgbench's scripts (builtin_script[] of pgbench.c; the last of each pair before 9.6)."""


def label_of(transaction_type: str) -> str:
    """Return this program's label of a script; for a file its name."""
    return _BUILTINS.get(transaction_type) or transaction_type.rpartition("/")[2]


def workload_of(summary: PgbenchSummary) -> WorkloadMetadata:
    """Return the known parts of a workload; pgbench does not print the others.

    It prints that there was a rate, but not its value (`app.runfile.metadata.offered_load`).
    """
    has_figures = bool(summary.transactions) and summary.latency_ms is not None
    titles = [(each.title, each.weight) for each in summary.scripts] or [(summary.transaction_type, 1)]
    return WorkloadMetadata(
        label=" + ".join(label_of(title) for title, _ in titles),
        scripts=tuple(
            ScriptMetadata(label=label_of(title), weight=weight, path=title if "/" in title else None)
            for title, weight in titles
        ),
        clients=if_known(summary.clients),
        threads=if_known(summary.threads),
        duration_s=summary.duration_s,
        transactions=summary.transactions_per_client,
        protocol=if_known(summary.protocol or None),
        rate_tps=None if has_figures and summary.lag_ms is None else NOT_KNOWN,
        latency_limit_ms=summary.latency_limit_ms if has_figures else NOT_KNOWN,
    )
