"""Which PostgreSQL installations this machine has, and which of them a campaign asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from app.domain.errors import InstallationError
from app.domain.text import tr
from app.postgres.installations.distributions import PLACES, install_hint, this_family
from app.postgres.installations.installation import Installation, describe_installation, fingerprint
from app.postgres.installations.installation_probe import (
    InstallationCandidate,
    InstallationProbe,
    holds_server,
)
from app.process.starter import Account, CommandOutcome, Recorder

__all__ = [
    "Installation",
    "choose_installation",
    "describe_installation",
    "find_installations",
    "fingerprint",
]


def _age(installation: Installation) -> tuple[int, bool, int]:
    """Return a sort key: major, released before not released, minor."""
    numbers = re.match(r"(\d+)(?:\.(\d+))?(.*)", installation.version)
    if numbers is None:
        return 0, False, 0
    return int(numbers[1]), not numbers[3], int(numbers[2] or 0)


def _program_folder(folder: Path) -> Path:
    """Return where ``postgres`` really is if initdb is there too, else the folder's real path."""
    behind = Path(os.path.realpath(folder / "postgres")).parent
    return behind if (behind / "initdb").is_file() else Path(os.path.realpath(folder))


def _candidates(extra_folders: Iterable[str], root: Path, search_path: str) -> list[InstallationCandidate]:
    """Return the folders to look into, each once; what the user named comes first."""
    found: list[InstallationCandidate] = []
    for extra in extra_folders:
        prefix = Path(extra)
        folder = prefix / "bin" if holds_server(prefix / "bin") else prefix
        found.append(InstallationCandidate(folder, tr("named folder"), named=True))
    for place in PLACES:
        found += [InstallationCandidate(folder, place.origin) for folder in sorted(root.glob(place.pattern))]
    found += [
        InstallationCandidate(Path(entry), "PATH")
        for entry in search_path.split(":")
        if Path(entry).is_absolute()
    ]
    distinct: dict[Path, InstallationCandidate] = {}
    for candidate in found:
        if candidate.named or holds_server(candidate.folder):
            folder = _program_folder(candidate.folder)
            distinct.setdefault(folder, replace(candidate, folder=folder))
    return list(distinct.values())


def _ignore(_outcome: CommandOutcome) -> None:
    """Record nothing."""


def find_installations(
    account: Account,
    extra_folders: Sequence[str] = (),
    *,
    record: Recorder = _ignore,
    root: Path = Path("/"),
    search_path: str | None = None,
) -> tuple[Installation, ...]:
    """Return every installation, the newest first; those that cannot be used carry their reasons.

    Args:
        account: who will run the server; its programs are asked for their versions as this account.
        extra_folders: absolute folders that the user names: the folder of programs or the prefix above it.
        record: told of every command.
        root: where the distributions' folders are looked for; another folder in tests.
        search_path: folders separated by colons; None for this process's PATH.
    """
    path = os.environ.get("PATH", "") if search_path is None else search_path
    family = this_family()
    found = [
        InstallationProbe(candidate, account, family, record).examine()
        for candidate in _candidates(extra_folders, root, path)
    ]
    return tuple(sorted(found, key=_age, reverse=True))


def _is_in(folder: str) -> Callable[[Installation], bool]:
    wanted = {os.path.realpath(folder), os.path.realpath(f"{folder}/bin"), str(_program_folder(Path(folder)))}
    return lambda installation: installation.bin_directory in wanted


def choose_installation(choice: str, found: Sequence[Installation]) -> Installation:
    """Return the installation that a campaign asks for.

    Args:
        choice: ``newest``, a major version, or an absolute folder (which `find_installations` was given).
        found: what `find_installations` returned.

    Raises:
        InstallationError: none, none usable, or not the one asked for; the hint says what to install.
    """
    if choice == "newest":
        matching, wanted = list(found), tr("PostgreSQL")
    elif choice.isascii() and choice.isdigit():
        matching = [installation for installation in found if installation.major == int(choice)]
        wanted = tr("PostgreSQL {major}").format(major=choice)
    elif Path(choice).is_absolute():
        matching = list(filter(_is_in(choice), found))
        wanted = tr("PostgreSQL in {folder}").format(folder=choice)
    else:
        raise InstallationError(
            tr("postgresql.installation is “{choice}”, which is no installation.").format(choice=choice),
            hint=tr("Write newest, a major version such as 15, or the absolute folder of the programs."),
        )
    for installation in matching:
        if installation.usable:
            return installation
    raise _nothing_usable(wanted, matching, found)


def _nothing_usable(
    wanted: str, matching: Sequence[Installation], found: Sequence[Installation]
) -> InstallationError:
    """Return the error that lists what was looked at."""
    if matching:
        reasons = " ".join(f"{describe_installation(installation)}" for installation in matching)
        message = tr("{wanted} cannot be used. {reasons}").format(wanted=wanted, reasons=reasons)
    else:
        message = tr("{wanted} is not on this machine.").format(wanted=wanted)
    usable = [describe_installation(installation) for installation in found if installation.usable]
    if usable:
        return InstallationError(message, hint=tr("Usable here: {list}.").format(list="; ".join(usable)))
    return InstallationError(message, hint=install_hint(this_family()))
