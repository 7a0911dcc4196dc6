"""Servers from packages of newer Debian suites: unpacked into a root of their own, with its own libraries.

Nothing is installed: every program gets the root's loader and library folder by `patchelf`, so that it runs
like any other, under its own name. The root is neither entered nor executed with rights.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from tests.servers.cache import ServerNotHadError, run

MAJORS: Final = (17, 18, 19)
_SUITES: Final = ("trixie", "sid", "experimental")
_SOURCES: Final = ("bookworm",)
_MIRROR: Final = "http://deb.debian.org/debian"
_LEFT_OUT: Final = re.compile(r"perl|debconf|-common$|-data$|^(?:locales|tzdata|llvm|ssl-cert|libllvm).*")
_TRIPLET: Final = "x86_64-linux-gnu"


class PackageSource:
    """apt with lists of its own: that of the machine is neither read nor changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._config = folder / "apt.conf"

    def __call__(self, *argv: str, cwd: Path | None = None) -> str:
        """Run a program of apt; its lists are fetched first where there are none.

        Raises:
            ServerNotHadError: it failed.
        """
        if not self._config.exists():
            self._begin()
        return run(argv, cwd=cwd, config=self._config)

    def _begin(self) -> None:
        for name in ("lists/partial", "archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        lines = [f"deb {_MIRROR} {suite} main\n" for suite in _SUITES]
        lines += [f"deb-src {_MIRROR} {suite} main\n" for suite in _SOURCES]
        (self.folder / "sources.list").write_text("".join(lines))
        settings = {
            "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder,
            "Dir::Cache::archives": self.folder / "archives",
            "Acquire::Languages": "none",
        }
        begun = self.folder / "apt.conf.begun"
        begun.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
        run(("apt-get", "update"), config=begun)
        begun.rename(self._config)

    def libraries_of(self, package: str) -> tuple[str, ...]:
        """Return a package and all that it needs of libraries, at any depth."""
        found: dict[str, None] = {package: None}
        waiting = [package]
        while waiting:
            shown = self("apt-cache", "show", "--no-all-versions", waiting.pop())
            for line in re.findall(r"^(?:Pre-)?Depends: (.*)$", shown, re.MULTILINE):
                for alternatives in line.split(","):
                    name = alternatives.split("|")[0].split("(")[0].strip().partition(":")[0]
                    if name.startswith("lib") and name not in found and not _LEFT_OUT.search(name):
                        found[name] = None
                        waiting.append(name)
        return tuple(found)


def unpack_server(source: PackageSource, servers: Path, major: int) -> Path:
    """Return the folder of programs of a version; made where it is missing.

    Raises:
        ServerNotHadError: no suite has it, or it does not run here.
    """
    programs = servers / f"debian-{major}" / "bin"
    if (programs / "pgbench").exists():
        return programs
    root = servers / f"making-{major}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    archives = root / "archives"
    archives.mkdir()
    names = (*source.libraries_of(f"postgresql-{major}"), f"postgresql-client-{major}")
    source("apt-get", "download", *dict.fromkeys(names), cwd=archives)
    for archive in sorted(archives.glob("*.deb")):
        run(("dpkg-deb", "-x", archive, root))
    shutil.rmtree(archives)
    _patch(root, major, servers / f"debian-{major}" / "root", source)
    made = servers / f"debian-{major}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    root.rename(made / "root")
    programs.symlink_to(Path("root/usr/lib/postgresql") / str(major) / "bin")
    run((programs / "postgres", "--version"))
    return programs


def _patch(root: Path, major: int, place: Path, source: PackageSource) -> None:
    """Let the programs of a root use its own loader and libraries, at the place where it will lie."""
    tool = _patchelf(source)
    libraries = [path for part in ("usr/lib", "lib") if (path := root / part / _TRIPLET).is_dir()]
    loader = next((path for each in libraries for path in each.glob("ld-linux-x86-64.so.2")), None)
    if loader is None:
        raise ServerNotHadError("The packages hold no loader for this machine.")
    home = root / "usr/lib/postgresql" / str(major)
    found = ":".join(str(place / path.relative_to(root)) for path in (home / "lib", *libraries))
    for program in sorted((home / "bin").iterdir()):
        if program.is_symlink() or program.read_bytes()[:4] != b"\x7fELF":
            continue
        interpreter = place / loader.relative_to(root)
        run((tool, "--set-interpreter", interpreter, "--force-rpath", "--set-rpath", found, program))


def _patchelf(source: PackageSource) -> Path:
    tool = source.folder / "patchelf/usr/bin/patchelf"
    if not tool.exists():
        folder = source.folder / "patchelf"
        folder.mkdir(exist_ok=True)
        run(("apt-get", "download", "patchelf"), cwd=folder)  # this machine's: it runs here
        run(("dpkg-deb", "-x", next(folder.glob("*.deb")), folder))
    return tool
