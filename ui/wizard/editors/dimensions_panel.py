"""Everything that can be tried with several values, in groups, with a search over all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from app.campaign_file.trust import HARMLESS
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.matrix.offers import DimensionRow, RowGroup
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.fields import HELP, combo_box, describe_button, line_edit, push_button
from ui.widgets.texts import Heading
from ui.wizard.editors.dimension_editor import DimensionEditor


class DimensionsPanel(QWidget):
    """The rows.

    Attributes:
        editors: by the key of their row.

    Signals:
        ticked: key of a row, a value, and whether it is ticked now.
        typed_values: key of a row, the line, and the values that were ticked before somebody typed.
        sweep_wanted: a quick sweep of clients.
        setting_wanted: name of a server setting that is to be tried.
    """

    ticked = Signal(str, object, bool)
    typed_values = Signal(str, str, object)
    sweep_wanted = Signal()
    setting_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.editors: dict[str, DimensionEditor] = {}
        self._rows: tuple[DimensionRow, ...] = ()
        self._problems: Mapping[str, Sequence[Problem]] = {}
        self.search = line_edit(tr("Find: recordsize, nobarrier, clients …"))
        self.search.setAccessibleName(tr("Find something to try"))
        self.search.setProperty(HELP, "dimension.search")
        self.search.setClearButtonEnabled(True)
        self.everything = QCheckBox(tr("Show all options"))
        describe_button(self.everything, "dimension.search")
        self.sweep = push_button(tr("Sweep clients"), "dimension.sweep")
        self.setting = combo_box()
        self.setting.setEditable(True)
        self.setting.addItems(sorted(HARMLESS))
        self.setting.setCurrentText("")
        self.setting.setAccessibleName(tr("Another server setting"))
        self.setting.setProperty(HELP, "dimension.setting")
        edit = self.setting.lineEdit()
        if edit is not None:
            edit.setAccessibleName(self.setting.accessibleName())
            edit.setProperty(HELP, "dimension.setting")
            edit.setPlaceholderText(tr("another setting of postgresql.conf"))
        self.add = push_button(tr("Try this setting"), "dimension.setting")
        top = QHBoxLayout()
        top.setSpacing(SMALL)
        for widget, stretch in ((self.search, 1), (self.everything, 0), (self.sweep, 0)):
            top.addWidget(widget, stretch)
        self._groups = {group: _Group(theme, group) for group in RowGroup}
        own = QHBoxLayout()
        own.addWidget(self.setting, 1)
        own.addWidget(self.add)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MEDIUM)
        layout.addLayout(top)
        for group in RowGroup:
            layout.addWidget(self._groups[group])
            if group is RowGroup.SERVER:
                layout.addLayout(own)
        self.search.textChanged.connect(self._show)
        self.everything.toggled.connect(self._show)
        self.sweep.clicked.connect(self.sweep_wanted)
        self.add.clicked.connect(self._on_add)

    def show_rows(
        self, rows: Sequence[DimensionRow], problems: Mapping[str, Sequence[Problem]], sweep: str
    ) -> None:
        """Show rows as they are ticked now, with what is wrong with each by its key.

        Args:
            rows: in order.
            problems: by key.
            sweep: what the button for the quick sweep says.
        """
        self._rows, self._problems = tuple(rows), problems
        self.sweep.setText(sweep)
        describe_button(self.sweep, "dimension.sweep")
        self._show()

    def _show(self) -> None:
        text = self.search.text().strip()
        wanted = {row.key for row in self._rows}
        for key in [key for key in self.editors if key not in wanted]:
            self._drop(key)
        for row in self._rows:
            editor = self.editors.get(row.key)
            if editor is not None and editor.row.takes_text != row.takes_text:
                self._drop(row.key)
                editor = None
            if editor is None:
                editor = self._make(row)
            editor.show_row(row, self._problems.get(row.key, ()))
            editor.setVisible(self._is_shown(row, text))
        for group, box in self._groups.items():
            box.arrange([self.editors[row.key] for row in self._rows if row.group is group])
        only = not text or "setting".startswith(text.casefold())
        self.setting.setVisible(only)
        self.add.setVisible(only)

    def _is_shown(self, row: DimensionRow, text: str) -> bool:
        if text:
            return row.matches(text)
        if row.is_usual or self.everything.isChecked():
            return True
        first = row.first.changes if row.first else None
        chosen = any(each.ticked and each.value.changes != first for each in row.values)
        return chosen or row.is_dimension or bool(row.typed) or row.key in self._problems

    def _make(self, row: DimensionRow) -> DimensionEditor:
        editor = DimensionEditor(self._theme, row)
        editor.setParent(self._groups[row.group])  # shown without one it would be a window
        editor.ticked.connect(self.ticked)
        editor.typed_values.connect(self.typed_values)
        self.editors[row.key] = editor
        return editor

    def _drop(self, key: str) -> None:
        editor = self.editors.pop(key)
        editor.setParent(None)
        editor.deleteLater()

    def _on_add(self) -> None:
        name = self.setting.currentText().strip()
        if name:
            self.setting.setCurrentText("")
            self.setting_wanted.emit(name)


class _Group(QWidget):
    """The rows of one group below its heading."""

    def __init__(self, theme: Theme, group: RowGroup) -> None:
        super().__init__()
        self.heading = Heading(theme, group.label)
        font = self.heading.font()
        font.setPointSizeF(font.pointSizeF() * 1.1)
        self.heading.setFont(font)
        self._shown: list[DimensionEditor] = []
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(LARGE // 2, 0, 0, 0)
        self._rows.setSpacing(SMALL)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SMALL, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.heading)
        layout.addLayout(self._rows)

    def arrange(self, editors: list[DimensionEditor]) -> None:
        """Show these in this order; those that are hidden keep their place."""
        if editors != self._shown:
            for place, editor in enumerate(editors):
                visible = not editor.isHidden()
                self._rows.insertWidget(place, editor)
                editor.setVisible(visible)
            self._shown = list(editors)
        self.setVisible(any(not editor.isHidden() for editor in editors))
