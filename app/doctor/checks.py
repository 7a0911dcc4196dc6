"""What works on this machine, and why the rest does not, for `pgfooting doctor` and the window's help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Final

from app.dbus.bus_thread import service_presence
from app.dbus.desktop import InhibitorUnavailable, inhibit_sleep
from app.dbus.helper_client import HelperClient
from app.dbus.helper_errors import NOTHING_TOUCHED
from app.dbus.udisks import UdisksUnavailable, fetch_objects
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.errors import FootingError, ProgramError, UsageError
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import LAYOUTS, Assembler, Level
from app.domain.text import CALLED, format_size, tr
from app.draft.disks.table import JOURNALED
from app.execution.recovery import sweep_abandoned
from app.helper.base.audit import read_policy
from app.hosts.disk_session import ask_root
from app.hosts.folders.own_folders import account_reason, server_account
from app.hosts.folders.targets import check_target
from app.io_baseline.fio import FIO
from app.library.entries import default_library
from app.postgres.installations.installation import find_installations, install_hint, is_ubuntu, this_family
from app.postgres.settings import read_machine
from app.probes.base.probe import ask_program
from app.probes.preflight.checks import PreflightRequest, Severity, run_preflight
from app.process.qt_libraries import (
    check_report_packages,
    check_window_packages,
    missing_libraries,
    report_error,
    window_error,
)
from app.process.starter import Account, CommandOutcome
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.udisks_objects import Objects
from app.storage.layout.disk_target import (
    Reason,
    Support,
    array_availability,
    describe_versions,
    filesystem_availability,
    level_availability,
)
from app.storage.spare.disks import Listing, list_disks
from app.storage.spare.inspect import DiskProgress, ignore_progress

# The disks of this machine, with those that pgFooting keeps, and how to release them.


_UDISKS_S: Final = 0.25
"""Time limit for UDisks2, which only adds to sysfs."""


def find_disks(policy: Policy, progress: DiskProgress = ignore_progress) -> Listing:
    """Return this machine's disks, with data of UDisks2 if it runs and answers in time.

    Args:
        policy: the caller's.
        progress: called with the progress on a disk, in threads.
    """
    objects: Objects | None = None
    with ThreadPoolExecutor(1) as pool, suppress(UdisksUnavailable):
        objects = pool.submit(fetch_objects, _UDISKS_S).result()
    return list_disks(policy, objects=objects, progress=progress)


def find_disks_with_reasons(policy: Policy, progress: DiskProgress = ignore_progress) -> Listing:
    """Return this machine's disks, with root's own reasons for those with remains of pgFooting.

    Asking root removes those remains that can be removed.

    Args:
        policy: the caller's.
        progress: called with the progress on a disk, in threads.
    """
    listing = find_disks(policy, progress)
    left = [disk.identity for disk in listing.disks if disk.is_left_over]
    answers = ask_root(left) if left else {}
    if any(answer.is_spare for answer in answers.values()):
        listing = find_disks(policy, progress)

    def answered(disk: Disk) -> Disk:
        answer = answers.get(disk.identity.device_number)
        if answer is None or answer.is_spare or not disk.is_left_over:
            return disk
        return replace(disk, answer=SpareAnswer.NOT_SPARE, refusals=answer.refusals, questions=())

    return replace(listing, disks=tuple(map(answered, listing.disks)))


def release_command(disk: Disk) -> str:
    """Return the command that releases a disk."""
    return f"{CALLED} disks --release {disk.identity.typed_name()}"


def is_journaled(disk: Disk) -> bool:
    """Return whether the helper's journal has the disk."""
    return any(each.rule == JOURNALED for each in disk.refusals)


def is_kept(disk: Disk) -> bool:
    """Return whether the disk has storage or remains of pgFooting."""
    return disk.answer is not SpareAnswer.SPARE and (disk.is_left_over or is_journaled(disk))


def kept_words(disk: Disk) -> str:
    """Return how a kept disk is released."""
    sentence = tr("In use by pgFooting or left behind by it. To release disks left behind: {command}")
    return sentence.format(command=release_command(disk))


