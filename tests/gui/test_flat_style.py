from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSlider,
    QSpinBox,
    QSplitter,
    QStyle,
    QTableWidget,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui.test_chart_theme import contrast
from ui.style import FlatStyle, qt_palette
from ui.theme import PALETTES, Scheme, Theme
from ui.widgets.fields import ChoiceButton


def apply_style(widget: QWidget, scheme: Scheme, style: FlatStyle) -> None:
    widget.setPalette(qt_palette(PALETTES[scheme]))
    for each in (widget, *widget.findChildren(QWidget)):
        each.setStyle(style)


def shown(qtbot: QtBot, widget: QWidget, scheme: Scheme) -> QImage:
    qtbot.addWidget(widget)
    style = FlatStyle("Fusion")
    style.setParent(widget)
    apply_style(widget, scheme, style)
    widget.show()
    return widget.grab().toImage()


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_every_kind_is_painted(qtbot: QtBot, scheme: Scheme) -> None:
    around, tabs, split, bar = QWidget(), QTabWidget(), QSplitter(), QToolBar()
    tabs.addTab(QGroupBox("Result"), "Result")
    split.addWidget(QListWidget())
    split.addWidget(QTableWidget(2, 2))
    bar.addWidget(QToolButton())
    layout = QVBoxLayout(around)
    sliders = QSlider(Qt.Orientation.Horizontal), QSlider(Qt.Orientation.Vertical)
    for widget in (tabs, split, bar, *sliders, QProgressBar(value=40), QRadioButton(), QScrollArea()):
        layout.addWidget(widget)
    for kind in (QCheckBox, QComboBox, QLineEdit, QPushButton, QSpinBox):
        layout.addWidget(kind())
    before = shown(qtbot, around, scheme)
    around.setEnabled(False)
    assert around.grab().toImage() != before


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
@pytest.mark.parametrize("make", [QPushButton, QComboBox, QToolButton, QToolBar])
def test_surfaces_have_one_colour(qtbot: QtBot, make: Callable[[], QWidget], scheme: Scheme) -> None:
    widget = make()
    widget.resize(120, 28)
    picture = shown(qtbot, widget, scheme)
    column = {picture.pixelColor(40, y).name() for y in range(4, min(20, picture.height() - 4))}
    assert len(column) == 1, "a gradient"


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_default_button_accent_and_readable(qtbot: QtBot, scheme: Scheme) -> None:
    dialog = QDialog()
    button, other = QPushButton("MMMMMM"), QPushButton("other")
    layout = QVBoxLayout(dialog)
    layout.addWidget(button)
    layout.addWidget(other)
    other.setAutoDefault(False)
    button.setDefault(True)
    shown(qtbot, dialog, scheme)
    picture = button.grab().toImage()
    accent = PALETTES[scheme].accent
    inside = [
        picture.pixelColor(x, y).name()
        for x in range(8, picture.width() - 8)
        for y in range(6, picture.height() - 6)
    ]
    assert inside.count(accent) > len(inside) / 3
    assert max(contrast(colour, accent) for colour in inside) >= 4.5


def test_pressed_card_stays_card(qtbot: QtBot) -> None:
    """Its words are labels of their own: on the accent nobody could read them."""
    dialog = QDialog()
    card = ChoiceButton("&New", "Says what it does.", Theme(Scheme.LIGHT), dialog)
    card.setDefault(True)
    card.resize(200, 90)
    shown(qtbot, dialog, Scheme.LIGHT)
    picture = card.grab().toImage()
    assert picture.pixelColor(100, 80).name() == PALETTES[Scheme.LIGHT].background


def test_scroll_bar_dragged_end_to_end(qtbot: QtBot) -> None:
    area = QScrollArea()
    inside = QWidget()
    inside.resize(300, 900)
    area.setWidget(inside)
    area.resize(200, 300)
    shown(qtbot, area, Scheme.LIGHT)
    scroll = area.verticalScrollBar()
    middle = scroll.width() // 2
    QTest.mousePress(scroll, Qt.MouseButton.LeftButton, pos=QPoint(middle, 20))
    QTest.mouseMove(scroll, QPoint(middle, 2000))
    QTest.mouseRelease(scroll, Qt.MouseButton.LeftButton, pos=QPoint(middle, 2000))
    assert scroll.value() == scroll.maximum()
    QTest.mouseClick(scroll, Qt.MouseButton.LeftButton, pos=QPoint(middle, 3))
    assert scroll.value() < scroll.maximum(), "a click beside the thumb turns a page"


def test_long_scroll_bar_handle_hittable(qtbot: QtBot, qapp: QApplication) -> None:
    listed = QListWidget()
    listed.addItems([str(number) for number in range(5000)])
    listed.resize(200, 300)
    picture = shown(qtbot, listed, Scheme.DARK)
    x = listed.width() - 8
    ground = picture.pixelColor(x, 200).name()
    column = [picture.pixelColor(x, y).name() for y in range(2, 290)]
    assert sum(colour != ground for colour in column) >= 24


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_the_focus_can_be_seen(qtbot: QtBot, scheme: Scheme) -> None:
    around = QWidget()
    layout = QVBoxLayout(around)
    fields = [QLineEdit(), QComboBox(), QSpinBox()]
    for field in fields:
        layout.addWidget(field)
    shown(qtbot, around, scheme)
    around.activateWindow()
    for field in fields:
        without = field.grab().toImage()
        field.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.waitUntil(field.hasFocus)
        focused = field.grab().toImage()
        row = focused.height() // 2
        edge = [focused.pixelColor(x, row).name() for x in range(3)]
        assert PALETTES[scheme].accent in edge, edge
        assert without != focused


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_ticked_box_visible_in_selected_row(qtbot: QtBot, scheme: Scheme) -> None:
    listed = QListWidget()
    listed.addItem("Transactions")
    listed.item(0).setCheckState(Qt.CheckState.Checked)
    listed.setCurrentRow(0)
    listed.resize(160, 60)
    picture = shown(qtbot, listed, scheme)
    row = listed.visualItemRect(listed.item(0)).translated(listed.viewport().pos())
    box = [picture.pixelColor(x, row.center().y()).name() for x in range(row.left() + 2, row.left() + 20)]
    accent = PALETTES[scheme].accent
    assert sum(contrast(colour, accent) >= 3 for colour in box) >= 6, box


def test_dialog_buttons_have_words_without_icons(qtbot: QtBot) -> None:
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(box)
    box.setStyle(FlatStyle("Fusion"))
    assert all(button.icon().isNull() for button in box.buttons())
    hint = QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons
    assert FlatStyle("Fusion").styleHint(hint) == 0
