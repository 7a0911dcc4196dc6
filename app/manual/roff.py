"""Chapters of the manual as manual pages: man(7), with no request beyond those of every implementation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app import VERSION
from app.manual.markdown import (
    CodeBlock,
    Heading,
    ListItem,
    ManualBlock,
    ManualTable,
    Paragraph,
    SpanKind,
    Spans,
    words_of,
)


def roff_text(text: str) -> str:
    """Return a text as roff takes it: nothing in it is a request or an escape."""
    line = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{line}" if line.startswith((".", "'")) else line


@dataclass(frozen=True, slots=True)
class ManualPage:
    """A manual page that is made of a chapter.

    Attributes:
        name: of the page.
        summary: what it is, without a full stop.
        section: of the manual; 5 is that of formats of files.
    """

    name: str
    summary: str
    section: int = 5


def manual_page(page: ManualPage, date: str, blocks: tuple[ManualBlock, ...]) -> str:
    """Return a page of roff.

    Args:
        page: which one.
        date: as it is shown.
        blocks: of the chapter, the title first.
    """
    head = (
        f'.TH {page.name.upper()} {page.section} "{date}" "pgFooting {VERSION}" "File Formats"',
        ".nh",  # a key that is broken at the end of a line is another key
        ".ad l",
        ".SH NAME",
        f"{roff_text(page.name)} \\- {roff_text(page.summary)}",
        ".SH DESCRIPTION",
    )
    return "\n".join([*head, *(line for block in blocks for line in _lines(block))])


def _lines(block: ManualBlock) -> Iterator[str]:
    match block:
        case Heading(level=1):
            return
        case Heading(level=2):
            yield f".SH {roff_text(words_of(block.spans).upper())}"
        case Heading():
            yield f".SS {roff_text(words_of(block.spans))}"
        case Paragraph():
            yield from (".PP", _set(block.spans))
        case ListItem():
            yield from (".IP \\(bu 2", _set(block.spans))
        case CodeBlock():
            yield from (".PP", ".nf", ".RS 4", *map(roff_text, block.text.split("\n")), ".RE", ".fi")
        case ManualTable():
            for first, *rest in block.rows:
                yield from (".TP", _set(first), _set_cells(rest))


def _set_cells(cells: list[Spans]) -> str:
    """Return the further cells of a row as sentences."""
    told = [_set(cell) for cell in cells if cell]
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in told)


def _set(spans: Spans) -> str:
    """Return pieces of text on one line; what is typed, and what is bold, is bold."""
    line = ""
    for span in spans:
        text = roff_text(span.text).removeprefix("\\&")
        line += f"\\fB{text}\\fR" if span.kind in {SpanKind.CODE, SpanKind.BOLD} else text
    return f"\\&{line}" if line.startswith((".", "'")) else line
