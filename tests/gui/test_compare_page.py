"""The compare page: its views, its text, and what may be wrong with runs."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSizeF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.domain.json_value import Json
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.library.entries import read_entry
from app.library.scan import LibraryIndex, LibraryScan, ListedRun, index_path
from app.runfile.finalize import finish_run_file
from tests.fix_main_window import open_comparison
from tests.fix_phases import ext4_and_xfs, write_phased_campaign
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape, begin_run, tps_of, write_run
from tests.fix_window import (
    Trial,
    begin_trial,
    write_bad_files,
    write_campaign,
    write_matrix,
    write_trial,
)
from tests.known_runs import write_two_campaigns
from ui.background import finish_background
from ui.charts.data.lines import BandKind
from ui.charts.figures.bars import BarFigure, FigureView
from ui.charts.stack.saving import save_picture
from ui.compare import page as compare_page
from ui.compare.content import LoadedRun
from ui.compare.distribution import DistributionView
from ui.compare.figures import make_bars
from ui.compare.page import ComparePage, with_series
from ui.compare.parts import View
from ui.compare.result import ResultView
from ui.compare.views import VIEWS, MultiplesView, OverTimeView, SweepView, TableView, ViewHolder
from ui.theme import Scheme, Theme
from ui.window.main_window import MainWindow

ViewT = TypeVar("ViewT", bound=View)


def listed(paths: Sequence[Path]) -> list[ListedRun]:
    return [ListedRun(read_entry(path), ()) for path in paths]


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[ComparePage]:
    made = ComparePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    yield made
    made.stop()
    assert finish_background(120)


def opened(page: ComparePage, name: str, kind: type[ViewT]) -> ViewT:
    """Open a view, which is of this kind, and wait for what it shows."""
    page.choose_view(name)
    if name in {"over-time", "multiples"}:
        deadline_s = time.monotonic() + 60
        while not page.content.has_series and time.monotonic() < deadline_s:
            QTest.qWait(5)
    view = page.view
    assert isinstance(view, kind)
    return view


def show(qtbot: QtBot, page: ComparePage, paths: Sequence[Path], focus: str = "") -> None:
    with qtbot.waitSignal(page.settled):
        page.show_runs(listed(paths), {str(path): number for number, path in enumerate(paths)}, focus)


def words(page: ComparePage) -> str:
    return page.text.toPlainText()


def pixels(widget: QWidget) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint8).copy()


def sweep_of(folder: Path) -> list[Path]:
    """Two filesystems with 1, 4 and 16 clients."""
    paths = []
    for number in range(6):
        filesystem, clients = ("ext4", "xfs")[number % 2], 4 ** (number // 2)
        name = f"{filesystem} {clients}"
        workload: dict[str, Json] = {"label": "tpcb-like", "clients": clients, "threads": 1, "duration_s": 5}
        more: dict[str, Json] = {"workload": workload}
        trial = Trial(name, name, tps=1000 * clients**0.5, filesystem=filesystem, more=more)
        paths.append(write_trial(folder / f"{number}.footing", trial))
    return paths


# --- the whole page -------------------------------------------------------------------------------


def test_differences_first_and_statistical_verdict(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_campaign(tmp_path))
    texts = words(page)
    assert texts.index("Differences") < texts.index("Verdict") < texts.index("Each run separately")
    assert "xfs is 10 % faster than ext4 (95 % CI" in texts
    assert "Target: filesystem" in texts
    assert "Each phase separately" not in texts


def test_phases_have_their_own_verdicts(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_phased_campaign(tmp_path, ext4_and_xfs()))
    texts = words(page)
    assert texts.index("Verdict") < texts.index("Each phase separately") < texts.index("Each run s")
    phases = texts[texts.index("Each phase separately") : texts.index("Each run separately")]
    assert "reads (1 of 2)  select-only" in phases
    assert "writes: xfs is 20 % faster than ext4" in phases
    assert "fill" not in phases


def test_matrix_has_ranking_before_verdicts(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_matrix(tmp_path))
    texts = words(page)
    assert texts.index("Ranking") < texts.index("Verdict") < texts.index("Each run separately")
    assert "Over all cells" not in texts
    assert "■ btrfs\ntpcb-like, compared with ext4 -20" in texts


def test_single_runs_beside_library_spread(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    write_campaign(tmp_path, repeats=5)
    list(LibraryScan(tmp_path, index=LibraryIndex(index_path(tmp_path))).read())
    page.library = tmp_path
    show(qtbot, page, write_matrix(tmp_path / "other"))
    assert "10 similar runs of 2 configurations in this library vary by" in words(page)


def test_fastest_named_with_equals(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    for repeat, path in enumerate(paths[1::2]):
        trial = Trial(f"f2fs #{repeat + 1}", "f2fs", repeat, tps=1101.0 - 3 * repeat)
        paths.append(write_trial(path.with_name(f"f2fs-{repeat}.footing"), trial))
    show(qtbot, page, paths)
    assert "Fastest: xfs. Not significantly slower: f2fs (with 95 %" in words(page)


def test_baseline_effect_and_cut_change_the_verdict(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_campaign(tmp_path))
    with qtbot.waitSignal(page.settled):
        page.baseline.choose("xfs")
    assert "ext4 is 9.1 % slower than xfs" in words(page)
    with qtbot.waitSignal(page.settled):
        page.cut.choose("30")
    assert "it has no data after the first 30 s" in words(page)
    with qtbot.waitSignal(page.settled):
        page.cut.choose("0")
    with qtbot.waitSignal(page.settled):
        page.effect.setValue(15)
    assert "less than the smallest difference of interest (15 %)" in words(page)


def tabs(page: ComparePage) -> list[str]:
    return [spec.id for place, spec in enumerate(VIEWS) if page.tabs.isTabVisible(place)]


def test_tabs_with_data_only(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    phased = tmp_path / "phased"
    phased.mkdir()
    two = write_campaign(tmp_path / "two")
    shown = ["result", "over-time", "multiples", "distribution"]
    for paths, expected in (
        (sweep_of(tmp_path), [*shown, "sweep", "table"]),
        (write_phased_campaign(phased, ext4_and_xfs()), [*shown, "phases", "table"]),
        (two, [*shown, "table"]),
        (two[:1], ["result", "over-time", "distribution", "table"]),
    ):
        show(qtbot, page, paths)
        assert tabs(page) == expected
        for name in expected:
            page.choose_view(name)
            qtbot.wait(20)
            assert pixels(page).std() > 0
        page.choose_view("result")


def test_result_first_unless_view_chosen(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    show(qtbot, page, paths)
    shown: list[type] = [type(page.view)]
    page.tabs.tabBarClicked.emit(3)
    page.choose_view("table")
    show(qtbot, page, paths[:2])
    shown.append(type(page.view))
    assert shown == [ResultView, TableView]


def test_result_shows_answer_bars_and_caveats(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_campaign(tmp_path))
    view = page.view
    assert isinstance(view, ResultView)
    assert view.sentence.text().startswith("xfs is 10 % faster than ext4 (95 % CI")
    figure = view.figure.figure
    assert isinstance(figure, BarFigure)
    assert [bar.label for group in figure.groups for bar in group.bars] == ["xfs", "ext4"]
    assert all(bar.interval is not None for group in figure.groups for bar in group.bars)
    assert view.text.isHidden(), "the side says it"
    view.copying.menu().actions()[0].trigger()
    assert QGuiApplication.clipboard().text() == view.sentence.text()
    view.copying.menu().actions()[1].trigger()
    assert QGuiApplication.clipboard().text().startswith("group,name,value")


def test_back_button_returns_as_labelled(page: ComparePage) -> None:
    went: list[bool] = []
    page.go_back = lambda: went.append(True)
    button = next(each for each in page.findChildren(QPushButton) if each.text() == "← &Runs")
    button.click()
    assert went == [True]


def test_dark_and_light_are_different_pictures(qtbot: QtBot, tmp_path: Path) -> None:
    theme = Theme(Scheme.LIGHT)
    page = ComparePage(theme)
    qtbot.addWidget(page)
    page.resize(1024, 700)
    page.show()
    show(qtbot, page, write_campaign(tmp_path))
    assert isinstance(page.view, ResultView)
    light = pixels(page.view.figure.sheet).mean()
    theme.set_scheme(Scheme.DARK)
    assert pixels(page.view.figure.sheet).mean() < light - 50
    page.stop()
    assert finish_background(120)


# --- over time ------------------------------------------------------------------------------------


@pytest.fixture
def two_long(tmp_path: Path) -> list[Path]:
    return [
        write_run(tmp_path / "a.footing", Shape(300, 5000, 1, checkpoint_every_s=60), "ext4 #1"),
        write_run(tmp_path / "b.footing", Shape(200, 4000, 2, stall=(50, 6)), "xfs #1"),
    ]


def test_overlay_configurations_by_colour_curves_by_dashes(
    qtbot: QtBot, page: ComparePage, two_long: list[Path]
) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "over-time", OverTimeView)
    first, second = view.stack.charts[0].lines
    assert first.colour != second.colour
    assert first.style == second.style
    curves = {(line.run_id, line.curve.id): line for line in view.stack.charts[1].lines}
    for path in map(str, two_long):
        assert len({curves[path, name].style for name in ("p50", "p95", "p99")}) == 3
        assert len({curves[path, name].colour.rgb() for name in ("p50", "p95", "p99")}) == 1
    styles = {
        name: {line.style for (_, curve), line in curves.items() if curve == name} for _, name in curves
    }
    assert all(len(found) == 1 for found in styles.values()), "a dash means the same curve in every run"


def test_envelope_holds_every_second(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "over-time", OverTimeView)
    view.around.choose(BandKind.ENVELOPE.value)
    for line in view.stack.charts[0].lines:
        assert line.data.band is not None
        low, high = line.data.band
        values = line.data.seconds.values
        assert (low.values <= values).all()
        assert (values <= high.values).all()
        assert line.seconds_colour is None
    assert "band" in view.stack.charts[0].heading.notes[0]
    view.around.choose(BandKind.NOTHING.value)
    assert all(line.data.band is None for line in view.stack.charts[0].lines)


def test_checkpoint_view_names_omitted_runs(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "over-time", OverTimeView)
    view.axis.choose("checkpoint")
    qtbot.waitUntil(lambda: len(view.stack.runs) == 1)
    assert view.message.text() == "Without a checkpoint: xfs #1."
    assert view.stack.runs[0].data.end_s == pytest.approx(60, abs=1)
    view.axis.choose("elapsed")
    assert len(view.stack.runs) == 2
    assert not view.message.isVisible()


def test_unticked_run_survives_facts(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "over-time", OverTimeView)
    view.stack.set_run_visible(str(two_long[0]), visible=False)
    page.set_focus_run(str(two_long[1]))
    assert [trace.visible for trace in view.stack.runs] == [False, True]
    assert view.stack.shown.focus == str(two_long[1])


# --- the other views ------------------------------------------------------------------------------


def test_small_multiples_share_scales_and_pointer(
    qtbot: QtBot, page: ComparePage, two_long: list[Path]
) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "multiples", MultiplesView)
    qtbot.waitUntil(lambda: view.figure.figure is not None)
    figure = view.figure.figure
    assert figure is not None
    assert figure.times == (0.0, 300.0)  # type: ignore[attr-defined]
    assert figure.csv().splitlines()[0].startswith("t_s,ext4 #1: TPS")
    size = QSizeF(view.figure.sheet.size())
    assert figure.text_at(size, view.theme, QPointF(size.width() / 4, size.height() / 2)).count(":") == 1
    before = pixels(view.figure.sheet)
    view.figure.sheet._at = QPointF(size.width() / 4, size.height() / 2)
    assert (pixels(view.figure.sheet) != before).any()


def test_configuration_latencies_pool_all_runs(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / f"{n}.footing", Shape(60, 5000, n + 1), "ext4") for n in range(2)]
    show(qtbot, page, paths)
    view = opened(page, "distribution", DistributionView)
    qtbot.waitUntil(lambda: len(view.nines.runs) == 1)
    nines, latency_ms = view.nines.runs[0].data.series("distribution.nines")
    assert 2 < nines[-1] < 4
    assert float(np.interp(np.log10(2), nines, latency_ms)) == pytest.approx(
        0.8, rel=0.05
    )  # lognormal median
    view.what.choose("runs")
    assert len(view.nines.runs) == len(view.shares.runs) == 2
    view.nines.set_run_visible(str(paths[0]), visible=False)
    assert [trace.visible for trace in view.shares.runs] == [False, True]


def test_non_durable_latencies_labelled(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    off = (("settings", [{"name": "fsync", "value": "off", "origin": "user"}]),)
    cases = [Case("memory", 0, Shape(20, 5000), values=off), Case("folder", 0, Shape(20, 4000))]
    page.resize(1280, 800)
    show(qtbot, page, write_cases(tmp_path, cases))
    view = opened(page, "distribution", DistributionView)
    qtbot.waitUntil(lambda: len(view.nines.runs) == 2)
    assert [trace.label for trace in view.nines.runs] == ["folder", "memory (NOT DURABLE)"]
    rows = view.lines.topLevelItem(0)
    assert rows is not None
    children = [child for row in range(2) if (child := rows.child(row)) is not None]
    [lost] = [child for child in children if "DURABLE" in child.text(0)]
    wanted = view.lines.sizeHintForIndex(view.lines.indexFromItem(lost)).width()
    assert view.lines.visualItemRect(lost).width() >= wanted


def test_runs_without_latencies_are_named(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    with_some = write_run(tmp_path / "with.footing", Shape(60), "btrfs")
    show(qtbot, page, [*write_campaign(tmp_path), with_some])
    view = opened(page, "distribution", DistributionView)
    qtbot.waitUntil(lambda: view.words.text() == "No latencies: ext4, xfs.")
    assert view.nines.isVisible()


def test_bars_carry_intervals_not_published_figures(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    workload: dict[str, Json] = {"label": "select-only", "clients": 16, "duration_s": 5}
    paths = [
        write_trial(
            tmp_path / f"{number}.footing",
            Trial(
                f"{fs} #{number // 2}",
                fs,
                number // 2,
                1000 + number,
                filesystem=fs,
                more={"workload": workload},
            ),
        )
        for number, fs in enumerate(("ext4", "xfs") * 3)
    ]
    show(qtbot, page, paths)
    view = opened(page, "result", ResultView)
    own = view.figure.figure
    assert own is not None
    view.published.setChecked(True)
    with_marks = view.figure.figure
    assert with_marks is not None
    rows = with_marks.csv().splitlines()
    assert len(rows) > len(own.csv().splitlines())
    # What is one's own stays as it was, to the last digit.
    assert [row for row in rows if row.endswith(",0")] == own.csv().splitlines()[1:]
    view.what.choose("jitter_cv")
    assert not view.published.isVisible()


def test_figures_of_2009_on_other_filesystems(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    workload: dict[str, Json] = {"label": "tpcb-like", "clients": 10, "duration_s": 5}
    paths = [
        write_trial(
            tmp_path / f"{name}.footing",
            Trial(name, name, 0, tps, filesystem=name, more={"workload": workload, "scale": 400}),
        )
        for name, tps in (("ufs", 300), ("hammer", 100), ("hammer2", 250))
    ]
    show(qtbot, page, paths)
    view = opened(page, "result", ResultView)
    view.published.setChecked(True)
    figure = view.figure.figure
    assert figure is not None
    marks = [row for row in figure.csv().splitlines() if "Lentfer 2009" in row]
    assert any("Lentfer 2009: hammer, single, scale 400" in row and "14.8" in row for row in marks)
    assert any(
        "Lentfer 2009: ufs, single, newfs -b 8192, scale 400" in row and "36.6" in row for row in marks
    )
    assert not any("hammer2" in row for row in marks), (
        "it is another filesystem, which nobody measured in 2009"
    )


def test_non_durable_runs_stand_apart(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = [
        write_trial(
            tmp_path / f"{number}.footing",
            Trial(name, name, tps=tps, settings=(("fsync", "off"),) if name == "fast" else ()),
        )
        for number, (name, tps) in enumerate((("fast", 3000.0), ("ext4", 1000.0), ("xfs", 1100.0)))
    ]
    show(qtbot, page, paths)
    texts = words(page)
    assert "fast measured 3.0 times as fast as ext4" in texts
    assert "but it is NOT DURABLE, so it is not ranked" in texts
    assert [page.baseline.itemText(place) for place in range(page.baseline.count())] == ["ext4", "xfs"]
    assert page.content.names == ("fast (NOT DURABLE)", "ext4", "xfs")
    bars = make_bars(page.content, "tps")
    assert bars is not None
    assert [bar.warning or bar.note.partition(",")[0] for bar in bars.groups[0].bars] == [
        "indicative only",
        "indicative only",
        "NOT DURABLE",
    ]


def test_single_run_interval_labelled(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "result", ResultView)
    rows = view.figure.figure.csv().splitlines()  # type: ignore[union-attr]
    assert rows[1].endswith("within-run,0")
    assert "within this run" in words(page)


def test_a_sweep_has_lines_over_its_numbers(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, sweep_of(tmp_path))
    view = opened(page, "sweep", SweepView)
    assert view.stack is not None
    assert [trace.label for trace in view.stack.runs] == ["ext4", "xfs"]
    places, values = view.stack.runs[0].data.series("sweep.tps")
    assert places == pytest.approx(np.log10([1, 4, 16]))
    assert values == pytest.approx([1000, 2000, 4000])
    ticks = view.stack.charts[0].time_axis.ticks(-0.1, 1.3, 800)
    assert [view.stack.kind.label(tick, 1.3) for tick in ticks] == ["1", "4", "16"]


def test_table_matches_verdicts_and_copies(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_campaign(tmp_path))
    view = opened(page, "table", TableView)
    text = view.table.text_of_selection()
    assert text.startswith("Configuration,Runs,TPS,")
    assert "xfs is 10 % faster than ext4" in text
    headings = [view.table.horizontalHeaderItem(number) for number in range(view.table.columnCount())]
    values = {each.text(): each.toolTip() for each in headings if each is not None}
    assert "the range contains the true mean" in values["95 % CI"]
    p99 = list(values).index("p99")
    assert view.table.item(0, p99).text().endswith(" ms"), "the heading has no unit"  # type: ignore[union-attr]
    assert "Latency, 99th percentile, ms" in values["p99"]
    assert "99 % of the transactions" in values["p99"]
    header = view.table.horizontalHeader()
    widest = 30 * header.fontMetrics().averageCharWidth()
    assert all(header.sectionSizeHint(number) < widest for number in range(header.count()))
    assert header.sizeHint().height() < 4 * header.fontMetrics().lineSpacing(), "short names, long tips"
    view.table.selectRow(0)
    assert "faster" not in view.table.text_of_selection()


def test_table_rows_and_sorting(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    rates = {"ext4": 1000.0, "xfs": 11000.0, "btrfs": 900.0}
    paths = [
        write_trial(tmp_path / f"{name}{repeat}.footing", Trial(f"{name} #{repeat}", name, repeat, tps=tps))
        for repeat in range(3)
        for name, tps in rates.items()
    ]
    show(qtbot, page, paths)
    view = opened(page, "table", TableView)
    table, header = view.table, view.table.horizontalHeader()
    headings = [
        table.model().headerData(number, Qt.Orientation.Horizontal) for number in range(table.columnCount())
    ]
    assert headings[-1] == "Verdict"
    assert max(table.rowHeight(row) for row in range(3)) < 2 * table.fontMetrics().height()

    def names() -> list[str]:
        return [table.item(row, 0).text() for row in range(3)]  # type: ignore[union-attr]

    before, tps = names(), headings.index("TPS")
    place = QPoint(header.sectionViewportPosition(tps) + 5, header.height() // 2)
    shown = []
    for _ in range(3):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
        shown.append((names(), header.isSortIndicatorShown()))
    assert shown == [(["btrfs", "ext4", "xfs"], True), (["xfs", "ext4", "btrfs"], True), (before, False)]


def test_bars_sorted_by_shown_figure(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    rates = {"ext4": 1000.0, "memory": 5000.0, "xfs": 3000.0}
    paths = [
        write_trial(
            tmp_path / f"{name}{repeat}.footing",
            Trial(
                f"{name} #{repeat}",
                name,
                repeat,
                tps=tps,
                marks=(("not-durable", "memory"),) * (name == "memory"),
            ),
        )
        for repeat in range(3)
        for name, tps in rates.items()
    ]
    show(qtbot, page, paths)
    view = opened(page, "result", ResultView)

    def labels() -> list[str]:
        figure = view.figure.figure
        assert isinstance(figure, BarFigure)
        return [bar.label for bar in figure.groups[0].bars]

    assert labels() == ["xfs", "ext4", "memory"], "what is not ranked stays behind"


def test_what_differs_has_one_colour_a_configuration(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    with qtbot.waitSignal(page.settled):
        page.show_runs(listed(paths), {str(path): number % 2 for number, path in enumerate(paths)})
    texts = words(page)
    assert texts[: texts.index("Verdict")].count("■") == 2, "three repeats of each of two filesystems"


@pytest.mark.parametrize("kind", ["png", "svg", "csv"])
def test_figures_are_saved_as_pictures_and_numbers(
    qtbot: QtBot, page: ComparePage, tmp_path: Path, kind: str
) -> None:
    show(qtbot, page, write_campaign(tmp_path))
    view = opened(page, "result", ResultView)
    target = tmp_path / f"out.{kind}"
    picture = view.figure.picture()
    assert picture is not None
    save_picture(page, picture, picture.theme, target)
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "csv": b"group,name"}
    assert target.read_bytes().startswith(begins[kind])


# --- bad input ------------------------------------------------------------------------------------


def test_unreadable_files_named_others_shown(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    bad = write_bad_files(tmp_path / "bad")
    show(
        qtbot,
        page,
        [*write_campaign(tmp_path), bad["text"], bad["cut"], bad["newer"], tmp_path / "gone.footing"],
    )
    assert len(page.content.runs) == 6
    texts = words(page)
    assert texts.count("text.footing") >= 1
    assert "gone.footing" in texts
    assert "xfs is 10 % faster" in texts


def test_file_deleted_while_shown(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    view = opened(page, "over-time", OverTimeView)
    for path in two_long:
        path.unlink()
    view.axis.choose("checkpoint")
    qtbot.waitUntil(lambda: "Reading" not in view.message.text())
    for spec in VIEWS:
        page.choose_view(spec.id)
        qtbot.wait(50)
    assert "Verdict" in words(page)


def test_view_opened_after_runs_deleted(qtbot: QtBot, page: ComparePage, two_long: list[Path]) -> None:
    show(qtbot, page, two_long)
    two_long[0].unlink()
    with qtbot.waitSignal(page.settled):
        page.choose_view("over-time")
    assert [run.path for run in page.content.runs] == [str(two_long[1])]
    assert str(two_long[0]) in words(page)
    two_long[1].unlink()
    with qtbot.waitSignal(page.settled):
        page.cut.choose("30")
    show(qtbot, page, two_long)
    assert page.content.runs == ()
    assert words(page).endswith("No run is shown.")


def test_mixed_runs_shown_with_gaps(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    live = tmp_path / "live.footing"
    writer = begin_trial(live, Trial("live", "live", state=RunState.RUNNING))
    paths = [
        write_run(tmp_path / "long.footing", Shape(900, 5000, 1), "long"),
        write_trial(tmp_path / "one.footing", Trial("one", "one", seconds=1)),
        write_trial(tmp_path / "zero.footing", Trial("zero", "zero", tps=0, seconds=20)),
        write_trial(tmp_path / "failed.footing", Trial("failed", "failed", state=RunState.FAILED)),
        live,
    ]
    shutil.copy(paths[1], tmp_path / "copy.footing")
    show(qtbot, page, [*paths, tmp_path / "copy.footing"])
    texts = words(page)
    for sentence in (
        "it is failed",
        "it is the same run as one",
        "measured for 1 s or less",
        "have 4 conditions",
    ):
        assert sentence in texts, sentence
    for spec in VIEWS:
        page.choose_view(spec.id)
        qtbot.wait(50)
    writer.close()


def test_empty_figure_view_paints_nothing(qtbot: QtBot) -> None:
    view = FigureView(Theme(Scheme.LIGHT))
    qtbot.addWidget(view)
    view.show()
    assert view.picture() is None


def test_compare_command_opens_page_once(
    qtbot: QtBot, open_window: Callable[..., MainWindow], tmp_path: Path
) -> None:
    paths = write_campaign(tmp_path / "library")
    window, shown = open_comparison(qtbot, open_window, tmp_path / "library", paths)
    qtbot.waitUntil(lambda: "Verdict" in words(shown))
    assert "xfs is 10 % faster" in words(shown)
    colours = [run.colour for run in shown.content.runs]
    assert colours == [window.runs_page.model.chosen[str(path)] for path in paths]
    shown.go_back()
    qtbot.waitUntil(lambda: window.pages.currentWidget() is window.runs_page)
    window.runs_page.model.choose([str(path) for path in paths[:2]])
    window.commands["compare"].trigger()
    assert window.pages.currentWidget() is shown
    qtbot.waitUntil(lambda: len(shown.content.runs) == 2)
    qtbot.waitUntil(lambda: "xfs is 10 % faster" not in words(shown))
    shown.stop()


def write_day(path: Path) -> Path:
    """Write a run of 24 hours that has nothing but its TPS, with a checkpoint every quarter of an hour."""
    shape = Shape(86_400, 5000, 3, checkpoint_every_s=900)
    writer = begin_run(path, shape, "day")
    with writer.transaction():
        writer.begin_phase(Phase.MEASURE, 0)
        for second, tps in enumerate(tps_of(shape)[:86_400].tolist()):
            t_ms = 1000 * (second + 1)
            sample = (t_ms, Sample("pgbench.tps", tps))
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=[sample])
            if second % 900 == 899:
                writer.add_event(t_ms, "checkpoint-start", "checkpoint starting: time", {})
                writer.add_event(t_ms + 8000, "checkpoint-complete", "checkpoint complete", {})
    with writer.transaction():
        writer.end_phase(86_400_000)
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": 5000.0})
    return path


def test_day_beside_minute(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    minute = write_run(tmp_path / "minute.footing", Shape(60, 4800, 2), "minute")
    show(qtbot, page, [write_day(tmp_path / "day.footing"), minute])
    texts = words(page)
    assert "The runs lasted 01:00 (minute) to 24:00:00 (day)" in texts
    assert "minute measured" in texts
    view = opened(page, "over-time", OverTimeView)
    assert view.stack.times[1] == 86_400
    assert [line.label for line in view.stack.charts[0].lines] == ["day", "minute"]
    view.axis.choose("checkpoint")
    qtbot.waitUntil(lambda: len(view.stack.runs) == 1)
    assert view.stack.runs[0].data.end_s == pytest.approx(900, abs=1)
    for spec in VIEWS:
        page.choose_view(spec.id)
        qtbot.wait(20)


def test_limits_and_caveats_below_verdict(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / f"{seed}.footing", Shape(seconds=30, seed=seed)) for seed in (1, 2)]
    show(qtbot, page, paths)
    output = page.text.toPlainText()
    assert output.index("Verdict") < output.index("imited by writing and flushing WAL")
    assert output.index("imited by") < output.index("These figures cannot show: ")


def test_reference_of_two_campaigns_named(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, write_two_campaigns(tmp_path))
    view = opened(page, "table", TableView)
    heads = [view.table.horizontalHeaderItem(each) for each in range(view.table.columnCount())]
    cell = view.table.item(3, [head.text() if head else "" for head in heads].index("Reference"))
    assert cell is not None
    assert cell.text() == "xfs (one), xfs (two)"
    assert "The machine changed between campaigns" in words(page)


def test_series_read_when_charts_shown(
    qtbot: QtBot, page: ComparePage, two_long: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(*arguments: Any) -> list[LoadedRun]:  # noqa: ANN401 - of what it replaces
        assert go_on.wait(30)
        return with_series(*arguments)

    monkeypatch.setattr(compare_page, "with_series", slow)
    show(qtbot, page, two_long)
    assert isinstance(page.view, ResultView)
    assert page.view.sentence.text()
    page.choose_view("over-time")
    holder = page.tabs.currentWidget()
    assert isinstance(holder, ViewHolder)
    assert holder.currentWidget() is holder.empty, "its charts are still being read"
    page.effect.setValue(5)
    qtbot.waitUntil(lambda: page.content.comparison is not None and page.content.comparison.effect == 0.05)
    assert not page.content.has_series
    go_on.set()
    qtbot.waitUntil(lambda: page.content.has_series)
    assert isinstance(page.view, OverTimeView)
    assert len(page.view.stack.runs) == 2
