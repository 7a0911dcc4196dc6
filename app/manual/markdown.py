"""The Markdown of the manual: a small, strict subset, read into blocks.

Headings of three levels (the first is the title), paragraphs, lists of one level, fenced code, tables with
a heading; in a line `code`, **bold**, [text](link) and a backslash before punctuation. Whatever else Markdown
has is refused, so that window, terminal and manual page show the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|#])")
_INLINE: Final = re.compile(
    r"\\(?P<escaped>[\\`*_\[\]<>|#])|`(?P<code>[^`]+)`|\*\*(?P<bold>[^*`\[]+)\*\*"
    r"|\[(?P<text>[^\]\[`*]+)\]\((?P<target>[^)\s]+)\)"
)
_STRAY: Final = re.compile(r"[`*<]|(?<!\w)_|_(?!\w)|!\[|\]\(")
_OTHER_BLOCK: Final = re.compile(r"\s|>|\d+[.)] |[*+] |=+$|-{2,}$|#|!\[|~~~")
_HEADING: Final = re.compile(r"(#{1,3}) (\S.*)")
_RULE: Final = re.compile(r"\|(?:-+\|)+")
_FENCE: Final = "```"
_ITEM: Final = "- "


class MarkdownError(ValueError):
    """A line is outside the subset; the text says which."""


class SpanKind(StrEnum):
    """How a piece of text is set."""

    PLAIN = "plain"
    CODE = "code"
    BOLD = "bold"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text.

    Attributes:
        text: as it is read, without marks.
        kind: how it is set.
        target: of a link; empty for the others.
    """

    text: str
    kind: SpanKind = SpanKind.PLAIN
    target: str = ""


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (the title) to 3."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines that are shown as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class ManualTable:
    """A table: its heading and its rows, all of the same length."""

    heading: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]


ManualBlock = Heading | Paragraph | ListItem | CodeBlock | ManualTable


def plain_markdown(text: str) -> str:
    """Return a text as Markdown in which nothing is a mark, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def marked_markdown(text: str) -> str:
    """Return a text as Markdown, on one line, in which code between backquotes is the only mark."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return plain_markdown(text)
    return "".join(f"`{part}`" if at % 2 else _SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))


def markdown_table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a table of cells that are Markdown."""
    rule = f"|{'---|' * len(heading)}"
    return "\n".join((_row(heading), rule, *map(_row, rows)))


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def words_of(spans: Spans) -> str:
    """Return the text of spans without marks."""
    return "".join(span.text for span in spans)


def anchor_of(heading: str) -> str:
    """Return how a link names a heading: its words in small letters, joined by hyphens."""
    return "-".join(re.findall(r"[\w.]+", heading.lower()))


def read_markdown(text: str) -> tuple[ManualBlock, ...]:
    """Return the blocks of a text.

    Raises:
        MarkdownError: a line is outside the subset.
    """
    return tuple(_blocks(text.split("\n")))


def _blocks(lines: list[str]) -> Iterator[ManualBlock]:
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line:
            place += 1
        elif line.startswith(_FENCE):
            taken = list(takewhile(lambda each: each != _FENCE, lines[place + 1 :]))
            if place + 1 + len(taken) >= len(lines) or (line != _FENCE and not line[3:].isalpha()):
                raise MarkdownError(f"{line!r} opens code that is never closed")
            yield CodeBlock("\n".join(taken))
            place += len(taken) + 2
        elif found := _HEADING.fullmatch(line):
            yield Heading(len(found[1]), read_spans(found[2]))
            place += 1
        else:
            taken = list(takewhile(lambda each: each and not each.startswith(_FENCE), lines[place:]))
            yield from _running(taken)
            place += len(taken)


def _running(lines: list[str]) -> Iterator[ManualBlock]:
    """Yield what lines without a blank one between them are: a table, a list or a paragraph."""
    if lines[0].startswith("|"):
        yield _grid(lines)
    elif lines[0].startswith(_ITEM):
        for item in _items(lines):
            yield ListItem(read_spans(item))
    else:
        for line in lines:
            if _OTHER_BLOCK.match(line) or line.startswith((_ITEM, "|")):
                raise MarkdownError(f"{line!r} is no line of a paragraph")
        yield Paragraph(read_spans(" ".join(lines)))


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if line.startswith(_ITEM):
            items.append(line[2:])
        elif line.startswith("  ") and not _OTHER_BLOCK.match(line[2:]) and not line[2:].startswith(_ITEM):
            items[-1] += line[1:]
        else:
            raise MarkdownError(f"{line!r} is no line of an item")
    return items


def _grid(lines: list[str]) -> ManualTable:
    if len(lines) < 3 or not _RULE.fullmatch(lines[1]):
        raise MarkdownError(f"{lines[0]!r} is no heading of a table with rows")
    cells = [_cells(line) for number, line in enumerate(lines) if number != 1]
    for row, line in zip(cells, (lines[0], *lines[2:]), strict=True):
        if len(row) != lines[1].count("|") - 1:
            raise MarkdownError(f"{line!r} has another number of cells than the heading")
    return ManualTable(cells[0], tuple(cells[1:]))


def _cells(line: str) -> tuple[Spans, ...]:
    if not line.startswith("| ") or not line.endswith(" |"):
        raise MarkdownError(f"{line!r} is no row of a table")
    return tuple(read_spans(cell.strip()) for cell in re.split(r"(?<!\\)\|", line[1:-1]))


def read_spans(text: str) -> Spans:
    """Return the pieces of a line.

    Raises:
        MarkdownError: it has a mark outside the subset.
    """
    spans: list[Span] = []
    end = 0
    for found in _INLINE.finditer(text):
        _add_plain(spans, text[end : found.start()], text)
        end = found.end()
        match found.lastgroup:
            case "escaped":
                _join(spans, found["escaped"])
            case "code":
                spans.append(Span(found["code"], SpanKind.CODE))
            case "bold":
                _refuse_marks(found["bold"], text)
                spans.append(Span(found["bold"], SpanKind.BOLD))
            case _:
                spans.append(Span(found["text"], SpanKind.LINK, found["target"]))
    _add_plain(spans, text[end:], text)
    return tuple(spans)


def _add_plain(spans: list[Span], piece: str, whole: str) -> None:
    _refuse_marks(piece, whole)
    if piece:
        _join(spans, piece)


def _refuse_marks(piece: str, whole: str) -> None:
    if found := _STRAY.search(piece):
        raise MarkdownError(f"{found[0]!r} in {whole!r} is a mark outside the subset")


def _join(spans: list[Span], piece: str) -> None:
    """Add plain text, to the piece before where that is plain too."""
    if spans and spans[-1].kind is SpanKind.PLAIN:
        piece = spans.pop().text + piece
    spans.append(Span(piece))
