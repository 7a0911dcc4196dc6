"""The context menu of a chart: copy, save, which charts and curves are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from app.domain.errors import FootingError
from app.domain.text import tr
from ui.charts.data.registry import charts_along
from ui.charts.data.x_axis import XQuantity
from ui.charts.stack.saving import chart_image, save_csv, save_png, save_svg

if TYPE_CHECKING:
    from ui.charts.stack.chart import Chart
    from ui.charts.stack.stack import ChartStack


class ChartMenu(QMenu):
    """Actions on one chart; deletes itself when it has gone."""

    def __init__(self, stack: ChartStack, chart: Chart) -> None:
        super().__init__(stack)
        self.aboutToHide.connect(self.deleteLater)
        self._stack, self._chart = stack, chart
        self.addAction(tr("&Copy as image"), self._copy)
        self.addSeparator()
        self.addAction(tr("Save as &PNG…"), lambda: self._save("png"))
        self.addAction(tr("Save as &SVG…"), lambda: self._save("svg"))
        over_time = stack.kind.along is XQuantity.TIME
        words = tr("Save seconds as CS&V…") if over_time else tr("Save numbers as CS&V…")
        self.addAction(words, lambda: self._save("csv"))
        self.addSeparator()
        self._add_curves()
        self._add_charts()
        self._add_moves()
        self.addSeparator()
        whole = tr("Show the &whole time") if over_time else tr("Show &everything")
        self.addAction(whole, stack.show_everything)

    def _add_curves(self) -> None:
        spec = self._chart.spec
        if len(spec.curves) < 2:
            return
        menu = self.addMenu(tr("&Lines"))
        for curve in spec.curves:
            action = menu.addAction(curve.label)
            action.setCheckable(True)
            action.setChecked(self._stack.is_curve_visible(spec.id, curve.id))
            action.toggled.connect(self._curve_switch(spec.id, curve.id))

    def _curve_switch(self, chart_id: str, curve_id: str) -> Callable[[bool], None]:
        stack = self._stack
        return lambda shown: stack.set_curve_visible(chart_id, curve_id, visible=shown)

    def _add_charts(self) -> None:
        offered = charts_along(self._stack.kind.along)
        if len(offered) < 2:
            return
        menu = self.addMenu(tr("C&harts"))
        for chart in offered.values():
            action = menu.addAction(chart.title)
            action.setCheckable(True)
            action.setChecked(chart.id in self._stack.chart_ids)
            action.toggled.connect(self._chart_switch(chart.id))

    def _chart_switch(self, chart_id: str) -> Callable[[bool], None]:
        stack = self._stack

        def switch(shown: bool) -> None:  # noqa: FBT001 - the signal's signature
            others = [each for each in stack.chart_ids if each != chart_id]
            stack.set_charts([*others, chart_id] if shown else others)

        return switch

    def _add_moves(self) -> None:
        ids = list(self._stack.chart_ids)
        place = ids.index(self._chart.spec.id)
        up = self.addAction(tr("Move chart &up"), lambda: self._move(place - 1))
        up.setEnabled(place > 0)
        down = self.addAction(tr("Move chart &down"), lambda: self._move(place + 1))
        down.setEnabled(place < len(ids) - 1)

    def _move(self, place: int) -> None:
        ids = [each for each in self._stack.chart_ids if each != self._chart.spec.id]
        ids.insert(place, self._chart.spec.id)
        self._stack.set_charts(ids)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setImage(chart_image(self._chart, self._stack.theme))

    def _save(self, kind: str) -> None:
        stack, chart = self._stack, self._chart
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        dialog = QFileDialog(stack, tr("Save chart"), folder, f"{kind.upper()} (*.{kind})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{chart.spec.id}.{kind}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: save_chart(stack, chart, Path(name)))
        dialog.open()


def save_chart(stack: ChartStack, chart: Chart, path: Path) -> None:
    """Write a chart in the format that the name says; tell where it cannot be written."""
    try:
        if path.suffix.lower() == ".svg":
            save_svg(chart, stack.theme, path)
        elif path.suffix.lower() == ".csv":
            save_csv(chart, path)
        else:
            save_png(chart, stack.theme, path)
    except FootingError as error:
        box = QMessageBox(QMessageBox.Icon.Warning, tr("Save chart"), error.message, parent=stack)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(error.hint or "")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
