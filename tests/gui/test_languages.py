"""The window in other languages: Qt's own texts speak them too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from app.domain.catalogue import read_messages
from app.domain.text import ENGLISH, catalogue_path, languages
from ui.window.commands.commands import COMMANDS

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


@pytest.mark.parametrize("language", [name for name in languages() if name != ENGLISH])
def test_no_two_commands_of_the_menu_share_a_key_in_a_translation(language: str) -> None:
    messages = read_messages(catalogue_path(language).read_text(encoding="utf-8"))
    told = {each.source: each.translations[0] for each in messages if not each.is_fuzzy}
    texts = [told[command.text] for command in COMMANDS]
    keys = Counter(text.partition("&")[2][:1].casefold() for text in texts)
    assert [text for text in texts if keys[text.partition("&")[2][:1].casefold()] > 1] == []
