"""Foreign files, on disk or in an archive: bounded, read as a stream, in pieces of whole lines.

Files on disk are opened one by one, those of an archive in one pass. Nothing is unpacked to disk, and nothing
in an archive is trusted. An archive is refused as a whole before any of it is used if it has members with a
path that climbs out or is absolute, links, devices, sparse files, too many members, or content that is far
larger than stored (the largest ratio of pgbench's logs is about 10; a bomb of zeros reaches 1000).
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Final, Protocol

from typing_extensions import Buffer, override

from app.domain.errors import ForeignDataError
from app.domain.text import tr

# Read foreign text in pieces of whole lines, of any length and line ending, and collect bad lines.


CHUNK_BYTES: Final = 1024**2
LONGEST_LINE: Final = 64 * 1024
MOST_TEXT_BYTES: Final = 64 * 1024**2


class Readable(Protocol):
    """Anything with bytes to read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""


@dataclass(frozen=True, slots=True)
class Lines:
    r"""Some lines of a file.

    Attributes:
        first: number of the first one, from 1.
        text: with their line ends, which are all ``\n``.
        is_cut: the text after the last line end of the file: one line that may be cut off.
    """

    first: int
    text: bytes
    is_cut: bool = False


def read_lines(stream: Readable, shown_path: str) -> Iterator[Lines]:
    """Yield all lines of a file, about a MiB at a time.

    Args:
        stream: of the file.
        shown_path: name of the file, for the error.

    Raises:
        ForeignDataError: a line that is too long for any text; names file and line.
    """
    rest, number = b"", 1
    while chunk := stream.read(CHUNK_BYTES):
        text = rest + chunk
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if len(rest) > LONGEST_LINE:
            number += text.count(b"\n", 0, end)
            message = tr("{file}, line {line} is longer than {size} characters: not a text file.")
            raise ForeignDataError(message.format(file=shown_path, line=number, size=LONGEST_LINE))
        if end:
            lines = Lines(number, _unix(text[:end]))
            number += lines.text.count(b"\n")
            yield lines
    if rest:
        yield Lines(number, rest.rstrip(b"\r"), is_cut=True)


def read_text(stream: Readable, shown_path: str) -> str:
    """Return a whole text of moderate size; invalid UTF-8 becomes a replacement character.

    Raises:
        ForeignDataError: larger than 64 MiB.
    """
    parts, size = [], 0
    while chunk := stream.read(CHUNK_BYTES):
        size += len(chunk)
        check_text_size(size, shown_path)
        parts.append(chunk)
    return _unix(b"".join(parts)).decode("utf-8", "replace").removeprefix("\ufeff")


