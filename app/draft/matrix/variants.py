"""Offer comparisons for a filesystem: other filesystems, or the same with another option. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.campaign.matrix import DimensionValue
from app.domain.text import tr
from app.draft.fields.state import DraftParts
from app.draft.matrix.offers import FILESYSTEM, DimensionRow, RowGroup, ValueOffer
from app.draft.matrix.ticking import dimension_of, set_values, value_of

OPTION: Final = "target.disks.options."
_MOST_TOGETHER: Final = 4
"""Most values added with one click."""


@dataclass(frozen=True, slots=True)
class VariantOffer:
    """A comparison with the choice on the page.

    Attributes:
        key: of the dimension.
        label: as shown, such as ``the same with nobarrier``.
        values: measured in addition.
        base: value that they are compared with; None if it cannot be stated.
        ticked: whether they are measured.
        about: effect and cost.
        obstacle: why it is unavailable here; empty if it is available.
    """

    key: str
    label: str
    values: tuple[DimensionValue, ...]
    base: DimensionValue | None
    ticked: bool
    about: str = ""
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class VariantGroup:
    """Variants of one row, in a submenu if there are several.

    Attributes:
        label: of the row, with its real name.
        variants: of the row.
    """

    label: str
    variants: tuple[VariantOffer, ...]


def other_filesystems(rows: Sequence[DimensionRow]) -> tuple[VariantOffer, ...]:
    """Return the filesystems other than the one on the page; each is created on the same disks."""
    row = next((row for row in rows if row.key == FILESYSTEM), None)
    if row is None:
        return ()
    return tuple(_variant(row, (each,), each.label) for each in row.values if not _is_base(row, each))


def variant_groups(rows: Sequence[DimensionRow]) -> tuple[VariantGroup, ...]:
    """Return the other comparisons on the same disks: options that matter, levels, presets."""
    offered = sorted(filter(_is_offered, rows), key=lambda row: row.group is not RowGroup.OPTIONS)
    return tuple(group for group in map(_group, offered) if group.variants)


def _is_offered(row: DimensionRow) -> bool:
    if row.group is RowGroup.OPTIONS:
        return row.is_usual or row.is_dimension
    return row.group is RowGroup.STORAGE and row.key != FILESYSTEM


def _group(row: DimensionRow) -> VariantGroup:
    label = row.label if row.word in {"", row.label} else f"{row.label} · {row.word}"
    others = [each for each in row.values if not _is_base(row, each) and (each.is_tried or each.ticked)]
    named = [each for each in others if each.is_tried and row.group is RowGroup.OPTIONS]
    found = [_variant(row, (each,), each.label) for each in others]
    if len(found) == 1 and others[0].spelled:
        words = tr("the same with {word}").format(word=others[0].spelled)
        return VariantGroup(label, (replace(found[0], label=words),))
    if 1 < len(named) <= _MOST_TOGETHER:
        sizes = ", ".join(each.label for each in named)
        found.insert(0, _variant(row, tuple(named), tr("all of {values}").format(values=sizes)))
    return VariantGroup(label, tuple(found))


def _variant(row: DimensionRow, offers: Sequence[ValueOffer], label: str) -> VariantOffer:
    about = " ".join(dict.fromkeys(filter(None, (row.about, *(each.effect for each in offers)))))
    obstacle = " ".join(dict.fromkeys(each.obstacle for each in offers if each.obstacle))
    ticked = all(each.ticked for each in offers)
    return VariantOffer(
        row.key, label, tuple(each.value for each in offers), row.base, ticked, about, obstacle
    )


def _is_base(row: DimensionRow, each: ValueOffer) -> bool:
    return row.base is not None and each.value.changes == row.base.changes


def follow_filesystem(parts: DraftParts, before: str, now: str) -> None:
    """Update the compared filesystems after another choice on the page: it becomes the first of them."""
    known = dimension_of(parts, FILESYSTEM)
    if known is None or before == now:
        return
    old, new = value_of(FILESYSTEM, before).changes, value_of(FILESYSTEM, now)
    kept = [each for each in known.values if each.changes not in {old, new.changes}]
    set_values(parts, FILESYSTEM, [new, *kept] if kept else [])


def compared_words(rows: Sequence[DimensionRow]) -> dict[str, str]:
    """Return the values of each compared option, by the id of the option."""
    return {
        row.key.removeprefix(OPTION): ", ".join(
            (*(_with_risks(each) for each in row.values if each.ticked), *filter(None, (row.typed,)))
        )
        for row in rows
        if row.key.startswith(OPTION) and row.is_compared
    }


def _with_risks(each: ValueOffer) -> str:
    return f"{each.label} (⚠ {', '.join(each.risks)})" if each.risks else each.label


def comparison_words(rows: Sequence[DimensionRow]) -> str:
    """Return everything that is measured with several values, in a line; empty for nothing."""
    lines = []
    for row in rows:
        if row.is_compared:
            values = [*(each.label for each in row.values if each.ticked), *filter(None, (row.typed,))]
            is_switch = {tr("on"), tr("off")} >= set(values)
            name = row.label if is_switch or not row.word else row.word
            lines.append(", ".join(values) if row.key == FILESYSTEM else f"{name} {', '.join(values)}")
    return "; ".join(lines)
