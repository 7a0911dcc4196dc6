"""One PostgreSQL installation: its programs, its version, its fingerprint."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.domain.errors import InstallationError, ProgramError
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.text import KIB, tr
from app.process.starter import Account, CommandOutcome, Recorder, run_command

OLDEST_MAJOR: Final = 13
NEWEST_TESTED_MAJOR: Final = 18
"""The newest release tested; a newer one works, with a note."""
PROGRAMS: Final = ("postgres", "initdb", "pgbench")

_VERSION: Final = re.compile(
    r"\(PostgreSQL\) (\d{1,3})(?:\.(\d{1,3}))?(devel|(?:alpha|beta|rc)\d{1,2})?", re.ASCII
)

_BLOCK_SIZE_FLAG: Final = re.compile(r"--with-blocksize=(\d{1,2})\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Installation:
    """The programs of one PostgreSQL.

    Attributes:
        bin_directory: real path of the folder of programs.
        version: ``15.18``; empty if unknown.
        major: 15; 0 if unknown.
        version_text: first line of ``postgres --version``.
        block_size: bytes of a data page; None if unknown.
        origin: how it was installed, for users.
        configure: ``pg_config --configure``; empty without pg_config.
        pgbench_version: version of the pgbench in the same folder.
        unusable: reasons why it cannot be used, one sentence each.
        notes: remarks that do not prevent its use.
    """

    bin_directory: str
    version: str = ""
    major: int = 0
    version_text: str = ""
    block_size: int | None = None
    origin: str = ""
    configure: str = ""
    pgbench_version: str = ""
    unusable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def page_bytes(self) -> int:
        """Bytes of a data page; the usual size if unknown."""
        return self.block_size or USUAL_PAGE_BYTES

    @property
    def usable(self) -> bool:
        """Whether it can be used."""
        return not self.unusable

    def program(self, name: str) -> str:
        """Return the absolute path of one of its programs."""
        return f"{self.bin_directory}/{name}"


def parse_version(text: str) -> tuple[str, int]:
    """Return version and major from the output of ``postgres --version`` or ``pgbench --version``.

    Returns:
        Such as ("15.18", 15) or ("19devel", 19); ("", 0) for other output.
    """
    match = _VERSION.search(text)
    if match is None:
        return "", 0
    minor = f".{match[2]}" if match[2] else ""
    return f"{match[1]}{minor}{match[3] or ''}", int(match[1])


def block_size_of(configure: str) -> int | None:
    """Return the bytes of a data page from a configure line; None without such a line."""
    flag = _BLOCK_SIZE_FLAG.search(configure)
    if flag is not None:
        return int(flag[1]) * KIB
    return USUAL_PAGE_BYTES if configure.strip() else None


def newer_than_tested(version: str, major: int) -> str:
    """Return a sentence if a version is newer than the tested ones; else an empty string."""
    if major <= NEWEST_TESTED_MAJOR:
        return ""
    sentence = tr("PostgreSQL {version} is newer than the tested versions ({oldest} to {newest}).")
    return sentence.format(version=version, oldest=OLDEST_MAJOR, newest=NEWEST_TESTED_MAJOR)


def describe_installation(installation: Installation) -> str:
    """Return one line for users: version, folder, and the reasons if it cannot be used."""
    line = tr("{program} in {folder}").format(
        program=f"PostgreSQL {installation.version or '?'}", folder=installation.bin_directory
    )
    return f"{line}: {' '.join(installation.unusable)}" if installation.unusable else line


def fingerprint(installation: Installation, program: str = "postgres") -> str:
    """Return the SHA-256 of a program in hexadecimal: runs with the same value used the same build.

    Raises:
        InstallationError: the program cannot be read.
    """
    try:
        with Path(installation.program(program)).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as err:
        raise InstallationError(
            tr("{path} cannot be read: {reason}.").format(
                path=installation.program(program), reason=err.strerror
            )
        ) from err


# Find the PostgreSQL installations of this machine, and choose the one for a campaign.
#
# Sources for folders and package names: file lists of Debian's and PGDG's postgresql-NN (postgres, initdb and
# pgbench together), Fedora's postgresql-server and postgresql-contrib (which has pgbench), PGDG's RPMs
# (/usr/pgsql-NN), openSUSE, Gentoo (slots), Arch; EDB's installer; the default prefix of PostgreSQL's own
# build. Only Debian's is tested on a real machine, the others with copies of their folder trees.


@dataclass(frozen=True, slots=True)
class ProgramFolder:
    """A folder of programs.

    Attributes:
        pattern: glob, relative to the root folder.
        origin: name for users.
    """

    pattern: str
    origin: str


PLACES: Final = (
    ProgramFolder("usr/lib/postgresql/*/bin", "Debian or PGDG package"),
    ProgramFolder("usr/pgsql-*/bin", "PGDG package"),
    ProgramFolder("usr/lib/postgresql[0-9]*/bin", "openSUSE package"),
    ProgramFolder("usr/lib*/postgresql-*/bin", "Gentoo package"),
    ProgramFolder("usr/bin", "distribution package"),
    ProgramFolder("usr/local/pgsql/bin", "own build"),
    ProgramFolder("usr/local/bin", "own build"),
    ProgramFolder("opt/PostgreSQL/*/bin", "EDB installer"),
)


class Family(StrEnum):
    """Distributions with known packages."""

    DEBIAN = "debian"
    FEDORA = "fedora"
    SUSE = "suse"
    ARCH = "arch"
    OTHER = "other"


_IDS: Final = {
    "debian": Family.DEBIAN,
    "ubuntu": Family.DEBIAN,
    "fedora": Family.FEDORA,
    "rhel": Family.FEDORA,
    "centos": Family.FEDORA,
    "suse": Family.SUSE,
    "opensuse": Family.SUSE,
    "arch": Family.ARCH,
}


def family_of(os_release: dict[str, str]) -> Family:
    """Return the family named by ID or ID_LIKE of os-release(5)."""
    for word in (os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()):
        if word in _IDS:
            return _IDS[word]
    return Family.OTHER


def this_family() -> Family:
    """Return this machine's family; OTHER without an os-release file."""
    try:
        return family_of(platform.freedesktop_os_release())
    except OSError:
        return Family.OTHER


