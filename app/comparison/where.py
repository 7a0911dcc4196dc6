"""Choose runs by their properties, as `compare --where scale=250` does. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.analysis.properties import Property
from app.comparison.overall.conditions import role_of
from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr


def runs_where(runs: Sequence[RunFacts], wishes: Sequence[str]) -> list[RunFacts]:
    """Return the runs that have all wanted properties.

    Args:
        runs: to choose from.
        wishes: each NAME=VALUE, the name of a property or condition and a value, in any case.

    Raises:
        UsageError: no run has a property of that name, or none has that value; the hint lists what there is.
    """
    found = list(runs)
    for wish in wishes:
        name, equals, value = (part.strip().casefold() for part in wish.partition("="))
        known = [_values(run, name) for run in found]
        values = dict.fromkeys(each for some in known for each in some)
        if not equals or not values:
            names = dict.fromkeys(item.name for run in runs for item in run.properties if item.is_shown)
            message = tr("No run has a property “{name}”.").format(name=name[:80])
            near = did_you_mean(name, tuple(names)) if equals else ""
            hint = near or tr("Write NAME=VALUE, such as scale=250.")
            raise UsageError(message, hint=hint)
        found = [run for run, some in zip(found, known, strict=True) if value in map(str.casefold, some)]
        if not found:
            message = tr("No run has {name} {value}.").format(name=name[:80], value=value[:80])
            raise UsageError(message, hint=tr("There are: {names}.").format(names=", ".join(values)))
    return found


def _values(run: RunFacts, name: str) -> tuple[str, ...]:
    """Return the values of the properties of a run that a name denotes."""
    items = (*run.properties, *run.others)
    return tuple(one_line(item.value) for item in items if item.is_known and _is_named(item, name))


def _is_named(item: Property, name: str) -> bool:
    return one_line(item.name).casefold() == name or role_of(item) == name
