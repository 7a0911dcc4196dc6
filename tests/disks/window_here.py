"""The window of an ordinary user, moved by a test: ``python -m tests.disks.window_here LIBRARY SETTINGS``.

A line on standard input is a step of `Hand`, as JSON: name and arguments; the answer is a line of JSON. Steps
do what a person does: they look at what is on the screen, move the mouse there, press it, and type.
A runner that the window starts is stopped at once, until the test has put an agent of polkit in front of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QComboBox, QLineEdit, QScrollArea, QWidget

from app.draft.disks.table import DiskRow
from app.draft.fields.state import Place, Step
from app.execution.launch import LaunchedCampaign
from app.storage.inspect import processes as inspect_processes
from ui.background import finish_background
from ui.live.page import LivePage
from ui.program.program import make_application
from ui.style import apply_theme
from ui.theme import Scheme, Theme
from ui.window.campaigns import live_campaigns
from ui.window.commands import deferred
from ui.window.main_window import MainWindow
from ui.window.pages.window_settings import WindowSettings
from ui.wizard.editors.confirmations import ReleaseDialog
from ui.wizard.editors.disk_table import DiskColumn
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.filesystem_page import FilesystemPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.pages.target_page import WherePage
from ui.wizard.wizard import Wizard

LIMIT_S = 60
_launch = deferred.launch
_held: list[int] = []


def launch_and_hold(*arguments: Any, **options: Any) -> LaunchedCampaign:  # noqa: ANN401
    launched = _launch(*arguments, **options)
    os.kill(launched.pid, signal.SIGSTOP)
    _held.append(launched.pid)
    return launched


def wait(true: Callable[[], object], what: object) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not true():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{what}: {state_of_window()}")
        QTest.qWait(20)


def state_of_window() -> str:
    window = Hand.window
    wizard = window.campaigns.wizard
    page = window.campaigns.live_page
    sentences = [window.notice.words.text()]
    sentences += [] if wizard is None else [str(wizard.flow.step), wizard.reason.text()]
    if wizard is not None:
        disks = wizard.pages[Step.DISKS]
        assert isinstance(disks, DisksPage)
        sentences += [f"{row.key}: {row.answer}: {row.reason}" for row in disks.table.disks.rows]
    sentences += [] if page is None else [page.banner.words.text()]
    return " | ".join(sentences)


def _scroll_to(widget: QWidget) -> None:
    """Scroll to a widget, as a person does before pressing it."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()
    QTest.qWait(20)


