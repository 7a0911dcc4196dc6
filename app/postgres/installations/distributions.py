"""Where distributions put PostgreSQL and what their packages are called.

Sources: file lists of Debian's and PGDG's postgresql-NN (postgres, initdb and pgbench together), Fedora's
postgresql-server and postgresql-contrib (pgbench is in the latter), PGDG's RPMs (/usr/pgsql-NN), openSUSE,
Gentoo (slots), Arch; EDB's installer; the default prefix of PostgreSQL's own build. Only Debian's is tested
on a real machine, the others with trees of the same shape.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr


@dataclass(frozen=True, slots=True)
class ProgramFolder:
    """A folder of programs.

    Attributes:
        pattern: glob, relative to the root folder.
        origin: what people read.
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
    """Distributions whose packages are known."""

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
    """Return the family that ID or ID_LIKE of os-release(5) names."""
    for word in (os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()):
        if word in _IDS:
            return _IDS[word]
    return Family.OTHER


def this_family() -> Family:
    """Return this machine's family; OTHER where there is no os-release file."""
    try:
        return family_of(platform.freedesktop_os_release())
    except OSError:
        return Family.OTHER


def is_ubuntu() -> bool:
    """Return whether this machine has Ubuntu, or what is made of it, whose sections are not Debian's."""
    try:
        told = platform.freedesktop_os_release()
    except OSError:
        return False
    return "ubuntu" in (told.get("ID", ""), *told.get("ID_LIKE", "").split())


def install_hint(family: Family) -> str:
    """Return what to type to get a server with pgbench."""
    command = {
        Family.DEBIAN: "apt-get install postgresql",
        Family.FEDORA: "dnf install postgresql-server postgresql-contrib",
        Family.SUSE: "zypper install postgresql-server postgresql-contrib",
        Family.ARCH: "pacman -S postgresql",
        Family.OTHER: "",
    }[family]
    if family is Family.DEBIAN:
        return tr(
            "Install it with: sudo {command}\n"
            "Debian also creates and starts a cluster then (port 5432), which pgFooting does not use."
        ).format(command=command)
    if command:
        return tr("Install it with: sudo {command}").format(command=command)
    return tr(
        "Install the packages of your distribution that hold the programs postgres, initdb and pgbench "
        "(often postgresql-server and postgresql-contrib), or name the folder of your own build."
    )


def package_of(program: str, major: int, family: Family, folder: str) -> str:
    """Return the package that holds a missing program of an installation; empty where not known."""
    contrib = program == "pgbench"
    if "/pgsql-" in folder:  # PGDG's RPMs
        return f"postgresql{major}-{'contrib' if contrib else 'server'}"
    return {
        Family.DEBIAN: f"postgresql-{major}",
        Family.FEDORA: "postgresql-contrib" if contrib else "postgresql-server",
        Family.SUSE: f"postgresql{major}-{'contrib' if contrib else 'server'}",
        Family.ARCH: "postgresql",
        Family.OTHER: "",
    }[family]
