"""The 306 published runs of tests/data/comparison, with the names of levels that this program has."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.properties import MACHINE, SETTING, TARGET, WORKLOAD, Property
from app.domain.campaign.configuration import BuiltinScript
from app.domain.run import RunState
from app.importers.formats.storage_texts import LEVELS, MD_NUMBERS
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.runfile.metadata.run_metadata import IMPORTED
from app.statistics.cells import CellPair

TABLE: Final = Path(__file__).parent / "data" / "comparison" / "vondra-2022-tps.csv"


@dataclass(frozen=True)
class PublishedRun:
    """One row: a single run."""

    machine: str
    campaign: str
    filesystem: str
    level: str
    configuration: str
    scale: int
    mode: str
    tps: float

    @property
    def at_a_rate(self) -> bool:
        """Whether pgbench had a rate limit."""
        return "limit" in self.campaign and self.mode == "rw"


def published_runs() -> tuple[PublishedRun, ...]:
    """Return all of them in the order of the table."""
    with TABLE.open(encoding="ascii", newline="") as file:
        return tuple(
            PublishedRun(
                machine=row["machine"],
                campaign=row["campaign"],
                filesystem=row["filesystem"],
                level=_level(row),
                configuration=row["configuration"],
                scale=int(row["scale"]),
                mode=row["mode"],
                tps=float(row["tps"]),
            )
            for row in csv.DictReader(file)
        )


def _level(row: dict[str, str]) -> str:
    """Return the RAID level; the other machine had a single disk, whatever its scripts call it."""
    if row["machine"] == "xeon":
        return "single"
    level = LEVELS.get(row["level"]) or MD_NUMBERS[row["level"]]
    return {"raidz1": "raid5", "raidz2": "raid6"}.get(level, level)


Variant = tuple[str, str]
"""Filesystem and configuration."""


def cells_of(first: Variant, second: Variant, mode: str) -> tuple[CellPair, ...]:
    """Return the cells, machine x level x scale, that two variants were both measured in without a rate.

    Where both were measured in one campaign, or in several, those pairs count, and their mean is the cell's.
    """
    found: dict[Variant, dict[tuple[str, str, int], dict[str, float]]] = {first: {}, second: {}}
    for run in published_runs():
        cells = found.get((run.filesystem, run.configuration))
        if cells is not None and run.mode == mode and not run.at_a_rate:
            cell = cells.setdefault((run.machine, run.level, run.scale), {})
            cell[f"{run.machine}/{run.campaign}"] = run.tps
    pairs = []
    for key in found[first].keys() & found[second].keys():
        one, other = found[first][key], found[second][key]
        both = one.keys() & other.keys()
        campaigns = frozenset(() if both else (*one, *other))
        pairs.append(
            CellPair(
                _mean([one[each] for each in both or one]),
                _mean([other[each] for each in both or other]),
                campaigns,
            )
        )
    return tuple(pairs)


def _mean(values: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


_TUNED: Final = {
    "default": (),
    "no-fpw": ("full_page_writes",),
    "no-fpw-tuned": ("full_page_writes", "wal_init_zero", "wal_recycle"),
}
"""Settings that are off, as the text and the scripts have it."""


def published_facts() -> list[RunFacts]:
    """Return the runs as their files would tell them: what the rows and the text say, and nothing more."""
    return [_facts(number, run) for number, run in enumerate(published_runs())]


def _facts(number: int, run: PublishedRun) -> RunFacts:
    script = {"ro": BuiltinScript.SELECT_ONLY, "rw": BuiltinScript.SIMPLE_UPDATE}[run.mode].value
    off = _TUNED[run.configuration]
    name = f"{run.filesystem} {run.level} {run.configuration} {run.scale} {run.mode}"
    return RunFacts(
        path=f"{number}.footing",
        id=f"{number:032x}",
        name=f"{name} #1",
        campaign=f"{run.campaign} ({run.machine})",
        campaign_key=f"{run.machine}/{run.campaign}/{name}",
        configuration=name,
        repeat=0,
        state=RunState.DONE.value,
        error="",
        started_epoch_s=None,
        marks=((IMPORTED, "measured elsewhere"),),
        properties=(
            Property(TARGET, "filesystem", run.filesystem),
            Property(TARGET, "RAID", run.level),
            Property(WORKLOAD, "transactions", script),
            Property(WORKLOAD, "scale", str(run.scale)),
            Property(MACHINE, "name", run.machine),
            Property(SETTING, "shared_buffers", {"i5": "1GB", "xeon": "8GB"}[run.machine]),
            *(Property(SETTING, each, "off" if each in off else "on") for each in _TUNED["no-fpw-tuned"]),
        ),
        summary={"tps": run.tps},
        commands=(),
        environment=(),
        unavailable=(),
        load=OfferedLoad(LoadKind.RATE if run.at_a_rate else LoadKind.CLOSED),
    )
