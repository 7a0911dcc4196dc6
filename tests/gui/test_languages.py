"""The window in other languages: Qt's own texts speak them too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gui
TOP = Path(__file__).resolve().parents[2]

_ASK = """
from PySide6.QtWidgets import QDialogButtonBox
from ui.program.program import make_application
app = make_application()
box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
print(box.button(QDialogButtonBox.StandardButton.Cancel).text().replace("&", ""))
"""


@pytest.mark.parametrize(("language", "word"), [("en", "Cancel"), ("de", "Abbrechen"), ("cs", "Zrušit")])
def test_buttons_of_qt_speak_the_language_of_the_program(language: str, word: str) -> None:
    environment = os.environ | {"LANGUAGE": language, "QT_QPA_PLATFORM": "offscreen"}
    argv = (sys.executable, "-P", "-c", _ASK)
    environment["PYTHONPATH"] = str(TOP)
    found = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == word
