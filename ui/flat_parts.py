"""Paint the parts of widgets: flat surfaces, one radius, one accent, a ring for the keyboard focus.

All colours come from the palette of the option, so light, dark and projector need no separate rules. Hovered
surfaces move a little towards the text colour, pressed ones twice as much; disabled ones have the colour of
the window and a paler edge. The edge of a control has a contrast of 3:1 to its background (WCAG 2.2, 1.4.11).
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyleOption, QStyleOptionButton

from ui.theme import mix

RADIUS: Final = 5.0
"""Radius of buttons and fields, in device-independent pixels."""
BOX_RADIUS: Final = 3.0
"""Radius of check boxes."""
CARD_RADIUS: Final = 8.0
"""Radius of cards."""
RING: Final = 2.0
"""Width of the ring around the focus."""

_HOVER: Final = 0.06
_PRESSED: Final = 0.13

State = QStyle.StateFlag
Role = QPalette.ColorRole


def is_dark(option: QStyleOption) -> bool:
    """Return whether the window is dark."""
    return option.palette.color(Role.Window).lightness() < 128


def is_default(option: QStyleOption) -> bool:
    """Return whether it is an enabled default button, pressed by Enter; never a card of labels."""
    default = QStyleOptionButton.ButtonFeature.DefaultButton
    return (
        isinstance(option, QStyleOptionButton)
        and bool(option.features & default)
        and bool(option.state & State.State_Enabled)
        and not is_card(option)
    )


def is_card(option: QStyleOption) -> bool:
    """Return whether it is a button whose texts are separate labels."""
    return isinstance(option, QStyleOptionButton) and not option.text and option.icon.isNull()


def keys_are_here(option: QStyleOption) -> bool:
    """Return whether it has the focus and the keyboard was used last."""
    state = option.state
    return bool(state & State.State_HasFocus and state & State.State_KeyboardFocusChange)


def edge_colour(option: QStyleOption) -> QColor:
    """Return the colour of an edge with a contrast of 3:1 to the window."""
    palette, state = option.palette, option.state
    if state & State.State_HasFocus and state & State.State_Enabled:
        return palette.color(Role.Highlight)
    share = 0.8 if state & State.State_Enabled else 0.35
    return mix(palette.color(Role.PlaceholderText), palette.color(Role.Window), share)


def quiet_line(option: QStyleOption) -> QColor:
    """Return the colour of a separator line."""
    return mix(option.palette.color(Role.PlaceholderText), option.palette.color(Role.Window), 0.35)


def moved(option: QStyleOption, ground: QColor) -> QColor:
    """Return a background colour adjusted to the state of a control."""
    state = option.state
    if not state & State.State_Enabled:
        return ground
    ink = option.palette.color(Role.Text)
    if state & (State.State_Sunken | State.State_On):
        return mix(ink, ground, _PRESSED)
    return mix(ink, ground, _HOVER) if state & State.State_MouseOver else ground


def button_ground(option: QStyleOption) -> QColor:
    """Return the surface of a button."""
    palette = option.palette
    if is_default(option):
        return moved(option, palette.color(Role.Highlight))
    window = palette.color(Role.Window)
    if not option.state & State.State_Enabled:
        return window
    if is_dark(option):
        return moved(option, mix(palette.color(Role.Text), window, 0.07))
    return moved(option, palette.color(Role.Base))


def round_box(
    painter: QPainter,
    area: QRect,
    fill: QColor | None,
    line: QColor | None,
    radius: float = RADIUS,
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


def paint_button(painter: QPainter, option: QStyleOption) -> None:
    """Paint the surface of a button; the default button is filled with the accent."""
    ground = button_ground(option)
    if is_default(option):
        round_box(painter, option.rect, ground, ground)
        if keys_are_here(option):
            inner = option.rect.adjusted(2, 2, -2, -2)
            round_box(painter, inner, None, option.palette.color(Role.HighlightedText), RADIUS - 2, 1.0)
        return
    edge = edge_colour(option)
    ground_tells = option.palette.color(Role.Base) != option.palette.color(Role.Window)
    if ground_tells and not is_dark(option) and not option.state & State.State_HasFocus:
        edge = mix(edge, option.palette.color(Role.Window), 0.55)
    radius = CARD_RADIUS if is_card(option) else RADIUS
    round_box(painter, option.rect, ground, edge, radius, RING if keys_are_here(option) else 1.0)


def paint_tool_button(painter: QPainter, option: QStyleOption) -> None:
    """Paint a tool button: a surface only if hovered or pressed, unless it is raised."""
    if not option.state & State.State_AutoRaise:
        paint_button(painter, option)
        return
    window = option.palette.color(Role.Window)
    ground = moved(option, window)
    ring = option.palette.color(Role.Highlight) if keys_are_here(option) else None
    if ground != window or ring is not None:
        round_box(painter, option.rect, ground, ring, width=RING)


def paint_line_below(painter: QPainter, option: QStyleOption) -> None:
    """Paint the line below tabs."""
    painter.fillRect(option.rect.adjusted(0, option.rect.height() - 1, 0, 0), quiet_line(option))


def paint_group(painter: QPainter, option: QStyleOption) -> None:
    """Paint the edge of a group of controls."""
    round_box(painter, option.rect, None, quiet_line(option), CARD_RADIUS)


def paint_field(painter: QPainter, option: QStyleOption) -> None:
    """Paint the background of a text field."""
    enabled = bool(option.state & State.State_Enabled)
    ground = option.palette.color(Role.Base if enabled else Role.Window)
    focused = enabled and bool(option.state & State.State_HasFocus)
    round_box(painter, option.rect, ground, edge_colour(option), width=RING if focused else 1.0)


def _indicator(option: QStyleOption) -> tuple[QColor, QColor, QColor]:
    """Return fill, edge and mark colours of a check box."""
    palette = option.palette
    enabled = bool(option.state & State.State_Enabled)
    chosen = bool(option.state & (State.State_On | State.State_NoChange))
    edge = palette.color(Role.PlaceholderText)
    if not enabled:
        window = palette.color(Role.Window)
        pale = mix(edge, window, 0.5)
        return (pale if chosen else window), pale, window
    if chosen and option.state & State.State_Selected:  # on a row that is filled with the accent
        return (
            palette.color(Role.HighlightedText),
            palette.color(Role.HighlightedText),
            palette.color(Role.Highlight),
        )
    if chosen:
        accent = moved_by_pointer(option, palette.color(Role.Highlight))
        return accent, accent, palette.color(Role.HighlightedText)
    return moved_by_pointer(option, palette.color(Role.Base)), edge, edge


def moved_by_pointer(option: QStyleOption, ground: QColor) -> QColor:
    """Return a background colour for the mouse state: a tick is no pressed state."""
    if option.state & State.State_Sunken:
        return mix(option.palette.color(Role.Text), ground, _PRESSED)
    if option.state & State.State_MouseOver:
        return mix(option.palette.color(Role.Text), ground, _HOVER)
    return ground


def paint_tick_box(painter: QPainter, option: QStyleOption) -> None:
    """Paint a check box: ticked, partly ticked, or empty."""
    fill, edge, mark = _indicator(option)
    area = option.rect
    round_box(painter, area, fill, edge, BOX_RADIUS)
    box = QRectF(area)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(mark, max(1.6, box.width() / 8))
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    if option.state & State.State_On:
        places = ((0.25, 0.53), (0.43, 0.71), (0.77, 0.31))
        painter.drawPolyline(QPolygonF([_at(box, x, y) for x, y in places]))
    elif option.state & State.State_NoChange:
        painter.drawLine(_at(box, 0.27, 0.5), _at(box, 0.73, 0.5))
    painter.restore()


def paint_radio(painter: QPainter, option: QStyleOption) -> None:
    """Paint the circle of a radio button."""
    fill, edge, mark = _indicator(option)
    side = min(option.rect.width(), option.rect.height())
    circle = QRect(option.rect.topLeft(), option.rect.size()).adjusted(0, 0, 0, 0)
    round_box(painter, circle, fill, edge, side / 2)
    if option.state & State.State_On:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mark)
        painter.drawEllipse(QRectF(circle).center(), side * 0.21, side * 0.21)
        painter.restore()


def _at(box: QRectF, x: float, y: float) -> QPointF:
    return QPointF(box.left() + x * box.width(), box.top() + y * box.height())


_CHEVRONS: Final = {
    Qt.ArrowType.DownArrow: ((-1.0, -0.5), (0.0, 0.5), (1.0, -0.5)),
    Qt.ArrowType.UpArrow: ((-1.0, 0.5), (0.0, -0.5), (1.0, 0.5)),
    Qt.ArrowType.RightArrow: ((-0.5, -1.0), (0.5, 0.0), (-0.5, 1.0)),
    Qt.ArrowType.LeftArrow: ((0.5, -1.0), (-0.5, 0.0), (0.5, 1.0)),
}


def paint_chevron(painter: QPainter, area: QRect, arrow: Qt.ArrowType, option: QStyleOption) -> None:
    """Paint an arrow as two strokes in the middle of an area."""
    size = max(2.5, min(4.0, min(area.width(), area.height()) * 0.32))
    middle = QRectF(area).center()
    enabled = bool(option.state & State.State_Enabled)
    colour = option.palette.color(Role.ButtonText if enabled else Role.PlaceholderText)
    pen = QPen(mix(colour, option.palette.color(Role.Window), 0.8 if enabled else 0.5), 1.5)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    painter.drawPolyline(
        QPolygonF([middle + QPointF(size * x, size * y) for x, y in _CHEVRONS.get(arrow, ())])
    )
    painter.restore()


def paint_thumb(painter: QPainter, slider: QRect, option: QStyleOption, *, pressed: bool, near: bool) -> None:
    """Paint the handle of a scroll bar."""
    palette = option.palette
    share = 0.85 if pressed else 0.7 if near else 0.5
    colour = mix(palette.color(Role.PlaceholderText), palette.color(Role.Window), share)
    thin = 3 if slider.height() > slider.width() else 0
    area = slider.adjusted(thin, 3 - thin, -thin, thin - 3)
    round_box(painter, area, colour, None, min(area.width(), area.height()) / 2)
