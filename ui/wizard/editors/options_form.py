"""The options of a filesystem in a form: effects, costs, problems, and a search by label and real name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.errors import Problem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.text import tr
from app.draft.disks.filesystems import OptionGroup, OptionRow, OptionsPage, explain_no_match
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme, painting
from ui.widgets.fields import (
    HELP,
    Section,
    combo_box,
    describe_button,
    line_edit,
    plain,
    push_button,
    set_row_enabled,
    set_text,
)
from ui.widgets.layouts import Columns, fill
from ui.widgets.texts import (
    ElidedCheckBox,
    ElidedLabel,
    ErrorText,
    ReservedLines,
    Text,
    mnemonic_label,
    show_tip,
    tooltip,
)

_CONTROL_EMS: Final = 14
_NOTE_LINES: Final = 2
"""Lines about an option's effect, cost or problem; its tool tip has the whole text."""


class OptionEditor(QWidget):
    """Edit one option: label, value, real name, and two lines about it.

    Attributes:
        control: for the value.
        word: real name in mount, mkfs, zpool or zfs.

    Signals:
        entered: id of the option, and its new text; empty to unset it.
    """

    entered = Signal(str, str)

    def __init__(self, theme: Theme, row: OptionRow, filesystem: str) -> None:
        super().__init__()
        self._theme, self._row, self._loading = theme, row, False
        self._compared, self._compact = "", False
        self.option_id = row.option.id
        self.control = self._make_control(row)
        self.word = ElidedLabel()
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:  # keep "-b" from becoming "b-"
            self.word.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            self.word.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.word.setFont(theme.fixed_font())
        self.effect = Text(theme, row.option.effect, role="muted")
        self.badge = Text(theme, role="warning")
        self.note = Text(theme, role="muted")
        self.error = ErrorText(theme)
        self.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.control.setProperty(HELP, f"option:{filesystem}:{row.option.id}")
        self.setAccessibleName(f"{row.option.label} ({row.word})")
        self.control.setAccessibleName(f"{row.option.label} ({row.word})")
        self._notes = ReservedLines(_NOTE_LINES, self.error, self.badge, self.note, self.effect)
        self._label = None if isinstance(self.control, QCheckBox) else self._make_label(row)
        layout = fill(
            QVBoxLayout(self), self._label or self.control, spacing=TINY // 2, margins=(SMALL, 0, 0, 0)
        )
        line = QHBoxLayout()
        line.setSpacing(SMALL)
        if self._label is None:
            line.setContentsMargins(LARGE - TINY, 0, 0, 0)
            line.addWidget(self.word, 1)
        else:
            self.word.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            self.control.setMinimumWidth(_CONTROL_EMS * self.fontMetrics().averageCharWidth())
            line.addWidget(self.control, 1)
            line.addWidget(self.word)
        layout.addLayout(line)
        layout.addWidget(self._notes)
        layout.addStretch(1)
        self.show_row(row)

    def make_compact(self, compact: bool) -> None:  # noqa: FBT001 - a setter
        """Hide the general text about the option; what is wrong, dangerous or chosen stays."""
        self._compact = compact
        said = (self.error, self.badge, self.note)
        self._notes.setVisible(not compact or any(text.text() for text in said))

    def _make_label(self, row: OptionRow) -> QLabel:
        label = ElidedLabel()
        label.show_line(row.option.label)
        label.setBuddy(self.control)
        return label

    def _make_control(self, row: OptionRow) -> QCheckBox | QComboBox | QLineEdit:
        if row.is_switch:
            tick = ElidedCheckBox(row.option.label)
            tick.toggled.connect(self._on_toggled)
            return tick
        if row.values:
            box = combo_box()
            for value in row.values:
                box.addItem(value.label, value.text)
            box.currentIndexChanged.connect(self._on_chosen)
            return box
        edit = line_edit()
        edit.textEdited.connect(self._emit_value)
        return edit

    def show_row(self, row: OptionRow, compared: str = "") -> None:
        """Update the state of the same option.

        Args:
            row: the state.
            compared: the measured values, if there are several; they replace the single value.
        """
        self._compared = compared
        self._row, self._loading = row, True
        control = self.control
        if isinstance(control, QCheckBox):
            control.setChecked(row.text == "true" if row.text else row.option.default is True)
        elif isinstance(control, QComboBox):
            self._show_values(control, row)
        else:
            set_text(control, row.text if row.is_own else "")
            control.setPlaceholderText(row.default)
        control.setEnabled((not row.obstacle or row.is_own) and not compared)
        self._show_change(row)
        self._show_words(row)
        self._loading = False

    def _show_values(self, box: QComboBox, row: OptionRow) -> None:
        for number, value in enumerate(row.values):
            box.setItemText(number, value.label)
            box.setItemData(number, tooltip(value.obstacle or value.effect), Qt.ItemDataRole.ToolTipRole)
            set_row_enabled(box, number, enabled=not value.obstacle)
        box.setCurrentIndex(max(0, box.findData(row.text)) if row.is_own else 0)

    def _show_change(self, row: OptionRow) -> None:
        """Mark an option that differs from the default of tools and kernel."""
        named = self._label or self.control
        font = named.font()
        is_marked = row.is_changed or bool(self._compared)
        if font.bold() != is_marked:
            font.setBold(is_marked)
            named.setFont(font)
        self.word.show_line(row.word)
        usual = tr("Default: {value}.").format(value=row.usual)
        texts = tr("Written as: {words}").format(words=row.spelled) if row.spelled else ""
        words = (
            row.option.label,
            row.word,
            texts,
            usual,
            row.option.effect,
            *row.costs,
            *row.warnings,
            *row.wrong,
        )
        for widget in (self, self.control, self.word):
            show_tip(widget, *words)
        self.update()

    def _show_words(self, row: OptionRow) -> None:
        chosen = next((value.effect for value in row.values if row.text and value.text == row.text), "")
        several = tr("Compared: {values}.").format(values=self._compared) if self._compared else ""
        notes = [several, chosen[:1].upper() + chosen[1:] + "." if chosen else "", *row.warnings]
        if row.obstacle:
            notes.append(tr("Not available: {reason}.").format(reason=row.obstacle))
        if row.implied:
            notes.append(tr("Set by your other choices: {value}.").format(value=row.implied))
        text = "\n".join(note for note in notes if note)
        badges = "  ".join(f"⚠ {badge}" for badge in row.badges)
        if badges:
            badges = f"{badges}: {' '.join((*row.warnings, *row.costs))}"
        self.badge.setText(badges if not self._compared else "")
        self.note.setText(text)
        self.error.show_problems([Problem("", message) for message in row.wrong])
        self.make_compact(self._compact)
        self._notes.arrange()
        usual = tr("Default: {value}.").format(value=row.usual)
        description = " ".join((row.option.effect, usual, *row.costs, text, *row.wrong))
        self.control.setAccessibleDescription(description.strip())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._row.is_changed or self._compared:
            role = "warning" if self._row.badges or self._row.wrong else "accent"
            with painting(self) as painter:
                painter.fillRect(0, 0, TINY - 1, self.height(), self._theme.colour(role))

    def _on_toggled(self, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._emit_value("true" if ticked else "false")

    def _on_chosen(self) -> None:
        if isinstance(self.control, QComboBox):
            self._emit_value(str(self.control.currentData() or ""))

    def _emit_value(self, text: str) -> None:
        if not self._loading:
            self.entered.emit(self.option_id, text)


_COLUMN_EMS: Final = 32


class OptionSearch(QLineEdit):
    """A search field; Enter goes to the first match and presses no button.

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
        bar: search, filter and the button; placed by the owner of the form.
        editors: by the id of their option.
        clear: resets to the preset; done by the owner of the form.
        search: finds by label and real name.
        find_elsewhere: searches the rest of the page, and returns whether it found anything.
        only_chosen: hides options with the defaults of tools and kernel.

    Signals:
        entered: id of an option, and its new text; empty to unset it.
    """

    entered = Signal(str, str)

    def __init__(self, theme: Theme, *, brief: bool = False) -> None:
        """Create the form.

        Args:
            theme: colours and fonts.
            brief: show only important and changed options, and others in a search.
        """
        super().__init__()
        self._theme, self._brief, self._compact = theme, brief, False
        self._built_for: FilesystemSpec | None = None
        self._rows: tuple[OptionRow, ...] = ()
        self._sections: list[tuple[QWidget, Columns, list[OptionEditor]]] = []
        self.editors: dict[str, OptionEditor] = {}
        self.search = OptionSearch(
            tr("nobarrier, recordsize … (Ctrl+F)"), plain(tr("&Find an option:")), "options.search"
        )
        self.only_chosen = QCheckBox()
        describe_button(self.only_chosen, "options.search")
        self.only_chosen.setAccessibleName(tr("Only selected options"))
        self.nothing = Text(theme, role="muted")
        self.find_elsewhere: Callable[[str], bool] = _find_nothing
        self._inside = QVBoxLayout()
        self._inside.setSpacing(MEDIUM)
        self.clear = push_button(tr("&Reset my options"), "preset")
        self.bar = self._make_bar()
        fill(QVBoxLayout(self), self.nothing, self._inside, spacing=SMALL, margins=0)
        self.search.textChanged.connect(self._filter)
        self.search.entered.connect(self._go_to_first)
        self.only_chosen.toggled.connect(self._filter)

    def _make_bar(self) -> QWidget:
        """Return search, filter and the reset button, to be placed above the form."""
        bar = QWidget()
        label = mnemonic_label(tr("&Find an option:"))
        label.setBuddy(self.search)
        top = fill(QHBoxLayout(), label, 1, self.only_chosen, spacing=SMALL)
        below = fill(QHBoxLayout(), 1, self.clear)
        fill(QVBoxLayout(bar), top, self.search, below, 1, spacing=TINY, margins=0)
        return bar

    def make_compact(self, compact: bool) -> None:  # noqa: FBT001 - a setter
        """Show more options and fewer texts about them."""
        self._compact = compact
        for editor in self.editors.values():
            editor.make_compact(compact)

    def listen_for_find(self, page: QWidget) -> None:
        """Make Ctrl+F on a page move the cursor into the search."""
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), page)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.start_search)

    def start_search(self) -> None:
        """Move the cursor into the search."""
        self.search.setFocus()
        self.search.selectAll()

    def show_options(
        self, spec: FilesystemSpec, page: OptionsPage, compared: Mapping[str, str] | None = None
    ) -> None:
        """Show the current options of a filesystem.

        Args:
            spec: the filesystem.
            page: its options.
            compared: values of each option measured with several, by its id.
        """
        self._rows = page.rows
        if spec is not self._built_for:
            self._build(spec, page)
            self._built_for = spec
        for row in page.rows:
            self.editors[row.option.id].show_row(row, (compared or {}).get(row.option.id, ""))
        changed = sum(row.is_changed for row in page.rows)
        self.clear.setEnabled(any(row.is_own for row in page.rows))
        self.only_chosen.setText(tr("Only selected options") + f" ({changed})")
        # Rows stay visible while edited, even if back at the default: nothing moves away.
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
                editor.make_compact(self._compact)
                editor.entered.connect(self.entered)
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
        self.nothing.setText(explain_no_match(self._built_for, text) if none and self._built_for else "")
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
