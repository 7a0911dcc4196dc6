"""Estimate the cost of the data sets of a campaign, loaded or copied, and the source of copies.

Measured on the development machine (PostgreSQL 15, 2 CPUs, a virtual disk, 2026-11): loading 0.85 GB takes 9
s, copying it 2 s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import Campaign, DataSet, MemoryTarget, ServerTarget
from app.domain.campaign.order import Design
from app.domain.text import CALLED, number_text, tr, trn
from app.domain.units import format_size
from app.draft.planning import roughly
from app.execution.data_set import order_of
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.folders.own_folders import templates_folder
from app.hosts.templates.making import DataSetOrder
from app.hosts.templates.store import TemplateStore, why_no_room, why_not_beside
from app.process.starter import Account, unrecorded

LOAD_BYTES_PER_S: Final = 100e6
COPY_BYTES_PER_S: Final = 400e6
STATED_TAKE_LONGER: Final = 2
"""Rows with a stated compressibility take this many times as long to load as pgbench's own (measured at scale
10 with PostgreSQL 15: 1.5 to 2.6).
"""
LOAD_WRITES: Final = 2
"""Loading writes this many times the size: data and WAL. A copy is written once."""
_WORTH_SHOWING_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class TemplatesFound:
    """The templates of a campaign found on this machine.

    Attributes:
        folder: of the templates.
        obstacle: why they cannot be kept there while this campaign runs; empty if they can.
        kept: data sets of the campaign that already exist there.
    """

    folder: str
    obstacle: str
    kept: frozenset[DataSetOrder]


def as_it_will_be(resolved: ResolvedCampaign, found: TemplatesFound | None) -> ResolvedCampaign:
    """Return the campaign with its actual way of providing data: loading, if no template can be kept.

    For estimates only: the campaign itself keeps its choice.
    """
    if found is None or not found.obstacle:
        return resolved
    return replace(
        resolved,
        configurations={name: _loaded(each) for name, each in resolved.configurations.items()},
    )


def _loaded(resolved: ResolvedConfiguration) -> ResolvedConfiguration:
    configuration = resolved.configuration
    workload = replace(configuration.workload, data_set=DataSet.LOADED)
    return replace(resolved, configuration=replace(configuration, workload=workload))


def is_copied(resolved: ResolvedCampaign) -> bool:
    """Whether the data sets are created once and copied; the same for all configurations of a campaign."""
    return all(_copies(each) for each in resolved.configurations.values())


def data_seconds(resolved: ResolvedCampaign) -> float:
    """Return the estimated seconds for all data sets of a campaign."""
    each_run = sum(map(run_seconds, resolved.configurations.values()))
    return resolved.campaign.repeats * each_run + _making_seconds(_orders(resolved))


def run_seconds(resolved: ResolvedConfiguration) -> float:
    """Return the estimated seconds for the data set of one run."""
    copied = resolved.scale.data_bytes / COPY_BYTES_PER_S
    return copied if _copies(resolved) else load_seconds(order_of(resolved))


def load_seconds(order: DataSetOrder) -> float:
    """Return the estimated seconds to load a data set."""
    seconds = order.data_bytes / LOAD_BYTES_PER_S
    return seconds if order.compressibility is None else STATED_TAKE_LONGER * seconds


def data_writes(resolved: ResolvedConfiguration) -> int:
    """Return the bytes written to provide the data set of one run."""
    return resolved.scale.data_bytes * (1 if _copies(resolved) else LOAD_WRITES)


def _copies(resolved: ResolvedConfiguration) -> bool:
    return resolved.configuration.workload.data_set is DataSet.COPIED


def _orders(resolved: ResolvedCampaign) -> tuple[DataSetOrder, ...]:
    """Return the distinct data sets that are created once."""
    found = (order_of(each) for each in resolved.configurations.values() if _copies(each))
    return tuple(dict.fromkeys(found))


def _making_seconds(orders: Iterable[DataSetOrder]) -> float:
    return sum(map(load_seconds, orders))


def data_sentences(resolved: ResolvedCampaign, found: TemplatesFound | None = None) -> tuple[str, ...]:
    """Return the cost of the data sets, and the source of copies, as sentences.

    Args:
        resolved: the campaign.
        found: None if unknown, or nothing is copied.
    """
    return (*_bringing_sentences(resolved, found), *at_most_sentences(resolved.campaign))


def at_most_sentences(campaign: Campaign) -> tuple[str, ...]:
    """Return a remark on figures for all rounds if the campaign may end early; else empty."""
    if campaign.design is not Design.SEQUENTIAL:
        return ()
    sentence = tr("That is for all {rounds} rounds; dropped configurations or an early end reduce it.")
    return (sentence.format(rounds=campaign.repeats),)


def _bringing_sentences(resolved: ResolvedCampaign, found: TemplatesFound | None) -> tuple[str, ...]:
    runs = resolved.campaign.total_runs
    orders = [order_of(each) for each in resolved.configurations.values()]
    loading_s = sum(map(load_seconds, orders)) * resolved.campaign.repeats
    once_s = _making_seconds(dict.fromkeys(orders))
    copying_s = sum(order.data_bytes for order in orders) / COPY_BYTES_PER_S * resolved.campaign.repeats
    if not is_copied(resolved):
        sentence = tr("Loading takes about {time} in total, before {runs}.")
        first = sentence.format(time=roughly(loading_s), runs=_runs(runs))
        targets = [each.configuration.target for each in resolved.configurations.values()]
        on_server = any(isinstance(target, ServerTarget) for target in targets)  # nothing is copied there
        if on_server or loading_s - once_s - copying_s < _WORTH_SHOWING_S:
            return (first,)
        could = tr("With the data loaded once and copied (page “Workload”) it would be about {time}.")
        return (f"{first} {could.format(time=roughly(once_s + copying_s))}",)
    if found is not None and found.obstacle:
        sentence = tr(
            "The data will still be loaded for every run, which takes about {time} in total and writes "
            "twice as much as copying: {reason}"
        )
        return (sentence.format(time=roughly(loading_s), reason=found.obstacle),)
    sentence = tr(
        "Copying takes about {copying} in total, before {runs}; loading would take about {loading}."
    )
    first = sentence.format(copying=roughly(copying_s), runs=_runs(runs), loading=roughly(loading_s))
    kept = found.kept if found is not None else frozenset()
    missing = [order for order in dict.fromkeys(orders) if order not in kept]
    return (first, *_template_sentences(missing, found))


def _template_sentences(missing: list[DataSetOrder], found: TemplatesFound | None) -> tuple[str, ...]:
    """State which data sets are created once, and where they are kept."""
    where = tr(" in {folder}").format(folder=found.folder) if found is not None else ""
    if not missing:
        return (tr("The template already exists{where}.").format(where=where),)
    size = format_size(sum(order.data_bytes for order in missing))
    if len(missing) == 1:
        sentence = tr("The template is created once, in about {time}, and kept{where}: about {size}.")
    else:
        sentence = tr("{count} templates are created once, in about {time}, and kept{where}: about {size}.")
    making = sentence.format(
        count=len(missing), time=roughly(_making_seconds(missing)), where=where, size=size
    )
    removed = tr("Later campaigns use it too; `{command} templates` shows and removes it.")
    return (making, removed.format(command=CALLED))


def _runs(count: int) -> str:
    return trn("{count} run", "{count} runs", count).format(count=number_text(count, ","))


def loading_sentence(configurations: Iterable[ResolvedConfiguration], repeats: int) -> str:
    """Return the bytes that providing the data sets of configurations writes to disks, as a sentence."""
    each = [item for item in configurations if not isinstance(item.configuration.target, MemoryTarget)]
    size = format_size(sum(map(data_writes, each)) * repeats)
    if each and all(map(_copies, each)):
        return tr("Copying the data writes about {size} to disk.").format(size=size)
    return tr("Loading writes about {size} to disk (data and WAL).").format(size=size)


def look_for_templates(resolved: ResolvedCampaign, account: Account) -> TemplatesFound | None:
    """Find where templates are kept, whether they can be, and which exist; changes nothing.

    Starts programs of PostgreSQL, which takes a moment. None if the campaign copies nothing.

    Raises:
        OSError: the folder, or a program, cannot be read.
        FootingError: the account cannot be used.
    """
    if not is_copied(resolved):
        return None
    folder = templates_folder(account)
    there = Path(folder)
    while not os.path.isdir(there) and there != there.parent:  # noqa: PTH112 - Path.is_dir raises
        there = there.parent
    store = TemplateStore(folder, account, unrecorded)
    orders = _orders(resolved)
    kept = frozenset(order for order in orders if store.find(order.key()) is not None)
    reasons = [why_not_beside(str(there), each.target) for each in resolved.configurations.values()]
    reasons += [why_no_room(str(there), order.data_bytes) for order in orders if order not in kept]
    return TemplatesFound(folder, next(filter(None, reasons), ""), kept)
