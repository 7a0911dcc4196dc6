"""Place the blocks of a report on pages; everything is measured first, so the number of pages is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ui.report.canvas import Canvas, TextStyle

Draw = Callable[[Canvas, float, float], None]
"""Paint at (x, y) in mm."""

FOOT_MM: Final = 8.0
_WHOLE_LINES: Final = 6
"""Most lines of a paragraph that is not split between pages."""
_HALF: Final = 0.5
"""From this share of a page on, the next chapter starts a new page: only the last one may be emptier."""
_BETWEEN_MM: Final = 5.0
"""Space above a chapter that continues on the page of another one."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A size of paper with its margins, in mm.

    Attributes:
        name: as shown.
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
"""Paper sizes by name in arguments."""


@dataclass(frozen=True, slots=True)
class Flowable:
    """A piece that is never split between pages.

    Attributes:
        height: in mm, with the space below.
        draw: paints it.
        with_next: whether the next piece must start on the same page.
        head: repeated above it at the top of a page, such as the headings of its table.
        new_page: whether it starts a page if the current one is at least half full.
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
    """An entry of the outline: its target, `y` in mm from the top of the sheet."""

    text: str
    level: int
    page: int
    y: float


@dataclass(slots=True)
class Pages:
    """The result of the layout.

    Attributes:
        placed: for each page its pieces, with their upper edges in mm.
        bookmarks: in reading order.
    """

    placed: list[list[tuple[Flowable, float]]] = field(default_factory=lambda: [[]])
    bookmarks: list[Bookmark] = field(default_factory=list)


def gap(height: float) -> Flowable:
    """Return white space; it is dropped at the top of a page."""
    return Flowable(height, _nothing)


def _nothing(_canvas: Canvas, _x: float, _y: float) -> None:
    """Paint nothing."""


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
    """Return the height of the first piece with those that must stay with it."""
    height = 0.0
    for piece in pieces:
        height += piece.height
        if not piece.with_next:
            break
    return height


def paragraph(canvas: Canvas, text: str, kind: TextStyle, width: float, *, after: float) -> list[Flowable]:
    """Return the lines of a paragraph; a short one stays whole, of a long one no line is left alone."""
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
