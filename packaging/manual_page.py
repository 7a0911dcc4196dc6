"""Write the manual pages of chapters that have a summary: pgfooting(1) is that of the commands.

Usage: ``python -P manual_page.py DATE FOLDER``, with the checkout on the search path and the packages it
needs. FOLDER gets man1/pgfooting.1, man5/pgfooting-campaign.5 and man5/pgfooting-run.5.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt  # rich needs it, so it is in every environment
from markdown_it.token import Token

from app import COMMAND, VERSION
from app.arguments.declared import filled_text
from app.manual.chapters import CHAPTERS, Chapter

SKIPPED: Final = {"h1": "heading_close", "thead": "thead_close"}
"""Elements that pages leave out, with the token that ends them."""

REQUESTS: Final = {"h2": ".SH", "h3": ".SS", "p": ".PP", "li": ".IP \\(bu 2", "tr": ".TP"}
"""What begins an element; those of man(7) that every implementation has."""

FONTS: Final = {"strong_open": "\\fB", "strong_close": "\\fR"}


def roff_text(text: str) -> str:
    """Return a text as roff takes it: nothing in it is a request or an escape."""
    line = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def requests(text: str) -> Iterator[str]:
    """Yield the lines of a page for a text in Markdown; cells after the first of a row are sentences."""
    end, cell = "", 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if end:
            end = "" if token.type == end else end
        elif token.nesting == 1 and token.tag in SKIPPED:
            end = SKIPPED[token.tag]
        elif token.type == "inline" and token.content:
            *lines, last = inline(token.children or ())
            yield from (*lines, f"{last}." if cell > 1 and not last.endswith((".", "!", "?")) else last)
        elif token.type == "fence":
            lines = token.content.removesuffix("\n").split("\n")
            yield from (".PP", ".nf", ".RS 4", *map(roff_text, lines), ".RE", ".fi")
        elif token.nesting == 1 and token.tag in REQUESTS and not token.hidden:
            cell = 0
            yield REQUESTS[token.tag]
        elif token.type == "td_open":
            cell += 1


def inline(children: Iterable[Token]) -> Iterator[str]:
    """Yield pieces of text on one line; what is typed, and what is bold, is bold."""
    line = ""
    for child in children:
        text = roff_text(child.content).removeprefix("\\&") or ("\n" if child.type == "softbreak" else "")
        line += f"\\fB{text}\\fR" if child.type == "code_inline" else FONTS.get(child.type, text)
    yield from (f"\\&{each}" if each.startswith((".", "'")) else each for each in line.split("\n"))


def page(chapter: Chapter, date: str) -> tuple[Path, str]:
    """Return where the page of a chapter lies below /usr/share/man, and its text."""
    is_command = chapter.id == "commands"
    name = COMMAND if is_command else f"{COMMAND}-{chapter.id}"
    section, title = (1, "User Commands") if is_command else (5, "File Formats")
    lines = (
        f'.TH {name.upper()} {section} "{date}" "pgFooting {VERSION}" "{title}"',
        ".nh",  # a key that is broken at the end of a line is another key
        ".ad l",
        ".SH NAME",
        f"{roff_text(name)} \\- {roff_text(chapter.summary)}",
        ".SH DESCRIPTION",
        *requests(filled_text(chapter)),
    )
    return Path(f"man{section}", f"{name}.{section}"), "\n".join(lines) + "\n"


def write_pages(date: str, folder: Path) -> None:
    """Write every page below a folder, as man(1) looks for them below /usr/share/man."""
    for chapter in CHAPTERS:
        if chapter.summary:
            path, text = page(chapter, date)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(sys.argv[1], Path(sys.argv[2]))
