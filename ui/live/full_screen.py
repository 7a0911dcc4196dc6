"""A window for a projector: large type, keys alone, dark, light or the projector's own colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFont, QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from ui.style import qt_palette
from ui.theme import STRONGER, Scheme, Theme
from ui.widgets.tab_order import go_as_read
from ui.widgets.texts import plain_label

SCHEMES: Final = (Scheme.DARK, Scheme.LIGHT, Scheme.PROJECTOR)
"""What one key goes through."""
STRONG_SCHEMES: Final = (Scheme.CONTRAST_DARK, Scheme.CONTRAST_LIGHT, Scheme.PROJECTOR)
"""The same where high contrast is wanted."""

_HINT_MS: Final = 8_000

Keys = Mapping[Qt.Key, Callable[[bool], None]]
"""What each key does; the argument is whether Shift is held."""


class FullScreenWindow(QWidget):
    """A window of its own; D changes the colours, H shows the keys, Esc and F11 end it.

    Attributes:
        theme: its own colours, whatever the program has.
        hint: the keys that the mode knows; hides itself after a while.

    Signals:
        closed: it was closed.
    """

    closed = Signal()

    def __init__(self, scheme: Scheme, title: str, hint: str) -> None:
        super().__init__(None)
        go_as_read(self)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # charts and numbers are all that there is
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.theme = Theme(scheme, self, high_contrast=False)
        self._schemes = STRONG_SCHEMES if scheme in STRONGER.values() else SCHEMES
        self.hint: QLabel = plain_label(_unbroken(hint), self)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self._hint_timer = QTimer(self, singleShot=True, interval=_HINT_MS)
        self._hint_timer.timeout.connect(self.hint.hide)
        self._hint_timer.start()
        self._keys: Keys = {}
        self.theme.changed.connect(self.dress)

    def listen(self, keys: Keys) -> None:
        """Do this at each key, beside what every such window does."""
        key = Qt.Key
        self._keys = {
            key.Key_D: lambda _: self.change_scheme(),
            key.Key_H: lambda _: self.hint.setVisible(self.hint.isHidden()),
            key.Key_Escape: lambda _: self._end(),
            key.Key_F11: lambda _: self._end(),
            **keys,
        }

    def change_scheme(self) -> None:
        """Go on to the next colours: dark, light, projector."""
        schemes = self._schemes
        shown = schemes.index(self.theme.scheme) if self.theme.scheme in schemes else -1
        self.theme.set_scheme(schemes[(shown + 1) % len(schemes)])

    def dress(self) -> None:
        """Fit type and colours to the screen; called whenever either changes."""
        palette = QPalette(qt_palette(self.theme.palette))
        palette.setColor(QPalette.ColorRole.Window, self.theme.background)
        self.setPalette(palette)

    def points_of(self, pixels: float) -> float:
        """Return the size of type that is so many pixels high, in points."""
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
        self.dress()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        super().closeEvent(event)


def _unbroken(hint: str) -> str:
    """Return a line of keys that is broken between two of them only, which three spaces tell apart."""
    return "   ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in hint.split("   "))
