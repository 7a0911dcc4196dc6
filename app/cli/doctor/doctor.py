"""`pgfooting doctor`: what works on this machine, and why the rest does not.

With `--options [FILESYSTEM]`: every option from the registry, and whether it exists here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.text import Text

from app import VERSION
from app.cli.commands.disks import kept_disks
from app.cli.commands.runs.report import check_painter_libraries
from app.cli.commands.runs.show import print_json
from app.cli.commands.window import check_window_libraries
from app.cli.terminal.tables import indented, print_indented, print_line, print_table
from app.dbus.helper_client import HelperClient
from app.dbus.helper_errors import NOTHING_TOUCHED
from app.dbus.login import InhibitorUnavailable, inhibit_sleep
from app.dbus.service_status import service_presence
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, FootingError, ProgramError, UsageError, did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.json_value import Json
from app.domain.options.checks import preset_problems, unavailable
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import Choice, OptionValue, Toggle
from app.domain.options.option import OptionSpec, Safety
from app.domain.options.raid import LAYOUTS, Assembler, Level
from app.domain.text import CALLED, tr
from app.domain.units import format_size
from app.execution.recovery import sweep_abandoned
from app.hosts.folders.account import account_reason, server_account
from app.hosts.folders.targets import check_target
from app.io_baseline.fio import PROGRAM
from app.library.entries import default_library
from app.postgres.installations.find import find_installations, install_hint, is_ubuntu, this_family
from app.postgres.machine import read_machine
from app.probes.base.fact_tree import ask_program
from app.probes.preflight.checks import run_preflight
from app.probes.preflight.context import PreflightRequest, Severity
from app.process.qt_libraries import missing_libraries, report_error, window_error
from app.process.starter import Account, CommandOutcome
from app.storage.layout.availability import (
    Reason,
    Support,
    array_availability,
    describe_versions,
    filesystem_availability,
    level_availability,
    read_support,
)
from app.terminal.plain_text import plain

ALL = "all"
"""Default of ``--options`` without a filesystem."""

_SHORT_CHOICE = 8
"""Largest number of values that get a line each."""


def show_options(name: str, support: Support, *, as_json: bool) -> None:
    """Print the options of one filesystem in full, or of all of them as a table.

    Args:
        name: id of a filesystem, or `ALL`.
        support: of this machine.
        as_json: print one object instead.

    Raises:
        UsageError: there is no such filesystem.
    """
    chosen = [spec for spec in FILESYSTEMS if name in {ALL, spec.id}]
    if not chosen:
        known = [spec.id for spec in FILESYSTEMS]
        message = tr("There is no filesystem “{name}”; there are {known}.")
        raise UsageError(
            message.format(name=plain(name)[:40], known=", ".join(known)), hint=did_you_mean(name, known)
        )
    if as_json:
        print_json({"filesystems": [filesystem_as_json(spec, support) for spec in chosen]})
    elif name == ALL:
        _show_overview(support, Console())
    else:
        _show_filesystem(chosen[0], support, Console())


def filesystem_as_json(spec: FilesystemSpec, support: Support) -> dict[str, Json]:
    """Return a filesystem's options, presets and missing features."""
    return {
        "id": spec.id,
        "label": spec.label,
        "good_for": spec.good_for,
        "options": [_option_as_json(option, support) for option in spec.options],
        "presets": [_preset_as_json(spec, preset, support) for preset in spec.presets],
        "always": [
            {"stage": item.stage.value, "item": f"{item.flag} {item.item}".strip(), "why": item.why}
            for item in spec.always
        ],
        "lacks": [{"option": item.option, "why": item.why, "source": item.source} for item in spec.lacks],
    }


