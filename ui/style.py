"""How Qt's widgets look: the palette in Qt's words, and Fusion with edges that can be seen."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QProxyStyle,
    QStyle,
    QStyleOption,
    QStyleOptionButton,
    QStyleOptionComplex,
    QStyleOptionFrame,
    QStyleOptionToolButton,
    QWidget,
)
from typing_extensions import override

from ui.theme import Palette, Theme, mix


def qt_palette(palette: Palette) -> QPalette:
    """Return the palette as Qt's widgets want it."""
    roles = {
        QPalette.ColorRole.Window: palette.window,
        QPalette.ColorRole.WindowText: palette.text,
        QPalette.ColorRole.Base: palette.background,
        QPalette.ColorRole.AlternateBase: palette.warm_up,
        QPalette.ColorRole.ToolTipBase: palette.box,
        QPalette.ColorRole.ToolTipText: palette.text,
        QPalette.ColorRole.Text: palette.text,
        QPalette.ColorRole.Button: palette.window,
        QPalette.ColorRole.ButtonText: palette.text,
        QPalette.ColorRole.BrightText: palette.warning,
        QPalette.ColorRole.Link: palette.accent,
        QPalette.ColorRole.Highlight: palette.accent,
        QPalette.ColorRole.HighlightedText: palette.background,
        QPalette.ColorRole.PlaceholderText: palette.muted,
    }
    made = QPalette(QColor(palette.window))
    for role, colour in roles.items():
        made.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(palette.muted))
    return made


class EdgedFusion(QProxyStyle):
    """Fusion, whose boxes for ticks, fields and dark buttons hardly stand out: they get an edge."""

    _BOXES: Final = (
        QStyle.PrimitiveElement.PE_IndicatorItemViewItemCheck,
        QStyle.PrimitiveElement.PE_IndicatorCheckBox,
        QStyle.PrimitiveElement.PE_IndicatorRadioButton,
    )
    _FIELDS: Final = (QStyle.PrimitiveElement.PE_FrameLineEdit, QStyle.PrimitiveElement.PE_PanelLineEdit)
    _EDGED_IN_THE_DARK: Final = (
        QStyle.PrimitiveElement.PE_PanelButtonCommand,
        QStyle.PrimitiveElement.PE_Frame,
    )

    @override
    def drawPrimitive(
        self,
        element: QStyle.PrimitiveElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if element is QStyle.PrimitiveElement.PE_FrameFocusRect and isinstance(widget, QAbstractItemView):
            return  # Fusion veils the text of the cell; the selected row shows where one is
        super().drawPrimitive(element, option, painter, widget)
        if element in self._BOXES:
            pen = option.palette.color(QPalette.ColorRole.PlaceholderText)
            _edge(painter, option, pen, round_=element is QStyle.PrimitiveElement.PE_IndicatorRadioButton)
        elif self._is_edged(element, option):
            _edge(painter, option, _edge_colour(option))

    def _is_edged(self, element: QStyle.PrimitiveElement, option: QStyleOption) -> bool:
        wanted = element in self._FIELDS or (element in self._EDGED_IN_THE_DARK and _is_dark(option))
        return wanted and _has_frame(option)

    @override
    def drawComplexControl(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if isinstance(option, QStyleOptionToolButton):  # Fusion's own arrow lies over the text
            option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu
        super().drawComplexControl(control, option, painter, widget)
        if control is QStyle.ComplexControl.CC_ComboBox:
            _edge(painter, option, _edge_colour(option))


def _is_dark(option: QStyleOption) -> bool:
    return option.palette.color(QPalette.ColorRole.Window).lightness() < 128


def _has_frame(option: QStyleOption) -> bool:
    """Whether there is an edge at all: the field inside of another control has none."""
    return not isinstance(option, QStyleOptionFrame) or option.lineWidth > 0


def _edge_colour(option: QStyleOption) -> QColor:
    """Return the colour of an edge that stands 3:1 against the ground around it (WCAG 2.2, 1.4.11)."""
    palette, state = option.palette, option.state
    default = QStyleOptionButton.ButtonFeature.DefaultButton
    if state & QStyle.StateFlag.State_HasFocus or (
        isinstance(option, QStyleOptionButton) and option.features & default
    ):
        return palette.color(QPalette.ColorRole.Highlight)
    share = 0.8 if state & QStyle.StateFlag.State_Enabled else 0.4
    return mix(
        palette.color(QPalette.ColorRole.PlaceholderText), palette.color(QPalette.ColorRole.Window), share
    )


def _edge(painter: QPainter, option: QStyleOption, colour: QColor, *, round_: bool = False) -> None:
    painter.save()
    painter.setPen(QPen(colour, 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    edge = QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if round_:
        painter.drawEllipse(edge)
    else:
        painter.drawRoundedRect(edge, 2, 2)
    painter.restore()


def apply_theme(app: QApplication, theme: Theme) -> None:
    """Give all widgets of the program the theme's colours, now and whenever they change."""

    def apply() -> None:
        app.setPalette(qt_palette(theme.palette))

    app.setStyle(EdgedFusion("Fusion"))
    apply()
    theme.changed.connect(apply)
