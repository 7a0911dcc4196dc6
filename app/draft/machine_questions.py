"""Determine a step's questions for this machine, and the field that shows a negative answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    FolderTarget,
    MemoryTarget,
    Target,
    Workload,
)
from app.domain.errors import CampaignError, FootingError, InstallationError, SettingError, TargetError
from app.domain.problem import Problem
from app.domain.storage_plan.reader import PlanError
from app.domain.text import quoted, tr
from app.draft.builder import ValidationResult
from app.draft.fields.environment import DraftEnvironment
from app.draft.fields.fields import step_of
from app.draft.fields.state import DraftParts, Place, Step
from app.draft.machine_answers import (
    CampaignQuestion,
    DescribeQuestion,
    MachineQuestion,
    PostgresQuestion,
    ServerQuestion,
    SupportQuestion,
    TargetQuestion,
    TrustQuestion,
)
from app.execution.resolve import ResolvedCampaign
from app.execution.servers import servers_of
from app.postgres.pgbench.scale import ScaleChoice, resolve_scale

_FIELDS: Final[dict[type[FootingError], str]] = {
    SettingError: "postgresql.settings",
    InstallationError: "postgresql.installation",
    TargetError: "target",
}


_LOOKED_AT: Final = frozenset({Place.FOLDER, Place.MEMORY})
"""Places checked on the first page; disks have their own pages, a server is checked on the last one."""


def describe_question(resolved: ResolvedCampaign | None) -> DescribeQuestion | None:
    """Return the question about the helper's commands; None if no disks are used."""
    found = resolved.configurations.values() if resolved else ()
    plans = tuple(dict.fromkeys(each.target.plan for each in found if each.target.plan is not None))
    return DescribeQuestion(plans) if plans else None


def server_questions(campaign: Campaign | None) -> tuple[ServerQuestion, ...]:
    """Return a question for each server that already runs."""
    found = servers_of(campaign) if campaign is not None else {}
    return tuple(ServerQuestion(connection, ssh) for connection, ssh in found.items())


def _words(error: FootingError) -> str:
    """Return a refusal without the keys of campaign files that begin each problem of a plan."""
    if not isinstance(error, PlanError):
        return error.message
    allowed = tr("{message} Allowed: {allowed}.")
    sentence = (
        allowed.format(message=each.message, allowed=each.hint) if each.hint else each.message
        for each in error.problems
    )
    return "\n".join(dict.fromkeys(sentence))


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One state of a draft, to derive its questions.

    Attributes:
        parts: the fields.
        built: the result of building them.
        environment: of this machine.
        resolved: the campaign on this machine, if known.
    """

    parts: DraftParts
    built: ValidationResult
    environment: DraftEnvironment
    resolved: ResolvedCampaign | None = None

    def questions(self, step: Step) -> tuple[MachineQuestion, ...]:
        """Return the questions of one step, including answered ones."""
        if self.environment.account is None:
            return ()
        askers: dict[Step, Callable[[], Iterator[MachineQuestion]]] = {
            Step.WHERE: self._about_places,
            Step.DISKS: self._about_filesystems,
            Step.FILESYSTEM: self._about_filesystems,
            Step.POSTGRESQL: self._about_postgresql,
            Step.WORKLOAD: self._about_workload,
            Step.MORE: self._about_others,
            Step.REVIEW: self._about_all,
        }
        return tuple(dict.fromkeys(askers[step]()))

    def target_question(self, target: Target) -> TargetQuestion:
        """Return the question whether a place can hold the data."""
        scale = self.scale(self.built.workload) if self.built.workload else None
        return TargetQuestion(target, scale.data_bytes if scale else 0)

    def postgres_question(self) -> PostgresQuestion | None:
        """Return the question about the second page; None if something on it is wrong."""
        if self.built.postgresql is None:
            return None
        targets = tuple(dict.fromkeys(self.built.targets.values()))
        return PostgresQuestion(self.built.postgresql, self.built.workload or Workload(), targets)

    def scale(self, workload: Workload) -> ScaleChoice | None:
        """Return the scale of a workload here; None if there is none, which `CampaignQuestion` reports."""
        try:
            return resolve_scale(workload, self.environment.machine.usable_ram_bytes)
        except CampaignError:
            return None

    def refusal(self, step: Step, question: MachineQuestion, error: FootingError) -> Problem:
        """Return the machine's negative answer as a problem of the field that can change it."""
        field, message = _FIELDS.get(type(error), ""), _words(error)
        if isinstance(error, CampaignError):
            field = error.field
        match question:
            case TargetQuestion(target=FolderTarget()):
                field = "target.folder.path"
            case ServerQuestion():
                field = "target.server.connection"
            case TargetQuestion(target=MemoryTarget()):
                field = "target.memory.size"
            case CampaignQuestion(campaign=campaign) if campaign.matrix is not None:
                field = "dimension" if step is Step.MORE else field
            case CampaignQuestion(campaign=campaign) if step is Step.MORE:
                message = f"{quoted(campaign.configurations[0].name)}: {message}"
                field = self._place_in_list(campaign.configurations)
            case CampaignQuestion() if step is Step.WORKLOAD and isinstance(error, TargetError):
                field = "workload.size"
            case _:
                pass
        return Problem(field, message, error.hint)

    def _about_places(self) -> Iterator[MachineQuestion]:
        for number, each in enumerate(self.parts.chosen()):
            if each.from_where and each.place in _LOOKED_AT and number in self.built.targets:
                yield self.target_question(self.built.targets[number])

    def _about_filesystems(self) -> Iterator[MachineQuestion]:
        yield SupportQuestion()

    def _about_postgresql(self) -> Iterator[MachineQuestion]:
        question = self.postgres_question()
        if question is not None:
            yield question

    def _about_workload(self) -> Iterator[MachineQuestion]:
        yield from self.built.questions
        if not any(step_of(problem.path) is Step.WORKLOAD for problem in self.built.problems):
            yield from map(self._alone, list(self.built.configurations.values())[:1])

    def _about_others(self) -> Iterator[MachineQuestion]:
        if self.built.matrix is not None and self.built.campaign is not None:
            yield CampaignQuestion(self.built.campaign)
        elif self.built.matrix is None:
            yield from map(self._alone, list(self.built.configurations.values())[1:])

    def _about_all(self) -> Iterator[MachineQuestion]:
        if self.built.campaign is not None:
            yield TrustQuestion(self.built.campaign)
            yield CampaignQuestion(self.built.campaign)
        question = describe_question(self.resolved)
        if question is not None:
            yield question
        for each in server_questions(self.built.campaign):
            if (each.connection, each.ssh) in self.parts.contacted:
                yield each

    def _alone(self, configuration: Configuration) -> CampaignQuestion:
        """Return the question about one configuration alone, so that a negative answer refers to it."""
        seeds = self.parts.seeds
        return CampaignQuestion(Campaign(configuration.name, (configuration,), 1, seeds))

    def _place_in_list(self, configurations: Sequence[Configuration]) -> str:
        names = [each.name.strip() for each in self.parts.chosen()]
        return f"configuration[{names.index(configurations[0].name) + 1}]"
