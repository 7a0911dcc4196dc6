"""Colours, fonts and distances of every page, chart and report: one palette for light, dark and paper.

The colours of lines began as Okabe and Ito's ("Color Universal Design", 2008) and were moved until each has a
contrast of 3:1 to its background (WCAG 2.2, 1.4.11) and any two are 17 apart in CIELAB for protanopes and
deuteranopes, 28 for all others; the tests compute both. A colour is a configuration; from the ninth one on
its lines have a mark as well. Dashes distinguish curves of one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPaintDevice, QPainter
from typing_extensions import override

TINY: Final = 4
SMALL: Final = 8
MEDIUM: Final = 12
LARGE: Final = 24
"""Distances in device-independent pixels."""

SERIES: Final = 8
_PALE_SHARE: Final = 0.3


class Scheme(StrEnum):
    """The medium."""

    LIGHT = "light"
    DARK = "dark"
    PRINT = "print"
    PROJECTOR = "projector"
    CONTRAST_LIGHT = "contrast-light"
    CONTRAST_DARK = "contrast-dark"


@dataclass(frozen=True, slots=True)
class Palette:
    """All colours of a scheme, opaque, as #rrggbb.

    Attributes:
        background: of charts and lists.
        window: around them.
        text: of normal text.
        muted: of secondary text: units, axes, hints.
        grid: lines of the grid.
        frame: edges of charts and boxes.
        accent: selection and focus.
        warning: important words and marks: unsafe, stalled, incomplete.
        good: success.
        stall: background of seconds without transactions.
        checkpoint: mark of a checkpoint.
        warm_up: background of seconds that do not count.
        box: background of the crosshair's box.
        series: of lines.
    """

    background: str
    window: str
    text: str
    muted: str
    grid: str
    frame: str
    accent: str
    warning: str
    good: str
    stall: str
    checkpoint: str
    warm_up: str
    box: str
    series: tuple[str, ...]


_DARK_ENOUGH: Final = (
    "#0063b2",
    "#e36000",
    "#009064",
    "#b84f8e",
    "#9a4900",
    "#2992c3",
    "#892229",
    "#5a5a5a",
)

_LIGHT_ENOUGH: Final = (
    "#4d95e0",
    "#ee7b54",
    "#31c585",
    "#e08abb",
    "#d9ac3f",
    "#8fcdf5",
    "#ca469f",
    "#b4cebc",
)

PALETTES: Final = {
    Scheme.LIGHT: Palette(
        background="#ffffff",
        window="#f4f4f2",
        text="#1d1f21",
        muted="#62676c",
        grid="#e6e7e8",
        frame="#c6c9cc",
        accent="#0067a5",
        warning="#b3261e",
        good="#1d7044",
        stall="#f8dcd8",
        checkpoint="#8f949a",
        warm_up="#f3f3f1",
        box="#fbfbfa",
        series=_DARK_ENOUGH,
    ),
    Scheme.DARK: Palette(
        background="#191b1e",
        window="#232629",
        text="#e8eaec",
        muted="#9aa1a8",
        grid="#2d3135",
        frame="#454b51",
        accent="#5fb0e8",
        warning="#ff8a7d",
        good="#6fcf97",
        stall="#4a2624",
        checkpoint="#7b838a",
        warm_up="#202327",
        box="#24282c",
        series=_LIGHT_ENOUGH,
    ),
    Scheme.PRINT: Palette(
        background="#ffffff",
        window="#ffffff",
        text="#000000",
        muted="#444444",
        grid="#dddddd",
        frame="#888888",
        accent="#000000",
        warning="#a00000",
        good="#005522",
        stall="#f2d9d5",
        checkpoint="#777777",
        warm_up="#f4f4f4",
        box="#ffffff",
        series=_DARK_ENOUGH,
    ),
    Scheme.PROJECTOR: Palette(  # its black is the wall of the room: nothing pale survives, and no grey text
        background="#ffffff",
        window="#ffffff",
        text="#000000",
        muted="#333333",
        grid="#d0d0d0",
        frame="#666666",
        accent="#004a8f",
        warning="#b00000",
        good="#005522",
        stall="#f2b8b0",
        checkpoint="#555555",
        warm_up="#eeeeee",
        box="#ffffff",
        series=_DARK_ENOUGH,
    ),
    Scheme.CONTRAST_LIGHT: Palette(
        background="#ffffff",
        window="#ffffff",
        text="#000000",
        muted="#333333",
        grid="#c4c4c4",
        frame="#595959",
        accent="#00539f",
        warning="#8f0000",
        good="#00501f",
        stall="#f2b8b0",
        checkpoint="#555555",
        warm_up="#f7f7f7",
        box="#ffffff",
        series=(
            "#5c46e1",
            "#a86700",
            "#007337",
            "#b531b5",
            "#81310c",
            "#036780",
            "#33182e",
            "#635d5e",
        ),
    ),
    Scheme.CONTRAST_DARK: Palette(
        background="#000000",
        window="#000000",
        text="#ffffff",
        muted="#d0d0d0",
        grid="#4a4a4a",
        frame="#a6a6a6",
        accent="#4fa3f7",
        warning="#ff9c91",
        good="#7fe0a6",
        stall="#5c1d19",
        checkpoint="#b0b0b0",
        warm_up="#101010",
        box="#000000",
        series=_LIGHT_ENOUGH,
    ),
}

STRONGER: Final = {Scheme.LIGHT: Scheme.CONTRAST_LIGHT, Scheme.DARK: Scheme.CONTRAST_DARK}
"""Schemes for high contrast: text has 7:1 (WCAG 2.2, 1.4.6), lines 4.5:1."""

STYLES: Final = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)
"""Styles of the curves of one run, by their number."""

_SHADES: Final = (("text", 0.55), ("background", 0.6))
"""Colours to mix with for curves beyond the fourth, and the share that stays."""


def mix(colour: QColor, ground: QColor, share: float) -> QColor:
    """Return an opaque colour: `share` of the first, the rest of the second."""
    return QColor(_mixed(colour.rgb(), ground.rgb(), share))


@lru_cache(maxsize=256)
def _mixed(colour: int, ground: int, share: float) -> int:
    """Return the mix of two colours, 0xRRGGBB; cached, because every line needs it at each change."""
    parts = ((colour >> shift & 255, ground >> shift & 255) for shift in (16, 8, 0))
    red, green, blue = (round(share * one + (1 - share) * other) for one, other in parts)
    return red << 16 | green << 8 | blue


def wants_high_contrast() -> bool:
    """Return whether the desktop wants high contrast, as far as Qt reports it (6.10 and newer)."""
    hints = QGuiApplication.styleHints()
    if not hasattr(hints, "accessibility"):
        return False
    preference: Qt.ContrastPreference = hints.accessibility().contrastPreference()
    return preference is Qt.ContrastPreference.HighContrast


class Appearance:
    """Colours, fonts and distances of what is painted: on the screen (`Theme`) or on paper."""

    row_gap: float = SMALL
    """Least distance of the lines of text in rows, in device-independent pixels."""
    stall_opacity: float = 0.75
    """Of the background of stalls, 0 to 1: what it covers stays visible."""

    @property
    def palette(self) -> Palette:
        """All colours."""
        raise NotImplementedError

    def colour(self, name: str) -> QColor:
        """Return a colour of the palette by the name of its attribute."""
        return QColor(getattr(self.palette, name))

    @property
    def text(self) -> QColor:
        """Colour of normal text."""
        return self.colour("text")

    @property
    def muted(self) -> QColor:
        """Colour of secondary text."""
        return self.colour("muted")

    @property
    def background(self) -> QColor:
        """Background of charts and lists."""
        return self.colour("background")

    @property
    def grid(self) -> QColor:
        """Colour of the lines of a grid."""
        return self.colour("grid")

    @property
    def warning(self) -> QColor:
        """Colour of important words and marks."""
        return self.colour("warning")

    def series_colour(self, index: int) -> QColor:
        """Return the colour of configuration number `index`; the ninth has the first's, with a mark."""
        return QColor(self.palette.series[index % SERIES])

    @staticmethod
    def series_mark(index: int) -> int:
        """Return the number of the mark that distinguishes configurations of the same colour; 0 for none."""
        return index // SERIES

    def shade(self, colour: QColor, number: int) -> QColor:
        """Return a shade of a configuration's colour, for one of many curves; 0 is the colour itself."""
        if not number:
            return colour
        ground, share = _SHADES[(number - 1) % len(_SHADES)]
        return mix(colour, self.colour(ground), share)

    def pale(self, colour: QColor, share: float = _PALE_SHARE) -> QColor:
        """Return a pale colour: opaque, which paints ten times as fast as alpha."""
        return mix(colour, self.colour("background"), share)

    def font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        """Return the program's font, larger or smaller; follows the system's size."""
        font = QFont(QGuiApplication.font())
        font.setPointSizeF(max(6.0, font.pointSizeF() * scale))
        font.setBold(bold)
        return font

    def number_font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        """Return a font with digits of equal width, for numbers that change."""
        font = self.font(scale, bold=bold)
        if hasattr(QFont.Tag, "fromString"):  # PySide6 before 6.8.3 cannot create a tag from a text
            font.setFeature(QFont.Tag("tnum"), 1)
        return font


