"""Estimate the cost of a campaign before its start: time, space, bytes written, detectable effect. Pure.

Estimates are rough on purpose and labelled so. Measured on the development machine (PostgreSQL 15, scale 13
to 100, a virtual disk): preparing and ending a run takes 3 s, and a TPC-B-like transaction writes 13 to 18 kB
while pages are new since the checkpoint; with pages of 4, 8, 16 and 32 kB it wrote 14.4, 18.9, 25.9 and 35.1
KiB to the disk. Data sets: `app.draft.planning`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.campaign.configuration import (
    Campaign,
    DiskTarget,
    MemoryTarget,
    ServerTarget,
    Workload,
    interleaved_order,
)
from app.domain.campaign.disk_target import unsafe_choices
from app.domain.campaign.matrix import Design, RunOrder, describe_matrix
from app.domain.campaign.phases import workload_of
from app.domain.disk import DiskIdentity
from app.domain.disk_answers import Disk, DriveWear
from app.domain.io_baseline import PLANNED_SECONDS
from app.domain.options.option_spec import USUAL_PAGE_BYTES, capacity
from app.domain.options.raid import Assembler, Level
from app.domain.storage_plan.plan import Group, InitialSync, StoragePlan
from app.domain.storage_plan.words import place_words
from app.domain.text import format_size, number_text, tr, trn
from app.draft.commands import CommandLine, LineAction, all_lines, removed_folders, run_commands, run_folders
from app.draft.planning import (
    TemplatesFound,
    as_it_will_be,
    at_most_sentences,
    data_seconds,
    data_sentences,
    data_writes,
    effect_sentences,
    loading_sentence,
    no_verdict_sentences,
    roughly,
)
from app.execution.baseline.measurement import storages_to_ask
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration, arc_max_sentence, planned_seconds
from app.hosts.folders.targets import UNKNOWN_FREE_BYTES
from app.library.spreads import KnownSpread
from app.postgres.presets import PRESETS
from app.statistics.selection import FEWEST_ROUNDS
from app.storage.layout.disk_target import group_layout
from app.storage.layout.partitions import planned_bytes

# Estimate the wear of a campaign's disks: the bytes written to each, and its share of their life. Pure.


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
        sentence = tr("Initial array synchronisation writes about {size} to each array disk.")
        sentences.append(sentence.format(size=format_size(synchronised)))
    per_disk = _bytes_per_disk(plans, written, runs)
    is_least = any(written[name].is_least for name in plans)
    most = max(per_disk.values())
    smallest = min(disk.size_bytes for disk in per_disk)
    sentence = tr(
        "Including copies and parity, about {size} are written to each data disk, {share} of its size."
    )
    if is_least:
        sentence = tr(
            "Including copies and parity, at least about {size} are written to each data disk, {share} of "
            "its size. Transactions write more."
        )
    sentences.append(sentence.format(size=format_size(most), share=_share_words(most / smallest)))
    if any(len(plan.of_relations) > 1 for plan in plans.values()):
        sentences.append(
            tr(
                "The split between tables and indexes is not known beforehand. If they have separate disks, "
                "the full amount is counted for each disk."
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
            "That is {share} of the estimated life of {disk}. The drive reports {written} written so far "
            "and {used} of its life used, which suggests {endurance} in total."
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
            tr("The drive's data sheet gives its rated life (TBW).")
            if not known
            else tr("{count} of the drives do not report their wear; see their data sheets (TBW).").format(
                count=len(per_disk) - len(known)
            )
        )


def _bounded_share(share: float, *, is_least: bool, is_most: bool) -> str:
    """Return a share and whether it may be more (more is written) or less (the drive endures more)."""
    sentence = _share_words(share)
    if share < _LEAST_SHOWN or not (is_least or is_most):
        return sentence
    if is_least and is_most:
        return tr("about {share}").format(share=sentence)
    return (tr("at least {size}") if is_least else tr("at most {size}")).format(size=sentence)


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


OVERHEAD_S: Final = 3.0
TRANSACTION_BYTES: Final = 16_000
"""Bytes written by a transaction on a server with the usual page size."""
_TRANSACTION_PAGES: Final = 0.75
"""Increase of that per byte of page size."""
_LISTED_TURNS: Final = 24


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One configuration in the table of the review.

    Attributes:
        name: of the configuration.
        place: location of its data.
        postgresql: version and preset.
        data_bytes: expected size of the loaded database.
        scale: pgbench's scale factor, and its source.
        need_bytes: space that the target should have.
        free_bytes: space that it has; None if unknown.
        unsafe: (setting, value, what it risks).
        commands: of its first run.
        removed: created and removed by each of its runs.
        contended: fewer branches than clients.
    """

    name: str
    place: str
    postgresql: str
    data_bytes: int
    scale: str
    need_bytes: int
    free_bytes: int | None
    unsafe: tuple[tuple[str, str, str], ...]
    commands: tuple[CommandLine, ...]
    removed: tuple[str, ...]
    contended: bool


