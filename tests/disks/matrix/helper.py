"""Root's own code in a process of its own, which can be killed at each write of its journal."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, NoReturn
from unittest.mock import patch

from typing_extensions import override

from app.dbus.service import MethodError
from app.domain.disk import UnreleasedItem
from app.domain.errors import FootingError
from app.domain.step_progress import StepProgress
from app.domain.storage_plan.plan import StoragePlan
from app.helper.base.audit import JOURNAL
from app.helper.session.session import Session
from app.helper.storage import leftovers, ownership
from app.helper.storage.journal import Journal, JournalEntry
from app.helper.storage.leftovers import Leftovers
from app.helper.storage.pending_plans import describe_plans
from app.storage import execution
from app.storage.checks import disk_checks
from app.storage.execution import StepResult
from app.storage.inspect import processes as inspect_processes
from app.storage.inspect.snapshot import Policy
from app.storage.layout.partitions import PlannedDevice
from app.storage.layout.steps import Mark, mark_fact
from app.storage.spare.spare import SpareDisks
from app.storage.system import device as claimed_device
from app.storage.system import programs
from app.storage.system.programs import await_udevd, run_program, udevd_runs
from app.storage.wiping import wipe
from tests.disks.helper_owner import NOBODY
from tests.disks.stalling import LATE_S

LIMIT_S: Final = 100.0
_PATIENCE_S: Final = 0.3
"""How long root's code waits for others here, who never go away by themselves; seconds in real life."""

_UDEVD_S: Final = 2.0
"""The same beside udevd, which has a device open for a moment after each change, longer on a busy machine."""

_ANSWER_S: Final = 8 * LATE_S
"""How long it waits for a disk to answer here: long enough for a busy machine to start a program."""

MAINTAIN: Final = "maintain "
"""What a helper is asked begins so, with the name of a maintenance behind it."""

SPARE: Final = SpareDisks(Policy(accept_loop_devices=True))


def be_first_namespace() -> None:
    """Have the rules take this namespace of processes for the first: see `tests.disks.helper_here`."""
    patch.object(inspect_processes, "_FIRST_PID_NAMESPACE", Path("/proc/self/ns/pid").readlink().name).start()


def hurry() -> None:
    """Shorten the waiting for others who have a disk open or work on a filesystem."""
    waits = [
        (execution, "LOOKING_S"),
        (execution, "AFTER_S"),
        (ownership, "PATIENCE_S"),
        (leftovers, "_AT_WORK_S"),
        (claimed_device, "CLAIMED_S"),
        (wipe, "READERS_S"),
    ]
    if not udevd_runs():  # which goes away by itself
        waits.append((disk_checks, "LOOKING_S"))
    for module, name in waits:
        patch.object(module, name, _UDEVD_S if udevd_runs() else _PATIENCE_S).start()
    patch.object(programs, "ANSWER_S", _ANSWER_S).start()


@dataclass(frozen=True, slots=True)
class Death:
    """When a helper dies.

    Attributes:
        number: of a write of its journal, or of a step of unmaking, from 1.
        when: before the write, after it, or when the step begins.
    """

    number: int
    when: Literal["before", "after", "step"]

    def strike(self, number: int, when: str) -> None:
        """End this process here, if this is where it dies."""
        if (number, when) == (self.number, self.when):
            os.kill(os.getpid(), signal.SIGKILL)


class DyingJournal(Journal):
    """The journal of a helper that tells of each write, and is killed at one."""

    __slots__ = ("_count", "_death", "_record")

    def __init__(self, death: Death | None, record: Callable[[int], None]) -> None:
        super().__init__()
        self._death, self._count, self._record = death, 0, record

    @override
    def write(self, entry: JournalEntry) -> None:
        self._count += 1
        self._record(self._count)
        if self._death:
            self._death.strike(self._count, "before")
        super().write(entry)
        if self._death:
            self._death.strike(self._count, "after")


