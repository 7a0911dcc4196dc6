"""The runs of a report, read from their files and grouped by configuration; names taken out where asked."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.labels import one_line, safety_warning, with_warning
from app.comparison.comparison import ComparedRun
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


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run of the report.

    Attributes:
        number: 0-based, its place in the report.
        tag: of its configuration, with its own number where that has several runs: A, or A2.
        compared: what its file says, and whether it takes part in the comparison.
        data: its series.
    """

    number: int
    tag: str
    compared: ComparedRun
    data: RunData = field(repr=False)

    @property
    def facts(self) -> RunFacts:
        """What its file says."""
        return self.compared.facts

    @property
    def source(self) -> str:
        """Return how a reader finds the run: its tag, name and the beginning of its id."""
        known = one_line(self.facts.id[:8] or Path(self.facts.path).name)
        return f"{self.tag} = {one_line(self.facts.name)}" + (f" ({known})" if known else "")


@dataclass(frozen=True, slots=True)
class ReportedConfiguration:
    """A configuration with its runs.

    Attributes:
        look: 0-based, its place in the order of measuring; decides tag, colour and line style.
        tag: one or two letters that stand for it in charts and tables.
        name: unique in the report, without what all names end with.
        full_name: the whole of it.
        runs: in the order of their start.
        group: its place in the comparison.
        row: of the table of the comparison.
        verdict: against the baseline, as a sentence that names are short in; empty for the baseline.
        is_baseline: whether the others of its condition are compared with it.
        told_name: its name in sentences of the comparison.
    """

    look: int
    tag: str
    name: str
    full_name: str
    runs: tuple[ReportedRun, ...]
    group: int
    row: ComparisonRow
    verdict: str = ""
    is_baseline: bool = False
    told_name: str = ""

    @property
    def shown(self) -> ReportedRun:
        """The run whose charts stand for the configuration: of the complete ones that of middle TPS."""
        complete = [run for run in self.runs if run.compared.tps is not None]
        ordered = sorted(complete, key=lambda run: run.compared.tps or 0.0)
        return ordered[(len(ordered) - 1) // 2] if ordered else self.runs[0]

    @property
    def unsafe(self) -> tuple[str, ...]:
        """Why its numbers were bought with safety; empty for safe ones."""
        return self._reasons(UNSAFE)

    @property
    def not_durable(self) -> tuple[str, ...]:
        """Why it may lose commits that it acknowledged, and is not ranked; empty for durable ones."""
        return self._reasons(NOT_DURABLE)

    @property
    def warning(self) -> str:
        """What stands beside it in charts and over its page; empty for safe ones."""
        return safety_warning(unsafe=self.unsafe, not_durable=self.not_durable)

    @property
    def label(self) -> str:
        """Its name where no mark stands beside it."""
        return with_warning(self.name, self.warning) if self.not_durable else self.name

    def _reasons(self, wanted: str) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(reason for run in self.runs for kind, reason in run.facts.marks if kind == wanted)
        )


def read_runs(
    paths: Iterable[Path], disguise: Anonymizer
) -> tuple[tuple[RunFacts, ...], tuple[RunData, ...]]:
    """Read run files; a file that is named twice counts once.

    Raises:
        RunFileError: one cannot be read.
    """
    unique = list({os.path.realpath(path): path for path in paths}.values())
    if disguise.active:
        for path in unique:
            with RunFile(path) as run:
                disguise.learn(describe_run(run))
    facts = tuple(bounded(_disguised(_read_facts(path), disguise)) for path in unique)
    return facts, tuple(load_run_data(path) for path in unique)


def _read_facts(path: Path) -> RunFacts:
    facts = read_run_facts(path)
    if facts.summary or facts.state == RunState.RUNNING:
        return facts
    with RunFile(path) as run:  # nobody could finish it
        return replace(facts, summary=summarise(run))


def _disguised(facts: RunFacts, disguise: Anonymizer) -> RunFacts:
    """Return the same facts without names; without a disguise as they are."""
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
        phases=tuple(replace(each, told=_with_names(each.told, text)) for each in facts.phases),
        plan=None if facts.plan is None else _disguised_plan(facts.plan, text),
    )


