"""The folder of templates: listing, removal, and the lock that campaigns hold on it.

Templates are folders named `data-ID` with a data directory and a file that describes it. Everything else
there is being made, or was when a program died, and is ignored. The folder is the server account's: writing
happens as that account, and everything read is untrusted.

Templates must be on another disk than the one under test, with enough room (`why_not_beside`, `why_no_room`).

`TemplateKey` determines the bytes of a data set: with any difference in it another template is made.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from app.domain.errors import RefusedError
from app.domain.text import KIB, MIB, format_size, tr
from app.hosts.folders.descriptors import (
    DELETE_TIMEOUT_S,
    READ,
    Removal,
    identity_of,
    opened,
    remove,
    strictly,
)
from app.hosts.folders.targets import CheckedTarget
from app.hosts.templates.tree import TreeDigest
from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import ProbeUnavailable
from app.process.starter import Account, Recorder, as_account

LAYOUT: Final = 1
"""Version of the recipe and layout of templates; after a change all are made again."""
WAL_SEGMENT_BYTES: Final = 16 * MIB
"""Default of initdb, which never gets another value (``--wal-segsize``)."""
_ID_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateKey:
    """Everything that determines a data set.

    Attributes:
        server: SHA-256 of the program postgres: its build has the sizes and versions of all formats.
        initdb: SHA-256 of initdb.
        pgbench: SHA-256 of pgbench.
        version: of the server, for the user.
        page_bytes: of a data page.
        wal_segment_bytes: of a file of the WAL.
        checksums: whether data pages have checksums.
        scale: pgbench scale factor.
        compressibility: of the rows; None for pgbench's own.
        superuser: whether pgbench's role is a superuser.
        recipe: SHA-256 of its arguments, settings, statements and script.
        layout: see `LAYOUT`.
    """

    server: str
    initdb: str
    pgbench: str
    version: str
    page_bytes: int
    wal_segment_bytes: int = WAL_SEGMENT_BYTES
    checksums: bool
    scale: int
    compressibility: float | None
    superuser: bool
    recipe: str
    layout: int = LAYOUT

    @property
    def id(self) -> str:
        """Identifier that differs for every other key; hexadecimal."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]


def key_as_mapping(key: TemplateKey) -> dict[str, Any]:
    """Return a key as JSON values."""
    return asdict(key)


def read_key(values: Mapping[str, Any]) -> TemplateKey:
    """Parse a key from JSON values.

    Raises:
        ValueError: they are not those of a key of this version.
    """
    kinds = {
        **dict.fromkeys(("server", "initdb", "pgbench", "version", "recipe"), str),
        **dict.fromkeys(("page_bytes", "wal_segment_bytes", "scale", "layout"), int),
        **dict.fromkeys(("checksums", "superuser"), bool),
    }
    names = {each.name for each in fields(TemplateKey)}
    if set(values) != names:
        raise ValueError("other fields")
    wrong = [name for name, kind in kinds.items() if type(values[name]) is not kind]
    if wrong or not isinstance(values["compressibility"], float | int | None):
        raise ValueError(wrong)
    return TemplateKey(**values)


MANIFEST: Final = "template.json"
DATA: Final = "data"
FORMAT: Final = 1
_NAME: Final = re.compile(r"data-([0-9a-f]{16})", re.ASCII)
_LARGEST_BYTES: Final = 64 * KIB
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Template:
    """A data set that can be copied.

    Attributes:
        folder: absolute.
        key: of the data set.
        content: digest, files and size of its data directory.
        made_epoch_s: time of its creation, seconds since 1970.
        seconds: duration of its creation.
    """

    folder: str
    key: TemplateKey
    content: TreeDigest
    made_epoch_s: float
    seconds: float

    @property
    def data_directory(self) -> str:
        """The data directory to copy."""
        return f"{self.folder}/{DATA}"


def template_name(key: TemplateKey) -> str:
    """Return the name of the folder of a template."""
    return f"data-{key.id}"


def format_manifest(template: Template) -> bytes:
    """Return the file that describes a template."""
    values = {
        "format": FORMAT,
        "key": key_as_mapping(template.key),
        "sha256": template.content.sha256,
        "files": template.content.files,
        "size_bytes": template.content.size_bytes,
        "made_epoch_s": template.made_epoch_s,
        "seconds": template.seconds,
    }
    return json.dumps(values, indent=1).encode() + b"\n"


def parse_manifest(folder: str, content: bytes) -> Template:
    """Parse the file that describes a template.

    Raises:
        ValueError: it is damaged, or of another version.
    """
    try:
        values = json.loads(content)
        if values["format"] != FORMAT:
            raise ValueError("format")
        key = read_key(dict(values["key"]))
        counts = [_count(values[name]) for name in ("files", "size_bytes")]
        moments = [_moment(values[name]) for name in ("made_epoch_s", "seconds")]
        if not isinstance(values["sha256"], str) or not _DIGEST.fullmatch(values["sha256"]):
            raise ValueError("sha256")
    except (KeyError, TypeError, RecursionError, UnicodeDecodeError) as err:
        raise ValueError(str(err)) from err
    if Path(folder).name != template_name(key):
        raise ValueError("another name")
    return Template(folder, key, TreeDigest(values["sha256"], *counts), *moments)


