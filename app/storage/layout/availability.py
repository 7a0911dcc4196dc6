"""Decide which filesystems and RAID levels work on this machine, and why the others do not.

Always with reasons. Facts are read once (`read_support`); everything else is a pure function of them. No
module is loaded for this: the kernel's own lists say which ones it could load.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec, KernelRemedy, Program
from app.domain.options.raid import Assembler, Level, layout
from app.domain.text import tr
from app.domain.versions import (
    KERNEL,
    MDADM_VERSION,
    Component,
    Version,
    Versions,
    format_version,
    parse_version,
)
from app.storage.system.programs import FOLDERS, find_program, run_program

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
        builtin | frozenset(_names(root / "sys/module")) | parse_personalities(_text(root / "proc/mdstat")),
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
        message = tr("{label} has no level {level}.").format(label=spec.label, level=level)
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
            yield Reason(tr("/proc/filesystems cannot be read: what the kernel knows is not known."))
        elif name not in support.registered and name not in support.present:
            yield from _module_reasons(name, support, remedy)


def _module_reasons(name: str, support: Support, special: KernelRemedy | None) -> Iterable[Reason]:
    shown = {"raid456": "raid5, raid6", "md_mod": "md"}.get(name, name)
    release = support.release
    if name in support.loadable:
        if support.loading_disabled:
            message = tr(
                "The kernel may load no module any more (kernel.modules_disabled), and {name} is not loaded."
            )
            yield Reason(message.format(name=shown), tr("Restart the machine."))
        return
    if not support.modules_installed:
        message = tr("Kernel {release} has no {name} built in, and none of its modules are installed.")
        remedy = tr("After an update of the kernel a restart helps; else install the modules of this kernel.")
        yield Reason(message.format(release=release, name=shown), remedy, lasting=True)
        return
    message = tr("Kernel {release} has no {name}: neither built in nor as a module.")
    words, package = _kernel_remedy(special, release)
    yield Reason(message.format(release=release, name=shown), words, package, lasting=not package)


def _kernel_remedy(special: KernelRemedy | None, release: str) -> tuple[str, str]:
    if special and (parse_version(release) or ()) >= special.from_version:
        return special.words, special.package
    if "cloud" in release:
        return tr("Debian's cloud kernel leaves it out: install the ordinary one."), "linux-image-amd64"
    return tr("Start a kernel that has it."), ""


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


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(path.name for path in folder.iterdir())
    except OSError:
        return ()
