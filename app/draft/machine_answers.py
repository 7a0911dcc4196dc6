"""The questions of a draft about this machine and to root's helper: asked separately, answers take time.

A question is a value; the owner of the draft answers it in the background with `answer` and passes the result
back (`app.draft.draft`). Nothing here starts a server or writes, except that the default folder is created.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from app.campaign_file.fields import WORKLOAD_FIELDS
from app.campaign_file.kinds import ValueKind
from app.campaign_file.paths import OneScript
from app.campaign_file.problems import InvalidValueError
from app.dbus.helper_client import HelperClient
from app.domain.campaign.configuration import (
    Campaign,
    PostgresChoice,
    Script,
    Target,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.phases import all_scripts
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk, ReadProgress, RootAnswer
from app.domain.errors import CampaignError, FootingError, InternalError
from app.domain.storage_plan.plan import KeptDisk, ReleaseOutcome, StoragePlan
from app.domain.text import tr
from app.draft.disks.table import InspectionResult
from app.draft.fields.state import DraftEnvironment, serving_account
from app.draft.servers import Agreement, agreement_of
from app.execution.resolve import ResolvedCampaign, resolve_campaign
from app.execution.servers import OpenServer, look_there
from app.hosts.folders.targets import CheckedTarget, check_target
from app.postgres.installations.installation import Installation, choose_installation, find_installations
from app.postgres.pgbench.scale import resolve_scale
from app.postgres.settings import Setting, check_settings, server_settings, unsafe_settings
from app.process.starter import CommandOutcome
from app.storage.layout.disk_target import Support, read_support

# Query the root helper for a draft: its answer about disks, and its commands in its own words.
#
# Most queries only read. They need no password, unless this machine's rules require one to read the content
# of disks, as they do for users without a local session.


def inspect_disks(disks: Sequence[Disk], progress: Callable[[float], None]) -> Mapping[str, InspectionResult]:
    """Return root's answers about disks, by kernel name.

    Args:
        disks: as listed.
        progress: called with the share of all disks that is done, 0 to 1; rotating disks take a while.

    Raises:
        FootingError: the helper is missing or does not answer; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        results = client.inspect([disk.identity for disk in disks], progress=progress)
    found: dict[str, InspectionResult] = {}
    for disk in disks:
        if disk.identity.device_number in results:
            found[disk.name] = _inspected(disk, results[disk.identity.device_number])
    return found


def _inspected(disk: Disk, root_answer: RootAnswer) -> InspectionResult:
    answer = SpareAnswer.SPARE if root_answer.is_spare else SpareAnswer.NOT_SPARE
    return InspectionResult(
        disk, answer, () if root_answer.is_spare else root_answer.refusals, root_answer.looked
    )


def read_disk(
    disk: Disk, progress: Callable[[ReadProgress], None], watch: Callable[[], None] = lambda: None
) -> InspectionResult:
    """Have root read every byte of a disk and return its answer afterwards; may take hours.

    Args:
        disk: as listed.
        progress: called with the progress.
        watch: called often; an exception from it ends the reading.

    Raises:
        FootingError: the helper is missing or does not answer; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        return _inspected(disk, client.read(disk.identity, progress, watch))


def inspect_kept(disk: Disk) -> tuple[KeptDisk, str]:
    """Return the content of a disk that the helper's journal keeps, and the digest needed to release it.

    Raises:
        FootingError: the helper is missing, does not answer, or does not keep the disk.
    """
    with closing(HelperClient.open()) as client:
        return client.inspect_kept(disk.identity)


def release_kept(disk: Disk, digest: str, watch: Callable[[], None] = lambda: None) -> ReleaseOutcome:
    """Have root release a disk that its journal keeps, and return how; the user is asked for a password.

    Args:
        disk: as listed.
        digest: of `inspect_kept`.
        watch: called often while the user is asked; an exception from it cancels the question.

    Raises:
        FootingError: it is not released; carries the reason.
    """
    with closing(HelperClient.open()) as client:
        return client.release_kept(disk.identity, digest, watch)


def describe_plans(plans: Sequence[StoragePlan]) -> tuple[tuple[str, ...], ...]:
    """Return the helper's commands for each plan, a line for each step.

    Raises:
        FootingError: the helper is missing, does not answer, or refuses a plan; nothing was touched.
    """
    with closing(HelperClient.open()) as client:
        return client.describe(plans).texts


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

    waiting: ClassVar[str] = tr("Checking this machine …")

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

    waiting: ClassVar[str] = tr("Checking this machine …")

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

    waiting: ClassVar[str] = tr("Checking this machine …")

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

    waiting: ClassVar[str] = tr("Checking settings and scripts for unsafe actions …")

    @override
    def find_out(self, environment: DraftEnvironment) -> Agreement:
        return agreement_of(self.campaign)


@dataclass(frozen=True, slots=True)
class DescribeQuestion(MachineQuestion):
    """What would the root helper execute for these plans?"""

    plans: tuple[StoragePlan, ...]

    waiting: ClassVar[str] = tr("Asking the root helper for its commands …")

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

    waiting: ClassVar[str] = tr("Checking the servers and other sessions on them …")

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
