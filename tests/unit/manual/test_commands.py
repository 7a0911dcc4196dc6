"""The chapter of the commands says what the help says: every command, what it takes, the exit status."""

from __future__ import annotations

import argparse

import pytest

from app.arguments.completion import command_summaries
from app.arguments.declared import build_parser
from tests.manual_blocks import blocks

PARSER = build_parser()


def lines_under(heading: str) -> list[str]:
    """Return the texts between a heading and the next one."""
    found: list[str] = []
    here = False
    for each in blocks("commands"):
        if each.tag.startswith("h"):
            here = each.text == (heading,)
        elif here:
            found += each.text
    return found


def test_commands_in_help_order() -> None:
    lines = [f"pgfooting {name}" for name in PARSER.commands]
    found = [each.text[0] for each in blocks("commands") if each.tag == "h2"]
    assert [each for each in found if each.startswith("pgfooting ")] == lines


@pytest.mark.parametrize("command", [each.name for each in command_summaries(PARSER)])
def test_command_lists_all_visible_options(command: str) -> None:
    parser = PARSER.commands[command]
    message = "\n".join(lines_under(f"pgfooting {command}"))
    for action in parser._actions:
        names = action.option_strings or [str(action.metavar)]
        assert (names[-1] in message) is (action.help != argparse.SUPPRESS and action.dest != "help"), names
        if action.help not in {None, argparse.SUPPRESS} and action.dest != "help":
            words = (action.help or "") % {"default": action.default}
            assert " ".join(words.replace("`", "").split()) in message
    for text in (parser.description, parser.epilog):
        assert " ".join((text or "").replace("`", "").split()) in message


def test_chapter_ends_with_exit_status() -> None:
    (found,) = lines_under("Exit status and environment")
    assert found == " ".join((PARSER.epilog or "").split())


def test_common_options_come_first() -> None:
    found = lines_under("Before every command")
    assert [each.partition(":")[0] for each in found] == ["-h, --help", "--version"]
