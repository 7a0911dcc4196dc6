"""The questions of a draft about this machine: asked separately, because answers take time.

A question is a value; the owner of the draft answers it in the background with `answer` and passes the result
back (`app.draft.draft`). Nothing here starts a server or writes, except that the default folder is created.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from app.campaign_file.fields import WORKLOAD_FIELDS
from app.campaign_file.kinds import ValueKind
from app.campaign_file.paths import OneScript
from app.campaign_file.problems import InvalidValueError
from app.domain.campaign.configuration import (
    Campaign,
    PostgresChoice,
    Script,
    Target,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.phases import all_scripts
from app.domain.errors import CampaignError, FootingError, InternalError
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.draft.fields.environment import DraftEnvironment, serving_account
from app.draft.root_answers import describe_plans
from app.draft.trust import Agreement, agreement_of
from app.execution.resolve import ResolvedCampaign, resolve_campaign
from app.execution.servers import OpenServer, look_there
from app.hosts.folders.targets import CheckedTarget, check_target
from app.postgres.installations.installation import Installation, choose_installation, find_installations
from app.postgres.pgbench.scale import resolve_scale
from app.postgres.settings import Setting, check_settings, server_settings, unsafe_settings
from app.process.starter import CommandOutcome
from app.storage.layout.availability import Support, read_support


@dataclass(frozen=True, slots=True)
class MachineQuestion(ABC):
    """A question that only the machine can answer."""

    waiting: ClassVar[str]
    """The current activity while waiting, a sentence."""

    @abstractmethod
    def find_out(self, environment: DraftEnvironment) -> object:
        """Return the answer.

        Raises:
            FootingError: the answer is negative.
        """


@dataclass(frozen=True, slots=True)
class TargetQuestion(MachineQuestion):
    """Can this place hold the data?"""

    target: Target
    need_bytes: int

    waiting: ClassVar[str] = tr("Checking the targets …")

    @override
    def find_out(self, environment: DraftEnvironment) -> CheckedTarget:
        return check_target(self.target, serving_account(environment), self.need_bytes)


@dataclass(frozen=True, slots=True)
class ScriptsQuestion(MachineQuestion):
    """What do these script files contain?

    Attributes:
        raw: value of the campaign file's key, as JSON.
        key: dotted; of the scripts themselves, or of phases with scripts.
    """

    raw: str
    key: str = "workload.script"

    waiting: ClassVar[str] = tr("Reading the scripts …")

    @override
    def find_out(self, environment: DraftEnvironment) -> tuple[Script, ...] | tuple[WorkloadPhase, ...]:
        kind = next(each.kind for each in WORKLOAD_FIELDS if self.key == f"workload.{each.name}")
        found: tuple[Script, ...] | tuple[WorkloadPhase, ...] = _read(kind, json.loads(self.raw), self.key)
        return found


def _read(kind: ValueKind, raw: object, key: str = "workload.script") -> Any:  # noqa: ANN401
    """Return the current content of script files.

    Raises:
        CampaignError: one of them cannot be read.
    """
    try:
        return kind.read(raw, Path("/"))
    except InvalidValueError as error:
        words = " ".join(problem.message for problem in error.problems)
        raise CampaignError(words, field=key) from error


@dataclass(frozen=True, slots=True)
class SupportQuestion(MachineQuestion):
    """Which filesystems and RAID levels can this machine make?"""

    waiting: ClassVar[str] = tr("Checking which filesystems this machine can create …")

    @override
    def find_out(self, environment: DraftEnvironment) -> Support:
        return read_support()


@dataclass(frozen=True, slots=True)
class PostgresAnswer:
    """A PostgreSQL that accepts its settings.

    Attributes:
        installation: the chosen one.
        settings: complete, as for an empty disk of the target's size.
        unsafe: (setting, value, what it risks).
    """

    installation: Installation
    settings: tuple[Setting, ...]
    unsafe: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class PostgresQuestion(MachineQuestion):
    """Does this PostgreSQL exist, and does it accept these settings?

    Attributes:
        choice: installation, preset and settings.
        workload: for the number of connections and the size of the data.
        targets: the smallest one determines the size of the WAL, as in `app.execution.resolve`.
    """

    choice: PostgresChoice
    workload: Workload
    targets: tuple[Target, ...]

    waiting: ClassVar[str] = tr("Asking PostgreSQL whether it accepts these settings …")

    @override
    def find_out(self, environment: DraftEnvironment) -> PostgresAnswer:
        account, machine = serving_account(environment), environment.machine
        wanted = self.choice.installation
        found = environment.installations
        if wanted.startswith("/"):
            found = find_installations(account, [wanted])
        installation = choose_installation(wanted, found)
        data_bytes = resolve_scale(self.workload, machine.usable_ram_bytes).data_bytes
        room = [check_target(target, account, 0).room_bytes for target in self.targets]
        settings = server_settings(
            self.choice,
            machine,
            self.workload,
            target_free_bytes=min(room, default=None),
            data_bytes=data_bytes,
        )
        check_settings(settings, installation, account, _ignore)
        pairs = [(setting.name, setting.value) for setting in settings]
        return PostgresAnswer(installation, settings, unsafe_settings(pairs))


@dataclass(frozen=True, slots=True)
class CampaignQuestion(MachineQuestion):
    """Can this machine run this campaign?"""

    campaign: Campaign

    waiting: ClassVar[str] = tr("Checking whether this machine can run it …")

    @override
    def find_out(self, environment: DraftEnvironment) -> ResolvedCampaign:
        scripts = {each for item in self.campaign.configurations for each in all_scripts(item.workload)}
        own = [each for each in scripts if each.path is not None]
        if own != [_read(OneScript(), {"file": each.path, "weight": each.weight}) for each in own]:
            raise CampaignError(
                tr("A script file has changed since it was read."),
                field="workload.script",
                hint=tr("Go back to the page with the script and check it."),
            )
        return resolve_campaign(self.campaign, serving_account(environment), _ignore)


@dataclass(frozen=True, slots=True)
class TrustQuestion(MachineQuestion):
    """May this campaign do more than measure, and did the user agree to that?"""

    campaign: Campaign

    waiting: ClassVar[str] = tr("Checking what its settings and scripts can do …")

    @override
    def find_out(self, environment: DraftEnvironment) -> Agreement:
        return agreement_of(self.campaign)


@dataclass(frozen=True, slots=True)
class DescribeQuestion(MachineQuestion):
    """What would the root helper execute for these plans?"""

    plans: tuple[StoragePlan, ...]

    waiting: ClassVar[str] = tr("Asking the root helper what it will do …")

    @override
    def find_out(self, environment: DraftEnvironment) -> tuple[tuple[str, ...], ...]:
        return describe_plans(self.plans)


@dataclass(frozen=True, slots=True)
class ServerQuestion(MachineQuestion):
    """Which server is this, and how do others use it?

    Attributes:
        connection: as in the campaign.
        ssh: ssh name of its machine; empty if ssh is not used.
    """

    connection: str
    ssh: str = ""

    waiting: ClassVar[str] = tr("Checking the server and other sessions on it …")

    @override
    def find_out(self, environment: DraftEnvironment) -> OpenServer:
        return look_there(self.connection, self.ssh)


def _ignore(_outcome: CommandOutcome) -> None:
    """Record nothing: commands here belong to no run."""


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    """The answer to a question.

    Attributes:
        question: the question.
        result: None if the answer is negative.
        error: why it is negative.
    """

    question: MachineQuestion
    result: object = None
    error: FootingError | None = None


def answer(question: MachineQuestion, environment: DraftEnvironment) -> MachineAnswer:
    """Answer one question; never raises."""
    try:
        return MachineAnswer(question, question.find_out(environment))
    except FootingError as error:
        return MachineAnswer(question, error=error)
    except Exception as error:  # noqa: BLE001 - a border: told on the page like any other reason
        return MachineAnswer(question, error=InternalError.of(error))
