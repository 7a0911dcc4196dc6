"""Whether a crash can leave a page half written, the risk of full_page_writes=off. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from app.domain.filesystems import find_filesystem
from app.domain.options.option import Stage
from app.domain.units import KIB

MOST_PAGE_BYTES: Final = 32 * KIB
"""The largest page that PostgreSQL can be built with (configure --with-blocksize)."""

FULL_PAGE_WRITES: Final = "full_page_writes"


class PageWrites(StrEnum):
    """Kinds of page writes."""

    WHOLE = "whole"
    """A crash leaves the old or the new page."""
    TORN = "torn"
    """A crash can leave half a page."""
    UNVERIFIED = "unverified"
    """Not guaranteed, or the file has too little information."""


def page_writes(
    name: str, *, record_bytes: int | None = None, page_bytes: int | None = None, in_place: bool = False
) -> PageWrites:
    """Return whether page writes on a filesystem are atomic.

    A filesystem with atomic page writes needs records of at least the page size for that (zfs docs, "Workload
    Tuning": recordsize at or above the page size; smaller records of one page are written one by one).

    Args:
        name: of the filesystem of the data; empty if unknown.
        record_bytes: largest piece that it writes at once; None if unknown or without such a size.
        page_bytes: of PostgreSQL; None if unknown.
        in_place: whether copy on write is off for the data.
    """
    spec = find_filesystem(name)
    if spec is None:
        return PageWrites.UNVERIFIED
    if in_place or not spec.whole_pages:
        return PageWrites.TORN
    options = {option.id: option for option in spec.options}
    switch = options.get(FULL_PAGE_WRITES)
    if switch is not None and switch.stage is Stage.SERVER and switch.risks:
        return PageWrites.UNVERIFIED
    if "recordsize" not in options:
        return PageWrites.WHOLE
    return _of_records(record_bytes, page_bytes)


def _of_records(record_bytes: int | None, page_bytes: int | None) -> PageWrites:
    if record_bytes is not None and record_bytes >= (page_bytes or MOST_PAGE_BYTES):
        return PageWrites.WHOLE
    return PageWrites.TORN if record_bytes and page_bytes else PageWrites.UNVERIFIED
