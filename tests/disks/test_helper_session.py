"""A session whose second disk changes at the worst moment: refused, undone, and never taken for ours."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.dbus.service import MethodError as Refused
from app.domain.disk import DiskIdentity, DiskRefusal, UnreleasedItem
from app.domain.errors import FootingError
from app.domain.options.raid import Level
from app.domain.step_progress import StepProgress
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import GIB, MIB
from app.helper.session.session import Session, SessionState
from app.helper.storage.journal import Journal
from app.helper.storage.leftovers import Leftovers
from app.helper.storage.pending_plans import describe_plans
from app.storage.execution import StepResult
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.layout.partitions import PlannedDevice
from app.storage.spare.spare import SpareDisks
from tests.disks.helper_here import view_of_proc
from tests.disks.layout_proof import digest
from tests.fix_helper import wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make storage"),
]

FOREIGN = b"somebody's only copy of something"


@dataclass(frozen=True, slots=True)
class Spoiling(SpareDisks):
    """The real rules; before they are asked for the second disk alone, somebody writes to it."""

    victim: str = ""

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:  # type: ignore[explicit-override]
        if list(chosen) == [self.victim]:
            with Path(self.victim).open("r+b") as disk:
                disk.write(FOREIGN)
        return SpareDisks.refusals(self, chosen)


@dataclass(slots=True)
class Heard:
    """What a session told."""

    errors: list[FootingError | None] = field(default_factory=list)
    left: list[tuple[UnreleasedItem, ...]] = field(default_factory=list)
    storage: list[str] = field(default_factory=list)

    def progressed(self, progress: StepProgress) -> None:
        assert progress.text

    def executed(self, done: StepResult) -> None:
        assert done.text

    def ready(self, storage: str, further: Mapping[str, str], private: str) -> None:
        assert private
        assert not further
        self.storage.append(storage)

    def claimed(self) -> None:
        """The disks are locked."""

    def refused(self, refusal: Refused) -> None:
        raise AssertionError(refusal)

    def unmade(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        self.errors.append(error)
        self.left.append(tuple(left))

    def ended(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        assert (error, list(left)) == (None, [])


@pytest.fixture
def places() -> Iterator[SourceFolders]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield SourceFolders(proc=view_of_proc(folder), released=folder / "released", as_root=True)


def test_foreign_data_after_claim_refused_unrecorded(
    system_daemons: None, make_loop: Callable[..., str], places: SourceFolders, tmp_path: Path
) -> None:
    first, second = (make_loop(2 * GIB, partscan=True) for _ in range(2))
    disks = Spoiling(Policy(accept_loop_devices=True), places, victim=second)
    identities = tuple(disks.identify(node) for node in (first, second))
    plan = StoragePlan(Group(identities, Level.STRIPE, "btrfs", partition_bytes=512 * MIB))
    devices = {one.key(): PlannedDevice(node) for one, node in zip(identities, (first, second), strict=True)}
    journal, heard = Journal(tmp_path / "journal"), Heard()
    described, _ = describe_plans(":1.1", 0, [(plan, devices)])
    session = Session(described, pwd.getpwnam("nobody").pw_uid, Leftovers(journal, disks), heard)
    session.start()
    wait_until(lambda: session.state is not SessionState.CLAIMING)
    session.make(0)
    wait_until(lambda: session.state is not SessionState.MAKING)
    assert session.state is SessionState.IDLE
    session.release()
    session.join()
    (error,) = heard.errors
    assert error is not None
    assert error.code == "refused"
    assert second in error.message
    assert heard.storage == []
    assert heard.left == [()]
    with Path(second).open("rb") as disk:
        assert disk.read(len(FOREIGN)) == FOREIGN
    recorded = {path.stem for path in places.released.glob("*.json")}
    assert recorded == {identities[0].key()}, "the first was ours for a moment, the second never"
    assert journal.entries() == ([], [])
    assert digest(second) != digest(first)
