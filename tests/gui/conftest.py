"""What holds for every test of a window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Whatever a test asks Qt for is there, in whichever order tests run: for fonts Qt aborts without it."""


@pytest.fixture
def large_type(qapp: QApplication) -> Iterator[None]:
    """Type twice as large as usual."""
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(2 * before.pointSizeF())
    qapp.setFont(font)
    yield
    qapp.setFont(before)
