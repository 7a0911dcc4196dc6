"""What becomes of a running campaign when the window closes, and asking its runner. Never blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QMessageBox, QPushButton, QWidget

from app.domain.errors import FootingError
from app.domain.text import tr
from app.execution.control import Request, send_request
from ui.background import BackgroundOp
from ui.widgets.formatting import one_line

Role = QMessageBox.ButtonRole

_MOST_OF_BUTTONS: Final = 760
"""Pixels beside each other; a message of Qt's is no wider than 800 on a screen of 1280."""


def ask_runner(
    folder: Path, request: Request, told: Callable[[str], None], done: Callable[[], None] = lambda: None
) -> None:
    """Ask a campaign's runner in the background; a refusal is told."""

    def refused(error: FootingError) -> None:
        told(error.message)

    BackgroundOp(lambda: send_request(folder, request), lambda _none: done(), refused).start()


def _box(parent: QWidget, title: str, text: str, more: str) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.Question, title, text, QMessageBox.StandardButton.NoButton, parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(more)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


def _stack_where_large(box: QMessageBox) -> None:
    """Put the buttons below each other where type is so large that Qt would cut their words."""
    buttons = box.findChild(QDialogButtonBox)
    if buttons is not None and buttons.sizeHint().width() > _MOST_OF_BUTTONS:
        buttons.setOrientation(Qt.Orientation.Vertical)


def ask_whether_it_goes_on(
    parent: QWidget, name: str, go_on: Callable[[], None], stop: Callable[[], None], waiting: int = 0
) -> QMessageBox:
    """Ask what becomes of a running campaign when the window closes.

    Args:
        parent: the window.
        name: of the campaign.
        go_on: closes the window.
        stop: stops the campaign and closes the window.
        waiting: how many campaigns wait for their turn, which nobody begins without the window.
    """
    more = tr("It does not need this window: the next start shows it again.")
    if waiting:
        kept = tr("What waits for its turn ({count}) does not begin without it; the next start offers it.")
        more = f"{more} {kept.format(count=waiting)}"
    box = _box(
        parent,
        tr("Close the window"),
        tr("“{name}” is still being measured.").format(name=one_line(name)),
        more,
    )
    return _ask_whether_to_leave(box, tr("&Stop it, keep what was measured"), go_on, stop)


def ask_whether_it_waits(
    parent: QWidget, words: str, close: Callable[[], None], stop: Callable[[], None]
) -> QMessageBox:
    """Ask what becomes of a campaign that waits for one of another user when the window closes.

    Args:
        parent: the window.
        words: which one waits, and for what.
        close: closes the window.
        stop: ends the waiting.
    """
    box = _box(
        parent,
        tr("Close the window"),
        words,
        tr("It does not need this window. Without it nothing shows that it waits."),
    )

    def stop_and_close() -> None:
        stop()
        close()

    return _ask_whether_to_leave(box, tr("&Stop waiting"), close, stop_and_close)


def _ask_whether_to_leave(
    box: QMessageBox, ending: str, go_on: Callable[[], None], stop: Callable[[], None]
) -> QMessageBox:
    leave = box.addButton(tr("Close, let it &go on"), Role.AcceptRole)
    end = box.addButton(ending, Role.DestructiveRole)
    stay = box.addButton(tr("&Cancel"), Role.RejectRole)
    box.setDefaultButton(leave)
    box.setEscapeButton(stay)

    def clicked(button: QPushButton) -> None:
        if button is leave:
            go_on()
        elif button is end:
            stop()

    box.buttonClicked.connect(clicked)
    _stack_where_large(box)
    box.open()
    return box
