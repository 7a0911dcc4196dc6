"""The icons of the program: Lucide's, in the colours of the theme, sharp on every screen."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Final

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QAction, QColor, QGuiApplication, QIcon, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

from app import TOP
from ui.theme import Theme, mix, painting

ICONS: Final = TOP / "resources" / "icons" / "lucide"
SMALL_ICON: Final = 16
"""Side of an icon next to text, in device-independent pixels."""
LARGE_ICON: Final = 24
"""Side of an icon without text."""

_DISABLED_SHARE: Final = 0.45


@lru_cache(maxsize=64)
def _drawing(name: str) -> bytes:
    return (ICONS / f"{name}.svg").read_bytes()


def icon_pixmap(name: str, colour: QColor, side: int, ratio: float) -> QPixmap:
    """Return an icon as an image.

    Args:
        name: of its file.
        colour: of its strokes.
        side: in device-independent pixels.
        ratio: device pixels in one of them.

    Raises:
        FileNotFoundError: there is no such icon.
    """
    drawing = _drawing(name).replace(b"currentColor", colour.name().encode("ascii"))
    pixels = round(side * ratio)
    picture = QPixmap(QSize(pixels, pixels))
    picture.fill(Qt.GlobalColor.transparent)
    with painting(picture) as painter:
        QSvgRenderer(QByteArray(drawing)).render(painter, QRectF(0, 0, pixels, pixels))
    picture.setDevicePixelRatio(ratio)
    return picture


def make_icon(
    name: str, theme: Theme, side: int = SMALL_ICON, colour: str = "text", selected: str = ""
) -> QIcon:
    """Return an icon in a colour of the theme, paler when disabled, for screens of every density.

    Args:
        name: of its file.
        theme: source of the colours.
        side: in device-independent pixels.
        colour: name of a colour of the palette.
        selected: colour in a selected row; empty for no other.
    """
    icon = QIcon()
    ink = theme.colour(colour)
    pale = mix(ink, theme.colour("window"), _DISABLED_SHARE)
    ratios = {1, 2, *(ceil(screen.devicePixelRatio()) for screen in QGuiApplication.screens())}
    for ratio in sorted(ratios):
        icon.addPixmap(icon_pixmap(name, ink, side, ratio), QIcon.Mode.Normal)
        icon.addPixmap(icon_pixmap(name, pale, side, ratio), QIcon.Mode.Disabled)
        if selected:
            drawn = icon_pixmap(name, theme.colour(selected), side, ratio)
            icon.addPixmap(drawn, QIcon.Mode.Selected)
    return icon


class _Follower(QObject):
    """Renews its parent's icon whenever the colours change; deleted with it."""

    def __init__(self, target: QAction | QAbstractButton, theme: Theme, side: int) -> None:
        super().__init__(target)
        self._target = target
        self._theme = theme
        self._side = side
        self.name = ""
        self.colour = "text"
        theme.changed.connect(self.show)

    def show(self) -> None:
        """Set the icon in the current colours."""
        icon = make_icon(self.name, self._theme, self._side, self.colour) if self.name else QIcon()
        self._target.setIcon(icon)


def set_icon(
    target: QAction | QAbstractButton,
    name: str,
    theme: Theme,
    *,
    side: int = SMALL_ICON,
    colour: str = "text",
) -> None:
    """Set an icon of an action or a button that follows the theme; an empty name removes it.

    Args:
        target: shows it.
        name: of its file in resources/icons/lucide.
        theme: source of the colours.
        side: in device-independent pixels.
        colour: name of a colour of the palette.
    """
    found = target.findChild(_Follower, options=Qt.FindChildOption.FindDirectChildrenOnly)
    follower = found if isinstance(found, _Follower) else _Follower(target, theme, side)
    if (follower.name, follower.colour) == (name, colour):
        return
    follower.name, follower.colour = name, colour
    if isinstance(target, QAbstractButton):
        target.setIconSize(QSize(side, side))
    follower.show()