@dataclass(frozen=True, slots=True)
class Said:
    """What a helper said.

    Attributes:
        what: claimed, refused, ready, maintained, unmade, ended, recovered, inspected, written, step, died.
        text: all its words; of a write and of a step what was seen then.
        left: what was left, each with its reason.
        number: of the write of the journal, or of the step.
    """

    what: str
    text: str = ""
    left: tuple[str, ...] = ()
    number: int = 0

    @property
    def words(self) -> str:
        """All that it said."""
        return " ".join((self.text, *self.left)).strip()


class Helper:
    """A process that runs root's code; what it is asked is given when it starts or sent to it."""

    def __init__(self, work: Callable[[Helper], None]) -> None:
        self._mine, self._its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._be(work)
        self._its.close()

    def _be(self, work: Callable[[Helper], None]) -> NoReturn:
        self._mine.close()
        status = 1
        try:
            hurry()
            logging.disable()  # what counts is what it tells
            work(self)
            status = 0
        except BaseException:  # noqa: BLE001 - nothing of this process may go on as a test
            self.record(Said("died", traceback.format_exc()))
        finally:
            os._exit(status)

    def record(self, said: Said) -> None:
        """Say something; called in the process."""
        self._its.send(json.dumps([said.what, said.text, said.left, said.number]).encode()[:200_000])

    def heard(self) -> str:
        """Wait for what is asked; empty when nobody is there any more. Called in the process."""
        return self._its.recv(1000).decode()

    def ask(self, what: str) -> None:
        """Ask for something."""
        self._mine.send(what.encode())

    def wait(self, *wanted: str) -> tuple[Said, list[Said]]:
        """Wait until it says one of these, or has died; return that and all before it."""
        before: list[Said] = []
        deadline_s = time.monotonic() + LIMIT_S
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._mine], [], [], left_s)[0]:
                self.kill()
                return Said("died", f"it said nothing for {LIMIT_S} s"), before
            data = self._mine.recv(300_000)
            if not data:
                self.reap()
                return Said("died"), before
            what, text, left, number = json.loads(data)
            said = Said(what, text, tuple(left), number)
            if what in {*wanted, "died"}:
                return said, before
            before.append(said)

    def kill(self) -> None:
        """Kill it."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.reap()

    def reap(self) -> None:
        """Wait until it has ended."""
        if self.pid:
            self._mine.close()  # it ends when nobody asks any more
            os.waitpid(self.pid, 0)
            self.pid = 0


class _Listener:
    """Says what a session says."""

    def __init__(self, helper: Helper, death: Death | None, look: Callable[[], str]) -> None:
        self._record, self._death, self._look, self._was_ready = helper.record, death, look, False

    def claimed(self) -> None:
        self._record(Said("claimed"))

    def refused(self, refusal: MethodError) -> None:
        self._record(Said("refused", f"{refusal.code} {refusal.text}"))

    def progressed(self, progress: StepProgress) -> None:
        if self._was_ready:
            self._record(Said("step", self._look(), number=progress.number))
            if self._death:
                self._death.strike(progress.number, "step")

    def executed(self, done: StepResult) -> None:
        pass

    def ready(self, storage: str, further: Mapping[str, str], private: str) -> None:
        self._was_ready = True
        self._record(Said("ready", f"{storage} {further.get('wal', '')} {private}"))

    def unmade(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        self._record(_over("unmade", error, left))

    def ended(self, error: FootingError | None, left: Sequence[UnreleasedItem]) -> None:
        self._record(_over("ended", error, left))


def _over(what: str, error: FootingError | None, left: Sequence[UnreleasedItem]) -> Said:
    words = "" if error is None else f"{error.message} {error.hint}".strip()
    return Said(what, words, tuple(f"{each.name} {each.serial} {each.reason} {each.remedy}" for each in left))


def session(
    plan: StoragePlan,
    devices: Mapping[str, PlannedDevice],
    death: Death | None = None,
    look: Callable[[], str] = str,
) -> Helper:
    """Start a helper with a session over a plan; ask it to make, maintain, unmake and release.

    Args:
        plan: what it makes.
        devices: the nodes of its disks.
        death: when it dies.
        look: returns what is told at each write of its journal and each step of unmaking.
    """

    def work(helper: Helper) -> None:
        journal = DyingJournal(death, lambda number: helper.record(Said("written", look(), number=number)))
        described, _ = describe_plans(":1.1", NOBODY, [(plan, devices)])
        running = Session(described, NOBODY, Leftovers(journal, SPARE), _Listener(helper, death, look))
        running.start()

        def maintained(result: object) -> None:
            helper.record(Said("maintained", str(result)))

        while what := helper.heard():
            if what.startswith(MAINTAIN):
                running.maintain(maintained, what.removeprefix(MAINTAIN))
                continue
            {"make": lambda: running.make(0), "unmake": running.unmake, "release": running.release}[what]()
        running.join()

    return Helper(work)


def recovered(death: Death | None = None) -> Said:
    """Let a helper start, recover what others left, and end; return what it could not."""

    def work(helper: Helper) -> None:
        journal = DyingJournal(death, lambda number: helper.record(Said("written", number=number)))
        helper.record(Said("recovered", left=tuple(Leftovers(journal, SPARE).recover())))

    helper = Helper(work)
    said, _ = helper.wait("recovered")
    helper.reap()
    return said


def released(nodes: Sequence[str]) -> Said:
    """Let a person see what lies on disks and release all of them that the journal has.

    What it says names the disks that are not seen to be ours; they stay.
    """

    def work(helper: Helper) -> None:
        left = Leftovers(Journal(), SPARE)
        chosen = {node: SPARE.identify(node) for node in nodes}
        found = {node: seen for node, disk in chosen.items() if (seen := left.offered(disk)) is not None}
        words = ""
        try:
            left.release({chosen[node]: seen.digest for node, seen in found.items()})
        except FootingError as err:
            words = f"{err.message} {err.hint}".strip()
        helper.record(
            Said("released", words, tuple(node for node, seen in found.items() if not seen.is_ours))
        )

    helper = Helper(work)
    said, _ = helper.wait("released")
    helper.reap()
    return said


def refusals(nodes: Sequence[str]) -> Mapping[str, str]:
    """Return why disks are not spare, by node; those that are spare are left out."""

    def work(helper: Helper) -> None:
        # As `DiskLocks` does before it decides: udevd may be late. On a disk that hangs it never ends.
        await_udevd(nodes, partial(run_program, timeout_s=LIMIT_S / 2))
        chosen = {node: SPARE.identify(node) for node in nodes}
        found = Leftovers(Journal(), SPARE).refusals(chosen)
        helper.record(
            Said(
                "inspected",
                json.dumps(
                    {node: [f"{each.rule} {each.evidence}" for each in found[node]] for node in found}
                ),
            )
        )

    helper = Helper(work)
    said, _ = helper.wait("inspected")
    helper.reap()
    if said.what == "died":
        return dict.fromkeys(nodes, said.text)
    return {node: "; ".join(reasons) for node, reasons in json.loads(said.text).items()}


def journaled() -> tuple[Path, ...]:
    """Return the files of the journal."""
    return tuple(sorted(JOURNAL.glob("*.json")))


def is_made_and_never_seen() -> bool:
    """Return whether a helper died where a table was made and its digest was not written yet."""
    facts = [each for path in journaled() for each in json.loads(path.read_text())["facts"].items()]
    return any(value == Mark.BEGUN and name.startswith(mark_fact("table ")) for name, value in facts)


def in_another_boot() -> None:
    """Have the journal say that it was written in another boot."""
    for path in journaled():
        values = json.loads(path.read_text())
        if "boot" in values:
            values["boot"] = "11111111-2222-3333-4444-555555555555"
        path.write_text(json.dumps(values))