class Hand:
    """What the test may do."""

    window: MainWindow
    theme: Theme

    def _wizard(self) -> Wizard:
        wizard = self.window.campaigns.wizard
        assert wizard is not None
        return wizard

    def _disks(self) -> DisksPage:
        page = self._wizard().pages[Step.DISKS]
        assert isinstance(page, DisksPage)
        return page

    def _review(self) -> ReviewPage:
        page = self._wizard().pages[Step.REVIEW]
        assert isinstance(page, ReviewPage)
        return page

    def _live(self) -> LivePage:
        page = self.window.campaigns.live_page
        assert page is not None
        return page

    def _press(self, widget: QWidget, place: QPoint | None = None) -> None:
        """Press the mouse where a widget is in its window, whatever lies there."""
        top = widget.window()
        _scroll_to(widget)
        point = widget.mapTo(top, place if place is not None else QPoint(8, widget.height() // 2))
        none = Qt.KeyboardModifier.NoModifier
        QTest.mouseClick(top.windowHandle(), Qt.MouseButton.LeftButton, none, point)
        QTest.qWait(20)

    def new_benchmark(self) -> None:
        """Press New benchmark, wherever that is on the page that is shown."""
        self.window.commands["new"].trigger()
        wait(lambda: self.window.campaigns.wizard is not None and self._wizard().isVisible(), "wizard")
        self._wizard().resize(1280, 800)

    def short_runs(self, repeats: int, seconds: int) -> None:
        """Say what this test measures: nothing of that is looked at here."""
        parts = self._wizard().draft.parts
        parts.values["repeats"], parts.values["io_baseline"] = str(repeats), "false"
        parts.values |= {"workload.duration": f"{seconds}s", "workload.warmup": "1s", "workload.clients": "2"}
        parts.disks.data.texts["partition_size"] = "900 MiB"
        parts.values["workload.scale"] = "1"

    def choose_disks(self) -> None:
        """Tick spare disks, and nothing else, on the first page."""
        wizard = self._wizard()
        page = wizard.pages[Step.WHERE]
        assert isinstance(page, WherePage)
        for place in (Place.DISKS, Place.FOLDER, Place.MEMORY):
            box = page.boxes[place]
            if box.isChecked() != (place is Place.DISKS):
                wait(box.isEnabled, place)
                self._press(box)
            assert box.isChecked() == (place is Place.DISKS), place
        wait(lambda: len(wizard.flow.steps) == 7, "pages about disks")

    def go_to(self, step: str) -> None:
        """Press Next until a page is open."""
        wizard = self._wizard()
        while wizard.flow.step is not Step[step.upper()]:
            before = wizard.flow.step
            wait(lambda: wizard.next.isEnabled() and wizard.flow.obstacle() is None, before)
            self._press(wizard.next)
            wait(lambda before=before: wizard.flow.step is not before, before)  # type: ignore[misc]

    def _row(self, device: str) -> int:
        rows = self._disks().table.disks.rows
        return next(
            (number for number, row in enumerate(rows) if row.disk is not None and row.disk.path == device),
            -1,
        )

    def tick(self, device: str) -> None:
        """Press the tick of a disk."""
        table = self._disks().table
        wait(lambda: self._row(device) >= 0 and not table.disks.rows[self._row(device)].obstacle, device)
        table.scrollTo(table.disks.index(self._row(device), DiskColumn.USE))
        rect = table.visualRect(table.disks.index(self._row(device), DiskColumn.USE))
        self._press(table.viewport(), QPoint(rect.left() + 10, rect.center().y()))

    def look_at(self, device: str) -> dict[str, object]:
        """Press on a disk's name and return what is said of it."""
        table = self._disks().table
        wait(lambda: self._row(device) >= 0, device)
        index = table.disks.index(self._row(device), DiskColumn.DISK)
        table.scrollTo(index)
        self._press(table.viewport(), table.visualRect(index).center())
        return self.disk(device)

    def disk(self, device: str) -> dict[str, object]:
        """Return what is said of a disk."""
        page = self._disks()
        row = page.table.disks.rows[self._row(device)]
        return {
            "answer": row.answer,
            "reason": row.reason,
            "why": page.why.text(),
            "release": page.release.isVisible() and page.release.isEnabled(),
            "trouble": self._wizard().reason.text(),
            "may_go_on": self._wizard().next.isEnabled(),
        }

    def places(self) -> dict[str, tuple[int, ...]]:
        """Return where all that can be pressed on the open page is: x, y, width and height in the wizard.

        Of the rows of the table of disks it is the place of the tick.
        """
        wizard = self._wizard()
        page = wizard.pages[wizard.flow.step]
        found: dict[str, tuple[int, ...]] = {}
        for kind in (QAbstractButton, QComboBox, QLineEdit):
            for number, widget in enumerate(page.findChildren(kind)):
                if widget.isVisible():
                    at = widget.mapTo(wizard, QPoint(0, 0))
                    name = f"{kind.__name__} {number} {widget.accessibleName()}"
                    found[name] = (at.x(), at.y(), widget.width(), widget.height())
        if page is self._disks():
            table = self._disks().table
            for number, row in enumerate(table.disks.rows):
                rect = table.visualRect(table.disks.index(number, DiskColumn.USE))
                at = table.viewport().mapTo(wizard, QPoint(rect.left() + 10, rect.center().y()))
                found[self._node(row)] = (at.x(), at.y(), rect.width(), rect.height())
        return found

    def hold(self, x: int, y: int) -> None:
        """Press the left button of the mouse at a place of the wizard, and keep it down."""
        none = Qt.KeyboardModifier.NoModifier
        QTest.mousePress(self._wizard().windowHandle(), Qt.MouseButton.LeftButton, none, QPoint(x, y))

    def let_go(self, x: int, y: int) -> None:
        """Release the button there."""
        none = Qt.KeyboardModifier.NoModifier
        QTest.mouseRelease(self._wizard().windowHandle(), Qt.MouseButton.LeftButton, none, QPoint(x, y))
        QTest.qWait(20)

    def click(self, x: int, y: int) -> None:
        """Press and release it there."""
        self.hold(x, y)
        self.let_go(x, y)

    def ticked(self) -> list[str]:
        """Return the nodes of the disks that are chosen for data."""
        rows = self._disks().table.disks.rows
        return [row.disk.path for row in rows if row.disk is not None and row.role is not None]

    def wait_for_row(self, device: str, words: str) -> None:
        """Wait until the row of a disk, by its node, or by its key where it is gone, says something."""
        rows = self._disks().table.disks

        def is_said() -> bool:
            said = [f"{row.answer} {row.reason}" for row in rows.rows if device in self._node(row)]
            return any(words in each for each in said)

        wait(is_said, (device, words))

    def _node(self, row: DiskRow) -> str:
        return row.disk.path if row.disk is not None else row.key

    def wait_until_listed(self, device: str) -> None:
        """Wait until the wizard knows a disk, whatever page is open."""
        draft = self._wizard().draft
        wait(lambda: any(disk.path == device for disk in draft.storage.disks), device)
        QTest.qWait(100)

    def scroll_to_barriers(self) -> None:
        """Scroll the page of filesystems to the tick of the write barriers."""
        _scroll_to(self._barriers())

    def _barriers(self) -> QCheckBox:
        page = self._wizard().pages[Step.FILESYSTEM]
        assert isinstance(page, FilesystemPage)
        box = page.editors["barrier"].control
        assert isinstance(box, QCheckBox)
        return box

    def untick_barriers(self) -> None:
        """Press the tick of the write barriers on the page of filesystems."""
        box = self._barriers()
        was = box.isChecked()
        self._press(box)
        assert box.isChecked() != was

    def release(self) -> None:
        """Press Release it, and wait for root's answer."""
        button = self._disks().release
        assert button.isVisible()
        self._press(button)
        wait(button.isEnabled, "root's answer")

    def _kept(self) -> ReleaseDialog:
        dialogs = self._wizard().findChildren(ReleaseDialog)
        wait(lambda: len(self._wizard().findChildren(ReleaseDialog)) == 1, f"one dialog, not {dialogs}")
        (dialog,) = self._wizard().findChildren(ReleaseDialog)
        wait(lambda: dialog.field.isEnabled() or dialog.error.isVisible(), "root's findings")
        return dialog

    def kept(self) -> str:
        """Return what the dialog says of a disk that the journal keeps."""
        dialog = self._kept()
        return f"{dialog.contents.text()} {dialog.error.text()}"

    def close_kept(self) -> None:
        """Leave the disk as it is."""
        self._kept().reject()
        wait(lambda: not self._wizard().findChildren(ReleaseDialog), "dialog closed")

    def release_kept(self, tail: str) -> None:
        """Type the end of the serial number in the dialog and press Release; polkit asks then."""
        dialog = self._kept()
        QTest.keyClicks(dialog.field, tail)
        self._press(dialog.release)

    def ask_root(self) -> None:
        """Press Ask root, and wait for root's answer."""
        button = self._disks().ask
        wait(lambda: button.isVisible() and button.isEnabled(), "Ask root")
        self._press(button)
        wait(button.isEnabled, "root's answer")

    def wait_for_disk(self, device: str, answers: list[str]) -> None:
        """Wait until a disk has one of these answers."""
        wait(lambda: self._row(device) >= 0 and self.disk(device)["answer"] in answers, (device, answers))

    def serials(self) -> list[str]:
        """Return what stands in the fields for serial numbers."""
        return [field.text() for field in self._review().confirm.fields.values()]

    def confirm(self) -> None:
        """Type the end of each disk's serial number."""
        wizard = self._wizard()
        wait(lambda: bool(self._review().confirm.fields), "fields")
        for key, field in self._review().confirm.fields.items():
            disk = wizard.draft.storage.disk(key)
            assert disk is not None
            field.setFocus()
            QTest.keyClicks(field, disk.identity.tail())

    def start(self) -> int:
        """Press Start; return the runner's process id, which is stopped."""
        wizard = self._wizard()
        wait(lambda: wizard.next.isEnabled() and wizard.flow.obstacle() is None, "start")
        _held.clear()
        self._press(wizard.next)
        wait(lambda: _held, "runner")
        return _held[-1]

    def wait_for_notice(self, words: str) -> str:
        """Wait until the line of the window says something."""
        wait(lambda: words in self.window.notice.words.text(), words)
        assert self.window.notice.isVisible()
        return self.window.notice.words.text()

    def wait_for_seconds(self, count: int) -> None:
        """Wait until so many seconds were measured."""

        def measured() -> bool:
            page = self.window.campaigns.live_page
            run = None if page is None else page.watched.run
            return run is not None and run.numbers.tps is not None and run.data.end_s >= count

        wait(measured, "seconds")

    def wait_for_end(self) -> dict[str, str]:
        """Wait until the campaign has ended; return what the live page says then."""
        page = self._live()
        wait(lambda: page.watched.ended, "end")
        status = page.watched.status
        assert status is not None
        QTest.qWait(300)
        disks = page.header.disks.text() if page.header.disks.isVisible() else ""
        if not page.charts.isVisible():  # but the result of the campaign, without labels of one run
            self._press(page.charts_button)
            wait(page.charts.isVisible, "charts of the last run")
        return {
            "banner": page.banner.words.text() if page.banner.isVisible() else "",
            "disks": disks,
            "marks": page.header.marks.text(),
        }

    def runs(self) -> str:
        """Show the campaign's runs, and return what the panel beside the library says of the last one."""
        self._press(self._live().header.runs)
        wait(lambda: bool(self.window.runs_page.model.chosen), "runs")
        wait(lambda: "Configuration" in self.window.runs_page.facts.text.toPlainText(), "facts")
        return self.window.runs_page.facts.text.toPlainText()

    def picture(self, path: str) -> None:
        """Keep what is on the screen, light and dark."""
        shown = self.window.campaigns.wizard or self.window
        for scheme in (Scheme.DARK, Scheme.LIGHT):
            self.theme.set_scheme(scheme)
            QTest.qWait(100)
            shown.grab().save(path.replace(".png", f"-{scheme.value}.png"))

    def cancel(self) -> None:
        """Close the wizard."""
        self._press(self._wizard().cancel)
        wait(lambda: self.window.campaigns.wizard is None, "wizard closed")


def main() -> None:
    # As the helper of these tests: in their namespace of processes the others are no business of theirs.
    patch.object(inspect_processes, "_FIRST_PID_NAMESPACE", Path("/proc/self/ns/pid").readlink().name).start()
    library, settings = map(Path, sys.argv[1:3])
    app = make_application()
    theme = Theme(Scheme.LIGHT)
    apply_theme(app, theme)
    patch.object(live_campaigns, "launch", launch_and_hold).start()
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    window = MainWindow(library, theme, WindowSettings(QSettings(str(settings), QSettings.Format.IniFormat)))
    window.resize(1280, 800)
    window.show()
    window.begin()
    Hand.window, Hand.theme = window, theme
    os.set_blocking(0, False)
    waiting = b""
    print(json.dumps("ready"), flush=True)  # noqa: T201 - the test reads it
    while True:
        QTest.qWait(20)
        try:
            read = os.read(0, 65536)
        except BlockingIOError:
            continue
        if not read:
            break
        waiting += read
        while b"\n" in waiting:
            line, _, waiting = waiting.partition(b"\n")
            name, *arguments = json.loads(line)
            try:
                answer = {"value": getattr(Hand(), name)(*arguments)}
            except Exception as error:  # noqa: BLE001 - told to the test
                answer = {"error": f"{type(error).__name__}: {error}; {state_of_window()}"}
            print(json.dumps(answer), flush=True)  # noqa: T201 - the test reads it
    window.close_without_question()
    finish_background(10)


if __name__ == "__main__":
    main()
