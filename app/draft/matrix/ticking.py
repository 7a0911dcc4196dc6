"""Apply ticks to a draft: add and remove values, exclude and include cells. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.campaign_file.dimensions import doubling, read_key
from app.campaign_file.matrix import ReadMatrix
from app.campaign_file.partial import find_field, is_refused
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.reader import CampaignReader
from app.domain.campaign.configuration import Campaign
from app.domain.campaign.matrix import (
    Cell,
    Change,
    Design,
    DimensionValue,
    MatrixDimension,
    cell_names,
    default_name,
    is_left_out,
)
from app.domain.text import number_text, tr, trn
from app.draft.fields.state import DraftParts
from app.draft.fields.text import raw_value
from app.draft.review import cost_sentences
from app.execution.resolve import ResolvedCampaign

CLIENTS: Final = "workload.clients"


def value_of(key: str, raw: object) -> DimensionValue:
    """Return a value of a dimension with one key.

    Args:
        key: dotted, a key of campaign files.
        raw: as in TOML; if it cannot be read it is kept, and refused with the whole matrix.
    """
    found = find_field(key)
    if found is None:
        raise KeyError(key)
    partial, value = read_key(CampaignReader(Path("/"), Problems()), found, raw, KeyPath())
    if is_refused(partial):
        path, field, below = found
        return DimensionValue(str(raw), (Change((*path, field.name, *below), str(raw)),))
    return value


def typed_values(key: str, text: str) -> list[DimensionValue]:
    """Return the values of a line such as ``16, 64``; unreadable ones are refused with the matrix."""
    found = find_field(key)
    values = []
    for word in filter(None, (each.strip() for each in text.split(","))):
        raw: object = word
        if found is not None and not found[2]:
            raw = raw_value(found[1].kind, word)
        elif found is not None and found[1].name == "options" and word.isascii() and word.isdigit():
            raw = int(word[:18])
        values.append(value_of(key, raw))
    return values


def dimension_of(parts: DraftParts, key: str) -> MatrixDimension | None:
    """Return the dimension of a key, or of a name if it has no key; None if there is none."""
    return next((each for each in parts.dimensions if key in {each.key, "" if each.key else each.name}), None)


def set_values(parts: DraftParts, key: str, values: Sequence[DimensionValue], *, keep: bool = False) -> None:
    """Set the values of a key; without values its dimension is removed unless `keep` is set."""
    unique = {each.changes: each for each in values}
    before = dimension_of(parts, key)
    place = parts.dimensions.index(before) if before else len(parts.dimensions)
    if before:
        del parts.dimensions[place]
    if unique or keep:
        name = before.name if before else _free_name(parts, key)
        made = MatrixDimension(name, tuple(unique.values()), before.key if before else key)
        parts.dimensions.insert(place, made)


def _free_name(parts: DraftParts, key: str) -> str:
    name, taken = default_name(key), {each.name for each in parts.dimensions}
    return key if name in taken else name


def tick(
    parts: DraftParts,
    key: str,
    values: Sequence[DimensionValue],
    offered: Sequence[DimensionValue],
    first: DimensionValue | None,
    *,
    ticked: bool,
) -> None:
    """Apply the check box of a value, or of several.

    Args:
        parts: of the draft.
        key: of the dimension, or its name.
        values: ticked or unticked.
        offered: values in the order shown.
        first: value that they are compared with, kept first; None if it cannot be stated.
        ticked: whether they are now measured.
    """
    known, mine = dimension_of(parts, key), {each.changes for each in values}
    now = list(known.values) if known else [each for each in (first,) if each is not None]
    kept = [each for each in now if each.changes not in mine]
    if ticked:
        kept += values
    order = {each.changes: place for place, each in enumerate(offered)}
    at_first = first.changes if first else None
    kept.sort(key=lambda each: (each.changes != at_first, order.get(each.changes, len(order))))
    if [each.changes for each in kept] == [at_first]:
        kept = []
    set_values(parts, key, kept)


def sweep_clients(parts: DraftParts, cpus: int, first: DimensionValue | None) -> None:
    """Compare 1 client, 2, 4 and so on up to twice the CPUs."""
    values = [value_of(CLIENTS, each) for each in doubling(1, 2 * max(1, cpus))]
    at_first = first.changes if first else None
    values.sort(key=lambda each: each.changes != at_first)
    set_values(parts, CLIENTS, values)


# --- cells


def leave_out(parts: DraftParts, dimensions: Sequence[MatrixDimension], cell: Cell) -> None:
    """Exclude one cell."""
    parts.left_out.append(_words(dimensions, cell))


def take_in(
    parts: DraftParts, dimensions: Sequence[MatrixDimension], cell: Cell, every: Sequence[Cell]
) -> None:
    """Include a cell again; other cells of the same exclusion stay excluded, one by one."""
    kept: list[dict[str, list[str]]] = []
    places = {each.name: place for place, each in enumerate(dimensions)}
    for each in parts.left_out:
        exclusion = tuple(
            (places[name], tuple(_place(dimensions[places[name]], one) for one in names))
            for name, names in each.items()
            if name in places
        )
        if len(exclusion) < len(each) or not is_left_out(cell, exclusion):
            kept.append(each)
            continue
        others = (other for other in every if other != cell and is_left_out(other, exclusion))
        kept += [_words(dimensions, other) for other in others]
    parts.left_out = [each for place, each in enumerate(kept) if each not in kept[:place]]


def _words(dimensions: Sequence[MatrixDimension], cell: Cell) -> dict[str, list[str]]:
    return {
        each.name: [each.values[value].name]
        for each, value in zip(dimensions, cell, strict=True)
        if value is not None
    }


def _place(dimension: MatrixDimension, name: str) -> int:
    return next((place for place, each in enumerate(dimension.values) if each.name == name), -1)


# List the cells of a draft's matrix and their total cost, updated with each tick. Pure.


@dataclass(frozen=True, slots=True)
class CellRow:
    """A cell in the list.

    Attributes:
        name: the shortest that distinguishes it from all others, including excluded ones.
        measured: whether it is included.
    """

    name: str
    measured: bool


def cell_rows(matrix: ReadMatrix | None) -> tuple[CellRow, ...]:
    """Return every cell in order; empty without a matrix."""
    if matrix is None:
        return ()
    declared = matrix.matrix
    names = cell_names(declared.dimensions, matrix.every, tr("the only one"))
    return tuple(
        CellRow(name, not any(is_left_out(cell, each) for each in declared.exclusions))
        for name, cell in zip(names, matrix.every, strict=True)
    )


def tick_cell(parts: DraftParts, matrix: ReadMatrix, number: int, *, measured: bool) -> None:
    """Include or exclude a cell.

    Args:
        parts: of the draft.
        matrix: as shown.
        number: index of the cell, from 0.
        measured: whether to include it.
    """
    cell, dimensions = matrix.every[number], matrix.matrix.dimensions
    if measured:
        take_in(parts, dimensions, cell, matrix.every)
    else:
        leave_out(parts, dimensions, cell)


def total_sentences(
    campaign: Campaign | None, resolved: ResolvedCampaign | None, *, refused: bool = False
) -> tuple[str, ...]:
    """Return the cost of a campaign: the number of runs at once, hours and bytes once computed.

    Args:
        campaign: None if something is wrong or unknown.
        resolved: the same on this machine; None while unknown.
        refused: whether this machine cannot run it, which is reported elsewhere.
    """
    if campaign is None:
        return ()
    if resolved is not None:
        return (_count(campaign), *cost_sentences(resolved))
    if refused:
        return (_count(campaign),)
    return (_count(campaign), tr("Estimating time and amount written …"))


def _count(campaign: Campaign) -> str:
    count = len(campaign.configurations)
    if campaign.design is Design.SEQUENTIAL:
        words = trn("{count} configuration", "{count} configurations", count)
        return f"{words.format(count=number_text(count, ','))}."
    sentence = trn(
        "{count} configuration x {repeats} repeats = {runs} runs.",
        "{count} configurations x {repeats} repeats = {runs} runs.",
        count,
    )
    return sentence.format(
        count=number_text(count, ","), repeats=campaign.repeats, runs=number_text(campaign.total_runs, ",")
    )
