"""The same again at a rate that all keep: the button of the compare page, and the wizard that it opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.json_value import Json
from app.library.entries import read_entry
from app.library.scan import ListedRun
from tests.fix_main_window import open_comparison
from tests.fix_window import Trial, write_trial
from ui.background import finish_background
from ui.compare.page import ComparePage
from ui.theme import Theme
from ui.window.main_window import MainWindow
from ui.wizard.wizard import Wizard

TOML = """
name = "Filesystems"
repeats = 2
[target.folder]
path = "{folder}"
[workload]
clients = 4
duration = "90s"
[[configuration]]
name = "plain"
[[configuration]]
name = "async"
[configuration.postgresql.settings]
synchronous_commit = "local"
"""


def write(folder: Path, *, text: str | None = None, rate_tps: float | None = None) -> list[Path]:
    """Two configurations with two runs each: 900 and 1,000 TPS."""
    if text is None:
        made = parse_campaign(TOML.format(folder=folder), base_directory="/", source_name="")
        text = format_campaign(made)
    paths = []
    for number in range(4):
        name = ("plain", "async")[number % 2]
        workload: dict[str, Json] = {"label": "tpcb-like", "clients": 4, "rate_tps": rate_tps}
        values: dict[str, Json] = {"workload": workload, **({"campaign_file": text} if text else {})}
        trial = Trial(
            f"{name} #{number // 2 + 1}", name, number // 2, 900.0 + 100 * (number % 2), more=values
        )
        paths.append(write_trial(folder / "one" / f"{number}.footing", trial))
    return paths


@pytest.fixture
def page(qtbot: QtBot, light: Theme, own_state: Path) -> Iterator[ComparePage]:
    made = ComparePage(light)
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    yield made
    made.stop()
    assert finish_background(120)


def show(qtbot: QtBot, page: ComparePage, paths: Sequence[Path]) -> None:
    runs = [ListedRun(read_entry(path), ()) for path in paths]
    with qtbot.waitSignal(page.settled):
        page.show_runs(runs, {str(path): number for number, path in enumerate(paths)}, "")


def press(page: ComparePage) -> None:
    QTest.mouseClick(page.again, Qt.MouseButton.LeftButton)


def test_button_repeats_at_seventy_percent_of_slowest(
    qtbot: QtBot, page: ComparePage, tmp_path: Path
) -> None:
    assert not page.again.isEnabled()
    show(qtbot, page, write(tmp_path))
    assert page.text.toPlainText().lower().count("closed loop") == 1
    assert page.again.text() == "Run a&gain at 70 % …"
    asked: list[Campaign] = []
    page.again_asked.connect(asked.append)
    press(page)
    qtbot.waitUntil(lambda: bool(asked))
    assert asked[0].name == "Filesystems at 630 per second"
    assert [(each.name, each.workload.rate_tps) for each in asked[0].configurations] == [
        ("plain", 630.0),
        ("async", 630.0),
    ]


@pytest.mark.parametrize(
    ("text", "rate_tps", "words"),
    [
        ("", None, "pgFooting did not run plain, so it does not know how to repeat it."),
        (None, 900.0, "These runs had a target rate"),
        ("name = ", None, "The campaign of plain"),
    ],
)
def test_refusal_to_repeat_gives_reason(
    qtbot: QtBot,
    page: ComparePage,
    tmp_path: Path,
    text: str | None,
    rate_tps: float | None,
    words: str,
) -> None:
    show(qtbot, page, write(tmp_path, text=text, rate_tps=rate_tps))
    lines: list[str] = []
    asked: list[Campaign] = []
    page.notified.connect(lines.append)
    page.again_asked.connect(asked.append)
    press(page)
    qtbot.waitUntil(lambda: bool(lines))
    assert words in lines[0]
    assert not asked


def test_runs_at_rate_omit_closed_loop_note(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write(tmp_path, rate_tps=900.0))
    assert "closed loop" not in page.text.toPlainText().lower()


def test_foreign_programs_not_taken_from_run(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "postgres").touch(mode=0o755)
    folder.chmod(0o777)
    text = TOML.format(folder=tmp_path).replace(
        "[[configuration]]", f'[postgresql]\ninstallation = "{folder}"\n[[configuration]]', 1
    )
    show(qtbot, page, write(tmp_path, text=text))
    lines: list[str] = []
    asked: list[Campaign] = []
    page.notified.connect(lines.append)
    page.again_asked.connect(asked.append)
    press(page)
    qtbot.waitUntil(lambda: bool(lines or asked))
    assert str(folder) in lines[0]
    assert not asked


def test_window_opens_repeat_wizard_once(
    qtbot: QtBot, open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    paths = write(tmp_path / "library")
    window, shown = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(shown.again.isEnabled)
    press(shown)
    qtbot.waitUntil(lambda: window.campaigns.wizard is not None)
    wizard = window.campaigns.wizard
    assert isinstance(wizard, Wizard)
    values = wizard.draft.parts.values
    assert (values["name"], values["workload.rate"]) == ("Filesystems at 630 per second", "630")
    chosen = [each.name for each in wizard.draft.parts.configurations if each.chosen]
    assert chosen == ["plain", "async"]
    shown.again_asked.emit(wizard.draft)  # pressed twice: the first wizard stays as it is
    assert window.campaigns.wizard is wizard
    wizard.asking.stop()
    wizard.reject()
    qtbot.waitUntil(lambda: window.campaigns.wizard is None)
    shown.stop()
