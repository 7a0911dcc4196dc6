"""Write the manual pages: pgfooting(1) from the help of the command, others from chapters of the manual.

Usage: ``python -P manual_page.py DATE FOLDER``, with the checkout on the search path and the packages it
needs. FOLDER gets man1/pgfooting.1, man5/pgfooting-campaign.5 and man5/pgfooting-run.5.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from app import COMMAND, VERSION
from app.cli.arguments.chapters import filled_blocks
from app.cli.arguments.completion import told_arguments, told_commands
from app.cli.arguments.declared import build_parser
from app.cli.arguments.parser import Parser
from app.manual.chapters import CHAPTERS
from app.manual.roff import manual_page, roff_text


def arguments(parser: Parser) -> Iterator[str]:
    """Yield the lines of a parser's arguments."""
    for name, told in told_arguments(parser):
        yield from (".TP", f".B {roff_text(name)}", roff_text(told))


def page(date: str) -> Iterator[str]:
    """Yield the lines of the page."""
    parser = build_parser()
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
    for each in told_commands(parser):
        yield from (f".SS {COMMAND} {roff_text(each.name)}", roff_text(each.sentence))
        if each.parser.description:
            yield from (".PP", roff_text(each.parser.description))
        yield from arguments(each.parser)
        if each.parser.epilog:
            yield from (".PP", roff_text(each.parser.epilog))
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
            text = manual_page(made, date, filled_blocks(chapter))
            pages[Path(f"man{made.section}", f"{made.name}.{made.section}")] = text
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write_pages(sys.argv[1], Path(sys.argv[2]))
