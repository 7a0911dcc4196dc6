"""The chapter of the commands says what the help says: every command, what it takes, the exit status."""

from __future__ import annotations

import argparse

import pytest

from app.arguments.completion import told_commands
from app.arguments.declared import build_parser
from tests.manual_blocks import blocks

PARSER = build_parser()


def told_under(heading: str) -> list[str]:
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
    told = [f"pgfooting {name}" for name in PARSER.commands]
    found = [each.text[0] for each in blocks("commands") if each.tag == "h2"]
    assert [each for each in found if each.startswith("pgfooting ")] == told


@pytest.mark.parametrize("command", [each.name for each in told_commands(PARSER)])
def test_command_lists_all_visible_options(command: str) -> None:
    parser = PARSER.commands[command]
    told = "\n".join(told_under(f"pgfooting {command}"))
    for action in parser._actions:
        names = action.option_strings or [str(action.metavar)]
        assert (names[-1] in told) is (action.help != argparse.SUPPRESS and action.dest != "help"), names
        if action.help not in {None, argparse.SUPPRESS} and action.dest != "help":
            words = (action.help or "") % {"default": action.default}
            assert " ".join(words.replace("`", "").split()) in told
    for text in (parser.description, parser.epilog):
        assert " ".join((text or "").replace("`", "").split()) in told


def test_chapter_ends_with_exit_status() -> None:
    (told,) = told_under("Exit status and environment")
    assert told == " ".join((PARSER.epilog or "").split())


def test_common_options_come_first() -> None:
    told = told_under("Before every command")
    assert [each.partition(":")[0] for each in told] == ["-h, --help", "--version"]
