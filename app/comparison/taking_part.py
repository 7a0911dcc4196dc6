"""Which runs are repeats of each other, and which take part in a comparison. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, state_words
from app.comparison.overall.conditions import Condition
from app.domain.text import tr
from app.runfile.writer import RunState


def by_configuration(
    runs: Sequence[RunFacts], conditions: Sequence[Condition], *, as_given: bool
) -> dict[tuple[str, str, Condition], list[int]]:
    """Return the places of the repeats of each configuration of each campaign, each condition apart.

    Args:
        runs: in any order.
        conditions: of each run.
        as_given: configurations in the order of their first runs; else campaigns are, and the configurations
            of each in the order of its file, where that is told: which run of a campaign comes first is
            chance, and the first configuration is what the others are compared with.
    """
    found: dict[tuple[str, str, Condition], list[int]] = {}
    for place, (run, condition) in enumerate(zip(runs, conditions, strict=True)):
        found.setdefault((run.campaign_key, run.configuration or run.name, condition), []).append(place)
    if as_given:
        return found
    campaigns = list(dict.fromkeys(campaign for campaign, _, _ in found))

    def in_file(key: tuple[str, str, Condition]) -> tuple[int, int]:
        return campaigns.index(key[0]), runs[found[key][0]].place

    return {key: found[key] for key in sorted(found, key=in_file)}


def why_left_out(runs: Sequence[RunFacts]) -> list[str]:
    """Return of each run why it takes no part, a clause; empty where it is complete, has TPS, and no copy."""
    seen: dict[str, str] = {}
    reasons = []
    for run in runs:
        tps = run.summary.get("tps")
        if run.id and run.id in seen:
            reason = tr("it is the same run as {name}").format(name=seen[run.id])
        elif run.state != RunState.DONE:
            reason = tr("it is {state}").format(state=state_words(run.state))
        elif tps is None or not math.isfinite(tps) or tps < 0:
            reason = tr("it has no TPS")
        else:
            reason = ""
        if run.id:
            seen.setdefault(run.id, one_line(run.name))
        reasons.append(reason)
    return reasons
