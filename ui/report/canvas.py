"""A painter in millimetres for any device: a page of a PDF, an SVG, a picture.

Text keeps its size in points, lines keep their width in millimetres. Nothing is transparent or a bitmap: a
PDF made here contains only lines and text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QPaintDevice,
    QPainter,
    QPen,
    QPolygonF,
)
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.charts.figures.bars import BarFigure
from ui.charts.painting.sheet_painting import put_warning_sign, wrap_text
from ui.font_features import set_features
from ui.fonts import FAMILY, load_fonts
from ui.theme import PALETTES, SERIES, SMALL, Appearance, Palette, Scheme

Array = NDArray[np.float64]

MM_PER_INCH: Final = 25.4
MM_PER_POINT: Final = MM_PER_INCH / 72
MM_PER_PIXEL: Final = MM_PER_INCH / 96
"""Millimetres per pixel of the window's figures."""
_LEAST_PIXELS: Final = 8
_LEADING: Final = 1.32
_ASCENT: Final = 1.0
_LONE_MM: Final = 0.8
_ROUNDING_MM: Final = 0.05
_EXACT_FROM: Final = 20.0
"""From this resolution on, in dots per millimetre, whole dots are as good as fractions, and shorter in a
file.
"""

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

_STROKES: Final = (
    (),
    (2.6, 0.9),
    (0.7, 0.7),
    (2.6, 0.8, 0.6, 0.8),
    (1.3, 0.6),
    (3.4, 0.6, 0.6, 0.6, 0.6, 0.6),
)
"""Strokes and gaps of lines in mm, to distinguish lines without colours."""

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
        message = tr("There is no font on this machine: nothing could be read in the report.")
        raise NoFontError(message, hint=tr("Install one; on Debian: apt install fonts-dejavu-core"))
    fallback = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    sans = next((name for name in _SYSTEM_SANS if name in known), fallback)
    if carries_fonts and (FAMILY in known or load_fonts() is None):
        sans = FAMILY
    return sans, next((name for name in _MONO if name in known), fixed)


def colour(name: str) -> QColor:
    """Return a colour for paper by its name in the palette."""
    return QColor(getattr(PAPER, name))


def series_colour(look: int) -> QColor:
    """Return the colour of a configuration."""
    return QColor(PAPER.series[look % SERIES])


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
            # between
            # digits, which a PDF cannot map to letters: "-0.9 %" would be copied as " 0.9 %".
            set_features(font, {"liga": 0, "calt": 0})
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
        self.stroke(x1, y1, x2, y2, self.pen(colour(name), width))

    def stroke(self, x1: float, y1: float, x2: float, y2: float, pen: QPen) -> None:
        """Draw a straight line with a pen of `pen`."""
        painter = self._painter()
        painter.setPen(pen)
        painter.drawLine(QLineF(x1 * self.dots, y1 * self.dots, x2 * self.dots, y2 * self.dots))

    def area(self, x: float, y: float, width: float, height: float, ground: QColor) -> None:
        """Fill a rectangle."""
        self._painter().fillRect(
            QRectF(x * self.dots, y * self.dots, width * self.dots, height * self.dots), ground
        )

    def pen(self, ink: QColor, width: float, strokes: int = 0) -> QPen:
        """Return a pen of `width` mm with the strokes of this number, 0 for a solid line."""
        pen = QPen(ink, width * self.dots, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        pattern = _STROKES[strokes % len(_STROKES)]
        if pattern:
            pen.setDashPattern([part / width for part in pattern])
        return pen

    def curve(self, xs: Array, ys: Array, pen: QPen) -> None:
        """Draw a line through points."""
        painter = self._painter()
        painter.setPen(pen)
        right, down = xs * self.dots, ys * self.dots
        if self.dots >= _EXACT_FROM:
            right, down = np.rint(right), np.rint(down)
        points = [QPointF(*point) for point in zip(right.tolist(), down.tolist(), strict=True)]
        if len(points) == 1:  # a single second between gaps, or the only one
            half = QPointF(_LONE_MM / 2 * self.dots, 0)
            pen.setStyle(Qt.PenStyle.SolidLine)
            painter.setPen(pen)
            painter.drawLine(QLineF(points[0] - half, points[0] + half))
        else:
            painter.drawPolyline(QPolygonF(points))

    def warning_sign(self, x: float, y: float, size: float) -> None:
        """Draw a triangle with an exclamation mark, the size of a letter."""
        at = QPointF(x * self.dots, y * self.dots)
        put_warning_sign(self._painter(), PaperAppearance(self), at, size * self.dots)

    def figure(self, figure: BarFigure, theme: PaperAppearance, x: float, y: float, size: QSizeF) -> None:
        """Paint a figure of the window with its upper left corner at (x, y); `size` is in pixels."""
        painter, scale = self._painter(), MM_PER_PIXEL * self.dots
        painter.save()
        painter.translate(x * self.dots, y * self.dots)
        painter.scale(scale, scale)
        figure.paint(painter, size, theme)
        painter.restore()
        if self.words is not None:
            self.words.append(figure.accessible_text())


class PaperAppearance(Appearance):
    """Colours and fonts of paper for a figure of the window, with pixels of 1/96 inch."""

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

    @override
    def font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        font = QFont(self._font)
        font.setPixelSize(max(_LEAST_PIXELS, round(self._pixels * scale)))
        font.setBold(bold)
        return font

    @override
    def number_font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        return self.font(scale, bold=bold)  # in a PDF, tabular digits would be other letters
