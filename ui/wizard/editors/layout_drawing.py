"""The drawing of a layout: disks with their partitions, the array above, the filesystem on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.draft.disks.layout import DrawnDisk, DrawnGroup
from ui.painting import painting
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme, mix
from ui.widgets.fields import HELP
from ui.widgets.texts import show_tip

_BOX_EMS: Final = 24
_GROUP_EMS: Final = 46
"""Width for the facts of a group with one disk."""
_BAR: Final = 6
_LINES: Final = 3
_ROUND: Final = 4.0
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class LayoutDrawing(QWidget):
    """Groups in one row if there is room, else one below the other; read from bottom to top."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._groups: tuple[DrawnGroup, ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(tr("Layout"))
        self.setProperty(HELP, "layout")
        theme.changed.connect(self.update)

    def show_groups(self, groups: Sequence[DrawnGroup]) -> None:
        """Draw groups."""
        self._groups = tuple(groups)
        words = " ".join(group.words for group in groups) or tr("No disk is chosen.")
        show_tip(self, words)  # names may look like markup
        self.updateGeometry()
        self.update()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return round(self._arrange(width)[1])

    @override
    def sizeHint(self) -> QSize:
        width = 3 * _BOX_EMS * self.fontMetrics().averageCharWidth()
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(_BOX_EMS * self.fontMetrics().averageCharWidth() + 2 * MEDIUM, 0)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for group, area in zip(self._groups, self._arrange(self.width())[0], strict=True):
                self._paint_group(painter, group, area)

    # --- positions

    @property
    def _box_width(self) -> float:
        return float(_BOX_EMS * self.fontMetrics().averageCharWidth())

    @property
    def _line(self) -> float:
        return float(self.fontMetrics().lineSpacing())

    @property
    def _disk_height(self) -> float:
        return _LINES * self._line + self.fontMetrics().lineSpacing() + _BAR + 2 * SMALL

    def _arrange(self, width: int) -> tuple[list[QRectF], float]:
        """Return the rectangle of each group, and the total height."""
        areas: list[QRectF] = []
        left, top, row_height = 0.0, 0.0, 0.0
        for group in self._groups:
            wanted = min(float(width), self._group_width(len(group.disks)))
            if left and left + wanted > width:
                left, top, row_height = 0.0, top + row_height + MEDIUM, 0.0
            height = self._group_height(group, wanted)
            areas.append(QRectF(left, top, wanted, height))
            left += wanted + LARGE
            row_height = max(row_height, height)
        return areas, top + row_height

    def _group_width(self, disks: int) -> float:
        least = _GROUP_EMS * self.fontMetrics().averageCharWidth()
        return max(least, disks * (self._box_width + SMALL) - SMALL) + 2 * MEDIUM

    def _columns(self, group: DrawnGroup, width: float) -> int:
        room = int((width - 2 * MEDIUM + SMALL) // (self._box_width + SMALL))
        columns = max(1, min(room, len(group.disks)))
        if group.pairs and columns > 1:
            columns -= columns % 2  # pairs stay together
        return columns

    def _group_height(self, group: DrawnGroup, width: float) -> float:
        rows = -(-len(group.disks) // self._columns(group, width))
        layers = 1 + bool(group.array)
        return (
            self._line * (2 + bool(group.partitions))
            + TINY
            + layers * (self._line + 2 * TINY + TINY)
            + rows * (self._disk_height + SMALL)
            + 2 * SMALL
        )

    # --- painting

    def _paint_group(self, painter: QPainter, group: DrawnGroup, area: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("frame"), 1))
        painter.setBrush(self._theme.colour("box"))
        painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), _ROUND, _ROUND)
        inner = area.adjusted(MEDIUM, SMALL, -MEDIUM, -SMALL)
        heading = QRectF(inner.left(), inner.top(), inner.width(), self._line)
        self._put(painter, heading, group.title, self._theme.colour("text"), bold=True)
        top = self._write(painter, inner, heading.bottom(), group.facts, "muted")
        if group.partitions:
            top = self._write(painter, inner, top, group.partitions, "muted")
        top += TINY
        for number, text in enumerate(filter(None, (group.filesystem, group.array))):
            box = QRectF(inner.left(), top, inner.width(), self._line + 2 * TINY)
            self._paint_layer(painter, box, text, 0.30 - 0.15 * number)
            top = box.bottom() + TINY
        self._paint_disks(painter, group, QRectF(inner.left(), top, inner.width(), inner.bottom() - top))

    def _paint_disks(self, painter: QPainter, group: DrawnGroup, area: QRectF) -> None:
        columns = self._columns(group, area.width() + 2 * MEDIUM)
        width = (area.width() - (columns - 1) * SMALL) / columns
        for number, disk in enumerate(group.disks):
            row, column = divmod(number, columns)
            left = area.left() + column * (width + SMALL)
            top = area.top() + row * (self._disk_height + SMALL)
            self._paint_disk(painter, disk, QRectF(left, top, width, self._disk_height))
            if group.pairs and number % 2 and columns > 1:
                self._paint_pair(painter, left, top + self._disk_height / 2)

    def _paint_pair(self, painter: QPainter, left: float, middle: float) -> None:
        """Paint two strokes between mirrored disks."""
        painter.setPen(QPen(self._theme.colour("accent"), 2))
        for shift in (-3, 3):
            painter.drawLine(round(left - SMALL), round(middle + shift), round(left), round(middle + shift))

    def _paint_layer(self, painter: QPainter, box: QRectF, text: str, share: float) -> None:
        ground = mix(self._theme.colour("accent"), self._theme.colour("background"), share)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(box, _ROUND, _ROUND)
        self._put(painter, box.adjusted(SMALL, 0, -SMALL, 0), text, self._theme.colour("text"), bold=False)

    def _paint_disk(self, painter: QPainter, disk: DrawnDisk, box: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("frame" if disk.there else "warning"), 1))
        painter.setBrush(self._theme.colour("background"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), _ROUND, _ROUND)
        inner = box.adjusted(SMALL, TINY, -SMALL, -TINY)
        top = self._write(painter, inner, inner.top(), disk.title, "accent")
        top = self._write(painter, inner, top, disk.name, "text" if disk.there else "warning")
        top = self._write(painter, inner, top, disk.detail, "muted")
        if not disk.partition:
            return
        bar = QRectF(inner.left(), top + TINY, inner.width(), _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("grid"))
        painter.drawRect(bar)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawRect(QRectF(bar.left(), bar.top(), max(3.0, bar.width() * disk.share), bar.height()))
        text = tr("partition: {size}").format(size=disk.partition)
        self._write(painter, inner, bar.bottom(), text, "muted")

    def _write(self, painter: QPainter, area: QRectF, top: float, text: str, role: str) -> float:
        """Paint a line of an area, shortened if too long; return the top of the next line."""
        line = QRectF(area.left(), top, area.width(), self._line)
        self._put(painter, line, text, self._theme.colour(role), bold=role == "accent")
        return line.bottom()

    def _put(self, painter: QPainter, area: QRectF, text: str, colour: QColor, *, bold: bool) -> None:
        font = QFont(self.font())
        font.setBold(bold)
        painter.setFont(font)
        painter.setPen(colour)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, round(area.width()))
        painter.drawText(area, _LEFT, shown)
