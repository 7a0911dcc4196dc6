"""Decide what works on this machine, and turn target and disks into a storage plan. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice
from app.domain.campaign.disk_target import chosen_options, key_of, plan_of_target
from app.domain.disk import DiskIdentity
from app.domain.disk_answers import Disk
from app.domain.errors import FootingError, Problem
from app.domain.filesystems import FILESYSTEMS, explained_problems, filesystem
from app.domain.options.checks import validate_options
from app.domain.options.filesystem_spec import FilesystemSpec, KernelRemedy, Program
from app.domain.options.kinds import OptionValue
from app.domain.options.option_spec import (
    KERNEL,
    MDADM_VERSION,
    Component,
    Version,
    Versions,
    capacity,
    format_version,
    parse_version,
)
from app.domain.options.raid import ArrayLayout, Assembler, Level, layout
from app.domain.options.refusals import echo
from app.domain.storage_plan.plan import Group, GroupOf, Role, StoragePlan
from app.domain.storage_plan.reader import PlanError, plan_problems
from app.domain.text import GIB, MIB, format_size, quoted, tr
from app.storage.layout.partitions import planned_bytes, whole_disk_bytes
from app.storage.system.programs import FOLDERS, find_program, run_program

# Decide which filesystems and RAID levels work on this machine, and why the others do not.
#
# Always with reasons. Facts are read once (`read_support`); everything else is a pure function of them. No
# module is loaded for this: the kernel's own lists say which ones it could load.


PARTITION_PROGRAMS: Final = (
    Program("sfdisk", "fdisk"),
    Program("wipefs", "util-linux"),
    Program("blkid", "util-linux"),
    Program("udevadm", "udev"),
    Program("mount", "mount"),
    Program("umount", "mount"),
)
"""Needed for every disk."""

MDADM: Final = Program("mdadm", "mdadm", MDADM_VERSION, "--version")

_VERSION_TIMEOUT_S: Final = 5.0
_PERSONALITIES: Final = {"raid4": "raid456", "raid5": "raid456", "raid6": "raid456"}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something does not work here.

    Attributes:
        message: the missing or wrong thing, one sentence.
        remedy: may be empty.
        package: Debian package that would help; may be empty.
        lasting: whether programs alone cannot help, because this kernel lacks support.
    """

    message: str
    remedy: str = ""
    package: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether something works here: it does if there is no reason against it.

    Attributes:
        reasons: all of them.
    """

    reasons: tuple[Reason, ...] = ()

    @property
    def works(self) -> bool:
        """Return whether there is no reason against it."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Support:
    """Abilities of the kernel and the installed programs.

    Attributes:
        release: of the running kernel, from uname(2).
        registered: filesystems in /proc/filesystems; None if it cannot be read.
        present: modules that are loaded or built in.
        loadable: modules that are installed for this kernel.
        modules_installed: whether any module of this kernel is installed.
        loading_disabled: whether the kernel loads no more modules (kernel.modules_disabled).
        programs: path by name, of those in the fixed folders.
        versions: of kernel and programs, if known.
        page_bytes: memory page.
    """

    release: str
    registered: frozenset[str] | None
    present: frozenset[str] = frozenset()
    loadable: frozenset[str] = frozenset()
    modules_installed: bool = True
    loading_disabled: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)
    versions: Versions = field(default_factory=dict)
    page_bytes: int = 4096


def needed_programs() -> tuple[Program, ...]:
    """Return all needed programs, each once."""
    wanted = (*PARTITION_PROGRAMS, MDADM, *(item for spec in FILESYSTEMS for item in spec.programs))
    return tuple({item.name: item for item in wanted}.values())


def read_support(
    root: Path = Path("/"), *, ask: Callable[[Sequence[str]], str] | None = None, release: str = ""
) -> Support:
    """Return the abilities of this machine; anything unreadable is missing in it and becomes a reason.

    Args:
        root: folder in place of /; others only in tests.
        ask: runs a program and returns its output; None for the real one.
        release: of the kernel; empty for the running one.
    """
    release = release or os.uname().release
    folders = tuple(str(root / folder.lstrip("/")) for folder in FOLDERS)
    programs = {item.name: path for item in needed_programs() if (path := _find(item.name, folders))}
    modules = root / "lib/modules" / release
    loadable = frozenset(parse_modules(_text(modules / "modules.dep")))
    builtin = frozenset(parse_modules(_text(modules / "modules.builtin")))
    registered = _text(root / "proc/filesystems")
    return Support(
        release,
        None if registered is None else frozenset(parse_filesystems(registered)),
        builtin | frozenset(_entries(root / "sys/module")) | parse_personalities(_text(root / "proc/mdstat")),
        loadable,
        bool(loadable or builtin),
        (_text(root / "proc/sys/kernel/modules_disabled") or "").strip() == "1",
        programs,
        _versions(release, programs, root / "sys/module", ask or _ask),
        os.sysconf("SC_PAGE_SIZE"),
    )


