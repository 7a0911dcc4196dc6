"""A painter in millimetres for any device: a page of a PDF, an SVG, a picture.

Text keeps its size in points, lines keep their width in millimetres. Nothing is transparent or a bitmap: a
PDF made here contains only lines and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetricsF, QPaintDevice, QPainter, QPen
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.charts.painting.painting import paint_sample
from ui.charts.painting.sheet_painting import put_warning_sign, wrap_text
from ui.style import FAMILY, load_fonts
from ui.theme import PALETTES, SMALL, STYLES, Appearance, Palette, Scheme

Array = NDArray[np.float64]

MM_PER_INCH: Final = 25.4
MM_PER_POINT: Final = MM_PER_INCH / 72
MM_PER_PIXEL: Final = MM_PER_INCH / 96
"""Millimetres per pixel of the window's figures."""
_LEAST_PIXELS: Final = 8
_LEADING: Final = 1.32
_ASCENT: Final = 1.0
_ROUNDING_MM: Final = 0.05

_SYSTEM_SANS: Final = (
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Arimo",
    "FreeSans",
    "Arial",
    "Helvetica",
)
_MONO: Final = ("DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Cousine", "FreeMono", "Courier New")
"""Fonts with one weight per file, which PDF embeds as they are; a desktop's own font may be a variable one.

Text uses the typeface of the program, unless the output only names its font instead of embedding it, as an
SVG does.
"""

PAPER: Final[Palette] = PALETTES[Scheme.PRINT]


