"""The question whether the desktop says at login what waits."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from app.hosts.login_notice import notice_path, tells_at_login
from ui.window.commands.login_question import ask_about_login

pytestmark = [pytest.mark.gui, pytest.mark.qt_log_ignore("This plugin does not support")]


def press(box: QMessageBox, word: str) -> None:
    next(each for each in box.buttons() if each.text().replace("&", "") == word).click()


def test_it_is_asked_done_and_undone(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    parent = QWidget()
    qtbot.addWidget(parent)
    told: list[str] = []
    box = ask_about_login(parent, told.append)
    assert "does not do so now" in box.informativeText()
    assert "no campaign is started" in box.informativeText()
    press(box, "Cancel")
    assert not tells_at_login()
    assert told == []
    press(ask_about_login(parent, told.append), "Say so at login")
    assert tells_at_login()
    assert str(notice_path()) in told[-1]
    box = ask_about_login(parent, told.append)
    assert "It does so now" in box.informativeText()
    press(box, "Say nothing")
    assert not tells_at_login()
    assert "nothing at login" in told[-1]
    (tmp_path / "config" / "autostart").rmdir()
    (tmp_path / "config" / "autostart").write_text("a file")
    press(ask_about_login(parent, told.append), "Say so at login")
    assert "could not be written" in told[-1]
