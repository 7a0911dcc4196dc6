"""One combination: a session, what happens to its disk at a moment, what comes next, and the judgement."""

from __future__ import annotations

import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.domain.maintenance import MAINTENANCE, REMOVE_SNAPSHOTS, DoneBy
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import FURTHER_ROLES, Group, Role, StoragePlan
from app.domain.text import MIB
from app.helper.base.audit import JOURNAL
from app.storage.inspect.sources import RELEASED_FOLDER
from app.storage.layout.commands import MOUNT_NAMES
from app.storage.layout.partitions import PlannedDevice
from tests.disks.matrix import helper as helpers
from tests.disks.matrix.disks import DISK_BYTES, PARTITION_BYTES, Disk, settle, write
from tests.disks.matrix.helper import SPARE, Death, Helper, Said, journaled, refusals
from tests.disks.matrix.images import Images
from tests.disks.matrix.moments import Counts, Moment, UnexpectedError, unmount_all
from tests.disks.matrix.stage import (
    RUN,
    Certainty,
    Foreign,
    Given,
    Kind,
    Stage,
    assemble,
    free_pools_and_arrays,
)
from tests.disks.stalling import Answers, stalling_file

_SENTINEL_BYTES: Final = 8 * MIB


class NotApplicableError(Exception):
    """It cannot happen at that moment."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the session makes.

    Attributes:
        title: names it in results.
        filesystem: of the plan.
        level: of the plan.
        count: of its disks.
        role: what the group is for to which something happens; all but the data's have that on a disk of its
            own beside them, which must be freed whatever happens.
    """

    title: str
    filesystem: str
    level: Level
    count: int
    role: Role = Role.DATA

    @property
    def disks(self) -> int:
        """Disks of the session; those of the group are the last."""
        return self.count + (self.role is not Role.DATA)

    def plan(self, disks: list[Disk]) -> StoragePlan:
        """Return the plan over disks."""
        identities = tuple(SPARE.identify(disk.node) for disk in disks)
        made = identities[-self.count :]
        group = Group(made, self.level, self.filesystem, partition_bytes=PARTITION_BYTES)
        if self.role is Role.DATA:
            return StoragePlan(group)
        data = Group(identities[:1], EXT4.level, EXT4.filesystem, partition_bytes=PARTITION_BYTES)
        further: dict[str, Any] = {self.role.value: group}
        return StoragePlan(data, **further)


EXT4: Final = Layout("ext4", "ext4", Level.SINGLE, 1)
BTRFS: Final = Layout("btrfs on two disks", "btrfs", Level.STRIPE, 2)
OF_ROLES: Final = tuple(
    Layout(f"btrfs for {role.value} beside ext4", "btrfs", Level.SINGLE, 1, role) for role in FURTHER_ROLES
)
XFS: Final = Layout("xfs", "xfs", Level.SINGLE, 1)
MIRROR: Final = Layout("btrfs mirror of two disks", "btrfs", Level.MIRROR, 2)
LAYOUTS: Final = (EXT4, BTRFS, MIRROR, XFS, *OF_ROLES)
GUEST_LAYOUTS: Final = (
    Layout("md stripe of two disks", "xfs", Level.STRIPE, 2),
    Layout("zfs mirror of two disks", "zfs", Level.MIRROR, 2),
    Layout("f2fs", "f2fs", Level.SINGLE, 1),
)
"""What only the kernel of the virtual machine has."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a combination.

    Attributes:
        faults: what was not as it must be; empty for a green one.
        applies: whether it could happen at all.
        seconds: that it took.
        said: what root said of it.
        cleaned: whether nothing of the session was left.
    """

    faults: tuple[str, ...]
    applies: bool = True
    seconds: float = 0.0
    said: str = ""
    cleaned: bool = False


