"""The look of Qt's widgets: a QPalette of the theme, and the flat style."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontDatabase, QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
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
    QStyleOptionToolButton,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from app import TOP
from ui.theme import Palette, Theme, mix

# Qt's Fusion without bevels and gradients: flat surfaces, one radius, one accent, a ring for the focus.
#
# All colours come from the palette of the option, so light, dark and projector need no separate rules.
# Hovered surfaces move a little towards the text colour, pressed ones twice as much; disabled ones have the
# colour of the window and a paler edge. The edge of a control has a contrast of 3:1 to its background (WCAG
# 2.2, 1.4.11).


Primitive = QStyle.PrimitiveElement
Control = QStyle.ControlElement
Complex = QStyle.ComplexControl
Sub = QStyle.SubControl
State = QStyle.StateFlag
Role = QPalette.ColorRole
Paint = Callable[[QPainter, QStyleOption, QWidget | None], None]

# Qt gives and takes None for a widget everywhere; the stubs of PySide6 say otherwise in three places.
_RADIUS: Final = 5.0
"""Radius of buttons and fields, in device-independent pixels."""
_BOX_RADIUS: Final = 3.0
"""Radius of check boxes."""
_CARD_RADIUS: Final = 8.0
"""Radius of cards."""
_RING: Final = 2.0
"""Width of the ring around the focus."""
_HOVER: Final = 0.06
_PRESSED: Final = 0.13
_ROOM: Final = 12
"""What the height of buttons and fields adds to that of their text."""
_INDENT: Final = 4
"""Between the edge of a field and its text, more than Fusion has."""
_GAP: Final = 6
"""Between an icon and its word."""
_SCROLL_BAR: Final = 12
_SHORTEST_THUMB: Final = 28
_HIGH: Final = {
    QStyle.ContentsType.CT_PushButton,
    QStyle.ContentsType.CT_ComboBox,
    QStyle.ContentsType.CT_LineEdit,
    QStyle.ContentsType.CT_SpinBox,
    QStyle.ContentsType.CT_ToolButton,
}


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
        paint = _PRIMITIVES.get(element)
        if paint is None or (element is Primitive.PE_PanelLineEdit and not _has_frame(option)):
            super().drawPrimitive(element, option, painter, widget)
        else:
            paint(painter, option, widget)

    @override
    def drawControl(
        self,
        element: QStyle.ControlElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        paint = _CONTROLS.get(element)
        if paint is not None:
            paint(painter, option, widget)
            return
        if element is Control.CE_PushButtonLabel and _is_default(option):
            palette = QPalette(option.palette)
            palette.setColor(Role.ButtonText, palette.color(Role.HighlightedText))
            option.palette = palette
        elif isinstance(option, QStyleOptionToolButton) and _has_both(option):
            option.text = f" {option.text}"  # Qt lets icon and word touch
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
        else:
            if isinstance(option, QStyleOptionToolButton):  # Fusion's own arrow lies over the text
                option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu
            super().drawComplexControl(control, option, painter, widget)

    def _paint_combo_box(
        self, painter: QPainter, option: QStyleOptionComboBox, widget: QWidget | None
    ) -> None:
        if option.frame and option.editable:
            _paint_field(painter, option, widget)
        elif option.frame:
            ring = _RING if _keys_are_here(option) else 1.0
            _round_box(painter, option.rect, _button_ground(option), _edge_colour(option), width=ring)
        self._paint_arrow(painter, option, Sub.SC_ComboBoxArrow, Primitive.PE_IndicatorArrowDown, widget)

    def _paint_spin_box(self, painter: QPainter, option: QStyleOptionSpinBox, widget: QWidget | None) -> None:
        if option.frame:
            _paint_field(painter, option, widget)
        self._paint_arrow(painter, option, Sub.SC_SpinBoxUp, Primitive.PE_IndicatorArrowUp, widget)
        self._paint_arrow(painter, option, Sub.SC_SpinBoxDown, Primitive.PE_IndicatorArrowDown, widget)

    def _paint_arrow(
        self,
        painter: QPainter,
        option: QStyleOptionComplex,
        sub: QStyle.SubControl,
        arrow: QStyle.PrimitiveElement,
        widget: QWidget | None,
    ) -> None:
        control = Complex.CC_ComboBox if isinstance(option, QStyleOptionComboBox) else Complex.CC_SpinBox
        part = QStyleOption(option)
        part.rect = self.subControlRect(control, option, sub, widget)
        self.drawPrimitive(arrow, part, painter, widget)

    def _paint_scroll_bar(
        self, painter: QPainter, option: QStyleOptionSlider, widget: QWidget | None
    ) -> None:
        palette = option.palette
        painter.fillRect(option.rect, palette.color(Role.Base if widget is None else Role.Window))
        if option.maximum <= option.minimum:
            return
        slider = self.subControlRect(Complex.CC_ScrollBar, option, Sub.SC_ScrollBarSlider, widget)
        near, pressed = option.state & State.State_MouseOver, option.state & State.State_Sunken
        share = 0.85 if pressed else 0.7 if near else 0.5
        thin = 3 if slider.height() > slider.width() else 0
        area = slider.adjusted(thin, 3 - thin, -thin, thin - 3)
        colour = mix(palette.color(Role.PlaceholderText), palette.color(Role.Window), share)
        _round_box(painter, area, colour, None, min(area.width(), area.height()) / 2)

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
        if sc is Sub.SC_ComboBoxEditField and isinstance(opt, QStyleOptionComboBox) and not opt.editable:
            return area.adjusted(_INDENT, 0, -1, 0)
        return area


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


# What an option is


def _is_dark(option: QStyleOption) -> bool:
    return option.palette.color(Role.Window).lightness() < 128


def _is_default(option: QStyleOption) -> bool:
    """Return whether it is an enabled default button, pressed by Enter; never a card of labels."""
    return (
        isinstance(option, QStyleOptionButton)
        and bool(option.features & QStyleOptionButton.ButtonFeature.DefaultButton)
        and bool(option.state & State.State_Enabled)
        and not _is_card(option)
    )


def _is_card(option: QStyleOption) -> bool:
    """Return whether it is a button whose texts are separate labels."""
    return isinstance(option, QStyleOptionButton) and not option.text and option.icon.isNull()


def _keys_are_here(option: QStyleOption) -> bool:
    """Return whether it has the focus and the keyboard was used last."""
    state = option.state
    return bool(state & State.State_HasFocus and state & State.State_KeyboardFocusChange)


def _has_frame(option: QStyleOption) -> bool:
    """Return whether there is an edge: the field inside of another control has none."""
    return not isinstance(option, QStyleOptionFrame) or option.lineWidth > 0


def _has_both(option: QStyleOption) -> bool:
    """Return whether it is a tool button with an icon and a word beside it."""
    return (
        isinstance(option, QStyleOptionToolButton)
        and option.toolButtonStyle is Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        and not option.icon.isNull()
        and bool(option.text)
    )


# Colours


def _edge_colour(option: QStyleOption) -> QColor:
    """Return the colour of an edge with a contrast of 3:1 to the window."""
    palette, state = option.palette, option.state
    if state & State.State_HasFocus and state & State.State_Enabled:
        return palette.color(Role.Highlight)
    share = 0.8 if state & State.State_Enabled else 0.35
    return mix(palette.color(Role.PlaceholderText), palette.color(Role.Window), share)


def _quiet_line(option: QStyleOption) -> QColor:
    """Return the colour of a separator line."""
    return mix(option.palette.color(Role.PlaceholderText), option.palette.color(Role.Window), 0.35)


def _moved(option: QStyleOption, ground: QColor) -> QColor:
    """Return a background colour adjusted to the state of a control."""
    state = option.state
    if not state & State.State_Enabled:
        return ground
    ink = option.palette.color(Role.Highlight if _is_card(option) else Role.Text)  # grey looks disabled
    if state & (State.State_Sunken | State.State_On):
        return mix(ink, ground, _PRESSED)
    return mix(ink, ground, _HOVER) if state & State.State_MouseOver else ground


def _button_ground(option: QStyleOption) -> QColor:
    """Return the surface of a button."""
    palette = option.palette
    if _is_default(option):
        return _moved(option, palette.color(Role.Highlight))
    window = palette.color(Role.Window)
    if not option.state & State.State_Enabled:
        return window
    return _moved(
        option, mix(palette.color(Role.Text), window, 0.07) if _is_dark(option) else palette.color(Role.Base)
    )


def _indicator(option: QStyleOption) -> tuple[QColor, QColor, QColor]:
    """Return fill, edge and mark colours of a check box or radio button."""
    palette = option.palette
    chosen = bool(option.state & (State.State_On | State.State_NoChange))
    edge, window = palette.color(Role.PlaceholderText), palette.color(Role.Window)
    accent, mark = palette.color(Role.Highlight), palette.color(Role.HighlightedText)
    if not option.state & State.State_Enabled:
        pale = mix(edge, window, 0.5)
        return (pale if chosen else window), pale, window
    if chosen and option.state & State.State_Selected:  # on a row that is filled with the accent
        return mark, mark, accent
    return (accent, accent, mark) if chosen else (palette.color(Role.Base), edge, edge)


# Parts


def _round_box(
    painter: QPainter,
    area: QRect,
    fill: QColor | None,
    line: QColor | None,
    radius: float = _RADIUS,
    width: float = 1.0,
) -> None:
    """Fill a rectangle with round corners and draw its edge inside of it."""
    half = width / 2 if line is not None else 0.0
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(line, width) if line is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(area).adjusted(half, half, -half, -half), radius, radius)
    painter.restore()


def _paint_button(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint the surface of a button; the default button is filled with the accent."""
    ground = _button_ground(option)
    if _is_default(option):
        _round_box(painter, option.rect, ground, ground)
        if _keys_are_here(option):
            inner = option.rect.adjusted(2, 2, -2, -2)
            _round_box(painter, inner, None, option.palette.color(Role.HighlightedText), _RADIUS - 2, 1.0)
        return
    edge = _edge_colour(option)
    ground_tells = option.palette.color(Role.Base) != option.palette.color(Role.Window)
    if ground_tells and not _is_dark(option) and not option.state & State.State_HasFocus:
        edge = mix(edge, option.palette.color(Role.Window), 0.55)
    radius = _CARD_RADIUS if _is_card(option) else _RADIUS
    _round_box(painter, option.rect, ground, edge, radius, _RING if _keys_are_here(option) else 1.0)