def check_text_size(size: int, shown_path: str) -> None:
    """Check that a text to be read as a whole is of moderate size.

    Raises:
        ForeignDataError: larger than 64 MiB.
    """
    if size > MOST_TEXT_BYTES:
        message = tr("{file} is larger than {size} MiB, the limit for such a text.")
        raise ForeignDataError(message.format(file=shown_path, size=MOST_TEXT_BYTES // 1024**2))


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


MOST_BAD_LINES: Final = 100
"""Limit for one run: with more, it is not a log with a few errors, but something else."""
_SHOWN: Final = 80


class BadLines:
    """Counts and keeps the bad lines of one run.

    Attributes:
        messages: file, line and text of each.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, file: str, number: int, line: bytes | str, reason: str = "") -> None:
        """Add a line.

        Raises:
            ForeignDataError: there are too many.
        """
        text = line.decode("utf-8", "backslashreplace") if isinstance(line, bytes) else line
        shown = "".join(char if char.isprintable() else "\ufffd" for char in text.strip())[:_SHOWN]
        what = reason or tr("cannot parse")
        self.messages.append(
            tr("{file}, line {line}: {what}: “{text}”").format(file=file, line=number, what=what, text=shown)
        )
        if len(self.messages) > MOST_BAD_LINES:
            message = tr("{file}: pgFooting cannot parse more than {count} lines. The first is {first}.")
            raise ForeignDataError(message.format(file=file, count=MOST_BAD_LINES, first=self.messages[0]))


END_BYTES: Final = 32 * 1024
"""Kept of start and end: enough to recognise a file, and for every client's last line of a log."""
_SHORT_BYTES: Final = 1024
_PACKED: Final = (".gz", ".bz2")


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file that can be read.

    Attributes:
        disk: its path; for a member of an archive the archive's.
        inner: path inside the archive; empty for a file on disk.
        size: bytes, unpacked.
        head: its first 32 KiB.
        tail: its last 32 KiB.
        identity: (st_dev, st_ino) of the file on disk when its ends were read; None for any.
    """

    disk: Path
    inner: str
    size: int
    head: bytes
    tail: bytes
    identity: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """Last part of its path, without the ending of a packed single file."""
        if self.inner:
            return PurePosixPath(self.inner).name
        return self.disk.stem if self.disk.suffix in _PACKED else self.disk.name

    @property
    def shown_path(self) -> str:
        """Its name for users."""
        return f"{self.disk}: {self.inner}" if self.inner else str(self.disk)

    def trimmed(self) -> ForeignFile:
        """Return the same with little of its ends, for kinds with many files."""
        return replace(self, head=self.head[:_SHORT_BYTES], tail=self.tail[-_SHORT_BYTES:])


class EndsReader:
    """Keeps start and end of a stream."""

    def __init__(self) -> None:
        self.size = 0
        self.head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """Add the next piece."""
        if len(self.head) < END_BYTES:
            self.head += chunk[: END_BYTES - len(self.head)]
        self._tail = (self._tail + chunk)[-END_BYTES:] if len(chunk) < END_BYTES else chunk[-END_BYTES:]
        self.size += len(chunk)

    def member(self, disk: Path, inner: str, identity: tuple[int, int] | None = None) -> ForeignFile:
        """Return the stream as a member of the archive `disk`."""
        return ForeignFile(disk, inner, self.size, self.head, self._tail, identity)


@contextmanager
def open_regular(
    path: Path, identity: tuple[int, int] | None = None, folder: int | None = None
) -> Iterator[IO[bytes]]:
    """Open a regular file to read it; never a link, and without waiting for the other end of a FIFO.

    Args:
        path: of the file.
        identity: (st_dev, st_ino) that it must have; None for any.
        folder: descriptor of its folder, which is then not looked up by its path again.

    Raises:
        OSError: it cannot be read, is not a regular file, or is another file than `identity`.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path.name if folder is not None else path, flags, dir_fd=folder)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or identity not in {None, (found.st_dev, found.st_ino)}:
            raise OSError(errno.ESTALE, tr("it was replaced while it was read"), str(path))
        yield file


def file_member(path: Path, folder: int | None = None) -> ForeignFile:
    """Return a file on disk; `folder` is the descriptor of its folder, None to use its path.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    with open_regular(path, folder=folder) as file:
        found = os.fstat(file.fileno())
        head = file.read(END_BYTES)
        size = file.seek(0, 2)
        file.seek(max(0, size - END_BYTES))
        return ForeignFile(path, "", size, head, file.read(END_BYTES), (found.st_dev, found.st_ino))


MOST_MEMBERS: Final = 20_000
MOST_BYTES: Final = 512 * 1024**3
MOST_RATIO: Final = 200
FREE_BYTES: Final = 16 * 1024**2
"""Unpacked size before the ratio counts: short logs of only zeros pack well."""
READ_BYTES: Final = 1024**2

_GZIP: Final = b"\x1f\x8b"
_BZIP2: Final = b"BZh"
_OTHERS: Final = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
_TAR_MAGIC: Final = slice(257, 262)
_LONGEST_NAME: Final = 1024
_HEADERS: Final = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)
_LONGEST_HEADER: Final = 64 * 1024
_MOST_HEADERS: Final = 16


def is_packed(head: bytes) -> bool:
    """Return whether a file with this start is an archive that this module reads."""
    return head.startswith((_GZIP, _BZIP2)) or head[_TAR_MAGIC] == b"ustar"


def unread_kind(head: bytes) -> str:
    """Return the name of an archive format that is known but not read; empty for anything else."""
    return next((name for magic, name in _OTHERS.items() if head.startswith(magic)), "")


class _Counted(io.RawIOBase):
    """Counts the bytes read from a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        data = self._file.read(len(view))
        view[: len(data)] = data
        self.count += len(data)
        return len(data)


class _Limited:
    """The unpacked stream of an archive; raises if it exceeds the limits."""

    def __init__(self, path: Path, stored: _Counted, stream: IO[bytes]) -> None:
        self._path = path
        self._stored = stored
        self._stream = stream
        self._count = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, READ_BYTES))
        self._count += len(data)
        if self._count > MOST_BYTES or self._count > FREE_BYTES + MOST_RATIO * self._stored.count:
            message = tr("{path} unpacks to over {ratio} times its size or 512 GiB; it was not read.")
            hint = tr("If that is intended, unpack it yourself and import the folder.")
            raise ForeignDataError(message.format(path=self._path, ratio=MOST_RATIO), hint=hint)
        return data


