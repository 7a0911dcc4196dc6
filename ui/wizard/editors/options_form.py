"""Every option of a filesystem below each other, with a search by label and by real name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.text import tr
from app.draft.disks.options import OptionGroup, OptionRow, OptionsPage, elsewhere
from ui.theme import MEDIUM, SMALL, TINY, Theme
from ui.widgets.columns import Columns
from ui.widgets.fields import HELP, Section, describe_button, push_button
from ui.widgets.plain_label import mnemonic_label
from ui.widgets.texts import Text
from ui.wizard.editors.option_editor import OptionEditor

_COLUMN_EMS: Final = 34


class OptionSearch(QLineEdit):
    """A line to search with; Enter goes to what was found and presses no button.

    Signals:
        entered: Enter or the arrow down was pressed.
    """

    entered = Signal()

    def __init__(self, placeholder: str, name: str, key: str) -> None:
        super().__init__()
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        self.setProperty(HELP, key)
        self.setClearButtonEnabled(True)
        self.setMinimumWidth(4 * self.fontMetrics().averageCharWidth())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down}:
            self.entered.emit()
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class OptionsForm(QWidget):
    """The options of one filesystem.

    Attributes:
        bar: search, filter and the button; whoever has the form places it.
        editors: by the id of their option.
        clear: takes back what is said over the preset; whoever has the form does it.
        search: finds by label and real name.
        find_elsewhere: searches what else is on the page, and returns whether it found anything.
        only_chosen: hides what is as tools and kernel have it.

    Signals:
        said: id of an option, and what somebody says about it; empty for nothing.
    """

    said = Signal(str, str)

    def __init__(self, theme: Theme, *, brief: bool = False) -> None:
        """Make the form.

        Args:
            theme: colours and fonts.
            brief: show what matters or is chosen, and the others when they are searched for.
        """
        super().__init__()
        self._theme, self._brief = theme, brief
        self._built_for: FilesystemSpec | None = None
        self._rows: tuple[OptionRow, ...] = ()
        self._sections: list[tuple[QWidget, Columns, list[OptionEditor]]] = []
        self.editors: dict[str, OptionEditor] = {}
        self.search = OptionSearch(
            tr("nobarrier, recordsize … (Ctrl+F)"), tr("Find an option"), "options.search"
        )
        self.only_chosen = QCheckBox()
        describe_button(self.only_chosen, "options.search")
        self.only_chosen.setAccessibleName(tr("Only what is chosen"))
        self.nothing = Text(theme, role="muted")
        self.find_elsewhere: Callable[[str], bool] = _find_nothing
        self._inside = QVBoxLayout()
        self._inside.setSpacing(MEDIUM)
        self.clear = push_button(tr("&Take back own options"), "preset")
        self.bar = self._make_bar()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.nothing)
        layout.addLayout(self._inside)
        self.search.textChanged.connect(self._filter)
        self.search.entered.connect(self._go_to_first)
        self.only_chosen.toggled.connect(self._filter)

    def _make_bar(self) -> QWidget:
        """Return search, filter and the button that takes everything back, to stand above the form."""
        bar = QWidget()
        label = mnemonic_label(tr("&Find an option:"))
        label.setBuddy(self.search)
        line = QHBoxLayout()
        line.setSpacing(SMALL)
        line.addWidget(self.only_chosen, 1)
        line.addWidget(self.clear)
        layout = QVBoxLayout(bar)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(label)
        layout.addWidget(self.search)
        layout.addLayout(line)
        layout.addStretch(1)
        return bar

    def listen_for_find(self, page: QWidget) -> None:
        """Let Ctrl+F on a page put the cursor into the search."""
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), page)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.start_search)

    def start_search(self) -> None:
        """Put the cursor into the search."""
        self.search.setFocus()
        self.search.selectAll()

    def show_options(
        self, spec: FilesystemSpec, page: OptionsPage, compared: Mapping[str, str] | None = None
    ) -> None:
        """Show the options of a filesystem as they are now.

        Args:
            spec: the filesystem.
            page: its options.
            compared: values of each option that is measured with several, by its id.
        """
        self._rows = page.rows
        if spec is not self._built_for:
            self._build(spec, page)
            self._built_for = spec
        for row in page.rows:
            self.editors[row.option.id].show_row(row, (compared or {}).get(row.option.id, ""))
        changed = sum(row.is_changed for row in page.rows)
        self.clear.setEnabled(any(row.is_own for row in page.rows))
        self.only_chosen.setText(tr("Only what is chosen ({count})").format(count=changed))
        # What stands there stays while it is ticked, also when it is the default again: nothing moves away.
        self.only_chosen.setEnabled(bool(changed) or self.only_chosen.isChecked())

    def _build(self, spec: FilesystemSpec, page: OptionsPage) -> None:
        for section, _, _ in self._sections:
            self._inside.removeWidget(section)
            section.setParent(None)
            section.deleteLater()
        self._sections, self.editors = [], {}
        for part in OptionGroup:
            editors = [OptionEditor(self._theme, row, spec.id) for row in page.rows if row.part is part]
            for editor in editors:
                editor.said.connect(self.said)
                self.editors[editor.option_id] = editor
            if editors:
                columns = Columns(editors, _COLUMN_EMS)
                section = Section(self._theme, part.label, [columns])
                self._sections.append((section, columns, editors))
                self._inside.addWidget(section)
        self._filter()

    def _filter(self) -> None:
        text, only = self.search.text().strip(), self.only_chosen.isChecked()
        shown = {
            row.option.id
            for row in self._rows
            if row.matches(text) and (row.is_changed or not only) and (text or self._is_usual(row))
        }
        for section, columns, editors in self._sections:
            for editor in editors:
                editor.setVisible(editor.option_id in shown)
            section.setVisible(any(editor.option_id in shown for editor in editors))
            columns.updateGeometry()
        also = self.find_elsewhere(text)
        none = bool(text) and not shown and not also and self._built_for is not None
        self.nothing.setText(elsewhere(self._built_for, text) if none and self._built_for else "")
        self.nothing.setVisible(none)

    def _is_usual(self, row: OptionRow) -> bool:
        return not self._brief or row.is_changed or row.part is OptionGroup.MATTERS

    def _go_to_first(self) -> None:
        for editor in (each for _, _, editors in self._sections for each in editors):
            if not editor.isHidden() and editor.control.isEnabled():
                editor.control.setFocus(Qt.FocusReason.TabFocusReason)
                return


def _find_nothing(_text: str) -> bool:
    return False
