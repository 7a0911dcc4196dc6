"""The manual in the window: every chapter is shown, links lead on, all of them are searched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.arguments.declared import build_parser
from app.manual.chapters import CHAPTERS, chapter_title
from app.manual.markdown import anchor_of
from ui.race.window import HINT
from ui.theme import Scheme, Theme
from ui.window.commands.manual_window import ManualWindow
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import open_settings

OpenWindow = Callable[..., MainWindow]


@pytest.fixture
def theme() -> Theme:
    return Theme(Scheme.LIGHT)


@pytest.fixture
def manual(qtbot: QtBot, theme: Theme) -> ManualWindow:
    made = ManualWindow(theme)
    qtbot.addWidget(made)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    made.resize(1280, 800)
    made.show()
    return made


def shown_chapter(manual: ManualWindow) -> str:
    return CHAPTERS[manual.chapters.currentRow()].id


def test_chapters_shown_without_markdown_marks(manual: ManualWindow) -> None:
    for row, chapter in enumerate(CHAPTERS):
        manual.chapters.setCurrentRow(row)
        output = manual.text.toPlainText()
        assert output.startswith(chapter_title(chapter))
        assert "**" not in output
        assert "|---" not in output


def test_link_to_heading_in_other_chapter(manual: ManualWindow) -> None:
    manual.text.anchorClicked.emit(QUrl("words.md#p99.9"))
    assert shown_chapter(manual) == "words"
    assert manual.text.textCursor().block().text() == "p99.9"
    manual.text.anchorClicked.emit(QUrl("marks.md"))
    assert shown_chapter(manual) == "marks"


def test_search_wraps_across_chapters(manual: ManualWindow) -> None:
    QTest.keyClicks(manual.sought, "client-bound")
    QTest.keyClick(manual.sought, Qt.Key.Key_Return)
    assert shown_chapter(manual) == "marks"
    assert manual.text.textCursor().selectedText() == "client-bound"
    manual.sought.setText("first hour")
    manual.find_next()
    assert shown_chapter(manual) == "first-hour"
    manual.sought.setText("this is nowhere")
    manual.find_next()
    assert shown_chapter(manual) == "first-hour"


def test_the_colours_follow_the_theme(manual: ManualWindow, theme: Theme) -> None:
    manual.show_chapter("run")
    theme.changed.emit()
    assert shown_chapter(manual) == "run"
    assert manual.text.toPlainText().startswith("Run files")


def test_the_key_opens_it_once(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(tmp_path, begin=False)
    for _ in range(2):
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
    (made,) = window.findChildren(ManualWindow)
    made.close()


def test_talk_chapter_names_race_keys(manual: ManualWindow) -> None:
    manual.show_chapter("talks")
    keys = set(re.findall(r"\b([VSCBDH]|Space|Esc)\b(?= )", HINT))
    assert len(keys) == 8
    output = manual.text.toPlainText()
    assert all(re.search(rf"\b{key}\b", output) for key in keys)


def test_settings_folder_named_for_removal(manual: ManualWindow) -> None:
    manual.show_chapter("removing")
    folder = Path(open_settings().fileName()).parent
    assert f"~/.config/{folder.name}\n" in manual.text.toPlainText()


def test_commands_shown_with_options(manual: ManualWindow) -> None:
    manual.show_chapter("commands", anchor_of("pgfooting compare"))
    assert manual.text.textCursor().block().text() == "pgfooting compare"
    output = manual.text.toPlainText()
    for name, each in build_parser().commands.items():
        assert f"pgfooting {name}" in output
        assert all(option in output for option in each.listed_options)
