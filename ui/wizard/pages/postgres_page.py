"""Second page: choice and set-up of PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)
from typing_extensions import override

from app.domain.columns import CellKind, Column
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.environment import DraftEnvironment
from app.draft.fields.state import Step, first_values
from app.postgres.installations.installation import Installation
from app.postgres.presets import PRESETS
from app.postgres.settings import Origin, Setting
from ui.theme import Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Choice, Field, combo_box, line_edit, set_row_enabled, set_text, text_box
from ui.widgets.formatting import tooltip
from ui.widgets.texts import Text
from ui.wizard.base.page import Page

_LINES: Final = 9
_WHO: Final[dict[str, str]] = {
    Origin.PRESET: tr("preset"),
    Origin.FILESYSTEM: tr("filesystem"),
    Origin.USER: tr("you"),
    Origin.PGFOOTING: tr("pgFooting"),
}
_FIRST: Final = (Origin.USER, Origin.FILESYSTEM, Origin.PRESET, Origin.PGFOOTING)


def _why(setting: Setting) -> str:
    if not setting.source:
        return setting.why
    return tr("{why} ({source})").format(why=setting.why, source=setting.source)


SETTING_COLUMNS: Final[tuple[Column[Setting], ...]] = (
    Column("setting", tr("Setting"), lambda setting: setting.name, CellKind.LABEL),
    Column("value", tr("Value"), lambda setting: setting.value or "''", CellKind.LABEL),
    Column("origin", tr("From"), lambda setting: _WHO[setting.origin], CellKind.LABEL),
    Column("why", tr("Why"), _why, CellKind.WORDS),
)
"""Columns of the table of server settings."""


class SettingsTable(QTableWidget):
    """Read-only; settings chosen by the user come first, those for pgFooting itself last."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(0, len(SETTING_COLUMNS))
        self._theme = theme
        self._shown: tuple[Setting, ...] = ()
        self.setHorizontalHeaderLabels([column.heading for column in SETTING_COLUMNS])
        self.verticalHeader().hide()
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * _LINES * 3 // 2)

    def show_settings(self, settings: Sequence[Setting]) -> None:
        """Show settings; no effect if they are shown already."""
        ordered = tuple(sorted(settings, key=lambda setting: _FIRST.index(setting.origin)))
        if ordered == self._shown:
            return
        self._shown = ordered
        self.setRowCount(len(ordered))
        for row, setting in enumerate(ordered):
            for place, column in enumerate(SETTING_COLUMNS):
                text = column.cell(setting)
                item = QTableWidgetItem(text)
                item.setToolTip(tooltip(text))
                self.setItem(row, place, item)
        if ordered:
            self.setCurrentCell(0, 0)


_INSTALLATION: Final = "postgresql.installation"
_PRESET: Final = "postgresql.preset"
_SETTINGS: Final = "postgresql.settings"
_CHECKSUMS: Final = "postgresql.checksums"
_OTHER: Final = "other"


