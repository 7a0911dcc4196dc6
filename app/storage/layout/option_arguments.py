"""What the programs of one stage are told: what is always said, then what was chosen."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option import Stage
from app.domain.storage_plan.plan import Group


def written(spec: FilesystemSpec, group: Group, stage: Stage) -> tuple[tuple[str, str], ...]:
    """Return (flag, item) pairs of a stage, in the order of the declarations."""
    chosen = group.chosen
    always = [(item.flag, item.item) for item in spec.always if item.stage is stage]
    told = [
        option.written(chosen[option.id])
        for option in spec.options
        if option.stage is stage and option.id in chosen
    ]
    return (*always, *((each.flag, each.item) for each in told if each is not None))


def joined(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return arguments of a mkfs program: items of one flag joined by commas, flags as they come."""
    items: dict[str, list[str]] = {}
    for flag, item in pairs:
        items.setdefault(flag, []).extend([item] if item else [])
    words: list[str] = []
    for flag, values in items.items():
        words += [flag, ",".join(values)] if values else [flag]
    return tuple(words)
