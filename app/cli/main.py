"""The command `pgfooting`: arguments in, an exit status out; errors become sentences on stderr.

Without a command, `pgfooting FILE.footing`, or an id, opens the window.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from app import TOP
from app.arguments.declared import build_parser
from app.domain.errors import UsageError, did_you_mean
from app.domain.text import CALLED, tr
from app.postgres.libpq_environment import forget_libpq_environment
from app.terminal import log
from app.terminal.error_boundary import run_guarded

Command = Callable[[argparse.Namespace], int]

_ID: Final = re.compile(r"[0-9a-f]{4,16}")
_RUN: Final = ".footing"
_CAMPAIGN: Final = ".toml"
_RECIPES: Final = TOP / "resources" / "recipes"


def with_command(given: list[str], commands: Iterable[str]) -> list[str]:
    """Return the words of a command line, with the implied command added.

    Args:
        given: words, without the program's name.
        commands: all existing ones.

    Raises:
        UsageError: the words name a campaign, for which there are several commands.
    """
    known = list(commands)
    word = given[0] if given else ""
    if not word or word in known or word.startswith("-"):
        return given
    if _names_run(word, known):
        return ["open", *given]
    if word.endswith(_CAMPAIGN) or (word.isprintable() and (_RECIPES / f"{word[:80]}.toml").is_file()):
        message = tr("“{word}” is a campaign, not a command; “{command} run {word!q}” measures it.")
        raise UsageError(message.format(word=word, command=CALLED))
    return given


def _names_run(word: str, commands: list[str]) -> bool:
    """Return whether a word names runs: a file, a folder unlike any command, an id."""
    if word.endswith(_RUN) or _ID.fullmatch(word):
        return True
    # os.path and not Path, which raises for a folder that may not be entered.
    return os.path.isdir(word) and ("/" in word or not did_you_mean(word, commands))  # noqa: PTH112


def _execute(argv: Sequence[str] | None) -> int:
    log.configure_logging(os.environ)
    parser = build_parser()
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(with_command(given, parser.commands))
    forget_libpq_environment(os.environ)
    return command_of(arguments.command)(arguments)


def command_of(command: Command | str) -> Command:
    """Return a command, which `app.arguments.declared` names as MODULE:FUNCTION of this package."""
    if callable(command):
        return command
    module, _, name = command.partition(":")
    found: Command = getattr(importlib.import_module(f"app.cli.{module}"), name)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; never raises."""
    return run_guarded(lambda: _execute(argv))
