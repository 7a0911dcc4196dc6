"""List the cells of a draft's matrix and their total cost, updated with each tick. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from app.campaign_file.matrix import ReadMatrix
from app.domain.campaign.configuration import Campaign
from app.domain.campaign.matrix import cell_names, is_left_out
from app.domain.campaign.order import Design
from app.domain.text import number_text, tr, trn
from app.draft.fields.state import DraftParts
from app.draft.matrix.ticking import leave_out, take_in
from app.draft.review import cost_sentences
from app.execution.resolve import ResolvedCampaign


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
    return (_count(campaign), tr("How long that takes and what it writes is being worked out …"))


def _count(campaign: Campaign) -> str:
    count = len(campaign.configurations)
    if campaign.design is Design.SEQUENTIAL:
        return trn("{count} configuration.", "{count} configurations.", count).format(
            count=number_text(count, ",")
        )
    sentence = trn(
        "{count} configuration x {repeats} repeats = {runs} runs.",
        "{count} configurations x {repeats} repeats = {runs} runs.",
        count,
    )
    return sentence.format(
        count=number_text(count, ","), repeats=campaign.repeats, runs=number_text(campaign.total_runs, ",")
    )