class Trial:
    """One combination; see `moments.Play`."""

    def __init__(self, layout: Layout, kind: Kind, stack: ExitStack, images: Images) -> None:
        folder = Path(tempfile.mkdtemp(prefix="matrix-", dir=images.folder))
        stack.callback(shutil.rmtree, folder)
        self.sentinel = _disk(stack, folder / "sentinel", _SENTINEL_BYTES)
        write(self.sentinel.node, (0, b"\x3c" * MIB), (_SENTINEL_BYTES - MIB, b"\xc3" * MIB))
        disks = [_disk(stack, folder / f"disk {number}") for number in range(layout.disks - kind.can_fail)]
        if kind.can_fail:
            disks.append(Disk.over(stack.enter_context(stalling_file(folder, DISK_BYTES))))
            stack.callback(disks[-1].detach)
            settle()
        self._sentinel_before = self.sentinel.digest()
        self.stage = Stage(disks, folder, images, stack, place=MOUNT_NAMES[layout.role])
        stack.callback(self._take_away)
        self.kind = kind
        self.layout = layout
        self.plan = layout.plan(disks)
        self.foreign: Foreign | None = None
        self.had_ours = False
        self.was_live = self.was_offered = False
        self._before: list[str] = []
        self._stack = stack

    def _take_away(self) -> None:
        unmount_all()
        free_pools_and_arrays(self.stage.disks)

    # --- what moments ask

    @property
    def upkeep(self) -> tuple[str, ...]:
        of_root = [each for each in MAINTENANCE if each.done_by is DoneBy.ROOT and each != REMOVE_SNAPSHOTS]
        return tuple(each.name for each in of_root if each.is_on(self.layout.filesystem))

    def session(self, death: Death | None = None, look: Callable[[], str] = str) -> Helper:
        devices = {
            disk.key(): PlannedDevice(each.node)
            for (_, disk), each in zip(self.plan.members(), self.stage.disks, strict=True)
        }
        helper = helpers.session(self.plan, devices, death, look)
        self._stack.callback(helper.kill)
        return helper

    def happen(self) -> None:
        self.stage.read_table()
        self.had_ours = self.stage.has_table()
        self.foreign = self.kind.happen(self.stage) if self.kind.needs in self.stage.given() else None
        if self.foreign is None:
            raise NotApplicableError
        settle()
        self.was_live = self.stage.is_live()
        self._before = self._digests()
        self.foreign.begin()

    def recovered(self) -> Said:
        return helpers.recovered()

    def boot(self) -> None:
        self._take_away()
        shutil.rmtree(RUN)
        for disk in self.stage.disks:
            disk.detach()
        for disk in self.stage.disks:
            disk.attach()
        settle()
        assemble(self.stage.disks)
        helpers.in_another_boot()

    # --- what is judged

    def _digests(self) -> list[str]:
        assert self.foreign is not None
        ranges = self.foreign.ranges
        if ranges == () and self.was_live:
            ranges = self.stage.outside()
        mine = "" if ranges is None else self.foreign.disk.digest(ranges)
        return [mine, *(disk.digest() for disk in self.foreign.others)]

    def judge(self, moment: Moment, *, also_later: bool) -> Outcome:
        """Play a moment and judge what came of it."""
        started_s = time.monotonic()
        try:
            said = moment.play(self)
        except NotApplicableError:
            return Outcome((), applies=False, seconds=time.monotonic() - started_s)
        faults = [*self._unchanged_faults(), *self._faults(moment, said)]
        cleaned = not journaled() and not self.was_offered
        if also_later:
            faults += self._later_faults()
        text = " | ".join(each.words for each in said if each.words)
        return Outcome(
            tuple(dict.fromkeys(faults)),
            seconds=time.monotonic() - started_s,
            said=text,
            cleaned=cleaned,
        )

    def _unchanged_faults(self) -> list[str]:
        assert self.foreign is not None
        found = []
        if self._digests() != self._before:
            found.append("foreign bytes were changed")
        if self.sentinel.digest() != self._sentinel_before:
            found.append("a disk that was never chosen was changed")
        if fault := self.foreign.fault():
            found.append(fault)
        return found

    def _faults(self, moment: Moment, said: list[Said]) -> list[str]:
        assert self.foreign is not None
        found = [f"root's code ended with an error: {each.text}" for each in said if each.what == "died"]
        words = " ".join(filter(None, (each.words for each in said)))
        match self.foreign.certainty:
            case Certainty.UNCHANGED if moment.unmounts:
                return [*found, *self._clean_faults(words)]
            case Certainty.UNCHANGED | Certainty.OURS_ALONE:
                return [*found, *self._offered_faults(words)]
            case Certainty.FAILING:
                return [*found, *self._failing_faults(moment, words)]
            case Certainty.ALWAYS | Certainty.USED:
                must = self.had_ours or not moment.keeps
            case Certainty.WHERE_MADE:
                must = (self.had_ours or not moment.keeps) and moment.is_made
            case _:
                must = False
        kept = bool(journaled())
        if must:
            # a blank disk that is not ours yet is refused by the rules, in their own words
            found += self._reported_faults(words, () if moment.keeps else ("not spare",))
        if must and moment.keeps and not kept:
            found.append("the journal does not keep it")
        if bool(words) != kept and not must and moment.keeps:
            found.append(f"said {words!r}, but the journal keeps {'it' if kept else 'nothing'}")
        if must or self.foreign.certainty is Certainty.ALWAYS:
            found += self._refused_faults(must_be_named=must and kept)
        return [*found, *self._others_faults(moment)]

    def _offered_faults(self, words: str) -> list[str]:
        """All is clean, or told and kept for a person, who can release it; then it is clean."""
        if not journaled():
            return self._clean_faults(words)
        self.was_offered = True
        disks = [disk.node for disk in self.stage.disks if disk.node and not disk.is_bare()]
        refused = refusals(disks)
        found = [] if words else ["kept and not told"]
        found += [f"{node} is kept without D18" for node in disks if "D18" not in refused.get(node, "")]
        unseen = helpers.is_made_and_never_seen()
        said = helpers.released([disk.node for disk in self.stage.disks if disk.node])
        settle()
        if said.left and unseen:  # its owner has to blank it
            return found
        return [*found, *(f"released by a person: {fault}" for fault in self._clean_faults(said.words))]

    def _failing_faults(self, moment: Moment, words: str) -> list[str]:
        """What is left of ours is told and refused; once the disk is well, a person releases it."""
        assert self.foreign is not None
        if kept := bool(journaled()):
            found = [*self._reported_faults(words, ()), *self._others_faults(moment)]
            if self.had_ours:  # of several disks the journal names those on which something was begun
                found += self._refused_faults(must_be_named=True)
        else:
            found = [f"told, and the journal keeps nothing: {words}"] if words and moment.keeps else []
        self.foreign.end()
        left = self._offered_faults(self.recovered().words) if kept else self._clean_faults()
        # The kernel counts writes that failed, too: then old data of ours is not believed.
        left = [fault for fault in left if "D08b the kernel has counted" not in fault]
        return [*found, *(f"once it is well: {fault}" for fault in left)]

    def _reported_faults(self, words: str, also: tuple[str, ...]) -> list[str]:
        assert self.foreign is not None
        if not words:
            return ["it is not told"]
        # A disk in use, of an array that udev assembled for instance, is refused unread.
        in_use = f"{self.foreign.disk.node} is in use"
        known = (*self.foreign.words, *also, in_use) if self.foreign.words else ()
        if known and not any(word.lower() in words.lower() for word in known):
            return [f"none of {known} is told: {words}"]
        return []

    def _refused_faults(self, *, must_be_named: bool) -> list[str]:
        """The disk must not be spare afterwards; where the journal keeps it, for that reason too."""
        assert self.foreign is not None
        node = self.foreign.disk.node
        if not node:
            return []
        why = refusals([node]).get(node, "")
        if not why:
            return ["the disk is spare again"]
        return [] if not must_be_named or "D18" in why else [f"no D18 among the reasons: {why}"]

    def _others_faults(self, moment: Moment) -> list[str]:
        """Disks of other groups are freed where pgFooting unmounts them; all others at least kept by name."""
        assert self.foreign is not None
        disks = [disk for disk in self.stage.disks if disk is not self.foreign.disk and disk.node]
        left = [disk for disk in disks if not disk.is_bare()]
        hangs = self.foreign.disk.answers is Answers.NEVER  # nothing of that session goes on
        apart = self.stage.disks[: -self.layout.count] if moment.unmounts and not hangs else []
        refused = refusals([disk.node for disk in left])
        return [
            f"disk {disk.node} was not freed: {disk.signatures()}"
            for disk in left
            if disk in apart or "D18" not in refused.get(disk.node, "")
        ]

    def _clean_faults(self, words: str = "") -> list[str]:
        """Everything must be as before the session."""
        found = [f"told although nothing is there: {words}"] if words else []
        if journaled():
            found.append("the journal is not empty")
        disks = self.stage.disks
        found += [f"left on {disk.node}: {disk.signatures()}" for disk in disks if not disk.is_bare()]
        if RUN.exists() and (places := [path.name for path in RUN.iterdir()]):
            found.append(f"left in {RUN}: {places}")
        refused = refusals([disk.node for disk in disks])
        return [*found, *(f"{node} is not spare: {why}" for node, why in refused.items())]

    def _later_faults(self) -> list[str]:
        """What is foreign goes, by its owner's hand; then its owner gives up the disk as well."""
        assert self.foreign is not None
        if self.foreign.certainty in {Certainty.UNCHANGED, Certainty.OURS_ALONE, Certainty.FAILING}:
            return []
        is_format = self.kind.group == "formats"
        if is_format:  # udevd may have assembled an array of it
            free_pools_and_arrays(self.stage.disks)
        self.foreign.end()
        settle()
        if is_format:  # and once more, as soon as it was stopped
            free_pools_and_arrays(self.stage.disks)
        found: list[str] = []
        said = self.recovered()
        if self.foreign.comes_back:
            found += [f"once it has ended: {fault}" for fault in self._offered_faults(said.words)]
        elif bool(said.words) != bool(journaled()):
            found.append(f"once it has ended: said {said.words!r}, the journal has {len(journaled())}")
        free_pools_and_arrays(self.stage.disks)  # udevd may have assembled ours again, once it was refused
        for disk in self.stage.disks:
            disk.zero()
        settle()
        said = self.recovered()
        return [*found, *(f"once the disk is zero: {fault}" for fault in self._clean_faults(said.words))]


