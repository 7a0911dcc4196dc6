"""The typeface that ships with the program: Inter."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtGui import QFontDatabase

from app import TOP

FONTS: Final = TOP / "resources" / "fonts"
FILES: Final = ("Inter-Regular.otf", "Inter-SemiBold.otf")
FAMILY: Final = "Inter"


def load_fonts(folder: Path = FONTS) -> Path | None:
    """Load the typeface into Qt; return the first of its files that cannot be used."""
    for name in FILES:
        if QFontDatabase.addApplicationFont(str(folder / name)) < 0:
            return folder / name
    return None
