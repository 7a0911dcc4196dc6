"""Qt's Fusion without bevels and gradients: which part of which widget is painted how, and how large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QFrame,
    QProxyStyle,
    QPushButton,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionComplex,
    QStyleOptionFrame,
    QStyleOptionHeader,
    QStyleOptionProgressBar,
    QStyleOptionSlider,
    QStyleOptionSpinBox,
    QStyleOptionTab,
    QStyleOptionToolButton,
    QTabBar,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from ui import flat_parts
from ui.flat_parts import Role, State
from ui.theme import mix

Primitive = QStyle.PrimitiveElement
Control = QStyle.ControlElement
Complex = QStyle.ComplexControl
Sub = QStyle.SubControl

# Qt gives and takes None for a widget everywhere; the stubs of PySide6 say otherwise in three places.
_ROOM: Final = 12
"""What the height of buttons and fields adds to that of their text."""
_INDENT: Final = 4
"""Between the edge of a field and its text, more than Fusion has."""
_GAP: Final = 6
"""Between an icon and its word."""
_SCROLL_BAR: Final = 12
_SHORTEST_THUMB: Final = 28

_ARROWS: Final = {
    Primitive.PE_IndicatorArrowDown: Qt.ArrowType.DownArrow,
    Primitive.PE_IndicatorArrowUp: Qt.ArrowType.UpArrow,
    Primitive.PE_IndicatorArrowLeft: Qt.ArrowType.LeftArrow,
    Primitive.PE_IndicatorArrowRight: Qt.ArrowType.RightArrow,
}

_PAINTED: Final[dict[Primitive, Callable[[QPainter, QStyleOption], None]]] = {
    Primitive.PE_PanelButtonCommand: flat_parts.paint_button,
    Primitive.PE_PanelButtonTool: flat_parts.paint_tool_button,
    Primitive.PE_IndicatorCheckBox: flat_parts.paint_tick_box,
    Primitive.PE_IndicatorItemViewItemCheck: flat_parts.paint_tick_box,
    Primitive.PE_IndicatorRadioButton: flat_parts.paint_radio,
    Primitive.PE_FrameTabBarBase: flat_parts.paint_line_below,
    Primitive.PE_FrameGroupBox: flat_parts.paint_group,
}


_PRIMITIVES: Final = frozenset(
    {
        *_PAINTED,
        *_ARROWS,
        Primitive.PE_PanelLineEdit,
        Primitive.PE_FrameLineEdit,
        Primitive.PE_FrameFocusRect,
        Primitive.PE_Frame,
    }
)
_CONTROLS: Final = frozenset(
    {
        Control.CE_TabBarTabShape,
        Control.CE_TabBarTabLabel,
        Control.CE_ToolBar,
        Control.CE_HeaderSection,
        Control.CE_ProgressBarGroove,
        Control.CE_ProgressBarContents,
        Control.CE_ToolButtonLabel,
        Control.CE_PushButtonLabel,
        Control.CE_Splitter,
    }
)
"""What is painted here; everything else is Fusion's."""


