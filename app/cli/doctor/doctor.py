"""`pgfooting doctor`: what works on this machine, and why the rest does not."""

from __future__ import annotations

import argparse
from typing import Final

from rich.console import Console
from rich.text import Text

from app import VERSION
from app.cli.commands.show import print_json
from app.cli.doctor.check import Check
from app.cli.doctor.helper import helper_check
from app.cli.doctor.option_table import show_options
from app.cli.doctor.storage import storage_as_json, storage_checks, versions_as_json
from app.cli.terminal.tables import indented, print_indented
from app.dbus.login import InhibitorUnavailable, inhibit_sleep
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.errors import ExitStatus, FootingError
from app.domain.text import tr
from app.domain.units import format_size
from app.execution.recovery import sweep_abandoned
from app.hosts.folders.account import account_reason, server_account
from app.hosts.folders.targets import check_target
from app.library.entries import default_library
from app.postgres.installations.distributions import install_hint, this_family
from app.postgres.installations.find import find_installations
from app.postgres.machine import read_machine
from app.probes.preflight.preflight import PreflightRequest, Severity, run_preflight
from app.process.starter import Account, CommandOutcome
from app.storage.layout.availability import Support, read_support

_MARGIN: Final = 14


def doctor_command(arguments: argparse.Namespace) -> int:
    """Show all checks, or all options; the exit status is 1 where nothing can be measured.

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
    return ExitStatus.DONE if {"postgresql", "folder"} <= usable else ExitStatus.FAILED


def examine_machine(support: Support) -> list[Check]:
    """Return everything that is worth knowing before a campaign."""
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
    machine = read_machine()
    message = tr("{cpus} CPUs, {ram} of memory").format(cpus=machine.cpus, ram=format_size(machine.ram_bytes))
    checks.append(Check("machine", None, message))
    reason = ""
    try:
        with inhibit_sleep(tr("checking")):
            checks.append(Check("sleep", works=True, message=tr("The machine can be kept awake.")))
    except InhibitorUnavailable as err:
        reason = err.reason
        checks.append(Check("sleep", None, reason))
    checks += _findings(account, reason)
    return [*checks, *storage_checks(support), helper_check()]


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
        data_directory=folder,
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
