"""Tab on every page: in reading order, everything is reached, once, and has a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QTabBar,
    QTabWidget,
    QTextBrowser,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.fix_main_window import open_comparison, until_read
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape, write_run
from tests.fix_window import write_campaign
from tests.gui.live_bench import LiveBench
from tests.gui.shown_pages import SIZE, runs_of, wizard_pages
from tests.gui.shown_texts import describe
from tests.gui.test_wizard_disks import draft_on_disks
from ui.background import finish_background
from ui.live.header import StopDialog
from ui.live.page import LivePage
from ui.race.content import load_race
from ui.race.window import RaceWindow
from ui.report.dialog import ReportDialog, ReportRequest
from ui.theme import Scheme, Theme
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import expose_data_to_screen_readers
from ui.window.commands.manual_window import HelpWindow, ManualWindow
from ui.window.commands.preferences_dialog import PreferencesDialog
from ui.window.files.import_window import ImportWindow
from ui.window.files.run_actions import RunDetails
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]
MOST_STEPS: Final = 600
TAKES_INPUT: Final = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)
PART_OF: Final = {
    QLineEdit: "the button that clears a line: Ctrl+A and Del do it",
    QAbstractSpinBox: "the line of a number: the number itself has the focus",
    QComboBox: "line and list of a choice: the choice itself has the focus",
    QTabBar: "the buttons that scroll tabs: arrows do it",
    QAbstractItemView: "headings and corner of a table, whose keys belong to the table",
    QScrollBar: "arrows and pages scroll what has the focus",
}
"""Widgets inside or instead of which Tab stops at nothing, and what keys do there."""


def walk(window: QWidget) -> tuple[list[QWidget], str]:
    """Return what Tab reaches in a window until it comes to the first again, and what is wrong with that."""
    window.activateWindow()
    reached: list[QWidget] = []
    links: set[tuple[int, int]] = set()
    for _ in range(MOST_STEPS):
        QTest.keyClick(focus_in(window) or window, Qt.Key.Key_Tab)
        here = focus_in(window)
        if here is None:
            return reached, "" if not reached else "Tab loses the focus"
        if reached and here is reached[-1] and isinstance(here, QTextBrowser):
            at = here.textCursor()
            if (at.anchor(), at.position()) not in links:  # from link to link
                links.add((at.anchor(), at.position()))
                continue
        if reached and here is reached[0]:
            return reached, ""
        if here in reached:
            return reached, f"comes twice: {name_of(here)} {describe(here)}"
        reached.append(here)
    return reached, "Tab does not come to an end"


def focus_in(window: QWidget) -> QWidget | None:
    """Return what has the focus in a window; None for nothing, of which Qt's types do not know."""
    return window.focusWidget()


def name_of(widget: QWidget) -> str:
    """Return what a screen reader calls a widget."""
    return str(QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name))


def parents_of(widget: QWidget, window: QWidget) -> list[QWidget]:
    """Return a widget and what it is in, from the window on."""
    found: list[QWidget] = []
    at: QWidget | None = widget
    while at is not None and at is not window:
        found.append(at)
        at = at.parentWidget()
    return [window, *reversed(found)]


def goes_back(before: QWidget, after: QWidget, window: QWidget) -> bool:
    """Return whether one goes up or to the left, between the largest groups that hold only one of the two."""
    first, second = parents_of(before, window), parents_of(after, window)
    apart = next((n for n, (one, two) in enumerate(zip(first, second, strict=False)) if one is not two), None)
    if apart is None:
        return not before.isAncestorOf(after)
    here, there = first[apart].geometry(), second[apart].geometry()
    is_above = there.bottom() <= here.top()
    is_left = there.right() <= here.left()
    level = there.top() < here.bottom() and there.bottom() > here.top()
    beside = there.left() < here.right() and there.right() > here.left()
    return (is_above and (beside or is_left)) or (is_left and level)


def missed(window: QWidget, reached: list[QWidget]) -> Iterator[str]:
    """Yield what is in sight, takes input, and is not reached."""
    for each in window.findChildren(QWidget):
        if each.window() is not window or not each.isEnabled() or not each.isVisible() or each in reached:
            continue
        wants = bool(each.focusPolicy() & Qt.FocusPolicy.TabFocus) and each.focusProxy() is None
        if wants or (isinstance(each, TAKES_INPUT) and not is_part(each)):
            yield f"not reached: {name_of(each)!r} {describe(each)}"


