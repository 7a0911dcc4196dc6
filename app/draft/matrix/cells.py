"""The cells of a draft's matrix in a list, and what all of it comes to, told while one ticks. Pure."""

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
        name: the shortest that tells it from all others, also from those that are left out.
        measured: whether it is not left out.
    """

    name: str
    measured: bool


def cell_rows(matrix: ReadMatrix | None) -> tuple[CellRow, ...]:
    """Return every cell in order; none where there is no matrix."""
    if matrix is None:
        return ()
    declared = matrix.matrix
    names = cell_names(declared.dimensions, matrix.every, tr("the only one"))
    return tuple(
        CellRow(name, not any(is_left_out(cell, each) for each in declared.exclusions))
        for name, cell in zip(names, matrix.every, strict=True)
    )


def tick_cell(parts: DraftParts, matrix: ReadMatrix, number: int, *, measured: bool) -> None:
    """Measure a cell or leave it out.

    Args:
        parts: of the draft.
        matrix: as it is shown.
        number: of the cell, from 0.
        measured: whether it is measured from now on.
    """
    cell, dimensions = matrix.every[number], matrix.matrix.dimensions
    if measured:
        take_in(parts, dimensions, cell, matrix.every)
    else:
        leave_out(parts, dimensions, cell)


def total_sentences(
    campaign: Campaign | None, resolved: ResolvedCampaign | None, *, refused: bool = False
) -> tuple[str, ...]:
    """Return what a campaign comes to: how many runs at once, hours and bytes once they are worked out.

    Args:
        campaign: None where something is wrong or not known.
        resolved: the same on this machine; None while that is not known.
        refused: whether this machine cannot run it, which is told elsewhere.
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
