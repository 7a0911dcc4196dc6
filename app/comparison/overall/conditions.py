"""Define the role of every property of a run: condition, factor or repeat. Pure.

A question holds its conditions fixed: runs of different conditions are never divided by each other, averaged,
ranked or tested in one family. Factors are the choices that are compared. Properties in which repeats may
differ are ignored. A question about a condition (clients, scale, machine ...) makes it the choice that is
compared: everything else is then held fixed, factors as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.analysis.properties import (
    CONNECTING,
    IDENTIFIER,
    LABELS,
    MACHINE,
    PARTITIONS,
    PGBENCH_MACHINE,
    POSTGRESQL,
    RATE_VALUE,
    ROUND_TRIP,
    SETTING,
    TARGET,
    TRIES,
    WORKLOAD,
    Property,
)
from app.campaign_file.partial import TABLES
from app.domain.text import tr


class PropertyRole(StrEnum):
    """Role of a property in a comparison; all but the first two are conditions, named in this order."""

    FACTOR = "factor"
    REPEAT = "repeat"
    TRANSACTIONS = "transactions"
    SCALE = "scale"
    MACHINE = "machine"
    CLIENTS = "clients"
    RATE = "rate"
    CACHES = "caches"
    PROTOCOL = "protocol"
    PHASES = "phases"
    DURATION = "duration"
    DATA = "data"

    @property
    def is_condition(self) -> bool:
        """Whether it is held fixed."""
        return self not in {PropertyRole.FACTOR, PropertyRole.REPEAT}


ASKABLE: Final = tuple(
    each for each in PropertyRole if each.is_condition and each is not PropertyRole.TRANSACTIONS
)
"""Conditions that a reader may ask about. Different transactions are different work, so their ratio means
nothing.
"""

CONDITION_WORDS: Final = {
    PropertyRole.TRANSACTIONS: tr("transactions"),
    PropertyRole.SCALE: tr("scale"),
    PropertyRole.CLIENTS: tr("clients"),
    PropertyRole.RATE: tr("rate"),
    PropertyRole.CACHES: tr("caches at the start"),
    PropertyRole.PROTOCOL: tr("protocol"),
    PropertyRole.PHASES: tr("phases"),
    PropertyRole.DURATION: tr("measured time"),
    PropertyRole.DATA: tr("data set"),
    PropertyRole.MACHINE: tr("machine"),
}
"""Names of the conditions for users."""

_Key = tuple[str, str]

_TOPICS: Final = {"target": TARGET, "postgresql": POSTGRESQL, "workload": WORKLOAD}
"""Topics of the tables of campaign files."""

_WORKLOAD: Final = {
    PropertyRole.TRANSACTIONS: (LABELS["label"], TRIES, CONNECTING),
    PropertyRole.SCALE: (tr("data"),),
    PropertyRole.DATA: (PARTITIONS,),
    PropertyRole.RATE: (RATE_VALUE,),
}
_TARGET: Final = {
    PropertyRole.REPEAT: (IDENTIFIER, ROUND_TRIP, tr("role"), "pg_monitor", tr("database size limit")),
}
_OF_MACHINE: Final = {
    PropertyRole.FACTOR: (tr("ZFS cache limit (zfs_arc_max)"), tr("kernel"), tr("distribution")),
    # Whether systemd-detect-virt answers in time may differ between runs of one busy machine.
    PropertyRole.REPEAT: (tr("read via"), tr("virtual machine")),
    PropertyRole.MACHINE: (
        tr("name"),
        tr("storage"),
        tr("processor"),
        "CPUs",
        tr("governor"),
        tr("memory"),
    ),
}


def _named(topic: str, roles: Mapping[PropertyRole, Sequence[str]]) -> dict[_Key, PropertyRole]:
    return {(topic, name): role for role, names in roles.items() for name in names}


_ROLES: Final[Mapping[_Key, PropertyRole]] = {
    **{
        (_TOPICS[path[0]], LABELS.get(each.attribute, each.attribute)): PropertyRole(each.condition)
        for path, fields in TABLES.items()
        for each in fields
        if each.condition
    },
    **_named(WORKLOAD, _WORKLOAD),
    **_named(TARGET, _TARGET),
    **_named(MACHINE, _OF_MACHINE),
    **_named(PGBENCH_MACHINE, _OF_MACHINE),
}
"""Roles of properties by topic and name."""

_FACTORS: Final = frozenset({TARGET, POSTGRESQL, SETTING})
"""Topics of choices: their properties without another role are compared."""

_SCRIPTS: Final = tr("script {number}").format(number="")


def role_of(item: Property) -> PropertyRole | None:
    """Return the role of a property; None if it has none."""
    if item.topic == WORKLOAD and item.name.startswith(_SCRIPTS):
        return PropertyRole.TRANSACTIONS
    return _ROLES.get(item.key) or (PropertyRole.FACTOR if item.topic in _FACTORS else None)


Chosen = frozenset[_Key]
"""Settings that are compared in every run, because one run chose them."""


def chosen_settings(runs: Sequence[RunFacts]) -> Chosen:
    """Return the settings that were chosen in any of these runs.

    Choosing the default of a setting equals not choosing it: the server reports both.
    """
    return frozenset(
        item.key
        for run in runs
        for item in run.properties
        if item.topic == SETTING and item.is_known and item.is_shown and not item.follows
    )


def _held(run: RunFacts, roles: Collection[PropertyRole], chosen: Chosen) -> dict[_Key, Property]:
    """Return the properties with some roles that distinguish runs; unknown counts as a value.

    Of the settings only those chosen in some run do: others contain paths of one run, and a preset represents
    the settings that it derives from clients and data.
    """
    names = {name for _, name in chosen}
    return {
        item.key: item
        for item in run.every_property(names)
        if (item.topic != SETTING or item.name in names or not item.is_known) and _role(item) in roles
    }


def _role(item: Property) -> PropertyRole:
    """Return a role, also for a filesystem option that this version does not know."""
    return role_of(item) or PropertyRole.FACTOR


def is_held(item: Property, asked: PropertyRole | None) -> bool:
    """Return whether a property is the same in everything that is compared, see `held_fixed`."""
    is_chosen = item.is_shown and not item.follows
    decides = item.topic != SETTING or is_chosen or not item.is_known
    return decides and _role(item) in held_fixed(asked)


def _values(
    run: RunFacts, roles: Collection[PropertyRole], chosen: Chosen
) -> frozenset[tuple[_Key, str, bool]]:
    return frozenset((key, item.value, item.is_known) for key, item in _held(run, roles, chosen).items())


def held_fixed(asked: PropertyRole | None) -> frozenset[PropertyRole]:
    """Return the roles that are the same in everything that is compared.

    Args:
        asked: the condition that the question is about; None if it is about factors.
    """
    found = {each for each in PropertyRole if each.is_condition or (asked and each is PropertyRole.FACTOR)}
    return frozenset(found - {asked})


def differing_conditions(runs: Sequence[RunFacts]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and the values of each condition that differs between runs, except the machine.

    Unknown counts as a value.
    """
    tables = [_held(run, held_fixed(None), frozenset()) for run in runs]
    for key in dict.fromkeys(key for table in tables for key in table):
        values = tuple(dict.fromkeys(_value_words(table.get(key)) for table in tables))
        if len(values) > 1 and key[0] not in {MACHINE, PGBENCH_MACHINE}:
            yield key[1], values


