"""The list of scripts of a workload: built-in ones and the user's files, each with its weight."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.domain.text import tr
from app.draft.fields.state import ScriptDraft
from app.draft.fields.text import builtin_names
from ui.theme import SMALL, Theme
from ui.widgets.fields import HELP, combo_box, line_edit, push_button
from ui.widgets.layouts import fill
from ui.widgets.texts import Text, show_tip

_FILE = ""


class ScriptsEditor(QWidget):
    """A row for each script.

    Signals:
        edited: the list of drafts was changed.
    """

    edited = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._scripts: list[ScriptDraft] = []
        self._rows: list[QWidget] = []
        self.add = push_button(tr("Add a scr&ipt"), "own")
        self._layout = fill(QVBoxLayout(self), spacing=SMALL, margins=0)
        hint = Text(theme, tr("Kind, file and weight of each script:"), role="muted")
        bottom = fill(QHBoxLayout(), self.add, 1)
        self._layout.addWidget(hint)
        self._layout.addLayout(bottom)
        self.add.clicked.connect(self._add)

    def show_scripts(self, scripts: list[ScriptDraft]) -> None:
        """Show and edit these drafts in place."""
        self._scripts = scripts
        for row in self._rows:
            self._layout.removeWidget(row)
            row.deleteLater()
        self._rows = []
        for number, script in enumerate(scripts):
            row = _ScriptRow(script, number + 1)
            row.edited.connect(self.edited)
            row.removed.connect(partial(self._remove, script))
            self._layout.insertWidget(number + 1, row)
            self._rows.append(row)

    def first_control(self) -> QWidget:
        """Return the control for the initial focus."""
        return self._rows[-1] if self._rows else self.add

    def _add(self) -> None:
        self._scripts.append(ScriptDraft())
        self.show_scripts(self._scripts)
        self._rows[-1].setFocus()
        self.edited.emit()

    def _remove(self, script: ScriptDraft) -> None:
        self._scripts[:] = [each for each in self._scripts if each is not script]
        self.show_scripts(self._scripts)
        self.add.setFocus()
        self.edited.emit()


class _ScriptRow(QWidget):
    """One script.

    Signals:
        edited: its draft was changed.
        removed: the user removes it.
    """

    edited = Signal()
    removed = Signal()

    def __init__(self, script: ScriptDraft, number: int) -> None:
        super().__init__()
        self._script = script
        self.kind = combo_box()
        self.kind.addItem(tr("Own file"), _FILE)
        for name in builtin_names():
            self.kind.addItem(name, name)
        self.kind.setCurrentIndex(max(0, self.kind.findData(script.builtin)))
        self.path = line_edit("/home/me/orders.sql")
        self.path.setText(script.path)
        self.choose = push_button("…", "own")
        self.weight = line_edit("1")
        self.weight.setText(script.weight)
        self.remove = push_button("✕", "own")
        names = {
            self.kind: tr("Kind of script {number}"),
            self.path: tr("File of script {number}"),
            self.choose: tr("Choose the file of script {number}"),
            self.weight: tr("Weight of script {number}"),
            self.remove: tr("Remove script {number}"),
        }
        layout = fill(QHBoxLayout(self), spacing=SMALL, margins=0)
        for widget, name in names.items():
            widget.setAccessibleName(name.format(number=number))
            show_tip(widget, name.format(number=number))
            widget.setProperty(HELP, "own")
            layout.addWidget(widget, {self.kind: 2, self.path: 6, self.weight: 1}.get(widget, 0))
        for button in (self.choose, self.remove):
            button.setFixedWidth(button.sizeHint().height() + SMALL)
        self.setFocusProxy(self.kind)
        self._show_kind()
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.path.textEdited.connect(self._on_path)
        self.weight.textEdited.connect(self._on_weight)
        self.choose.clicked.connect(self._choose)
        self.remove.clicked.connect(self.removed)

    def _show_kind(self) -> None:
        own = self.kind.currentData() == _FILE
        self.path.setEnabled(own)
        self.choose.setEnabled(own)

    def _on_kind(self) -> None:
        self._script.builtin = self.kind.currentData()
        self._show_kind()
        self.edited.emit()

    def _on_path(self, text: str) -> None:
        self._script.path = text
        self.edited.emit()

    def _on_weight(self, text: str) -> None:
        self._script.weight = text
        self.edited.emit()

    def _choose(self) -> None:
        dialog = QFileDialog(self, tr("Script for pgbench"), self.path.text())
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("SQL scripts (*.sql)"), tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self.path.setText(path)
        self._on_path(path)