def kept_disks(progress: DiskProgress) -> tuple[str, ...]:
    """Return a sentence for each disk with storage or remains of pgFooting, with its release command."""
    disks = find_disks_with_reasons(read_policy(), progress).disks
    return tuple(f"{disk.path}: {kept_words(disk)}" for disk in disks if is_kept(disk))


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor.

    Attributes:
        topic: subject of the check.
        works: True, False, or None for mere information.
        message: the result.
        hint: a remedy.
    """

    topic: str
    works: bool | None
    message: str
    hint: str = ""


MEASURING: Final = frozenset({"postgresql", "folder"})
"""Topics that must work for any measurement."""


def examine_machine(support: Support, progress: DiskProgress = ignore_progress) -> list[Check]:
    """Return all checks that are useful before a campaign.

    Args:
        support: of this machine.
        progress: called with the progress of the inspection of disks, in threads.
    """
    commands: list[CommandOutcome] = []
    checks = [
        Check("left-over", None, event.text, tr("pgFooting tries to remove the rest at its next start."))
        for event in sweep_abandoned()
    ]
    try:
        account = server_account(commands.append)
    except FootingError as error:
        return [*checks, Check("account", works=False, message=error.message, hint=error.hint)]
    checks.append(Check("account", works=True, message=account_reason(account)))
    checks += _installations(account)
    checks += _target(account, "folder", FolderTarget())
    checks += _target(account, "memory", MemoryTarget())
    if {item.topic for item in checks if item.works} >= MEASURING:
        message = tr("Folders and memory can be measured: `{command} run quick` takes two minutes.")
        checks.insert(0, Check("ready", works=True, message=message.format(command=CALLED)))
    machine = read_machine()
    message = tr("{cpus} CPUs, {ram} of memory").format(
        cpus=machine.cpus, ram=format_size(machine.usable_ram_bytes)
    )
    checks.append(Check("machine", None, message))
    reason = ""
    try:
        with inhibit_sleep(tr("checking")):
            checks.append(Check("sleep", works=True, message=tr("pgFooting can keep the machine awake.")))
    except InhibitorUnavailable as err:
        reason = err.reason
        checks.append(Check("sleep", None, reason))
    checks += _findings(account, reason)
    disks = tr("The following lines matter only for spare disks.")
    return [
        *checks,
        baseline_check(),
        *qt_checks(),
        Check("spare", None, disks),
        helper_check(),
        *(Check("kept", None, sentence) for sentence in kept_disks(progress)),
        *storage_checks(support),
    ]


def _installations(account: Account) -> list[Check]:
    found = find_installations(account)
    checks = [
        Check(
            "postgresql",
            works=item.usable,
            message=" ".join([f"{item.version or '?'}  {item.bin_directory} ({item.origin})", *item.notes]),
            hint=" ".join(item.unusable),
        )
        for item in found
    ]
    if not any(item.usable for item in found):
        hint = install_hint(this_family())
        missing = tr("No usable PostgreSQL was found on this machine.")
        checks.append(Check("postgresql", works=False, message=missing, hint=hint))
    return checks


def _target(account: Account, topic: str, target: Target) -> list[Check]:
    try:
        checked = check_target(target, account, 0)
    except FootingError as error:
        return [Check(topic, works=False, message=error.message, hint=error.hint)]
    message = tr("{path}: {free} free").format(path=checked.path, free=format_size(checked.free_bytes))
    return [Check(topic, works=True, message=message)]


def _findings(account: Account, sleep_reason: str) -> list[Check]:
    try:
        folder = check_target(FolderTarget(), account, 0).path
    except FootingError:
        return []
    library = default_library()
    questions = PreflightRequest(
        folder=folder,
        library=str(library) if library.is_dir() else None,
        sleep_reason=sleep_reason,
    )
    return [
        Check(finding.severity.value, None, finding.message, finding.hint)
        for finding in run_preflight(questions)
        if finding.severity is Severity.WARNING or finding.hint
    ]


def baseline_check() -> Check:
    """Return whether the I/O baseline is complete: without fio it only has the rate of durable writes."""
    try:
        version = ask_program((FIO, "--version")).strip()
    except ProgramError:
        message = tr("fio is not installed, so reads and writes of the raw storage are not measured.")
        return Check(
            "fio",
            works=False,
            message=message,
            hint=tr("Install the package {package} (as Debian calls it).").format(package="fio"),
        )
    message = tr("{version} benchmarks the raw storage (I/O baseline).")
    return Check("fio", works=True, message=message.format(version=version))


# --- Checks of window and reports: a wheel may lack Qt, a system a screen.


def qt_checks() -> list[Check]:
    """Return a line for the window and one for reports and pictures, without loading Qt."""
    libraries = missing_libraries()
    return [
        _qt_check(
            "window",
            check_window_packages,
            window_error,
            libraries,
            tr("Everything for the window is installed; the display libraries are checked when it starts."),
        ),
        _qt_check(
            "reports",
            check_report_packages,
            report_error,
            libraries,
            tr("Everything for reports and pictures is installed."),
        ),
    ]


def _qt_check(
    topic: str,
    check: Callable[[], None],
    error_of: Callable[[str], UsageError],
    libraries: tuple[str, ...],
    message: str,
) -> Check:
    try:
        check()
        if libraries:
            raise error_of(libraries[0])
    except UsageError as error:
        return Check(topic, works=False, message=error.message, hint=error.hint)
    return Check(topic, works=True, message=message)


# --- Check of the helper, without which spare disks cannot be used.


POLKIT: Final = "org.freedesktop.PolicyKit1"


def helper_check() -> Check:
    """Return whether the helper answers and speaks our version; the bus starts it if necessary."""
    try:
        with closing(HelperClient.open()) as client:
            version = client.version
    except FootingError as error:
        message = error.message.removesuffix(NOTHING_TOUCHED).strip()
        return Check("disks", works=False, message=message, hint=error.hint)
    message = tr("Helper {version} is running. “pgfooting disks” shows which disks are spare.")
    message = message.format(version=version.program)
    if not service_presence(POLKIT).there:
        sentence = tr(
            "Helper {version} is running, but polkit is missing, so it cannot authorise any use of disks."
        )
        hint = tr("On Debian and Ubuntu: sudo apt-get install {packages}").format(packages="polkitd")
        return Check("disks", works=False, message=sentence.format(version=version.program), hint=hint)
    if version.test_devices:
        message += " " + tr("It accepts loop devices as disks (TEST DEVICES, /etc/pgfooting/helper.conf).")
    return Check("disks", works=True, message=message)


# --- Checks of filesystems and RAID levels: what works here, and why the rest does not.


def storage_checks(support: Support) -> list[Check]:
    """Return a line for shared requirements, for each filesystem and md, and one with packages to install."""
    lacking = [filesystem_availability(spec, support).reasons for spec in FILESYSTEMS if spec.levels]
    shared = tuple(each for each in lacking[0] if all(each in reasons for reasons in lacking))
    checks = []
    if shared:
        checks.append(Check(_SHARED, works=False, message=_messages(shared), hint=_remedies(shared)))
    checks += [_filesystem_check(spec, support, shared) for spec in FILESYSTEMS]
    checks.append(_array_check(support))
    checks.append(Check("tools", None, describe_versions(support.versions)))
    packages = sorted(set(_helpful_packages(support)))
    if packages:
        message = tr("Missing programs and modules are in {packages} (Debian's names).")
        sentence = message.format(packages=", ".join(packages))
        checks.append(Check("packages", None, sentence, "\n".join(_install_lines(packages))))
    return checks


def _helpful_packages(support: Support) -> Iterator[str]:
    """Yield useful packages: newer releases have no programs for what their kernel has dropped."""
    for spec in FILESYSTEMS:
        for level in spec.levels:
            reasons = level_availability(spec, level, support).reasons
            if not any(reason.lasting for reason in reasons):
                yield from (reason.package for reason in reasons if reason.package)


_NOT_IN_MAIN: Final = frozenset({"zfsutils-linux", "zfs-dkms"})
"""Packages of Debian's section contrib, which is not enabled by default.