def radio_buttons(widget: QWidget) -> list[QRadioButton]:
    return widget.window().findChildren(QRadioButton)


def is_part(widget: QWidget) -> bool:
    """Return whether a widget has its keys from what it is in, or from its group."""
    if isinstance(widget, QRadioButton):  # arrows go through a group; Tab comes to the one that is chosen
        return any(each.isChecked() and each.group() is widget.group() for each in radio_buttons(widget))
    kinds = tuple(PART_OF)
    return isinstance(widget, QScrollBar) or any(
        isinstance(each, kinds) for each in parents_of(widget, widget.window())[:-1]
    )


def wrong_with(window: QWidget) -> list[str]:
    """Return every step of Tab that goes back, what is not reached, and what has no name."""
    reached, trouble = walk(window)
    wrong = [trouble] if trouble else []
    steps = list(zip(reached, [*reached[1:], *reached[:1]], strict=True))
    back = [(before, after) for before, after in steps if goes_back(before, after, window)]
    if len(back) > 1:  # once from the last to the first
        wrong += [
            f"back: {name_of(before)!r} {describe(before)} -> {name_of(after)!r} {describe(after)}"
            for before, after in back
        ]
    wrong += missed(window, reached)
    wrong += [f"no name: {describe(each)}" for each in reached if not name_of(each).strip()]
    return wrong


