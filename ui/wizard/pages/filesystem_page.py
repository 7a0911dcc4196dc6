"""Filesystem, preset and options of the disks, generated from the declarations, with the commands below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLayout, QPlainTextEdit, QRadioButton, QWidget
from typing_extensions import override

from app.domain.problem import Problem
from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from app.domain.text import tr
from app.draft.disks.filesystems import (
    FilesystemCard,
    choose_filesystem,
    choose_preset,
    circumstances,
    filesystem_cards,
    preset_choices,
    set_option,
    shared_obstacles,
)
from app.draft.disks.options import OptionRow, OptionsPage, changed_words, options_page
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import PREFIXES, preset_of, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step
from app.draft.fields.storage_state import GroupDraft, MadeDraft
from app.draft.matrix.offers import DimensionRow, dimension_rows
from app.draft.matrix.ticking import tick
from app.draft.matrix.variants import (
    VariantOffer,
    compared_words,
    comparison_words,
    follow_filesystem,
    other_filesystems,
    variant_groups,
)
from ui.theme import LARGE, Theme
from ui.widgets.columns import Columns, Flow
from ui.widgets.fields import Field, Section, combo_box, describe_button, set_row_enabled, text_box
from ui.widgets.formatting import tooltip
from ui.widgets.layouts import fill
from ui.widgets.texts import Heading, ReservedLines, ScrollingTexts, Text, below_rule, show_tip
from ui.wizard.base.page import Page
from ui.wizard.editors.array_fields import ArrayFields
from ui.wizard.editors.compare_bar import CompareBar
from ui.wizard.editors.options_form import OptionEditor, OptionsForm

_GROUPS: Final = {
    Role.DATA: tr("Of the &data"),
    Role.WAL: tr("Of the &WAL's own disks"),
    Role.TABLES: tr("Of the tables' own disks"),
    Role.INDEXES: tr("Of the indexes' own disks"),
}
_COMMAND_LINES: Final = 4
_FINDING_LINES: Final = 6
_SHARED_LINES: Final = 2


class FilesystemPage(Page):
    """One form for the data's disks, another for those of the WAL."""

    step = Step.FILESYSTEM
    title = tr("Which filesystem, with which options?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self._role = Role.DATA
        self._rows: tuple[DimensionRow, ...] = ()
        self.group_buttons = {role: QRadioButton(words) for role, words in _GROUPS.items()}
        self.data_button, self.wal_button = (self.group_buttons[role] for role in (Role.DATA, Role.WAL))
        self.cards: dict[str, QRadioButton] = {}
        self.shared = Text(theme, role="muted")
        self._card_group = QButtonGroup(self)
        self.preset = combo_box()
        self.chosen = Text(theme)
        self.unsafe = Text(theme, role="warning")
        self.findings = Text(theme, role="warning")
        self.commands = self._make_commands()
        self.footer = self._make_footer()
        self._below: QLayout | None = None
        self._preset = Field(theme, tr("&Preset:"), self.preset, "preset", lines=2)
        self.array = ArrayFields(theme)
        self.options = OptionsForm(theme)
        self.options.listen_for_find(self)
        self.options.find_elsewhere = self._find_of_array
        self._lay_out()
        for role, button in self.group_buttons.items():
            button.toggled.connect(partial(self._on_group, role))
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.options.clear.clicked.connect(self._on_clear)
        self.array.edited.connect(self.report_change)
        self.options.entered.connect(self._on_value_entered)

    @property
    def editors(self) -> dict[str, OptionEditor]:
        """The editors by the id of their option."""
        return self.options.editors

    def _make_commands(self) -> QPlainTextEdit:
        box = text_box(self.theme, tr("The commands appear when disks are chosen."), _COMMAND_LINES)
        box.setReadOnly(True)
        box.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        return box

    def _make_footer(self) -> QWidget:
        footer = QWidget()
        layout = fill(QHBoxLayout(footer), spacing=LARGE, margins=0)
        self.layout_.removeWidget(self.general)
        making = tr("C&ommands (names and UUIDs vary):")
        layout.addWidget(Field(self.theme, making, self.commands, "making"), 3)
        # Below the check boxes: texts about one must not move the next one away.
        texts = (self.general, self.chosen, self.unsafe, self.findings)
        layout.addWidget(ScrollingTexts(_FINDING_LINES, *texts), 2)
        return below_rule(self.theme, footer)

    def _lay_out(self) -> None:
        self._groups = Columns(list(self.group_buttons.values()), 24)
        group = QButtonGroup(self)
        for button in self.group_buttons.values():
            group.addButton(button)
            describe_button(button, "use")
        self.data_button.setChecked(True)
        for card in filesystem_cards(GroupDraft(), MadeDraft(), self.draft.storage):
            button = QRadioButton(card.label)
            describe_button(button, f"filesystem:{card.id}")
            self._card_group.addButton(button)
            button.toggled.connect(partial(self._on_filesystem, card.id))
            self.cards[card.id] = button
        self.compare = CompareBar()
        self.compare.wanted.connect(self._on_compare)
        cards = Flow()
        cards.show_widgets(list(self.cards.values()))
        self._shared = ReservedLines(_SHARED_LINES, self.shared)
        top = Section(self.theme, "", [self._groups, cards, self._shared, self.compare])
        self._heading_of_array = Heading(self.theme, tr("Array and disks"))
        line = QWidget()
        fill(QHBoxLayout(line), (self._preset, 1), (self.options.bar, 1), spacing=LARGE, margins=0)
        below = (line, self.options, self._heading_of_array, self.array)
        for widget in (top, *below):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)

    @override
    def make_compact(self, compact: bool) -> None:
        """Let the commands scroll with the options of a low window."""
        self.options.make_compact(compact)
        if self.footer is not None and (cell := self.footer.parentWidget()) is not None:
            self._below = self._below or cell.layout()
            (self.layout_ if compact or self._below is None else self._below).addWidget(self.footer)

    # --- the group

    @property
    def group(self) -> GroupDraft:
        """The disks with the shown filesystem."""
        return self.draft.parts.disks.groups[self._role]

    @property
    def made(self) -> MadeDraft:
        """The shown layout."""
        return self.group.made

    @override
    def first_control(self) -> QWidget:
        return self.cards[self.made.filesystem]

    @override
    def fill(self) -> None:
        if not self.group.disks:
            self._role = Role.DATA
        self.group_buttons[self._role].setChecked(True)

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
        """Show problems that no option of the form shows already."""
        prefix = f"{PREFIXES[self._role]}options."
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
        groups = draft.parts.disks.groups
        self._groups.setVisible(any(groups[role].disks for role in FURTHER_ROLES))
        for role, button in self.group_buttons.items():
            button.setVisible(role is Role.DATA or bool(groups[role].disks))
        self._show_cards(filesystem_cards(group, made, draft.storage))
        self._show_presets()
        self.array.show_group(self.group)
        page = self._page()
        self.options.show_options(spec_of(made), page, self._show_compared())
        self._show_findings(page)
        lines = draft.making_lines()
        self.commands.setPlainText("\n".join(lines))
        wrong = tr("Fix the errors above to see the commands.")
        self.commands.setPlaceholderText(wrong if draft.parts.disks.data.disks else tr("No disk is chosen."))
        prefix = PREFIXES[self._role]
        self.fields = {
            f"{prefix}preset": self._preset,
            **{f"{prefix}{key}": field for key, field in self.array.fields.items()},
        }

    def _show_cards(self, cards: Sequence[FilesystemCard]) -> None:
        """Show the chosen filesystem, and why others are unavailable here."""
        several = shared_obstacles(cards)
        texts = list(several)
        for card in cards:
            button = self.cards[card.id]
            button.setChecked(card.id == self.made.filesystem)
            button.setEnabled(not card.obstacles or card.id == self.made.filesystem)
            show_tip(button, card.good_for, *card.obstacles)
            own = [each for each in card.obstacles if not any(text.endswith(each) for text in several)]
            if own:
                texts.append(f"{card.label}: {' '.join(own)}")
        self.shared.setText("\n".join(texts))
        self._shared.setVisible(bool(texts))  # constant whatever is chosen: nothing moves
        self._shared.arrange()

    def _page(self) -> OptionsPage:
        parts = self.draft.parts
        around = circumstances(parts.disks, self.draft.storage, server_settings_of(parts), self._role)
        return options_page(self.made, around)

    def _show_compared(self) -> dict[str, str]:
        """Show the comparisons of the filesystem; return its compared options."""
        draft = self.draft
        is_data = self._role is Role.DATA
        self.compare.setVisible(is_data)
        if not is_data:
            return {}
        built = draft.built
        self._rows = dimension_rows(draft.parts, built, draft.storage, draft.environment)
        count = len(built.campaign.configurations) if built.campaign else 0
        words = comparison_words(self._rows)
        result = tr("{count} configurations: {words}").format(count=count, words=words)
        if not words:
            result = tr("Nothing added yet. Only this configuration will be measured.")
        self.compare.show_variants(
            other_filesystems(self._rows), variant_groups(self._rows), result if count or not words else words
        )
        return compared_words(self._rows)

    def _show_presets(self) -> None:
        choices = preset_choices(self.made, self.draft.storage)
        if [self.preset.itemData(row) for row in range(self.preset.count())] != [each.id for each in choices]:
            self.preset.clear()
            for each in choices:
                self.preset.addItem(each.label, each.id)
        for row, each in enumerate(choices):
            self.preset.setItemData(row, tooltip(each.obstacle or each.words), Qt.ItemDataRole.ToolTipRole)
            set_row_enabled(self.preset, row, enabled=not each.obstacle)
        chosen = preset_of(self.made)
        self.preset.setCurrentIndex(self.preset.findData(chosen))
        words = next(each for each in choices if each.id == chosen)
        self._preset.set_note(words.words)

    def _show_findings(self, page: OptionsPage) -> None:
        rows = {row.option.id: row for row in page.rows}
        sentence = tr("⚠ UNSAFE: {what}: {risk} The runs are marked so everywhere.")
        risks: dict[tuple[str, str], list[str]] = {}
        for what, value, risk in page.unsafe:
            risks.setdefault((what, value), []).append(risk)
        unsafe = [
            sentence.format(what=_unsafe_words(rows.get(what), what, value), risk=" ".join(words))
            for (what, value), words in risks.items()
        ]
        self.unsafe.setText("\n".join(unsafe))
        self.unsafe.setVisible(bool(unsafe))
        sentences = [message for message, _ in page.general]
        self.findings.setText("\n".join(sentences))
        self.findings.setVisible(bool(sentences))
        changed = changed_words(page)
        words = tr("Chosen against the defaults: {options}").format(options=changed)
        self.chosen.setText(words if changed else tr("Every option is as tools and kernel have it."))

    # --- user actions

    def _on_group(self, role: Role, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if ticked and not self.is_loading:
            self._role = role
            self.refresh()

    def _on_filesystem(self, filesystem_id: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if ticked and not self.is_loading:
            if self._role is Role.DATA:
                follow_filesystem(self.draft.parts, self.made.filesystem, filesystem_id)
            choose_filesystem(self.made, filesystem_id)
            self.report_change()

    def _on_compare(self, variant: VariantOffer, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        row = next(row for row in self._rows if row.key == variant.key)
        offered = [each.value for each in row.values]
        tick(self.draft.parts, variant.key, variant.values, offered, variant.base, ticked=ticked)
        self.report_change()

    def _on_preset(self) -> None:
        if not self.is_loading:
            choose_preset(self.made, str(self.preset.currentData()))
            self.report_change()

    def _find_of_array(self, text: str) -> bool:
        found = self.array.show_matching(text)
        self._heading_of_array.setVisible(found)
        return found

    def _on_clear(self) -> None:
        self.made.typed.clear()
        self.report_change()

    def _on_value_entered(self, option_id: str, text: str) -> None:
        set_option(self.made, spec_of(self.made).option(option_id), text)
        self.report_change()


def _unsafe_words(row: OptionRow | None, what: str, value: str) -> str:
    """Return the unsafe option under both names: ``Write barriers off (nobarrier)``."""
    if row is None:
        return f"{what} = {value}"
    words = {"true": tr("on"), "false": tr("off")}
    shown = f"{row.option.label}: {words.get(value, value)}"
    return f"{shown} ({row.spelled})" if row.spelled else shown
