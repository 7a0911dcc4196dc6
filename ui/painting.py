"""Painters that end: one that stays alive aborts the program at the next paint of the same widget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPaintDevice, QPainter


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """Paint on a device; the painter ends with the block, even with references to it."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()
