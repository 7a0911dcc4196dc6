"""From the start page to a finished run in the library: real PostgreSQL, the window's own runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMessageBox
from pytestqt.qtbot import QtBot

from app.domain.run import Phase, RunState
from app.draft.fields.state import Step
from app.execution.control import Request
from app.postgres.installations.installation import Installation
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, check_ticks
from tests.gui.test_wizard import page_of
from ui.live.page import LivePage
from ui.window.main_window import MainWindow
from ui.wizard.pages.target_page import WherePage
from ui.wizard.pages.workload_page import WorkloadPage
from ui.wizard.wizard import Wizard

pytestmark = [pytest.mark.postgres, pytest.mark.long, pytest.mark.usefixtures("installation")]

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 120_000


@pytest.fixture
def bench(own_state: Path, campaign_bench: CampaignBench, monkeypatch: pytest.MonkeyPatch) -> CampaignBench:
    """Folders in which the window's own runner may work."""
    for name, value in campaign_bench.environment.items():
        monkeypatch.setenv(name, value)
    return campaign_bench


def click(button: QAbstractButton) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def retype(edit: QLineEdit, text: str) -> None:
    edit.selectAll()
    QTest.keyClicks(edit, text)


def go_on(qtbot: QtBot, wizard: Wizard, step: Step) -> None:
    """Press Next as soon as nothing is in its way, and wait for the page after it."""

    def free() -> bool:
        return wizard.next.isEnabled() and wizard.flow.obstacle() is None

    qtbot.waitUntil(free, timeout=PATIENCE_MS)
    click(wizard.next)
    qtbot.waitUntil(lambda: wizard.flow.step is step, timeout=PATIENCE_MS)


def fill_wizard(qtbot: QtBot, window: MainWindow, target: Path, seconds: int) -> None:
    """Answer the wizard's questions: a folder and memory, a little data, a few seconds; and start."""
    wizard = window.campaigns.wizard
    assert wizard is not None
    assert wizard.isVisible()
    where = page_of(wizard, WherePage)
    qtbot.waitUntil(where.path.isEnabled, timeout=PATIENCE_MS)
    retype(where.path, str(target))
    go_on(qtbot, wizard, Step.POSTGRESQL)
    go_on(qtbot, wizard, Step.WORKLOAD)
    work = page_of(wizard, WorkloadPage)
    QTest.keyClick(work.data_size.kind, Qt.Key.Key_End)
    retype(work.data_size.amount, "1")
    retype(work.length.amount, f"{seconds}s")
    for key, text in (("workload.warmup", "1s"), ("workload.clients", "1"), ("repeats", "1")):
        edit = wizard.pages[Step.WORKLOAD].fields[key].control
        assert isinstance(edit, QLineEdit)
        retype(edit, text)
    go_on(qtbot, wizard, Step.MORE)
    go_on(qtbot, wizard, Step.REVIEW)
    qtbot.waitUntil(wizard.next.isEnabled, timeout=PATIENCE_MS)
    click(wizard.next)


def start_campaign(qtbot: QtBot, window: MainWindow, target: Path, seconds: int) -> LivePage:
    """Go from the start page to the live page."""
    qtbot.waitUntil(lambda: window.pages.currentWidget() is window.start_page, timeout=PATIENCE_MS)
    click(window.start_page.new)
    fill_wizard(qtbot, window, target, seconds)
    return wait_for_live_page(qtbot, window)


def wait_for_live_page(qtbot: QtBot, window: MainWindow) -> LivePage:
    def shown() -> bool:
        page = window.campaigns.live_page
        return page is not None and window.pages.currentWidget() is page

    qtbot.waitUntil(lambda: shown() or "aborted" in window.notice.words.text(), timeout=PATIENCE_MS)
    page = window.campaigns.live_page
    assert page is not None, window.notice.words.text()
    return page


def is_measuring(page: LivePage) -> bool:
    run = page.watched.run
    return run is not None and run.phase is Phase.MEASURE and run.numbers.tps is not None


def test_wizard_to_finished_run(
    qtbot: QtBot, open_window: OpenWindow, bench: CampaignBench, installation: Installation
) -> None:
    window = open_window(bench.library)
    page = start_campaign(qtbot, window, bench.target, seconds=4)
    qtbot.waitUntil(lambda: is_measuring(page), timeout=PATIENCE_MS)
    assert window.live.statuses or not page.watched.ended
    assert not window.campaign_line.isVisible()
    window.commands["runs"].trigger()
    qtbot.waitUntil(window.campaign_line.isVisible, timeout=PATIENCE_MS)
    assert "run " in window.campaign_line.words.text()
    click(window.campaign_line.show_button)
    assert window.pages.currentWidget() is page
    qtbot.waitUntil(lambda: page.watched.ended, timeout=PATIENCE_MS)

    click(page.header.runs)
    assert window.pages.currentWidget() is window.runs_page
    files = bench.run_files()
    qtbot.waitUntil(lambda: set(window.runs_page.model.chosen) == set(map(str, files)), timeout=PATIENCE_MS)
    stack = window.runs_page.charts.stack
    qtbot.waitUntil(
        lambda: stack is not None or window.runs_page.charts.stack is not None, timeout=PATIENCE_MS
    )
    facts = window.runs_page.facts.text
    qtbot.waitUntil(lambda: "No verdict" in facts.toPlainText(), timeout=PATIENCE_MS)
    assert "Target: kind" in facts.toPlainText()
    assert len(files) == 2
    for path in files:
        with RunFile(path) as run:
            assert run.state is RunState.DONE
            assert (run.summary()["tps"] or 0) > 0
    qtbot.waitUntil(lambda: not window.live.statuses, timeout=PATIENCE_MS)
    window.close()
    assert not window.isVisible()


