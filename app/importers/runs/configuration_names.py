"""Find the repeats of one configuration among foreign runs, and name the configurations.

Runs in one place are repeats if pgbench's printed workload and versions are equal. Differences become part of
the name; common values do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from app.importers.formats.folder_names import FolderNameFacts
from app.postgres.pgbench.summary import PgbenchSummary

Conditions = Mapping[str, str]
Place = tuple[str, FolderNameFacts, int | None]
_SCRIPT: Final = "script"


def place_key(campaign: str, place: FolderNameFacts, scale: int | None) -> Place:
    """Return a key shared by runs that names and scale do not distinguish; repeats are ignored."""
    return campaign, replace(place, repeat=0), scale


def conditions_of(summary: PgbenchSummary | None) -> Conditions:
    """Return pgbench's printed conditions of a run, by their key in a configuration's name.

    It prints that there was a rate, but not its value (`app.runfile.metadata.offered_load`).
    """
    if summary is None:
        return {}
    scripts = [f"{each.title}@{each.weight}" for each in summary.scripts]
    found = {
        _SCRIPT: " + ".join(scripts) or summary.transaction_type,
        "clients": summary.clients,
        "threads": summary.threads,
        "protocol": summary.protocol,
        "seconds": summary.duration_s,
        "transactions": summary.transactions_per_client,
        "rate": None if summary.lag_ms is None else "limited",
        "latency_limit_ms": summary.latency_limit_ms,
        "tries": summary.max_tries,
        "partitions": summary.partitions,
        "pgbench": summary.version,
        "server": summary.server_version,
        "connecting": summary.connecting.value,
    }
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value or "") for name, value in found.items()
    }


@dataclass(slots=True)
class ConfigurationNames:
    """The names of all runs below one path; every run is noted before the first one is named."""

    _seen: dict[Place, list[Conditions]] = field(default_factory=dict)
    _owners: dict[tuple[str, str], tuple[Place, str]] = field(default_factory=dict)
    _repeats: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def note(self, place: Place, conditions: Conditions) -> None:
        """Note the conditions of a run."""
        seen = self._seen.setdefault(place, [])
        if conditions not in seen:
            seen.append(conditions)

    def differing(self, place: Place, conditions: Conditions, label_of: Callable[[str], str]) -> list[str]:
        """Return the words that distinguish a run from others in its place.

        Args:
            place: of the run.
            conditions: of the run.
            label_of: returns a script's part of every name.
        """
        others = self._seen.get(place, [])
        words = []
        for name, value in conditions.items():
            values = {each.get(name, "") for each in others}
            if len(values) < 2:
                continue
            labels = {label_of(each) for each in values}
            if name == _SCRIPT and len(labels) == len(values):
                continue  # the label is in every name
            words.append(f"{name}={value.replace(' ', '_') or 'none'}")
        return words

    def settle(self, place: Place, conditions: Conditions, name: str, repeat: int) -> tuple[str, int]:
        """Return the name of the configuration and the number of the repeat, 0-based, of the next run.

        Args:
            place: of the run.
            conditions: of the run.
            name: the wanted one.
            repeat: number in its own name; the next free one if another run has it.
        """
        campaign, owner = place[0], (place, repr(sorted(conditions.items())))
        unique, number = name, 1
        while self._owners.setdefault((campaign, unique), owner) != owner:
            number += 1
            unique = f"{name} [{number}]"
        taken = self._repeats.setdefault((campaign, unique), set())
        while repeat in taken:
            repeat += 1
        taken.add(repeat)
        return unique, repeat
