"""One PostgreSQL installation: its programs, its version, its fingerprint."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import InstallationError
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.text import tr
from app.domain.units import KIB

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
    sentence = tr("PostgreSQL {version} is newer than what pgFooting was tested with ({oldest} to {newest}).")
    return sentence.format(version=version, oldest=OLDEST_MAJOR, newest=NEWEST_TESTED_MAJOR)


def describe_installation(installation: Installation) -> str:
    """Return one line for users: version, folder, and the reasons if it cannot be used."""
    line = tr("PostgreSQL {version} in {folder}").format(
        version=installation.version or "?", folder=installation.bin_directory
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
