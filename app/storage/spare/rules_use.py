"""The rules that ask whether something uses a disk now: D03 to D07 and D12 to D14."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from app.domain.messages.message import say
from app.storage.inspect.snapshot import DeviceUse
from app.storage.spare.rule import DiskFinding, SpareRule, View
from app.storage.spare.rules_disk import is_loop

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
        remedy = say("swapoff", area=shlex.quote(use.user))
        yield DiskFinding(_seen(use), remedy, user=say("swap"))


def _check_mounts(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.mounts.known(())):
        remedy = say("unmount", folder=shlex.quote(use.user))
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
