"""The page of dimensions: varied values, the cells, and single configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.campaign_file.trust import HARMLESS
from app.domain.campaign.matrix import DimensionValue
from app.domain.columns import CellKind, Column
from app.domain.errors import Problem
from app.domain.text import quoted, titled, tr, trn
from app.draft.draft import CampaignDraft
from app.draft.fields.state import CONNECTION, ConfigurationDraft, Step
from app.draft.matrix.offers import DimensionRow, RowGroup, ValueOffer, dimension_rows
from app.draft.matrix.reading import FIELD
from app.draft.matrix.ticking import (
    CLIENTS,
    CellRow,
    cell_rows,
    set_values,
    sweep_clients,
    tick,
    tick_cell,
    total_sentences,
    typed_values,
)
from app.draft.planning import add_reference, has_reference, reference_words
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.fields import HELP, combo_box, describe_button, line_edit, push_button, set_text
from ui.widgets.layouts import Flow, fill
from ui.widgets.texts import ErrorText, Heading, Rule, ScrollingTexts, Text, below_rule, show_tip, tooltip
from ui.wizard.base.controls import Form, TextTable
from ui.wizard.base.page import Page, belongs
from ui.wizard.editors.configuration_editor import ConfigurationEditor, place_label

# The cells of the dimensions: each is measured unless unticked.


_CELL_LINES: Final = 8


class CellsList(QWidget):
    """A check box for each cell.

    Signals:
        ticked: number of a cell, from 0, and whether it is measured.
    """

    ticked = Signal(int, bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._loading = False
        self.heading = Heading(theme, "")
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Combinations"))
        self.list.setProperty(HELP, "dimension.cells")
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        fill(QVBoxLayout(self), self.heading, self.list, spacing=SMALL, margins=0)
        self.list.itemChanged.connect(self._on_changed)

    def show_cells(self, cells: Sequence[CellRow]) -> None:
        """Show cells; hidden if there are none."""
        self._loading = True
        self.setVisible(bool(cells))
        measured = sum(each.measured for each in cells)
        self.heading.setText(
            tr("{measured} of {count} configurations are measured").format(
                measured=measured, count=len(cells)
            )
        )
        if self.list.count() != len(cells):
            self.list.clear()
            for each in cells:  # owned by Python, not addItems: see ui.widgets.fields.set_row_enabled
                QListWidgetItem(each.name, self.list)
        for number, each in enumerate(cells):
            self._show(self.list.item(number), each)
        lines = min(_CELL_LINES, max(2, len(cells)))
        self.list.setFixedHeight(lines * self.list.fontMetrics().lineSpacing() * 3 // 2 + 2 * SMALL)
        self._loading = False

    def _show(self, item: QListWidgetItem, each: CellRow) -> None:
        state = Qt.CheckState.Checked if each.measured else Qt.CheckState.Unchecked
        if item.text() != each.name or item.data(Qt.ItemDataRole.CheckStateRole) is None:
            item.setText(each.name)
            item.setToolTip(tooltip(each.name))
            item.setFlags(
                Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            )
        if item.data(Qt.ItemDataRole.CheckStateRole) != state.value:
            item.setCheckState(state)

    def _on_changed(self, item: QListWidgetItem) -> None:
        if not self._loading:
            self.ticked.emit(self.list.row(item), item.checkState() is Qt.CheckState.Checked)


# All properties that can be varied, in groups with a search; a row has a check box for each value.


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
        tr("Not available: {reason}.").format(reason=", ".join(labels)) + f" {reason}"
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
        self.search = line_edit(tr("nobarrier, recordsize … (Ctrl+F)"))
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
            edit.setPlaceholderText(tr("Another server setting"))
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


_LINES: Final = 6
_TOTAL_LINES: Final = 4
_COLUMNS: Final[tuple[Column[tuple[str, str, str]], ...]] = (
    Column("name", titled(tr("name")), lambda row: row[0], CellKind.WORDS),
    Column("place", tr("Data in"), lambda row: row[1], CellKind.WORDS),
    Column("difference", tr("Differs in"), lambda row: row[2], CellKind.WORDS),
)


class MorePage(Page):
    """Check boxes for values and cells; below them the list, and the chosen configuration's differences."""

    step = Step.MORE
    title = tr("What else do you want to compare?")

    def __init__(self, draft: CampaignDraft, theme: Theme) -> None:
        super().__init__(draft, theme)
        self._rows: dict[str, DimensionRow] = {}
        self.list = TextTable(tr("Configurations"), "list", selects=True)
        self.list.setFixedHeight(self.list.fontMetrics().lineSpacing() * _LINES * 7 // 4)
        self.copy = push_button(tr("C&opy"), "list")
        self.remove = push_button(tr("Remo&ve"), "list")
        self.reference = push_button(tr("&Add a reference"), "reference")
        self.about_reference = Text(theme, reference_words(), role="muted")
        self.bind(Form(theme, ("name",)))
        self.name = cast("QLineEdit", self.fields["name"].control)
        self.editor = ConfigurationEditor(draft, theme)
        self.heading = Heading(theme, tr("Selected configuration"))
        self.dimensions = DimensionsPanel(theme)
        self.cells = CellsList(theme)
        self.totals = Text(theme)
        self.footer = self._make_footer()
        ticking = Text(
            theme,
            tr(
                "Every combination of the selected values is measured. Your choices from the previous pages"
                " are already selected."
            ),
            role="muted",
        )
        one_by_one = Heading(theme, tr("Configurations one by one"))
        intro = Text(
            theme,
            tr(
                "For anything else, copy a configuration and change one thing. The values selected above "
                "are applied to every copy."
            ),
            role="muted",
        )
        top = QWidget()
        top_layout = fill(QHBoxLayout(top), spacing=MEDIUM, margins=0)
        buttons = fill(QVBoxLayout(), self.copy, self.reference, self.remove, 1, spacing=SMALL)
        top_layout.addWidget(self.list, 1)
        top_layout.addLayout(buttons)
        sentence = tr("The place is set on the first page. To change more than the name, make a copy.")
        self.origin = Text(theme, sentence, role="muted")
        for widget in (ticking, self.dimensions, self.cells, Rule(theme), one_by_one, intro, top):
            self.layout_.addWidget(widget)
        below = (self.about_reference, self.heading, self.origin, self.editor, self.fields["name"])
        for widget in below:
            self.layout_.addWidget(widget)
        self.layout_.addStretch(1)
        self._connect()

    def _connect(self) -> None:
        self.list.currentCellChanged.connect(self._on_row)
        self.copy.clicked.connect(self._copy)
        self.remove.clicked.connect(self._remove)
        self.reference.clicked.connect(self._add_reference)
        self.editor.edited.connect(self.report_change)
        self.dimensions.ticked.connect(self._on_ticked)
        self.dimensions.typed_values.connect(self._on_typed)
        self.dimensions.sweep_wanted.connect(self._on_sweep)
        self.dimensions.setting_wanted.connect(self._on_setting)
        self.cells.ticked.connect(self._on_cell)

    def _make_footer(self) -> QWidget:
        """Return the footer: problems and total cost."""
        self.layout_.removeWidget(self.general)
        return below_rule(self.theme, ScrollingTexts(_TOTAL_LINES, self.general, self.totals))

    @override
    def first_control(self) -> QWidget:
        return self.dimensions.search

    @override
    def fill(self) -> None:
        self._show_rows()
        if self.list.currentRow() < 0 and self.list.rowCount():
            self.list.setCurrentCell(0, 0)
        super().fill()
        self._show_chosen()

    def _show_rows(self) -> None:
        """Show the names and differences of all configurations; the chosen row is kept."""
        chosen, differences = self.draft.parts.chosen(), self.draft.differs_in()
        rows = [
            (each.name, place_label(self.draft, each), difference or tr("nothing"))
            for each, difference in zip(chosen, differences, strict=True)
        ]
        self.list.show_rows(_COLUMNS, rows)

    @override
    def refresh(self) -> None:
        self._show_rows()
        self._show_dimensions()
        self.name.setPlaceholderText(self.draft.automatic_name())
        self.remove.setEnabled(self.list.rowCount() > 1)
        self._show_reference()
        super().refresh()

    @override
    def show_problems(self, problems: Sequence[Problem]) -> None:
        number = self.list.currentRow() + 1
        mine = [each for each in problems if belongs(each.path, f"configuration[{number}]")]
        self.editor.show_problems(mine, f"configuration[{number}]")
        super().show_problems([each for each in problems if each not in mine and not self._key_of(each.path)])

    @override
    def label_of(self, field: str) -> str:
        row = self._rows.get(self._key_of(field))
        return row.label if row is not None else super().label_of(field)

    def _key_of(self, field: str) -> str:
        """Return the key of the dimension of a field; empty if it is not of a single one."""
        number = field.partition("[")[2].partition("]")[0]
        listed = self.draft.parts.dimensions
        if belongs(field, FIELD) and number.isdigit() and int(number) <= len(listed):
            return listed[int(number) - 1].key or listed[int(number) - 1].name
        return ""

    def _show_dimensions(self) -> None:
        draft = self.draft
        built = draft.built
        rows = dimension_rows(draft.parts, built, draft.storage, draft.environment)
        problems: dict[str, list[Problem]] = {}
        found = draft.problems_for(self.step)
        for each in found:
            if self._key_of(each.path):
                problems.setdefault(self._key_of(each.path), []).append(each)
        most = 2 * (draft.environment.machine.cpus if draft.environment else 1)
        self.dimensions.show_rows(rows, problems, tr("Sweep clients: 1 to {most}").format(most=most))
        self._rows = {row.key: row for row in rows}
        self.cells.show_cells(cell_rows(built.matrix) if draft.parts.dimensions else ())
        refused = any(not each.pending for each in found)
        self.totals.setText(" ".join(total_sentences(built.campaign, draft.resolved(), refused=refused)))

    def _on_ticked(self, key: str, value: DimensionValue, ticked: bool) -> None:  # noqa: FBT001 - a signal's
        row = self._rows[key]
        offered = [each.value for each in row.values]
        tick(self.draft.parts, key, (value,), offered, row.first, ticked=ticked)
        self.report_change()

    def _on_typed(self, key: str, text: str, ticked: list[DimensionValue]) -> None:
        row = self._rows[key]
        values = [*ticked, *typed_values(key, text)]
        if row.first is not None and [each.changes for each in values] == [row.first.changes]:
            values = []
        set_values(self.draft.parts, key, values, keep=not row.values)
        self.report_change()

    def _on_sweep(self) -> None:
        cpus = self.draft.environment.machine.cpus if self.draft.environment else 1
        row = self._rows.get(CLIENTS)
        sweep_clients(self.draft.parts, cpus, row.first if row else None)
        self.report_change()

    def _on_setting(self, name: str) -> None:
        key = f"postgresql.settings.{name}"
        if key not in self._rows:
            set_values(self.draft.parts, key, (), keep=True)
            self.report_change()
        if key in self.dimensions.editors:
            editor = self.dimensions.editors[key]
            (editor.typed or editor).setFocus()

    def _on_cell(self, number: int, measured: bool) -> None:  # noqa: FBT001 - a signal's
        matrix = self.draft.built.matrix
        if matrix is not None:
            tick_cell(self.draft.parts, matrix, number, measured=measured)
            self.report_change()

    @override
    def named(self, problem: Problem) -> Problem:
        for number, each in enumerate(self.draft.parts.chosen(), start=1):
            if belongs(problem.path, f"configuration[{number}]") and quoted(each.name) not in problem.message:
                message = f"{quoted(each.name)}: {problem.message}"
                return Problem(problem.path, message, problem.hint)
        return problem

    def _chosen(self) -> ConfigurationDraft | None:
        chosen = self.draft.parts.chosen()
        row = self.list.currentRow()
        return chosen[row] if 0 <= row < len(chosen) else None

    def _show_chosen(self) -> None:
        each = self._chosen()
        for widget in (self.heading, self.editor):
            widget.setVisible(each is not None)
        self.origin.setVisible(each is not None and each.from_where)
        if each is not None:
            self.editor.show_configuration(each)

    def _on_row(self) -> None:
        if not self.is_loading:
            self._show_chosen()
            super().refresh()

    def _copy(self) -> None:
        original = self._chosen()
        if original is None:
            return
        copy = self.draft.copy_configuration(original)
        self._show_rows()
        self.list.setCurrentCell(self.draft.parts.chosen().index(copy), 0)
        self._show_chosen()
        self.editor.name.setFocus()
        self.editor.name.selectAll()
        self.report_change()

    def _show_reference(self) -> None:
        """Offer a reference for servers that already run."""
        parts = self.draft.parts
        for widget in (self.reference, self.about_reference):
            widget.setVisible(bool(parts.on_servers()))
        self.reference.setEnabled(not has_reference(parts))

    def _add_reference(self) -> None:
        made = add_reference(self.draft.parts)
        self._show_rows()
        self.list.setCurrentCell(self.draft.parts.chosen().index(made), 0)
        self._show_chosen()
        self.report_change()
        self._go_to(self.editor.form.fields[CONNECTION].control)

    def _go_to(self, field: QWidget) -> None:
        """Scroll to a field and move the cursor there, once it is laid out."""
        field.setFocus()
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        if isinstance(area, QScrollArea):
            QTimer.singleShot(0, partial(area.ensureWidgetVisible, field))

    def _remove(self) -> None:
        chosen = self._chosen()
        if chosen is None:
            return
        row = self.list.currentRow()
        self.draft.remove_configuration(chosen)
        self._show_rows()
        self.list.setCurrentCell(min(row, self.list.rowCount() - 1), 0)
        self._show_chosen()
        self.list.setFocus()
        self.report_change()
