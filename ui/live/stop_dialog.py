"""Ask how to stop a campaign: three choices, each with what it keeps. Never blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.domain.text import tr
from app.execution.control import Request
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.layouts import fill
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ElidedLabel, tint, wrapped_label


@dataclass(frozen=True, slots=True)
class StopChoice:
    """A way to stop.

    Attributes:
        request: sent to the runner.
        text: of the button, with its mnemonic.
        meaning: the data that is kept.
    """

    request: Request
    text: str
    meaning: str


CHOICES: Final = (
    StopChoice(
        Request.FINISH,
        tr("&Finish this run"),
        tr("Completes this run and keeps it. The remaining runs are skipped."),
    ),
    StopChoice(
        Request.STOP,
        tr("Stop now and &keep"),
        tr("Keeps the data of this run, marked as stopped early. Verdicts do not use it."),
    ),
    StopChoice(
        Request.DISCARD,
        tr("Stop now and &discard"),
        tr("Removes the file of this run. Finished runs stay in the library."),
    ),
)


class StopDialog(QDialog):
    """The dialog; window modal, deleted when closed.

    Attributes:
        buttons: by request.

    Signals:
        chosen: a `Request`.
    """

    chosen = Signal(object)

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self.setWindowTitle(tr("Stop the campaign"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question = wrapped_label(tr("Stop the campaign: what should happen to the current run?"), self)
        question.setFont(theme.font(1.15, bold=True))
        campaign = ElidedLabel(self)
        campaign.show_line(name)
        rows = QGridLayout()
        rows.setHorizontalSpacing(MEDIUM)
        rows.setVerticalSpacing(MEDIUM)
        rows.setColumnStretch(1, 1)
        self.buttons: dict[Request, QPushButton] = {}
        for row, choice in enumerate(CHOICES):
            rows.addWidget(self._make_button(choice), row, 0)
            meaning = wrapped_label(choice.meaning, self)
            tint(meaning, theme.muted)
            rows.addWidget(meaning, row, 1)
        box = QDialogButtonBox(self)
        stay = box.addButton(tr("Continue measurin&g"), QDialogButtonBox.ButtonRole.RejectRole)
        stay.setDefault(True)
        box.rejected.connect(self.reject)
        layout = fill(
            QVBoxLayout(self), question, campaign, spacing=SMALL, margins=(LARGE, LARGE, LARGE, MEDIUM)
        )
        layout.addSpacing(SMALL)
        layout.addLayout(rows)
        layout.addStretch(1)
        layout.addSpacing(SMALL)
        layout.addWidget(box)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 96)
        stay.setFocus()

    def _make_button(self, choice: StopChoice) -> QPushButton:
        button = QPushButton(choice.text, self)
        button.setAutoDefault(False)
        button.setAccessibleDescription(choice.meaning)
        button.clicked.connect(lambda: self._choose(choice.request))
        self.buttons[choice.request] = button
        return button

    def _choose(self, request: Request) -> None:
        self.chosen.emit(request)
        self.accept()


def ask_how_to_stop(
    parent: QWidget, theme: Theme, name: str, chosen: Callable[[Request], None]
) -> StopDialog:
    """Ask which data of the current run to keep; nothing happens if the user cancels."""
    dialog = StopDialog(name, theme, parent)
    dialog.chosen.connect(chosen)
    dialog.open()
    return dialog