def is_ubuntu() -> bool:
    """Return whether this is Ubuntu or a derivative, whose package sections differ from Debian's."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return "ubuntu" in (release.get("ID", ""), *release.get("ID_LIKE", "").split())


def install_hint(family: Family) -> str:
    """Return the command that installs a server with pgbench."""
    command = {
        Family.DEBIAN: "apt-get install postgresql",
        Family.FEDORA: "dnf install postgresql-server postgresql-contrib",
        Family.SUSE: "zypper install postgresql-server postgresql-contrib",
        Family.ARCH: "pacman -S postgresql",
        Family.OTHER: "",
    }[family]
    if family is Family.DEBIAN:
        return tr(
            "Install it with: sudo {command}\nDebian then also starts a cluster (usually on port 5432), "
            "which pgFooting does not use."
        ).format(command=command)
    if command:
        return tr("Install it with: sudo {command}").format(command=command)
    return tr(
        "Install your distribution's packages with postgres, initdb and pgbench (often postgresql-server "
        "and postgresql-contrib). Or give the folder of your own build."
    )


__all__ = [
    "Installation",
    "choose_installation",
    "describe_installation",
    "find_installations",
    "fingerprint",
]


# --- One folder: programs run as the account that will run the server, never as root, and only from
# folders that other users cannot change.


PROBE_TIMEOUT_S: Final = 60.0  # a busy machine may need seconds to load a program


@dataclass(frozen=True, slots=True)
class InstallationCandidate:
    """A folder to examine; `named` means that the user asked for it."""

    folder: Path
    origin: str
    named: bool = False


def holds_server(folder: Path) -> bool:
    """Return whether `folder` contains the program postgres; False if it is not accessible."""
    try:
        return (folder / "postgres").is_file()
    except OSError:
        return False


class InstallationProbe:
    """Examines one folder; collects reasons instead of raising."""

    def __init__(self, candidate: InstallationCandidate, account: Account, record: Recorder) -> None:
        self.candidate = candidate
        self.account = account
        self.record = record
        self.reasons: list[str] = []

    def examine(self) -> Installation:
        """Return the installation with everything that could be found out."""
        folder = self.candidate.folder
        base = Installation(str(folder), origin=self.candidate.origin)
        if not holds_server(folder):
            return replace(base, unusable=(self._no_server(),))
        distrust = self._distrust()
        if distrust:
            return replace(base, unusable=(distrust,))
        text = self._output("postgres", "--version")
        version, major = parse_version(text)
        self._judge_version(text, version, major)
        self._judge_missing()
        if self.reasons:
            return replace(
                base, version=version, major=major, version_text=text, unusable=tuple(self.reasons)
            )
        pgbench_version, notes = self._examine_pgbench(version)
        configure = self._configure()
        return replace(
            base,
            version=version,
            major=major,
            version_text=text,
            block_size=self._block_size(configure),
            configure=configure,
            pgbench_version=pgbench_version,
            unusable=tuple(self.reasons),
            notes=tuple(filter(None, (newer_than_tested(version, major), *notes))),
        )

    def _no_server(self) -> str:
        folder = self.candidate.folder
        if not folder.is_dir():
            return tr("{path} is not a folder.").format(path=folder)
        return tr("Neither {folder} nor {folder}/bin contains the program postgres.").format(folder=folder)

    def _distrust(self) -> str:
        """Return why programs of this folder must not be run, or an empty string."""
        if self.account.uid == 0:  # SECURITY: never run what is found as root; postgres would refuse as well
            return tr("PostgreSQL does not run as root.")
        owners = {0, self.account.uid}
        for path in (self.candidate.folder, *(self.candidate.folder / name for name in PROGRAMS)):
            try:
                found = path.stat()
            except OSError:
                continue  # a missing program is a reason of its own
            if found.st_mode & stat.S_IWOTH:
                return tr("Any user can change {path}, so pgFooting runs nothing from it.").format(path=path)
            if found.st_uid not in owners and not self.candidate.named:
                return tr(
                    "{path} belongs neither to root nor to {account}: give its folder explicitly to use it."
                ).format(path=path, account=self.account.name)
        return ""

    def _run(self, program: str, *arguments: str) -> CommandOutcome | str:
        """Return the outcome, or the reason why the program could not be started."""
        argv = (str(self.candidate.folder / program), *arguments)
        try:
            return run_command(argv, account=self.account, timeout_s=PROBE_TIMEOUT_S, record=self.record)
        except ProgramError as err:
            return err.message

    def _output(self, program: str, *arguments: str) -> str:
        """Return the first line of a program's output, or note the reason and return an empty string."""
        outcome = self._run(program, *arguments)
        if isinstance(outcome, str):
            self.reasons.append(outcome)
            return ""
        if not outcome.succeeded:
            self.reasons.append(outcome.describe())
            return ""
        return (outcome.stdout.strip().splitlines() or [""])[0].strip()

    def _judge_version(self, text: str, version: str, major: int) -> None:
        if self.reasons:
            return
        if not version:
            self.reasons.append(tr("pgFooting found no version in “{text}”.").format(text=text[:100]))
        elif major < OLDEST_MAJOR:
            self.reasons.append(
                tr("Version {version} is not supported; {oldest} and newer are.").format(
                    version=version, oldest=OLDEST_MAJOR
                )
            )

    def _judge_missing(self) -> None:
        for program in PROGRAMS[1:]:
            if (self.candidate.folder / program).is_file():
                continue
            self.reasons.append(tr("The program {program} is missing.").format(program=program))

    def _examine_pgbench(self, server_version: str) -> tuple[str, tuple[str, ...]]:
        """Return pgbench's version, and notes about it."""
        text = self._output("pgbench", "--version")
        if self.reasons:
            return "", ()
        version, major = parse_version(text)
        if major < OLDEST_MAJOR:
            self.reasons.append(
                tr("Its pgbench is “{text}”; versions {oldest} and newer are supported.").format(
                    text=text[:100], oldest=OLDEST_MAJOR
                )
            )
        if version == server_version:
            return version, ()
        note = tr("pgbench is version {pgbench}, the server {server}.")
        remarks = (note.format(pgbench=version, server=server_version), newer_than_tested(version, major))
        return version, tuple(filter(None, remarks))

    def _configure(self) -> str:
        """Return the configure line; pg_config is a development tool and may be missing."""
        if not (self.candidate.folder / "pg_config").is_file():
            return ""
        outcome = self._run("pg_config", "--configure")
        return "" if isinstance(outcome, str) or not outcome.succeeded else outcome.stdout.strip()

    def _block_size(self, configure: str) -> int | None:
        """Return the size of a data page: from the server program, else from the configure line.

        ``postgres -C`` prints a fixed parameter after reading the configuration file and before opening the
        data directory (postmaster.c of 13 to 18, output_config_variable), so an empty file suffices.
        """
        arguments = ("-C", "block_size", "-D", str(self.candidate.folder), "-c", "config_file=/dev/null")
        outcome = self._run("postgres", *arguments)
        if not isinstance(outcome, str) and outcome.succeeded and outcome.stdout.strip().isdigit():
            return int(outcome.stdout)
        return block_size_of(configure)