def _value_words(item: Property | None) -> str:
    if item is None:
        return tr("none")
    return one_line(item.value) if item.is_known else tr("not known")


Condition = frozenset[tuple[_Key, str, bool]]
"""Properties that runs must share to be compared."""


def condition_of(run: RunFacts, asked: PropertyRole | None = None, chosen: Chosen | None = None) -> Condition:
    """Return the properties that a question holds fixed, with this run's values.

    Args:
        run: one of several.
        asked: as in `held_fixed`.
        chosen: `chosen_settings` of all of them; None for those of this run.
    """
    return _values(run, held_fixed(asked), chosen_settings([run]) if chosen is None else chosen)


def footing_of(run: RunFacts, chosen: Chosen | None = None) -> Condition:
    """Return this run's factors: the same for one configuration under every condition.

    Args:
        run: one of several.
        chosen: `chosen_settings` of all of them; None for those of this run.
    """
    return _values(run, {PropertyRole.FACTOR}, chosen_settings([run]) if chosen is None else chosen)


def asked_by(runs: Sequence[RunFacts]) -> PropertyRole | None:
    """Return the condition that a campaign asks about: several levels of it, and no varied factor.

    With several such conditions, the one with most levels. Runs of several campaigns ask about none.
    """
    chosen = chosen_settings(runs)
    if len({run.campaign_key for run in runs}) != 1 or len({footing_of(run, chosen) for run in runs}) != 1:
        return None
    levels = {role: len({_values(run, {role}, chosen) for run in runs}) for role in ASKABLE}
    most = max(levels, key=levels.__getitem__)
    return most if levels[most] > 1 else None


def name_conditions(runs: Sequence[RunFacts], asked: PropertyRole | None = None) -> tuple[str, ...]:
    """Return a name for each condition: as many held-fixed properties as needed to distinguish it.

    Args:
        runs: one of each condition.
        asked: as in `held_fixed`.

    Returns:
        Unique names; an empty one for a single condition.
    """
    described: list[tuple[str, ...]] = [() for _ in runs]
    chosen = chosen_settings(runs)
    for role in sorted(held_fixed(asked), key=list(PropertyRole).index):
        held = [_held(run, {role}, chosen) for run in runs]
        for key in dict.fromkeys(key for each in held for key in each):
            more = [
                (*names, _words(role, key, each.get(key)))
                for names, each in zip(described, held, strict=True)
            ]
            if len(set(more)) > len(set(described)):
                described = more
    if len(runs) < 2:
        return ("",) * len(runs)
    names = [", ".join(filter(None, each)) or tr("the other runs") for each in described]
    return tuple(
        name if names.count(name) == 1 else f"{name} [{1 + names[:place].count(name)}]".strip()
        for place, name in enumerate(names)
    )


def _words(role: PropertyRole, key: _Key, item: Property | None) -> str:
    if item is None:
        return ""
    name = one_line(key[1])
    value = _value_words(item)
    is_factor = role is PropertyRole.FACTOR and key[0] != SETTING  # "on" is no name
    if is_factor or key[1] in {tr("name"), LABELS["label"]} or name.startswith(_SCRIPTS):
        return value
    return _SENTENCES.get(key[1], "{name} {value}").format(name=name, value=value)


_SENTENCES: Final = {
    LABELS["rate_tps"]: tr("rate {value}"),
    LABELS["latency_limit_ms"]: tr("latency limit {value} ms"),
}
"""Values of conditions whose names say too much for a heading."""
