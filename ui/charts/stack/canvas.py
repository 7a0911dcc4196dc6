"""The scene of a stack's charts, in an area that scrolls if there are many."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsWidget, QScrollArea
from typing_extensions import override

from ui.charts.data.registry import charts_along
from ui.charts.data.scale import TIME, XAxisKind
from ui.charts.painting.axes import Caption, TimeAxis
from ui.charts.stack.chart import Chart
from ui.theme import Theme

_LOWEST_CHART = 110
_NAMES_SHARE = 0.26
"""Largest share of the width for names at the ends of lines."""
_CACHE_KIB = 64 * 1024


class Canvas(QScrollArea):
    """Lay out charts one below the other, with value axes of equal width and one time axis.

    Attributes:
        charts: the wanted ones, top first.
        shown: those of them with room.

    Signals:
        pointed: the pointer is at this point of the scene.
        left: the pointer has left.
        moved: the user moved or zoomed the time; start and end in s.
        choosing: a range is being dragged; both ends in s.
        chosen: a range was dragged; both ends in s, equal for none.
        clicked: a mouse button was clicked at this point of the scene; whether twice.
    """

    pointed = Signal(QPointF)
    left = Signal()
    moved = Signal(float, float)
    choosing = Signal(float, float)
    chosen = Signal(float, float)
    clicked = Signal(QPointF, Qt.MouseButton, bool)

    def __init__(self, theme: Theme, kind: XAxisKind = TIME) -> None:
        super().__init__(widgetResizable=True)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs to the right in every script
        # Axes and headings cache their pictures there; Qt's default of 10 MB is too small and they thrash.
        QPixmapCache.setCacheLimit(max(QPixmapCache.cacheLimit(), _CACHE_KIB))
        self._theme = theme
        self._type_scale = 1.0
        self._made: dict[str, Chart] = {}
        self.charts: list[Chart] = []
        self.shown: list[Chart] = []
        self._central = QGraphicsWidget()
        self._central.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._grid = QGraphicsGridLayout(self._central)
        self._grid.setSpacing(0)
        self.time_axis = TimeAxis(theme, kind)
        self._caption = Caption(theme, self.time_axis)
        for item in (self.time_axis, self._caption):
            item.setParentItem(self._central)
        self.setFrameStyle(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view = pg.GraphicsView()
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setFrameStyle(0)
        self._view.setBackground(theme.background)
        self._view.viewport().installEventFilter(self)
        self._view.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self._view.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        self._view.setCentralItem(self._central)
        self.setWidget(self._view)

    def lay_out(self, chart_ids: Iterable[str]) -> None:
        """Show these charts, top first.

        A chart once created stays in the scene, hidden: after removal pyqtgraph's items would be deleted by
        Python's garbage collection, which crashes (PySide6 6.11, pyqtgraph 0.14).
        """
        ids = list(chart_ids)
        for chart_id in ids:
            if chart_id not in self._made:
                self._made[chart_id] = self._make(chart_id)
        self.charts = [self._made[chart_id] for chart_id in ids]
        self._place(self.charts)

    def leave_out(self, empty: Collection[Chart]) -> None:
        """Hide these charts, unless that would hide all."""
        shown = [chart for chart in self.charts if chart not in empty] or self.charts
        if shown != self.shown:
            self._place(shown)

    def _place(self, shown: Sequence[Chart]) -> None:
        self.shown = list(shown)
        for place in reversed(range(self._grid.count())):
            self._grid.removeAt(place)
        for chart in self._made.values():
            chart.set_shown(shown=chart in self.shown)
        for row, chart in enumerate(self.shown):
            self._grid.addItem(chart.heading, 2 * row, 0, 1, 3)
            self._grid.addItem(chart.axis, 2 * row + 1, 0)
            self._grid.addItem(chart.view, 2 * row + 1, 1)
            self._grid.addItem(chart.labels, 2 * row + 1, 2)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretchFactor(row, row % 2 if row < 2 * len(self.shown) else 0)
        if self.shown:
            self._grid.addItem(self._caption, 2 * len(self.shown), 0)
            self._grid.addItem(self.time_axis, 2 * len(self.shown), 1)
            self.time_axis.linkToView(self.shown[-1].view)
        for item in (self._caption, self.time_axis):
            item.setVisible(bool(self.shown))
        self.set_type_scale(self._type_scale)
        self._central.setGeometry(QRectF(self._view.rect()))

    def _make(self, chart_id: str) -> Chart:
        chart = Chart(charts_along(self.time_axis.kind.along)[chart_id], self._theme, self.time_axis)
        chart.set_type_scale(self._type_scale)
        chart.view.moved.connect(self.moved)
        chart.view.choosing.connect(self.choosing)
        chart.view.chosen.connect(self.chosen)
        for item in (chart.heading, chart.axis, chart.view, chart.labels):
            item.setParentItem(self._central)
        return chart

    def set_type_scale(self, scale: float) -> None:
        """Set the type scale."""
        self._type_scale = scale
        for chart in self._made.values():
            chart.set_type_scale(scale)
        self.time_axis.set_type_scale(scale)
        self._view.setMinimumHeight(round(_LOWEST_CHART * scale) * len(self.shown) + 24)

    def align(self) -> None:
        """Align the widths of all value axes, and of the line names at the right, to the widest."""
        widths = [chart.wanted_axis_width() for chart in self.shown]
        width = math.ceil(max(self._caption.wanted_width(), *widths, 0.0))
        for chart in self.shown:
            chart.set_axis_width(width)
        wanted = max((chart.wanted_label_width() for chart in self.shown), default=0.0)
        names = math.ceil(min(wanted, _NAMES_SHARE * max(1.0, float(self.viewport().width()))))
        for chart in self._made.values():
            chart.labels.set_width(names)
        self._grid.setContentsMargins(0, 0, max(0.0, self.time_axis.overhang - names), 0)

    def apply_style(self) -> None:
        """Take the theme's colours."""
        self._view.setBackground(self._theme.background)
        self.time_axis.apply_style()
        for chart in self._made.values():
            chart.apply_style()

    def chart_at(self, scene: QPointF) -> Chart | None:
        """Return the chart with content at a point of the scene."""
        return next((chart for chart in self.shown if chart.holds(scene)), None)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Leave:
            self.left.emit()
        return super().eventFilter(watched, event)

    def _on_mouse_moved(self, scene: QPointF) -> None:
        self.pointed.emit(scene)

    def _on_mouse_clicked(self, event: pg.GraphicsScene.mouseEvents.MouseClickEvent) -> None:
        self.clicked.emit(event.scenePos(), event.button(), event.double())
