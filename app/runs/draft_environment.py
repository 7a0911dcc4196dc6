"""What the wizard shows of this machine before anything is chosen; read once, in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.configuration import FolderTarget, MemoryTarget, Target
from app.domain.errors import FootingError, InstallationError
from app.domain.text import tr
from app.hosts.account import account_reason, server_account
from app.hosts.targets import CheckedTarget, check_target, default_folder
from app.postgres.distributions import install_hint, this_family
from app.postgres.installation import Installation
from app.postgres.installations import find_installations
from app.postgres.machine import Machine, read_machine
from app.process import Account, CommandOutcome
from app.runs.recipes import Recipe, list_recipes


@dataclass(frozen=True, slots=True)
class LaterPlace:
    """A kind of place that this version cannot use yet.

    Attributes:
        label: what it is.
        reason: why it cannot be chosen, and what can be done instead.
    """

    label: str
    reason: str


LATER_PLACES: Final = (
    LaterPlace(
        tr("Spare disks: arrays and filesystems made anew"),
        tr(
            "Comes with a later version. Until then: prepare the filesystem yourself and name a folder on it."
        ),
    ),
    LaterPlace(
        tr("A PostgreSQL server that already runs"),
        tr("Comes with a later version. Until then pgFooting starts a server of its own, beside yours."),
    ),
)


@dataclass(frozen=True, slots=True)
class PlaceState:
    """How a place looks before anything is chosen.

    Attributes:
        checked: where it is; None where it cannot be used.
        problem: why it cannot be used; empty where it can.
        hint: what would help.
    """

    checked: CheckedTarget | None = None
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DraftEnvironment:
    """This machine, as far as a wizard needs it.

    Attributes:
        machine: memory and CPUs.
        account: whom server and pgbench run as; None where there is none.
        account_sentence: why it is that one, or why there is none.
        installations: the newest first; those that cannot be used carry their reasons.
        install_hint: how PostgreSQL is installed here.
        folder: the default folder.
        folder_path: its path, also where it cannot be used.
        memory: the memory target.
        recipes: that ship with pgFooting.
    """

    machine: Machine
    account: Account | None = None
    account_sentence: str = ""
    installations: tuple[Installation, ...] = ()
    install_hint: str = ""
    folder: PlaceState = PlaceState()
    folder_path: str = ""
    memory: PlaceState = PlaceState()
    recipes: tuple[Recipe, ...] = ()

    @property
    def newest(self) -> Installation | None:
        """The installation that “newest” means; None where none can be used."""
        return next((found for found in self.installations if found.usable), None)


def read_environment(extra_folders: Sequence[str] = ()) -> DraftEnvironment:
    """Look at this machine; takes a second at most where programs answer.

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
    )


def serving_account(environment: DraftEnvironment) -> Account:
    """Return whom the server runs as.

    Raises:
        InstallationError: there is no such account.
    """
    if environment.account is None:
        raise InstallationError(environment.account_sentence)
    return environment.account


def _look_at(target: Target, account: Account) -> PlaceState:
    try:
        return PlaceState(check_target(target, account, 0))
    except FootingError as error:
        return PlaceState(problem=error.message, hint=error.hint)