def _count(value: Any) -> int:  # noqa: ANN401 - JSON
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(value)
    return value


def _moment(value: Any) -> float:  # noqa: ANN401 - JSON
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)


@dataclass(frozen=True, slots=True)
class TemplateStore:
    """The templates of one account.

    Attributes:
        folder: absolute, without links; missing if none was ever made.
        account: owner of the templates.
        record: called with commands that change something.
    """

    folder: str
    account: Account
    record: Recorder

    def find(self, key: TemplateKey) -> Template | None:
        """Return the template of a key; None if there is none, or its description is invalid."""
        return self._read(template_name(key))

    def all(self) -> tuple[Template, ...]:
        """Return every template with a valid description, sorted by folder."""
        found = (self._read(name) for name in self._names())
        return tuple(each for each in found if each is not None)

    def unknown(self) -> tuple[str, ...]:
        """Return the folders named as templates without a valid description."""
        return tuple(f"{self.folder}/{name}" for name in self._names() if self._read(name) is None)

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if _NAME.fullmatch(name))  # noqa: PTH208
        except OSError:
            return []

    def _read(self, name: str) -> Template | None:
        folder = f"{self.folder}/{name}"
        try:
            with strictly(folder) as inner:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                file = os.open(MANIFEST, flags, dir_fd=inner)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return None
                return parse_manifest(folder, os.read(file, _LARGEST_BYTES))
            finally:
                os.close(file)
        except (OSError, ValueError):
            return None

    def remove(self, folder: str) -> None:
        """Remove a template, or a folder with its name.

        Raises:
            OSError: some of it cannot be removed.
            RefusedError: it is not in this folder, or something else took its place.
        """
        path = Path(folder)
        if str(path.parent) != self.folder or not _NAME.fullmatch(path.name):
            raise RefusedError(tr("{path} is not a template.").format(path=folder))
        with strictly(folder) as inner:
            identity = identity_of(inner)
        removed = as_account(remove, self.account, self.record, DELETE_TIMEOUT_S)
        if removed(folder, identity, same_boot=True, volatile=False) is Removal.FOREIGN:
            raise RefusedError(
                tr("{path} is not a template of {account}.").format(path=folder, account=self.account.name)
            )

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the lock of the folder for the duration of a with statement; yields whether it was free.

        The kernel releases it when its holder dies.

        Raises:
            OSError: the folder does not exist.
        """
        with strictly(self.folder) as parent, opened(".", READ, parent) as folder:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


WORKING_BYTES: Final = 512 * MIB
"""Space for making a template in addition to its data: WAL, and sorting the keys of an index."""


def why_not_beside(folder: str, target: CheckedTarget, resolver: Resolver | None = None) -> str:
    """Return why templates must not be in a folder while a target is measured; empty if they may.

    Reading and writing a template would wear and warm the measured disk. Spare disks have no other users.

    Args:
        folder: of the templates; exists.
        target: a folder or memory; or spare disks.
        resolver: finds the disks of folders; None for this machine's.
    """
    if target.plan is not None:
        return ""
    try:
        if not _share_storage(folder, target.path, resolver or Resolver()):
            return ""
    except (OSError, LookupError, ProbeUnavailable) as err:
        return tr("The disks of templates and target cannot be determined: {reason}.").format(reason=err)
    same = tr("The template folder {folder} is on the storage under test ({path}).")
    return same.format(folder=folder, path=target.path)


def _share_storage(folder: str, path: str, resolver: Resolver) -> bool:
    """Return whether two folders share a disk, or are both in memory.

    Raises:
        OSError: one does not exist.
        LookupError: the mount of one cannot be found.
        ProbeUnavailable: the disks of one are unknown.
    """
    own, other = resolver.find_mount(folder), resolver.find_mount(path)
    if own.device == other.device:
        return True
    if own.in_memory or other.in_memory:
        return own.in_memory and other.in_memory
    if own.on_network is not other.on_network:
        return False
    mine, theirs = ({device.name for device in resolver.resolve(each).leaves} for each in (folder, path))
    return not mine.isdisjoint(theirs)


def why_no_room(folder: str, data_bytes: int) -> str:
    """Return why a template does not fit into a folder; empty if it does."""
    volume = os.statvfs(folder)
    free_bytes = volume.f_bavail * volume.f_frsize
    need_bytes = data_bytes + WORKING_BYTES
    if free_bytes >= need_bytes:
        return ""
    sentence = tr("The template folder {folder} has {free} free; a template needs {need}.")
    return sentence.format(folder=folder, free=format_size(free_bytes), need=format_size(need_bytes))
