"""What holds for every test of a window."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Whatever a test asks Qt for is there, in whichever order tests run: for fonts Qt aborts without it."""
