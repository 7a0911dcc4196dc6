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
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from app.domain.errors import RefusedError
from app.domain.text import tr
from app.domain.units import KIB, MIB, format_size
from app.hosts.folders.descriptors import (
    DELETE_TIMEOUT_S,
    READ,
    Removal,
    empty_folder,
    identity_of,
    opened,
    remove,
    strictly,
)
from app.hosts.folders.targets import CheckedTarget
from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import ProbeUnavailable
from app.process.starter import Account, Recorder, as_account

# Copy a data directory as a stream of bytes, with the digest of that stream.
#
# Files are read and written: never cloned, never by copy_file_range(2) or sendfile(2), which filesystems may
# answer with shared extents (btrfs, XFS, ZFS block cloning). The first overwrite of every shared block would
# be measured, and runs would share their blocks. Files are dropped from the page cache after reading: the
# template takes no memory from the run.
#
# Standard library only: `app.process.starter.as_account` calls this as the account that owns both folders.


WAL: Final = "pg_wal"
"""Always a folder in a template; a link in a copy with the WAL on a separate filesystem."""
_LEFT_BY_SERVERS: Final = ("postmaster.opts", "postmaster.pid")
_PART_BYTES: Final = 1 << 20
_STRETCH_BYTES: Final = 32 << 20
"""Large enough that filesystems that allocate at writeback (ext4, XFS, btrfs) make long extents."""
_DEEPEST: Final = 16
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class DamagedTemplateError(Exception):
    """The template cannot be read, or has changed since it was made; the message says how."""