@dataclass(frozen=True, slots=True)
class Review:
    """A campaign before its start.

    Attributes:
        name: of the campaign.
        turns: order of the runs, a sentence.
        rows: the configurations.
        baseline: benchmark of the raw storage before the first run, a sentence; empty for none.
        about_s: estimated time of everything; None if a number of transactions decides.
        time: the same in a sentence.
        data: cost of the data sets, in sentences, and the source of copies if known.
        written: bytes written to disks, in sentences.
        effect: detectable differences, in sentences.
    """

    name: str
    turns: str
    rows: tuple[ReviewRow, ...]
    baseline: str
    about_s: float | None
    time: str
    data: tuple[str, ...]
    written: tuple[str, ...]
    effect: tuple[str, ...]


def make_review(
    resolved: ResolvedCampaign,
    described: Described | None = None,
    disks: Sequence[Disk] = (),
    spreads: Mapping[str, KnownSpread] | None = None,
    templates: TemplatesFound | None = None,
) -> Review:
    """Return the review of a campaign that this machine can run.

    Args:
        resolved: the campaign.
        described: commands of the root helper, in its own words, by plan.
        disks: of this machine, if spare ones are used.
        spreads: variation of runs of the library, by kind of target.
        templates: of data sets, once checked: if none can be kept, the cost is shown.
    """
    campaign = resolved.campaign
    costing = as_it_will_be(resolved, templates)
    about_s = estimated_seconds(costing)
    return Review(
        campaign.name,
        _turns_sentence(campaign),
        tuple(
            _with_storage(_row(campaign, each), each, described or {}, disks)
            for each in resolved.configurations.values()
        ),
        _baseline_sentence(resolved),
        about_s,
        _with_repeated(time_sentence(campaign, about_s), campaign.repeat_disturbed),
        data_sentences(resolved, templates),
        (*written_sentences(costing), *filter(None, [_arc_sentence(resolved)])),
        effect_sentences(campaign, about_s, spreads),
    )


def plan_sentences(resolved: ResolvedCampaign) -> tuple[str, ...]:
    """Return the size of a campaign as sentences: configurations, time, and bytes written to disks."""
    campaign = resolved.campaign
    matrix = describe_matrix(campaign.matrix) if campaign.matrix is not None else ()
    return (*matrix, *cost_sentences(resolved), *no_verdict_sentences(campaign))


def cost_sentences(resolved: ResolvedCampaign) -> tuple[str, ...]:
    """Return the number of runs of a campaign, their duration, and the bytes written to disks."""
    campaign = resolved.campaign
    time = _with_repeated(time_sentence(campaign, estimated_seconds(resolved)), campaign.repeat_disturbed)
    return (
        time,
        *data_sentences(resolved),
        *written_sentences(resolved),
        *filter(None, [_arc_sentence(resolved)]),
    )


def _arc_sentence(resolved: ResolvedCampaign) -> str:
    return arc_max_sentence(
        resolved.campaign, {each.target.path for each in resolved.configurations.values()}
    )


def _row(campaign: Campaign, resolved: ResolvedConfiguration) -> ReviewRow:
    configuration, folders = resolved.configuration, run_folders(resolved)
    in_memory = isinstance(configuration.target, MemoryTarget)
    place = tr("memory ({path})") if in_memory else "{path}"
    on_server = isinstance(configuration.target, ServerTarget)
    path, free_bytes = resolved.target.path, resolved.target.free_bytes
    setup = f"{resolved.installation.version} · {PRESETS[configuration.postgresql.preset].label}"
    if on_server:
        place, path = tr("existing server ({path})"), resolved.target.given
        setup = tr("pgbench {version} · server unchanged").format(version=resolved.installation.version)
    return ReviewRow(
        configuration.name,
        place.format(path=path),
        setup,
        resolved.scale.data_bytes,
        tr("scale {scale}").format(scale=resolved.scale.scale) + f": {resolved.scale.reason}",
        resolved.need_bytes,
        None if free_bytes >= UNKNOWN_FREE_BYTES else free_bytes,
        resolved.unsafe,
        run_commands(campaign, resolved, folders),
        removed_folders(resolved, folders),
        resolved.scale.is_contended,
    )


