"""Last page: the measurement, its cost, its detectable effect, and the exact commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import (
    QCheckBox,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.columns import CellKind, Column
from app.domain.errors import FootingError, Problem
from app.domain.text import format_size, quoted, titled, tr
from app.draft.commands import CommandLine, LineAction
from app.draft.disks.table import FIELD, confirm, confirmations, looking_words
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step
from app.draft.planning import TemplatesFound, effect_sentences, look_for_templates
from app.draft.review import Review, ReviewRow, make_review
from app.draft.servers import LOAD_FIELD, TRUST_FIELD, agreement_text
from app.execution.campaign import PreflightFinding, Severity, find_disturbances
from app.execution.resolve import ResolvedCampaign
from app.hosts.machine_lock import find_other_campaign, may_measure_beside
from app.library.spreads import KnownSpread, read_spreads
from app.process.starter import Account
from app.terminal.plain_text import plain_lines
from ui.background import BackgroundOp
from ui.theme import SMALL, Theme
from ui.widgets.fields import Field, Section, combo_box, describe_button, text_box
from ui.widgets.layouts import fill
from ui.widgets.texts import Text
from ui.wizard.base.controls import TextTable
from ui.wizard.base.page import Page
from ui.wizard.editors.confirmations import ConfirmDisks, LoadedServers


def sentences(findings: tuple[PreflightFinding, ...], severity: Severity) -> str:
    """Return the findings of one severity, a line each."""
    messages = [f"{each.message} {each.hint}".strip() for each in findings if each.severity is severity]
    sign = "⚠ " if severity is Severity.WARNING else ""
    return "\n".join(f"{sign}{sentence}" for sentence in messages)


class Disturbances(QWidget):
    """Warnings and notes of the preflight; none prevents the start.

    Attributes:
        library: folder for the runs; None if unknown.
        other: the current campaign of another user.
        wait: whether to wait for it; only root may choose.
        warnings: that make results doubtful.
        notes: for reading the results, and the progress of the check.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.library: Path | None = None
        self.other = Text(theme, role="warning")
        self.wait = QCheckBox(tr("Wait for the other &campaign"))
        self.wait.setChecked(True)
        describe_button(self.wait, "wait")
        self.warnings = Text(theme, role="warning")
        self.notes = Text(theme, role="muted")
        self._op: BackgroundOp[tuple[str, tuple[PreflightFinding, ...]]] | None = None
        fill(QVBoxLayout(self), self.other, self.wait, self.warnings, self.notes, spacing=SMALL, margins=0)
        self._show_texts("", "")

    def look(self, resolved: ResolvedCampaign) -> None:
        """Check the machine in the background; takes about a second per configuration."""
        self.stop()
        self._show_texts("", tr("Checking …"))
        library = str(self.library) if self.library is not None and self.library.is_dir() else None
        self._op = BackgroundOp(
            lambda: (find_other_campaign(), find_disturbances(resolved, library)), self._show, self._fail
        ).start()

    def stop(self) -> None:
        """Ignore pending answers."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _show(self, found: tuple[str, tuple[PreflightFinding, ...]]) -> None:
        self._op = None
        other, findings = found
        nothing = "" if other or findings else tr("No disturbance found.")
        self._show_texts(
            sentences(findings, Severity.WARNING), sentences(findings, Severity.NOTE) or nothing, other
        )

    def _fail(self, error: FootingError) -> None:
        self._op = None
        self._show_texts(error.message, "")

    def _show_texts(self, warnings: str, notes: str, other: str = "") -> None:
        may_choose = may_measure_beside()
        if other and not may_choose:
            other = tr("{sentence} Yours starts when that campaign has ended.").format(sentence=other)
        for text, label in ((other, self.other), (warnings, self.warnings), (notes, self.notes)):
            label.setText(text)
            label.setVisible(bool(text))
        self.wait.setVisible(bool(other) and may_choose)


_LINES: Final = 14
_ROWS: Final = 6


class ReviewPage(Page):
    """Everything before the start; read-only."""

    step = Step.REVIEW
    title = tr("Is this what you want to measure?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self._shown: ResolvedCampaign | None = None
        self.table = TextTable(tr("What will be measured"), "review", most=_ROWS)
        self.table.horizontalHeader().setMinimumSectionSize(9 * self.table.fontMetrics().averageCharWidth())
        self.unsafe = Text(theme, role="warning")
        self.time = Text(theme)
        self.baseline = QCheckBox(tr("Benchm&ark the raw storage first (fio, pg_test_fsync)"))
        describe_button(self.baseline, "io_baseline")
        self.asking = Text(theme, role="muted")
        self.data_set = Text(theme)
        self.disturbances = Disturbances(theme)
        self.effect = Text(theme)
        self.written = Text(theme)
        self.removed = Text(theme)
        self.configuration = combo_box()
        self.commands = text_box(theme, "", _LINES)
        self.commands.setReadOnly(True)
        self.commands.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        which = Field(theme, tr("Commands &of:"), self.configuration, "commands")
        listed = Field(theme, tr("For its &first run, in this order:"), self.commands, "commands")
        self.confirm = ConfirmDisks(theme)
        self.erased = Text(theme, role="warning")
        self.erased.setText(tr("Everything on these disks will be erased."))
        self.stored = Text(theme, role="warning")
        self.looked = Text(theme, role="muted")
        self.asked = text_box(theme, "", _LINES)
        self.asked.setReadOnly(True)
        self.asked.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.trust = QCheckBox(tr("I have read this and &trust it"))
        describe_button(self.trust, TRUST_FIELD)
        sentence = tr(
            "Settings or scripts of this campaign can run programs on this machine. Trust them only if you "
            "know where they come from; pgFooting asks again after any change."
        )
        warning = Text(theme, sentence, role="warning")
        listed_too = Field(theme, tr("Per&missions:"), self.asked, TRUST_FIELD)
        self._trusting = Section(
            theme, tr("This campaign can run programs"), [warning, listed_too, self.trust]
        )
        self._erasing = Section(
            theme, tr("Disks that will be erased"), [self.erased, self.confirm, self.looked, self.stored]
        )
        self._loaded = LoadedServers(theme)
        self._sections = (
            Section(theme, "", [self.table, self.unsafe]),
            Section(theme, titled(tr("time")), [self.time, self.baseline, self.asking]),
            Section(theme, titled(tr("data set")), [self.data_set]),
            Section(theme, tr("Possible disturbances"), [self.disturbances]),
            Section(theme, tr("What these runs can detect"), [self.effect]),
            Section(theme, tr("Amount written"), [self.written]),
            Section(theme, tr("Created and removed for each run"), [self.removed]),
            Section(theme, tr("Exact commands"), [which, listed]),
        )
        for section in (
            self._sections[0],
            self._trusting,
            self._loaded,
            self._erasing,
            *self._sections[1:],
        ):
            self.layout_.addWidget(section)
        self.layout_.addStretch(1)
        self._review: Review | None = None
        self._spreads: dict[str, KnownSpread] = {}
        self._spreads_op: BackgroundOp[dict[str, KnownSpread]] | None = None
        self._templates: TemplatesFound | None = None
        self._templates_op: BackgroundOp[TemplatesFound | None] | None = None
        self._shown_words: object = None
        self._connect()

    def _connect(self) -> None:
        self.configuration.currentIndexChanged.connect(self._show_commands)
        self.confirm.typed.connect(self._on_confirmed)
        self._loaded.servers.typed.connect(self._on_load_typed)
        self._loaded.look.clicked.connect(self._on_look)
        self.trust.clicked.connect(self._on_trust)
        self.baseline.clicked.connect(self._on_baseline)

    @override
    def first_control(self) -> QWidget:
        return self.table

    @override
    def load(self) -> None:
        self._shown = None  # disturbances are checked again each time the page opens
        super().load()

    @override
    def refresh(self) -> None:
        resolved = self.draft.resolved()
        environment = self.draft.environment
        known = resolved is not None and environment is not None and environment.account is not None
        for section in self._sections:
            section.setVisible(known)
        if resolved is not None and environment is not None and environment.account is not None:
            described = self.draft.described()
            if resolved is not self._shown or described != self._shown_words:
                if resolved is not self._shown:
                    self._templates = None
                self._show(self._make_review(resolved))
            if resolved is not self._shown:
                self.disturbances.look(resolved)
                self._look_at_spreads()
                self._look_for_templates(resolved, environment.account)
            self._shown, self._shown_words = resolved, described
        self._show_disks()
        self._show_servers()
        self._show_trust()
        super().refresh()

    def _make_review(self, resolved: ResolvedCampaign) -> Review:
        disks = self.draft.storage.disks
        return make_review(resolved, self.draft.described(), disks, self._spreads, self._templates)

    def stop(self) -> None:
        """Ignore pending answers."""
        self.disturbances.stop()
        for op in (self._spreads_op, self._templates_op):
            if op is not None:
                op.cancel()
        self._spreads_op = self._templates_op = None

    def _look_at_spreads(self) -> None:
        """Use the library's variation of such targets for planning, once its index is read."""
        library = self.disturbances.library
        self._spreads_op = BackgroundOp(lambda: read_spreads(library), self._plan_with, lambda _error: None)
        self._spreads_op.start()

    def _look_for_templates(self, resolved: ResolvedCampaign, account: Account) -> None:
        """Show the source and cost of copied data sets, once known."""

        def show(found: TemplatesFound | None) -> None:
            self._templates_op = None
            self._templates = found
            if found is not None:
                self._show(self._make_review(resolved))

        if self._templates_op is not None:
            self._templates_op.cancel()
        self._templates_op = BackgroundOp(
            lambda: look_for_templates(resolved, account), show, lambda _error: None
        ).start()

    def _plan_with(self, spreads: dict[str, KnownSpread]) -> None:
        resolved = self.draft.resolved()
        self._spreads = spreads
        if self._review is not None and resolved is not None:
            messages = effect_sentences(resolved.campaign, self._review.about_s, spreads)
            self.effect.setText("\n".join(messages))

    def _show_trust(self) -> None:
        """Show what the user must agree to, if anything."""
        agreement = self.draft.agreement()
        self._trusting.setVisible(agreement is not None and agreement.is_open)
        if agreement is None or not agreement.is_open:
            return
        text = plain_lines(agreement_text(agreement))
        if text != self.asked.toPlainText():  # unchanged text keeps its scroll position
            self.asked.setPlainText(text)
        self.trust.setChecked(self.draft.parts.agreed == agreement.digest)

    def _on_trust(self, checked: bool) -> None:  # noqa: FBT001 - Qt's signal
        self.draft.agree(agreed=checked)
        self.report_change()

    def _on_baseline(self, checked: bool) -> None:  # noqa: FBT001 - Qt's signal
        self.draft.ask_for_baseline(wanted=checked)
        self.report_change()

    def _show_disks(self) -> None:
        """Show the disks to be erased, if any."""
        self._erasing.setVisible(bool(self.draft.parts.on_disks()))
        if self.draft.parts.on_disks():
            found = confirmations(self.draft.parts, self.draft.storage)
            self.confirm.show_disks(found)
            self.looked.setText(looking_words(self.draft.parts, self.draft.storage))
            is_test = any(each.is_test_device for each in found)
            self.stored.setText(
                tr("⚠ TEST DEVICES: the results are those of a file, not of a disk. The runs are marked.")
            )
            self.stored.setVisible(is_test)

    def _show_servers(self) -> None:
        """Show the external servers to be loaded, with the findings."""
        self._loaded.show_servers(self.draft.servers_to_contact(), self.draft.server_confirmations())

    def _on_look(self) -> None:
        self.draft.allow_contact()
        self.report_change()

    def _on_load_typed(self, connection: str, typed: str) -> None:
        self.draft.parts.loaded[connection] = typed
        self.report_change()

    @override
    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show problems; missing confirmations appear only at the Start button, not as errors."""
        super().show_problems(
            [each for each in problems if each.path not in {FIELD, TRUST_FIELD, LOAD_FIELD}]
        )

    def _on_confirmed(self, key: str, typed: str) -> None:
        confirm(self.draft.parts.disks, key, typed)
        self.report_change()

    def _show(self, review: Review) -> None:
        self._review = review
        self.table.show_rows(REVIEW_COLUMNS, review.rows)
        self.table.setCurrentCell(0, 0)
        self.time.setText(f"{review.time} {review.turns}".strip())
        self.baseline.setChecked(self.draft.wants_baseline)
        self.asking.setText(review.baseline)
        self.asking.setVisible(bool(review.baseline))
        self.data_set.setText(" ".join(review.data))
        self.effect.setText("\n".join(review.effect))
        self.written.setText(" ".join(review.written))
        folders = dict.fromkeys(folder for row in review.rows for folder in row.removed)
        nothing = tr("Nothing else is removed.")
        if self.draft.parts.on_disks():
            sentence = tr(
                "Afterwards the disks are released: pgFooting's partitions and signatures are wiped, and "
                "the root helper records that. The rest is not zeroed. {nothing}"
            )
            nothing = sentence.format(nothing=nothing)
        self.removed.setText("\n".join((*folders, nothing)))
        marked = _risks(review)
        self.unsafe.setText("\n".join(marked))
        self.unsafe.setVisible(bool(marked))
        before = self.configuration.currentText()
        self.configuration.blockSignals(True)  # noqa: FBT003 - Qt's signature
        self.configuration.clear()
        self.configuration.addItems([row.name for row in review.rows])
        self.configuration.setCurrentIndex(max(0, self.configuration.findText(before)))
        self.configuration.blockSignals(False)  # noqa: FBT003
        self._show_commands()

    def _show_commands(self) -> None:
        row = self.configuration.currentIndex()
        if self._review is not None and 0 <= row < len(self._review.rows):
            self.commands.setPlainText(commands_text(self._review.rows[row].commands))


def commands_text(commands: tuple[CommandLine, ...]) -> str:
    """Return commands as in a terminal: comment, prompt, command."""
    blocks = []
    for line in commands:
        match line.action:
            case LineAction.PROGRAM:
                blocks.append(f"# {line.comment}\n$ {line.text}")
            case LineAction.SQL:
                blocks.append(f"# {line.comment}\n=# {line.text}")
            case LineAction.FILE:
                body = "\n".join(f"    {part}" for part in line.text.splitlines() if part[:1] != "#")
                blocks.append(f"# {line.comment}: {line.file}\n{body}")
            case LineAction.ROOT:
                body = "\n".join(
                    part if part[:1] == "#" else f"root# {part}" for part in line.text.splitlines()
                )
                blocks.append(f"# {line.comment}\n{body}")
            case LineAction.REMOVE:
                body = "\n".join(f"    {part}" for part in line.text.splitlines())
                blocks.append(f"# {line.comment}:\n{body}")
    return "\n\n".join(blocks)


def _risks(review: Review) -> list[str]:
    """Return each unsafe setting once, with its configurations."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in review.rows:
        for risk in row.unsafe:
            found.setdefault(risk, []).append(row.name)
    sentences = []
    for (setting, value, reason), names in found.items():
        everywhere = len(names) == len(review.rows)
        whose = tr("all") if everywhere else ", ".join(quoted(name) for name in names)
        words = f"{whose}: {setting} = {value}: {reason.rstrip('.')}."
        sentences.append(tr("⚠ UNSAFE: {risk}").format(risk=words))
    return sentences


def _data(row: ReviewRow) -> str:
    scale, _, _ = row.scale.partition(":")
    return f"{format_size(row.data_bytes)}\n{scale}"


def _free(row: ReviewRow) -> str:
    return tr("not known") if row.free_bytes is None else format_size(row.free_bytes)


REVIEW_COLUMNS: Final[tuple[Column[ReviewRow], ...]] = (
    Column("configuration", titled(tr("configuration")), lambda row: row.name, CellKind.WORDS),
    Column("place", tr("Data in"), lambda row: row.place, CellKind.WORDS),
    Column("postgresql", "PostgreSQL", lambda row: row.postgresql.replace(" · ", "\n"), CellKind.WORDS),
    Column("data", titled(tr("data")), _data, CellKind.NUMBERS),
    Column("free", tr("Free"), _free),
)
"""Columns of the table of configurations."""
