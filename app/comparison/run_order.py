"""Describe the order of compared runs of one campaign. Pure."""

from __future__ import annotations

from app.comparison.comparison import RunComparison
from app.domain.campaign.order import RunOrder
from app.domain.text import tr


def describe_order(comparison: RunComparison) -> str:
    """Return how the runs were interleaved; empty for a single configuration, or several campaigns."""
    if len(comparison.groups) < 2 or len({group.campaign for group in comparison.groups}) != 1:
        return ""
    found = {(run.facts.order, run.facts.order_seed) for run in comparison.runs}
    order, seed = found.pop() if len(found) == 1 else ("", None)
    if order == RunOrder.RANDOM and any(group.contest for group in comparison.groups):
        sentence = tr(
            "The runs were interleaved: each round ran every remaining configuration once, in random order "
            "(seed {seed}). So neither slow drift of the machine nor periodic events favour a configuration."
        )
        return sentence.format(seed=tr("not known") if seed is None else seed)
    if order == RunOrder.RANDOM:
        sentence = tr(
            "The runs were interleaved: each round ran every configuration once, in random order (seed "
            "{seed}). So neither slow drift of the machine nor periodic events favour a configuration."
        )
        return sentence.format(seed=tr("not known") if seed is None else seed)
    if order == RunOrder.ALTERNATING:
        return tr(
            "The runs were interleaved, every second round in reverse, so slow drift affects all "
            "configurations alike. The order was fixed: periodic events may affect some more than others."
        )
    return tr("The runs were interleaved in rounds; how the order within a round was chosen is not known.")