class PostgresPage(Page):
    """Installation, preset with its settings and reasons, own settings, checksums."""

    step = Step.POSTGRESQL
    title = tr("Which PostgreSQL, and how is it set up?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self.installation = combo_box()
        self.folder = line_edit("/usr/local/pgsql/bin")
        self.folder.setAccessibleName(tr("Folder of the programs"))
        self.preset = combo_box()
        for preset in PRESETS.values():
            self.preset.addItem(preset.label, preset.id)
        self.settings = text_box(theme, "work_mem = 64MB\nwal_compression = on", 5)
        self.checksums = QCheckBox(tr("Data chec&ksums"))
        self.table = SettingsTable(theme)
        self.unsafe = Text(theme, role="warning")
        words = tr(
            "The server is as it is: version, settings and checksums are its own. What is set here counts "
            "for sessions of pgFooting's database there; what needs a restart or a superuser is refused."
        )
        self.as_it_is = Text(theme, words, role="muted")
        self._unusable = Text(theme, role="muted")
        self.fields = {
            _INSTALLATION: Field(theme, tr("&PostgreSQL:"), self.installation, _INSTALLATION),
            _PRESET: Field(theme, tr("S&ettings from:"), self.preset, _PRESET),
            _SETTINGS: Field(theme, tr("Yo&ur own settings, over those:"), self.settings, _SETTINGS),
        }
        self._folder_field = Field(theme, tr("&Folder of the programs:"), self.folder, _INSTALLATION)
        self._table_field = Field(theme, tr("What the server &gets, and why:"), self.table, "table")
        self._checksums_field = Choice(
            theme,
            self.checksums,
            tr("Damage is noticed when a page is read. On by default since PostgreSQL 18."),
            _CHECKSUMS,
        )
        choices = Columns((self.fields[_INSTALLATION], self.fields[_PRESET]), 36)
        for widget in (
            self.as_it_is,
            choices,
            self._folder_field,
            self._unusable,
            self.fields[_SETTINGS],
            self.unsafe,
            self._checksums_field,
            self._table_field,
        ):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        self._shown: DraftEnvironment | None = None
        self.installation.currentIndexChanged.connect(self._on_installation)
        self.folder.textEdited.connect(self._on_folder)
        self.preset.currentIndexChanged.connect(self._on_preset)
        self.settings.textChanged.connect(self._on_settings)
        self.checksums.toggled.connect(self._on_checksums)

    @override
    def first_control(self) -> QWidget:
        return self.installation

    @override
    def fill(self) -> None:
        values = self.draft.parts.values
        self._fill_installations()
        self.preset.setCurrentIndex(self.preset.findData(values[_PRESET]))
        set_text(self.settings, values[_SETTINGS])
        self.checksums.setChecked(values[_CHECKSUMS] == "true")

    def _fill_installations(self) -> None:
        """Show the installations; unusable ones are disabled with reasons below."""
        environment = self.draft.environment
        self._shown = environment
        found = environment.installations if environment else ()
        self.installation.clear()
        newest = environment.newest if environment else None
        label = (
            tr("The newest here: {version}").format(version=newest.version) if newest else tr("The newest")
        )
        self.installation.addItem(label, "newest")
        for each in found:
            self.installation.addItem(_label_of(each), _choice_of(each, found))
            if not each.usable:
                self._disable(self.installation.count() - 1, " ".join(each.unusable))
        self.installation.addItem(tr("In another folder …"), _OTHER)
        choice = self.draft.parts.values[_INSTALLATION]
        index = self.installation.findData(choice)
        if index < 0:
            index = self.installation.count() - 1
            self.folder.setText(choice)
        self.installation.setCurrentIndex(index)
        reasons = [
            tr("{version} in {folder} cannot be used: {reasons}").format(
                version=each.version or "PostgreSQL",
                folder=each.bin_directory,
                reasons=" ".join(each.unusable),
            )
            for each in found
            if not each.usable
        ]
        self._unusable.setText("\n".join(reasons))
        self._unusable.setVisible(bool(reasons))

    def _disable(self, row: int, reason: str) -> None:
        set_row_enabled(self.installation, row, enabled=False)
        self.installation.setItemData(row, tooltip(reason), Qt.ItemDataRole.ToolTipRole)
        self.installation.setItemData(row, reason, Qt.ItemDataRole.AccessibleDescriptionRole)

    @override
    def refresh(self) -> None:
        if self._shown is not self.draft.environment:
            self.load()
            return
        is_theirs = self._show_whose()
        preset = PRESETS.get(self.draft.parts.values[_PRESET])
        self._folder_field.setVisible(self.installation.currentData() == _OTHER)
        self.fields[_PRESET].set_note(preset.description if preset else "")
        known = self.draft.postgres_answer()
        if known is not None:
            self.fields[_INSTALLATION].set_note(
                tr("{version}\n{folder}").format(
                    version=known.installation.version_text, folder=known.installation.bin_directory
                )
            )
            self.table.show_settings(known.settings)
        self._table_field.setVisible(known is not None and not is_theirs)
        risks = known.unsafe if known else ()
        sentence = tr("⚠ UNSAFE: {name} = {value}: {risk}. The runs are marked so everywhere.")
        self.unsafe.setText(
            "\n".join(sentence.format(name=name, value=value, risk=risk) for name, value, risk in risks)
        )
        self.unsafe.setVisible(bool(risks))
        super().refresh()

    def _show_whose(self) -> bool:
        """Show the relevant choices; return whether only servers that already run are measured.

        For those only pgbench can be chosen. Earlier choices that are refused there stay visible.
        """
        is_theirs, values, usual = (
            self.draft.parts.is_only_on_servers,
            self.draft.parts.values,
            first_values(),
        )
        self.as_it_is.setVisible(is_theirs)
        for key, field in ((_PRESET, self.fields[_PRESET]), (_CHECKSUMS, self._checksums_field)):
            field.setVisible(not is_theirs or values[key] != usual[key])
        self.installation.setProperty(HELP, "postgresql.existing" if is_theirs else _INSTALLATION)
        return is_theirs

    def _on_installation(self) -> None:
        if self.is_loading:
            return
        choice = self.installation.currentData()
        self.draft.parts.values[_INSTALLATION] = self.folder.text() if choice == _OTHER else choice
        self.fields[_INSTALLATION].set_note("")
        self.report_change()

    def _on_folder(self, text: str) -> None:
        self.draft.parts.values[_INSTALLATION] = text.strip()
        self.report_change()

    def _on_preset(self) -> None:
        if not self.is_loading:
            self.draft.parts.values[_PRESET] = self.preset.currentData()
            self.report_change()

    def _on_settings(self) -> None:
        if not self.is_loading:
            self.draft.parts.values[_SETTINGS] = self.settings.toPlainText()
            self.report_change()

    def _on_checksums(self, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self.is_loading:
            self.draft.parts.values[_CHECKSUMS] = "true" if ticked else "false"
            self.report_change()


def _label_of(installation: Installation) -> str:
    label = tr("{version}, {origin}") if installation.usable else tr("{version}, {origin}: cannot be used")
    return label.format(version=installation.version or "?", origin=installation.origin)


def _choice_of(installation: Installation, found: tuple[Installation, ...]) -> str:
    """Return the value of an installation in campaign files: the major version if that is unique."""
    alike = [each for each in found if each.major == installation.major and each.usable]
    return str(installation.major) if alike == [installation] else installation.bin_directory