@dataclass(frozen=True, slots=True)
class TreeDigest:
    """Digest of a stream.

    Attributes:
        sha256: of names, kinds, sizes and contents in the order of the names, in hexadecimal.
        files: number of regular files.
        size_bytes: of them together.
    """

    sha256: str
    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder; `size` is None for a folder."""

    path: str
    size: int | None

    @property
    def head(self) -> bytes:
        """Header of its content in the stream; different for any two listings."""
        name = os.fsencode(self.path)
        kind = "folder" if self.size is None else f"file {self.size}"
        return f"{kind} {len(name)} ".encode() + name


def digest_stopped(data_directory: str) -> TreeDigest:
    """Return the digest of a data directory without the files of its server, which name its place.

    Raises:
        DamagedTemplateError: it cannot be read, or contains links or devices.
    """
    for name in _LEFT_BY_SERVERS:
        Path(data_directory, name).unlink(missing_ok=True)
    return digest_tree(data_directory)


def digest_tree(source: str) -> TreeDigest:
    """Return the digest of a data directory that no server uses.

    Raises:
        DamagedTemplateError: it cannot be read, or contains links or devices.
    """
    with _opened(source) as reading:
        return _stream(reading, _list_source(reading), None)


def copy_tree(source: str, target: str, wal_directory: str = "") -> TreeDigest:
    """Copy a data directory; nothing of the copy is read again.

    Args:
        source: of a template; absolute, without links.
        target: an empty folder; its new content gets modes 0700 and 0600.
        wal_directory: for the WAL, is made and linked to; empty for a folder in `target`.

    Returns:
        The digest of the stream, for comparison with the template's.

    Raises:
        DamagedTemplateError: the template cannot be read.
        OSError: it cannot be written, for example because the disk is full.
    """
    with _opened(source) as reading, strictly(target) as parent, opened(".", READ, parent) as writing:
        entries = _list_source(reading)
        if wal_directory:
            Path(wal_directory).mkdir(mode=0o700)
            os.symlink(wal_directory, WAL, dir_fd=writing)
        for entry in entries:
            if entry.size is None and not (wal_directory and entry.path == WAL):
                os.mkdir(entry.path, 0o700, dir_fd=writing)
        return _stream(reading, entries, writing)


def timed_copy(source: str, target: str, wal_directory: str) -> tuple[TreeDigest, float]:
    """Return the digest of `copy_tree`, and the seconds that it took."""
    started_s = time.monotonic()
    return copy_tree(source, target, wal_directory), time.monotonic() - started_s


def publish(folder: str, made: str, name: str) -> None:
    """Give a template that is on disk its final name; atomic."""
    with strictly(folder) as parent, opened(".", READ, parent) as place:
        with opened(made, READ, place) as inner:
            os.fsync(inner)
        os.rename(made, name, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)


def empty_copy(target: str, wal_directory: str = "") -> None:
    """Remove the remains of a failed copy from its target, and the folder of the WAL.

    Raises:
        OSError: something cannot be removed.
    """
    with strictly(target) as parent, opened(".", READ, parent) as folder:
        empty_folder(folder)
    if wal_directory:
        with suppress(FileNotFoundError):
            with opened(wal_directory, READ) as folder:
                empty_folder(folder)
            Path(wal_directory).rmdir()


@contextmanager
def _opened(source: str) -> Iterator[int]:
    """Open the folder of a template for reading."""
    try:
        with strictly(source) as parent:
            descriptor = os.open(".", READ | os.O_CLOEXEC, dir_fd=parent)
    except OSError as err:
        raise DamagedTemplateError(f"{source}: {err.strerror}") from err
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _list_source(folder: int) -> tuple[_Entry, ...]:
    try:
        return tuple(_entries(folder, ""))
    except OSError as err:
        raise DamagedTemplateError(f"{err.filename}: {err.strerror}") from err
    except ValueError as err:
        raise DamagedTemplateError(str(err)) from err


def _entries(folder: int, below: str) -> Iterator[_Entry]:
    """Yield everything below a folder sorted by name, each folder before its content.

    Args:
        folder: at the top.
        below: path from there; empty for it.

    Raises:
        ValueError: something is neither file nor folder, or too deep.
        OSError: it cannot be read.
    """
    if below.count("/") > _DEEPEST:
        raise ValueError(f"{below}: nested too deep")
    with opened(below or ".", os.O_RDONLY | os.O_DIRECTORY, folder) as inner:
        names = sorted(os.listdir(inner), key=os.fsencode)  # noqa: PTH208 - a descriptor
    for name in names:
        path = f"{below}/{name}" if below else name
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            yield _Entry(path, None)
            yield from _entries(folder, path)
        elif stat.S_ISREG(found.st_mode):
            yield _Entry(path, found.st_size)
        else:
            raise ValueError(f"{path}: neither a file nor a folder")


def _stream(reading: int, entries: tuple[_Entry, ...], writing: int | None) -> TreeDigest:
    """Read the files of a listing, in its order, into a digest and, if given, into a target.

    Parts go into the digest in a separate thread while they are written and the next one is read: hashlib
    computes without the interpreter's lock, and takes about as long as reading and writing do.
    """
    digest = hashlib.sha256()
    files = size_bytes = 0
    with ThreadPoolExecutor(max_workers=1) as beside:
        last = beside.submit(digest.update, b"")
        for entry in entries:
            last.result()
            last = beside.submit(digest.update, entry.head)
            if entry.size is None:
                continue
            files += 1
            target = None if writing is None else os.open(entry.path, _NEW, 0o600, dir_fd=writing)
            try:
                done = 0
                for part in _parts(reading, entry.path):
                    last.result()  # at most one part waits for the digest
                    last = beside.submit(digest.update, part)
                    if target is not None:
                        _write(target, part, done)
                    done += len(part)
            finally:
                if target is not None:
                    os.close(target)
            if done != entry.size:
                raise DamagedTemplateError(f"{entry.path}: {done} bytes instead of {entry.size}")
            size_bytes += done
    return TreeDigest(digest.hexdigest(), files, size_bytes)


def _parts(folder: int, path: str) -> Iterator[bytes]:
    """Yield a file of the template part by part.

    Raises:
        DamagedTemplateError: it cannot be read.
    """
    try:
        with opened(path, _OLD, folder) as file:
            while part := os.read(file, _PART_BYTES):
                yield part
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as err:
        raise DamagedTemplateError(f"{path}: {err.strerror}") from err


def _write(file: int, content: bytes, before: int) -> None:
    """Write a part after the previous one, and start the writeback of each complete stretch.

    Otherwise the disk is idle until everything is forced to it at the end. posix_fadvise(2) starts the
    writeback and does not wait (mm/fadvise.c); pages that are not on disk yet stay in the page cache.
    """
    part = memoryview(content)
    end = before + len(part)
    while part:
        part = part[os.write(file, part) :]
    if end // _STRETCH_BYTES > before // _STRETCH_BYTES:
        begin = (before // _STRETCH_BYTES) * _STRETCH_BYTES
        os.posix_fadvise(file, begin, end - begin, os.POSIX_FADV_DONTNEED)


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
            raise RefusedError(tr("{path} is no template.").format(path=folder))
        with strictly(folder) as inner:
            identity = identity_of(inner)
        removed = as_account(remove, self.account, self.record, DELETE_TIMEOUT_S)
        if removed(folder, identity, same_boot=True, volatile=False) is Removal.FOREIGN:
            raise RefusedError(
                tr("{path} is no template of {account}.").format(path=folder, account=self.account.name)
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
        return tr("It cannot be told on which disks templates and target lie: {reason}.").format(reason=err)
    same = tr("{folder}, where templates are kept, lies on the storage under test ({path}).")
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
    sentence = tr("{folder}, where templates are kept, has {free} free; making one needs {need}.")
    return sentence.format(folder=folder, free=format_size(free_bytes), need=format_size(need_bytes))
