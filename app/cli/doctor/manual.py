"""`pgfooting manual [CHAPTER]`: list the chapters, or print one as Markdown, formatted on a terminal."""

from __future__ import annotations

import argparse
from typing import Final

from rich.console import Console
from rich.markdown import Markdown

from app.arguments.declared import filled_text
from app.cli.terminal.tables import print_line, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus
from app.domain.text import CALLED, tr
from app.manual.chapters import CHAPTERS, Chapter, chapter_title, find_chapter

CHAPTER_COLUMNS: Final[tuple[Column[Chapter], ...]] = (
    Column("chapter", tr("Chapter"), lambda chapter: chapter.id, CellKind.LABEL),
    Column("title", tr("Title"), chapter_title, CellKind.WORDS),
)
"""Columns of the list of chapters."""


def manual_command(arguments: argparse.Namespace) -> int:
    """List the chapters, or print one."""
    console = Console()
    if not arguments.chapter:
        print_table(console, CHAPTER_COLUMNS, CHAPTERS)
        print_line(console, "")
        hint = tr("“{command} manual CHAPTER” prints a chapter. The window has them all: Menu, Manual.")
        print_line(console, hint.format(command=CALLED))
        return ExitStatus.DONE
    text = filled_text(find_chapter(arguments.chapter))
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        console.out(text, end="", highlight=False)
    return ExitStatus.DONE