class NoFontError(FootingError):
    """This machine has no font."""

    code = "no-font"


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The style of a text.

    Attributes:
        points: its size.
        bold: whether it is bold.
        mono: whether it is monospaced.
        colour: name of a colour of the palette.
    """

    points: float = 10.0
    bold: bool = False
    mono: bool = False
    colour: str = "text"

    @property
    def line_mm(self) -> float:
        """Height of a line."""
        return self.points * MM_PER_POINT * _LEADING


def font_families(*, carries_fonts: bool = True) -> tuple[str, str]:
    """Return the families for text and for commands.

    Args:
        carries_fonts: whether the output embeds the shapes of letters, and so allows any font.

    Raises:
        NoFontError: this machine has no font.
    """
    known = set(QFontDatabase.families())
    if not known:
        message = tr("This machine has no font, so the report would be unreadable.")
        raise NoFontError(message, hint=tr("Install one, on Debian with: apt install fonts-dejavu-core"))
    fallback = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    sans = next((name for name in _SYSTEM_SANS if name in known), fallback)
    if carries_fonts and (FAMILY in known or load_fonts() is None):
        sans = FAMILY
    return sans, next((name for name in _MONO if name in known), fixed)


def colour(name: str) -> QColor:
    """Return a colour for paper by its name in the palette."""
    return QColor(getattr(PAPER, name))


class Canvas:
    """Measure and paint; a painter is needed only for painting.

    Attributes:
        dots: device dots per millimetre.
        painter: set at the start of a page.
        words: collects every painted text; None to not collect.
    """

    def __init__(
        self, device: QPaintDevice, painter: QPainter | None = None, *, carries_fonts: bool = True
    ) -> None:
        self._device = device
        self.painter = painter
        self.words: list[str] | None = None
        self.dots = device.logicalDpiX() / MM_PER_INCH
        self._sans, self._mono = font_families(carries_fonts=carries_fonts)
        self._fonts: dict[TextStyle, tuple[QFont, QFontMetricsF]] = {}
        self._widths: dict[tuple[TextStyle, str], float] = {}

    # Text

    def plain_font(self, kind: TextStyle) -> QFont:
        """Return the font of a text."""
        return self._font(kind)[0]

    def _font(self, kind: TextStyle) -> tuple[QFont, QFontMetricsF]:
        if kind not in self._fonts:
            font = QFont(self._mono if kind.mono else self._sans)
            font.setPointSizeF(kind.points)
            font.setBold(kind.bold)
            font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
            font.setKerning(False)  # one run of glyphs per text, so that copied text has no odd spaces
            # No ligatures, which searches do not find, and not Inter's alternative hyphens and brackets
            # between digits, which a PDF cannot map to letters: "-0.9 %" would be copied as " 0.9 %".
            font.setStyleStrategy(QFont.StyleStrategy.PreferNoShaping)
            self._fonts[kind] = font, QFontMetricsF(font, self._device)
        return self._fonts[kind]

    def width(self, text: str, kind: TextStyle) -> float:
        """Return the width of a text in mm."""
        key = (kind, text)
        if key not in self._widths:
            self._widths[key] = self._font(kind)[1].horizontalAdvance(text) / self.dots
        return self._widths[key]

    def elide(self, text: str, kind: TextStyle, width: float) -> str:
        """Return a text shortened in the middle to fit: starts and ends distinguish names."""
        if self.width(text, kind) <= width + _ROUNDING_MM:
            return text
        return self._font(kind)[1].elidedText(text, Qt.TextElideMode.ElideMiddle, width * self.dots)

    def wrap(self, text: str, kind: TextStyle, width: float, lines: int | None = None) -> list[str]:
        """Return a text in lines that fit; only words wider than a line are broken.

        Args:
            text: one paragraph.
            kind: its style.
            width: in mm.
            lines: most lines; the last one has the shortened rest.
        """
        width += _ROUNDING_MM
        return wrap_text(
            text,
            lambda part: self.width(part, kind),
            lambda part: self.elide(part, kind, width),
            width,
            lines,
        )

    def text(self, x: float, y: float, text: str, kind: TextStyle, *, right: bool = False) -> None:
        """Write one line; y is its upper edge, x its left edge, or its right one."""
        if not text:
            return
        painter = self._painter()
        painter.setFont(self._font(kind)[0])
        painter.setPen(colour(kind.colour))
        left = x - self.width(text, kind) if right else x
        base = y + kind.points * MM_PER_POINT * _ASCENT
        painter.drawText(QPointF(left * self.dots, base * self.dots), text)
        if self.words is not None:
            self.words.append(text)

    # Lines and areas

    def _painter(self) -> QPainter:
        if self.painter is None:
            raise RuntimeError("no page was begun")
        return self.painter

    def rule(
        self, x1: float, y1: float, x2: float, y2: float, name: str = "grid", width: float = 0.15
    ) -> None:
        """Draw a straight line."""
        painter = self._painter()
        painter.setPen(QPen(colour(name), width * self.dots, c=Qt.PenCapStyle.FlatCap))
        painter.drawLine(QLineF(x1 * self.dots, y1 * self.dots, x2 * self.dots, y2 * self.dots))

    def area(self, x: float, y: float, width: float, height: float, ground: QColor) -> None:
        """Fill a rectangle."""
        self._painter().fillRect(
            QRectF(x * self.dots, y * self.dots, width * self.dots, height * self.dots), ground
        )

    def pixels(self, x: float, y: float, paint: Callable[[QPainter], object], words: str = "") -> None:
        """Paint in pixels of the window, as there, with the origin at (x, y).

        Args:
            x: in mm.
            y: in mm.
            paint: paints.
            words: the text in it.
        """
        painter, scale = self._painter(), MM_PER_PIXEL * self.dots
        painter.save()
        painter.translate(x * self.dots, y * self.dots)
        painter.scale(scale, scale)
        paint(painter)
        painter.restore()
        if self.words is not None and words:
            self.words.append(words)

    def warning_sign(self, x: float, y: float, size: float) -> None:
        """Draw a triangle with an exclamation mark, the size of a letter."""
        theme = PaperAppearance(self)
        self.pixels(x, y, lambda painter: put_warning_sign(painter, theme, QPointF(), size / MM_PER_PIXEL))

    def sample(self, look: int, x: float, y: float, width: float) -> None:
        """Draw a short piece of a configuration's line."""
        area = QRectF(0, -1, width / MM_PER_PIXEL, 2)
        line = PaperAppearance(self).line_look(look)
        self.pixels(x, y, lambda painter: paint_sample(painter, area, line[0], line[1], 2, line[2]))


class PaperAppearance(Appearance):
    """Colours and fonts of paper for a figure of the window, with pixels of 1/96 inch."""

    stall_opacity = 1.0

    def __init__(self, canvas: Canvas, pixels: int = 11, row_gap: float = SMALL) -> None:
        """Use the typeface of a canvas.

        Args:
            canvas: the target.
            pixels: height of normal letters.
            row_gap: see `Appearance`.
        """
        self._font = canvas.plain_font(TextStyle())
        self._pixels = pixels
        self.row_gap = row_gap

    @property
    @override
    def palette(self) -> Palette:
        return PAPER

    def line_look(self, look: int) -> tuple[QColor, Qt.PenStyle, int]:
        """Return colour, style and mark of a configuration's line: two are different without colours too."""
        mark, style = divmod(look, len(STYLES))
        return self.series_colour(look), STYLES[style], mark

    @override
    def font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        font = QFont(self._font)
        font.setPixelSize(max(_LEAST_PIXELS, round(self._pixels * scale)))
        font.setBold(bold)
        return font

    @override
    def number_font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        return self.font(scale, bold=bold)  # in a PDF, tabular digits would be other letters


# Place the blocks of a report on pages; everything is measured first, so the number of pages is known.


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
