"""What a sequential design asks of the rest of a campaign file. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.campaign_file.problems import KeyPath
from app.campaign_file.scopes import Table
from app.domain.campaign.configuration import Configuration
from app.domain.campaign.design import FEWEST_CAP, Design, contests
from app.domain.text import tr


def design_problems(
    top: Table, configurations: Sequence[Configuration | None]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the place and the sentence of what does not go together with the design that is asked for.

    Args:
        top: of the campaign as a whole.
        configurations: None for one of which something was refused.
    """
    given = top.get("design")
    if given is not None and given.refused:
        return
    if given is None or given.value is not Design.SEQUENTIAL:
        if "precision" in top:
            sentence = tr("goes with design = “{design}” only: a fixed matrix has as many runs as it says.")
            yield top["precision"].place, sentence.format(design=Design.SEQUENTIAL)
        return
    repeats = top.get("repeats")
    if repeats is not None and repeats.value is not None and repeats.value < FEWEST_CAP:
        sentence = tr(
            "found {repeats}; allowed with design = “{design}” is {fewest} or more: nothing is left out "
            "before the third round."
        )
        told = sentence.format(repeats=repeats.value, design=Design.SEQUENTIAL, fewest=FEWEST_CAP)
        yield repeats.place, told
    known = [each for each in configurations if each is not None]
    if known and len(known) == len(configurations) and not contests(known):
        sentence = tr(
            "found “{design}”, but nothing can win here: that takes two configurations with the same "
            "workload and memory limit, and without a rate."
        )
        yield given.place, sentence.format(design=Design.SEQUENTIAL)
