"""PySide6 must not lose references.

From 6.12 every void call drops one reference of None, which kills Python below 3.12. The crash
(``Fatal Python error: none_dealloc``) needs minutes of painting to appear; the count shows it at once.
See the pin in pyproject.toml. From Python 3.12 None is immortal and the count says nothing (PEP 683).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from PySide6.QtGui import QColor, QImage, QPainter, QPen

CALLS = 2000

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="None and True are immortal from Python 3.12 (PEP 683)"
)


def references_lost(value: object, call: Callable[[], object]) -> int:
    """How many references of `value` are gone after CALLS calls."""
    call()  # what the first call alone creates (caches, connections) is not a loss
    before = sys.getrefcount(value)
    for _ in range(CALLS):
        call()
    return before - sys.getrefcount(value)


def test_painter_void_calls_keep_none_references() -> None:
    image = QImage(64, 64, QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    pen = QPen(QColor("black"))
    try:
        assert references_lost(None, lambda: painter.setPen(pen)) < CALLS // 10
        assert references_lost(None, lambda: painter.drawLine(0, 0, 9, 9)) < CALLS // 10
    finally:
        painter.end()
