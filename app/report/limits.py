"""How much of a run file a report prints: the file may come from anybody and hold anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from app.analysis.facts import RunFacts
from app.domain.text import tr
from app.runfile.reader import CommandRecord

MOST_LETTERS: Final = 2000
"""Of one text; a command line may be four times as long."""

MOST_NAME: Final = 200
MOST_ENTRIES: Final = 400
"""Of commands, marks, properties and what was not measured."""

MOST_FACTS: Final = 3000

Item = TypeVar("Item")


def clip(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text of at most so many letters, with how many are missing."""
    if len(text) <= most:
        return text
    return text[:most] + tr("… ({count} more letters in the run file)").format(count=len(text) - most)


def _few(items: Sequence[Item], most: int = MOST_ENTRIES) -> tuple[Item, ...]:
    return tuple(items[:most])


def bounded(facts: RunFacts) -> RunFacts:
    """Return the same run with no more than can be printed; what is left out is said where it stood."""
    return replace(
        facts,
        name=clip(facts.name, MOST_NAME),
        campaign=clip(facts.campaign, MOST_NAME),
        configuration=clip(facts.configuration, MOST_NAME),
        id=facts.id[:64],
        error=clip(facts.error),
        summary={
            clip(name, MOST_NAME): value if value is not None and math.isfinite(value) else None
            for name, value in facts.summary.items()
        },
        marks=tuple((clip(kind, MOST_NAME), clip(reason)) for kind, reason in _few(facts.marks)),
        properties=tuple(replace(item, name=clip(item.name, MOST_NAME)) for item in _few(facts.properties)),
        commands=tuple(map(_bounded_command, _few(facts.commands))) + _rest_of_commands(facts.commands),
        environment=tuple(
            (clip(name, MOST_NAME), clip(value)) for name, value in _few(facts.environment, MOST_FACTS)
        ),
        unavailable=tuple(
            (clip(source, MOST_NAME), clip(reason)) for source, reason in _few(facts.unavailable)
        ),
    )


def _bounded_command(command: CommandRecord) -> CommandRecord:
    argv = tuple(clip(word) for word in _few(command.argv))
    if len(command.argv) > MOST_ENTRIES:
        argv += (tr("… ({count} more words)").format(count=len(command.argv) - MOST_ENTRIES),)
    return replace(command, account=clip(command.account, MOST_NAME), argv=argv)


def _rest_of_commands(commands: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """Return a line that says how many commands are left out."""
    if len(commands) <= MOST_ENTRIES:
        return ()
    told = tr("{count} more in the run file").format(count=len(commands) - MOST_ENTRIES)
    return (replace(commands[-1], account="…", argv=(told,), exit_code=0),)
