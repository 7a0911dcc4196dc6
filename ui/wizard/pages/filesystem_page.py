"""Filesystem, preset and options of the disks, generated from the declarations, with the commands below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLayout,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.campaign_file.partial import array_keys, queue_keys
from app.domain.errors import Problem
from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from app.domain.text import titled, tr
from app.draft.disks.filesystems import (
    FilesystemCard,
    OptionRow,
    OptionsPage,
    changed_words,
    choose_filesystem,
    choose_preset,
    circumstances,
    filesystem_cards,
    options_page,
    preset_choices,
    set_option,
    shared_obstacles,
)
from app.draft.disks.layout import SEPARATE
from app.draft.disks.problems import server_settings_of
from app.draft.disks.target import PREFIX, PREFIXES, preset_of, spec_of
from app.draft.draft import CampaignDraft
from app.draft.fields.state import FIELDS, GroupDraft, MadeDraft, Step, level_of
from app.draft.matrix.offers import (
    OPTION,
    DimensionRow,
    VariantGroup,
    VariantOffer,
    compared_words,
    comparison_words,
    dimension_rows,
    follow_filesystem,
    other_filesystems,
    variant_groups,
)
from app.draft.matrix.ticking import tick
from ui.theme import LARGE, Theme
from ui.widgets.fields import (
    Field,
    Section,
    combo_box,
    describe_button,
    plain,
    push_button,
    set_row_enabled,
    text_box,
)
from ui.widgets.layouts import Columns, Flow, fill
from ui.widgets.texts import (
    ElidedLabel,
    Heading,
    ReservedLines,
    ScrollingTexts,
    Text,
    below_rule,
    plain_label,
    show_tip,
    tooltip,
)
from ui.wizard.base.controls import Form
from ui.wizard.base.page import Page
from ui.wizard.editors.options_form import OptionEditor, OptionsForm

# Form fields for the keys of an md array and of the kernel's queue.


_KEYS: Final = ("chunk_size", "bitmap", "initial_sync", "scheduler", "read_ahead")


class ArrayFields(QWidget):
    """Fields of a group's array, hidden without one, and of kernel settings for its disks.

    Attributes:
        fields: by the key of campaign files.

    Signals:
        edited: the group's draft was changed.
    """

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._group = GroupDraft()
        self._there: frozenset[str] = frozenset()
        self._text = ""
        self._form = Form(theme, [f"{PREFIX}{key}" for key in _KEYS], lines=1)
        self._form.edited.connect(self._emit_value)
        self.fields = dict(zip(_KEYS, self._form.fields.values(), strict=True))
        fill(QVBoxLayout(self), Columns(list(self.fields.values()), 30), margins=0)

    def show_group(self, group: GroupDraft) -> None:
        """Show and edit a group."""
        self._group = group
        spec = spec_of(group.made)
        keys = (*array_keys(spec, level_of(group.made, len(group.disks))), *queue_keys(spec))
        self._there = frozenset(keys)
        self.show_matching(self._text)
        self._form.show_texts({f"{PREFIX}{key}": text for key, text in group.texts.items()})

    def show_matching(self, text: str) -> bool:
        """Show the fields that match a search, and return whether there are any."""
        self._text = text
        words = text.casefold().split()
        names = {key: f"{FIELDS[PREFIX + key].shown_name} {key}".casefold() for key in self._there}
        found = {key for key, name in names.items() if all(word in name for word in words)}
        for key, field in self.fields.items():
            field.setVisible(key in found)
        return bool(found)

    def _emit_value(self, key: str, text: str) -> None:
        self._group.texts[key.removeprefix(PREFIX)] = text
        self.edited.emit()


# Comparisons on the filesystem page: other filesystems as check boxes, options as a menu.


class CompareBar(QWidget):
    """Check boxes for other filesystems, and a menu of other comparisons on the same disks.

    Attributes:
        ticks: by the label of the filesystem.
        menu: of the button.
        result: summary of the comparison.

    Signals:
        wanted: a `VariantOffer`, and whether to measure it.
    """

    wanted = Signal(object, bool)

    def __init__(self) -> None:
        super().__init__()
        self.ticks: dict[str, QCheckBox] = {}
        self._variants: dict[str, VariantOffer] = {}
        self._groups: tuple[VariantGroup, ...] = ()
        self._loading = False
        self._label = plain_label(plain(tr("Compare &with")) + ":")
        self.button = push_button(tr("With other options"), "compare")
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.button.setMenu(self.menu)
        self.result = ElidedLabel()
        self._flow = Flow()
        fill(QVBoxLayout(self), self._flow, self.result, spacing=0, margins=0)
        self.menu.aboutToShow.connect(self.fill_menu)

    def show_variants(
        self, filesystems: Sequence[VariantOffer], groups: Sequence[VariantGroup], result: str
    ) -> None:
        """Show the available comparisons and the chosen ones; disabled if there are none."""
        self._loading = True
        if filesystems:
            self._variants = {each.label: each for each in filesystems}
        self._groups = tuple(groups)
        if set(self.ticks) != set(self._variants):
            self.ticks = {name: self.ticks.get(name) or self._make_tick(name) for name in self._variants}
            self._flow.show_widgets([self._label, *self.ticks.values(), self.button])
        for name, box in self.ticks.items():
            each = self._variants[name]
            box.setChecked(each.ticked)
            box.setEnabled(bool(filesystems) and (each.ticked or not each.obstacle))
            show_tip(box, each.obstacle, each.about)
        self.button.setEnabled(bool(groups))
        self.result.show_line(result)
        self._loading = False

    def _make_tick(self, name: str) -> QCheckBox:
        tick = QCheckBox(name)
        describe_button(tick, "compare")
        tick.setAccessibleName(tr("Compare with {name}").format(name=name))
        tick.toggled.connect(partial(self._on_toggled, name))
        return tick

    def _on_toggled(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self._loading:
            self.wanted.emit(self._variants[name], ticked)

    def fill_menu(self) -> None:
        """Fill the menu: a single value directly, several values in a submenu."""
        self.menu.clear()
        was_option = True
        for group in self._groups:
            is_option = all(each.key.startswith(OPTION) for each in group.variants)
            if was_option and not is_option:
                self.menu.addSeparator()
            was_option = is_option
            if len(group.variants) == 1:
                self._add(self.menu, group.variants[0], f"{group.variants[0].label}  ({group.label})")
                continue
            menu = self.menu.addMenu(group.label.replace("&", "&&"))
            menu.setToolTipsVisible(True)
            for variant in group.variants:
                self._add(menu, variant, variant.label)

    def _add(self, menu: QMenu, variant: VariantOffer, label: str) -> None:
        action = QAction(label.replace("&", "&&"), menu)
        action.setCheckable(True)
        action.setChecked(variant.ticked)
        action.setEnabled(variant.ticked or not variant.obstacle)
        action.setToolTip(tooltip(*filter(None, (variant.obstacle, variant.about))))
        action.toggled.connect(partial(self.wanted.emit, variant))
        menu.addAction(action)


_GROUPS: Final = {
    Role.DATA: tr("&Data"),
    Role.WAL: tr("&WAL disks"),
    Role.TABLES: titled(SEPARATE.format(what=tr("tables"))),
    Role.INDEXES: titled(SEPARATE.format(what=tr("indexes"))),
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
        box = text_box(self.theme, tr("Choose the disks for the data."), _COMMAND_LINES)
        box.setReadOnly(True)
        box.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        return box

    def _make_footer(self) -> QWidget:
        footer = QWidget()
        layout = fill(QHBoxLayout(footer), spacing=LARGE, margins=0)
        self.layout_.removeWidget(self.general)
        making = tr("C&ommands (names and UUIDs vary):")
        layout.addWidget(Field(self.theme, making, self.commands, ""), 3)
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
        self.commands.setPlaceholderText(
            wrong if draft.parts.disks.data.disks else tr("No disk is selected.")
        )
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
        sentence = tr("⚠ UNSAFE: {what}. {risk} These runs are always labelled UNSAFE.")
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
        words = tr("Changed from the defaults: {options}").format(options=changed)
        self.chosen.setText(words if changed else tr("All options are at their defaults (tools and kernel)."))

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