def filesystem_availability(spec: FilesystemSpec, support: Support) -> Availability:
    """Return whether a filesystem can be created and mounted here on a single disk (or in memory)."""
    common = PARTITION_PROGRAMS if spec.levels else ()
    return Availability(
        (
            *_kernel_reasons(spec.kernel_modules, support, spec.kernel_remedy),
            *_program_reasons((*spec.programs, *common), support),
        )
    )


def level_availability(spec: FilesystemSpec, level: Level, support: Support) -> Availability:
    """Return whether a filesystem can be created here with a level."""
    if level not in spec.levels:
        message = tr("{label} has no level “{level}”.").format(label=spec.label, level=level)
        return Availability((Reason(message),))
    reasons = filesystem_availability(spec, support).reasons
    if spec.assembler(level) is Assembler.MD:
        reasons += array_availability(level, support).reasons
    return Availability(reasons)


def array_availability(level: Level, support: Support) -> Availability:
    """Return whether md supports a level here, regardless of the filesystem."""
    name = layout(level, Assembler.MD).name
    kernel = tuple(_kernel_reasons(("md_mod",), support))
    kernel = kernel or tuple(_kernel_reasons((_PERSONALITIES.get(name, name),), support))
    return Availability((*kernel, *_program_reasons((MDADM,), support)))


def parse_filesystems(text: str) -> tuple[str, ...]:
    """Return the names in /proc/filesystems."""
    return tuple(line.split()[-1] for line in text.splitlines() if line.strip())


def parse_modules(text: str | None) -> tuple[str, ...]:
    """Return the modules in modules.dep or modules.builtin (modprobe(8)); the kernel treats - as _."""
    paths = (line.partition(":")[0] for line in (text or "").splitlines())
    names = (re.sub(r"\.ko(\.\w+)?$", "", path.rpartition("/")[2]) for path in paths)
    return tuple(name.replace("-", "_") for name in names if name)


def parse_personalities(text: str | None) -> frozenset[str]:
    """Return the modules of the personalities in /proc/mdstat; the file exists only with md."""
    if text is None:
        return frozenset()
    first = next((line for line in text.splitlines() if line.startswith("Personalities")), "")
    names = re.findall(r"\[(\w+)\]", first)
    return frozenset({"md_mod", *(_PERSONALITIES.get(name, name) for name in names)})


def parse_tool_version(text: str) -> Version | None:
    """Parse a program's own version output.

    Uses the first line with a version; the digit in a name such as mke2fs does not count (``mke2fs 1.47.0``,
    ``mkfs.f2fs 1.15.0``, ``mdadm - v4.2``, ``zfs-2.1.11-1``, ``btrfs-progs v6.2``).
    """
    match = re.search(r"(?:^|[\s-])v?(\d+\.\d[\d.]*)", text)
    return parse_version(match[1]) if match else None


def _kernel_reasons(
    modules: Iterable[str], support: Support, remedy: KernelRemedy | None = None
) -> Iterable[Reason]:
    for name in modules:
        if support.registered is None:
            yield Reason(tr("/proc/filesystems cannot be read, so the kernel's filesystems are not known."))
        elif name not in support.registered and name not in support.present:
            yield from _module_reasons(name, support, remedy)


def _module_reasons(name: str, support: Support, special: KernelRemedy | None) -> Iterable[Reason]:
    shown = {"raid456": "raid5, raid6", "md_mod": "md"}.get(name, name)
    release = support.release
    if name in support.loadable:
        if support.loading_disabled:
            message = tr(
                "Kernel modules can no longer be loaded (kernel.modules_disabled), and {name} is not loaded."
            )
            yield Reason(message.format(name=shown), tr("Restart the machine."))
        return
    if not support.modules_installed:
        message = tr("Kernel {release} has no {name}: its modules are not installed.")
        remedy = tr("Restart after a kernel update; otherwise install the modules of this kernel.")
        yield Reason(message.format(release=release, name=shown), remedy, lasting=True)
        return
    message = tr("Kernel {release} has no {name}.")
    words, package = _kernel_remedy(special, release)
    yield Reason(message.format(release=release, name=shown), words, package, lasting=not package)


