"""Third page: the work of pgbench, amount of data, duration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.campaign_file.fields import PHASE_FIELDS
from app.campaign_file.phases import MOST_PHASES
from app.domain.campaign.configuration import BuiltinScript, DataSize, default_repeats
from app.domain.campaign.matrix import Design
from app.domain.columns import Column
from app.domain.errors import Problem
from app.domain.text import format_size, number_text, titled, tr
from app.draft.draft import CampaignDraft
from app.draft.fields.phases import (
    NAME,
    PHASE_COLUMNS,
    PlannedPhase,
    new_phase,
    phase_rows,
    scripts_words,
    shown_columns,
)
from app.draft.fields.state import (
    FIELDS,
    OWN_SCRIPTS,
    PHASES,
    DraftParts,
    PhaseDraft,
    ScriptDraft,
    Step,
    alternative,
    step_of,
)
from app.draft.fields.text import builtin_names
from app.postgres.pgbench.scale import ScaleChoice
from ui.theme import SMALL, Theme
from ui.widgets.fields import (
    HELP,
    Choice,
    Field,
    Section,
    combo_box,
    describe_button,
    line_edit,
    plain,
    push_button,
)
from ui.widgets.layouts import Columns, fill
from ui.widgets.texts import ErrorText, Text, one_line, show_tip
from ui.wizard.base.controls import Alternatives, Entry, Form, TextTable
from ui.wizard.base.page import Page, belongs

# The phases of a workload: a table, and the fields of the chosen phase.


_ROWS: Final = 8
"""Rows visible without scrolling."""
_PHASE_SCRIPT: Final = f"{PHASES}.script"
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
        self.table = TextTable(tr("Run phases"), PHASES, selects=True, most=_ROWS)
        self.table.verticalHeader().show()  # messages name phases by number
        self.table.setShowGrid(True)
        self.add = push_button(tr("Add a phase"), PHASES)
        self.up = push_button(plain(tr("&Earlier")), PHASES)
        self.down = push_button(plain(tr("La&ter")), PHASES)
        self.remove = push_button(tr("Remove the phase"), PHASES)
        self.error = ErrorText(theme)
        self._scripts = combo_box()
        for name in ("", *builtin_names()):
            self._scripts.addItem(name or _BY_KEY[_PHASE_SCRIPT].placeholder, name)
        label = _BY_KEY[_PHASE_SCRIPT].label.replace("&", "")
        self._form = Form(
            theme, [key for key in _BY_KEY if key != _PHASE_SCRIPT], _BY_KEY, has_mnemonics=False
        )
        made = {_PHASE_SCRIPT: Field(theme, label, self._scripts, _PHASE_SCRIPT)} | self._form.fields
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
            tr("Each run measures these phases in order; anything a phase does not set is taken from above.")
            if some
            else tr("Each run measures one phase with the values above.")
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


# The list of scripts of a workload: built-in ones and the user's files, each with its weight.


_FILE = ""


class ScriptsEditor(QWidget):
    """A row for each script.

    Signals:
        edited: the list of drafts was changed.
    """

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._scripts: list[ScriptDraft] = []
        self._rows: list[QWidget] = []
        self.add = push_button(tr("Add a scr&ipt"), "own")
        self._layout = fill(QVBoxLayout(self), spacing=SMALL, margins=0)
        hint = Text(theme, tr("Kind, file and weight of each script:"), role="muted")
        bottom = fill(QHBoxLayout(), self.add, 1)
        self._layout.addWidget(hint)
        self._layout.addLayout(bottom)
        self.add.clicked.connect(self._add)

    def show_scripts(self, scripts: list[ScriptDraft]) -> None:
        """Show and edit these drafts in place."""
        self._scripts = scripts
        for row in self._rows:
            self._layout.removeWidget(row)
            row.deleteLater()
        self._rows = []
        for number, script in enumerate(scripts):
            row = _ScriptRow(script, number + 1)
            row.edited.connect(self.edited)
            row.removed.connect(partial(self._remove, script))
            self._layout.insertWidget(number + 1, row)
            self._rows.append(row)

    def first_control(self) -> QWidget:
        """Return the control for the initial focus."""
        return self._rows[-1] if self._rows else self.add

    def _add(self) -> None:
        self._scripts.append(ScriptDraft())
        self.show_scripts(self._scripts)
        self._rows[-1].setFocus()
        self.edited.emit()

    def _remove(self, script: ScriptDraft) -> None:
        self._scripts[:] = [each for each in self._scripts if each is not script]
        self.show_scripts(self._scripts)
        self.add.setFocus()
        self.edited.emit()


class _ScriptRow(QWidget):
    """One script.

    Signals:
        edited: its draft was changed.
        removed: the user removes it.
    """

    edited = Signal()
    removed = Signal()

    def __init__(self, script: ScriptDraft, number: int) -> None:
        super().__init__()
        self._script = script
        self.kind = combo_box()
        self.kind.addItem(tr("Your own file"), _FILE)
        for name in builtin_names():
            self.kind.addItem(name, name)
        self.kind.setCurrentIndex(max(0, self.kind.findData(script.builtin)))
        self.path = line_edit("/home/me/orders.sql")
        self.path.setText(script.path)
        self.choose = push_button("…", "own")
        self.weight = line_edit("1")
        self.weight.setText(script.weight)
        self.remove = push_button("✕", "own")
        whose = titled(tr("script {number}").format(number=number))
        names = {
            self.kind: tr("kind"),
            self.path: tr("file"),
            self.choose: plain(tr("C&hoose …")),
            self.weight: tr("weight"),
            self.remove: plain(tr("Remo&ve")),
        }
        layout = fill(QHBoxLayout(self), spacing=SMALL, margins=0)
        for widget, name in names.items():
            widget.setAccessibleName(f"{whose}: {name}")
            show_tip(widget, f"{whose}: {name}")
            widget.setProperty(HELP, "own")
            layout.addWidget(widget, {self.kind: 2, self.path: 6, self.weight: 1}.get(widget, 0))
        for button in (self.choose, self.remove):
            button.setFixedWidth(button.sizeHint().height() + SMALL)
        self.setFocusProxy(self.kind)
        self._show_kind()
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.path.textEdited.connect(self._on_path)
        self.weight.textEdited.connect(self._on_weight)
        self.choose.clicked.connect(self._choose)
        self.remove.clicked.connect(self.removed)

    def _show_kind(self) -> None:
        own = self.kind.currentData() == _FILE
        self.path.setEnabled(own)
        self.choose.setEnabled(own)

    def _on_kind(self) -> None:
        self._script.builtin = self.kind.currentData()
        self._show_kind()
        self.edited.emit()

    def _on_path(self, text: str) -> None:
        self._script.path = text
        self.edited.emit()

    def _on_weight(self, text: str) -> None:
        self._script.weight = text
        self.edited.emit()

    def _choose(self) -> None:
        dialog = QFileDialog(self, tr("Script for pgbench"), self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("SQL scripts (*.sql)"), tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self.path.setText(path)
        self._on_path(path)


_SCRIPT: Final = "workload.script"
_SIZE: Final = "workload.size"
_LENGTH: Final = "workload.duration"

_MEANINGS: Final = {
    BuiltinScript.TPCB_LIKE.value: tr("Three updates, a select and an insert per transaction: commit-heavy."),
    BuiltinScript.SIMPLE_UPDATE.value: tr("Like TPC-B, without the two small, contended tables."),
    BuiltinScript.SELECT_ONLY.value: tr("Reads one row by its key; changes none."),
    OWN_SCRIPTS: tr("One or several pgbench scripts with weights."),
}
_LABELS: Final = {
    BuiltinScript.TPCB_LIKE.value: tr("&TPC-B-like"),
    BuiltinScript.SIMPLE_UPDATE.value: tr("Simple &update"),
    BuiltinScript.SELECT_ONLY.value: tr("Select &only"),
    OWN_SCRIPTS: tr("My scripts or a mi&x"),
}
_SIZES: Final = (
    Entry(tr("Small"), _SIZE, DataSize.SMALL),
    Entry(tr("Medium, half of the memory"), _SIZE, DataSize.MEDIUM),
    Entry(tr("Large, twice the memory"), _SIZE, DataSize.LARGE),
    Entry(titled(tr("another size")), _SIZE),
    Entry(tr("Scale factor"), "workload.scale"),
)
_LENGTHS: Final = (
    Entry(tr("time"), _LENGTH),
    Entry(tr("transactions per client"), "workload.transactions"),
)
_KEYS: Final = tuple(
    key
    for key, each in FIELDS.items()
    if each.label and step_of(key) is Step.WORKLOAD and key != _SCRIPT and not each.instead_of
)
_MAIN: Final = (_SIZE, "workload.clients", _LENGTH, "workload.warmup", "design", "repeats", "precision")
"""Keys at the top of the page; the others are seldom changed."""

_FITS_TIMES: Final = 2
"""A data set that fits this many times into memory is read from there once loaded."""

_DESIGN_NOTES: Final = {
    Design.FIXED: tr("Fixed: use this for results you publish or when you need every pairwise difference."),
    Design.SEQUENTIAL: tr(
        "Sequential: usually finds the fastest in less time. From round three on, configurations unlikely "
        "to win are dropped, so less is known about them."
    ),
}
_ROUNDS: Final = tr("Maximum rounds (re&peats):")


class WorkloadPage(Page):
    """Script, data size, clients, times, repeats, and rarely changed options."""

    step = Step.WORKLOAD
    title = tr("What should PostgreSQL do?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.scripts = ScriptsEditor(theme)
        self.script_error = ErrorText(theme)
        self.group = QButtonGroup(self)
        self.script_buttons: dict[str, QRadioButton] = {}
        self._choices = [self._script_choice(script) for script in _LABELS]
        self.data_size = Alternatives(_SIZES, titled(tr("data size")), _SIZE)
        self.length = Alternatives(_LENGTHS, titled(tr("measured time")), _LENGTH)
        self.phases = PhasesEditor(theme)
        for key, each in ((_SIZE, self.data_size), (_LENGTH, self.length)):
            self.fields[key] = Field(theme, FIELDS[key].label, each.kind, key, beside=(each.amount,))
        self.bind(Form(theme, _KEYS))
        self._lay_out()
        self._connect()

    def _script_choice(self, script: str) -> Choice:
        button = QRadioButton(_LABELS[script])
        self.group.addButton(button)
        self.script_buttons[script] = button
        own = script == OWN_SCRIPTS
        key = "own" if own else _SCRIPT
        return Choice(self.theme, button, _MEANINGS[script], key, (self.scripts,) if own else ())

    def _lay_out(self) -> None:
        self.seldom = Columns([self.fields[key] for key in _KEYS if key not in _MAIN])
        sections = (
            Section(
                self.theme,
                titled(tr("transactions")),
                [Columns(self._choices[:3]), self._choices[3], self.script_error],
            ),
            Section(
                self.theme, tr("Data, clients and time"), [Columns([self.fields[key] for key in _MAIN], 36)]
            ),
            Section(self.theme, titled(tr("phases")), [self.phases]),
            Section(self.theme, tr("Advanced"), [self.seldom]),
        )
        for section in sections:
            self.layout_.addWidget(section)
        self.layout_.addStretch(1)

    def _connect(self) -> None:
        for script, button in self.script_buttons.items():
            describe_button(button, "own" if script == OWN_SCRIPTS else _SCRIPT)
            button.toggled.connect(partial(self._on_script, script))
        self.scripts.edited.connect(self.report_change)
        self.data_size.edited.connect(self.put)
        self.length.edited.connect(self.put)
        self.phases.edited.connect(self.report_change)
        self.phases.chosen.connect(self._show_phase_problems)

    @override
    def first_control(self) -> QWidget:
        script = self.draft.parts.values[_SCRIPT]
        return self.script_buttons.get(script, self.script_buttons[OWN_SCRIPTS])

    @override
    def fill(self) -> None:
        parts = self.draft.parts
        self.script_buttons.get(parts.values[_SCRIPT], self.script_buttons[OWN_SCRIPTS]).setChecked(True)
        self.scripts.show_scripts(parts.scripts)
        self.data_size.show_texts(parts.values)
        self.length.show_texts(parts.values)
        self.phases.show_phases(parts)
        super().fill()

    @override
    def refresh(self) -> None:
        self._show_design()
        self.scripts.setVisible(self.draft.parts.values[_SCRIPT] == OWN_SCRIPTS)
        for row, each in enumerate(_SIZES):
            scale = self.draft.scale_choice(each.text) if each.text else None
            if scale is not None:
                label = f"{each.label}: {format_size(scale.data_bytes)}"
                self.data_size.kind.setItemText(row, label)
        self.fields[_SIZE].set_note(_scale_note(self.draft.scale_choice(), self._memory_bytes()))
        super().refresh()
        problems = [each for each in self.draft.problems_for(self.step) if not each.pending]
        self.script_error.show_problems([each for each in problems if belongs(each.path, _SCRIPT)])
        known = {key: alternative(key) for key in (_SIZE, _LENGTH)}
        for key, other in known.items():
            mine = [each for each in problems if belongs(each.path, key) or belongs(each.path, other)]
            self.fields[key].show_problems(mine)
        self.phases.refresh()
        self._show_phase_problems()
        shown = (_SCRIPT, PHASES, *known.values(), *self.fields)
        self.general.show_problems(
            [each for each in problems if not any(belongs(each.path, key) for key in shown)]
        )

    def _show_design(self) -> None:
        """Explain the chosen design; one from a file that is not offered is shown only to be removed."""
        parts = self.draft.parts
        is_sequential = parts.values["design"] == Design.SEQUENTIAL
        design = Design.SEQUENTIAL if is_sequential else Design.FIXED
        self.fields["design"].set_note(_DESIGN_NOTES[design])
        self.fields["repeats"].label.setText(_ROUNDS if is_sequential else FIELDS["repeats"].label)
        repeats = cast("QLineEdit", self.fields["repeats"].control)
        repeats.setPlaceholderText(str(default_repeats(len(parts.chosen()), design)))
        is_said = bool(parts.values["precision"].strip())
        self.fields["precision"].setVisible(is_sequential or is_said)

    def _show_phase_problems(self) -> None:
        problems = self.draft.problems_for(self.step)
        self.phases.show_problems([each for each in problems if belongs(each.path, PHASES)])

    def _on_script(self, script: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not ticked or self.is_loading:
            return
        parts = self.draft.parts
        if script == OWN_SCRIPTS and not parts.scripts:
            parts.scripts.append(ScriptDraft())
            self.scripts.show_scripts(parts.scripts)
        self.put(_SCRIPT, script)

    def _memory_bytes(self) -> int:
        """Return the memory available for caches; 0 if limited on purpose, or unknown."""
        limited = self.draft.parts.on_disks() and self.draft.parts.disks.memory_limit.strip()
        environment = self.draft.environment
        return 0 if limited or environment is None else environment.machine.usable_ram_bytes


def _scale_note(scale: ScaleChoice | None, memory_bytes: int) -> str:
    if scale is None:
        return ""
    note = tr("{size}, scale {scale}: {reason}").format(
        size=format_size(scale.data_bytes), scale=scale.scale, reason=scale.reason
    )
    sentences = [f"{note}."]
    if 0 < _FITS_TIMES * scale.data_bytes <= memory_bytes:
        fits = tr("The data fits in RAM {times} times over, so reads come mostly from memory, not storage.")
        sentences.append(fits.format(times=number_text(memory_bytes // scale.data_bytes, ",")))
    if scale.is_contended:
        waits = tr("scale factor lower than number of clients: they wait for each other's row locks")
        sentences.append(f"{titled(waits)}.")
    return " ".join(sentences)
