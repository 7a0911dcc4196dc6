"""One row of the page of dimensions: what is tried, a tick for each value, what it does and risks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from app.domain.campaign.matrix import DimensionValue
from app.domain.problem import Problem
from app.domain.text import tr, trn
from app.draft.matrix.offers import DimensionRow, ValueOffer
from ui.theme import SMALL, TINY, Theme
from ui.widgets.fields import HELP, describe_button, line_edit
from ui.widgets.flow import Flow
from ui.widgets.texts import ErrorText, Heading, Text
from ui.widgets.tips import show_tip


class DimensionEditor(QWidget):
    """Edits one row.

    Attributes:
        ticks: by the name of the value.
        typed: where other values are typed; None where none can be.

    Signals:
        ticked: key of the row, the value, and whether it is ticked now.
        typed_values: key of the row, the line, and the values that were ticked before somebody typed: what
            stands there half typed may be one that is offered.
    """

    ticked = Signal(str, object, bool)
    typed_values = Signal(str, str, object)

    def __init__(self, theme: Theme, row: DimensionRow) -> None:
        super().__init__()
        self.row = row
        self.ticks: dict[str, QCheckBox] = {}
        self._loading, self._is_new = False, True
        self._before: list[DimensionValue] | None = None
        self.label = Heading(theme, "")
        self.about = Text(theme, role="muted")
        self.note = Text(theme, role="muted")
        self.risk = Text(theme, role="warning")
        self.error = ErrorText(theme)
        self.typed = self._make_typed(row) if row.takes_text else None
        self._flow = Flow()
        self.setProperty(HELP, row.help_key)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, SMALL)
        self._layout.setSpacing(TINY)
        for widget in (self.label, self._flow):
            self._layout.addWidget(widget)
        for text in (self.about, self.note, self.risk, self.error):
            self._layout.addWidget(text)
        self.show_row(row, ())

    def _make_typed(self, row: DimensionRow) -> QLineEdit:
        edit = line_edit(tr("others, such as 3, 12"))
        edit.setFixedWidth((24 if row.values else 60) * self.fontMetrics().averageCharWidth())
        edit.setAccessibleName(tr("{name}: other values").format(name=row.label))
        edit.setProperty(HELP, row.help_key)
        edit.textEdited.connect(self._on_typed)
        edit.editingFinished.connect(self._on_finished)
        return edit

    def show_row(self, row: DimensionRow, problems: Sequence[Problem]) -> None:
        """Show another state of the same row."""
        self._loading, self.row, self._problems = True, row, problems
        name = row.label if row.word in {"", row.label} else f"{row.label} · {row.word}"
        if row.is_dimension:
            count = self._count(row)
            name = trn("{name}: {count} value", "{name}: {count} values", count).format(
                name=name, count=count
            )
        self.label.setText(name)
        self.setAccessibleName(row.label)
        note = "\n".join(filter(None, (row.note, *_not_here(row))))
        for text, label in ((row.about, self.about), (note, self.note)):
            label.setText(text)
            label.setVisible(bool(text))
        self._show_ticks(row)
        if self.typed is not None and self._before is None and self.typed.text() != row.typed:
            self.typed.setText(row.typed)
        risks = [
            f"⚠ {each.label}: {', '.join(each.risks)}" for each in row.values if each.ticked and each.risks
        ]
        self.risk.setText("\n".join(risks))
        self.risk.setVisible(bool(risks))
        self.error.show_problems(problems)
        self._loading = False

    def _count(self, row: DimensionRow) -> int:
        typed = [each for each in row.typed.split(",") if each.strip()]
        return sum(each.ticked for each in row.values) + len(typed)

    def _show_ticks(self, row: DimensionRow) -> None:
        wanted = {each.value.name: each for each in row.values}
        if list(wanted) != list(self.ticks) or self._is_new:
            self._is_new = False
            self.ticks = {name: self.ticks.get(name) or self._make_tick(row, name) for name in wanted}
            more = () if self.typed is None else (self.typed,)
            self._flow.show_widgets([*self.ticks.values(), *more])
        for name, each in wanted.items():
            self._show_tick(self.ticks[name], each, row)

    def _make_tick(self, row: DimensionRow, name: str) -> QCheckBox:
        box = QCheckBox()
        box.setProperty(HELP, row.help_key)
        box.toggled.connect(partial(self._on_toggled, name))
        return box

    def _show_tick(self, box: QCheckBox, each: ValueOffer, row: DimensionRow) -> None:
        label = each.label.replace("&", "&&")
        box.setText(f"⚠ {label}" if each.risks else label)
        box.setChecked(each.ticked)
        box.setEnabled(each.ticked or not each.obstacle)
        show_tip(box, each.obstacle, each.effect, *each.risks)
        describe_button(box, row.help_key)
        box.setAccessibleName(f"{row.label}: {each.label}")

    def _on_toggled(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self._loading:
            value: DimensionValue = next(each.value for each in self.row.values if each.value.name == name)
            self._before = None
            self.ticked.emit(self.row.key, value, ticked)

    def _on_typed(self, text: str) -> None:
        if self._before is None:
            self._before = [each.value for each in self.row.values if each.ticked]
        self.typed_values.emit(self.row.key, text, self._before)

    def _on_finished(self) -> None:
        self._before = None
        self.show_row(self.row, self._problems)


def _not_here(row: DimensionRow) -> list[str]:
    """Return why values cannot be ticked here, a line for each reason with the values that it is about."""
    reasons: dict[str, list[str]] = {}
    for each in row.values:
        if each.obstacle and each.label not in each.obstacle:  # how many disks a level takes is no news
            reasons.setdefault(each.obstacle, []).append(each.label)
    return [
        tr("Not here: {values}. {reason}").format(values=", ".join(labels), reason=reason)
        for reason, labels in reasons.items()
    ]
