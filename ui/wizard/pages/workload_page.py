"""Third page: the work of pgbench, amount of data, duration."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from PySide6.QtWidgets import QButtonGroup, QLineEdit, QRadioButton, QWidget
from typing_extensions import override

from app.domain.campaign.configuration import BuiltinScript, DataSize, default_repeats
from app.domain.campaign.order import Design
from app.domain.text import number_text, tr
from app.domain.units import format_size
from app.draft.draft import CampaignDraft
from app.draft.fields.fields import FIELDS, PHASES, step_of
from app.draft.fields.state import OWN_SCRIPTS, ScriptDraft, Step, alternative
from app.postgres.pgbench.scale import ScaleChoice
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import Choice, Field, Section, describe_button
from ui.widgets.texts import ErrorText
from ui.wizard.base.controls import Alternatives, Entry, Form
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
_SIZES: Final = (
    Entry(tr("Small"), _SIZE, DataSize.SMALL),
    Entry(tr("Medium, half of the memory"), _SIZE, DataSize.MEDIUM),
    Entry(tr("Large, twice the memory"), _SIZE, DataSize.LARGE),
    Entry(tr("Another size"), _SIZE),
    Entry(tr("Scale factor"), "workload.scale"),
)
_LENGTHS: Final = (
    Entry(tr("time"), _LENGTH),
    Entry(tr("transactions each"), "workload.transactions"),
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
        "Sequential: finds the fastest in less time. From round three on, configurations unlikely "
        "to win are dropped, so less is known about them."
    ),
}
_ROUNDS: Final = tr("Rounds, at most (re&peats):")


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
        self.data_size = Alternatives(_SIZES, tr("Size of the data"), _SIZE)
        self.length = Alternatives(_LENGTHS, tr("Length of the measured phase"), _LENGTH)
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
                label = tr("{label}: {size}").format(label=each.label, size=format_size(scale.data_bytes))
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
        fits = tr("It fits into memory {times} times: reads show the memory, not the storage.")
        sentences.append(fits.format(times=number_text(memory_bytes // scale.data_bytes, ",")))
    if scale.is_contended:
        sentences.append(tr("Fewer rows to update than clients: they wait for each other."))
    return " ".join(sentences)
