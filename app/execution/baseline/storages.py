"""Which storage was asked already: it is once for each storage of a campaign, not for each run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.errors import FootingError
from app.domain.io_baseline import IoBaseline
from app.execution.baseline.measurement import BaselineMeasurement
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.execution.stop import Cancellable
from app.hosts.baseline_storage import BaselineStorage
from app.hosts.host import Host
from app.postgres.machine import read_machine
from app.recording.events import CampaignListener
from app.recording.recorder import Recorder
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile


@dataclass(slots=True)
class CampaignBaselines:
    """What is known of the storages of a campaign.

    Attributes:
        campaign: says of which storage it wants to know.
    """

    campaign: Campaign
    _found: dict[Hashable, IoBaseline] = field(default_factory=dict, init=False)

    def recall(self, resolved: ResolvedConfiguration, path: str) -> None:
        """Take over what the run file of the same storage tells: of a campaign that is resumed."""
        with suppress(FootingError), RunFile(Path(path)) as run:
            found = or_none(run.metadata.io_baseline)
            if found is not None:
                self.keep(resolved, found)

    def of(self, resolved: ResolvedConfiguration) -> IoBaseline | None:
        """Return what a storage told; None where it was not asked."""
        return self._found.get(_storage(resolved))

    def is_open(self, resolved: ResolvedConfiguration) -> bool:
        """Whether a storage is still to be asked."""
        return self.campaign.wants_baseline(resolved.configuration.target) and self.of(resolved) is None

    def keep(self, resolved: ResolvedConfiguration, found: IoBaseline) -> None:
        """Remember what a storage told."""
        self._found[_storage(resolved)] = found


@dataclass(slots=True)
class StorageBaseline:
    """The question to one storage, in the first run on it.

    Attributes:
        baselines: of the campaign.
        resolved: the run's configuration.
        host: gives a storage of its own for it.
        listener: watches.
        switch: asked often whether a person wants to stop.
    """

    baselines: CampaignBaselines
    resolved: ResolvedConfiguration
    host: Host
    listener: CampaignListener
    switch: Cancellable

    def measure(
        self, recorder: Recorder, keep_writing: Callable[[], None], left_over: Callable[[str], None]
    ) -> None:
        """Ask, and write what was told into the run file; see `BaselineMeasurement.measure`."""
        target = self.resolved.configuration.target
        limit = target.memory_limit_bytes if isinstance(target, DiskTarget) else None
        usable = read_machine().usable_ram_bytes
        found = BaselineMeasurement(
            storage=BaselineStorage(self.host, target, self.resolved.need_bytes),
            installation=self.resolved.installation,
            memory_bytes=min(usable, limit or usable),
            recorder=recorder,
            step=self.listener.step,
            left_over=left_over,
            switch=self.switch,
            keep_writing=keep_writing,
        ).measure()
        self.baselines.keep(self.resolved, found)
        recorder.set_run(RunMetadata(io_baseline=found))
        for problem in found.problems:
            recorder.event("baseline", problem)
            self.listener.told("note", problem)


def storages_to_ask(resolved: ResolvedCampaign) -> tuple[ResolvedConfiguration, ...]:
    """Return a configuration for each storage of a campaign that is asked what it can do."""
    found: dict[Hashable, ResolvedConfiguration] = {}
    for each in resolved.configurations.values():
        if resolved.campaign.wants_baseline(each.configuration.target):
            found.setdefault(_storage(each), each)
    return tuple(found.values())


def _storage(resolved: ResolvedConfiguration) -> Hashable:
    """Return what is the same for configurations on the same storage: the plan, else the folder."""
    return resolved.target.plan or resolved.target.path