class Looks:
    """Walks through what is shown, page by page."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.wrong: dict[str, list[str]] = {}
        self.seen = 0

    def at(self, name: str, window: QWidget) -> None:
        """Keep what is wrong with a window."""
        assert finish_background(60)
        self._qtbot.wait(20)
        found = wrong_with(window)
        if found:
            self.wrong[name] = found
        self.seen += 1


@pytest.fixture
def looks(qtbot: QtBot) -> Iterator[Looks]:
    expose_data_to_screen_readers()
    made = Looks(qtbot)
    yield made
    assert made.seen
    lines = [f"{name}: {each}" for name, wrong in made.wrong.items() for each in wrong]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def show(qtbot: QtBot, window: QWidget) -> None:
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    window.resize(*SIZE)
    window.show()


def column_of(window: QWidget) -> list[QPushButton]:
    """Return three buttons below each other in a window."""
    layout = QVBoxLayout(window)
    buttons = [QPushButton(name) for name in ("one", "two", "three")]
    for button in buttons:
        layout.addWidget(button)
    return buttons


def test_unordered_unreachable_and_nameless_found(qtbot: QtBot) -> None:
    window = QWidget()
    one, two, three = column_of(window)
    show(qtbot, window)
    assert wrong_with(window) == []
    QWidget.setTabOrder(two, one)
    QWidget.setTabOrder(one, three)
    assert [each.split()[0] for each in wrong_with(window)] == ["back:", "back:"]
    three.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    assert "not reached: 'three' QPushButton < QWidget" in wrong_with(window)
    two.setText("")
    assert "no name: QPushButton < QWidget" in wrong_with(window)


def test_late_parts_and_proxies_keep_order(qtbot: QtBot) -> None:
    dialog = QDialog()
    set_reading_tab_order(dialog)
    one, two, three = column_of(dialog)
    show(qtbot, dialog)
    late, group = QPushButton("late"), QWidget()
    inner = column_of(group)
    group.setFocusProxy(inner[1])
    layout = dialog.layout()
    assert isinstance(layout, QVBoxLayout)
    layout.insertWidget(1, late)
    layout.insertWidget(2, group)
    qtbot.waitUntil(lambda: late.isVisible() and group.isVisible())
    assert wrong_with(dialog) == []
    one.setFocus()
    order = [one, late, *inner, two, three]
    for forth in (*order[1:], one):
        QTest.keyClick(dialog, Qt.Key.Key_Tab)
        assert dialog.focusWidget() is forth
    for back in (*order[:0:-1], one):
        QTest.keyClick(dialog, Qt.Key.Key_Backtab)
        assert dialog.focusWidget() is back


def test_links_of_text_in_tab_order(qtbot: QtBot) -> None:
    dialog = QDialog()
    set_reading_tab_order(dialog)
    one, two, three = column_of(dialog)
    text = QTextBrowser()
    text.setHtml('<a href="first">first</a> <a href="second">second</a>')
    layout = dialog.layout()
    assert isinstance(layout, QVBoxLayout)
    layout.insertWidget(1, text)
    show(qtbot, dialog)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    for key, order in ((Qt.Key.Key_Tab, (one, two)), (Qt.Key.Key_Backtab, (two, one))):
        order[0].setFocus()
        chosen: list[str] = []
        QTest.keyClick(dialog, key)
        while focus_in(dialog) is text and len(chosen) < MOST_STEPS:
            chosen.append(text.textCursor().selectedText())
            QTest.keyClick(text, key)
        assert dialog.focusWidget() is order[1]
        assert {"first", "second"} <= set(chosen)
    assert not three.hasFocus()


def test_tab_in_window_of_at_most_one(qtbot: QtBot) -> None:
    dialog = QDialog()
    set_reading_tab_order(dialog)
    show(qtbot, dialog)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    QTest.keyClick(dialog, Qt.Key.Key_Tab)
    assert focus_in(dialog) is None
    only = QPushButton("only", dialog)
    only.show()
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
        QTest.keyClick(dialog, key)
        assert dialog.focusWidget() is only


def test_the_start_page(looks: Looks, open_window: OpenWindow, tmp_path: Path) -> None:
    looks.at("start", open_window(tmp_path / "library"))


def test_the_library(qtbot: QtBot, looks: Looks, open_window: OpenWindow, tmp_path: Path) -> None:
    write_campaign(tmp_path / "library")
    window = open_window(tmp_path / "library")
    until_read(qtbot, window)
    looks.at("start with runs", window)
    window.show_runs()
    looks.at("library", window)
    window.runs_page.model.choose(str(path) for path in sorted(tmp_path.rglob("*.footing"))[:4])
    looks.at("library with charts", window)


def test_each_view_of_a_comparison(
    qtbot: QtBot, looks: Looks, open_window: OpenWindow, tmp_path: Path
) -> None:
    paths = write_campaign(tmp_path / "library")
    window, page = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(lambda: page.content.comparison is not None)
    for index in range(page.tabs.count()):
        page.tabs.setCurrentIndex(index)
        looks.at(page.tabs.tabText(index), window)


def test_the_live_page(qtbot: QtBot, looks: Looks, light: Theme, own_state: Path, tmp_path: Path) -> None:
    bench = LiveBench.create(tmp_path)
    bench.grow(bench.begin(1), 0, 40)
    window, page = QMainWindow(), LivePage(light)
    set_reading_tab_order(window)
    window.setCentralWidget(page)
    show(qtbot, window)
    with qtbot.waitSignal(page.poller.watched):
        page.set_campaign(bench.folder)
    looks.at("live", window)
    page.log_button.click()
    looks.at("live with log", window)
    page.stop()
    bench.close()


def test_the_pages_of_the_wizard(qtbot: QtBot, looks: Looks, light: Theme, tmp_path: Path) -> None:
    for name, wizard in wizard_pages(qtbot, light, draft_on_disks(2, wal=2), tmp_path):
        looks.at(name, wizard)


def test_the_dialogs(qtbot: QtBot, looks: Looks, light: Theme, own_state: Path, tmp_path: Path) -> None:
    write_campaign(tmp_path / "library")
    dialogs = {
        "help": HelpWindow(light),
        "manual": ManualWindow(light),
        "preferences": PreferencesDialog(light, tmp_path),
        "import": ImportWindow(tmp_path, light, lambda _paths: None),
        "stop": StopDialog("Trial", light),
        "details of a run": RunDetails(runs_of(tmp_path)[:1], light, lambda: None),
        "details of runs": RunDetails(runs_of(tmp_path), light, lambda: None),
    }
    for name, dialog in dialogs.items():
        show(qtbot, dialog)
        looks.at(name, dialog)
        for tabs in dialog.findChildren(QTabWidget):
            for index in range(1, tabs.count()):
                tabs.setCurrentIndex(index)
                looks.at(f"{name} {index}", dialog)
        dialog.close()


def test_the_report_dialog(qtbot: QtBot, looks: Looks, tmp_path: Path) -> None:
    paths = write_cases(tmp_path / "runs", [Case(name, 0, Shape(12, 5000)) for name in ("ext4", "xfs")])
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    dialog = ReportDialog(ReportRequest(tuple(paths), "Trial"), settings)
    show(qtbot, dialog)
    looks.at("report", dialog)
    dialog.close()


def test_a_race(qtbot: QtBot, looks: Looks, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / f"{name}.footing", Shape(seconds=60), name) for name in ("ext4", "xfs")]
    window = RaceWindow(Scheme.DARK, load_race(paths))
    show(qtbot, window)
    looks.at("race", window)
    window.close()
