"""Describe a storage plan, and a disk that the helper keeps, in words. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from app.domain.disk_answers import grouped_reasons
from app.domain.filesystems import filesystem
from app.domain.storage_plan.plan import Group, KeptContent, KeptDisk, Role, StoragePlan
from app.domain.text import format_size, tr

_APART: Final = {Role.WAL: "WAL", Role.TABLES: tr("tables"), Role.INDEXES: tr("indexes")}


def place_words(plan: StoragePlan) -> str:
    """Return where the data of a plan is, in two lines."""
    words = _group_words(plan.data)
    for role, group in plan.by_role.items():
        if role is not Role.DATA:
            words += f"\n{_APART[role]}: {_group_words(group)}"
    if plan.zfs_log:
        words += tr("\nlog devices: {count}").format(count=len(plan.zfs_log))
    return words


def _group_words(group: Group) -> str:
    label, count = filesystem(group.filesystem).label, len(group.disks)
    if count == 1:
        return tr("{label} on one disk").format(label=label)
    return tr("{label}, {level} of {count} disks").format(label=label, level=group.level.value, count=count)


def kept_words(kept: KeptDisk) -> Iterator[str]:
    """Yield the sentences that a user reads before the decision, a line each."""
    if kept.began_s:
        yield tr("pgFooting started using it on {time}.").format(time=_local(kept.began_s))
    if kept.is_table_ours:
        yield tr("Its partition table is byte for byte the one that pgFooting wrote.")
        if kept.is_as_left:
            yield tr("Its partition is as pgFooting left it, in every place that pgFooting compares.")
        else:
            yield tr("Its partition was written to after pgFooting last checked it, as in a crash.")
    else:
        yield tr("Its partition table is not the one that pgFooting wrote.")
    yield from map(_content_words, kept.contents)
    if not kept.contents:
        yield tr("No filesystem and no other signature was found on it.")
    if kept.unseen:
        yield kept.unseen
    if kept.reason:
        yield tr("Why it was kept: {reason}").format(reason=kept.reason)
    yield _release_words(kept)


def _release_words(kept: KeptDisk) -> str:
    """Describe the effect of a release."""
    if kept.will_wipe:
        return tr(
            "Releasing the disk wipes its signatures and its partition table. pgFooting keeps a copy of "
            "these; the files on the disk are lost, and the disk is spare."
        )
    return tr(
        "Releasing the disk wipes nothing: pgFooting only forgets the disk, then judges it like any other. "
        "It is spare only if it is blank."
    )


def obstacle_words(kept: KeptDisk) -> tuple[str, ...]:
    """Return the obstacles and remedies: a sentence each."""
    grouped = list(grouped_reasons(kept.obstacles))
    why = [f"{message} {evidence}".strip() for _, message, evidence, _ in grouped]
    return (*why, *(remedy for *_, remedies in grouped for remedy in remedies))


def _content_words(content: KeptContent) -> str:
    """Return it in one line."""
    words = [
        content.type,
        tr("label {label}").format(label=content.label) if content.label else tr("no label"),
    ]
    if content.uuid:
        words.append(f"UUID {content.uuid}")
    if content.size_bytes:
        used, size = format_size(content.used_bytes), format_size(content.size_bytes)
        words.append(tr("{used} of {size} used").format(used=used, size=size))
    if content.mounted_at:
        words.append(tr("last mounted at {folder}").format(folder=content.mounted_at))
    if content.mounted_s:
        words.append(tr("last mounted or written on {time}").format(time=_local(content.mounted_s)))
    return f"{content.node}: {', '.join(words)}"


def _local(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))
