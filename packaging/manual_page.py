"""Write the manual pages: pgfooting(1) from the help of the command, others from chapters of the manual.

Usage: ``python -P manual_page.py DATE FOLDER``, with the checkout on the search path and the packages it
needs. FOLDER gets man1/pgfooting.1, man5/pgfooting-campaign.5 and man5/pgfooting-run.5.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from app import COMMAND, VERSION
from app.cli.arguments.declared import build_parser
from app.manual.chapters import CHAPTERS, chapter_blocks
from app.manual.roff import manual_page, roff_text


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
        told = helper._expand_help(action) if action.help else ""  # noqa: SLF001
        yield from (".TP", f".B {roff_text(name)}", roff_text(told))


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
    yield from (".SH DESCRIPTION", roff_text(parser.description or ""), ".PP")
    yield "Without a command it opens the window."
    yield from (".SH OPTIONS", *arguments(parser), ".SH COMMANDS")
    for name, told, each in commands:
        yield from (f".SS {COMMAND} {roff_text(name)}", roff_text(told[:1].upper() + told[1:] + "."))
        if each.description:
            yield from (".PP", roff_text(each.description))
        yield from arguments(each)
        if each.epilog:
            yield from (".PP", roff_text(each.epilog))
    if parser.epilog:
        yield from (".SH EXIT STATUS AND ENVIRONMENT", roff_text(parser.epilog))
    named = [each.page for each in CHAPTERS if each.page is not None]
    told = ", ".join(f"\\fB{roff_text(each.name)}\\fR({each.section})" for each in named)
    yield from (".SH SEE ALSO", f"{told}. The whole manual is in the window, and printed by")
    yield f"\\fB{COMMAND} manual\\fR."


def write_pages(date: str, folder: Path) -> None:
    """Write every page below a folder, as man(1) looks for them below /usr/share/man."""
    pages = {Path("man1", f"{COMMAND}.1"): "\n".join(page(date))}
    for chapter in CHAPTERS:
        if made := chapter.page:
            text = manual_page(made, date, chapter_blocks(chapter))
            pages[Path(f"man{made.section}", f"{made.name}.{made.section}")] = text
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write_pages(sys.argv[1], Path(sys.argv[2]))
