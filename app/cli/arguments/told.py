"""What a parser tells of its commands and arguments, for completion, manual page and manual. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app import COMMAND
from app.cli.arguments.parser import Parser
from app.domain.text import tr
from app.manual.markdown import marked_markdown, plain_markdown

_HELP: Final = "-h, --help"
"""Of every command; the manual tells it once."""


@dataclass(frozen=True, slots=True)
class ToldCommand:
    """A command that the help tells.

    Attributes:
        name: what is typed.
        told: what it does, as the help has it: without a capital and a full stop.
        parser: of what it takes.
    """

    name: str
    told: str
    parser: Parser

    @property
    def sentence(self) -> str:
        """What it does, as a sentence."""
        return f"{self.told[:1].upper()}{self.told[1:]}."


def told_commands(parser: Parser) -> Iterator[ToldCommand]:
    """Yield the commands in the order of the help."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            told = {each.dest: each.help or "" for each in action._choices_actions}  # noqa: SLF001
            yield from (
                ToldCommand(name, told[name], each) for name, each in action.choices.items() if name in told
            )


def told_arguments(parser: Parser) -> Iterator[tuple[str, str]]:
    """Yield each argument as it is typed, with what the help says of it; the help may say nothing."""
    helper = parser._get_formatter()  # noqa: SLF001
    for action in parser._actions:  # noqa: SLF001
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        name = helper._format_action_invocation(action)  # noqa: SLF001
        yield name, helper._expand_help(action) if action.help else ""  # noqa: SLF001


def commands_as_markdown(parser: Parser) -> str:
    """Return every command with what it takes, a heading for each."""
    every = tr("Before every command")
    parts = [f"## {every}", _as_list(parser)]
    for each in told_commands(parser):
        parts += [f"## {plain_markdown(f'{COMMAND} {each.name}')}", marked_markdown(each.sentence)]
        for text in (each.parser.description, _as_list(each.parser), each.parser.epilog):
            if text:
                parts.append(text if text.startswith("- ") else marked_markdown(text))
    if parser.epilog:
        status = tr("Exit status and environment")
        parts += [f"## {status}", marked_markdown(parser.epilog)]
    return "\n\n".join(parts)


def _as_list(parser: Parser) -> str:
    told = {name: words for name, words in told_arguments(parser) if name != _HELP or parser.commands}
    return "\n".join(
        f"- `{name}`: {marked_markdown(words)}" if words else f"- `{name}`" for name, words in told.items()
    )
