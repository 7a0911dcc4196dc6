"""What other packages add to the window: their commands, pages and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from tests.fix_main_window import open_read
from tests.fix_window import Trial, write_trial
from ui.window.commands import tools
from ui.window.commands.tools import Tool, ToolContext
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Three runs of one campaign."""
    folder = tmp_path / "library"
    for number, name in enumerate(("ext4", "xfs", "btrfs")):
        write_trial(folder / "one" / f"{number:02}-{name}.footing", Trial(f"{name} #1", name))
    return folder


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[ToolContext]:
    """A tool that compares, by showing a label; what it was given each time."""
    contexts: list[ToolContext] = []

    def compare(context: ToolContext) -> None:
        contexts.append(context)
        context.show_page(context.page or QLabel("compared"))

    monkeypatch.setitem(tools.TOOLS, "compare", Tool(compare, least_runs=2))
    return contexts


def tick(window: MainWindow, *names: str) -> tuple[str, ...]:
    paths = [path for path in window.runs_page.model.newest_campaign() if Path(path).stem[3:] in names]
    window.runs_page.model.choose(paths)
    return tuple(paths)


def test_tool_waits_for_requested_runs(
    qtbot: QtBot, open_window: OpenWindow, library: Path, given: list[ToolContext]
) -> None:
    window = open_read(qtbot, open_window, library)
    listed = [
        run for path in window.runs_page.model.newest_campaign() if (run := window.runs_page.model.run(path))
    ]
    late = listed[-1]
    window._take_runs(listed[:-1], complete=False)
    window.runs_page.choose([run.entry.path for run in listed])
    assert len(window.runs_page.model.chosen) >= 2
    assert not window.commands["compare"].isEnabled(), "it would leave one out and not say so"
    window._take_runs([*listed[:-1], late], complete=False)
    assert window.commands["compare"].isEnabled()


def test_missing_runs_do_not_block_tool(
    qtbot: QtBot, open_window: OpenWindow, library: Path, given: list[ToolContext]
) -> None:
    window = open_read(qtbot, open_window, library)
    paths = window.runs_page.model.newest_campaign()
    window.runs_page.choose([*paths, str(library / "gone.footing")])
    assert not window.commands["compare"].isEnabled()
    window.reader.refresh()
    qtbot.waitUntil(window.commands["compare"].isEnabled)


def test_tool_gets_ticked_runs_with_colours(
    qtbot: QtBot, open_window: OpenWindow, library: Path, given: list[ToolContext]
) -> None:
    window = open_read(qtbot, open_window, library)
    tick(window, "ext4")
    assert not window.commands["compare"].isEnabled()
    paths = tick(window, "ext4", "btrfs")
    assert window.commands["compare"].isEnabled()
    window.commands["compare"].trigger()
    (context,) = given
    assert tuple(run.entry.path for run in context.runs) == paths
    assert dict(context.colours) == window.runs_page.model.chosen
    assert context.library == library


def test_tool_page_reused_and_left(
    qtbot: QtBot, open_window: OpenWindow, library: Path, given: list[ToolContext]
) -> None:
    window = open_read(qtbot, open_window, library)
    tick(window, "ext4", "xfs")
    window.commands["compare"].trigger()
    page = window.pages.currentWidget()
    assert isinstance(page, QLabel)
    assert page.text() == "compared"
    window.commands["runs"].trigger()
    assert window.pages.currentWidget() is window.runs_page
    window.commands["compare"].trigger()
    assert window.pages.currentWidget() is page
    assert given[1].page is page
