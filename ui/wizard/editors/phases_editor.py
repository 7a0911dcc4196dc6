"""The phases of a workload: a table, and the fields of the chosen phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.campaign_file.fields import PHASE_FIELDS
from app.campaign_file.kinds import BoolKind, CampaignField, EnumKind
from app.campaign_file.paths import Scripts
from app.campaign_file.phases import MOST_PHASES, WorkNames
from app.domain.columns import Alignment, CellKind
from app.domain.maintenance import maintenance
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.fields.fields import PHASES
from app.draft.fields.phases import NAME, PHASE_COLUMNS, new_phase, phase_rows, scripts_words, shown_columns
from app.draft.fields.state import DraftParts, PhaseDraft, ScriptDraft
from app.draft.fields.text import builtin_names
from ui.theme import SMALL, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Field, combo_box, push_button
from ui.widgets.formatting import one_line, tooltip
from ui.widgets.texts import ErrorText, Text, show_tip
from ui.wizard.base.controls import control_of, show_in
from ui.wizard.base.page import belongs

_ROWS: Final = 8
"""Rows visible without scrolling."""
_OWN: Final = "own"
"""Entry of the list of scripts for a phase with files or several scripts."""


class PhasesEditor(QWidget):
    """All phases in a table; below it the chosen one's fields, generated from campaign file keys.

    Attributes:
        table: of the phases.
        fields: by key of a phase.

    Signals:
        edited: the list of drafts was changed.
        chosen: another phase is shown.
    """

    edited = Signal()
    chosen = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._parts = DraftParts()
        self._phases = self._parts.phases
        self._filling = False
        self.words = Text(theme, role="muted")
        self.table = self._make_table()
        self.add = push_button(tr("Add a phase"), PHASES)
        self.up = push_button(tr("Earlier"), PHASES)
        self.down = push_button(tr("Later"), PHASES)
        self.remove = push_button(tr("Remove the phase"), PHASES)
        self.error = ErrorText(theme)
        self._controls: dict[str, QWidget] = {}
        self.fields = {field.name: self._make_field(field) for field in PHASE_FIELDS}
        self.form = Columns(list(self.fields.values()))
        self._lay_out()
        self.add.clicked.connect(self._add)
        self.remove.clicked.connect(self._remove)
        self.up.clicked.connect(lambda: self._move(-1))
        self.down.clicked.connect(lambda: self._move(1))
        self.table.itemSelectionChanged.connect(self._on_chosen)

    # --- creation

    @staticmethod
    def _make_table() -> QTableWidget:
        table = QTableWidget(0, 0)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setTabKeyNavigation(False)
        table.setWordWrap(True)
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        table.horizontalHeader().setHighlightSections(False)
        table.setAccessibleName(tr("Phases of each run"))
        table.setProperty(HELP, PHASES)
        return table

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(SMALL)
        for button in (self.add, self.up, self.down, self.remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.words)
        layout.addWidget(self.table)
        layout.addLayout(buttons)
        layout.addWidget(self.error)
        layout.addWidget(self.form)

    def _make_field(self, field: CampaignField) -> Field:
        """Return the field of a key, by the kind of its values."""
        label, key = field.label.replace("&", ""), f"{PHASES}.{field.name}"
        match field.kind:
            case Scripts():
                control: QWidget = self._script_box(field.placeholder)
            case BoolKind():
                control = tick = QCheckBox(label)
                tick.toggled.connect(lambda ticked: self._take(field.name, "" if ticked else "false"))
                label = ""
            case EnumKind(words=words):
                choices = {"": field.placeholder, **{word: word for word in words}}
                control = control_of(replace(field, choices=choices), partial(self._take, field.name))
            case WorkNames(words=words):
                control = ticks = _Ticks(words)
                ticks.edited.connect(lambda text: self._take(field.name, text))
            case _:
                control = control_of(field, partial(self._take, field.name))
        self._controls[field.name] = control
        made = Field(self._theme, label, control, key)
        made.label.setVisible(bool(label))
        control.setAccessibleName(field.shown_name)
        control.setProperty(HELP, key)
        return made

    def _script_box(self, left_out: str) -> QComboBox:
        box = combo_box()
        box.addItem(left_out, "")
        for name in builtin_names():
            box.addItem(name, name)
        box.currentIndexChanged.connect(self._take_script)
        return box

    # --- display

    def show_phases(self, parts: DraftParts) -> None:
        """Show and edit the phases of a draft in place."""
        self._parts, self._phases = parts, parts.phases
        self._show(0)

    def refresh(self) -> None:
        """Show the effective values, because defaults may have changed."""
        self._show_table()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show problems of the chosen phase at their fields, and those of others below the table."""
        here = f"{PHASES}[{self._chosen() + 1}]"
        for name, field in self.fields.items():
            field.show_problems([each for each in problems if belongs(each.path, f"{here}.{name}")])
        shown = {each for each in problems for name in self.fields if belongs(each.path, f"{here}.{name}")}
        self.error.show_problems([self._named(each) for each in problems if each not in shown])

    def _named(self, problem: Problem) -> Problem:
        """Return a problem with its phase and key."""
        head, _, key = problem.path.removeprefix(f"{PHASES}[").partition("]")
        if not head.isdigit() or not 0 < int(head) <= len(self._phases):
            return problem
        name = one_line(self._phases[int(head) - 1].texts.get(NAME, ""))
        field = self.fields.get(key.strip(".").partition(".")[0].partition("[")[0])
        label = field.control.accessibleName() if field else ""
        about = tr("Phase {number} “{name}”").format(number=head, name=name)
        words = ": ".join(part for part in (about, label, problem.message) if part)
        return Problem(problem.path, words, hint=problem.hint, pending=problem.pending)

    def _show(self, chosen: int) -> None:
        """Show everything again, with one phase chosen."""
        some = bool(self._phases)
        self.words.setText(
            tr("Each run measures these, one after the other; what one leaves out is as said above.")
            if some
            else tr("Each run measures one phase, as said above.")
        )
        self._show_table()
        for widget in (self.table, self.form, self.up, self.down, self.remove):
            widget.setVisible(some)
        self.add.setEnabled(len(self._phases) < MOST_PHASES)
        if some:
            self.table.selectRow(max(0, min(chosen, len(self._phases) - 1)))
        self._show_form()

    def _show_table(self) -> None:
        rows = phase_rows(self._parts)
        columns = shown_columns(rows) or PHASE_COLUMNS
        table = self.table
        blocked = table.blockSignals(True)  # noqa: FBT003 - Qt's signature
        chosen = self._chosen()
        table.setColumnCount(len(columns))
        table.setHorizontalHeaderLabels([column.heading for column in columns])
        table.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for place, column in enumerate(columns):
                text = one_line(column.cell(row))
                item = QTableWidgetItem(text)
                item.setToolTip(tooltip(text))
                right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                if column.alignment is Alignment.RIGHT:
                    item.setTextAlignment(right)
                table.setItem(number, place, item)
        header = table.horizontalHeader()
        for place, column in enumerate(columns):
            words = column.kind is CellKind.WORDS
            mode = QHeaderView.ResizeMode.Stretch if words else QHeaderView.ResizeMode.ResizeToContents
            header.setSectionResizeMode(place, mode)
        if 0 <= chosen < len(rows):
            table.selectRow(chosen)
        table.blockSignals(blocked)
        height = sum(table.rowHeight(row) for row in range(min(_ROWS, len(rows))))
        table.setFixedHeight(header.sizeHint().height() + height + 2 * table.frameWidth())

    def _on_chosen(self) -> None:
        self._show_form()
        self.chosen.emit()

    def _show_form(self) -> None:
        chosen = self._chosen()
        self.up.setEnabled(chosen > 0)
        self.down.setEnabled(0 <= chosen < len(self._phases) - 1)
        if not 0 <= chosen < len(self._phases):
            return
        part = self._phases[chosen]
        self._filling = True
        try:
            for name, control in self._controls.items():
                text = part.texts.get(name, "")
                match control:
                    case QCheckBox():
                        control.setChecked(text != "false")
                    case QComboBox() if name == "script":
                        self._show_script(control, part.scripts)
                    case QComboBox() | QLineEdit():
                        show_in(control, text)
                    case _Ticks():
                        control.show_names(text)
                    case _:  # there are no other fields
                        raise AssertionError(name)
        finally:
            self._filling = False

    @staticmethod
    def _show_script(box: QComboBox, scripts: Sequence[ScriptDraft]) -> None:
        """Show one built-in script, or the phase's other scripts, from a campaign file."""
        while (place := box.findData(_OWN)) >= 0:
            box.removeItem(place)
        plain = len(scripts) == 1 and scripts[0].builtin and scripts[0].weight.strip() == "1"
        if scripts and not plain:
            box.addItem(one_line(scripts_words(scripts)), _OWN)
            box.setCurrentIndex(box.count() - 1)
        else:
            box.setCurrentIndex(max(0, box.findData(scripts[0].builtin if scripts else "")))

    def _chosen(self) -> int:
        rows = self.table.selectionModel().selectedRows()
        return rows[0].row() if rows else -1

    # --- changes

    def _change(self, change: Callable[[PhaseDraft], None]) -> None:
        chosen = self._chosen()
        if self._filling or not 0 <= chosen < len(self._phases):
            return
        change(self._phases[chosen])
        self._show_table()
        self.edited.emit()

    def _take(self, name: str, text: str) -> None:
        self._change(lambda part: part.texts.update({name: text}))

    def _take_script(self) -> None:
        box = self._controls["script"]
        name = box.currentData() if isinstance(box, QComboBox) else _OWN
        if name == _OWN:
            return

        def change(part: PhaseDraft) -> None:
            part.scripts = [ScriptDraft(name)] if name else []

        self._change(change)

    def _add(self) -> None:
        place = self._chosen() + 1 if self._phases else 0
        self._phases.insert(place, new_phase(self._phases))
        self._show(place)
        self._controls[NAME].setFocus()
        self.edited.emit()

    def _remove(self) -> None:
        chosen = self._chosen()
        if 0 <= chosen < len(self._phases):
            del self._phases[chosen]
            self._show(chosen)
            (self.table if self._phases else self.add).setFocus()
            self.edited.emit()

    def _move(self, by: int) -> None:
        chosen = self._chosen()
        if 0 <= chosen < len(self._phases) and 0 <= chosen + by < len(self._phases):
            self._phases.insert(chosen + by, self._phases.pop(chosen))
            self._show(chosen + by)
            self.edited.emit()


class _Ticks(QWidget):
    """A check box for each name.

    Signals:
        edited: the ticked names, in the order of execution.
    """

    edited = Signal(str)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._order: list[str] = []
        self.ticks: dict[str, QCheckBox] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for name in names:
            tick = QCheckBox(maintenance(name).label)
            tick.setAccessibleName(maintenance(name).label)
            show_tip(tick, name)
            tick.setProperty(HELP, f"{PHASES}.maintenance")
            tick.toggled.connect(partial(self._on_ticked, name))
            self.ticks[name] = tick
            layout.addWidget(tick)

    def show_names(self, text: str) -> None:
        """Tick these names."""
        self._order = [name for each in text.split(",") if (name := each.strip())]
        for name, tick in self.ticks.items():
            blocked = tick.blockSignals(True)  # noqa: FBT003 - Qt's signature
            tick.setChecked(name in self._order)
            tick.blockSignals(blocked)

    def _on_ticked(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._order = [each for each in self._order if each != name] + ([name] if ticked else [])
        self.edited.emit(", ".join(self._order))
