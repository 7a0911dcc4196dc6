"""All properties that can be varied, in groups with a search; a row has a check box for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.campaign_file.trust import HARMLESS
from app.domain.campaign.matrix import DimensionValue
from app.domain.problem import Problem
from app.domain.text import tr, trn
from app.draft.matrix.offers import DimensionRow, RowGroup, ValueOffer
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.columns import Flow
from ui.widgets.fields import HELP, combo_box, describe_button, line_edit, push_button, set_text
from ui.widgets.layouts import fill
from ui.widgets.texts import ErrorText, Heading, Text, show_tip


class DimensionEditor(QWidget):
    """Edit one row.

    Attributes:
        ticks: by the name of the value.
        typed: line for other values; None if none are allowed.

    Signals:
        ticked: key of the row, the value, and whether it is ticked now.
        typed_values: key of the row, the line, and the values ticked before typing: a partly typed text may
            equal an offered value.
    """

    ticked = Signal(str, object, bool)
    typed_values = Signal(str, str, object)

    def __init__(self, theme: Theme, row: DimensionRow) -> None:
        super().__init__()
        self.row = row
        self.ticks: dict[str, QCheckBox] = {}
        self._loading, self._is_new = False, True
        self._before: list[DimensionValue] | None = None
        self.label = Heading(theme, "")
        self.about = Text(theme, role="muted")
        self.note = Text(theme, role="muted")
        self.risk = Text(theme, role="warning")
        self.error = ErrorText(theme)
        self.typed = self._make_typed(row) if row.takes_text else None
        self._flow = Flow()
        self.setProperty(HELP, row.help_key)
        self._layout = fill(
            QVBoxLayout(self),
            self.label,
            self._flow,
            self.about,
            self.note,
            self.risk,
            self.error,
            spacing=TINY,
            margins=(0, 0, 0, SMALL),
        )
        self.show_row(row, ())

    def _make_typed(self, row: DimensionRow) -> QLineEdit:
        edit = line_edit(tr("others, such as 3, 12"))
        edit.setFixedWidth((24 if row.values else 60) * self.fontMetrics().averageCharWidth())
        edit.setAccessibleName(tr("{name}: other values").format(name=row.label))
        edit.setProperty(HELP, row.help_key)
        edit.textEdited.connect(self._on_typed)
        edit.editingFinished.connect(self._on_finished)
        return edit

    def show_row(self, row: DimensionRow, problems: Sequence[Problem]) -> None:
        """Update the state of the same row."""
        self._loading, self.row, self._problems = True, row, problems
        name = row.label if row.word in {"", row.label} else f"{row.label} · {row.word}"
        if row.is_dimension:
            count = self._count(row)
            name = trn("{name}: {count} value", "{name}: {count} values", count).format(
                name=name, count=count
            )
        self.label.setText(name)
        self.setAccessibleName(row.label)
        note = "\n".join(filter(None, (row.note, *_not_here(row))))
        for text, label in ((row.about, self.about), (note, self.note)):
            label.setText(text)
            label.setVisible(bool(text))
        self._show_ticks(row)
        if self.typed is not None and self._before is None:
            set_text(self.typed, row.typed)
        risks = [
            f"⚠ {each.label}: {', '.join(each.risks)}" for each in row.values if each.ticked and each.risks
        ]
        self.risk.setText("\n".join(risks))
        self.risk.setVisible(bool(risks))
        self.error.show_problems(problems)
        self._loading = False

    def _count(self, row: DimensionRow) -> int:
        typed = [each for each in row.typed.split(",") if each.strip()]
        return sum(each.ticked for each in row.values) + len(typed)

    def _show_ticks(self, row: DimensionRow) -> None:
        wanted = {each.value.name: each for each in row.values}
        if list(wanted) != list(self.ticks) or self._is_new:
            self._is_new = False
            self.ticks = {name: self.ticks.get(name) or self._make_tick(row, name) for name in wanted}
            more = () if self.typed is None else (self.typed,)
            self._flow.show_widgets([*self.ticks.values(), *more])
        for name, each in wanted.items():
            self._show_tick(self.ticks[name], each, row)

    def _make_tick(self, row: DimensionRow, name: str) -> QCheckBox:
        box = QCheckBox()
        box.setProperty(HELP, row.help_key)
        box.toggled.connect(partial(self._on_toggled, name))
        return box

    def _show_tick(self, box: QCheckBox, each: ValueOffer, row: DimensionRow) -> None:
        label = each.label.replace("&", "&&")
        box.setText(f"⚠ {label}" if each.risks else label)
        box.setChecked(each.ticked)
        box.setEnabled(each.ticked or not each.obstacle)
        show_tip(box, each.obstacle, each.effect, *each.risks)
        describe_button(box, row.help_key)
        box.setAccessibleName(f"{row.label}: {each.label}")

    def _on_toggled(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        if not self._loading:
            value: DimensionValue = next(each.value for each in self.row.values if each.value.name == name)
            self._before = None
            self.ticked.emit(self.row.key, value, ticked)

    def _on_typed(self, text: str) -> None:
        if self._before is None:
            self._before = [each.value for each in self.row.values if each.ticked]
        self.typed_values.emit(self.row.key, text, self._before)

    def _on_finished(self) -> None:
        self._before = None
        self.show_row(self.row, self._problems)


def _not_here(row: DimensionRow) -> list[str]:
    """Return why values are unavailable here, a line for each reason with its values."""
    reasons: dict[str, list[str]] = {}
    for each in row.values:
        if each.obstacle and each.label not in each.obstacle:  # a level's need of disks is no news
            reasons.setdefault(each.obstacle, []).append(each.label)
    return [
        tr("Not here: {values}. {reason}").format(values=", ".join(labels), reason=reason)
        for reason, labels in reasons.items()
    ]


class DimensionsPanel(QWidget):
    """The rows.

    Attributes:
        editors: by the key of their row.

    Signals:
        ticked: key of a row, a value, and whether it is ticked now.
        typed_values: key of a row, the line, and the values ticked before typing.
        sweep_wanted: a quick sweep of clients was requested.
        setting_wanted: name of a server setting to be varied.
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
        own = fill(QHBoxLayout(), (self.setting, 1), self.add)
        layout = fill(QVBoxLayout(self), top, spacing=MEDIUM, margins=0)
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
        """Show rows with their current ticks and problems.

        Args:
            rows: in order.
            problems: by key.
            sweep: text of the button for the quick sweep.
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
        editor.setParent(self._groups[row.group])  # shown without a parent it would be a window
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
        self._rows = fill(QVBoxLayout(), spacing=SMALL, margins=(LARGE // 2, 0, 0, 0))
        fill(QVBoxLayout(self), self.heading, self._rows, spacing=SMALL, margins=(0, SMALL, 0, 0))

    def arrange(self, editors: list[DimensionEditor]) -> None:
        """Show rows in this order; hidden ones keep their position."""
        if editors != self._shown:
            for place, editor in enumerate(editors):
                visible = not editor.isHidden()
                self._rows.insertWidget(place, editor)
                editor.setVisible(visible)
            self._shown = list(editors)
        self.setVisible(any(not editor.isHidden() for editor in editors))