def _paint_tool_button(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint a tool button: a surface only if hovered or pressed, unless it is raised."""
    if not option.state & State.State_AutoRaise:
        _paint_button(painter, option, widget)
        return
    window = option.palette.color(Role.Window)
    ground = _moved(option, window)
    ring = option.palette.color(Role.Highlight) if _keys_are_here(option) else None
    if ground != window or ring is not None:
        _round_box(painter, option.rect, ground, ring, width=_RING)


def _paint_field(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint the background of a text field."""
    if not _has_frame(option):
        return
    enabled = bool(option.state & State.State_Enabled)
    ground = option.palette.color(Role.Base if enabled else Role.Window)
    focused = enabled and bool(option.state & State.State_HasFocus)
    _round_box(painter, option.rect, ground, _edge_colour(option), width=_RING if focused else 1.0)


def _paint_tick_box(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint a check box: ticked, partly ticked, or empty."""
    fill, edge, mark = _indicator(option)
    box = QRectF(option.rect)
    _round_box(painter, option.rect, fill, edge, _BOX_RADIUS)
    places: tuple[tuple[float, float], ...] = ()
    if option.state & State.State_On:
        places = ((0.25, 0.53), (0.43, 0.71), (0.77, 0.31))
    elif option.state & State.State_NoChange:
        places = ((0.27, 0.5), (0.73, 0.5))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(mark, max(1.6, box.width() / 8), c=Qt.PenCapStyle.RoundCap))
    painter.drawPolyline(
        QPolygonF([box.topLeft() + QPointF(x * box.width(), y * box.height()) for x, y in places])
    )
    painter.restore()


def _paint_radio(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint the circle of a radio button."""
    fill, edge, mark = _indicator(option)
    side = min(option.rect.width(), option.rect.height())
    _round_box(painter, option.rect, fill, edge, side / 2)
    if option.state & State.State_On:
        rest = round(side * 0.29)
        _round_box(painter, option.rect.adjusted(rest, rest, -rest, -rest), mark, None, side)


def _paint_focus(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint a ring; buttons have it at their edge, and a selected row shows where one is."""
    if isinstance(widget, QAbstractItemView | QPushButton | QToolButton):
        return
    if option.state & State.State_KeyboardFocusChange:
        accent = option.palette.color(Role.Highlight)
        _round_box(painter, option.rect, None, accent, _BOX_RADIUS, 1.5)


def _paint_frame(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint the edge of a list or text, or a card, where the frame holds other widgets."""
    if isinstance(widget, QFrame) and not isinstance(widget, QAbstractScrollArea):
        _round_box(painter, option.rect, option.palette.color(Role.Base), _quiet_line(option), _CARD_RADIUS)
    elif _has_frame(option):
        line = _edge_colour(option) if _is_dark(option) else _quiet_line(option)
        _round_box(painter, option.rect, None, line, _BOX_RADIUS)


def _paint_group(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    _round_box(painter, option.rect, None, _quiet_line(option), _CARD_RADIUS)


def _paint_line_below(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    area = option.rect
    painter.fillRect(QRect(area.left(), area.bottom(), area.width(), 1), _quiet_line(option))


def _paint_bar(painter: QPainter, option: QStyleOption, widget: QWidget | None) -> None:
    """Paint the ground of a tool bar or of a column's title: a line beneath it."""
    window = option.palette.color(Role.Window)
    is_title = isinstance(option, QStyleOptionHeader)
    painter.fillRect(option.rect, _moved(option, window) if is_title else window)
    _paint_line_below(painter, option, widget)


def _paint_tab(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint a tab: a line in the accent beneath the open one."""
    area, accent = option.rect, option.palette.color(Role.Highlight)
    chosen = bool(option.state & State.State_Selected)
    if option.state & State.State_MouseOver and not chosen:
        ground = _moved(option, option.palette.color(Role.Window))
        _round_box(painter, area.adjusted(2, 3, -2, -4), ground, None)
    if _keys_are_here(option):
        _round_box(painter, area.adjusted(2, 3, -2, -4), None, accent, width=1.5)
    if chosen:
        painter.fillRect(QRectF(area.left() + 4, area.bottom() - 1.5, area.width() - 8, 2.5), accent)


def _paint_groove(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    ground = mix(option.palette.color(Role.Text), option.palette.color(Role.Window), 0.1)
    _round_box(painter, option.rect, ground, None, _BOX_RADIUS)


def _paint_progress(painter: QPainter, option: QStyleOption, _widget: QWidget | None) -> None:
    """Paint the share done; all of the bar, pale, where it is not known: nothing moves."""
    found = cast("QStyleOptionProgressBar", option)
    done, colour = QRect(option.rect), option.palette.color(Role.Highlight)
    if found.maximum > found.minimum:
        share = (found.progress - found.minimum) / (found.maximum - found.minimum)
        done.setWidth(round(done.width() * min(max(share, 0.0), 1.0)))
    else:
        colour = mix(colour, option.palette.color(Role.Window), 0.5)
    if done.width() > 0:
        area = QStyle.visualRect(option.direction, option.rect, done)
        _round_box(painter, area, colour, None, _BOX_RADIUS)


_PRIMITIVES: Final[dict[Primitive, Paint]] = {
    Primitive.PE_PanelButtonCommand: _paint_button,
    Primitive.PE_PanelButtonTool: _paint_tool_button,
    Primitive.PE_PanelLineEdit: _paint_field,
    Primitive.PE_FrameLineEdit: _paint_field,
    Primitive.PE_IndicatorCheckBox: _paint_tick_box,
    Primitive.PE_IndicatorItemViewItemCheck: _paint_tick_box,
    Primitive.PE_IndicatorRadioButton: _paint_radio,
    Primitive.PE_FrameTabBarBase: _paint_line_below,
    Primitive.PE_FrameGroupBox: _paint_group,
    Primitive.PE_FrameFocusRect: _paint_focus,
    Primitive.PE_Frame: _paint_frame,
}
_CONTROLS: Final[dict[Control, Paint]] = {
    Control.CE_TabBarTabShape: _paint_tab,
    Control.CE_ToolBar: _paint_bar,
    Control.CE_HeaderSection: _paint_bar,
    Control.CE_ProgressBarGroove: _paint_groove,
    Control.CE_ProgressBarContents: _paint_progress,
}
"""What is painted here; everything else is Fusion's."""


def qt_palette(palette: Palette) -> QPalette:
    """Return the palette as a QPalette."""
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


def apply_theme(app: QApplication, theme: Theme) -> None:
    """Apply the theme's colours to all widgets of the program, now and on every change."""

    def apply() -> None:
        app.setPalette(qt_palette(theme.palette))

    app.setStyle(FlatStyle("Fusion"))
    apply()
    theme.changed.connect(apply)


# The typeface that ships with the program: Inter.


FONTS: Final = TOP / "resources" / "fonts"
FILES: Final = ("Inter-Regular.otf", "Inter-SemiBold.otf")
FAMILY: Final = "Inter"


def load_fonts(folder: Path = FONTS) -> Path | None:
    """Load the typeface into Qt; return the first of its files that cannot be used."""
    for name in FILES:
        if QFontDatabase.addApplicationFont(str(folder / name)) < 0:
            return folder / name
    return None
