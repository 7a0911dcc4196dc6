"""Taking names out of exports: serial numbers, host, users, folders, identities of disks and filesystems.

What stands under a telling key (`serial`, `path` ...) is learned first and then replaced wherever it occurs,
also inside a sentence or a command line.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from app.runs.runfile import Json

_SECRET_KEYS: Final = re.compile(
    r"serial|wwn|wwid|uuid|guid|host_?name|machine_id|user|account|home", re.IGNORECASE
)
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_PATH_KEYS: Final = frozenset({"path", "given", "mount_point", "root"})
_MOUNT_KEYS: Final = frozenset({"source", "root", "mount_point"})
"""Of a mount: a volume, a dataset or a server's export is named by people."""
_HARMLESS: Final = frozenset({"", "/", "none", "root", "postgres", "pgfooting", "localhost", "tmpfs"})
_SHORTEST: Final = 4
"""Shorter words are hidden where they stand, but not searched for in sentences."""
_NAMED_DEVICE: Final = re.compile(r"/dev/(?!shm/)[\w.-]+/[^\s\"',;()]+")
"""/dev/disk/by-id/..., /dev/mapper/..., /dev/GROUP/VOLUME: named by their maker or owner."""
_EXPORT: Final = re.compile(r"(?<![\w/])[\w.\[\]:-]+:/[^\s\"',;()]+")
# Folders that say nothing about whose machine this is are kept.
_FOLDER: Final = re.compile(r"(?<![\w.:/])/(?!usr/|proc/|sys/|dev/|bin/|sbin/|lib)[^\s\"',:;()]+")


@dataclass(slots=True)
class Disguise:
    """Replaces names by neutral words, the same name always by the same word.

    Attributes:
        active: whether anything is replaced at all.
        names: words of this machine (host, user) that are replaced wherever they occur as a word.
    """

    active: bool
    names: tuple[str, ...] = ()
    _words: dict[str, str] = field(default_factory=dict)
    _learned: dict[str, str] = field(default_factory=dict)

    @classmethod
    def none(cls) -> Self:
        """Return a disguise that changes nothing."""
        return cls(active=False)

    @classmethod
    def of_this_machine(cls) -> Self:
        """Return a disguise that knows this host's and user's names."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
        host = socket.gethostname()
        names = {host, host.partition(".")[0], user} - _HARMLESS
        return cls(active=True, names=tuple(sorted(names, key=len, reverse=True)))

    def learn(self, value: Json, key: str = "") -> None:
        """Take note of the names in a JSON value, to find them in the texts of it and of others."""
        if isinstance(value, Mapping):
            for name, item in value.items():
                self.learn(item, f"{key}.{name}" if key == "mount" else name)
        elif isinstance(value, list | tuple):
            for item in value:
                self.learn(item, key)
        elif isinstance(value, str) and value not in _HARMLESS and len(value) >= _SHORTEST:
            kind = _kind_of(key)
            if kind and not (kind == "folder" and not _is_telling(value)):
                self._learned.setdefault(value, kind)

    def _word(self, kind: str, value: str) -> str:
        return self._words.setdefault(value, f"{kind}-{len(self._words) + 1}")

    def text(self, text: str) -> str:
        """Return a text without folders, disk names, UUIDs and the names of host and user."""
        if not self.active:
            return text
        for name in sorted(self._learned, key=len, reverse=True):
            if name in text:
                word = self._word(self._learned[name], name)
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", word, text)
        text = _NAMED_DEVICE.sub(lambda match: self._word("disk", match[0]), text)
        text = _EXPORT.sub(lambda match: self._word("export", match[0]), text)
        text = _FOLDER.sub(lambda match: self._word("folder", match[0]), text)
        text = _UUID.sub(lambda match: self._word("uuid", match[0]), text)
        for name in self.names:
            text = re.sub(rf"\b{re.escape(name)}\b", lambda match: self._word("name", match[0]), text)
        return text

    def json(self, value: Json, key: str = "") -> Json:
        """Return a JSON value with the same shape and disguised texts; call `learn` with it before."""
        if not self.active:
            return value
        if isinstance(value, Mapping):
            return {
                self.text(name): self.json(item, f"{key}.{name}" if key == "mount" else name)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.json(item, key) for item in value]
        if isinstance(value, str):
            secret = value and _SECRET_KEYS.search(key)
            return self._word("hidden", value) if secret else self.text(value)
        return value


def _kind_of(key: str) -> str:
    """Return what kind of name stands under a key, empty for none."""
    mount, _, of_mount = key.partition(".")
    if mount == "mount" and of_mount:
        return "folder" if of_mount in _MOUNT_KEYS else ""
    if _SECRET_KEYS.search(key):
        return "hidden"
    return "folder" if key in _PATH_KEYS else ""


def _is_telling(path: str) -> bool:
    """Return whether a folder or device says whose machine this is."""
    return (
        not path.startswith("/")
        or bool(_FOLDER.fullmatch(path) or _NAMED_DEVICE.fullmatch(path))
        or " " in path
    )