# --- All of this machine.


def _age(installation: Installation) -> tuple[int, bool, int]:
    """Return a sort key: major, released before not released, minor."""
    numbers = re.match(r"(\d+)(?:\.(\d+))?(.*)", installation.version)
    if numbers is None:
        return 0, False, 0
    return int(numbers[1]), not numbers[3], int(numbers[2] or 0)


def _program_folder(folder: Path) -> Path:
    """Return the real folder of ``postgres`` if initdb is there too, else the folder's real path."""
    behind = Path(os.path.realpath(folder / "postgres")).parent
    return behind if (behind / "initdb").is_file() else Path(os.path.realpath(folder))


def _candidates(extra_folders: Iterable[str], root: Path, search_path: str) -> list[InstallationCandidate]:
    """Return the folders to examine, each once; the user's own come first."""
    found: list[InstallationCandidate] = []
    for extra in extra_folders:
        prefix = Path(extra)
        folder = prefix / "bin" if holds_server(prefix / "bin") else prefix
        found.append(InstallationCandidate(folder, tr("given folder"), named=True))
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
    """Return every installation, the newest first; unusable ones carry their reasons.

    Args:
        account: will run the server; programs are asked for their versions as this account.
        extra_folders: absolute folders named by the user: the folder of programs or the prefix above it.
        record: called with every command.
        root: contains the distributions' folders; replaced in tests.
        search_path: folders separated by colons; None for this process's PATH.
    """
    path = os.environ.get("PATH", "") if search_path is None else search_path
    found = [
        InstallationProbe(candidate, account, record).examine()
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
        found: result of `find_installations`.

    Raises:
        InstallationError: none, none usable, or not the requested one; the hint names packages.
    """
    if choice == "newest":
        matching, wanted = list(found), "PostgreSQL"
    elif choice.isascii() and choice.isdigit():
        matching = [installation for installation in found if installation.major == int(choice)]
        wanted = f"PostgreSQL {choice}"
    else:
        matching = list(filter(_is_in(choice), found))
        wanted = tr("{program} in {folder}").format(program="PostgreSQL", folder=choice)
    for installation in matching:
        if installation.usable:
            return installation
    raise _nothing_usable(wanted, matching, found)


def _nothing_usable(
    wanted: str, matching: Sequence[Installation], found: Sequence[Installation]
) -> InstallationError:
    """Return the error that lists the examined installations."""
    if matching:
        reasons = " ".join(f"{describe_installation(installation)}" for installation in matching)
        message = tr("{wanted} cannot be used. {reasons}").format(wanted=wanted, reasons=reasons)
    else:
        message = tr("{wanted} is not on this machine.").format(wanted=wanted)
    usable = [describe_installation(installation) for installation in found if installation.usable]
    if usable:
        return InstallationError(message, hint=tr("Usable here: {list}.").format(list="; ".join(usable)))
    return InstallationError(message, hint=install_hint(this_family()))