def _disk(stack: ExitStack, file: Path, size_bytes: int = 0) -> Disk:
    disk = Disk.blank(file, size_bytes) if size_bytes else Disk.blank(file)
    stack.callback(disk.detach)
    settle()
    return disk


def clear() -> None:
    """Remove what earlier combinations left of journal and records."""
    for path in journaled():
        path.unlink()
    for folder in (RELEASED_FOLDER, JOURNAL, RUN):
        shutil.rmtree(folder, ignore_errors=True)


def play(layout: Layout, kind: Kind, moment: Moment, images: Images, *, also_later: bool = True) -> Outcome:
    """Play one combination; twice what does not begin, as where another disk of the machine just vanished.

    Args:
        also_later: whether what is foreign goes afterwards, and the disk must then be as before the session.
    """
    for attempt in (1, 2):
        clear()
        try:
            with ExitStack() as stack:
                return Trial(layout, kind, stack, images).judge(moment, also_later=also_later)
        except UnexpectedError as err:
            if attempt == 2:
                return Outcome((f"the session did not come there: {err}",))
        except Exception:  # noqa: BLE001 - one combination must not keep the others from being played
            return Outcome((f"it broke off: {traceback.format_exc()}",))
    raise AssertionError


def count(layout: Layout, images: Images) -> Counts:
    """Return how much there is to die at in the life of a layout.

    Raises:
        UnexpectedError: it cannot be made and unmade.
    """
    clear()
    with ExitStack() as stack:
        trial = Trial(layout, Kind("", "", lambda _: None), stack, images)

        def look() -> str:
            trial.stage.read_table()
            return str(trial.stage.given().value)

        helper = trial.session(look=look)
        heard: list[list[Said]] = []
        for what, awaited in (("", "claimed"), ("make", "ready"), ("unmake", "unmade"), ("release", "ended")):
            if what:
                helper.ask(what)
            said, before = helper.wait(awaited, "refused", "unmade", "ended")
            if said.what != awaited or (said.words and awaited != "ready"):
                raise UnexpectedError(f"{said.what} {said.words}")
            heard.append(before)
        helper.reap()
    made, unmade = ([Given(int(said.text)) for said in part if said.what == "written"] for part in heard[1:3])
    following = zip(heard[2], [*heard[2][1:], Said("unmade")], strict=True)
    steps = (said for said, then in following if said.what == "step" and then.what != "written")
    return Counts(len(made), (*made, *unmade), {said.number: Given(int(said.text)) for said in steps})