def _option_as_json(option: OptionSpec, support: Support) -> dict[str, Json]:
    return {
        "id": option.id,
        "label": option.label,
        "stage": option.stage.value,
        "default": option.default,
        "allowed": list(option.kind.ids) if isinstance(option.kind, Choice) else option.kind.allowed,
        "effect": option.effect,
        "safety": [item.value for item in option.safety],
        "risks": [
            {"value": value, "safety": [item.value for item in items]} for value, items in option.risks
        ],
        "source": option.source,
        "since": [item.words for item in option.since],
        "removed": [item.words for item in option.removed],
        "untested": option.untested,
        "unavailable": unavailable(option, support.versions),
        "unavailable_values": {
            str(value): reason
            for value in _values(option)
            if (reason := unavailable(option, support.versions, value)) and not _is_absent(option, support)
        },
    }


def _preset_as_json(spec: FilesystemSpec, preset: FilesystemPreset, support: Support) -> dict[str, Json]:
    return {
        "id": preset.id,
        "label": preset.label,
        "source": preset.source,
        "choices": [
            {"option": item.option, "value": item.value, "why": item.why, "source": item.source}
            for item in preset.choices
        ],
        "unavailable": [item.message for item in preset_problems(spec, preset, support.versions)],
    }


@dataclass(frozen=True, slots=True)
class _Offered:
    """An option of a filesystem, with the support of this machine."""

    spec: FilesystemSpec
    option: OptionSpec
    support: Support


def _show_overview(support: Support, console: Console) -> None:
    rows = (_Offered(spec, option, support) for spec in FILESYSTEMS for option in spec.options)
    print_table(console, OPTION_COLUMNS, rows)
    print_line(console, tr("Everything about one: pgfooting doctor --options FILESYSTEM"), style="dim")


def _show_filesystem(spec: FilesystemSpec, support: Support, console: Console) -> None:
    print_line(console, spec.label, style="bold")
    print_indented(console, spec.good_for, 0)
    for reason in filesystem_availability(spec, support).reasons:
        sentence = tr("Not here: {reason} {remedy}").format(reason=reason.message, remedy=reason.remedy)
        print_indented(console, sentence.rstrip(), 0, style="yellow")
    for option in spec.options:
        _show_option(option, support, console)
    for item in spec.lacks:
        print_line(console, "")
        print_indented(console, f"{item.option}: {item.why}", 0, style="dim")
    for preset in spec.presets:
        _show_preset(spec, preset, support, console)


def _show_option(option: OptionSpec, support: Support, console: Console) -> None:
    print_line(console, "")
    print_line(console, f"{option.id}  ({option.stage.value})", style="bold")
    default = _default(option) or tr("depends on the machine")
    _paragraph(
        console, tr("{allowed}; default: {default}").format(allowed=option.kind.allowed, default=default)
    )
    _paragraph(console, option.effect)
    if isinstance(option.kind, Choice) and len(option.kind.values) <= _SHORT_CHOICE:
        for item in option.kind.values:
            untested = tr(" (untested)") if item.untested else ""
            print_indented(console, f"{item.id}: {item.effect}{untested}", 8)
    for value, classes in option.risks:
        words = ", ".join(item.label for item in classes)
        sentences = " ".join(item.sentence for item in classes)
        _paragraph(console, f"{_words(value)}: {words}. {sentences}", style="yellow")
    if option.untested:
        _paragraph(console, tr("Newer than any kernel or tool that this was tested with."), style="dim")
    reason = unavailable(option, support.versions)
    if reason:
        _paragraph(console, tr("Not here: {reason}").format(reason=reason), style="yellow")
    else:
        for line in _value_reasons(option, support):
            _paragraph(console, line, style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=option.source), style="dim")


def _show_preset(spec: FilesystemSpec, preset: FilesystemPreset, support: Support, console: Console) -> None:
    print_line(console, "")
    print_line(console, tr("Preset {id}: {label}").format(id=preset.id, label=preset.label), style="bold")
    for choice in preset.choices:
        _paragraph(console, f"{choice.option} = {_words(choice.value)}: {choice.why} ({choice.source})")
    for problem in preset_problems(spec, preset, support.versions):
        _paragraph(console, tr("Not here: {reason}").format(reason=problem.message), style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=preset.source), style="dim")


