"""Blocks of a report put on pages: everything is measured first, so that pages know how many they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ui.report.canvas import Canvas, TextStyle

Draw = Callable[[Canvas, float, float], None]
"""Paints at (x, y) in mm."""

FOOT_MM: Final = 8.0
_WHOLE_LINES: Final = 6
"""Of a paragraph that is not parted by the end of a page."""
_HALF: Final = 0.5
"""Share of a page from which on the next chapter begins a new one: no page but the last is emptier."""
_BETWEEN_MM: Final = 5.0
"""Above a chapter that goes on on the page of another one."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A size of paper with its margins, in mm.

    Attributes:
        name: as people call it.
        width: of the sheet.
        height: of the sheet.
    """

    name: str
    width: float
    height: float
    left: float = 20.0
    right: float = 18.0
    top: float = 16.0
    bottom: float = 16.0

    @property
    def text_width(self) -> float:
        """Width between the margins."""
        return self.width - self.left - self.right

    @property
    def text_height(self) -> float:
        """Height between the margins, without the foot."""
        return self.height - self.top - self.bottom - FOOT_MM


PAPERS: Final = {"a4": Paper("A4", 210.0, 297.0), "letter": Paper("Letter", 215.9, 279.4)}
"""Sizes of paper by the word that asks for them."""


@dataclass(frozen=True, slots=True)
class Flowable:
    """What is never divided between two pages.

    Attributes:
        height: in mm, with the space below.
        draw: paints it.
        with_next: whether the next piece must begin on the same page.
        head: repeated above it where a page begins with it, such as the headings of its table.
        new_page: whether it begins one, where the one before is at least half full.
        bookmark: (text, level) of its entry in the outline.
    """

    height: float
    draw: Draw
    with_next: bool = False
    head: Flowable | None = None
    new_page: bool = False
    bookmark: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: where it leads to, `y` in mm from the top of the sheet."""

    text: str
    level: int
    page: int
    y: float


@dataclass(slots=True)
class Pages:
    """What is painted where.

    Attributes:
        placed: for each page what stands on it, with its upper edge in mm.
        bookmarks: in reading order.
    """

    placed: list[list[tuple[Flowable, float]]] = field(default_factory=lambda: [[]])
    bookmarks: list[Bookmark] = field(default_factory=list)


def gap(height: float) -> Flowable:
    """Return white space; it vanishes at the top of a page."""
    return Flowable(height, _nothing)


def _nothing(_canvas: Canvas, _x: float, _y: float) -> None:
    """White space."""


def put_on_pages(pieces: Sequence[Flowable], paper: Paper) -> Pages:
    """Return the pieces on pages, in their order."""
    pages = Pages()
    y, bottom = paper.top, paper.top + paper.text_height
    for place, piece in enumerate(pieces):
        needed = _together(pieces[place:])
        wanted = piece.new_page and y - paper.top >= _HALF * paper.text_height
        begins = y > paper.top and (wanted or y + min(needed, paper.text_height) > bottom + 1e-6)
        if piece.new_page and not begins and y > paper.top:
            y += _BETWEEN_MM
        if begins:
            pages.placed.append([])
            y = paper.top
        at_top = not pages.placed[-1]
        if at_top and piece.draw is _nothing:
            continue
        if at_top and piece.head is not None and begins:
            pages.placed[-1].append((piece.head, y))
            y += piece.head.height
        pages.placed[-1].append((piece, y))
        if piece.bookmark is not None:
            text, level = piece.bookmark
            pages.bookmarks.append(Bookmark(text, level, len(pages.placed) - 1, y))
        y += piece.height
    return pages


def _together(pieces: Iterable[Flowable]) -> float:
    """Return the height of the first piece with those that may not be parted from it."""
    height = 0.0
    for piece in pieces:
        height += piece.height
        if not piece.with_next:
            break
    return height


def paragraph(canvas: Canvas, text: str, kind: TextStyle, width: float, *, after: float) -> list[Flowable]:
    """Return the lines of a paragraph; a short one stays whole, of a long one no line stands alone."""
    lines = canvas.wrap(text, kind, width)
    inner = range(1, len(lines) - 2) if len(lines) > _WHOLE_LINES else range(0)
    return [
        Flowable(
            kind.line_mm + (after if number == len(lines) - 1 else 0.0),
            _line(line, kind),
            with_next=number < len(lines) - 1 and number not in inner,
        )
        for number, line in enumerate(lines)
    ]


def _line(text: str, kind: TextStyle) -> Draw:
    return lambda canvas, x, y: canvas.text(x, y, text, kind)
