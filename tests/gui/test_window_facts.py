from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument
from pytestqt.qtbot import QtBot

from app.analysis.facts import read_run_facts
from app.comparison.comparison import compare_runs
from app.comparison.differences import find_differences
from app.domain.run import RunState
from app.domain.step_progress import ROOT_STEP
from app.library.files import Annotations, annotate
from app.process.starter import CommandOutcome
from app.runfile.figures import FIGURES, Figure
from app.runfile.finalize import finish_run_file
from tests.fix_runs import Shape, write_run
from tests.fix_window import LONG_NAME, Trial, begin_trial, write_campaign, write_trial
from tests.known_runs import WHOLE, all_changes, write_known
from ui.compare.content import Content, LoadedRun
from ui.compare.page import ComparisonWriter
from ui.theme import Scheme, Theme
from ui.widgets.plain_writer import DocumentColours
from ui.widgets.texts import format_figure, format_number, moment
from ui.window.facts.panel import FactsPanel

DIFFERS, VERDICT, FIGURES_HEADING = "Differences", "Verdict", "Figures"


@pytest.fixture
def panel(qtbot: QtBot, light: Theme) -> FactsPanel:
    made = FactsPanel(light)
    qtbot.addWidget(made)
    made.resize(500, 700)
    made.show()
    return made


def text(panel: FactsPanel) -> str:
    return panel.text.toPlainText()


def show(panel: FactsPanel, *paths: Path) -> None:
    panel.show_runs([(read_run_facts(path), number) for number, path in enumerate(paths)])


def unfold(panel: FactsPanel, section: str) -> None:
    panel.text.anchorClicked.emit(QUrl(f"section:{section}"))


def test_no_runs_hint(panel: FactsPanel) -> None:
    assert text(panel) == "The facts of ticked runs are shown here."


def test_differences_then_verdict_then_figures(panel: FactsPanel, tmp_path: Path) -> None:
    show(panel, *write_campaign(tmp_path))
    found = text(panel)
    assert found.index(DIFFERS) < found.index(VERDICT) < found.index(FIGURES_HEADING)
    assert "Target: filesystem" in found
    assert "■■■ ext4\n" in found
    assert "■■■ xfs\n" in found
    assert "xfs is 10 % faster than ext4 (95 % CI" in found


def test_swatches_have_the_colours_of_the_lines(panel: FactsPanel, tmp_path: Path, light: Theme) -> None:
    show(panel, *write_campaign(tmp_path, repeats=1))
    html = panel.text.toHtml()
    for number in (0, 1):
        assert light.series_colour(number).name() in html


def test_repeats_of_one_configuration_do_not_differ(panel: FactsPanel, tmp_path: Path) -> None:
    show(panel, *(write_known(tmp_path / f"{number}.footing", WHOLE) for number in range(3)))
    assert "these are repeats" in text(panel)
    assert VERDICT not in text(panel)


def test_unknown_facts_not_claimed(panel: FactsPanel, tmp_path: Path) -> None:
    show(panel, *write_campaign(tmp_path)[::2])
    assert "No known difference, but unknown values: Workload: " in text(panel)
    assert "these are repeats" not in text(panel)


def test_all_differences_here_and_on_compare(panel: FactsPanel, tmp_path: Path, light: Theme) -> None:
    changes = [each for each in all_changes() if each.before == WHOLE]
    paths = [
        write_known(tmp_path / f"{number}.footing", replace(run, id=f"{number:016x}"))
        for number, run in enumerate([WHOLE, *(each.run for each in changes)])
    ]
    facts = [read_run_facts(path) for path in paths]
    wanted = {f"{each.topic}: {each.name}" for each in find_differences(facts)}
    assert len(wanted) > 30
    show(panel, *paths)
    assert all(f"{name}\n" in text(panel) for name in wanted)
    document = QTextDocument()
    shown = tuple(LoadedRun(each.path, number, each.name, facts=each) for number, each in enumerate(facts))
    ComparisonWriter(document, light).write(Content(shown, compare_runs(facts)), ())
    assert all(f"{name}\n" in document.toPlainText() for name in wanted)


def test_one_run_has_figures_and_marks(panel: FactsPanel, tmp_path: Path) -> None:
    trial = Trial(name="a", marks=(("unsafe", "fsync = off: a crash loses the data directory"),), tps=3527.4)
    show(panel, write_trial(tmp_path / "a.footing", trial))
    found = text(panel)
    assert DIFFERS not in found
    assert "unsafe: fsync = off: a crash loses the data directory" in found
    assert "transactions per second" in found
    assert "3,527" in found


def test_focused_run_in_detail(panel: FactsPanel, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path, repeats=1)
    show(panel, *paths)
    assert str(paths[0]) in text(panel)
    panel.set_focus_run(str(paths[1]))
    assert str(paths[1]) in text(panel)
    assert str(paths[0]) not in text(panel)
    panel.set_focus_run("/not/shown")
    assert str(paths[0]) in text(panel)


def test_tags_and_note_below_run_name(panel: FactsPanel, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial("ext4 #1"))
    annotate(path, Annotations(tags=("baseline", "<b>old</b>"), note="Cold start.\nSecond line."))
    panel.show_runs([(read_run_facts(path), 0)])
    lines = panel.text.toPlainText().splitlines()
    assert lines[2:5] == ["#baseline #<b>old</b>", "Cold start.", "Second line."]