def _disguised_plan(plan: StoragePlan, text: Callable[[str], str]) -> StoragePlan:
    """Return the same plan of disks of which only size and model are told."""

    def disks(known: Sequence[DiskIdentity]) -> tuple[DiskIdentity, ...]:
        return tuple(
            DiskIdentity("", None, text(disk.model), disk.size_bytes, device_number="") for disk in known
        )

    groups = {role.value: replace(group, disks=disks(group.disks)) for role, group in plan.by_role.items()}
    return replace(plan, **groups, zfs_log=disks(plan.zfs_log))


def _with_share_of(load: OfferedLoad, text: Callable[[str], str]) -> OfferedLoad:
    """Return the same load with another name of the phase that its rate is a share of."""
    if load.share is None:
        return load
    return replace(load, share=replace(load.share, of=text(load.share.of)))


def _with_names(told: PhaseMetadata, text: Callable[[str], str]) -> PhaseMetadata:
    """Return the same phase with other names of people's."""
    label, of = or_none(told.workload.label), or_none(told.rate_of)
    return replace(
        told,
        name=text(told.name),
        rate_of=None if of is None else text(of),
        workload=told.workload if label is None else replace(told.workload, label=text(label)),
    )


def _disguised_command(command: CommandRecord, disguise: Anonymizer) -> CommandRecord:
    return replace(
        command,
        account=str(disguise.json(command.account, "account")),
        argv=tuple(map(disguise.sentence, command.argv)),
        stdout="",
        stderr="",
    )


# --- How much of a run file a report prints: the file may come from anybody and hold anything.


MOST_LETTERS: Final = 2000
"""Of one text; a command line may be four times as long."""

MOST_NAME: Final = 200
MOST_ENTRIES: Final = 400
"""Of commands, marks, properties and what was not measured."""

MOST_FACTS: Final = 3000
MOST_PHASES: Final = 100
"""As many as a campaign file may ask for."""

Item = TypeVar("Item")


def clip(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text of at most so many letters, with how many are missing."""
    if len(text) <= most:
        return text
    return text[:most] + tr("… ({count} more letters in the run file)").format(count=len(text) - most)


def _bounded_name(text: str) -> str:
    return clip(text, MOST_NAME)


def _few(items: Sequence[Item], most: int = MOST_ENTRIES) -> tuple[Item, ...]:
    return tuple(items[:most])


def bounded(facts: RunFacts) -> RunFacts:
    """Return the same run with no more than can be printed; what is left out is said where it stood."""
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
        properties=tuple(replace(item, name=clip(item.name, MOST_NAME)) for item in _few(facts.properties)),
        load=_with_share_of(facts.load, _bounded_name),
        phases=tuple(
            replace(each, told=_with_names(each.told, _bounded_name))
            for each in _few(facts.phases, MOST_PHASES)
        ),
        commands=tuple(map(_bounded_command, _few(facts.commands))) + _rest_of_commands(facts.commands),
        environment=tuple(
            (clip(name, MOST_NAME), clip(value)) for name, value in _few(facts.environment, MOST_FACTS)
        ),
        unavailable=tuple(
            (clip(source, MOST_NAME), clip(reason)) for source, reason in _few(facts.unavailable)
        ),
    )


def _bounded_command(command: CommandRecord) -> CommandRecord:
    argv = tuple(clip(word) for word in _few(command.argv))
    if len(command.argv) > MOST_ENTRIES:
        argv += (tr("… ({count} more words)").format(count=len(command.argv) - MOST_ENTRIES),)
    return replace(command, account=clip(command.account, MOST_NAME), argv=argv)


def _rest_of_commands(commands: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """Return a line that says how many commands are left out."""
    if len(commands) <= MOST_ENTRIES:
        return ()
    told = tr("{count} more in the run file").format(count=len(commands) - MOST_ENTRIES)
    return (replace(commands[-1], account="…", argv=(told,), exit_code=0),)
