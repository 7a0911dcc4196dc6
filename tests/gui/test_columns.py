"""A column put into the table of a comparison at any place leaves the meaning of every other one alone."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from rich.console import Console

from app.analysis.facts import read_run_facts
from app.cli.commands.run import show_table
from app.cli.commands.runs.compare import compare_command
from app.comparison.table import COMPARISON_COLUMNS, ComparisonRow
from app.domain.campaign.configuration import Campaign, Configuration, FolderTarget, PlannedRun
from app.domain.columns import Column
from app.domain.run import RunState
from app.execution.campaign import CampaignResult
from app.library.entries import read_entry
from app.library.scan import ListedRun
from app.recording.events import RunResult
from app.report.blocks import Report, ReportTable
from app.report.report import read_report
from tests.fix_columns import Shown, printed_table, put_in
from tests.fix_report import UNSAFE, Case, write_cases
from tests.fix_runs import Shape
from ui.background import finish_background
from ui.compare.page import ComparePage
from ui.compare.views import TableView
from ui.report.canvas import FOOT_MM, PAPERS, Canvas, TextStyle
from ui.report.save import report_pdf
from ui.theme import Scheme, Theme

PLACES = (0, len(COMPARISON_COLUMNS) // 2, len(COMPARISON_COLUMNS))
"""Before all, which moves every other one, in their middle, behind all."""
NEW = "Inserted"
CONFIGURATIONS = (("ext4", 5000.0), ("xfs", 6000.0), ("btrfs", 3000.0))
WORDS = {"Configuration", "Marks", "Verdict"}


def new_cell(row: ComparisonRow) -> str:
    return f"new {row.name}"


@dataclass
class Painted:
    """A table as the PDF shows it: its cells, and the headings of those that stand out in a row."""

    cells: Shown = field(default_factory=dict)
    warned: list[set[str]] = field(default_factory=list)


@dataclass
class Windowed:
    """A table as the window shows it: its cells, the headings at the left, those with a swatch, its text."""

    cells: Shown
    left: set[str]
    swatches: set[str]
    beside: str


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    cases = [
        Case(name, repeat, Shape(12, tps + 20 * repeat), name, marks=(UNSAFE,) if name == "btrfs" else ())
        for repeat in range(3)
        for name, tps in CONFIGURATIONS
    ]
    return write_cases(tmp_path_factory.mktemp("compared"), cases)


@pytest.fixture
def page(qtbot: QtBot, paths: list[Path]) -> Iterator[ComparePage]:
    made = ComparePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    with qtbot.waitSignal(made.settled):
        made.show_runs(
            [ListedRun(read_entry(path), ()) for path in paths],
            {str(path): number for number, path in enumerate(paths)},
            "",
        )
    made.choose_view("table")
    yield made
    made.stop()
    assert finish_background(120)


def put_new_in(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    put_in(monkeypatch, COMPARISON_COLUMNS, Column("new", NEW, new_cell), place)


def compare_arguments(paths: list[Path]) -> argparse.Namespace:
    return argparse.Namespace(
        runs=list(map(str, paths)),
        library=None,
        effect=2.0,
        cut=0.0,
        where=[],
        rows="",
        columns="",
        baseline="",
        across="",
        json=False,
        details=False,
        again=None,
        worse_than=None,
    )


def campaign_result(paths: list[Path]) -> CampaignResult:
    made = {name: Configuration(name, FolderTarget("/srv")) for name, _ in CONFIGURATIONS}
    results = []
    for number, path in enumerate(paths):
        facts = read_run_facts(path)
        planned = PlannedRun(number + 1, made[facts.configuration], facts.repeat, 0)
        results.append(RunResult(planned, RunState.DONE, str(path), facts.summary, facts.marks))
    return CampaignResult(Campaign("Trial", tuple(made.values())), paths[0].parent, results)


def without_new(shown: Shown, cells: list[str]) -> Shown:
    """Return what is shown of all other columns; the new one shows its own cells."""
    assert shown[NEW] == cells
    return {heading: found for heading, found in shown.items() if heading != NEW}


def new_cells(names: list[str]) -> list[str]:
    return [f"new {name}" for name in names]


# --- the command line -----------------------------------------------------------------------------


def printed(paths: list[Path], capsys: pytest.CaptureFixture[str], first: str) -> tuple[Shown, Shown]:
    """Return the tables of `compare` and `run`, which begin with the heading `first`."""
    assert compare_command(compare_arguments(paths)) == 0
    compared = capsys.readouterr().out
    show_table(campaign_result(paths), Console())
    ended = capsys.readouterr().out
    rows = len(CONFIGURATIONS)
    return printed_table(compared, first, rows), printed_table(ended, first, rows)


@pytest.mark.parametrize("place", PLACES)
def test_new_column_on_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paths: list[Path], place: int
) -> None:
    before = printed(paths, capsys, "Configuration")
    assert [shown["Marks"] for shown in before] == [["", "", "unsafe"]] * 2
    put_new_in(monkeypatch, place)
    after = printed(paths, capsys, "Configuration" if place > 1 else NEW)  # before it only the condition
    names = new_cells([name for name, _ in CONFIGURATIONS])
    assert tuple(without_new(shown, names) for shown in after) == before


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", ["compare", "run"])
def test_narrow_terminal_omits_same_columns_first(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    paths: list[Path],
    command: str,
    place: int,
) -> None:
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    put_new_in(monkeypatch, place)
    if command == "compare":
        compare_command(compare_arguments(paths))
    else:
        show_table(campaign_result(paths), Console())
    output = capsys.readouterr().out
    _, found, rest = output.partition("Hidden columns: ")
    left_out = rest.partition(".")[0].split(", ")
    optional = [column for column in COMPARISON_COLUMNS if column.optional is not None]
    turns = [column.heading for column in sorted(optional, key=lambda column: column.optional or 0)]
    assert found
    assert left_out == turns[: len(left_out)]
    assert left_out[0] == "CI of difference", "what is said of the difference once more"
    table = output[output.index("95 % CI") : output.index("Hidden columns")]
    assert all(f"new {name}" in table for name, _ in CONFIGURATIONS)
    assert "%" in table[table.index("Difference") :], "the difference itself stays"


# --- the window and its CSV -----------------------------------------------------------------------


def windowed(page: ComparePage) -> Windowed:
    view = page.view
    assert isinstance(view, TableView)
    table = view.table
    across = Qt.Orientation.Horizontal
    headings = {place: str(table.model().headerData(place, across)) for place in range(table.columnCount())}
    items = {
        heading: [item for row in range(table.rowCount()) if (item := table.item(row, place)) is not None]
        for place, heading in headings.items()
    }
    flag = Qt.AlignmentFlag.AlignLeft
    return Windowed(
        {heading: [item.text() for item in found] for heading, found in items.items()},
        {heading for heading, found in items.items() if all(item.textAlignment() & flag for item in found)},
        {heading for heading, found in items.items() if not any(item.icon().isNull() for item in found)},
        page.text.toPlainText(),
    )


def copied(page: ComparePage) -> Shown:
    view = page.view
    assert isinstance(view, TableView)
    headings, *rows = csv.reader(io.StringIO(view.table.text_of_selection()))
    return {heading: [row[place] for row in rows] for place, heading in enumerate(headings)}


@pytest.mark.parametrize("place", PLACES)
def test_new_column_in_window_and_csv(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, page: ComparePage, place: int
) -> None:
    before, before_csv = windowed(page), copied(page)
    assert before.left == WORDS
    assert before.swatches == {"Configuration"}
    assert "faster than ext4" in before.cells["Verdict"][1]
    assert before.cells["Marks"] == ["", "", "unsafe"]
    put_new_in(monkeypatch, place)
    for change in (1, -1):  # another effect: the page compares anew
        with qtbot.waitSignal(page.settled):
            page.effect.setValue(page.effect.value() + change)
    after, after_csv = windowed(page), copied(page)
    names = new_cells(before.cells["Configuration"])
    assert without_new(after.cells, names) == before.cells
    assert without_new(after_csv, names) == before_csv
    assert (after.left, after.swatches, after.beside) == (before.left, before.swatches, before.beside)


# --- the PDF --------------------------------------------------------------------------------------


def painted(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> Painted:
    """Paint the table of the first page and read it back from where its texts are in line."""
    table = next(block for block in read_report(paths).blocks if isinstance(block, ReportTable))
    paper = replace(PAPERS["a4"], width=400.0)  # no word is broken there
    written: list[tuple[float, bool, str, TextStyle]] = []
    write = Canvas.text

    def keep(self: Canvas, x: float, y: float, text: str, kind: TextStyle, *, right: bool = False) -> None:
        if y < paper.height - paper.bottom - FOOT_MM:
            written.append((round(x, 3), right, text, kind))
        write(self, x, y, text, kind, right=right)

    with monkeypatch.context() as patch:
        patch.setattr(Canvas, "text", keep)
        report_pdf(Report("Table", (table,), (), 0.0), paper)
    headings: dict[tuple[float, bool], str] = {}
    rows: list[dict[str, str]] = []
    found = Painted()
    for x, right, text, kind in written:
        if (x, right) == next(iter(headings), None):
            rows.append(dict.fromkeys(headings.values(), ""))
            found.warned.append(set())
        if (x, right) in headings and rows:
            heading = headings[x, right]
            rows[-1][heading] = f"{rows[-1][heading]} {text}".strip()
            if kind.colour == "warning":
                found.warned[-1].add(heading)
        elif not rows:
            headings[x, right] = f"{headings.get((x, right), '')} {text}".strip()
    found.cells = {heading: [row[heading] for row in rows] for heading in headings.values()}
    return found


@pytest.mark.parametrize("place", PLACES)
def test_new_column_in_pdf(monkeypatch: pytest.MonkeyPatch, paths: list[Path], place: int) -> None:
    before = painted(paths, monkeypatch)
    names = before.cells["Configuration"]
    assert names == ["xfs", "ext4", "btrfs"]
    assert before.cells["Difference"][1] == "baseline"
    assert before.cells["Marks"] == ["", "", "unsafe"]
    assert before.warned == [set(), set(), {"Marks"}]
    put_new_in(monkeypatch, place)
    after = painted(paths, monkeypatch)
    assert without_new(after.cells, new_cells(names)) == before.cells
    assert after.warned == before.warned
