"""“Preferences …”: what is chosen there arrives where it acts, and it is chosen at one place."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from app.cli.commands import when_done
from app.cli.commands.runs.report import painter_argv
from app.cli.commands.when_done import EndedCampaign
from app.domain import text
from app.library.entries import default_library, standard_library
from app.preferences import Preferences, preferences_path, read_preferences, settle_language
from ui.report.dialog import ReportDialog, ReportRequest
from ui.theme import Scheme, Theme
from ui.window.commands import preferences_dialog
from ui.window.commands.preferences_dialog import (
    PreferencesDialog,
    preferred_scheme,
    prefers_contrast,
)
from ui.window.main_window import MainWindow

_DELETE = Qt.WidgetAttribute.WA_DeleteOnClose
OpenWindow = Callable[..., MainWindow]
CHOSEN = {
    "theme": "dark",
    "contrast": "high",
    "language": "de",
    "paper": "letter",
    "repeats": 7,
    "library": "LIBRARY",
    "notify": False,
    "when_done": "true and no more",
}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    for name in ("LC_ALL", "LC_PAPER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config"


def open_dialog(qtbot: QtBot, theme: Theme | None = None) -> PreferencesDialog:
    made = PreferencesDialog(theme or Theme(Scheme.LIGHT), standard_library())
    qtbot.addWidget(made)
    made.setAttribute(_DELETE, on=False)
    made.show()
    return made


def fill(dialog: PreferencesDialog, library: Path) -> None:
    for name in ("theme", "contrast", "language", "paper"):
        box = getattr(dialog, name)
        box.setCurrentIndex(box.findData(CHOSEN[name]))
    dialog.repeats.setValue(7)
    dialog.library.setText(str(library))
    dialog.notify.setChecked(False)
    dialog.when_done.setText(str(CHOSEN["when_done"]))


def theme_arrives(_qtbot: QtBot, _library: Path, _folder: Path) -> bool:
    return preferred_scheme(read_preferences()[0]) is Scheme.DARK


def contrast_arrives(_qtbot: QtBot, _library: Path, _folder: Path) -> bool:
    wanted = prefers_contrast(read_preferences()[0])
    return Theme(Scheme.LIGHT, high_contrast=wanted).scheme is Scheme.CONTRAST_LIGHT


def language_arrives(_qtbot: QtBot, _library: Path, _folder: Path) -> bool:
    environment: dict[str, str] = {"LANGUAGE": "en"}
    settle_language(environment)
    return text.wanted_language(environment, text.languages()) == "de"


def paper_arrives(qtbot: QtBot, _library: Path, folder: Path) -> bool:
    settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
    dialog = ReportDialog(ReportRequest((), "Trial"), settings)
    dialog.setAttribute(_DELETE, on=False)
    qtbot.addWidget(dialog)
    given = argparse.Namespace(output=folder / "x.pdf", paper=None, anonymous=False, force=False)
    argv = painter_argv([], given)
    return dialog.paper.currentData() == "letter" and argv[argv.index("--paper") + 1] == "letter"


def library_arrives(_qtbot: QtBot, library: Path, _folder: Path) -> bool:
    return default_library() == library


def notify_arrives(_qtbot: QtBot, _library: Path, _folder: Path) -> bool:
    return not when_done.notify_desktop([EndedCampaign("x", "It is done.")], read_preferences()[0])


def when_done_arrives(_qtbot: QtBot, _library: Path, _folder: Path) -> bool:
    return read_preferences()[0].when_done == CHOSEN["when_done"]  # `run` reads just this


ARRIVES: dict[str, Callable[[QtBot, Path, Path], bool]] = {
    "theme": theme_arrives,
    "contrast": contrast_arrives,
    "language": language_arrives,
    "paper": paper_arrives,
    "library": library_arrives,
    "notify": notify_arrives,
    "when_done": when_done_arrives,
}
"""Of the repeats the window itself is asked, see below."""


def test_preferences_have_field_and_effect() -> None:
    names = {each.name for each in fields(Preferences)}
    assert names == set(CHOSEN) == {*ARRIVES, "repeats"}
    assert [name for name, value in asdict(Preferences()).items() if CHOSEN[name] == value] == []


@pytest.mark.parametrize("name", ARRIVES)
def test_what_is_chosen_arrives_where_it_acts(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(when_done, "notify", lambda *_words: True)
    assert not ARRIVES[name](qtbot, tmp_path / "elsewhere", tmp_path)
    theme = Theme(Scheme.LIGHT)
    dialog = open_dialog(qtbot, theme)
    fill(dialog, tmp_path / "elsewhere")
    dialog.accept_all()
    assert dialog.problem.text() == ""
    assert ARRIVES[name](qtbot, tmp_path / "elsewhere", tmp_path)
    assert theme.scheme is Scheme.CONTRAST_DARK
    assert open_dialog(qtbot).chosen == read_preferences()[0]


def test_repeats_preset_in_wizard(open_window: OpenWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = open_dialog(qtbot)
    fill(dialog, tmp_path / "elsewhere")
    dialog.accept_all()
    window = open_window(tmp_path / "runs", begin=False)
    window.commands["new"].trigger()
    assert window.campaigns.wizard is not None
    assert window.campaigns.wizard.draft.parts.values["repeats"] == "7"
    window.campaigns.wizard.close()


def test_delayed_effects_announced(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = open_dialog(qtbot)
    lines: list[str] = []
    dialog.notified.connect(lines.append)
    dialog.accept_all()
    assert lines == []
    dialog = open_dialog(qtbot)
    dialog.notified.connect(lines.append)
    fill(dialog, tmp_path / "elsewhere")
    dialog.accept_all()
    assert lines == ["Language and library take effect after a restart."]


def test_cancel_writes_nothing(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = open_dialog(qtbot)
    fill(dialog, tmp_path / "elsewhere")
    dialog.reject()
    assert not preferences_path().exists()


@pytest.mark.parametrize(
    ("folder", "why"),
    [("runs", "full path"), ("FILE/runs", "is not a folder"), ("/proc/1/runs", "not writable")],
)
def test_unwritable_library_refused(qtbot: QtBot, tmp_path: Path, folder: str, why: str) -> None:
    (tmp_path / "file").touch()
    dialog = open_dialog(qtbot)
    dialog.library.setText(folder.replace("FILE", str(tmp_path / "file")))
    dialog.accept_all()
    assert why in dialog.problem.text()
    assert dialog.isVisible()
    assert not preferences_path().exists()


def test_damaged_file_reported_and_kept(qtbot: QtBot) -> None:
    preferences_path().parent.mkdir(parents=True)
    preferences_path().write_text("theme = 3")
    dialog = open_dialog(qtbot)
    lines: list[str] = []
    dialog.notified.connect(lines.append)
    dialog.accept_all()
    assert "preferences.toml.damaged" in lines[0]
    assert preferences_path().with_name("preferences.toml.damaged").read_text() == "theme = 3"


def test_the_command_opens_the_dialog(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(tmp_path / "runs", begin=False)
    window.commands["preferences"].trigger()
    found = window.findChild(PreferencesDialog)
    assert found is not None
    found.reject()


def test_unwritable_library_reported_before_wizard(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    window = open_window(tmp_path / "file" / "runs", begin=False)
    window.show()
    window.commands["new"].trigger()
    assert window.campaigns.wizard is None
    assert f"{tmp_path / 'file'} is not a folder" in window.notice.words.text()
    window.notice.action.click()
    dialog = window.findChild(PreferencesDialog)
    assert dialog is not None
    dialog.library.setText(str(tmp_path / "good"))
    dialog.accept_all()
    assert "after a restart" in window.notice.words.text()
    assert default_library() == tmp_path / "good"
    again = open_window(default_library(), begin=False)
    again.commands["new"].trigger()
    assert again.campaigns.wizard is not None
    again.campaigns.wizard.close()


def test_fields_visible_in_long_language(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferences_dialog, "tr", lambda message: f"{message} {'o' * (len(message) // 2)}")
    monkeypatch.setattr(preferences_dialog, "screen_room", lambda _window: QSize(1920, 1080))
    dialog = open_dialog(qtbot)
    (area,) = dialog.findChildren(QScrollArea)
    inner = area.widget()
    assert inner is not None
    assert inner.sizeHint().width() > dialog.fontMetrics().averageCharWidth() * 110, "nothing is shown by it"
    assert area.horizontalScrollBar().maximum() == 0
