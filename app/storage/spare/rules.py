"""The spare-disk rules D01 to D17: one registry, and their combined answer.

Pure: snapshot in, answer out. Called by root at the moment of use, and by all users for showing. Nothing here
can be forced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from app.domain.disk import DiskIdentity, DiskRefusal, InspectionReport, SpareAnswer
from app.domain.messages.message import say
from app.storage.inspect.snapshot import DeviceUse, Policy, Snapshot
from app.storage.spare.rules_content import CONTENT_RULES, looked_at
from app.storage.spare.rules_disk import DISK_RULES, DiskFinding, RuleVerdict, SpareRule, View, is_loop, judge

SYSTEM_FOLDERS: Final = frozenset({"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/home"})

_DEEPEST: Final = 16


def _of_disk(view: View, uses: tuple[DeviceUse, ...]) -> Iterator[DeviceUse]:
    numbers = view.disk.numbers
    return (use for use in uses if use.number in numbers)


def _seen(use: DeviceUse) -> str:
    if not use.detail:
        return say("use", number=use.number, user=use.user)
    return say("use-detail", number=use.number, user=use.user, detail=use.detail)


def _check_holders(view: View) -> Iterator[DiskFinding]:
    for use in view.disk.holders.known(()):
        yield DiskFinding(
            say("held-by", disk=use.detail, holder=use.user), _stopping(use.user), user=use.user
        )


def _stopping(holder: str) -> str:
    """Return how an administrator stops a kernel device."""
    if holder.startswith("md"):
        return say("stop-array", name=holder)
    if holder.startswith("dm-"):
        return say("close-mapping", name=holder)
    if holder.startswith("bcache"):
        return say("stop-cache", name=holder)
    return say("stop-holder", name=holder)


def _check_swap(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.swaps.known(())):
        remedy = say("swapoff", area=use.user)
        yield DiskFinding(_seen(use), remedy, user=say("swap"))


def _check_mounts(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.mounts.known(())):
        remedy = say("unmount", folder=use.user)
        yield DiskFinding(_seen(use), remedy, user=say("mounted-at", folder=use.user))


def _check_btrfs(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.btrfs.known(())):
        remedy = say("unmount-btrfs")
        yield DiskFinding(_seen(use), remedy, user=use.user)


def _check_pools(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.pools.known(())):
        remedy = say("export-pool", pool=use.user)
        yield DiskFinding(_seen(use), remedy, user=say("zfs-pool", pool=use.user))


def _check_system(view: View) -> Iterator[DiskFinding]:
    image = view.machine.hibernation.known("")
    if image in view.disk.numbers:
        remedy = say("choose-hibernation")
        yield DiskFinding(say("resume-device", number=image), remedy, user=say("hibernation"))
    stacking = view.machine.stacking.known({})
    for mount in view.machine.mounts.known(()):
        if mount.user not in SYSTEM_FOLDERS:
            continue
        reached, layer = {mount.number}, {mount.number}
        for _ in range(_DEEPEST):
            layer = {below for number in layer for below in stacking.get(number, ())} - reached
            reached |= layer
        for number in sorted(reached & view.disk.numbers):
            evidence = say("folder-lies-on", folder=mount.user, number=number)
            if number != mount.number:
                evidence = say("evidence-through", evidence=evidence, top=mount.number)
            yield DiskFinding(evidence, user=say("system-folder", folder=mount.user))


def _check_openers(view: View) -> Iterator[DiskFinding]:
    if not view.machine.sees_all.known(True) and not _is_test_device(view):  # noqa: FBT003
        remedy = say("run-outside")
        evidence = say("only-container-seen")
        yield DiskFinding(evidence, remedy, say("openers-not-told"))
    for use in _of_disk(view, view.machine.openers.known(())):
        yield DiskFinding(_seen(use), say("end-program"), user=use.user)
    for use in _of_disk(view, view.machine.loops.known(())):
        remedy = say("detach-loop", device=use.user)
        yield DiskFinding(_seen(use), remedy, user=use.user)
    for use in _of_disk(view, view.machine.targets.known(())):
        remedy = say("take-out-of-target")
        yield DiskFinding(_seen(use), remedy, user=say("served"))
    for use in _of_disk(view, view.machine.arrays.known(())):
        yield DiskFinding(_seen(use), _stopping(use.user), user=use.user)


def _is_test_device(view: View) -> bool:
    """Return whether it is a loop device in development mode: its tests run in namespaces."""
    return view.policy.accept_loop_devices and is_loop(view.disk.name)


def _check_exclusive(view: View) -> Iterator[DiskFinding]:
    why = view.disk.exclusive.known("")
    if why:
        remedy = say("find-users")
        yield DiskFinding(why, remedy)


USE_RULES: Final = (
    SpareRule(
        "D03",
        say("rule-held"),
        say("unknown-held"),
        ("disk.holders",),
        _check_holders,
        in_use=True,
    ),
    SpareRule(
        "D04",
        say("rule-swap"),
        say("unknown-swap"),
        ("machine.swaps", "disk.partitions"),
        _check_swap,
        frozenset({"machine.swaps"}),
        in_use=True,
    ),
    SpareRule(
        "D05",
        say("rule-mounted"),
        say("unknown-mounted"),
        ("machine.mounts", "disk.partitions"),
        _check_mounts,
        in_use=True,
    ),
    SpareRule(
        "D06",
        say("rule-btrfs"),
        say("unknown-btrfs"),
        ("machine.btrfs", "disk.partitions"),
        _check_btrfs,
        frozenset({"machine.btrfs"}),
        in_use=True,
    ),
    SpareRule(
        "D07",
        say("rule-pool"),
        say("unknown-pool"),
        ("machine.pools", "disk.partitions"),
        _check_pools,
        frozenset({"machine.pools"}),
        in_use=True,
    ),
    SpareRule(
        "D12",
        say("rule-system"),
        say("unknown-system"),
        ("machine.mounts", "machine.stacking", "machine.hibernation", "disk.partitions"),
        _check_system,
        frozenset({"machine.hibernation"}),
        in_use=True,
    ),
    SpareRule(
        "D13",
        say("rule-open"),
        say("unknown-open"),
        (
            "machine.openers",
            "machine.sees_all",
            "machine.loops",
            "machine.targets",
            "machine.arrays",
            "disk.partitions",
        ),
        _check_openers,
        frozenset({"machine.loops", "machine.targets", "machine.arrays"}),
        in_use=True,
    ),
    SpareRule(
        "D14",
        say("rule-not-exclusive"),
        say("unknown-exclusive"),
        ("disk.exclusive",),
        _check_exclusive,
        in_use=True,
    ),
)


RULES: Final[tuple[SpareRule, ...]] = tuple(
    sorted((*DISK_RULES, *USE_RULES, *CONTENT_RULES), key=lambda rule: rule.id)
)
"""All rules, by number."""

_SYSTEM: Final = "D12"


@dataclass(frozen=True, slots=True)
class SpareDecision:
    """The rules' decision on one disk.

    Attributes:
        answer: see `SpareAnswer`.
        refusals: every reason against it, by rule.
        questions: that only root can answer.
        users: of the disk, in words.
        looked: extent of the inspection; None if its content was not read.
    """

    answer: SpareAnswer
    refusals: tuple[DiskRefusal, ...]
    questions: tuple[DiskRefusal, ...]
    users: tuple[str, ...]
    looked: InspectionReport | None = None


def decide(
    snapshot: Snapshot, name: str, policy: Policy, *, chosen: DiskIdentity | None = None
) -> SpareDecision:
    """Return the decision on one disk of a snapshot.

    Args:
        snapshot: the machine now.
        name: kernel name of the disk.
        policy: the caller's.
        chosen: the disk that was shown and chosen earlier, to notice another one in its place.

    Raises:
        KeyError: the snapshot has no such disk.
    """
    view = View(snapshot.machine, snapshot.disk(name), policy, chosen)
    verdicts = [judge(rule, view) for rule in RULES]
    refusals = tuple(refusal for verdict in verdicts for refusal in verdict.refusals)
    questions = tuple(question for verdict in verdicts for question in verdict.questions)
    users = tuple(dict.fromkeys(user for verdict in verdicts for user in verdict.users))
    if not refusals and any(verdict.passed_over for verdict in verdicts):
        refusals = (DiskRefusal("D08b", say("content-not-read"), "disk.content"),)
    if refusals:
        return SpareDecision(SpareAnswer.NOT_SPARE, _with_safe_remedies(refusals), (), users)
    answer = SpareAnswer.LOOKS_SPARE if questions else SpareAnswer.SPARE
    return SpareDecision(answer, (), questions, users, looked_at(view))


def _with_safe_remedies(refusals: tuple[DiskRefusal, ...]) -> tuple[DiskRefusal, ...]:
    """Return the refusals without advice that would do harm.

    No advice to unmount or erase the disk that the system runs from, and none to erase a disk while something
    uses it.
    """
    rules = {refusal.rule for refusal in refusals}
    if _SYSTEM in rules:
        return tuple(each if each.rule == _SYSTEM else replace(each, remedy="") for each in refusals)
    if rules & {rule.id for rule in USE_RULES}:
        erasing = {rule.id for rule in CONTENT_RULES} - {"D11"}
        return tuple(replace(each, remedy="") if each.rule in erasing else each for each in refusals)
    return refusals


def is_in_use(snapshot: Snapshot, name: str, policy: Policy) -> bool:
    """Return whether a rule about use refuses the disk, so that its content is better left unread.

    Raises:
        KeyError: the snapshot has no such disk.
    """
    view = View(snapshot.machine, snapshot.disk(name), policy)
    verdicts: list[RuleVerdict] = [judge(rule, view) for rule in RULES if rule.in_use]
    return any(verdict.refusals for verdict in verdicts)
