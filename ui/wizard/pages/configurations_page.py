"""The page of dimensions: varied values, the cells, and single configurations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, cast

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.campaign.matrix import DimensionValue
from app.domain.columns import CellKind, Column
from app.domain.problem import Problem
from app.domain.text import tr
from app.draft.draft import CampaignDraft
from app.draft.fields.fields import CONNECTION
from app.draft.fields.state import ConfigurationDraft, Step
from app.draft.matrix.cells import cell_rows, tick_cell, total_sentences
from app.draft.matrix.offers import DimensionRow, dimension_rows
from app.draft.matrix.reading import FIELD
from app.draft.matrix.ticking import CLIENTS, set_values, sweep_clients, tick, typed_values
from app.draft.planning import add_reference, has_reference, reference_words
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import push_button
from ui.widgets.layouts import fill
from ui.widgets.texts import Heading, Rule, ScrollingTexts, Text, below_rule
from ui.wizard.base.controls import Form
from ui.wizard.base.page import Page, belongs
from ui.wizard.base.table import TextTable
from ui.wizard.editors.cells_list import CellsList
from ui.wizard.editors.configuration_editor import ConfigurationEditor, place_label
from ui.wizard.editors.dimensions_panel import DimensionsPanel

_LINES: Final = 6
_TOTAL_LINES: Final = 4
_COLUMNS: Final[tuple[Column[tuple[str, str, str]], ...]] = (
    Column("name", tr("Name"), lambda row: row[0], CellKind.WORDS),
    Column("place", tr("Data in"), lambda row: row[1], CellKind.WORDS),
    Column("difference", tr("Differs in"), lambda row: row[2], CellKind.WORDS),
)


class MorePage(Page):
    """Check boxes for values and cells; below them the list, and the chosen configuration's differences."""

    step = Step.MORE
    title = tr("What else should be compared?")

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
        sentence = tr("Its place comes from the first page. Copy it to change more than its name.")
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
            (each.name, place_label(self.draft, each), difference or tr("nothing else"))
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
            if belongs(problem.path, f"configuration[{number}]") and f"“{each.name}”" not in problem.message:
                message = tr("“{name}”: {message}").format(name=each.name, message=problem.message)
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