@contextmanager
def _errors_with_path(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        message = tr("{path} is damaged: {reason}.")
        raise ForeignDataError(message.format(path=path, reason=error)) from error
    except (tarfile.TarError, zlib.error, OSError, ValueError, RecursionError) as error:
        message = tr("{path} is damaged: {reason}.")
        raise ForeignDataError(message.format(path=path, reason=error)) from error


@contextmanager
def _unpacked(path: Path, identity: tuple[int, int] | None) -> Iterator[_Limited]:
    with open_regular(path, identity) as file:
        head = file.read(4)
        file.seek(0)
        stored = _Counted(file)
        stream: IO[bytes]
        if head.startswith(_GZIP):
            stream = gzip.GzipFile(fileobj=stored)  # type: ignore[assignment]  # reads like any other
        elif head.startswith(_BZIP2):
            stream = bz2.BZ2File(stored)
        else:
            stream = io.BufferedReader(stored)
        yield _Limited(path, stored, stream)


class _Prefixed:
    """A stream with its start already read."""

    def __init__(self, begin: bytes, stream: _Limited) -> None:
        self._begin = begin
        self._stream = stream

    def read(self, size: int) -> bytes:
        if self._begin:
            data, self._begin = self._begin[:size], self._begin[size:]
            return data
        return self._stream.read(size)


class MemberStream:
    """A member that is being read; its errors name the archive."""

    def __init__(self, path: Path, file: _Prefixed | IO[bytes]) -> None:
        self._path = path
        self._file = file

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end.

        Raises:
            ForeignDataError: the archive is damaged, cut off, or not trustworthy.
        """
        with _errors_with_path(self._path):
            return self._file.read(size)


def read_members(path: Path, identity: tuple[int, int] | None = None) -> Iterator[tuple[str, MemberStream]]:
    """Yield (path inside, stream) of each regular member, in the order of the archive.

    A stream is readable until the next member is requested. A packed single file is one member without a
    path.

    Raises:
        ForeignDataError: damaged, cut off, or not trustworthy; names the archive and the member.
    """
    with _errors_with_path(path), _unpacked(path, identity) as limited:
        begin = b""
        while len(begin) < tarfile.BLOCKSIZE and (piece := limited.read(tarfile.BLOCKSIZE - len(begin))):
            begin += piece
        stream = _Prefixed(begin, limited)
        if begin[_TAR_MAGIC] == b"ustar":
            yield from _tar_members(path, stream)
        else:
            yield "", MemberStream(path, stream)
        while limited.read(READ_BYTES):  # the checksum is at the very end
            pass


class _Checked(tarfile.TarInfo):
    """A member with few and small extended headers: tarfile keeps them in memory, one inside another."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise tarfile.ReadError(tr("its headers are too large"))
        depth = getattr(archive, "depth_of_headers", 0)
        if depth > _MOST_HEADERS:
            raise tarfile.ReadError(tr("its headers are too large"))
        archive.depth_of_headers = depth + 1  # type: ignore[attr-defined]  # its own headers nest, it does not
        made: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]  # the module's own hook
        archive.depth_of_headers = depth  # type: ignore[attr-defined]
        return made