class FlatStyle(QProxyStyle):
    """Fusion, flat: every surface one colour, every edge one line, the accent for what is chosen."""

    @override
    def drawPrimitive(
        self,
        element: QStyle.PrimitiveElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if element not in _PRIMITIVES:  # first, for cells of tables are many
            super().drawPrimitive(element, option, painter, widget)
        elif (paint := _PAINTED.get(element)) is not None:
            paint(painter, option)
        elif element in _ARROWS:
            flat_parts.paint_chevron(painter, option.rect, _ARROWS[element], option)
        elif element in {Primitive.PE_PanelLineEdit, Primitive.PE_FrameLineEdit}:
            if _has_frame(option):
                flat_parts.paint_field(painter, option)
            elif element is Primitive.PE_PanelLineEdit:
                super().drawPrimitive(element, option, painter, widget)
        else:
            _PAINTED_BY_WIDGET[element](painter, option, widget)

    @override
    def drawControl(
        self,
        element: QStyle.ControlElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if element not in _CONTROLS:
            super().drawControl(element, option, painter, widget)
        elif element is Control.CE_TabBarTabShape and isinstance(option, QStyleOptionTab) and _lies(option):
            _paint_tab(painter, option)
        elif element is Control.CE_ToolBar:
            painter.fillRect(option.rect, option.palette.color(Role.Window))
            line = QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1)
            painter.fillRect(line, flat_parts.quiet_line(option))
        elif element is Control.CE_HeaderSection and isinstance(option, QStyleOptionHeader):
            _paint_header(painter, option)
        elif element is Control.CE_ProgressBarGroove:
            ground = mix(option.palette.color(Role.Text), option.palette.color(Role.Window), 0.1)
            flat_parts.round_box(painter, option.rect, ground, None, flat_parts.BOX_RADIUS)
        elif element is Control.CE_ProgressBarContents:
            (_paint_progress if _is_determinate(option) else _paint_busy)(painter, option)
        elif element is Control.CE_ToolButtonLabel and _has_both(option):
            self._paint_label(painter, cast("QStyleOptionToolButton", option), widget)
        elif element is Control.CE_Splitter:
            _paint_grip(painter, option)
        else:
            if element in {Control.CE_PushButtonLabel, Control.CE_TabBarTabLabel}:
                _ink(element, option)
            super().drawControl(element, option, painter, widget)

    @override
    def drawComplexControl(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if control is Complex.CC_ScrollBar and isinstance(option, QStyleOptionSlider):
            self._paint_scroll_bar(painter, option, widget)
        elif control is Complex.CC_ComboBox and isinstance(option, QStyleOptionComboBox):
            self._paint_combo_box(painter, option, widget)
        elif control is Complex.CC_SpinBox and isinstance(option, QStyleOptionSpinBox):
            self._paint_spin_box(painter, option, widget)
        elif control is Complex.CC_Slider and isinstance(option, QStyleOptionSlider) and _lies_flat(option):
            self._paint_slider(painter, option, widget)
        else:
            if isinstance(option, QStyleOptionToolButton):  # Fusion's own arrow lies over the text
                option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu
            super().drawComplexControl(control, option, painter, widget)

    def _paint_label(self, painter: QPainter, option: QStyleOptionToolButton, widget: QWidget | None) -> None:
        """Paint an icon and a word with room between them; Qt's own 4 pixels let them touch."""
        enabled = bool(option.state & State.State_Enabled)
        side = option.iconSize
        area = option.rect.adjusted(_INDENT, 0, -_INDENT, 0)
        place = QRect(area.left() + 2, area.center().y() - side.height() // 2, side.width(), side.height())
        option.icon.paint(
            painter,
            QStyle.visualRect(option.direction, option.rect, place),
            Qt.AlignmentFlag.AlignCenter,
            QIcon.Mode.Normal if enabled else QIcon.Mode.Disabled,
        )
        words = area.adjusted(side.width() + 2 + _GAP, 0, 0, 0)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        underlined = self.styleHint(QStyle.StyleHint.SH_UnderlineShortcut, option, widget)
        mnemonic = Qt.TextFlag.TextShowMnemonic if underlined else Qt.TextFlag.TextHideMnemonic
        self.drawItemText(
            painter,
            QStyle.visualRect(option.direction, option.rect, words),
            int(QStyle.visualAlignment(option.direction, flags)) | int(mnemonic),
            option.palette,
            enabled,
            option.text,
            Role.ButtonText,
        )

    # Complex ones

    def _paint_combo_box(
        self, painter: QPainter, option: QStyleOptionComboBox, widget: QWidget | None
    ) -> None:
        if option.frame and option.editable:
            flat_parts.paint_field(painter, option)
        elif option.frame:
            ring = flat_parts.RING if flat_parts.keys_are_here(option) else 1.0
            ground = flat_parts.button_ground(option)
            flat_parts.round_box(painter, option.rect, ground, flat_parts.edge_colour(option), width=ring)
        arrow = self.subControlRect(Complex.CC_ComboBox, option, Sub.SC_ComboBoxArrow, widget)
        flat_parts.paint_chevron(painter, arrow, Qt.ArrowType.DownArrow, option)

    def _paint_spin_box(self, painter: QPainter, option: QStyleOptionSpinBox, widget: QWidget | None) -> None:
        if option.frame:
            flat_parts.paint_field(painter, option)
        for sub, arrow in (
            (Sub.SC_SpinBoxUp, Qt.ArrowType.UpArrow),
            (Sub.SC_SpinBoxDown, Qt.ArrowType.DownArrow),
        ):
            if option.subControls & sub:
                area = self.subControlRect(Complex.CC_SpinBox, option, sub, widget)
                flat_parts.paint_chevron(painter, area, arrow, option)

    def _paint_scroll_bar(
        self, painter: QPainter, option: QStyleOptionSlider, widget: QWidget | None
    ) -> None:
        painter.fillRect(option.rect, option.palette.color(Role.Base if widget is None else Role.Window))
        if option.maximum <= option.minimum:
            return
        slider = self.subControlRect(Complex.CC_ScrollBar, option, Sub.SC_ScrollBarSlider, widget)
        near = bool(option.state & State.State_MouseOver)
        flat_parts.paint_thumb(
            painter, slider, option, pressed=bool(option.state & State.State_Sunken), near=near
        )

    def _paint_slider(self, painter: QPainter, option: QStyleOptionSlider, widget: QWidget | None) -> None:
        groove = self.subControlRect(Complex.CC_Slider, option, Sub.SC_SliderGroove, widget)
        handle = self.subControlRect(Complex.CC_Slider, option, Sub.SC_SliderHandle, widget)
        palette, enabled = option.palette, bool(option.state & State.State_Enabled)
        accent = palette.color(Role.Highlight) if enabled else flat_parts.edge_colour(option)
        middle = groove.center().y()
        line = QRect(groove.left(), middle - 1, groove.width(), 4)
        flat_parts.round_box(painter, line, flat_parts.quiet_line(option), None, 2)
        line.setRight(handle.center().x())
        flat_parts.round_box(painter, line, accent, None, 2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(accent)
        centre = QPointF(handle.center().x() + 0.5, middle + 1)
        painter.drawEllipse(centre, 7, 7)
        if flat_parts.keys_are_here(option):
            painter.setBrush(palette.color(Role.HighlightedText))
            painter.drawEllipse(centre, 3, 3)
        painter.restore()

    # Sizes

    @override
    def pixelMetric(
        self,
        metric: QStyle.PixelMetric,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
    ) -> int:
        if metric is QStyle.PixelMetric.PM_ScrollBarExtent:
            return _SCROLL_BAR
        if metric in {QStyle.PixelMetric.PM_ButtonShiftHorizontal, QStyle.PixelMetric.PM_ButtonShiftVertical}:
            return 0
        return super().pixelMetric(metric, option, widget)

    @override
    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,
    ) -> int:
        if hint is QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons:
            return 0  # they would be Qt's own, bevelled ones: the words say enough
        return super().styleHint(hint, option, widget, returnData)

    @override
    def sizeFromContents(
        self,
        type: QStyle.ContentsType,
        option: QStyleOption,
        size: QSize,
        widget: QWidget | None = None,
    ) -> QSize:
        made = super().sizeFromContents(type, option, size, cast("QWidget", widget))
        if type in _HIGH:
            made.setHeight(max(made.height(), option.fontMetrics.height() + _ROOM))
        if type is QStyle.ContentsType.CT_PushButton:
            made.setWidth(made.width() + _ROOM)
        elif type is QStyle.ContentsType.CT_ToolButton:
            made.setWidth(made.width() + (_GAP + _INDENT if _has_both(option) else _INDENT))
        elif type in _HIGH:
            made.setWidth(made.width() + 2 * _INDENT)
        return made

    @override
    def subElementRect(
        self, element: QStyle.SubElement, option: QStyleOption, widget: QWidget | None = None
    ) -> QRect:
        area = super().subElementRect(element, option, cast("QWidget", widget))
        if element is QStyle.SubElement.SE_LineEditContents:
            return area.adjusted(_INDENT, 0, -_INDENT, 0)
        return area

    @override
    def subControlRect(
        self,
        cc: QStyle.ComplexControl,
        opt: QStyleOptionComplex,
        sc: QStyle.SubControl,
        widget: QWidget | None = None,
    ) -> QRect:
        if cc is Complex.CC_ScrollBar and isinstance(opt, QStyleOptionSlider):
            return _part_of_scroll_bar(opt, sc)
        area = super().subControlRect(cc, opt, sc, cast("QWidget", widget))
        if (
            sc is Sub.SC_ComboBoxEditField
            and isinstance(opt, QStyleOptionComboBox)
            and not opt.editable
            and cc is Complex.CC_ComboBox
        ):
            return area.adjusted(_INDENT, 0, -1, 0)
        return area


_HIGH: Final = {
    QStyle.ContentsType.CT_PushButton,
    QStyle.ContentsType.CT_ComboBox,
    QStyle.ContentsType.CT_LineEdit,
    QStyle.ContentsType.CT_SpinBox,
    QStyle.ContentsType.CT_ToolButton,
}


def _part_of_scroll_bar(option: QStyleOptionSlider, part: QStyle.SubControl) -> QRect:
    """Return where a part of a scroll bar is: it has no buttons at its ends."""
    whole = option.rect
    lies = option.orientation is Qt.Orientation.Horizontal
    length = whole.width() if lies else whole.height()
    range_ = option.maximum - option.minimum
    thumb = length
    if range_ > 0:
        share = option.pageStep / (range_ + option.pageStep) if option.pageStep else 0.0
        thumb = min(length, max(_SHORTEST_THUMB, round(length * share)))
    begin = QStyle.sliderPositionFromValue(
        option.minimum, option.maximum, option.sliderPosition, length - thumb, option.upsideDown
    )
    parts_of_it = {
        Sub.SC_ScrollBarGroove: (0, length),
        Sub.SC_ScrollBarSlider: (begin, thumb),
        Sub.SC_ScrollBarSubPage: (0, begin),
        Sub.SC_ScrollBarAddPage: (begin + thumb, length - begin - thumb),
    }
    at, long = parts_of_it.get(part, (0, 0))
    if lies:
        area = QRect(whole.left() + at, whole.top(), long, whole.height())
    else:
        area = QRect(whole.left(), whole.top() + at, whole.width(), long)
    return QStyle.visualRect(option.direction, whole, area)


def _has_frame(option: QStyleOption) -> bool:
    """Whether there is an edge at all: the field inside of another control has none."""
    return not isinstance(option, QStyleOptionFrame) or option.lineWidth > 0


def _has_both(option: QStyleOption) -> bool:
    """Tell whether it is a tool button with an icon and a word beside it."""
    return (
        isinstance(option, QStyleOptionToolButton)
        and option.toolButtonStyle is Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        and not option.icon.isNull()
        and bool(option.text)
    )


def _lies(option: QStyleOptionTab) -> bool:
    return option.shape in {QTabBar.Shape.RoundedNorth, QTabBar.Shape.TriangularNorth}


def _lies_flat(option: QStyleOptionSlider) -> bool:
    return option.orientation is Qt.Orientation.Horizontal and not option.subControls & Sub.SC_SliderTickmarks


def _paint_busy(painter: QPainter, option: QStyleOption) -> None:
    """Paint that nobody knows how long it takes: all of the bar, pale, instead of a stripe that moves."""
    pale = mix(option.palette.color(Role.Highlight), option.palette.color(Role.Window), 0.5)
    flat_parts.round_box(painter, option.rect, pale, None, flat_parts.BOX_RADIUS)


def _is_determinate(option: QStyleOption) -> bool:
    return isinstance(option, QStyleOptionProgressBar) and option.maximum > option.minimum


def _paint_focus(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint a ring; buttons have it at their edge, and a selected row shows where one is."""
    if isinstance(widget, QAbstractItemView | QPushButton | QToolButton):
        return
    if option.state & State.State_KeyboardFocusChange:
        accent = option.palette.color(Role.Highlight)
        flat_parts.round_box(painter, option.rect, None, accent, flat_parts.BOX_RADIUS, 1.5)


def _paint_frame(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint the edge of a list or text, or a card, where the frame holds other widgets."""
    is_card = isinstance(widget, QFrame) and not isinstance(widget, QAbstractScrollArea)
    line = flat_parts.edge_colour(option) if flat_parts.is_dark(option) else flat_parts.quiet_line(option)
    if is_card:
        ground = option.palette.color(Role.Base)
        flat_parts.round_box(
            painter, option.rect, ground, flat_parts.quiet_line(option), flat_parts.CARD_RADIUS
        )
    elif _has_frame(option):
        flat_parts.round_box(painter, option.rect, None, line, flat_parts.BOX_RADIUS)


_PAINTED_BY_WIDGET: Final = {
    Primitive.PE_FrameFocusRect: _paint_focus,
    Primitive.PE_Frame: _paint_frame,
}


def _paint_tab(painter: QPainter, option: QStyleOptionTab) -> None:
    """Paint a tab: a line in the accent beneath the open one."""
    area = option.rect
    chosen = bool(option.state & State.State_Selected)
    if option.state & State.State_MouseOver and not chosen:
        ground = flat_parts.moved(option, option.palette.color(Role.Window))
        flat_parts.round_box(painter, area.adjusted(2, 3, -2, -4), ground, None)
    if option.state & State.State_HasFocus and option.state & State.State_KeyboardFocusChange:
        accent = option.palette.color(Role.Highlight)
        flat_parts.round_box(painter, area.adjusted(2, 3, -2, -4), None, accent, width=1.5)
    if chosen:
        line = QRectF(area.left() + 4, area.bottom() - 1.5, area.width() - 8, 2.5)
        painter.fillRect(line, option.palette.color(Role.Highlight))


def _paint_header(painter: QPainter, option: QStyleOptionHeader) -> None:
    """Paint the ground of a column's title: a line beneath it."""
    window = option.palette.color(Role.Window)
    painter.fillRect(option.rect, flat_parts.moved(option, window) if _is_hovered(option) else window)
    painter.fillRect(
        QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1), flat_parts.quiet_line(option)
    )


def _is_hovered(option: QStyleOption) -> bool:
    return bool(option.state & (State.State_MouseOver | State.State_Sunken))


def _paint_progress(painter: QPainter, option: QStyleOption) -> None:
    assert isinstance(option, QStyleOptionProgressBar)  # noqa: S101 - asked before
    share = (option.progress - option.minimum) / (option.maximum - option.minimum)
    done = QRect(option.rect)
    done.setWidth(round(done.width() * min(max(share, 0.0), 1.0)))
    if done.width() > 0:
        area = QStyle.visualRect(option.direction, option.rect, done)
        flat_parts.round_box(painter, area, option.palette.color(Role.Highlight), None, flat_parts.BOX_RADIUS)


def _paint_grip(painter: QPainter, option: QStyleOption) -> None:
    """Paint what says that an edge can be moved: a short line in its middle."""
    area, stands = option.rect, option.rect.height() > option.rect.width()
    long = min(32, max(area.width(), area.height()) // 3)
    size = QSize(3, long) if stands else QSize(long, 3)
    grip = QRect(area.center().x() - size.width() // 2, area.center().y() - size.height() // 2, 0, 0)
    grip.setSize(size)
    colour = flat_parts.quiet_line(option)
    if option.state & (State.State_MouseOver | State.State_Sunken):
        colour = option.palette.color(Role.Highlight)
    flat_parts.round_box(painter, grip, colour, None, 1.5)


def _ink(element: QStyle.ControlElement, option: QStyleOption) -> None:
    """Give the words on a filled button the colour that can be read there; quiet tabs are muted."""
    palette = QPalette(option.palette)
    if element is Control.CE_PushButtonLabel:
        if not (isinstance(option, QStyleOptionButton) and flat_parts.is_default(option)):
            return
        palette.setColor(Role.ButtonText, palette.color(Role.HighlightedText))
    elif (
        option.state & (State.State_Selected | State.State_MouseOver)
        or not option.state & State.State_Enabled
    ):
        return
    else:
        palette.setColor(Role.WindowText, palette.color(Role.PlaceholderText))
    option.palette = palette