def _value_reasons(option: OptionSpec, support: Support) -> Iterator[str]:
    """Yield a line for each reason why values are unavailable, with all its values."""
    reasons: dict[str, list[str]] = {}
    for value in _values(option):
        reason = unavailable(option, support.versions, value)
        if reason:
            reasons.setdefault(reason, []).append(_words(value))
    for reason, values in reasons.items():
        shown = values[0] if len(values) == 1 else f"{values[0]} … {values[-1]}"
        yield tr("{values} not here: {reason}").format(values=shown, reason=reason)


def _values(option: OptionSpec) -> tuple[OptionValue, ...]:
    return option.kind.ids if isinstance(option.kind, Choice) else ()


def _is_absent(option: OptionSpec, support: Support) -> bool:
    return bool(unavailable(option, support.versions))


def _default(option: OptionSpec) -> str:
    return "" if option.default is None else _words(option.default)


def _words(value: OptionValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _safety(option: OptionSpec) -> str:
    costs = []
    for value, classes in option.risks:
        words = ", ".join(item.label for item in classes if item is not Safety.SAFE)
        costs.append(words if isinstance(option.kind, Toggle) else f"{_words(value)}: {words}")
    return "; ".join(costs)


def _here(spec: FilesystemSpec, option: OptionSpec, support: Support) -> str:
    if not filesystem_availability(spec, support).works:
        return tr("no {filesystem} here").format(filesystem=spec.label)
    reason = unavailable(option, support.versions)
    if reason:
        return reason
    return tr("yes, untested") if option.untested else tr("yes")


OPTION_COLUMNS: Final[tuple[Column[_Offered], ...]] = (
    Column("filesystem", tr("Filesystem"), lambda row: row.spec.id, CellKind.LABEL),
    Column("option", tr("Option"), lambda row: row.option.id, CellKind.LABEL),
    Column("when", tr("When"), lambda row: row.option.stage.value, CellKind.LABEL, optional=1),
    Column("default", tr("Default"), lambda row: _default(row.option), CellKind.LABEL, optional=2),
    Column("costs", tr("Costs"), lambda row: _safety(row.option), CellKind.WORDS),
    Column("here", tr("Here"), lambda row: _here(row.spec, row.option, row.support), CellKind.WORDS),
)
"""Columns of the table of all options of all filesystems."""


def _paragraph(console: Console, text: str, *, style: str = "") -> None:
    print_indented(console, text, 4, style=style)


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


_MARGIN: Final = 14
MEASURING: Final = frozenset({"postgresql", "folder"})
"""Topics that must work for any measurement."""


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print all checks, or all options; the exit status is 1 if nothing can be measured.

    Raises:
        UsageError: options of a filesystem that does not exist.
    """
    support = read_support()
    if arguments.options is not None:
        show_options(arguments.options, support, as_json=arguments.json)
        return ExitStatus.DONE
    checks = examine_machine(support)
    if arguments.json:
        print_json(
            {
                "version": VERSION,
                "checks": [
                    {"topic": item.topic, "works": item.works, "message": item.message, "hint": item.hint}
                    for item in checks
                ],
                "versions": versions_as_json(support),
                "filesystems": storage_as_json(support),
            }
        )
    else:
        _show(checks, Console())
    usable = {item.topic for item in checks if item.works}
    return ExitStatus.DONE if usable >= MEASURING else ExitStatus.FAILED


def examine_machine(support: Support) -> list[Check]:
    """Return all checks that are useful before a campaign."""
    commands: list[CommandOutcome] = []
    checks = [
        Check("left-over", None, event.text, tr("See what is left; pgFooting tries again at its next start."))
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
            checks.append(Check("sleep", works=True, message=tr("The machine can be kept awake.")))
    except InhibitorUnavailable as err:
        reason = err.reason
        checks.append(Check("sleep", None, reason))
    checks += _findings(account, reason)
    disks = tr("Only spare disks need the lines from here on.")
    return [
        *checks,
        baseline_check(),
        *qt_checks(),
        Check("spare", None, disks),
        helper_check(),
        *(Check("kept", None, sentence) for sentence in kept_disks()),
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
        missing = tr("No PostgreSQL that can be used.")
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


def _show(checks: list[Check], console: Console) -> None:
    signs = {True: ("✔", "green"), False: ("✘", "red"), None: ("·", "yellow")}
    for item in checks:
        sign, style = signs[item.works]
        for line in indented(console, item.message, _MARGIN, first=f"{sign} {item.topic:<11} "):
            text = Text(line)
            text.stylize(style, 0, 1)
            console.print(text, overflow="ignore", crop=False, soft_wrap=not console.is_terminal)
        for hint in item.hint.splitlines():
            print_indented(console, hint, _MARGIN, style="dim")


def baseline_check() -> Check:
    """Return whether the I/O baseline is complete: without fio it only has the rate of durable writes."""
    try:
        version = ask_program((PROGRAM, "--version")).strip()
    except ProgramError:
        message = tr("fio is not installed: the I/O baseline has no reads and writes.")
        return Check("fio", works=False, message=message, hint=tr("It is in the package fio."))
    message = tr("{version} measures what a storage can do by itself (I/O baseline).")
    return Check("fio", works=True, message=message.format(version=version))


# --- Checks of window and reports: a wheel may lack Qt, a system a screen.


def qt_checks() -> list[Check]:
    """Return a line for the window and one for reports and pictures, without loading Qt."""
    libraries = missing_libraries()
    return [
        _qt_check(
            "window",
            check_window_libraries,
            window_error,
            libraries,
            tr(
                "What the window needs is installed; whether this screen's libraries are there is looked at "
                "when it starts."
            ),
        ),
        _qt_check(
            "reports",
            check_painter_libraries,
            report_error,
            libraries,
            tr("What reports and pictures need is installed."),
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
    message = tr("The helper {version} answers; pgfooting disks says which disks are spare.")
    message = message.format(version=version.program)
    if not service_presence(POLKIT).there:
        told = tr("The helper {version} answers, but polkit is missing: nobody can be allowed to use disks.")
        hint = tr("On Debian and Ubuntu: sudo apt-get install {packages}").format(packages="polkitd")
        return Check("disks", works=False, message=told.format(version=version.program), hint=hint)
    if version.test_devices:
        message += " " + tr("It takes loop devices for disks (TEST DEVICES, /etc/pgfooting/helper.conf).")
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
        told = message.format(packages=", ".join(packages))
        checks.append(Check("packages", None, told, "\n".join(_install_lines(packages))))
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
            "ZFS, on Debian once contrib stands beside main in the sources of apt: sudo apt-get install "
            "linux-headers-$(dpkg --print-architecture) {packages}"
        )
        yield hint.replace("{packages}", " ".join(dict.fromkeys(["zfs-dkms", *others])))


def storage_as_json(support: Support) -> list[Json]:
    """Return every filesystem with its levels and all reasons."""
    return [
        {
            "id": spec.id,
            "label": spec.label,
            "works": filesystem_availability(spec, support).works,
            "reasons": _reasons_as_json(filesystem_availability(spec, support).reasons),
            "levels": [
                {
                    "id": level.value,
                    "assembler": spec.assembler(level).value,
                    "works": level_availability(spec, level, support).works,
                    "reasons": _reasons_as_json(level_availability(spec, level, support).reasons),
                }
                for level in spec.levels
            ],
        }
        for spec in FILESYSTEMS
    ]


def versions_as_json(support: Support) -> dict[str, Json]:
    """Return versions of kernel and tools by name."""
    return {component: ".".join(map(str, version)) for component, version in support.versions.items()}


def _reasons_as_json(reasons: Iterable[Reason]) -> list[Json]:
    return [{"message": item.message, "remedy": item.remedy, "package": item.package} for item in reasons]


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
        message = _messages(own) or tr("see {line}").format(line=_SHARED)
        return Check(spec.id, works=False, message=message, hint=_remedies(own))
    if not spec.levels:
        return Check(spec.id, works=True, message=tr("in memory"))
    works = [level for level in spec.levels if level_availability(spec, level, support).works]
    message = _names(works)
    if len(works) < len(spec.levels):
        lacking = _names([level for level in spec.levels if level not in works])
        message = tr("{levels}; not {lacking}: see {assembler}").format(
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