def _tar_members(path: Path, stream: _Prefixed) -> Iterator[tuple[str, MemberStream]]:
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Checked) as archive:  # type: ignore[call-overload]  # only read() is used
        for number, info in enumerate(archive, 1):
            if number > MOST_MEMBERS:
                message = tr("{path} contains more than {count} members; it was not read.")
                raise ForeignDataError(message.format(path=path, count=MOST_MEMBERS))
            if reason := _refusal(info):
                message = tr("{path} contains a member that {reason} ({name}); it was not read.")
                raise ForeignDataError(message.format(path=path, reason=reason, name=info.name[:200]))
            file = archive.extractfile(info) if info.isreg() else None
            if file is not None:
                yield info.name, MemberStream(path, file)


def _refusal(info: tarfile.TarInfo) -> str:
    """Return why a member is not trustworthy, empty if it is."""
    name = PurePosixPath(info.name)
    if name.is_absolute() or ".." in name.parts:
        return tr("points outside the archive")
    if len(info.name) > _LONGEST_NAME or not info.name.isprintable():
        return tr("has an invalid file name")
    if info.issparse() or not (info.isreg() or info.isdir()):
        return tr("is a link, sparse or special file")
    return ""


def list_members(path: Path, identity: tuple[int, int] | None = None) -> tuple[ForeignFile, ...]:
    """Return all members with their ends, after reading every byte once.

    Args:
        path: of the archive.
        identity: (st_dev, st_ino) that it must have; None for any.

    Raises:
        ForeignDataError: damaged, cut off, or not trustworthy.
    """
    found = []
    for inner, stream in read_members(path, identity):
        ends = EndsReader()
        while chunk := stream.read(READ_BYTES):
            ends.feed(chunk)
        found.append(ends.member(path, inner, identity))
    return tuple(found)


def opened(members: Iterable[ForeignFile]) -> Iterator[tuple[ForeignFile, Readable]]:
    """Yield each member with its stream, readable until the next is requested; in any order.

    Raises:
        ForeignDataError: a file that cannot be read, or an archive that changed since it was listed.
    """
    by_archive: dict[Path, dict[str, ForeignFile]] = {}
    for member in members:
        if member.inner or _is_packed_file(member):
            by_archive.setdefault(member.disk, {})[member.inner] = member
            continue
        try:
            with open_regular(member.disk, member.identity) as file:
                yield member, file
        except OSError as error:
            message = tr("{path} cannot be read: {reason}.")
            raise ForeignDataError(message.format(path=member.shown_path, reason=error.strerror)) from error
    for archive, wanted in by_archive.items():
        identity = next(iter(wanted.values())).identity
        for inner, stream in read_members(archive, identity):
            if inner in wanted:
                yield wanted[inner], stream


def _is_packed_file(member: ForeignFile) -> bool:
    """Return whether a member is the content of a packed single file: its head is already unpacked."""
    if member.disk.suffix not in {".gz", ".bz2"}:
        return False
    with open_regular(member.disk, member.identity) as file:
        return is_packed(file.read(512)) and not is_packed(member.head)


def text_of(member: ForeignFile) -> str:
    """Return a whole text of moderate size.

    Raises:
        ForeignDataError: it cannot be read, or is too large.
    """
    check_text_size(member.size, member.shown_path)
    try:
        return "".join(read_text(stream, each.shown_path) for each, stream in opened([member]))
    except OSError as error:
        message = tr("{path} cannot be read: {reason}.")
        raise ForeignDataError(message.format(path=member.shown_path, reason=error.strerror)) from error