class Theme(Appearance, QObject):
    """The colours of one program; follows the system unless a scheme or a contrast is set.

    Signals:
        changed: the colours have changed.
    """

    changed = Signal()

    def __init__(
        self,
        scheme: Scheme | None = None,
        parent: QObject | None = None,
        *,
        high_contrast: bool | None = None,
    ) -> None:
        """Create the theme.

        Args:
            scheme: None for the system's.
            parent: Qt's.
            high_contrast: None for the system's.
        """
        super().__init__(parent)
        self._asked = scheme
        self._asked_contrast = high_contrast
        self._system = QGuiApplication.styleHints().colorScheme()
        self._scheme = self._find_scheme()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_system_scheme_changed)
        if hasattr(QGuiApplication.styleHints(), "accessibility"):
            hints = QGuiApplication.styleHints().accessibility()
            hints.contrastPreferenceChanged.connect(self._update)

    @property
    def scheme(self) -> Scheme:
        """The current scheme."""
        return self._scheme

    @property
    @override
    def palette(self) -> Palette:
        """All colours of the scheme."""
        return PALETTES[self._scheme]

    def set_scheme(self, scheme: Scheme | None) -> None:
        """Set a scheme, or the system's with None."""
        self._asked = scheme
        self._update()

    def set_high_contrast(self, high_contrast: bool | None) -> None:  # noqa: FBT001 - a setter
        """Set high contrast on or off, or the system's with None."""
        self._asked_contrast = high_contrast
        self._update()

    def fixed_font(self, scale: float = 1.0) -> QFont:
        """Return a font for commands and logs."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(max(6.0, self.font(scale).pointSizeF()))
        return font

    def _find_scheme(self) -> Scheme:
        scheme = Scheme.DARK if self._system is Qt.ColorScheme.Dark else Scheme.LIGHT
        if self._asked is not None:
            scheme = self._asked
        wanted = wants_high_contrast() if self._asked_contrast is None else self._asked_contrast
        return STRONGER.get(scheme, scheme) if wanted else scheme

    def _on_system_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        self._system = scheme
        self._update()

    def _update(self, *_: object) -> None:
        scheme = self._find_scheme()
        if scheme is not self._scheme:
            self._scheme = scheme
            self.changed.emit()


# Painters that end: one that stays alive aborts the program at the next paint of the same widget.


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """Paint on a device; the painter ends with the block, even with references to it."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()
