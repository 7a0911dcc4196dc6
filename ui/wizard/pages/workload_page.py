"""Third page: what pgbench does, with how much data, for how long."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtWidgets import QButtonGroup, QComboBox, QLineEdit, QRadioButton, QWidget
from typing_extensions import override

from app.domain.campaign.configuration import BuiltinScript, Protocol
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.draft import CampaignDraft
from app.draft.fields.state import OWN_SCRIPTS, Length, ScriptDraft, SizeChoice, Step
from app.postgres.pgbench.scale import ScaleChoice
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Choice, Field, Section, combo_box, describe_button, line_edit
from ui.widgets.texts import ErrorText
from ui.wizard.base.page import Page, belongs
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


class WorkloadPage(Page):
    """Script, data size, clients, times, repeats, and what is seldom changed."""

    step = Step.WORKLOAD
    title = tr("What should PostgreSQL do?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
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
        self.protocol = combo_box()
        for protocol in Protocol:
            self.protocol.addItem(protocol.value, protocol.value)
        self.size_text = self._text("size", _SIZE, tr("Size of the data"))
        self.length_text = self._text("duration", _LENGTH, tr("Length of the measured phase"))
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

    def _text(self, name: str, key: str, label: str) -> QLineEdit:
        edit = line_edit()
        edit.setAccessibleName(label)
        edit.setProperty(HELP, key)
        self._texts[name] = edit
        return edit

    def _make_fields(self) -> None:
        optional = tr("left out")
        made = {
            "clients": Field(self.theme, tr("C&lients:"), line_edit(), "workload.clients"),
            "warmup": Field(self.theme, tr("&Warm-up:"), line_edit("10s"), "workload.warmup"),
            "threads": Field(
                self.theme, tr("T&hreads of pgbench:"), line_edit(tr("half of the CPUs")), "workload.threads"
            ),
            "rate": Field(self.theme, tr("R&ate (TPS):"), line_edit(optional), "workload.rate"),
            "latency_limit": Field(
                self.theme, tr("Latency li&mit:"), line_edit(optional), "workload.latency_limit"
            ),
        }
        for name, field in made.items():
            assert isinstance(field.control, QLineEdit)  # noqa: S101 - made as such just above
            self._texts[name] = field.control
        self.repeats = line_edit()
        self.fields = {
            _SIZE: Field(self.theme, tr("&Data:"), self.data_size, _SIZE, beside=(self.size_text,)),
            _LENGTH: Field(self.theme, tr("M&easure for:"), self.length_text, _LENGTH, beside=(self.length,)),
            "repeats": Field(self.theme, tr("Re&peats of each configuration:"), self.repeats, "repeats"),
            "workload.protocol": Field(
                self.theme, tr("Quer&y protocol:"), self.protocol, "workload.protocol"
            ),
            **{f"workload.{name}": field for name, field in made.items()},
        }
        self.length.setAccessibleName(tr("What ends the measured phase"))
        self.length.setProperty(HELP, _LENGTH)

    def _lay_out(self) -> None:
        main = (_SIZE, "workload.clients", _LENGTH, "workload.warmup", "repeats")
        seldom = ("workload.protocol", "workload.threads", "workload.rate", "workload.latency_limit")
        self.seldom = Columns([self.fields[key] for key in seldom])
        sections = (
            Section(
                self.theme,
                tr("Transactions"),
                [Columns(self._choices[:3]), self._choices[3], self.script_error],
            ),
            Section(
                self.theme, tr("Data, clients and time"), [Columns([self.fields[key] for key in main], 36)]
            ),
            Section(self.theme, tr("Seldom changed"), [self.seldom]),
        )
        for section in sections:
            self.layout_.addWidget(section)
        self.layout_.addStretch(1)

    def _connect(self) -> None:
        for script, button in self.script_buttons.items():
            describe_button(button, "own" if script == OWN_SCRIPTS else _SCRIPT)
            button.toggled.connect(partial(self._on_script, script))
        self.scripts.edited.connect(self.tell)
        for name in ("clients", "warmup", "threads", "rate", "latency_limit"):
            self._texts[name].textEdited.connect(partial(self._on_text, name))
        self.data_size.currentIndexChanged.connect(self._on_size)
        self.size_text.textEdited.connect(self._on_size_text)
        self.length.currentIndexChanged.connect(self._on_length)
        self.length_text.textEdited.connect(self._on_length_text)
        self.protocol.currentIndexChanged.connect(self._on_protocol)
        self.repeats.textEdited.connect(self._on_repeats)

    @override
    def first_control(self) -> QWidget:
        part = self.draft.parts.workload
        return self.script_buttons.get(part.script, self.script_buttons[OWN_SCRIPTS])

    @override
    def fill(self) -> None:
        part = self.draft.parts.workload
        self.first_control()
        self.script_buttons.get(part.script, self.script_buttons[OWN_SCRIPTS]).setChecked(True)
        self.scripts.show_scripts(part.scripts)
        for name in ("clients", "warmup", "threads", "rate", "latency_limit"):
            _set(self._texts[name], getattr(part, name))
        _choose(self.data_size, part.size_choice)
        _choose(self.length, part.length)
        _choose(self.protocol, part.protocol)
        _set(self.repeats, self.draft.parts.campaign.repeats)
        self._show_texts()

    def _show_texts(self) -> None:
        """Show the text that belongs to the chosen way of saying size and length."""
        part = self.draft.parts.workload
        stated = part.size_choice in {SizeChoice.BYTES, SizeChoice.SCALE}
        self.size_text.setVisible(stated)
        if stated:
            _set(self.size_text, part.scale if part.size_choice is SizeChoice.SCALE else part.size)
        timed = part.length is Length.DURATION
        _set(self.length_text, part.duration if timed else part.transactions)

    @override
    def refresh(self) -> None:
        part = self.draft.parts.workload
        self.scripts.setVisible(part.script == OWN_SCRIPTS)
        for choice in (SizeChoice.SMALL, SizeChoice.MEDIUM, SizeChoice.LARGE):
            scale = self.draft.scale_choice(choice)
            if scale is not None:
                label = tr("{label}: {size}").format(label=_SIZES[choice], size=format_size(scale.data_bytes))
                self.data_size.setItemText(self.data_size.findData(choice), label)
        self.fields[_SIZE].set_note(_scale_note(self.draft.scale_choice()))
        super().refresh()
        problems = [each for each in self.draft.problems_for(self.step) if not each.pending]
        self.script_error.show_problems([each for each in problems if belongs(each.path, _SCRIPT)])
        known = {_SIZE: "workload.scale", _LENGTH: "workload.transactions"}
        for key, other in known.items():
            mine = [each for each in problems if belongs(each.path, key) or belongs(each.path, other)]
            self.fields[key].show_problems(mine)
        shown = (_SCRIPT, *known.values(), *self.fields)
        self.general.show_problems(
            [each for each in problems if not any(belongs(each.path, key) for key in shown)]
        )

    def _on_script(self, script: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not ticked or self.is_loading:
            return
        part = self.draft.parts.workload
        if script == OWN_SCRIPTS and not part.scripts:
            part.scripts.append(ScriptDraft())
            self.scripts.show_scripts(part.scripts)
        part.script = script
        self.tell()

    def _on_text(self, name: str, text: str) -> None:
        setattr(self.draft.parts.workload, name, text)
        self.tell()

    def _on_size(self) -> None:
        if not self.is_loading:
            self.draft.parts.workload.size_choice = SizeChoice(self.data_size.currentData())
            self._show_texts()
            self.tell()

    def _on_size_text(self, text: str) -> None:
        part = self.draft.parts.workload
        if part.size_choice is SizeChoice.SCALE:
            part.scale = text
        else:
            part.size = text
        self.tell()

    def _on_length(self) -> None:
        if not self.is_loading:
            self.draft.parts.workload.length = Length(self.length.currentData())
            self._show_texts()
            self.tell()

    def _on_length_text(self, text: str) -> None:
        part = self.draft.parts.workload
        if part.length is Length.DURATION:
            part.duration = text
        else:
            part.transactions = text
        self.tell()

    def _on_protocol(self) -> None:
        if not self.is_loading:
            self.draft.parts.workload.protocol = self.protocol.currentData()
            self.tell()

    def _on_repeats(self, text: str) -> None:
        self.draft.parts.campaign.repeats = text
        self.tell()


def _scale_note(scale: ScaleChoice | None) -> str:
    if scale is None:
        return ""
    note = tr("{size}, scale {scale}: {reason}").format(
        size=format_size(scale.data_bytes), scale=scale.scale, reason=scale.reason
    )
    if not scale.is_contended:
        return note
    return tr("{note}. Fewer units of scale than clients: rows are waited for.").format(note=note)


def _set(edit: QLineEdit, text: str) -> None:
    if edit.text() != text:
        edit.setText(text)


def _choose(box: QComboBox, value: object) -> None:
    box.setCurrentIndex(max(0, box.findData(value)))
