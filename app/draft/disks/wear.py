"""Estimate the wear of a campaign's disks: the bytes written to each, and its share of their life. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.endurance import DriveWear
from app.domain.options.raid import Assembler, Level
from app.domain.options.raid_choice import capacity
from app.domain.storage_plan.plan import Group, InitialSync, StoragePlan
from app.domain.text import number_text, tr
from app.domain.units import format_size
from app.execution.resolve import ResolvedCampaign
from app.storage.layout.disk_target import group_layout
from app.storage.layout.partitions import planned_bytes

_LEAST_SHOWN: Final = 0.001
"""Smallest shown share of a disk or its life; below it the figure is shown as less."""


@dataclass(frozen=True, slots=True)
class WrittenVolume:
    """Bytes written by all runs of a configuration, before copies and parity.

    Attributes:
        known_bytes: by loading, and by transactions if their number is known.
        is_least: whether more is written, depending on the speed.
    """

    known_bytes: int
    is_least: bool = False


def wear_sentences(resolved: ResolvedCampaign, written: Mapping[str, WrittenVolume]) -> tuple[str, ...]:
    """Return the wear of the disks, including copies, parity and the first synchronisation, as sentences.

    Args:
        resolved: the campaign.
        written: by all runs of each configuration.
    """
    plans = {name: each.target.plan for name, each in resolved.configurations.items() if each.target.plan}
    if not plans:
        return ()
    runs = resolved.campaign.repeats
    synchronised = sum(max(map(synchronised_bytes, plan.groups)) for plan in plans.values()) * runs
    sentences = []
    if synchronised:
        sentence = tr("The first synchronisation of arrays writes about {size} to each of their disks.")
        sentences.append(sentence.format(size=format_size(synchronised)))
    per_disk = _bytes_per_disk(plans, written, runs)
    is_least = any(written[name].is_least for name in plans)
    most = max(per_disk.values())
    smallest = min(disk.size_bytes for disk in per_disk)
    sentence = tr("With copies and parity, each data disk is written about {size}, {share} of its size.")
    if is_least:
        sentence = tr(
            "With copies and parity, each data disk is written at least about {size} without the "
            "transactions, {share} of its size."
        )
    sentences.append(sentence.format(size=format_size(most), share=_share_words(most / smallest)))
    if any(len(plan.of_relations) > 1 for plan in plans.values()):
        sentences.append(
            tr(
                "How much of that goes to tables and how much to indexes is not known beforehand: where they "
                "have disks of their own, each disk is counted with all of it."
            )
        )
    return (*sentences, *_endurance_sentences(per_disk, resolved.wear, is_least=is_least))


def _bytes_per_disk(
    plans: Mapping[str, StoragePlan], written: Mapping[str, WrittenVolume], runs: int
) -> dict[DiskIdentity, float]:
    """Return the most that all runs write to each disk with tables or indexes."""
    found: dict[DiskIdentity, float] = {}
    for name, plan in plans.items():
        for group in plan.of_relations:
            each_bytes = written[name].known_bytes * _factor(group) / len(group.disks)
            each_bytes += synchronised_bytes(group) * runs
            for disk in group.disks:
                found[disk] = found.get(disk, 0.0) + each_bytes
    return found


def _endurance_sentences(
    per_disk: Mapping[DiskIdentity, float], wear: Mapping[str, DriveWear], *, is_least: bool
) -> Iterator[str]:
    """Yield the estimated share of the drives' life that this uses, else where to find it."""
    known: dict[DiskIdentity, DriveWear] = {}
    for disk in per_disk:
        worn = wear.get(disk.device_number)
        if worn is not None and worn.endurance_bytes:
            known[disk] = worn
    shares = {disk: per_disk[disk] / (drive.endurance_bytes or 1) for disk, drive in known.items()}
    if shares:
        worst = max(shares, key=lambda disk: shares[disk])
        worn = known[worst]
        sentence = tr(
            "That is {share} of the life of {disk}, an estimate: the drive counts {written} "
            "written so far (measured), and says itself that this took {used} of its life, which makes "
            "{endurance} in all."
        )
        used = (
            tr("less than {share}").format(share="1\u00a0%")
            if worn.is_least
            else f"{worn.used_percent}\u00a0%"
        )
        endurance = format_size(worn.endurance_bytes or 0)
        yield sentence.format(
            share=_bounded_share(shares[worst], is_least=is_least, is_most=worn.is_least),
            disk=worst.model.strip() or worst.key(),
            written=format_size(worn.written_bytes),
            used=used,
            endurance=tr("at least {size}").format(size=endurance) if worn.is_least else endurance,
        )
    if len(known) < len(per_disk):
        yield (
            tr("What that is of its rated life stands in the data sheet of a drive (TBW).")
            if not known
            else tr(
                "{count} of the drives tell nothing of it: their rated life stands in the data sheet (TBW)."
            ).format(count=len(per_disk) - len(known))
        )


def _bounded_share(share: float, *, is_least: bool, is_most: bool) -> str:
    """Return a share and whether it may be more (more is written) or less (the drive endures more)."""
    sentence = _share_words(share)
    if share < _LEAST_SHOWN or not (is_least or is_most):
        return sentence
    if is_least and is_most:
        return tr("about {share}").format(share=sentence)
    return (tr("at least {share}") if is_least else tr("at most {share}")).format(share=sentence)


def _share_words(share: float) -> str:
    digits = 1 if 0 < share < 0.1 else 0
    if share < _LEAST_SHOWN:
        return tr("less than {share}").format(share="0.1\u00a0%")
    return number_text(share * 100, f",.{digits}f") + "\u00a0%"


def _factor(group: Group) -> float:
    """Return the bytes written to all disks for each byte of the filesystem."""
    equal = [1 << 40] * len(group.disks)
    return sum(equal) / max(1, capacity(group_layout(group), equal))


def synchronised_bytes(group: Group) -> int:
    """Return the most that the kernel writes to one disk to synchronise a new array; 0 without one."""
    is_md = group_layout(group).assembler is Assembler.MD and group.level is not Level.STRIPE
    if not is_md or group.initial_sync is InitialSync.ASSUME_CLEAN:
        return 0
    return planned_bytes(group)
