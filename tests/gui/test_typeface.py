from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QFontMetricsF, QRawFont
from PySide6.QtWidgets import QApplication

from app import TOP
from ui.program.program import POINTS, set_typeface
from ui.style import FAMILY, FILES, FONTS

FROM_OTHER_FONTS = set("─│├└▸▾◂✔✕✘")
"""Signs of terminals, and triangles of a few buttons: every font of a desktop has them."""


@pytest.fixture
def application(qapp: QApplication) -> Iterator[QApplication]:
    before = QFont(qapp.font())
    yield qapp
    qapp.setFont(before)
    QFontDatabase.removeAllApplicationFonts()


def written() -> set[str]:
    """Return every character of the program's texts and of its translations."""
    files = [*(TOP / "app").rglob("*.py"), *(TOP / "ui").rglob("*.py")]
    files += (TOP / "resources" / "translations").rglob("*.po")
    return {sign for file in files for sign in file.read_text() if sign.isprintable() and sign != " "}


def test_inter_where_desktop_names_no_font(application: QApplication) -> None:
    application.setFont(QFont("Sans Serif", 9))
    set_typeface(application)
    assert QFontInfo(application.font()).family() == FAMILY
    assert application.font().pointSizeF() == POINTS
    bold = QFont(application.font())
    bold.setBold(True)
    drawn = QRawFont.fromFont(bold)
    assert (drawn.familyName(), drawn.styleName()) == (FAMILY, "Bold"), "a real bold, no smeared one"


def test_the_font_that_a_desktop_names_stays(application: QApplication) -> None:
    application.setFont(QFont("Cantarell", 11))
    set_typeface(application)
    assert application.font().family() == "Cantarell"
    assert application.font().pointSizeF() == 11


def test_a_larger_size_stays(application: QApplication) -> None:
    application.setFont(QFont("Sans Serif", 14))
    set_typeface(application)
    assert application.font().pointSizeF() == 14


def test_digits_are_tabular_by_default(application: QApplication) -> None:
    application.setFont(QFont("Sans Serif", 9))
    set_typeface(application)
    metrics = QFontMetricsF(application.font())
    assert {metrics.horizontalAdvance(digit) for digit in "0123456789"} == {metrics.horizontalAdvance("0")}


def test_font_supports_all_written_characters(application: QApplication) -> None:
    application.setFont(QFont("Sans Serif", 9))
    set_typeface(application)
    for bold in (False, True):
        font = QFont(application.font())
        font.setBold(bold)
        drawn = QRawFont.fromFont(font)
        missing = {sign for sign in written() if not drawn.supportsCharacter(ord(sign))}
        assert missing <= FROM_OTHER_FONTS, "put them into the font, or say why not"
        assert all(drawn.supportsCharacter(ord(sign)) for sign in "€→≤≥−·…×±üß„“řšěŽłéåñ")  # noqa: RUF001


def test_missing_font_files_keep_font(
    application: QApplication, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    application.setFont(QFont("Sans Serif", 9))
    with caplog.at_level(logging.WARNING):
        set_typeface(application, tmp_path)
    assert application.font().family() == "Sans Serif"
    assert "Inter-Regular.otf cannot be used" in caplog.text
    caplog.clear()


def test_the_licence_travels_with_the_fonts() -> None:
    assert {file.name for file in FONTS.iterdir()} == {*FILES, "OFL.txt", "README.md"}
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FONTS / "OFL.txt").read_text()
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    assert "resources/fonts/OFL.txt" in project["license-files"]
