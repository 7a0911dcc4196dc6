"""A window for projectors: large type, keyboard only, dark, light or projector colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFont, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from ui.style import qt_palette
from ui.theme import STRONGER, Scheme, Theme
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import wrapped_label

SCHEMES: Final = (Scheme.LIGHT, Scheme.DARK, Scheme.PROJECTOR)
"""Schemes cycled by a key."""
STRONG_SCHEMES: Final = (Scheme.CONTRAST_LIGHT, Scheme.CONTRAST_DARK, Scheme.PROJECTOR)
"""The same with high contrast."""

_HINT_MS: Final = 8_000

Keys = Mapping[Qt.Key, Callable[[bool], None]]
"""Actions by key; the argument is whether Shift is held."""


class FullScreenWindow(QWidget):
    """A full-screen window; D changes the colours, H shows the keys, Esc and F11 close it.

    Attributes:
        theme: its own colours, independent of the program's.
        hint: the available keys; hides itself after a while.

    Signals:
        closed: it was closed.
    """

    closed = Signal()

    def __init__(self, scheme: Scheme, title: str, hint: str) -> None:
        super().__init__(None)
        set_reading_tab_order(self)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it contains only charts and numbers
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.theme = Theme(scheme, self, high_contrast=False)
        self._schemes = STRONG_SCHEMES if scheme in STRONGER.values() else SCHEMES
        self.hint: QLabel = wrapped_label(_unbroken(hint), self)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint_timer = QTimer(self, singleShot=True, interval=_HINT_MS)
        self._hint_timer.timeout.connect(self.hint.hide)
        self._hint_timer.start()
        self._keys: Keys = {}
        self.theme.changed.connect(self.apply_style)

    def listen(self, keys: Keys) -> None:
        """Add key actions to those that every such window has."""
        key = Qt.Key
        self._keys = {
            key.Key_D: lambda _: self.change_scheme(),
            key.Key_H: lambda _: self.hint.setVisible(self.hint.isHidden()),
            key.Key_Escape: lambda _: self._end(),
            key.Key_F11: lambda _: self._end(),
            **keys,
        }

    def change_scheme(self) -> None:
        """Switch to the next colours: light, dark, projector."""
        schemes = self._schemes
        shown = schemes.index(self.theme.scheme) if self.theme.scheme in schemes else -1
        self.theme.set_scheme(schemes[(shown + 1) % len(schemes)])

    def apply_style(self) -> None:
        """Adapt type and colours to the screen; called after either changes."""
        palette = QPalette(qt_palette(self.theme.palette))
        palette.setColor(QPalette.ColorRole.Window, self.theme.background)
        self.setPalette(palette)

    def points_of(self, pixels: float) -> float:
        """Return the type size in points for a height in pixels."""
        return pixels * 72.0 / max(1, self.logicalDpiY())

    def sized(self, points: float, *, bold: bool = False) -> QFont:
        """Return the font for numbers in a size."""
        font = self.theme.number_font(bold=bold)
        font.setPointSizeF(points)
        return font

    def _end(self) -> None:
        self.close()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        do = self._keys.get(Qt.Key(event.key()))
        if do is None:
            super().keyPressEvent(event)
            return
        do(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.apply_style()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        super().closeEvent(event)


def _unbroken(hint: str) -> str:
    """Return a line of keys that wraps only between entries, which are separated by three spaces."""
    return "   ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in hint.split("   "))
