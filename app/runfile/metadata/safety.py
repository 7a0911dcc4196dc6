"""Marks derived from a run file's own contents: unverified, not durable, torn pages; unsafe only by evidence.

Marks in files of earlier versions and imported ones were made without that evidence; all files are therefore
judged when read (`app.runfile.reader.RunFile.marks`), in the same way. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, TypeAlias

from app.domain.campaign.configuration import MemoryTarget
from app.domain.filesystems import find_filesystem
from app.domain.options.filesystem_spec import parse_switch
from app.domain.options.kinds import Stage
from app.domain.options.option_spec import NOT_DURABLE as NOT_DURABLE_CLASSES
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import GIB, KIB, MIB, tr
from app.runfile.metadata.environment import EnvironmentFacts
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import known

# Whether a crash can leave a page half written, the risk of full_page_writes=off. Pure.


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


UNSAFE: Final = "unsafe"
"""Kind of the mark for a run with options that trade safety for speed."""

UNVERIFIED: Final = "unverified"
"""Kind of the mark for a run with options of unknown safety."""

NOT_DURABLE: Final = "not-durable"
"""Kind of the mark for a run that may lose commits it acknowledged: it is not ranked (rule C24)."""

_LOSING: Final = ("fsync", "synchronous_commit")
"""Server settings without which a commit does not wait for the disk; manual 19.5.1."""

_NO_FLUSHES: Final = frozenset({"nobarrier", "barrier=0"})
"""Mount options that prevent flushes of the disks' write cache."""

_UNITS: Final = {"": 1, "B": 1, "K": KIB, "M": MIB, "G": GIB}

Mark: TypeAlias = tuple[str, str]


def judged_marks(stored: Iterable[Mark], run: RunMetadata, environment: EnvironmentFacts) -> tuple[Mark, ...]:
    """Return the marks of a run, ascending.

    Args:
        stored: (kind, reason) as in the file.
        run: the choices.
        environment: the facts.
    """
    own = f"{FULL_PAGE_WRITES} = "
    kept = {(kind, reason) for kind, reason in stored if kind != UNSAFE or not reason.startswith(own)}
    others = set(stored) - kept
    found = _half_written(run, environment)
    return tuple(sorted({*kept, *(others if found is None else found), *_not_durable(run, environment)}))


def _settings(run: RunMetadata) -> dict[str, str]:
    return {each.name.lower(): each.value for each in known(run.settings, ())}


def _half_written(run: RunMetadata, environment: EnvironmentFacts) -> tuple[Mark, ...] | None:
    """Return the marks of full_page_writes=off on the filesystem of the data; None if it is not off."""
    value = _settings(run).get(FULL_PAGE_WRITES, "")
    if parse_switch(value) is not False:
        return None
    found = {_pages(run, environment), *_pages_apart(run, environment)}
    kind, reason = _OF_PAGES[next(each for each in _WORST_FIRST if each in found)]
    return ((kind, f"{FULL_PAGE_WRITES} = {value}: {reason}"),) if kind else ()


_OF_PAGES: Final = {
    PageWrites.WHOLE: ("", ""),
    PageWrites.TORN: (
        UNSAFE,
        tr("a crash of the machine can leave torn pages beyond repair"),
    ),
    PageWrites.UNVERIFIED: (
        UNVERIFIED,
        tr("it is not known whether this filesystem can tear pages"),
    ),
}


_WORST_FIRST: Final = (PageWrites.TORN, PageWrites.UNVERIFIED, PageWrites.WHOLE)


def _pages_apart(run: RunMetadata, environment: EnvironmentFacts) -> Iterator[PageWrites]:
    """Yield the page writes on each filesystem of a tablespace, as planned."""
    page = known(run.installation.block_size, None) or environment.page_bytes
    plan = run.target.plan
    for group in plan.of_relations[1:] if isinstance(plan, StoragePlan) else ():
        spec, chosen = find_filesystem(group.filesystem), group.chosen
        defaults = {option.id: option.default for option in spec.options} if spec is not None else {}
        record = _bytes(chosen.get("recordsize", defaults.get("recordsize")))
        in_place = chosen.get("datacow") is False or chosen.get("nocow_attribute") is True
        yield page_writes(group.filesystem, record_bytes=record, page_bytes=page, in_place=in_place)


def _pages(run: RunMetadata, environment: EnvironmentFacts) -> PageWrites:
    group = _group(run)
    chosen = {} if group is None else group.chosen
    record = _bytes(environment.dataset.get("recordsize"))
    if record is None and group is not None and (spec := find_filesystem(group.filesystem)) is not None:
        defaults = {option.id: option.default for option in spec.options}
        record = _bytes(chosen.get("recordsize", defaults.get("recordsize")))
    page = known(run.installation.block_size, None) or environment.page_bytes
    in_place = (
        "nodatacow" in environment.mount_options
        or chosen.get("datacow") is False
        or chosen.get("nocow_attribute") is True
    )
    name = environment.filesystem or (group.filesystem if group is not None else "")
    return page_writes(name, record_bytes=record, page_bytes=page, in_place=in_place)


def _group(run: RunMetadata) -> Group | None:
    plan = run.target.plan
    return plan.data if isinstance(plan, StoragePlan) else None


def _bytes(value: object) -> int | None:
    """Return bytes of a size such as 8192 or ``8K``; None for other values."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    number, unit = value[:-1], value[-1:]
    if value.isdecimal():
        number, unit = value, ""
    if not number.isdecimal() or len(number) > 12 or unit not in _UNITS:
        return None
    return int(number) * _UNITS[unit]


def _not_durable(run: RunMetadata, environment: EnvironmentFacts) -> Iterator[Mark]:
    for what in dict.fromkeys(_losing(run, environment)):
        reason = tr("{what}: acknowledged commits can be lost, so it is not ranked")
        yield NOT_DURABLE, reason.format(what=what)


def _losing(run: RunMetadata, environment: EnvironmentFacts) -> Iterator[str]:
    """Yield the reasons why acknowledged commits can be lost, as ``name = value``."""
    settings = _settings(run)
    for name in _LOSING:
        if parse_switch(settings.get(name, "")) is False:
            yield f"{name} = {settings[name]}"
    found, plan = find_filesystem(environment.filesystem), run.target.plan
    in_memory = environment.in_memory or run.target.kind == MemoryTarget.kind
    if in_memory or (found is not None and NOT_DURABLE_CLASSES.intersection(found.risks)):
        yield tr("the data is in memory")
    if isinstance(plan, StoragePlan):
        for group in plan.groups:
            yield from _losing_options(group)
        return
    if environment.dataset.get("sync") == "disabled":
        yield "sync = disabled"
    yield from (option for option in environment.mount_options if option in _NO_FLUSHES)


def _losing_options(group: Group) -> Iterator[str]:
    spec = find_filesystem(group.filesystem)
    for option in spec.options if spec is not None else ():
        value = group.chosen.get(option.id, option.default)
        if value is not None and NOT_DURABLE_CLASSES.intersection(option.safety_of(value)):
            said = ("on" if value else "off") if isinstance(value, bool) else value
            yield f"{option.id} = {said}"
