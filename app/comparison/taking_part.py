"""Which runs are repeats of each other, and which take part in a comparison. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, state_words
from app.analysis.properties import LABELS, POSTGRESQL, SETTING, SETTINGS, TARGET, Property
from app.comparison.overall.conditions import Condition
from app.domain.text import tr
from app.runfile.writer import RunState

_TELLING: Final = frozenset(
    {(TARGET, tr("filesystem")), (TARGET, tr("RAID")), (POSTGRESQL, LABELS.get("version", "version"))}
)
"""Beside settings: not paths, devices and kernels, which may change between repeats of one configuration."""


def by_configuration(
    runs: Sequence[RunFacts], conditions: Sequence[Condition], *, as_given: bool
) -> dict[tuple[str, str, Condition], list[int]]:
    """Return the places of the repeats of each configuration of each campaign, each condition apart.

    What differs in something that was chosen is another configuration, also under the same name, which then
    tells it.

    Args:
        runs: in any order.
        conditions: of each run.
        as_given: configurations in the order of their first runs; else campaigns are, and the configurations
            of each in the order of its file, where that is told: which run of a campaign comes first is
            chance, and the first configuration is what the others are compared with.
    """
    found: dict[tuple[str, str, Condition], list[int]] = {}
    for place, (name, condition) in enumerate(zip(_telling_names(runs, conditions), conditions, strict=True)):
        found.setdefault((runs[place].campaign_key, name, condition), []).append(place)
    if as_given:
        return found
    campaigns = list(dict.fromkeys(campaign for campaign, _, _ in found))

    def in_file(key: tuple[str, str, Condition]) -> tuple[int, int]:
        return campaigns.index(key[0]), runs[found[key][0]].place

    return {key: found[key] for key in sorted(found, key=in_file)}


def _telling_names(runs: Sequence[RunFacts], conditions: Sequence[Condition]) -> list[str]:
    """Return the name of each run's configuration, with what was chosen otherwise where one name has both."""
    names = [run.configuration or run.name for run in runs]
    alike: dict[tuple[str, str, Condition], list[int]] = {}
    for place, run in enumerate(runs):
        alike.setdefault((run.campaign_key, names[place], conditions[place]), []).append(place)
    for places in alike.values():
        chosen = {place: _chosen(runs[place]) for place in places}
        shown = {item.key for table in chosen.values() for item in table.values() if item.is_shown}
        for key in sorted(shown - {_ALL_SETTINGS}):
            found = {place: _value(table, key) for place, table in chosen.items()}
            known = [value for value in found.values() if value is not None]
            if len(set(known)) > 1:
                for place, value in found.items():
                    words = known[0] if value is None else value
                    told = tr("{name} {value}").format(name=key[1], value=words or tr("none"))
                    names[place] = f"{names[place]}, {told}"
    return names


_Key = tuple[str, str]
_ALL_SETTINGS: Final = (SETTING, SETTINGS)


def _chosen(run: RunFacts) -> dict[_Key, Property]:
    """Return what tells configurations apart."""
    items = (*run.properties, *run.others)
    return {item.key: item for item in items if item.topic == SETTING or item.key in _TELLING}


def _value(table: Mapping[_Key, Property], key: _Key) -> str | None:
    """Return a value, empty for a setting that nobody chose; None where it is not known."""
    item = table.get(key)
    if item is not None:
        return item.value if item.is_known else None
    return "" if key[0] == SETTING and _ALL_SETTINGS not in table else None


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