def _with_storage(
    row: ReviewRow, resolved: ResolvedConfiguration, described: Described, disks: Sequence[Disk]
) -> ReviewRow:
    """Return a row with the commands for spare disks, if it uses any."""
    plan, target = resolved.target.plan, resolved.configuration.target
    if plan is None or not isinstance(target, DiskTarget):
        return row
    commands = (*storage_commands(plan, described, disks), *row.commands, unmaking())
    unsafe = tuple(dict.fromkeys((*row.unsafe, *unsafe_choices(target, resolved.installation.page_bytes))))
    return replace(row, place=place_words(plan), commands=commands, unsafe=unsafe)


def estimated_seconds(resolved: ResolvedCampaign) -> float | None:
    """Return the estimated seconds of a campaign; None if a number of transactions decides."""
    order = [each.name for each in resolved.campaign.configurations] * resolved.campaign.repeats
    measured_s = planned_seconds(resolved.campaign, order)
    if measured_s is None:
        return None
    storage_s = sum(making_seconds(resolved.configurations[name].target.plan) for name in order)
    whole_s = measured_s + len(order) * OVERHEAD_S + data_seconds(resolved) + storage_s
    return whole_s + baseline_seconds(resolved)


def baseline_seconds(resolved: ResolvedCampaign) -> float:
    """Return the estimated seconds for benchmarking the raw storage of a campaign."""
    asked = storages_to_ask(resolved)
    return sum(PLANNED_SECONDS + making_seconds(each.target.plan) for each in asked)


def _baseline_sentence(resolved: ResolvedCampaign) -> str:
    seconds = baseline_seconds(resolved)
    if not seconds:
        return ""
    sentence = tr("Takes about {time} once and writes a few GiB to each storage.")
    return sentence.format(time=roughly(seconds))


def _turns_sentence(campaign: Campaign) -> str:
    if not campaign.is_order_known:
        if len(campaign.configurations) < 2:
            return ""
        return tr(
            "Each round contains every configuration once, in a random order that is drawn at the start and "
            "recorded."
        )
    order = [run.configuration.name for run in interleaved_order(campaign)]
    names = ", ".join(order[:_LISTED_TURNS])
    more = " …" if len(order) > _LISTED_TURNS else ""
    if campaign.order is RunOrder.RANDOM:
        sentence = tr("Random order (seed {seed}): {names}{more}")
        return sentence.format(seed=campaign.order_seed, names=names, more=more)
    return tr("Order: {names}{more}").format(names=names, more=more)


def time_sentence(campaign: Campaign, about_s: float | None) -> str:
    """Return the number of runs of a campaign, and their duration.

    Args:
        campaign: for a sequential one both range from its third round, the first that may end it, to its
            last.
        about_s: estimated seconds for all rounds; None if a number of transactions decides.
    """
    runs = campaign.total_runs
    if campaign.design is Design.SEQUENTIAL:
        share = FEWEST_ROUNDS / campaign.repeats
        fewest = FEWEST_ROUNDS * len(campaign.configurations)
        time = ""
        if about_s is not None:
            span = tr("{low} to {high}").format(low=roughly(share * about_s), high=roughly(about_s))
            time = ", " + tr("about {share}").format(share=span)
        sentence = tr(
            "{fewest} to {most} runs{time}: configurations unlikely to win are dropped from round three on."
        )
        return sentence.format(fewest=fewest, most=runs, time=time)
    count = trn("{count} run", "{count} runs", runs).format(count=runs)
    if about_s is None:
        sentence = tr(
            "{count}; the time depends on TPS, because each run ends after a number of transactions."
        )
        return sentence.format(count=count)
    return tr("{count}, about {time} in total.").format(count=count, time=roughly(about_s))


def _with_repeated(sentence: str, most: int) -> str:
    """State that a campaign may have more runs, to repeat disturbed ones."""
    if not most:
        return sentence
    return tr("{sentence} Up to {most} disturbed runs are repeated.").format(sentence=sentence, most=most)


