"""Filesystem, preset and options of the disks, generated from the declarations; the commands grow below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QButtonGroup, QPlainTextEdit, QRadioButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.disks.filesystems import (
    choose_filesystem,
    choose_preset,
    circumstances,
    filesystem_cards,
    preset_choices,
    say,
    shared_obstacles,
)
from app.draft.disks.options import OptionGroup, OptionRow, OptionsPage, options_page
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import PREFIX, WAL_PREFIX, preset_of, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step
from app.draft.fields.storage_state import GroupDraft, MadeDraft
from ui.theme import SMALL, TINY, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import (
    Choice,
    Field,
    Section,
    combo_box,
    describe_button,
    push_button,
    text_box,
)
from ui.widgets.formatting import tooltip
from ui.widgets.texts import ScrollingTexts, Text
from ui.wizard.base.page import Page
from ui.wizard.editors.option_editor import ArrayFields, OptionEditor

_COMMAND_LINES: Final = 5
_FINDING_LINES: Final = 4


class FilesystemPage(Page):
    """One form for the data's disks, the same for those of the WAL."""

    step = Step.FILESYSTEM
    title = tr("Which filesystem, with which options?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self._of_wal = False
        self._built_for: tuple[str, bool] | None = None
        self.editors: dict[str, OptionEditor] = {}
        self.data_button = QRadioButton(tr("Of the &data"))
        self.wal_button = QRadioButton(tr("Of the &WAL's own disks"))
        self.cards: dict[str, Choice] = {}
        self.shared = Text(theme, role="muted")
        self._card_group = QButtonGroup(self)
        self.preset = combo_box()
        self.clear = push_button(tr("&Take back own options"), "preset")
        self.wrong = Text(theme, role="warning")
        self.unsafe = Text(theme, role="warning")
        self.findings = Text(theme, role="warning")
        self.commands = self._make_commands()
        self.footer = self._make_footer()
        self._preset = Field(theme, tr("&Preset:"), self.preset, "preset", beside=(self.clear,), lines=3)
        self.array = ArrayFields(theme)
        self._options = QWidget()
        self._options_layout = QVBoxLayout(self._options)
        self._options_layout.setContentsMargins(0, 0, 0, 0)
        self._options_layout.setSpacing(SMALL)
        self._lay_out()
        self.data_button.toggled.connect(self._on_group)
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.clear.clicked.connect(self._on_clear)
        self.array.edited.connect(self.tell)

    def _make_commands(self) -> QPlainTextEdit:
        box = text_box(self.theme, tr("The commands appear when disks are chosen."), _COMMAND_LINES)
        box.setReadOnly(True)
        box.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        return box

    def _make_footer(self) -> QWidget:
        footer = QWidget()
        layout = QVBoxLayout(footer)
        layout.setContentsMargins(0, SMALL, 0, 0)
        layout.setSpacing(TINY)
        self.layout_.removeWidget(self.general)
        # Here, and not above what is ticked: what is said of a tick must not move the next one away.
        layout.addWidget(ScrollingTexts(_FINDING_LINES, self.general, self.wrong, self.unsafe, self.findings))
        layout.addWidget(
            Field(
                self.theme,
                tr("What it c&omes to (names and identifiers are random):"),
                self.commands,
                "making",
            )
        )
        return footer

    def _lay_out(self) -> None:
        self._groups = Columns([self.data_button, self.wal_button], 24)
        group = QButtonGroup(self)
        group.addButton(self.data_button)
        group.addButton(self.wal_button)
        for button in (self.data_button, self.wal_button):
            describe_button(button, "use")
        self.data_button.setChecked(True)
        for card in filesystem_cards(GroupDraft(), MadeDraft(), self.draft.storage):
            button = QRadioButton(card.label)
            self._card_group.addButton(button)
            choice = Choice(self.theme, button, card.good_for, f"filesystem:{card.id}")
            button.toggled.connect(partial(self._on_filesystem, card.id))
            self.cards[card.id] = choice
        top = Section(self.theme, "", [self._groups, Columns(list(self.cards.values()), 30), self.shared])
        for widget in (top, self._preset, self.array, self._options):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)

    # --- which group

    @property
    def group(self) -> GroupDraft:
        """The disks whose filesystem is shown."""
        disks = self.draft.parts.disks
        return disks.wal if self._of_wal else disks.data

    @property
    def made(self) -> MadeDraft:
        """What is shown."""
        return self.group.made

    @override
    def first_control(self) -> QWidget:
        return self.cards[self.made.filesystem].button

    @override
    def fill(self) -> None:
        if not self.draft.parts.disks.wal.disks:
            self._of_wal = False
        (self.wal_button if self._of_wal else self.data_button).setChecked(True)
        self._built_for = None

    @override
    def refresh(self) -> None:
        before, self._loading = self._loading, True
        try:
            self._show_all()
        finally:
            self._loading = before
        super().refresh()

    @override
    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show what no option of the form shows already."""
        prefix = f"{WAL_PREFIX if self._of_wal else PREFIX}options."
        super().show_problems(
            [
                each
                for each in problems
                if not (each.path.startswith(prefix) and each.path.removeprefix(prefix) in self.editors)
            ]
        )

    @override
    def label_of(self, field: str) -> str:
        editor = self.editors.get(field.rpartition(".")[2])
        return editor.control.accessibleName() if editor and ".options." in field else super().label_of(field)

    def _show_all(self) -> None:
        draft, made, group = self.draft, self.made, self.group
        self._groups.setVisible(bool(draft.parts.disks.wal.disks))
        cards = filesystem_cards(group, made, draft.storage)
        shared = shared_obstacles(cards)
        self.shared.setText("\n".join(shared))
        self.shared.setVisible(bool(shared))
        for card in cards:
            choice = self.cards[card.id]
            choice.button.setChecked(card.id == made.filesystem)
            choice.button.setEnabled(not card.obstacles or card.id == made.filesystem)
            own = [each for each in card.obstacles if not any(text.endswith(each) for text in shared)]
            if len(own) < len(card.obstacles):
                own.append(tr("Not here: see below."))
            choice.set_state(" ".join(own))
            choice.button.setToolTip(tooltip(*card.obstacles))
        self._show_presets()
        self.array.show_group(self.group)
        page = self._page()
        self._show_options(page)
        self._show_findings(page)
        lines = draft.making_lines()
        self.commands.setPlainText("\n".join(lines))
        wrong = tr("The commands appear when nothing is wrong any more.")
        self.commands.setPlaceholderText(wrong if draft.parts.disks.data.disks else tr("No disk is chosen."))
        prefix = WAL_PREFIX if self._of_wal else PREFIX
        self.fields = {
            f"{prefix}preset": self._preset,
            **{f"{prefix}{key}": field for key, field in self.array.fields.items()},
        }

    def _page(self) -> OptionsPage:
        parts = self.draft.parts
        server = {} if self._of_wal else server_settings_of(parts)
        log = 0 if self._of_wal else len(parts.disks.zfs_log)
        around = circumstances(self.group, self.made, self.draft.storage, server=server, zfs_log=log)
        return options_page(self.made, around)

    def _show_presets(self) -> None:
        choices = preset_choices(self.made, self.draft.storage)
        if [self.preset.itemData(row) for row in range(self.preset.count())] != [each.id for each in choices]:
            self.preset.clear()
            for each in choices:
                self.preset.addItem(each.label, each.id)
        model = self.preset.model()
        for row, each in enumerate(choices):
            self.preset.setItemData(row, tooltip(each.obstacle or each.words), Qt.ItemDataRole.ToolTipRole)
            if isinstance(model, QStandardItemModel):
                model.item(row).setEnabled(not each.obstacle)
        chosen = preset_of(self.made)
        self.preset.setCurrentIndex(self.preset.findData(chosen))
        words = next(each for each in choices if each.id == chosen)
        self._preset.set_note(words.words)
        self.clear.setEnabled(bool(self.made.typed))

    def _show_options(self, page: OptionsPage) -> None:
        built = (self.made.filesystem, self._of_wal)
        if built != self._built_for:
            self._build_options(page)
            self._built_for = built
        for row in page.rows:
            self.editors[row.option.id].show_row(row)

    def _build_options(self, page: OptionsPage) -> None:
        while (item := self._options_layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.editors = {}
        parts: dict[OptionGroup, list[OptionRow]] = {}
        for row in page.rows:
            parts.setdefault(row.part, []).append(row)
        for part in OptionGroup:
            editors = [OptionEditor(self.theme, row, self.made.filesystem) for row in parts.get(part, ())]
            for editor in editors:
                editor.said.connect(self._on_said)
                self.editors[editor.option_id] = editor
            if editors:
                self._options_layout.addWidget(Section(self.theme, part.label, [Columns(editors, 38)]))

    def _show_findings(self, page: OptionsPage) -> None:
        label = {option.id: option.label for option in spec_of(self.made).options}
        sentence = tr("⚠ UNSAFE: {what} = {value}: {risk} The runs are marked so everywhere.")
        words = {"true": tr("on"), "false": tr("off")}
        unsafe = [
            sentence.format(what=label.get(what, what), value=words.get(value, value), risk=risk)
            for what, value, risk in page.unsafe
        ]
        self.unsafe.setText("\n".join(unsafe))
        self.unsafe.setVisible(bool(unsafe))
        wrong = [f"{row.option.label}: {message}" for row in page.rows for message in row.wrong]
        self.wrong.setText("\n".join(wrong))
        self.wrong.setVisible(bool(wrong))
        told = [message for message, _ in page.general]
        self.findings.setText("\n".join(told))
        self.findings.setVisible(bool(told))

    # --- what a person does

    def _on_group(self) -> None:
        if not self.is_loading:
            self._of_wal = self.wal_button.isChecked()
            self.refresh()

    def _on_filesystem(self, filesystem_id: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if ticked and not self.is_loading:
            choose_filesystem(self.made, filesystem_id)
            self.tell()

    def _on_preset(self) -> None:
        if not self.is_loading:
            choose_preset(self.made, str(self.preset.currentData()))
            self.tell()

    def _on_clear(self) -> None:
        self.made.typed.clear()
        self.tell()

    def _on_said(self, option_id: str, text: str) -> None:
        say(self.made, spec_of(self.made).option(option_id), text)
        self.tell()