def _kernel_remedy(special: KernelRemedy | None, release: str) -> tuple[str, str]:
    if special and (parse_version(release) or ()) >= special.from_version:
        return special.words, special.package
    if "cloud" in release:
        return tr("Debian's cloud kernel does not include it: install the ordinary one."), "linux-image-amd64"
    return tr("Boot a kernel that has it."), ""


def _program_reasons(programs: Iterable[Program], support: Support) -> Iterable[Reason]:
    missing: dict[str, list[str]] = {}
    for item in {program.name: program for program in programs}.values():
        if item.name not in support.programs:
            missing.setdefault(item.package, []).append(item.name)
    for package, names in missing.items():
        message = tr("Not installed: {names}.").format(names=", ".join(names))
        yield Reason(
            message,
            tr("Install the package {package} (as Debian calls it).").format(package=package),
            package,
        )


def _versions(
    release: str, programs: Mapping[str, str], modules: Path, ask: Callable[[Sequence[str]], str]
) -> Versions:
    found: dict[Component, Version | None] = {KERNEL: parse_version(release)}
    for item in needed_programs():
        if item.component is not None and item.name in programs and item.component not in found:
            tool = parse_tool_version(ask((item.name, item.version_argument)))
            module = parse_version(_text(modules / item.module / "version") or "") if item.module else None
            found[item.component] = min(module, tool) if module and tool else tool  # an option needs both
    return {component: version for component, version in found.items() if version is not None}


def describe_versions(versions: Versions) -> str:
    """Return text such as ``Linux 6.1.0, e2fsprogs 1.47.0``."""
    return ", ".join(f"{component} {format_version(version)}" for component, version in versions.items())


def _find(name: str, folders: Sequence[str]) -> str:
    try:
        return find_program(name, folders)
    except FootingError:
        return ""