def test_commands_configuration_and_environment_unfold_and_fold(panel: FactsPanel, tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = begin_trial(path, Trial())
    with writer.transaction():
        argv = ("/usr/bin/initdb", "--pgdata", "/a b")
        writer.add_command(CommandOutcome(argv, "dba", 0.0, 1.5, 3, "", ""))
        writer.add_event(60_000, ROOT_STEP, "/dev/sdb1: our signature (ext4) is wiped")
        writer.add_unavailable(0, "pressure", "the kernel has none")
    writer.close()
    finish_run_file(path, RunState.DONE, {})
    show(panel, path)
    assert "▸ Commands (2)" in text(panel)
    assert "/usr/bin/initdb" not in text(panel)
    unfold(panel, "commands")
    assert "1.50 s  dba$ /usr/bin/initdb --pgdata '/a b'  exit status 3" in text(panel)
    assert "root$ # /dev/sdb1: our signature [ext4] is wiped" in text(panel)
    unfold(panel, "environment")
    assert "storage.mount.filesystem\next4" in text(panel)
    unfold(panel, "properties")
    assert "Workload: clients\n4" in text(panel)
    unfold(panel, "missing")
    assert "pressure\nthe kernel has none" in text(panel)
    unfold(panel, "commands")
    assert "/usr/bin/initdb" not in text(panel)


def test_names_lose_what_all_of_them_share(panel: FactsPanel, tmp_path: Path) -> None:
    paths = []
    for number, name in enumerate(("ext4", "xfs")):
        whole = f"{name} stripe scale 1000 simple-update"
        trial = Trial(name=f"{whole} #1", configuration=whole, filesystem=name, tps=1000 + 500 * number)
        paths.append(write_trial(tmp_path / f"{name}.footing", trial))
    show(panel, *paths)
    found = text(panel)
    verdict = found[found.index(VERDICT) : found.index("■ ext4 stripe scale 1000 simple-update #1")]
    assert "xfs measured 50 % faster than ext4" in verdict
    assert "stripe" not in verdict, "said once, of the run that is told in detail"


def test_numbers_have_their_units_small_behind_them(panel: FactsPanel, tmp_path: Path) -> None:
    show(panel, write_trial(tmp_path / "a.footing", Trial()))
    assert "4.25 ms" in text(panel)
    small = f"font-size:{panel.font().pointSizeF() * 0.88:g}pt"
    assert re.search(rf"{small}[^>]*> ms<", panel.text.toHtml())


def test_failure_on_warning_tint(panel: FactsPanel, tmp_path: Path, light: Theme) -> None:
    error = {"message": "The server died.", "hint": "Look at its log."}
    show(panel, write_trial(tmp_path / "a.footing", Trial(state=RunState.FAILED, more={"error": error})))
    assert f'bgcolor="{DocumentColours.of(light).tint.name()}"' in panel.text.toHtml()


def test_failed_and_incomplete_runs_explained(panel: FactsPanel, tmp_path: Path) -> None:
    error = {"message": "The server died.", "hint": "Look at its log."}
    show(panel, write_trial(tmp_path / "a.footing", Trial(state=RunState.FAILED, more={"error": error})))
    assert "The server died. Look at its log." in text(panel)
    left = tmp_path / "left.footing"
    begin_trial(left, Trial(state=RunState.RUNNING)).close()
    show(panel, left)
    assert "incomplete" in text(panel)
    assert "Every complete second is shown" in text(panel)


def test_long_names_fit_narrow_panel(panel: FactsPanel, tmp_path: Path) -> None:
    trial = Trial(name=LONG_NAME, configuration=LONG_NAME, settings=((LONG_NAME, "x" * 300),), tps=123456.7)
    show(panel, write_trial(tmp_path / "a.footing", trial), write_trial(tmp_path / "b.footing", Trial()))
    panel.resize(220, 700)
    unfold(panel, "properties")
    assert LONG_NAME in text(panel)
    assert panel.text.document().idealWidth() <= panel.text.viewport().width() + 1


def test_light_and_dark_are_followed(panel: FactsPanel, light: Theme, tmp_path: Path) -> None:
    show(panel, write_trial(tmp_path / "a.footing", Trial()))
    before = panel.text.toHtml()
    light.set_scheme(Scheme.DARK)
    assert panel.text.toHtml() != before
    assert light.colour("text").name() in panel.text.toHtml()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (42286, "42,286"),
        (3527.436, "3,527"),
        (99.96, "100"),
        (44.1834, "44.2"),
        (1.123, "1.12"),
        (0.745436, "0.745"),
        (0.0863, "0.0863"),
        (0.00231471, "0.002315"),
        (1e-9, "0."),
        (-12.34, "-12.3"),
    ],
)
def test_numbers_have_three_digits(value: float, words: str) -> None:
    assert format_number(value).startswith(words)
    assert "e" not in format_number(value)


def test_every_figure_is_written_with_its_unit() -> None:
    by_name = {figure.name: figure for figure in FIGURES}
    assert format_figure(by_name["steady"], 0) == "no"
    assert format_figure(by_name["jitter_cv"], 0.246709) == "24.7 %"
    assert format_figure(by_name["wal_bytes"], 2809.28) == "2.74 KiB"
    assert format_figure(by_name["server_cpu_us"], 144.581) == "145 µs"
    assert format_figure(by_name["latency_p99_ms"], 7.01317) == "7.01 ms"
    assert format_figure(Figure("x", "x", "%"), 21.58) == "21.6 %"
    assert all(format_figure(figure, 1.0) for figure in FIGURES)


def test_moment_outside_calendar_is_empty() -> None:
    assert moment(None) == ""
    assert moment(1e30) == ""
    assert moment(float("nan")) == ""
    assert "2001" in moment(1e9)


def test_run_limits_and_caveats(panel: FactsPanel, tmp_path: Path) -> None:
    show(panel, write_run(tmp_path / "one.footing", Shape(seconds=30)))
    assert "Limited by writing and flushing WAL: " in text(panel)
    assert "These figures cannot show: " in text(panel)
