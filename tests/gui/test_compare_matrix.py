"""Crossed factors on the compare page: tables of bars, their colours, filters, cells, odd matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, QSizeF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from app.analysis.facts import RunFacts
from app.domain.disturbances import DisturbanceKind, Disturbances
from app.library.entries import read_entry
from app.library.scan import ListedRun
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.safety import NOT_DURABLE
from tests.fix_window import Trial, write_trial
from tests.made_matrix import made_run
from ui.background import finish_background
from ui.charts.figures.bars import BarFigure, PanelFigure
from ui.charts.figures.small_multiples import SmallMultiples
from ui.compare.content import MOST_SHOWN, Choices, Content, LoadedRun, compare_content
from ui.compare.figures import make_figure
from ui.compare.page import ComparePage
from ui.compare.parts import FilterRow, name_some
from ui.compare.result import ResultView
from ui.compare.views import MultiplesView, OverTimeView
from ui.theme import SERIES, Scheme, Theme

FILESYSTEMS, LEVELS = ("ext4", "xfs", "zfs"), ("mirror", "raid10")


def content(facts: Sequence[RunFacts]) -> Content:
    return compare_content(
        Content(tuple(LoadedRun(each.path, n, each.name, facts=each) for n, each in enumerate(facts))),
        Choices(),
    )


def crossed(
    columns: Iterable[str] = FILESYSTEMS,
    rows: Iterable[str] = LEVELS,
    scales: Iterable[str] = ("10", "100"),
    repeats: int = 1,
) -> list[RunFacts]:
    return [
        made_run(
            {"filesystem": column, "RAID": row, "scale": scale}, 1000 + 100 * place + repeat, repeat=repeat
        )
        for place, column in enumerate(columns)
        for row in rows
        for scale in scales
        for repeat in range(repeats)
    ]


def panels(found: Content) -> PanelFigure:
    figure = make_figure(found, "tps")
    assert isinstance(figure, PanelFigure)
    return figure


def painted(figure: PanelFigure, width: int = 900) -> QImage:
    theme = Theme(Scheme.LIGHT)
    height = round(figure.least_height(theme, width))
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    figure.paint(painter, QSizeF(width, height), theme)
    painter.end()
    return image


# --- tables ---------------------------------------------------------------------------------------


def test_panel_for_each_condition_fastest_first() -> None:
    figure = panels(content(crossed()))
    assert [panel.heading for panel in figure.panels] == ["scale 10", "scale 100"]
    assert {panel.columns for panel in figure.panels} == {("zfs", "xfs", "ext4")}
    assert figure.panels[0].best == {("mirror", "zfs"), ("raid10", "zfs")}
    assert figure.csv().splitlines()[:2] == [
        "Condition,RAID,zfs,xfs,ext4",
        "scale 10,mirror,1200,1100,1000",
    ]
    assert "mirror: zfs 1,200; xfs 1,100; ext4 1,000." in figure.accessible_text()


@pytest.mark.parametrize(
    ("marks", "note"), [((), "indicative only"), (((DISTURBED, "others"),), "disturbed, indicative only")]
)
def test_unknown_disturbance_is_not_called_one(marks: tuple[tuple[str, str], ...], note: str) -> None:
    unknown = Disturbances(unknown=((DisturbanceKind.STEAL, "no samples"),))
    runs = [
        replace(run, disturbances=unknown, marks=marks) for run in crossed(rows=LEVELS[:1], scales=("10",))
    ]
    figure = make_figure(content(runs), "tps")
    assert isinstance(figure, BarFigure)
    assert {bar.note for group in figure.groups for bar in group.bars} == {note}


def test_level_has_one_colour_runs_their_own_mark() -> None:
    found = content(crossed(repeats=2))
    colours: dict[str, set[int]] = {}
    marks: dict[tuple[int, int], set[str]] = {}
    for run, colour in zip(found.runs, found.colours, strict=True):
        assert run.facts is not None
        colours.setdefault(run.facts.configuration.split()[0], set()).add(colour % SERIES)
        marks.setdefault((colour % SERIES, colour // SERIES), set()).add(run.facts.configuration)
    assert colours == {"zfs": {0}, "xfs": {1}, "ext4": {2}}
    assert all(len(configurations) == 1 for configurations in marks.values())
    bars = {column: bar for panel in panels(found).panels for (_, column), bar in panel.bars.items()}
    assert {column: bar.colour_index for column, bar in bars.items()} == {"zfs": 0, "xfs": 1, "ext4": 2}


def test_twelve_levels_in_twelve_looks() -> None:
    names = [f"fs{number:02}" for number in range(12)]
    found = content(crossed(columns=names))
    looks = {bar.colour_index for panel in panels(found).panels for bar in panel.bars.values()}
    assert looks == set(range(12))
    of_runs = [
        (colour, run.facts.configuration)
        for run, colour in zip(found.runs, found.colours, strict=True)
        if run.facts
    ]
    assert len({colour for colour, _ in of_runs}) == len({name for _, name in of_runs})


def test_unsafe_cell_marked_never_best() -> None:
    facts = crossed()
    facts.append(
        made_run(
            {"filesystem": "memory", "RAID": "mirror", "scale": "10"},
            9000,
            marks=((NOT_DURABLE, "memory"),),
        )
    )
    panel = panels(content(facts)).panels[0]
    assert panel.bars["mirror", "memory"].warning == "NOT DURABLE"
    assert ("mirror", "memory") not in panel.best


def test_single_condition_has_tables_too() -> None:
    found = content(crossed(scales=["10"]))
    assert len(panels(found).panels) == 1
    assert found.answer.sentences


def test_crowd_over_time_begins_with_telling_lines() -> None:
    names = [f"fs{number:02}" for number in range(14)]
    facts = crossed(columns=names, rows=LEVELS[:1])
    facts[4] = replace(facts[4], summary={"tps": 1200.0, "stall_s": 9.0})
    found = content(facts)

    def shown(of: Content) -> tuple[list[str], str]:
        left_out, why = of.left_out
        return [run.facts.configuration for run in of.runs if run.facts and run.path not in left_out], why

    telling = ["fs00 mirror 10", "fs02 mirror 10", "fs13 mirror 10"]
    assert shown(found) == (telling, "Shown first: the highest mean, the lowest, and the longest stalls.")
    assert "fs07 mirror 100" in shown(found.with_focus(facts[15].path))[0]
    assert shown(content(facts[:14])) == ([f"fs{n:02} mirror 10" for n in range(7)], "Shown first: scale 10.")
    assert content(facts[:12]).left_out == ((), "")


def test_unsafe_signs_are_explained() -> None:
    facts = [
        replace(run, marks=((NOT_DURABLE, "memory"),)) if not n else run for n, run in enumerate(crossed())
    ]
    assert panels(content(facts)).note.endswith("whiskers: 95 % CI; ring: NOT DURABLE")


# --- odd matrices ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_configurations_are_bars(count: int) -> None:
    found = content(crossed(scales=["10"], rows=["mirror"])[:count])
    figure = make_figure(found, "tps")
    assert figure is not None
    assert not isinstance(figure, PanelFigure)
    assert len(found.colours) == count
    assert found.why_empty == ("" if count else "No run is shown.")


def test_thousand_configurations_in_bands() -> None:
    columns = [f"fs{number}" for number in range(10)]
    found = content(crossed(columns, [str(n) for n in range(10)], [str(n) for n in range(1, 11)]))
    figure = panels(found)
    assert sum(len(panel.bars) for panel in figure.panels) == 1000
    cells = [cell for _, _, each in figure._layout(Theme(Scheme.LIGHT), 600.0) for _, cell in each]
    assert all(cell.right() <= 600 for cell in cells)
    assert painted(figure, 600).width() == 600


def test_holes_stay_empty_thirty_runs_beside_one() -> None:
    facts = [each for each in crossed() if "xfs mirror" not in each.configuration]
    facts += [
        made_run({"filesystem": "ext4", "RAID": "mirror", "scale": "10"}, 1000 + repeat, repeat=repeat)
        for repeat in range(1, 30)
    ]
    panel = panels(content(facts)).panels[0]
    assert ("mirror", "xfs") not in panel.bars
    assert panel.bars["mirror", "ext4"].interval is not None
    assert panel.bars["mirror", "zfs"].interval is None
    assert not painted(panels(content(facts))).isNull()


def test_seven_factors_and_long_names() -> None:
    long = "x" * 300
    facts = [
        made_run(
            {
                "filesystem": fs,
                "RAID": raid,
                "shared_buffers": one,
                "wal_level": two,
                "fsync_method": three,
                "io_method": four,
                "wal_buffers": f"{long} {five}",
            },
            1000,
        )
        for fs in ("ext4", "xfs")
        for raid in LEVELS
        for one in ("1GB", "2GB")
        for two in ("replica", "minimal")
        for three in ("a", "b")
        for four in ("worker", "sync")
        for five in ("1", "2")
    ]
    found = content(facts)
    figure = panels(found)
    assert sum(len(panel.bars) for panel in figure.panels) == len(facts)
    image = painted(figure, 500)
    assert not image.isNull()
    row = FilterRow()
    row.offer(found)
    assert len(row.findChildren(QToolButton)) == 7
    assert all(len(button.text()) < 60 for button in row.findChildren(QToolButton))


# --- the page -------------------------------------------------------------------------------------


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[ComparePage]:
    made = ComparePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    yield made
    made.stop()
    assert finish_background(120)


def test_hidden_lines_counted_until_ticked(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    trials = [Trial(f"fs{n:02} #1", f"fs{n:02}", tps=1000 + n, filesystem=f"fs{n:02}") for n in range(14)]
    paths = [write_trial(tmp_path / f"{trial.configuration}.footing", trial) for trial in trials]
    with qtbot.waitSignal(page.settled):
        page.show_runs([ListedRun(read_entry(path), ()) for path in paths], {})
    assert isinstance(result_of(page).figure.figure, BarFigure), "too many levels for a table: the ranking"
    with qtbot.waitSignal(page.settled):
        page.choose_view("over-time")
    view = page.view
    assert isinstance(view, OverTimeView)
    assert "12 of 14 lines are hidden" in view.message.text()
    assert len(view.stack.charts[0].lines) == 2 < MOST_SHOWN
    page.set_focus_run(str(paths[5]))
    view.stack.set_run_visible(str(paths[7]), visible=True)
    assert "11 of 14" in view.message.text()
    view.stack.show_only(None)
    assert view.message.isHidden()


def test_side_by_side_shows_one_condition_of_many(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = [
        write_trial(
            tmp_path / f"{name} {scale}.footing",
            Trial(
                f"{name} {scale} #1", f"{name} {scale}", filesystem=name, seconds=20, more={"scale": scale}
            ),
        )
        for scale in (10, 100)
        for name in map(chr, range(97, 104))
    ]
    with qtbot.waitSignal(page.settled):
        page.show_runs([ListedRun(read_entry(path), ()) for path in paths], {})
    page.choose_view("multiples")
    view = page.view
    assert isinstance(view, MultiplesView)
    qtbot.waitUntil(lambda: view.figure.figure is not None)
    figure = view.figure.figure
    assert isinstance(figure, SmallMultiples)
    assert [trace.label for trace in figure.traces] == [f"{name} 10" for name in map(chr, range(97, 104))]
    assert [trace.colour_index for trace in figure.traces] == list(page.content.colours[:7])
    assert "Shown first: scale 10." in {label.text() for label in view.findChildren(QLabel)}


def test_many_names_are_counted() -> None:
    assert name_some(["a", "b"]) == "a, b"
    assert name_some(list("abcdefgh")) == "a, b, c, d, e and 3 more"


def show(qtbot: QtBot, page: ComparePage, folder: Path) -> list[Path]:
    """Show twelve runs: three filesystems, two settings, two scales."""
    paths = []
    for number in range(12):
        filesystem, wal = FILESYSTEMS[number % 3], ("1GB", "8GB")[number // 3 % 2]
        scale = 10 if number < 6 else 100
        name = f"{filesystem} {wal} {scale}"
        trial = Trial(
            f"{name} #1",
            name,
            tps=1000 + 100 * (number % 3),
            filesystem=filesystem,
            seconds=20,
            more={"scale": scale, "settings": [{"name": "max_wal_size", "value": wal, "origin": "user"}]},
        )
        paths.append(write_trial(folder / f"{number:02}.footing", trial))
    with qtbot.waitSignal(page.settled):
        page.show_runs([ListedRun(read_entry(path), ()) for path in paths], {})
    return paths


def result_of(page: ComparePage) -> ResultView:
    assert isinstance(page.view, ResultView)
    return page.view


def test_answers_are_lines_above_tables(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, tmp_path)
    view = result_of(page)
    lines = view.sentence.text().splitlines()
    assert lines[0] == "Which filesystem? zfs: the highest mean everywhere."
    assert len(lines) > 1
    assert isinstance(view.figure.figure, PanelFigure)
    view.copying.menu().actions()[1].trigger()
    assert view.figure.figure.csv().startswith("Condition,max_wal_size,zfs,xfs,ext4")


def test_filter_holds_in_every_tab(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    show(qtbot, page, tmp_path)
    with qtbot.waitSignal(page.settled):
        page.filters.choose("scale", ["10"])
    assert len(page.content.runs) == 6
    assert page.filters.words == "scale: 10"
    assert [panel.heading for panel in panels(page.content).panels] == [""]
    with qtbot.waitSignal(page.settled):
        page.choose_view("over-time")
    over_time = page.view
    assert isinstance(over_time, OverTimeView)
    stack = over_time.stack

    def drawn() -> int:
        return len(stack.runs)

    assert drawn() == 6
    with qtbot.waitSignal(page.settled):
        page.filters.choose("filesystem", ["ext4", "xfs"])
    assert drawn() == 4
    with qtbot.waitSignal(page.settled):
        page.filters.clear()
    assert drawn() == 12


def test_filter_that_leaves_nothing_says_so(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = show(qtbot, page, tmp_path)
    page.filters.choose_runs("one of ext4", [str(paths[0])])
    with qtbot.waitSignal(page.settled):
        page.filters.choose("filesystem", ["zfs"])
    sentence = "No run matches all: one of ext4; filesystem: zfs."
    assert page.text.toPlainText() == sentence
    assert page.tabs.currentWidget().empty.sentence.text() == sentence  # type: ignore[attr-defined]
    every = page.filters.findChildren(QToolButton)[-1]
    with qtbot.waitSignal(page.settled):
        QTest.mouseClick(every, Qt.MouseButton.LeftButton)
    assert len(page.content.runs) == 12


def test_click_on_cell_shows_its_runs(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = show(qtbot, page, tmp_path)
    view = result_of(page)
    figure, sheet = view.figure.figure, view.figure.sheet
    assert isinstance(figure, PanelFigure)
    size = QSizeF(sheet.size())
    _, _, cells = next(figure._grown(page._theme, size))
    at = next(cell.center() for place, cell in cells if place == ("1GB", "ext4"))
    assert figure.text_at(size, page._theme, at).startswith("scale 10\n1GB, ext4: 1,000")
    assert figure.cell_at(size, page._theme, QPointF(-1, -1)) is None
    with qtbot.waitSignal(page.settled):
        QTest.mouseClick(sheet, Qt.MouseButton.LeftButton, pos=QPoint(round(at.x()), round(at.y())))
        qtbot.waitUntil(lambda: len(page.content.runs) == 1)
    assert isinstance(page.view, OverTimeView)
    assert [run.path for run in page.content.runs] == [str(paths[0])]
    assert page.filters.words == "scale 10, 1GB, ext4"


def test_runs_that_vanish_leave_the_filter(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    paths = show(qtbot, page, tmp_path)
    for path in paths[:6]:
        path.unlink()
    with qtbot.waitSignal(page.settled):
        page.choose_view("over-time")
    assert len(page.content.runs) == 6
    with qtbot.waitSignal(page.settled):
        page.filters.choose("filesystem", ["zfs"])
    assert len(page.content.runs) == 2
