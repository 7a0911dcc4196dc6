"""Taking names out of exports: serial numbers, host, users, folders, identities of disks and filesystems."""

from __future__ import annotations

import getpass
import os
import re
import socket
from dataclasses import dataclass, field
from typing import Final, Self

from app.runs.runfile import Json

_SECRET_KEYS: Final = re.compile(
    r"serial|wwn|wwid|uuid|guid|host_?name|machine_id|user|account|home", re.IGNORECASE
)
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_BY_ID: Final = re.compile(r"/dev/disk/by-[a-z]+/[^\s\"']+")
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
        names = {host, host.partition(".")[0], user} - {"", "root", "postgres", "localhost"}
        return cls(active=True, names=tuple(sorted(names, key=len, reverse=True)))

    def _word(self, kind: str, value: str) -> str:
        return self._words.setdefault(value, f"{kind}-{len(self._words) + 1}")

    def text(self, text: str) -> str:
        """Return a text without folders, disk names, UUIDs and the names of host and user."""
        if not self.active:
            return text
        text = _BY_ID.sub(lambda match: self._word("disk", match[0]), text)
        text = _FOLDER.sub(lambda match: self._word("folder", match[0]), text)
        text = _UUID.sub(lambda match: self._word("uuid", match[0]), text)
        for name in self.names:
            text = re.sub(rf"\b{re.escape(name)}\b", lambda match: self._word("name", match[0]), text)
        return text

    def json(self, value: Json, key: str = "") -> Json:
        """Return a JSON value with the same shape and disguised texts."""
        if not self.active:
            return value
        if isinstance(value, dict):
            return {self.text(name): self.json(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.json(item, key) for item in value]
        if isinstance(value, str):
            secret = value and _SECRET_KEYS.search(key)
            return self._word("hidden", value) if secret else self.text(value)
        return value
