"""Painters end with the block in which they paint."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage

from app import TOP
from ui.theme import painting


def test_a_painter_ends_also_where_painting_fails() -> None:
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    painters = []

    def paint() -> None:
        with painting(image) as painter:
            painters.append((painter, painter.isActive()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        paint()
    ((painter, was_active),) = painters
    assert was_active
    assert not painter.isActive()
    assert not image.paintingActive()


def test_no_other_painter_is_begun() -> None:
    places = [
        path.relative_to(TOP).as_posix()
        for path in sorted((TOP / "ui").rglob("*.py"))
        if "Painter(" in path.read_text()  # QStylePainter is one as well
    ]
    assert places == ["ui/theme.py"]
