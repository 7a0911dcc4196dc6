"""Write the program's icon as PNG files of the sizes that desktops ask for; called by packaging/deb.

Usage: ``app_icons.py SVG FOLDER``: FOLDER is a theme's, such as /usr/share/icons/hicolor. Needs PySide6.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
"""Widths in pixels: those of the hicolor theme of freedesktop.org."""


def write_icons(svg: Path, theme: Path) -> None:
    """Write SIZE x SIZE/apps/NAME.png below `theme` for every size.

    Raises:
        OSError: the SVG cannot be read as one, or a file cannot be written.
    """
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise OSError(f"{svg} is no SVG that Qt can draw")
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        path = theme / f"{size}x{size}" / "apps" / f"{svg.stem}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not image.save(str(path)):
            raise OSError(f"{path} cannot be written")


if __name__ == "__main__":
    write_icons(Path(sys.argv[1]), Path(sys.argv[2]))
