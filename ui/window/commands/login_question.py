"""Asks whether the desktop says at login that an interrupted campaign waits; off as it comes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from app.domain.errors import FootingError
from app.domain.text import tr
from app.hosts.login_notice import tell_at_login, tell_no_more, tells_at_login


def ask_about_login(parent: QWidget, told: Callable[[str], None]) -> QMessageBox:
    """Ask, and do what was answered.

    Args:
        parent: the window.
        told: gets a sentence about what was done, or why it could not be.
    """
    says_so = tells_at_login()
    box = QMessageBox(
        QMessageBox.Icon.Question,
        tr("At login"),
        tr("Shall the desktop say at each login when an interrupted campaign waits?"),
        QMessageBox.StandardButton.NoButton,
        parent,
    )
    box.setTextFormat(Qt.TextFormat.PlainText)
    now = tr("It does so now.") if says_so else tr("It does not do so now.")
    what = tr("It is a notification and nothing else: no campaign is started, and nothing runs as root.")
    box.setInformativeText(f"{now} {what}")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    yes = box.addButton(tr("&Say so at login"), QMessageBox.ButtonRole.AcceptRole)
    no = box.addButton(tr("Say &nothing"), QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(tr("&Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)

    def clicked(button: QPushButton) -> None:
        if button is cancel:
            return
        try:
            if button is yes:
                sentence = tr("From the next login on the desktop says when a campaign waits ({path}).")
                told(sentence.format(path=tell_at_login()))
            elif button is no:
                sentence = tr("The desktop says nothing at login any more ({path} is gone).")
                told(sentence.format(path=tell_no_more()))
        except FootingError as error:
            told(error.message)

    box.buttonClicked.connect(clicked)
    box.open()
    return box
