"""Third page: the work of pgbench, amount of data, duration."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtWidgets import QButtonGroup, QComboBox, QLineEdit, QRadioButton, QWidget
from typing_extensions import override

from app.domain.campaign.configuration import BuiltinScript, default_repeats
from app.domain.campaign.order import Design
from app.domain.text import number_text, tr
from app.domain.units import format_size
from app.draft.draft import CampaignDraft
from app.draft.fields.fields import FIELDS, PHASES, step_of
from app.draft.fields.state import OWN_SCRIPTS, Length, ScriptDraft, SizeChoice, Step
from app.postgres.pgbench.scale import ScaleChoice
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Choice, Field, Section, combo_box, describe_button, line_edit, set_text
from ui.widgets.texts import ErrorText
from ui.wizard.base.controls import control_of, show_in
from ui.wizard.base.page import Page, belongs
from ui.wizard.editors.phases_editor import PhasesEditor
from ui.wizard.editors.scripts_editor import ScriptsEditor

_SCRIPT: Final = "workload.script"
_SIZE: Final = "workload.size"
_LENGTH: Final = "workload.duration"

_MEANINGS: Final = {
    BuiltinScript.TPCB_LIKE.value: tr("Updates and an insert in each transaction: commits all the time."),
    BuiltinScript.SIMPLE_UPDATE.value: tr("The same without the two small, contended tables."),
    BuiltinScript.SELECT_ONLY.value: tr("Reads one row by its key; writes nothing."),
    OWN_SCRIPTS: tr("Files for pgbench, one or several with weights."),
}
_LABELS: Final = {
    BuiltinScript.TPCB_LIKE.value: tr("&TPC-B-like"),
    BuiltinScript.SIMPLE_UPDATE.value: tr("Simple &update"),
    BuiltinScript.SELECT_ONLY.value: tr("Select &only"),
    OWN_SCRIPTS: tr("Own scripts or a mi&x"),
}
_SIZES: Final = {
    SizeChoice.SMALL: tr("Small"),
    SizeChoice.MEDIUM: tr("Medium, half of the memory"),
    SizeChoice.LARGE: tr("Large, twice the memory"),
    SizeChoice.BYTES: tr("Another size"),
    SizeChoice.SCALE: tr("Scale factor"),
}
_ROWS: Final = "workload.compressibility"
_APART: Final = frozenset({_SCRIPT, "workload.scale", "workload.transactions"})
"""Keys with a place of their own on the page."""
_KEYS: Final = tuple(
    key for key, each in FIELDS.items() if each.label and step_of(key) is Step.WORKLOAD and key not in _APART
)
_MAIN: Final = (_SIZE, "workload.clients", _LENGTH, "workload.warmup", "design", "repeats", "precision")
"""Keys at the top of the page; the others are seldom changed."""

_FITS_TIMES: Final = 2
"""A data set that fits this many times into memory is read from there once loaded."""

_DESIGN_NOTES: Final = {
    Design.FIXED: tr("Fixed: for what is published, and where every difference is asked for."),
    Design.SEQUENTIAL: tr(
        "Sequential: for finding the fastest of several in less time; what is unlikely to be the "
        "fastest is left out after a round, from the third on, and less is known of it."
    ),
}
_ROUNDS: Final = tr("Rounds, at most (re&peats):")


class WorkloadPage(Page):
    """Script, data size, clients, times, repeats, and rarely changed options."""

    step = Step.WORKLOAD
    title = tr("What should PostgreSQL do?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.boxes: dict[str, QComboBox] = {}
        self._texts: dict[str, QLineEdit] = {}
        self.scripts = ScriptsEditor(theme)
        self.script_error = ErrorText(theme)
        self.group = QButtonGroup(self)
        self.script_buttons: dict[str, QRadioButton] = {}
        self._choices = [self._script_choice(script) for script in _LABELS]
        self.data_size = combo_box()
        for choice, label in _SIZES.items():
            self.data_size.addItem(label, choice)
        self.length = combo_box()
        self.length.addItem(tr("time"), Length.DURATION)
        self.length.addItem(tr("transactions each"), Length.TRANSACTIONS)
        self.phases = PhasesEditor(theme)
        self.size_text = _beside(_SIZE, tr("Size of the data"))
        self.length_text = _beside(_LENGTH, tr("Length of the measured phase"))
        self._make_fields()
        self._lay_out()
        self._connect()

    def _script_choice(self, script: str) -> Choice:
        button = QRadioButton(_LABELS[script])
        self.group.addButton(button)
        self.script_buttons[script] = button
        own = script == OWN_SCRIPTS
        key = "own" if own else _SCRIPT
        return Choice(self.theme, button, _MEANINGS[script], key, (self.scripts,) if own else ())

    def _make_fields(self) -> None:
        stated: dict[str, tuple[QWidget, ...]] = {
            _SIZE: (self.data_size, self.size_text),
            _LENGTH: (self.length_text, self.length),
        }
        self.fields = {}
        for key in _KEYS:
            control, *beside = stated.get(key) or (self._control(key),)
            self.fields[key] = Field(self.theme, FIELDS[key].label, control, key, beside=beside)
        self.length.setAccessibleName(tr("What ends the measured phase"))
        self.length.setProperty(HELP, _LENGTH)

    def _control(self, key: str) -> QWidget:
        control = control_of(FIELDS[key], partial(self._on_text, key))
        if isinstance(control, QComboBox):
            self.boxes[key] = control
        else:
            self._texts[key] = control
        return control

    def _lay_out(self) -> None:
        self.seldom = Columns([self.fields[key] for key in _KEYS if key not in _MAIN])
        sections = (
            Section(
                self.theme,
                tr("Transactions"),
                [Columns(self._choices[:3]), self._choices[3], self.script_error],
            ),
            Section(
                self.theme, tr("Data, clients and time"), [Columns([self.fields[key] for key in _MAIN], 36)]
            ),
            Section(self.theme, tr("Phases"), [self.phases]),
            Section(self.theme, tr("Seldom changed"), [self.seldom]),
        )
        for section in sections:
            self.layout_.addWidget(section)
        self.layout_.addStretch(1)

    def _connect(self) -> None:
        for script, button in self.script_buttons.items():
            describe_button(button, "own" if script == OWN_SCRIPTS else _SCRIPT)
            button.toggled.connect(partial(self._on_script, script))
        self.scripts.edited.connect(self.report_change)
        self.data_size.currentIndexChanged.connect(self._on_size)
        self.size_text.textEdited.connect(lambda text: self._on_text(self._size_key(), text))
        self.length.currentIndexChanged.connect(self._on_length)
        self.length_text.textEdited.connect(lambda text: self._on_text(self._length_key(), text))
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
        show_in(self.data_size, parts.size_choice)
        show_in(self.length, parts.length)
        self._offer_rows(parts.values[_ROWS])
        for key, control in (self._texts | self.boxes).items():
            show_in(control, parts.values[key])
        self.phases.show_phases(parts)
        self._show_texts()

    def _offer_rows(self, ratio: str) -> None:
        """Offer a ratio; an unlisted one from a campaign file becomes an entry."""
        rows = self.boxes[_ROWS]
        while rows.count() > len(FIELDS[_ROWS].choices):
            rows.removeItem(rows.count() - 1)
        if rows.findData(ratio) < 0:
            rows.addItem(tr("{ratio}:1").format(ratio=ratio), ratio)

    def _show_texts(self) -> None:
        """Show the text field of the chosen kind of size and length."""
        parts = self.draft.parts
        stated = parts.size_choice in {SizeChoice.BYTES, SizeChoice.SCALE}
        self.size_text.setVisible(stated)
        if stated:
            set_text(self.size_text, parts.values[self._size_key()])
        set_text(self.length_text, parts.values[self._length_key()])

    def _size_key(self) -> str:
        return "workload.scale" if self.draft.parts.size_choice is SizeChoice.SCALE else _SIZE

    def _length_key(self) -> str:
        return _LENGTH if self.draft.parts.length is Length.DURATION else "workload.transactions"

    @override
    def refresh(self) -> None:
        self._show_design()
        self.scripts.setVisible(self.draft.parts.values[_SCRIPT] == OWN_SCRIPTS)
        for choice in (SizeChoice.SMALL, SizeChoice.MEDIUM, SizeChoice.LARGE):
            scale = self.draft.scale_choice(choice)
            if scale is not None:
                label = tr("{label}: {size}").format(label=_SIZES[choice], size=format_size(scale.data_bytes))
                self.data_size.setItemText(self.data_size.findData(choice), label)
        self.fields[_SIZE].set_note(_scale_note(self.draft.scale_choice(), self._memory_bytes()))
        super().refresh()
        problems = [each for each in self.draft.problems_for(self.step) if not each.pending]
        self.script_error.show_problems([each for each in problems if belongs(each.path, _SCRIPT)])
        known = {_SIZE: "workload.scale", _LENGTH: "workload.transactions"}
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
        design = Design(self.boxes["design"].currentData())
        self.fields["design"].set_note(_DESIGN_NOTES[design])
        is_sequential = design is Design.SEQUENTIAL
        self.fields["repeats"].label.setText(_ROUNDS if is_sequential else FIELDS["repeats"].label)
        self._texts["repeats"].setPlaceholderText(str(default_repeats(len(parts.chosen()), design)))
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
        parts.values[_SCRIPT] = script
        self.report_change()

    def _on_text(self, key: str, text: str) -> None:
        if not self.is_loading:
            self.draft.parts.values[key] = text
            self.report_change()

    def _memory_bytes(self) -> int:
        """Return the memory available for caches; 0 if limited on purpose, or unknown."""
        limited = self.draft.parts.on_disks() and self.draft.parts.disks.memory_limit.strip()
        environment = self.draft.environment
        return 0 if limited or environment is None else environment.machine.usable_ram_bytes

    def _on_size(self) -> None:
        if not self.is_loading:
            self.draft.parts.size_choice = SizeChoice(self.data_size.currentData())
            self._show_texts()
            self.report_change()

    def _on_length(self) -> None:
        if not self.is_loading:
            self.draft.parts.length = Length(self.length.currentData())
            self._show_texts()
            self.report_change()


def _scale_note(scale: ScaleChoice | None, memory_bytes: int) -> str:
    if scale is None:
        return ""
    note = tr("{size}, scale {scale}: {reason}").format(
        size=format_size(scale.data_bytes), scale=scale.scale, reason=scale.reason
    )
    sentences = [f"{note}."]
    if 0 < _FITS_TIMES * scale.data_bytes <= memory_bytes:
        fits = tr("It fits into memory {times} times: reads show the memory, not the storage.")
        sentences.append(fits.format(times=number_text(memory_bytes // scale.data_bytes, ",")))
    if scale.is_contended:
        sentences.append(tr("Fewer rows to update than clients: they wait for each other."))
    return " ".join(sentences)


def _beside(key: str, label: str) -> QLineEdit:
    edit = line_edit()
    edit.setAccessibleName(label)
    edit.setProperty(HELP, key)
    return edit
