"""The typeface of the window: Inter, where the desktop names none of its own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from ui.fonts import FAMILY, FONTS, load_fonts

POINTS: Final = 9.75
"""13 pixels at 96 dots per inch: as wide as DejaVu Sans at Qt's own 9 points."""

_UNCHOSEN: Final = frozenset({"", "sans", "sans serif", "sans-serif", "system-ui"})
"""What Qt asks for where nobody chose a font: QGenericUnixTheme and its like, in qgenericunixthemes.cpp."""

_log = logging.getLogger(__name__)


def set_typeface(app: QApplication, folder: Path = FONTS) -> None:
    """Let the program be set in Inter.

    What the desktop says is respected: where its platform theme names a font (KDE's settings, GNOME's by
    way of Qt's GTK theme), family and size stay as they are; where it names none, only a larger size than
    Qt's own is kept. Glyphs that Inter has not come from the font that was there before. Files that cannot
    be read are logged and change nothing.
    """
    before = app.font()
    if before.family().lower() not in _UNCHOSEN:
        return
    if (unusable := load_fonts(folder)) is not None:
        _log.warning("%s cannot be used: the window is set in %s", unusable, before.family())
        return
    font = QFont(before)
    font.setFamilies([FAMILY, before.family()])
    font.setPointSizeF(max(POINTS, before.pointSizeF()))
    app.setFont(font)
