"""Describe this machine for the wizard before any choice; read once, in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.campaign_file.recipes.head import Recipe, list_recipes
from app.dbus.service_status import service_presence
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Target
from app.domain.errors import FootingError, InstallationError
from app.domain.problem import Problem
from app.domain.text import tr
from app.hosts.folders.own_folders import account_reason, server_account
from app.hosts.folders.targets import CheckedTarget, check_target, default_folder
from app.postgres.installations.installation import (
    Installation,
    find_installations,
    install_hint,
    this_family,
)
from app.postgres.settings import Machine, read_machine
from app.process.starter import Account, CommandOutcome

HELPER: Final = "org.pgfooting.Helper1"
"""Name of the root helper on the system bus."""

_DISKS: Final = "target.disks"


@dataclass(frozen=True, slots=True)
class DraftEnvironment:
    """The facts about this machine that a wizard needs.

    Attributes:
        machine: memory and CPUs.
        account: runs server and pgbench; None if there is none.
        account_sentence: why this account, or why none.
        installations: the newest first; unusable ones carry their reasons.
        install_hint: how to install PostgreSQL here.
        folder: the default folder, or why it cannot be used; None if not checked.
        folder_path: its path, even if unusable.
        memory: the memory target, or why it cannot be used; None if not checked.
        recipes: shipped with pgFooting.
        disks: why spare disks cannot be used; None if they can.
    """

    machine: Machine
    account: Account | None = None
    account_sentence: str = ""
    installations: tuple[Installation, ...] = ()
    install_hint: str = ""
    folder: CheckedTarget | Problem | None = None
    folder_path: str = ""
    memory: CheckedTarget | Problem | None = None
    recipes: tuple[Recipe, ...] = ()
    disks: Problem | None = None

    @property
    def newest(self) -> Installation | None:
        """The installation that “newest” selects; None if none can be used."""
        return next((found for found in self.installations if found.usable), None)


def read_environment(extra_folders: Sequence[str] = ()) -> DraftEnvironment:
    """Inspect this machine; takes at most a second if programs answer.

    Args:
        extra_folders: absolute folders of further PostgreSQL installations.
    """
    commands: list[CommandOutcome] = []
    machine, hint, recipes = read_machine(), install_hint(this_family()), list_recipes()
    try:
        account = server_account(commands.append)
    except FootingError as error:
        sentence = f"{error.message} {error.hint}".strip()
        return DraftEnvironment(machine, account_sentence=sentence, install_hint=hint, recipes=recipes)
    return DraftEnvironment(
        machine,
        account,
        account_reason(account),
        find_installations(account, extra_folders),
        hint,
        _look_at(FolderTarget(), account),
        default_folder(account),
        _look_at(MemoryTarget(), account),
        recipes,
        look_for_helper(),
    )


def look_for_helper() -> Problem | None:
    """Return why disks cannot be formatted: the root helper is missing; does not start it."""
    found = service_presence(HELPER)
    if found.there:
        return None
    if found.reason:
        message = tr("A root helper, reached over the system bus, formats the disks. {reason}")
        return Problem(_DISKS, message.format(reason=found.reason))
    return Problem(
        _DISKS,
        tr("A root helper formats the disks, and it is not installed."),
        tr("Install it from the folder of pgFooting: sudo packaging/helper install"),
    )


def serving_account(environment: DraftEnvironment) -> Account:
    """Return the account of the server.

    Raises:
        InstallationError: there is no such account.
    """
    if environment.account is None:
        raise InstallationError(environment.account_sentence)
    return environment.account


def _look_at(target: Target, account: Account) -> CheckedTarget | Problem:
    try:
        return check_target(target, account, 0)
    except FootingError as error:
        return Problem(f"target.{target.kind}", error.message, error.hint)