def written_sentences(resolved: ResolvedCampaign) -> tuple[str, ...]:
    """Return the bytes that the campaign writes to disks; memory is not counted."""
    on_disk = [
        each
        for each in resolved.configurations.values()
        if not isinstance(each.configuration.target, MemoryTarget)
    ]
    if not on_disk:
        return (tr("Only the run files are written to disk, usually less than 10 MB an hour."),)
    runs = resolved.campaign.repeats
    sentences = [loading_sentence(on_disk, runs)]
    known = [_measured_bytes(each) for each in on_disk]
    if any(known) and None not in known:
        total = sum(each or 0 for each in known) * runs
        sentences.append(tr("The transactions write about {size} more.").format(size=format_size(total)))
    elif None in known:
        most_bytes = max(transaction_bytes(each.installation.page_bytes) for each in on_disk)
        per_minute = most_bytes * 1000 * 60
        sentence = tr("The transactions also write in proportion to TPS, about {size} a minute at 1,000 TPS.")
        sentences.append(sentence.format(size=format_size(per_minute)))
    else:
        sentences.append(tr("The transactions are read-only."))
    at_most = at_most_sentences(resolved.campaign)
    return (*sentences, *at_most, *wear_sentences(resolved, _written(resolved)))


def _written(resolved: ResolvedCampaign) -> dict[str, WrittenVolume]:
    """Return the bytes written by all runs of each configuration."""
    found: dict[str, WrittenVolume] = {}
    for name, each in resolved.configurations.items():
        measured = _measured_bytes(each)
        known = data_writes(each) + (measured or 0)
        found[name] = WrittenVolume(known * resolved.campaign.repeats, is_least=measured is None)
    return found


def transaction_bytes(page_bytes: int) -> int:
    """Return the bytes written by a TPC-B-like transaction, with data pages of this size."""
    return TRANSACTION_BYTES + round(_TRANSACTION_PAGES * (page_bytes - USUAL_PAGE_BYTES))


def _measured_bytes(resolved: ResolvedConfiguration) -> int | None:
    """Return the bytes written by the transactions of a run; None if only the speed decides."""
    workload = resolved.configuration.workload
    each_bytes = transaction_bytes(resolved.installation.page_bytes)
    if not workload.phases:
        return _transactions_bytes(workload, workload.warmup_s, each_bytes)
    total = 0
    for phase in workload.phases:
        warmup_s = workload.warmup_s if phase is workload.phases[0] else 0
        known = _transactions_bytes(workload_of(workload, phase), warmup_s, each_bytes)
        if known is None:
            return None
        total += phase.times * known
    return total


def _transactions_bytes(workload: Workload, warmup_s: int, each_bytes: int) -> int | None:
    if not workload.writes:
        return 0
    if workload.transactions is not None:
        return workload.transactions * workload.clients * each_bytes
    if workload.rate_tps is not None and workload.duration_s is not None:
        return round(workload.rate_tps * (workload.duration_s + warmup_s)) * each_bytes
    return None


# --- Spare disks in the review: location of the data, root's commands, wear of the disks. Pure.


MAKING_S: Final = 5.0
"""Seconds to create and remove partitions, array, filesystem and mount (observed on virtual disks)."""
SYNC_BYTES_PER_S: Final = 200e6
"""Highest speed at which md synchronises (dev.raid.speed_limit_max of md(4))."""

Described = Mapping[StoragePlan, tuple[str, ...]]


def storage_commands(
    plan: StoragePlan, described: Described, disks: Sequence[Disk]
) -> tuple[CommandLine, ...]:
    """Return root's commands before and after a run: the helper's own list, else ours, labelled.

    Args:
        plan: of a configuration.
        described: the helper's list by plan; lacks this plan if the helper was not asked or did not answer.
        disks: of this machine, for our own list.
    """
    if plan in described:
        comment = tr("Create the storage as root (commands listed by the helper)")
        text = "\n".join(described[plan])
    else:
        comment = tr("Create the storage as root (commands by pgFooting; the helper has not answered yet)")
        text = "\n".join(all_lines(plan, disks)) if _all_there(plan, disks) else tr("(a disk is missing)")
    return (CommandLine(LineAction.ROOT, text, comment),)


def unmaking() -> CommandLine:
    """Return root's actions after each run."""
    text = tr("unmount the filesystem, stop arrays and pools, wipe pgFooting's own signatures")
    return CommandLine(
        LineAction.REMOVE,
        text,
        tr("Remove the storage as root and release the disks, without zeroing them"),
    )


def _all_there(plan: StoragePlan, disks: Sequence[Disk]) -> bool:
    there = {disk.identity.key() for disk in disks}
    return all(identity.key() in there for _, identity in plan.members())


def making_seconds(plan: StoragePlan | None) -> float:
    """Return the estimated seconds to create and remove storage: mostly the first synchronisation."""
    if plan is None:
        return 0.0
    return MAKING_S + sum(map(synchronised_bytes, plan.groups)) / SYNC_BYTES_PER_S
