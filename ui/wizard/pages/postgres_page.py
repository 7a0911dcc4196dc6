"""Second page: choice and set-up of PostgreSQL."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.domain.columns import CellKind, Column
from app.domain.text import titled, tr
from app.draft.draft import CampaignDraft
from app.draft.fields.state import FIELDS, SETTINGS, DraftEnvironment, Step, first_values
from app.postgres.installations.installation import Installation
from app.postgres.presets import PRESETS
from app.postgres.settings import Origin, Setting
from ui.theme import Theme
from ui.widgets.fields import HELP, Field, combo_box, line_edit, plain, set_row_enabled
from ui.widgets.layouts import Columns
from ui.widgets.texts import Text, tooltip
from ui.wizard.base.controls import Form, TextTable
from ui.wizard.base.page import Page

_LINES: Final = 9
_WHO: Final[dict[str, str]] = {
    Origin.PRESET: tr("preset"),
    Origin.FILESYSTEM: tr("filesystem"),
    Origin.USER: tr("you"),
    Origin.PGFOOTING: "pgFooting",
}
_FIRST: Final = (Origin.USER, Origin.FILESYSTEM, Origin.PRESET, Origin.PGFOOTING)


def _why(setting: Setting) -> str:
    if not setting.source:
        return setting.why
    return f"{setting.why} ({setting.source})"


SETTING_COLUMNS: Final[tuple[Column[Setting], ...]] = (
    Column("setting", tr("Setting"), lambda setting: setting.name, CellKind.LABEL),
    Column("value", tr("Value"), lambda setting: setting.value or "''", CellKind.LABEL),
    Column("origin", tr("From"), lambda setting: _WHO[setting.origin], CellKind.LABEL),
    Column("why", tr("Why"), _why, CellKind.WORDS),
)
"""Columns of the table of server settings."""


_INSTALLATION: Final = "postgresql.installation"
_PRESET: Final = "postgresql.preset"
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
        self.folder.setAccessibleName(plain(tr("Program &folder:")))
        label = tr("All &server settings and their reasons:")
        self.table = TextTable(plain(label), "table")
        self.table.setFixedHeight(self.table.fontMetrics().lineSpacing() * _LINES * 3 // 2)
        self.unsafe = Text(theme, role="warning")
        words = tr(
            "pgFooting does not change the server's version, settings or checksums. Settings here apply to "
            "sessions of its own database; those that need a restart or a superuser are refused."
        )
        self.as_it_is = Text(theme, words, role="muted")
        self._unusable = Text(theme, role="muted")
        choice = FIELDS[_INSTALLATION].label
        self.fields = {_INSTALLATION: Field(theme, choice, self.installation, _INSTALLATION)}
        self.bind(Form(theme, (_PRESET, SETTINGS, _CHECKSUMS)))
        self._folder_field = Field(theme, tr("Program &folder:"), self.folder, _INSTALLATION)
        self._table_field = Field(theme, label, self.table, "table")
        about = tr("Detects damaged pages when they are read. Default since PostgreSQL 18.")
        self.fields[_CHECKSUMS].set_note(about)
        choices = Columns((self.fields[_INSTALLATION], self.fields[_PRESET]), 36)
        for widget in (
            self.as_it_is,
            choices,
            self._folder_field,
            self._unusable,
            self.fields[SETTINGS],
            self.unsafe,
            self.fields[_CHECKSUMS],
            self._table_field,
        ):
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        self._shown: DraftEnvironment | None = None
        self.installation.currentIndexChanged.connect(self._on_installation)
        self.folder.textEdited.connect(self._on_folder)

    @override
    def first_control(self) -> QWidget:
        return self.installation

    @override
    def fill(self) -> None:
        self._fill_installations()
        super().fill()

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
                f"{known.installation.version_text}\n{known.installation.bin_directory}"
            )
            settings = sorted(known.settings, key=lambda setting: _FIRST.index(setting.origin))
            self.table.show_rows(SETTING_COLUMNS, settings)
        self._table_field.setVisible(known is not None and not is_theirs)
        risks = known.unsafe if known else ()
        sentence = tr("⚠ UNSAFE: {what}. {risk} These runs are always labelled UNSAFE.")
        self.unsafe.setText(
            "\n".join(
                sentence.format(what=f"{name} = {value}", risk=f"{titled(risk)}.")
                for name, value, risk in risks
            )
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
        for key in (_PRESET, _CHECKSUMS):
            self.fields[key].setVisible(not is_theirs or values[key] != usual[key])
        self.installation.setProperty(HELP, "postgresql.existing" if is_theirs else _INSTALLATION)
        return is_theirs

    def _on_installation(self) -> None:
        if self.is_loading:
            return
        choice = self.installation.currentData()
        self.fields[_INSTALLATION].set_note("")
        self.put(_INSTALLATION, self.folder.text() if choice == _OTHER else choice)

    def _on_folder(self, text: str) -> None:
        self.put(_INSTALLATION, text.strip())


def _label_of(installation: Installation) -> str:
    label = f"{installation.version or '?'}, {installation.origin}"
    reason = "" if installation.usable else tr("cannot be used")
    return f"{label}: {reason}" if reason else label


def _choice_of(installation: Installation, found: tuple[Installation, ...]) -> str:
    """Return the value of an installation in campaign files: the major version if that is unique."""
    alike = [each for each in found if each.major == installation.major and each.usable]
    return str(installation.major) if alike == [installation] else installation.bin_directory
