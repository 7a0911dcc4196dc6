"""Going on, again, again with changes: on the start page, at the end of a campaign, in the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.library.campaign_end import CampaignEnd, read_end
from app.library.entries import CAMPAIGN_NAME
from tests.fix_main_window import open_read
from tests.fix_runs import WARM_UP_S
from tests.fix_window import Trial, write_trial
from tests.gui.live_bench import LiveBench
from ui.background import finish_background
from ui.compare.page import ComparePage
from ui.compare.result import CampaignResult, ResultView
from ui.live.page import LivePage
from ui.report.dialog import ReportDialog
from ui.theme import Theme
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LiveBench]:
    """A campaign of which the second run was killed."""
    library = tmp_path / "library"
    library.mkdir()
    made = LiveBench.create(library)
    made.add_done(1)
    made.grow(made.begin(2), 0, WARM_UP_S + 3)
    yield made
    made.close()


def waiting(qtbot: QtBot, window: MainWindow, folder: Path) -> None:
    """Wait until the start page offers a campaign."""
    qtbot.waitUntil(lambda: folder in window.start_page.waiting.go_on, timeout=PATIENCE_MS)


def test_interrupted_campaign_offered_until_dismissed(
    qtbot: QtBot, open_window: OpenWindow, bench: LiveBench
) -> None:
    bench.release()
    window = open_window(bench.folder.parent)
    waiting(qtbot, window, bench.folder)
    button = window.start_page.waiting.go_on[bench.folder]
    assert "was interrupted: 1 of 4 runs are done" in button.accessibleDescription()
    assert not window.start_page.waiting.isHidden()
    window.start_page.waiting.put_away[bench.folder].click()
    qtbot.waitUntil(window.start_page.waiting.isHidden, timeout=PATIENCE_MS)
    assert read_end(bench.folder) is CampaignEnd.PUT_AWAY


def test_offer_in_notice_beside_runs(qtbot: QtBot, open_window: OpenWindow, bench: LiveBench) -> None:
    bench.release()
    window = open_read(qtbot, open_window, bench.folder.parent)
    window.show_runs()
    window.refresh()
    qtbot.waitUntil(lambda: "was interrupted" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert window.notice.action.text() == "Re&sume"


def test_a_campaign_that_runs_is_not_offered(qtbot: QtBot, open_window: OpenWindow, bench: LiveBench) -> None:
    window = open_read(qtbot, open_window, bench.folder.parent)
    window.refresh()  # it looks for what waits, in the background
    assert finish_background(120)
    QApplication.processEvents()
    assert window.start_page.waiting.go_on == {}


def test_click_starts_runner_and_shows_refusal(
    qtbot: QtBot, open_window: OpenWindow, bench: LiveBench
) -> None:
    """The folders of this campaign are not there: the runner, a real one, says so."""
    bench.release()
    window = open_window(bench.folder.parent)
    waiting(qtbot, window, bench.folder)
    window.start_page.waiting.go_on[bench.folder].click()
    qtbot.waitUntil(lambda: "/srv/ext4" in window.notice.words.text(), timeout=PATIENCE_MS)
    assert read_end(bench.folder) is None
    assert len(list(bench.folder.glob("*.footing"))) == 2


def ended_page(qtbot: QtBot, light: Theme, bench: LiveBench) -> LivePage:
    page = LivePage(light)
    qtbot.addWidget(page)
    page.show()
    bench.release()
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.set_campaign(bench.folder)
    return page


def test_ended_campaign_offers_missing_and_again(qtbot: QtBot, light: Theme, bench: LiveBench) -> None:
    page = ended_page(qtbot, light, bench)
    header = page.header
    assert header.go_on.isVisible()
    assert "3 of 4 runs" in header.go_on.toolTip()
    for press, signal in (
        (header.go_on.click, page.go_on_wanted),
        (header.again.as_it_was.trigger, page.again_wanted),
        (header.again.with_changes.trigger, page.changes_wanted),
    ):
        with qtbot.waitSignal(signal) as asked:
            press()
        assert asked.args == [bench.folder]
    page.stop()


def test_complete_campaign_only_repeated(qtbot: QtBot, light: Theme, bench: LiveBench) -> None:
    for number in (2, 3, 4):
        bench.path(number).unlink(missing_ok=True)
        bench.add_done(number)
    page = ended_page(qtbot, light, bench)
    assert not page.header.go_on.isVisible()
    assert page.header.again.isVisible()
    page.stop()


def test_no_offer_while_campaign_runs(qtbot: QtBot, light: Theme, bench: LiveBench) -> None:
    page = LivePage(light)
    qtbot.addWidget(page)
    page.show()
    with qtbot.waitSignal(page.poller.watched, timeout=PATIENCE_MS):
        page.set_campaign(bench.folder)
    assert not page.header.go_on.isVisible()
    assert not page.header.again.isVisible()
    page.stop()


def entries(window: MainWindow, path: Path) -> dict[str, QAction]:
    panel = window.runs_page.library
    menu = panel.open_menu(window.runs_page.model.index_of(str(path)), QPoint(10, 10))
    return {action.text(): action for action in menu.actions()}


def test_library_opens_wizard_with_campaign_answers(
    qtbot: QtBot, open_window: OpenWindow, bench: LiveBench
) -> None:
    bench.release()
    window = open_read(qtbot, open_window, bench.folder.parent)
    menu = entries(window, bench.path(1))
    assert menu["R&esume the campaign"].isEnabled()
    assert menu["Run the campaign aga&in"].isEnabled()
    menu["Run again with &changes …"].trigger()
    qtbot.waitUntil(lambda: window.campaigns.wizard is not None, timeout=PATIENCE_MS)
    assert window.campaigns.wizard is not None
    parts = window.campaigns.wizard.draft.parts
    assert parts.values["name"] == "Disks of db7"
    assert parts.order_seed is None
    assert [each.name for each in parts.chosen()] == ["ext4", "xfs"]
    window.campaigns.wizard.reject()


def test_foreign_runs_cannot_continue(qtbot: QtBot, open_window: OpenWindow, bench: LiveBench) -> None:
    bench.release()
    (bench.folder / CAMPAIGN_NAME).unlink()
    window = open_read(qtbot, open_window, bench.folder.parent)
    menu = entries(window, bench.path(1))
    for text in ("R&esume the campaign", "Run the campaign aga&in", "Run again with &changes …"):
        assert not menu[text].isEnabled()


def test_ended_campaign_result_leads_on(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "whole"
    library.mkdir()
    bench = LiveBench.create(library)
    try:
        for number in range(1, 5):
            bench.add_done(number)
        window = open_read(qtbot, open_window, library)
        window.campaigns.show_live(bench.folder)
        bench.release()
        qtbot.waitUntil(lambda: window.campaigns.result is not None, timeout=PATIENCE_MS)
        page, result = window.campaigns.live_page, window.campaigns.result
        assert page is not None
        assert result is not None
        qtbot.waitUntil(result.compare.isEnabled, timeout=PATIENCE_MS)
        assert "ext4" in result.view.sentence.text()
        assert result.isVisible()
        assert not page.numbers.isVisible()  # the last second of the last run is no result
        assert page.header.run.text() == "Disks of db7"
        page.charts_button.click()
        assert page.charts.isVisible()
        assert page.numbers.isVisible()
        run = page.watched.run
        assert run is not None
        assert page.header.run.text() == run.data.name  # its labels are those of the run, too
        page.charts_button.click()
        assert page.header.run.text() == "Disks of db7"
        result.report.click()
        dialog = window.findChild(ReportDialog)
        assert dialog is not None
        dialog.close()
        result.compare.click()
        shown = window.pages.currentWidget()
        assert isinstance(shown, ComparePage)
        qtbot.waitUntil(lambda: shown.content.comparison is not None, timeout=PATIENCE_MS)
        assert isinstance(shown.view, ResultView)
        assert shown.view.sentence.text() == result.view.sentence.text()
        assert {run.colour for run in shown.content.runs} == {0, 1}  # of configurations, as on the live page
    finally:
        bench.close()


def reported(window: MainWindow) -> set[str]:
    """Return the runs that Ctrl+P asks about."""
    window.commands["report"].trigger()
    dialog = window.findChildren(ReportDialog)[-1]
    dialog.close()
    return {path.name for path in dialog._asked.runs}


def test_commands_act_on_shown_runs(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / "whole"
    for number in range(3):
        write_trial(library / "another" / f"other-{number}.footing", Trial(f"xfs #{number}", "xfs"))
    bench = LiveBench.create(library)
    try:
        for number in range(1, 5):
            bench.add_done(number)
        window = open_read(qtbot, open_window, library)
        others = [str(path) for path in sorted((library / "another").iterdir())]
        window.runs_page.model.choose(others)
        of_library, own = {Path(path).name for path in others}, {bench.path(n).name for n in range(1, 5)}
        assert reported(window) == of_library
        window.campaigns.show_live(bench.folder)
        assert not any(window.commands[name].isEnabled() for name in ("report", "compare", "race", "clear"))
        bench.release()
        qtbot.waitUntil(window.commands["compare"].isEnabled, timeout=PATIENCE_MS)
        assert reported(window) == own
        window.commands["compare"].trigger()
        shown = window.pages.currentWidget()
        assert isinstance(shown, ComparePage)
        qtbot.waitUntil(lambda: shown.content.comparison is not None, timeout=PATIENCE_MS)
        assert {Path(run.path).name for run in shown.content.runs} == own
        assert reported(window) == own, "of the compare page, not of the library"
        window.commands["start"].trigger()
        assert not window.commands["report"].isEnabled()
        window.commands["runs"].trigger()
        assert reported(window) == of_library
    finally:
        bench.close()


def test_damaged_run_reported_beside_result(qtbot: QtBot, light: Theme, bench: LiveBench) -> None:
    bench.release()
    bench.path(2).write_bytes(b"no run file")
    result = CampaignResult(light)
    qtbot.addWidget(result)
    with qtbot.waitSignal(result.settled, timeout=PATIENCE_MS):
        result.show_campaign(bench.folder, {"ext4": 0, "xfs": 1}, bench.folder.parent)
    assert result.view.text.toPlainText().startswith(f"Before you use this result\n{bench.path(2).name}: ")
    assert not result.compare.isEnabled()
    assert result.report.isEnabled()
