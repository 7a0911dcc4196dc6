"""The window in other languages: Qt's own texts speak them too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QLocale

from app.domain.text import ENGLISH, NUMBER_FORMATS, catalogue_path, languages, read_messages
from tests.fix_report import write_cases
from tests.gui.test_report_pdf import cases_of
from ui.window.commands.commands import COMMANDS

TOP = Path(__file__).resolve().parents[2]

_ASK = """
from PySide6.QtWidgets import QDialogButtonBox
from ui.program.program import make_application
app = make_application()
box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
print(box.button(QDialogButtonBox.StandardButton.Cancel).text().replace("&", ""))
"""


@pytest.mark.long
@pytest.mark.parametrize(("language", "word"), [("en", "Cancel"), ("de", "Abbrechen")])
def test_qt_buttons_translated(language: str, word: str) -> None:
    environment = os.environ | {"LANGUAGE": language, "QT_QPA_PLATFORM": "offscreen"}
    argv = (sys.executable, "-P", "-c", _ASK)
    environment["PYTHONPATH"] = str(TOP)
    found = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == word


@pytest.mark.long
def test_german_report_language_and_numbers(tmp_path: Path) -> None:
    runs = write_cases(tmp_path, cases_of("three"))
    environment = os.environ | {"LANGUAGE": "de", "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(TOP)}
    for name in ("out.pdf", "out.html"):
        argv = (sys.executable, "-P", "-m", "ui.report", "--output", str(tmp_path / name), "--")
        subprocess.run([*argv, *map(str, runs)], cwd=TOP, env=environment, check=True)
    paper = PdfReader(tmp_path / "out.pdf")
    printed = " ".join(" ".join(page.extract_text().split()) for page in paper.pages)
    page = (tmp_path / "out.html").read_text()
    shown = page.partition("</style>")[2]
    assert str(paper.root_object["/Lang"]) == "de"
    assert '<html lang="de">' in page
    assert f"Seite 1 von {len(paper.pages)}" in printed
    for words in (printed, shown):
        assert re.search(r"\b\d\.\d{3}\b", words), "thousands"
        assert re.search(r"\d,\d+ %", words)
        assert not re.findall(r"(?<![\w.])\d+\.\d{1,2}\s?(?:%|ms\b|s\b|[KMGT]iB\b)", words)


_ASK_NUMBER = """
from PySide6.QtWidgets import QDoubleSpinBox
from app.domain.text import number_text
from ui.program.program import make_application
app = make_application()
box = QDoubleSpinBox(maximum=9999, value=2.5, decimals=1)
box.lineEdit().setText(number_text(7.5, ".1f"))
box.interpretText()
print(box.text(), number_text(7.5, ".1f"), box.value())
"""


@pytest.mark.parametrize(("language", "typed"), [("en", "7.5"), ("de", "7,5")])
def test_number_fields_accept_shown_format(language: str, typed: str) -> None:
    """Whatever the system's own locale writes."""
    environment = os.environ | {"LANGUAGE": language, "LC_NUMERIC": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    environment |= {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(TOP)}
    argv = (sys.executable, "-P", "-c", _ASK_NUMBER)
    found = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [typed, typed, "7.5"]


@pytest.mark.parametrize("language", NUMBER_FORMATS)
@pytest.mark.parametrize("value", [0.986, 4058.0, -12.5, 1_234_567.891])
def test_numbers_are_written_as_qt_writes_them(language: str, value: float) -> None:
    written = QLocale(language).toString(value, "f", 3)
    assert NUMBER_FORMATS[language].write(value, ",.3f") == written.replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize("language", [name for name in languages() if name != ENGLISH])
def test_menu_shortcuts_unique_in_translation(language: str) -> None:
    messages = read_messages(catalogue_path(language).read_text(encoding="utf-8"))
    values = {each.source: each.translations[0] for each in messages if not each.is_fuzzy}
    texts = [values[command.text] for command in COMMANDS]
    keys = Counter(text.partition("&")[2][:1].casefold() for text in texts)
    assert [text for text in texts if keys[text.partition("&")[2][:1].casefold()] > 1] == []
