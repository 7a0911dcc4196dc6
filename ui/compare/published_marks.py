"""Which published figures stand beside one's own bars: of the same filesystem, RAID level and workload.

Of several with the same name the one whose scale is nearest stands there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.comparison.comparison import ComparedGroup, RunComparison
from app.comparison.factors import number_of
from app.domain.text import tr
from app.published.figures import PublishedFigure
from ui.charts.figures.bars import Bar

_MOST = 8
_ALIKE = math.log(1.5)
_FILESYSTEM = (tr("Target"), tr("filesystem"))
_RAID = (tr("Target"), tr("RAID"))
_WORKLOAD = (tr("Workload"), tr("transactions"))
_SCALE = (tr("Workload"), tr("scale"))


def marks_for(
    comparison: RunComparison, groups: tuple[ComparedGroup, ...], published: tuple[PublishedFigure, ...]
) -> tuple[Bar, ...]:
    """Return marks that may stand beside these groups, those of the nearest scale first."""
    wanted = [_properties(comparison, group) for group in groups]
    found = [each for each in published if each.is_tps and any(_fits(each, one) for one in wanted)]
    scales = [
        number for one in wanted if (number := number_of(one.get(_SCALE, ""))) is not None and number > 0
    ]
    nearest: dict[str, PublishedFigure] = {}
    for each in sorted(found, key=lambda each: _distance(each, scales)):
        nearest.setdefault(each.label, each)
    # Where one stands at one's own scale, those at others would only confuse.
    least = min((_distance(each, scales) for each in nearest.values()), default=0.0)
    kept = [each for each in nearest.values() if _distance(each, scales) <= max(least, _ALIKE)]
    return tuple(_mark(each) for each in kept[:_MOST])


def _distance(figure: PublishedFigure, scales: Sequence[float]) -> float:
    """Return how far the scale of a figure is from one's own, in powers of e; far where it is unknown."""
    if not figure.scale or not scales:
        return math.inf
    return min(abs(math.log(figure.scale / scale)) for scale in scales)


def _properties(comparison: RunComparison, group: ComparedGroup) -> dict[tuple[str, str], str]:
    facts = comparison.runs[group.members[0]].facts
    return {(item.topic, item.name): item.value for item in facts.properties}


def _fits(figure: PublishedFigure, wanted: dict[tuple[str, str], str]) -> bool:
    filesystem, raid = wanted.get(_FILESYSTEM, ""), wanted.get(_RAID, "")
    if not filesystem or filesystem not in figure.filesystem.split("/"):
        return False
    if raid and figure.raid and figure.raid != raid:
        return False
    return bool(figure.workload) and figure.workload == wanted.get(_WORKLOAD)


def _mark(figure: PublishedFigure) -> Bar:
    scale = "" if figure.scale is None else tr(", scale {scale:,}").format(scale=figure.scale)
    tip = [figure.quotation, *figure.all_conditions(), tr("Published elsewhere; in no statistic here.")]
    return Bar(
        label=f"{figure.label}{scale}",
        value=figure.value,
        note=tr("published"),
        tip="\n".join(tip),
        published=True,
    )
