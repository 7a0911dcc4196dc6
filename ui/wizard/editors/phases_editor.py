"""The phases of a workload: a table, and the fields of the chosen phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from app.campaign_file.fields import PHASE_FIELDS
from app.campaign_file.phases import MOST_PHASES
from app.domain.columns import Column
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.fields.fields import PHASES
from app.draft.fields.phases import (
    NAME,
    PHASE_COLUMNS,
    PlannedPhase,
    new_phase,
    phase_rows,
    scripts_words,
    shown_columns,
)
from app.draft.fields.state import DraftParts, PhaseDraft, ScriptDraft
from app.draft.fields.text import builtin_names
from ui.theme import SMALL, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import Field, combo_box, push_button
from ui.widgets.formatting import one_line
from ui.widgets.layouts import fill
from ui.widgets.texts import ErrorText, Text
from ui.wizard.base.controls import Form
from ui.wizard.base.page import belongs
from ui.wizard.base.table import TextTable

_ROWS: Final = 8
"""Rows visible without scrolling."""
_SCRIPT: Final = f"{PHASES}.script"
_BY_KEY: Final = {f"{PHASES}.{each.name}": each for each in PHASE_FIELDS}
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
        self.table = TextTable(tr("Phases of each run"), PHASES, selects=True, most=_ROWS)
        self.table.verticalHeader().show()  # messages name phases by number
        self.table.setShowGrid(True)
        self.add = push_button(tr("Add a phase"), PHASES)
        self.up = push_button(tr("Earlier"), PHASES)
        self.down = push_button(tr("Later"), PHASES)
        self.remove = push_button(tr("Remove the phase"), PHASES)
        self.error = ErrorText(theme)
        self._scripts = combo_box()
        for name in ("", *builtin_names()):
            self._scripts.addItem(name or _BY_KEY[_SCRIPT].placeholder, name)
        label = _BY_KEY[_SCRIPT].label.replace("&", "")
        self._form = Form(theme, [key for key in _BY_KEY if key != _SCRIPT], _BY_KEY, has_mnemonics=False)
        made = {_SCRIPT: Field(theme, label, self._scripts, _SCRIPT)} | self._form.fields
        self.fields = {each.name: made[key] for key, each in _BY_KEY.items()}
        self.form = Columns(list(self.fields.values()))
        self._lay_out()
        self._scripts.currentIndexChanged.connect(self._take_script)
        self._form.edited.connect(self._take)
        self.add.clicked.connect(self._add)
        self.remove.clicked.connect(self._remove)
        self.up.clicked.connect(lambda: self._move(-1))
        self.down.clicked.connect(lambda: self._move(1))
        self.table.itemSelectionChanged.connect(self._on_chosen)

    # --- creation

    def _lay_out(self) -> None:
        buttons = fill(QHBoxLayout(), self.add, self.up, self.down, self.remove, 1, spacing=SMALL)
        fill(
            QVBoxLayout(self),
            self.words,
            self.table,
            buttons,
            self.error,
            self.form,
            spacing=SMALL,
            margins=0,
        )

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
        columns = [replace(each, cell=partial(_line, each)) for each in shown_columns(rows) or PHASE_COLUMNS]
        self.table.show_rows(columns, rows)

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
        self._form.show_texts({f"{PHASES}.{name}": text for name, text in part.texts.items()})
        self._filling = True
        self._show_script(part.scripts)
        self._filling = False

    def _show_script(self, scripts: Sequence[ScriptDraft]) -> None:
        """Show one built-in script, or the phase's other scripts, from a campaign file."""
        box = self._scripts
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

    def _take(self, key: str, text: str) -> None:
        self._change(lambda part: part.texts.update({_BY_KEY[key].name: text}))

    def _take_script(self) -> None:
        name = self._scripts.currentData()
        if name == _OWN:
            return

        def change(part: PhaseDraft) -> None:
            part.scripts = [ScriptDraft(name)] if name else []

        self._change(change)

    def _add(self) -> None:
        place = self._chosen() + 1 if self._phases else 0
        self._phases.insert(place, new_phase(self._phases))
        self._show(place)
        self.fields[NAME].control.setFocus()
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


def _line(column: Column[PlannedPhase], row: PlannedPhase) -> str:
    return one_line(column.cell(row))
