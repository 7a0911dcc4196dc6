"""Read the runs of a report from their files and group them by configuration; anonymise on request."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.labels import one_line, safety_warning, with_warning
from app.comparison.groups import ComparedRun
from app.comparison.overall.fastest import under
from app.comparison.table import ComparisonRow
from app.domain.disk import DiskIdentity
from app.domain.run import RunState
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.export.runs import describe_run
from app.runfile.metadata.offered_load import OfferedLoad
from app.runfile.metadata.run_metadata import PhaseMetadata
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import CommandRecord, RunFile
from app.runfile.series import RunData, load_run_data
from app.runfile.summary import summarise

# The series of a run, read from its file when they are first needed: most runs of a report are not drawn.


@dataclass(frozen=True)  # without slots: its property is cached
class RunSeries:
    """The series of a run file."""

    path: Path

    @cached_property
    def data(self) -> RunData:
        """Its series.

        Raises:
            RunFileError: the file cannot be read, or not any more.
        """
        return load_run_data(self.path)


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run of the report.

    Attributes:
        number: 0-based index in the report.
        compared: content of its file, and its part in the comparison.
        series: its seconds.
    """

    number: int
    compared: ComparedRun
    series: RunSeries

    @property
    def data(self) -> RunData:
        """Its seconds, read on first use."""
        return self.series.data

    @property
    def name(self) -> str:
        """Its name, unique in the report."""
        return self.compared.name

    @property
    def facts(self) -> RunFacts:
        """The content of its file."""
        return self.compared.facts

    @property
    def source(self) -> str:
        """Return the identity of the run for readers: its name and the start of its id."""
        known = one_line(self.facts.id[:8] or Path(self.facts.path).name)
        return f"{self.name} ({known})" if known else self.name


@dataclass(frozen=True, slots=True)
class ReportedConfiguration:
    """A configuration with its runs.

    Attributes:
        look: determines colour and line style: the number of its level across a matrix, else in the order of
            measuring.
        runs: in the order of their start.
        group: its index in the comparison.
        row: of the table of the comparison.
        is_baseline: whether the others of its condition are compared with it.
    """

    look: int
    runs: tuple[ReportedRun, ...]
    group: int
    row: ComparisonRow
    is_baseline: bool = False

    @property
    def name(self) -> str:
        """Its name below the heading of its condition."""
        return self.row.name

    @property
    def full_name(self) -> str:
        """Its name, unique in the report."""
        return self.row.group.name

    @property
    def verdict(self) -> str:
        """Against the baseline, a sentence; empty for the baseline."""
        return under(self.row.condition, self.row.judged.sentence)

    @property
    def shown(self) -> ReportedRun:
        """The run that represents the configuration in charts: the complete one with the middle TPS."""
        complete = [run for run in self.runs if run.compared.tps is not None]
        ordered = sorted(complete, key=lambda run: run.compared.tps or 0.0)
        return ordered[(len(ordered) - 1) // 2] if ordered else self.runs[0]

    @property
    def unsafe(self) -> tuple[str, ...]:
        """Why its options trade safety for speed; empty for safe ones."""
        return self._reasons(UNSAFE)

    @property
    def not_durable(self) -> tuple[str, ...]:
        """Why it may lose acknowledged commits, and is not ranked; empty for durable ones."""
        return self._reasons(NOT_DURABLE)

    @property
    def warning(self) -> str:
        """Its warning in charts and above its page; empty for safe ones."""
        return safety_warning(unsafe=self.unsafe, not_durable=self.not_durable)

    @property
    def label(self) -> str:
        """Its name, with its warning if it is not durable, for places without a mark."""
        return with_warning(self.name, self.warning) if self.not_durable else self.name

    def _reasons(self, wanted: str) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(reason for run in self.runs for kind, reason in run.facts.marks if kind == wanted)
        )


def read_runs(
    paths: Iterable[Path], disguise: Anonymizer
) -> tuple[tuple[RunFacts, ...], tuple[RunSeries, ...]]:
    """Read run files, their seconds not yet; duplicates are read once.

    Raises:
        RunFileError: one cannot be read.
    """
    unique = list({os.path.realpath(path): path for path in paths}.values())
    if disguise.active:
        for path in unique:
            with RunFile(path) as run:
                disguise.learn(describe_run(run))
    facts = tuple(bounded(_disguised(_read_facts(path), disguise)) for path in unique)
    return facts, tuple(map(RunSeries, unique))


def _read_facts(path: Path) -> RunFacts:
    facts = read_run_facts(path)
    if facts.summary or facts.state == RunState.RUNNING:
        return facts
    with RunFile(path) as run:  # a file that its runner did not finish
        return replace(facts, summary=summarise(run))


