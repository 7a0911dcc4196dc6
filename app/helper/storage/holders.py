"""Which processes have something on filesystems of ours: an open file, a folder, a mapped or running program.

SECURITY: read from procfs alone, as text (device numbers, mount ids, links): a file of another process may
lie on a filesystem that answers nobody. Every thread is looked at: it may have working folder, root and
descriptors of its own (clone(2), CLONE_FS and CLONE_FILES). What nothing shows: a descriptor on its way
through a socket, and the files that an io_uring was given; `may_hide` tells who holds
such. Source: proc(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.storage.system.threads import share_files

_PROC: Final = Path("/proc")
_MOUNT_ID: Final = re.compile(rb"^mnt_id:\s*([0-9]+)$", re.MULTILINE)
_HIDDEN: Final = re.compile(rb"^(?:scm_fds|UserFiles):\s*[1-9]", re.MULTILINE)
"""Descriptors on their way (Linux net/unix/af_unix.c) and registered with a ring (io_uring/fdinfo.c)."""
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


def processes() -> list[int]:
    """Return the number of every process that can be seen."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def may_hide(pid: int) -> bool:
    """Whether a process holds descriptors of which nothing tells what they are."""
    return any(_HIDDEN.search(_read(entry)) for thread in _threads(pid) for entry in _descriptors(thread))


@dataclass(frozen=True, slots=True)
class _View:
    """Our filesystems as a thread has them.

    Attributes:
        ids: of their mounts.
        folders: where they are mounted.
    """

    ids: frozenset[int]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatchedFilesystems:
    """Filesystems of ours, and how each namespace of mounts has them.

    Attributes:
        devices: their device numbers, as mountinfo writes them.
        view: as we have them.
    """

    devices: frozenset[str]
    view: _View
    _seen: dict[tuple[str, str], _View] = field(default_factory=dict)

    @classmethod
    def over(cls, folders: Iterable[str]) -> WatchedFilesystems:
        """Return those that are mounted on folders; a folder with nothing mounted on it is none."""
        wanted = set(folders)
        found = [each for each in _mounts(_PROC / "self") if each[2] in wanted]
        view = _View(frozenset(number for number, _, _ in found), tuple(folder for _, _, folder in found))
        return cls(frozenset(device for _, device, _ in found), view)

    def is_used_by(self, pid: int) -> bool:
        """Whether a process has a folder, root, program, mapped or open file of any of its threads on one."""
        if not self.devices:
            return False
        is_mapped, last_read = False, 0
        for thread in _threads(pid):
            with suppress(OSError):  # it ended
                if self._works_in(thread):
                    return True
            if not is_mapped:  # all threads have the memory of the process; one that has ended has none
                areas = _read(thread / "maps")
                if self._mapped().search(areas):
                    return True
                is_mapped = bool(areas)
            if last_read and share_files(last_read, int(thread.name)):
                continue
            last_read = int(thread.name)
            with suppress(OSError):
                ids = self._view_of(thread).ids
                if any(number in ids for entry in _descriptors(thread) for number in _mount_of(entry)):
                    return True
        return False

    def _works_in(self, thread: Path) -> bool:
        folders = self._view_of(thread).folders
        links = [str((thread / name).readlink()) for name in ("cwd", "root")]
        with suppress(OSError):  # a kernel's thread has no program
            links.append(str((thread / "exe").readlink()))
        return any(link == folder or link.startswith(f"{folder}/") for link in links for folder in folders)

    def _mapped(self) -> re.Pattern[bytes]:
        numbers = [[int(word) for word in device.split(":")] for device in sorted(self.devices)]
        devices = "|".join(f"{major:02x}:{minor:02x}" for major, minor in numbers)
        return re.compile(rf"^\S+ \S+ [0-9a-f]+ (?:{devices}) ".encode(), re.MULTILINE)

    def _view_of(self, thread: Path) -> _View:
        """Return our filesystems as a thread has them.

        Raises:
            OSError: it has ended.
        """
        key = str((thread / "ns/mnt").readlink()), str((thread / "root").readlink())
        if key not in self._seen:
            mounts = list(_mounts(thread))
            ours = [each for each in mounts if each[1] in self.devices]
            # A descriptor that another namespace sent has its mount from there.
            ids = {number for number, _, _ in ours} | self.view.ids - {number for number, _, _ in mounts}
            folders = {*self.view.folders, *(folder for _, _, folder in ours)} - {"/"}
            self._seen[key] = _View(frozenset(ids), tuple(folders))
        return self._seen[key]


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return sorted((_PROC / str(pid) / "task").iterdir(), key=lambda thread: int(thread.name))
    return []


def _descriptors(thread: Path) -> list[Path]:
    with suppress(OSError):
        return list((thread / "fdinfo").iterdir())
    return []


def _read(path: Path) -> bytes:
    """Return what is in a file of procfs; nothing where it is gone."""
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _mount_of(entry: Path) -> Iterator[int]:
    """Yield the mount id of an open file; nothing for one that was closed meanwhile."""
    if found := _MOUNT_ID.search(_read(entry)):
        yield int(found[1])


def _mounts(process: Path) -> Iterator[tuple[int, str, str]]:
    """Yield mount id, device number and folder of what a process sees mounted (proc(5), mountinfo)."""
    text = (process / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in text.splitlines():
        words = line.split(" ", 5)
        yield int(words[0]), words[2], _ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[4])