Ubuntu has them in enabled sections, and the module of ZFS in its kernels.
"""


def _install_lines(packages: Sequence[str]) -> Iterator[str]:
    """Yield install commands: one package unknown to apt would make it refuse all others."""
    elsewhere = frozenset() if is_ubuntu() else _NOT_IN_MAIN
    main = [each for each in packages if each not in elsewhere]
    others = [each for each in packages if each in elsewhere]
    if main:
        yield tr("On Debian and Ubuntu: sudo apt-get install {packages}").format(packages=" ".join(main))
    if others:
        hint = tr(
            "ZFS on Debian: add contrib to your apt sources, then sudo apt-get install linux-headers-$(dpkg "
            "--print-architecture) {packages}"
        )
        yield hint.replace("{packages}", " ".join(dict.fromkeys(["zfs-dkms", *others])))


def _array_check(support: Support) -> Check:
    """Return the line of md, which provides the levels of every filesystem that has none of its own."""
    levels = [item.level for item in LAYOUTS if item.assembler is Assembler.MD]
    works = [level for level in levels if array_availability(level, support).works]
    reasons = [reason for level in levels for reason in array_availability(level, support).reasons]
    if not works:
        return Check("md", works=False, message=_messages(reasons), hint=_remedies(reasons))
    return Check(
        "md", works=True, message=_names(works), hint=f"{_messages(reasons)} {_remedies(reasons)}".strip()
    )


_SHARED: Final = "every disk"


def _filesystem_check(spec: FilesystemSpec, support: Support, shared: Sequence[Reason]) -> Check:
    """Return the line of a filesystem, without the reasons that all filesystems on disks share."""
    reasons = filesystem_availability(spec, support).reasons
    if reasons:
        own = [each for each in reasons if each not in shared]
        message = _messages(own) or tr("see the line “{line}”").format(line=_SHARED)
        return Check(spec.id, works=False, message=message, hint=_remedies(own))
    if not spec.levels:
        return Check(spec.id, works=True, message=tr("in memory"))
    works = [level for level in spec.levels if level_availability(spec, level, support).works]
    message = _names(works)
    if len(works) < len(spec.levels):
        lacking = _names([level for level in spec.levels if level not in works])
        message = tr("{levels}; {lacking} unavailable (see {assembler})").format(
            levels=message, lacking=lacking, assembler=spec.several.value
        )
    return Check(spec.id, works=True, message=message)


def _names(levels: Iterable[Level]) -> str:
    return ", ".join(level.value for level in levels)


def _messages(reasons: Iterable[Reason]) -> str:
    return " ".join(dict.fromkeys(item.message for item in reasons))


def _remedies(reasons: Iterable[Reason]) -> str:
    """Return the remedies, except packages, which one line names for all."""
    return "\n".join(dict.fromkeys(item.remedy for item in reasons if item.remedy and not item.package))
