"""The debug log: empty unless PGFOOTING_LOG asks for it.

``PGFOOTING_LOG=debug``, ``PGFOOTING_LOG=storage,execution:debug``, ``PGFOOTING_LOG=info,dbus:debug``: words
separated by commas, each a level for everything, or the name of a room (a folder of `app` or of `ui`),
optionally with a colon and its level. A room without a level has that of the next one that has one, else
debug. Messages for users do not depend on it: they are sentences, and stored in run files.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from app import TOP
from app.domain.errors import UsageError
from app.domain.text import tr
from app.terminal.plain_text import plain_lines

VARIABLE: Final = "PGFOOTING_LOG"

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

EVERYTHING: Final = ""
"""Name of the root logger."""

_TREES: Final = ("app", "ui")


class _PlainFormatter(logging.Formatter):
    """Escapes everything that a terminal would obey, such as in a hostile file name."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return plain_lines(super().format(record))


def rooms() -> Mapping[str, tuple[str, ...]]:
    """Return the loggers of each room by its name: `report`, for example, is in `app` and in `ui`."""
    found: dict[str, tuple[str, ...]] = {}
    for tree in _TREES:
        for module in pkgutil.iter_modules([str(Path(TOP, tree))]):
            found[module.name] = (*found.get(module.name, ()), f"{tree}.{module.name}")
    return {name: loggers for name, loggers in found.items() if not name.startswith("_")}


def parse_levels(text: str) -> dict[str, int]:
    """Return the levels in PGFOOTING_LOG, by logger.

    Raises:
        UsageError: there is no such level or room.
    """
    known, levels, waiting = rooms(), dict[str, int](), list[str]()
    for word in (part.strip().lower() for part in text.split(",") if part.strip()):
        if word in LEVELS:
            levels[EVERYTHING] = LEVELS[word]
            continue
        room, colon, level = word.partition(":")
        if room not in known or (colon and level not in LEVELS):
            message = tr("{variable} contains “{word}”, which is not a level, a room or a room:level.")
            hint = tr("Levels are {levels}; rooms are {rooms}.")
            hint = hint.format(levels=", ".join(LEVELS), rooms=", ".join(sorted(known)))
            raise UsageError(message.format(variable=VARIABLE, word=word), hint=hint)
        waiting += known[room]
        if colon:
            levels.update(dict.fromkeys(waiting, LEVELS[level]))
            waiting.clear()
    return {**levels, **dict.fromkeys(waiting, logging.DEBUG)}


def configure_logging(environment: Mapping[str, str]) -> None:
    """Log to standard error as PGFOOTING_LOG requests, and nothing if it is not set.

    Raises:
        UsageError: there is no such level or room.
    """
    levels = parse_levels(environment.get(VARIABLE, ""))
    if not levels:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
