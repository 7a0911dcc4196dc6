"""Opening members: files on disk one by one, those of an archive in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.archives import is_packed, read_members
from app.importers.files.lines import Readable, check_text_size, read_text
from app.importers.files.members import ForeignFile, open_regular


def opened(members: Iterable[ForeignFile]) -> Iterator[tuple[ForeignFile, Readable]]:
    """Yield each member with its stream, which is readable until the next is asked for; in any order.

    Raises:
        ForeignDataError: a file that cannot be read, or an archive that changed since it was looked at.
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
            raise ForeignDataError(message.format(path=member.told, reason=error.strerror)) from error
    for archive, wanted in by_archive.items():
        identity = next(iter(wanted.values())).identity
        for inner, stream in read_members(archive, identity):
            if inner in wanted:
                yield wanted[inner], stream


def _is_packed_file(member: ForeignFile) -> bool:
    """Return whether a member is what a packed single file holds: its head is already unpacked."""
    if member.disk.suffix not in {".gz", ".bz2"}:
        return False
    with open_regular(member.disk, member.identity) as file:
        return is_packed(file.read(512)) and not is_packed(member.head)


def text_of(member: ForeignFile) -> str:
    """Return a whole text of moderate size.

    Raises:
        ForeignDataError: it cannot be read, or is too large.
    """
    check_text_size(member.size, member.told)
    try:
        return "".join(read_text(stream, each.told) for each, stream in opened([member]))
    except OSError as error:
        message = tr("{path} cannot be read: {reason}.")
        raise ForeignDataError(message.format(path=member.told, reason=error.strerror)) from error
