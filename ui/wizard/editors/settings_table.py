"""The table of server settings: value, who wants it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from app.domain.columns import CellKind, Column
from app.domain.text import tr
from app.postgres.settings import Origin, Setting
from ui.theme import Theme
from ui.widgets.formatting import tooltip

_LINES: Final = 9
_WHO: Final = {
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
"""Of the table of server settings."""


class SettingsTable(QTableWidget):
    """Read-only; the settings that somebody chose come first, what pgFooting itself needs last."""

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
        """Show these; without effect where they are shown already."""
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