def _ask(argv: Sequence[str]) -> str:
    """Return the output of a program; empty if it cannot be run."""
    try:
        ended = run_program(argv, timeout_s=_VERSION_TIMEOUT_S)
    except FootingError:
        return ""
    return ended.stdout + ended.stderr  # mke2fs and mdadm print their version on standard error


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _entries(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(path.name for path in folder.iterdir())
    except OSError:
        return ()


PLACE = "target.disks"
SMALLEST_DEFAULT_BYTES: Final = 16 * GIB
DATA_SET_FACTOR: Final = 4
"""Room for the data set, its WAL, dead rows, and a filesystem that is not nearly full."""


def find_disks(name: str, disks: Sequence[Disk]) -> tuple[Disk, ...]:
    """Return the disks that a campaign file can mean: by full serial, WWN, or the key made of them.

    Args:
        name: from the campaign file.
        disks: of the machine.
    """

    def names(identity: DiskIdentity) -> set[str]:
        return {identity.serial.strip(), (identity.wwn or "").strip(), identity.key()} - {""}

    return tuple(disk for disk in disks if name.strip() in names(disk.identity))


def is_test_device(disk: DiskIdentity) -> bool:
    """Return whether it is a loop device (major number 7, Linux Documentation/admin-guide/devices.txt)."""
    return disk.device_number.partition(":")[0] == "7"


def storage_plan(
    target: DiskTarget, disks: Sequence[Disk], data_set_bytes: int, *, place: str = PLACE
) -> StoragePlan:
    """Return the plan of a target on this machine; does not check whether the disks are spare.

    Args:
        target: of a campaign; valid in itself (`app.domain.campaign.disk_target.target_problems`).
        disks: of this machine.
        data_set_bytes: largest size of the data, with its WAL unless that has its own disks.
        place: key of the target in the campaign file, for messages.

    Raises:
        PlanError: a disk is absent or ambiguous, or the space is too small; names the key of the campaign
            file.
    """
    search = _Search(disks)
    for key, names in _names(target):
        for number, name in enumerate(names, 1):
            search.look_for(f"{key}[{number}]", name)
    _raise_if_any(place, search.problems)
    plan = plan_of_target(
        target,
        lambda name: search.found[name],
        lambda group, found: _partition_bytes(group, found, data_set_bytes),
    )
    _raise_if_any(
        place, [replace(each, path=key_of(each.path)) for each in plan_problems(plan, explained_problems)]
    )
    _raise_if_any(place, _too_small(target, plan, data_set_bytes))
    return plan


def _raise_if_any(place: str, problems: Sequence[Problem]) -> None:
    if problems:
        raise PlanError([replace(each, path=f"{place}.{each.path}") for each in problems])


def _names(target: DiskTarget) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "data", target.data.disks
    for role, group in target.further.items():
        yield f"{role.value}.data", group.disks
    yield "zfs_log", target.zfs_log


@dataclass(slots=True)
class _Search:
    """Find disks by name and collect problems."""

    disks: Sequence[Disk]
    found: dict[str, DiskIdentity] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def look_for(self, key: str, name: str) -> None:
        having = find_disks(name, self.disks)
        shown = quoted(echo(name))
        if len(having) == 1:
            self.found[name] = having[0].identity
        elif having:
            message = tr("{count} disks here match {name}: {disks}. Name them by their WWN.").format(
                name=shown, count=len(having), disks=", ".join(disk.name for disk in having)
            )
            self.problems.append(Problem(key, message))
        else:
            message = tr("No disk of this machine has the serial number or WWN {name}.").format(name=shown)
            self.problems.append(Problem(key, message, _known(self.disks)))


def _known(disks: Sequence[Disk]) -> str:
    names = [disk.identity.serial.strip() or disk.identity.key() for disk in disks if disk.identity.key()]
    return ", ".join(echo(name) for name in names[:12]) + (" …" if len(names) > 12 else "")


def group_layout(group: GroupOf[Any]) -> ArrayLayout:
    """Return the layout of a group's disks, with its assembler."""
    return layout(group.level, filesystem(group.filesystem).assembler(group.level))


def _copies(options: Mapping[str, OptionValue]) -> int | None:
    """Return the copies of a btrfs mirror; None for its default."""
    copies = options.get("mirror_copies")
    return int(copies) if copies is not None else None


def _partition_bytes(group: GroupChoice, disks: Sequence[DiskIdentity], data_set_bytes: int) -> int | None:
    if group.whole_disk:
        return None
    if group.partition_bytes is not None:
        return group.partition_bytes
    sizes = [disk.size_bytes for disk in disks]
    usable = capacity(group_layout(group), [1 << 40] * len(disks), _copies(chosen_options(group))) >> 40
    return default_partition_bytes(data_set_bytes, usable, sizes)


def check_support(target: DiskTarget, support: Support, *, place: str = PLACE) -> None:
    """Make sure that kernel and programs of this machine can make a target.

    Raises:
        PlanError: they cannot; names the key, the missing part, and a remedy.
    """
    problems: list[Problem] = []
    for prefix, group in target.groups:
        spec = filesystem(group.filesystem)
        problems += [
            Problem(f"{prefix}filesystem", f"{reason.message} {reason.remedy}".strip())
            for reason in level_availability(spec, group.level, support).reasons
        ]
        options = chosen_options(group)
        problems += [
            replace(problem, path=f"{prefix}options.{problem.path}")
            for problem in validate_options(spec, options, level=group.level, versions=support.versions)
        ]
    _raise_if_any(place, problems)


def usable_bytes(group: Group) -> int:
    """Return the capacity of a group's disks before assembler and filesystem take their share."""
    return capacity(group_layout(group), [planned_bytes(group)] * len(group.disks), _copies(group.chosen))


def _too_small(target: DiskTarget, plan: StoragePlan, data_set_bytes: int) -> list[Problem]:
    found = []
    for (prefix, choice), (role, group) in zip(target.groups, plan.by_role.items(), strict=True):
        usable = usable_bytes(group)
        if role is Role.WAL or usable >= data_set_bytes:
            continue
        message = tr("The data set needs {need}; these disks hold {usable}.").format(
            need=format_size(data_set_bytes), usable=format_size(usable)
        )
        key = "partition_size" if choice.partition_bytes is not None else "data"
        found.append(Problem(f"{prefix}{key}", message))
    return found


def default_partition_bytes(data_set_bytes: int, data_disks: int, disk_sizes: Iterable[int]) -> int:
    """Return the size of each partition for a data set.

    Args:
        data_set_bytes: of the largest configuration.
        data_disks: disks with data, not parity or copies (`app.domain.options.raid.ArrayLayout.data_disks`).
        disk_sizes: of the disks of the group.

    Returns:
        The greater of 16 GiB and four times the data set per data disk, in whole MiB, limited by the disks.
    """
    needed = -(-DATA_SET_FACTOR * data_set_bytes // max(1, data_disks))
    wanted = max(SMALLEST_DEFAULT_BYTES, needed)
    return min(-(-wanted // MIB) * MIB, whole_disk_bytes(disk_sizes))