def _disguised(facts: RunFacts, disguise: Anonymizer) -> RunFacts:
    """Return the same facts with names replaced; unchanged without a disguise."""
    if not disguise.active:
        return facts
    text = disguise.sentence
    return replace(
        facts,
        path="",
        id=disguise.identity(facts.id),
        name=text(facts.name),
        campaign=text(facts.campaign),
        configuration=text(facts.configuration),
        error=text(facts.error),
        marks=tuple((text(kind), text(reason)) for kind, reason in facts.marks),
        properties=tuple(
            replace(item, name=text(item.name), value=text(item.value)) for item in facts.properties
        ),
        tags=tuple(map(text, facts.tags)),
        note=text(facts.note),
        commands=tuple(_disguised_command(command, disguise) for command in facts.commands),
        environment=tuple(
            (text(name), str(disguise.json(value, name.rpartition(".")[2])))
            for name, value in facts.environment
        ),
        unavailable=tuple((text(source), text(reason)) for source, reason in facts.unavailable),
        unshown=tuple(replace(each, words=text(each.words)) for each in facts.unshown),
        load=_with_share_of(facts.load, text),
        phases=tuple(replace(each, metadata=_with_names(each.metadata, text)) for each in facts.phases),
        plan=None if facts.plan is None else _disguised_plan(facts.plan, text),
    )


def _disguised_plan(plan: StoragePlan, text: Callable[[str], str]) -> StoragePlan:
    """Return the same plan with disks reduced to size and model."""

    def disks(known: Sequence[DiskIdentity]) -> tuple[DiskIdentity, ...]:
        return tuple(
            DiskIdentity("", None, text(disk.model), disk.size_bytes, device_number="") for disk in known
        )

    groups = {role.value: replace(group, disks=disks(group.disks)) for role, group in plan.by_role.items()}
    return replace(plan, **groups, zfs_log=disks(plan.zfs_log))


def _with_share_of(load: OfferedLoad, text: Callable[[str], str]) -> OfferedLoad:
    """Return the same load with a replaced name of the phase that its rate is a share of."""
    if load.share is None:
        return load
    return replace(load, share=replace(load.share, of=text(load.share.of)))


def _with_names(phase: PhaseMetadata, text: Callable[[str], str]) -> PhaseMetadata:
    """Return the same phase with replaced names chosen by users."""
    label, of = or_none(phase.workload.label), or_none(phase.rate_of)
    return replace(
        phase,
        name=text(phase.name),
        rate_of=None if of is None else text(of),
        workload=phase.workload if label is None else replace(phase.workload, label=text(label)),
    )


def _disguised_command(command: CommandRecord, disguise: Anonymizer) -> CommandRecord:
    return replace(
        command,
        account=str(disguise.json(command.account, "account")),
        argv=tuple(map(disguise.sentence, command.argv)),
        stdout="",
        stderr="",
    )


# --- Limits for the printed content of a run file: a file from elsewhere may contain anything.


MOST_LETTERS: Final = 2000
"""Most letters of one text; a command line may be four times as long."""

MOST_NAME: Final = 200
MOST_ENTRIES: Final = 400
"""Most commands, marks, properties and unavailable series."""

MOST_FACTS: Final = 3000
MOST_PHASES: Final = 100
"""Most phases; a campaign file allows no more."""

Item = TypeVar("Item")


def clip(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text of at most `most` letters, with the number of missing ones."""
    if len(text) <= most:
        return text
    return text[:most] + tr("… ({count} more characters in the run file)").format(count=len(text) - most)


def _bounded_name(text: str) -> str:
    return clip(text, MOST_NAME)


def _few(items: Sequence[Item], most: int = MOST_ENTRIES) -> tuple[Item, ...]:
    return tuple(items[:most])


def bounded(facts: RunFacts) -> RunFacts:
    """Return the same run with a printable amount of content; omissions are marked in place."""
    return replace(
        facts,
        name=clip(facts.name, MOST_NAME),
        campaign=clip(facts.campaign, MOST_NAME),
        configuration=clip(facts.configuration, MOST_NAME),
        id=facts.id[:64],
        error=clip(facts.error),
        summary={
            clip(name, MOST_NAME): value if value is not None and math.isfinite(value) else None
            for name, value in facts.summary.items()
        },
        marks=tuple((clip(kind, MOST_NAME), clip(reason)) for kind, reason in _few(facts.marks)),
        properties=tuple(
            item if len(item.name) <= MOST_NAME else replace(item, name=clip(item.name, MOST_NAME))
            for item in _few(facts.properties)
        ),
        load=_with_share_of(facts.load, _bounded_name),
        phases=tuple(
            replace(each, metadata=_with_names(each.metadata, _bounded_name))
            for each in _few(facts.phases, MOST_PHASES)
        ),
        commands=tuple(map(_bounded_command, _few(facts.commands))) + _rest_of_commands(facts.commands),
        environment=tuple(
            each if max(map(len, each)) <= MOST_NAME else (clip(each[0], MOST_NAME), clip(each[1]))
            for each in _few(facts.environment, MOST_FACTS)
        ),
        unavailable=tuple((clip(of, MOST_NAME), clip(why)) for of, why in _few(facts.unavailable)),
    )


def _bounded_command(command: CommandRecord) -> CommandRecord:
    argv = tuple(clip(word) for word in _few(command.argv))
    if len(command.argv) > MOST_ENTRIES:
        argv += (tr("… ({count} more words)").format(count=len(command.argv) - MOST_ENTRIES),)
    return replace(command, account=clip(command.account, MOST_NAME), argv=argv)


def _rest_of_commands(commands: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """Return a line with the number of omitted commands."""
    if len(commands) <= MOST_ENTRIES:
        return ()
    sentence = tr("{count} more in the run file").format(count=len(commands) - MOST_ENTRIES)
    return (replace(commands[-1], account="…", argv=(sentence,), exit_code=0),)
