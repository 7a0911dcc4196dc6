"""PySide6 must not lose references.

From 6.12 every void call drops one reference of None, which kills Python below 3.12. The crash
(``Fatal Python error: none_dealloc``) needs minutes of painting to appear; the count shows it at once.
See the pin in pyproject.toml. From Python 3.12 None is immortal and the count says nothing (PEP 683).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

CALLS = 2000

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="None and True are immortal from Python 3.12 (PEP 683)"
)


class _Sender(QObject):
    sent = Signal(bool)


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


def test_widget_void_calls_keep_none_references(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    assert references_lost(None, widget.update) < CALLS // 10


def test_bool_signal_keeps_true_references() -> None:
    sender = _Sender()
    received: list[int] = [0]

    def count(value: bool) -> None:  # noqa: FBT001 - the signal's signature
        received[0] += value

    sender.sent.connect(count)
    assert references_lost(True, lambda: sender.sent.emit(True)) < CALLS // 10  # noqa: FBT003
    assert received[0] == CALLS + 1
