"""The list of steps at the left: a tick for each that is complete, and a way to jump."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget

from app.domain.text import tr
from app.draft.fields.state import Step
from app.draft.flow import DraftFlow
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import plain

_LABELS: Final = {
    Step.WHERE: tr("Where"),
    Step.DISKS: tr("Disks and RAID"),
    Step.FILESYSTEM: tr("Filesystem"),
    Step.POSTGRESQL: tr("PostgreSQL"),
    Step.WORKLOAD: tr("Workload"),
    Step.MORE: tr("More to compare"),
    Step.REVIEW: tr("Review"),
}


class StepList(QWidget):
    """One button a step.

    Signals:
        chosen: a step that the flow allows to jump to.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._buttons: dict[Step, QToolButton] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.setSpacing(SMALL)
        for step in _LABELS:
            button = QToolButton()
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.clicked.connect(partial(self.chosen.emit, step))
            layout.addWidget(button)
            self._buttons[step] = button
        layout.addStretch(1)

    def show_flow(self, flow: DraftFlow) -> None:
        """Show ticks, the open step, and what can be jumped to."""
        for step, button in self._buttons.items():
            button.setVisible(step in flow.steps)
            if step not in flow.steps:
                continue
            is_open = step is flow.step
            complete = flow.is_complete(step)
            sign = "✓" if complete else "▸" if is_open else "   "
            button.setText(f"{sign}  {_LABELS[step]}")
            state = tr("open") if is_open else tr("complete") if complete else tr("not yet")
            name = tr("Step {number}, {name}: {state}")
            button.setAccessibleName(
                name.format(number=flow.number(step), name=plain(_LABELS[step]), state=state)
            )
            font = QFont(button.font())
            font.setBold(is_open)
            button.setFont(font)
            button.setEnabled(flow.may_jump(step))