def test_reopened_window_finds_campaign(
    qtbot: QtBot, open_window: OpenWindow, bench: CampaignBench, installation: Installation
) -> None:
    first = open_window(bench.library)
    page = start_campaign(qtbot, first, bench.target, seconds=8)
    qtbot.waitUntil(lambda: is_measuring(page) and bool(first.live.statuses), timeout=PATIENCE_MS)
    folder = page.folder
    first.close()
    assert first.isVisible()
    box = first.findChild(QMessageBox)
    assert box is not None
    click(next(each for each in box.buttons() if box.buttonRole(each) is QMessageBox.ButtonRole.AcceptRole))
    assert not first.isVisible()

    second = open_window(bench.library)
    page = wait_for_live_page(qtbot, second)
    assert page.folder == folder
    qtbot.waitUntil(lambda: is_measuring(page), timeout=PATIENCE_MS)
    page.request_stop(Request.FINISH)
    qtbot.waitUntil(lambda: page.watched.ended, timeout=PATIENCE_MS)
    with RunFile(bench.run_files()[0]) as run:
        assert run.state is RunState.DONE
        check_ticks(run.ticks())
        measured = run.phase(Phase.MEASURE)
        assert measured is not None
        t_ms, _ = run.samples("pgbench.tps", after_ms=measured.started_ms)
        assert len(t_ms) >= 7
    qtbot.waitUntil(lambda: not second.live.statuses, timeout=PATIENCE_MS)


@pytest.mark.longest
def test_window_hang_changes_no_sample(qtbot: QtBot, open_window: OpenWindow, bench: CampaignBench) -> None:
    window = open_window(bench.library)
    page = start_campaign(qtbot, window, bench.target, seconds=15)
    qtbot.waitUntil(lambda: is_measuring(page), timeout=PATIENCE_MS)
    run = page.watched.run
    assert run is not None
    (path,) = bench.run_files()
    with RunFile(path) as live:
        began_ms = float(live.ticks()[-1, 1])
    time.sleep(5)  # the thread in which the window lives: nothing is painted, read or answered
    ended_ms, limit_s = began_ms, time.monotonic() + PATIENCE_MS / 1000
    while ended_ms - began_ms < 3000:
        assert time.monotonic() < limit_s, "the runner goes on by itself"
        time.sleep(0.2)
        with RunFile(path) as live:
            ended_ms = float(live.ticks()[-1, 1])
    page.request_stop(Request.FINISH)
    qtbot.waitUntil(lambda: page.watched.ended, timeout=PATIENCE_MS)
    with RunFile(path) as done:
        assert done.state is RunState.DONE
        ticks = done.ticks()
        check_ticks(ticks)
        t_ms, tps = done.samples("pgbench.tps", after_ms=int(began_ms))
    meanwhile = ticks[(ticks[:, 1] > began_ms) & (ticks[:, 1] <= ended_ms)]
    assert len(meanwhile) > 1
    found = (t_ms > began_ms) & (t_ms <= ended_ms)
    assert found.any(), "pgbench's seconds are there as well"
    assert (tps[found] > 0).all()
    qtbot.waitUntil(lambda: not window.live.statuses, timeout=PATIENCE_MS)


@pytest.fixture
def small_library(bench: CampaignBench) -> Iterator[Path]:
    """A library on a filesystem of its own that is soon full."""
    bench.library.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted:
        command = ("mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "none", str(bench.library))
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not mounted:
        pytest.skip("needs root that may mount a tmpfs")
    yield bench.library
    subprocess.run(("umount", "--lazy", str(bench.library)), check=True)


@pytest.mark.expects_log
@pytest.mark.longest
def test_full_library_reported_in_runner_words(
    qtbot: QtBot, open_window: OpenWindow, bench: CampaignBench, small_library: Path
) -> None:
    window = open_window(small_library)
    page = start_campaign(qtbot, window, bench.target, seconds=60)
    qtbot.waitUntil(lambda: is_measuring(page), timeout=PATIENCE_MS)
    with suppress(OSError), (small_library / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    qtbot.waitUntil(lambda: page.watched.ended, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: "cannot be written" in page.banner.words.text(), timeout=PATIENCE_MS)
    assert "Free some space" in page.banner.words.text()
    (small_library / "filler").unlink()
    click(page.header.runs)
    (path,) = small_library.rglob("*.footing")
    qtbot.waitUntil(lambda: set(window.runs_page.model.chosen) == {str(path)}, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: not window.live.statuses, timeout=PATIENCE_MS)
