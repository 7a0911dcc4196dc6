"""Print the manual page pgfooting(1), made from the help of the command and of each of its subcommands.

Usage: ``python -P manual_page.py DATE``, with the checkout on the search path and the packages it needs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from app import COMMAND, VERSION
from app.cli.main import build_parser


def escaped(text: str) -> str:
    """Return a text as roff takes it: nothing in it is a request or an escape."""
    line = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield name, help and parser of each subcommand, in the order of the help."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            told = {each.dest: each.help or "" for each in action._choices_actions}  # noqa: SLF001
            yield from ((name, told[name], each) for name, each in action.choices.items() if name in told)


def arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of a parser's arguments."""
    helper = parser._get_formatter()  # noqa: SLF001
    for action in parser._actions:  # noqa: SLF001
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        name = helper._format_action_invocation(action)  # noqa: SLF001
        yield from (".TP", f".B {escaped(name)}", escaped(helper._expand_help(action) if action.help else ""))  # noqa: SLF001


def page(date: str) -> Iterator[str]:
    """Yield the lines of the page."""
    parser = build_parser()
    commands = list(subcommands(parser))
    yield f'.TH {COMMAND.upper()} 1 "{date}" "pgFooting {VERSION}" "User Commands"'
    yield from (".SH NAME", f"{COMMAND} \\- compare disks, filesystems and options for PostgreSQL")
    yield from (
        ".SH SYNOPSIS",
        f".B {COMMAND}",
        "[\\fIOPTION\\fR]... [\\fICOMMAND\\fR [\\fIARGUMENT\\fR]...]",
    )
    yield from (".SH DESCRIPTION", escaped(parser.description or ""), ".PP")
    yield "Without a command it opens the window."
    yield from (".SH OPTIONS", *arguments(parser), ".SH COMMANDS")
    for name, told, each in commands:
        yield from (f".SS {COMMAND} {escaped(name)}", escaped(told[:1].upper() + told[1:] + "."))
        yield from arguments(each)
        if each.epilog:
            yield from (".PP", escaped(each.epilog))
    if parser.epilog:
        yield from (".SH EXIT STATUS AND ENVIRONMENT", escaped(parser.epilog))


if __name__ == "__main__":
    print("\n".join(page(sys.argv[1])))
