"""The rules that ask whether something uses a disk now: D03 to D07 and D12 to D14."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from app.domain.text import tr
from app.storage.inspect.snapshot import DeviceUse
from app.storage.spare.rule import DiskFinding, SpareRule, View
from app.storage.spare.rules_disk import is_loop

SYSTEM_FOLDERS: Final = frozenset({"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/home"})

_DEEPEST: Final = 16


def _of_disk(view: View, uses: tuple[DeviceUse, ...]) -> Iterator[DeviceUse]:
    numbers = view.disk.numbers
    return (use for use in uses if use.number in numbers)


def _seen(use: DeviceUse) -> str:
    return f"{use.number}: {use.user} ({use.detail})" if use.detail else f"{use.number}: {use.user}"


def _check_holders(view: View) -> Iterator[DiskFinding]:
    for use in view.disk.holders.known(()):
        yield DiskFinding(f"{use.detail} is held by {use.user}", _stopping(use.user), user=use.user)


def _stopping(holder: str) -> str:
    """Return how an administrator stops a kernel device."""
    if holder.startswith("md"):
        return tr("Stop the array: mdadm --stop /dev/{name}").format(name=holder)
    if holder.startswith("dm-"):
        return tr(
            "Close the mapping: cryptsetup close NAME, or vgchange --activate n GROUP;"
            " dmsetup info /dev/{name} tells its name"
        ).format(name=holder)
    if holder.startswith("bcache"):
        return tr("Stop the cache: echo 1 > /sys/block/{name}/bcache/stop").format(name=holder)
    return tr("Stop {name} first.").format(name=holder)


def _check_swap(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.swaps.known(())):
        remedy = tr("Turn it off: swapoff {area}").format(area=shlex.quote(use.user))
        yield DiskFinding(_seen(use), remedy, user=tr("swap"))


def _check_mounts(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.mounts.known(())):
        remedy = tr("Unmount it: umount {folder}").format(folder=shlex.quote(use.user))
        yield DiskFinding(_seen(use), remedy, user=tr("mounted at {folder}").format(folder=use.user))


def _check_btrfs(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.btrfs.known(())):
        remedy = tr("Unmount the filesystem: findmnt --types btrfs shows where it is.")
        yield DiskFinding(_seen(use), remedy, user=use.user)


def _check_pools(view: View) -> Iterator[DiskFinding]:
    for use in _of_disk(view, view.machine.pools.known(())):
        remedy = tr("Export the pool: zpool export {pool}").format(pool=use.user)
        yield DiskFinding(_seen(use), remedy, user=tr("ZFS pool {pool}").format(pool=use.user))


def _check_system(view: View) -> Iterator[DiskFinding]:
    image = view.machine.hibernation.known("")
    if image in view.disk.numbers:
        remedy = tr("Choose another device for hibernation (resume= on the kernel's command line).")
        yield DiskFinding(
            tr("{number}: /sys/power/resume").format(number=image), remedy, user=tr("hibernation")
        )
    stacking = view.machine.stacking.known({})
    for mount in view.machine.mounts.known(()):
        if mount.user not in SYSTEM_FOLDERS:
            continue
        reached, layer = {mount.number}, {mount.number}
        for _ in range(_DEEPEST):
            layer = {below for number in layer for below in stacking.get(number, ())} - reached
            reached |= layer
        for number in sorted(reached & view.disk.numbers):
            evidence = tr("{folder} lies on {number}").format(folder=mount.user, number=number)
            if number != mount.number:
                through = tr("{evidence}, through {top}")
                evidence = through.format(evidence=evidence, top=mount.number)
            yield DiskFinding(evidence, user=tr("system ({folder})").format(folder=mount.user))


def _check_openers(view: View) -> Iterator[DiskFinding]:
    if not view.machine.sees_all.known(True) and not _is_test_device(view):  # noqa: FBT003
        remedy = tr("Run it outside of the container.")
        evidence = tr("only the processes of a container can be seen from here")
        yield DiskFinding(evidence, remedy, tr("It cannot be told whether something has it open."))
    for use in _of_disk(view, view.machine.openers.known(())):
        yield DiskFinding(_seen(use), tr("End that program, or make it close the disk."), user=use.user)
    for use in _of_disk(view, view.machine.loops.known(())):
        remedy = tr("Detach it: losetup --detach {device}").format(device=use.user)
        yield DiskFinding(_seen(use), remedy, user=use.user)
    for use in _of_disk(view, view.machine.targets.known(())):
        remedy = tr("Take it out of the target's configuration.")
        yield DiskFinding(_seen(use), remedy, user=tr("served to others"))
    for use in _of_disk(view, view.machine.arrays.known(())):
        yield DiskFinding(_seen(use), _stopping(use.user), user=use.user)


def _is_test_device(view: View) -> bool:
    """Return whether it is a loop device in development mode: its tests run in namespaces."""
    return view.policy.accept_loop_devices and is_loop(view.disk.name)


def _check_exclusive(view: View) -> Iterator[DiskFinding]:
    why = view.disk.exclusive.known("")
    if why:
        remedy = tr("Find out who uses it (lsblk, fuser, findmnt in other namespaces) and end that.")
        yield DiskFinding(why, remedy)


USE_RULES: Final = (
    SpareRule(
        "D03",
        tr("A kernel device is built on it."),
        tr("whether a kernel device is built on it"),
        ("disk.holders",),
        _check_holders,
        in_use=True,
    ),
    SpareRule(
        "D04",
        tr("It is used as swap."),
        tr("whether it is used as swap"),
        ("machine.swaps", "disk.partitions"),
        _check_swap,
        frozenset({"machine.swaps"}),
        in_use=True,
    ),
    SpareRule(
        "D05",
        tr("It is mounted."),
        tr("whether it is mounted"),
        ("machine.mounts", "disk.partitions"),
        _check_mounts,
        in_use=True,
    ),
    SpareRule(
        "D06",
        tr("It is part of a mounted btrfs."),
        tr("whether it is part of a mounted btrfs"),
        ("machine.btrfs", "disk.partitions"),
        _check_btrfs,
        frozenset({"machine.btrfs"}),
        in_use=True,
    ),
    SpareRule(
        "D07",
        tr("It is part of an imported ZFS pool."),
        tr("whether it is part of an imported ZFS pool"),
        ("machine.pools", "disk.partitions"),
        _check_pools,
        frozenset({"machine.pools"}),
        in_use=True,
    ),
    SpareRule(
        "D12",
        tr("The system itself lies on it."),
        tr("whether the system lies on it"),
        ("machine.mounts", "machine.stacking", "machine.hibernation", "disk.partitions"),
        _check_system,
        frozenset({"machine.hibernation"}),
        in_use=True,
    ),
    SpareRule(
        "D13",
        tr("Something has it open."),
        tr("whether something has it open"),
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
        tr("The kernel does not give it exclusively."),
        tr("whether the kernel gives it exclusively"),
        ("disk.exclusive",),
        _check_exclusive,
        in_use=True,
    ),
)
