from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from app.domain.run import RunState
from app.library.scan import LibraryScan, ListedRun
from tests.fix_window import LONG_NAME, Trial, write_bad_files, write_campaign, write_trial
from ui.background import finish_background
from ui.theme import Theme
from ui.widgets.texts import one_line, tooltip
from ui.window.library import reader as library_reader
from ui.window.library.delegate import check_width
from ui.window.library.model import COLOUR_ROLE, MIME_TYPE, ROW_ROLE, Heading, LibraryModel, RunRow
from ui.window.library.panel import LibraryPanel
from ui.window.library.reader import LibraryReader

PLAIN = Qt.KeyboardModifier.NoModifier


def listed(library: Path) -> list[ListedRun]:
    return list(LibraryScan(library).read())


def names(model: LibraryModel) -> list[str]:
    return [str(model.index(row).data()) for row in range(model.rowCount())]


@pytest.fixture
def model(qtbot: QtBot) -> LibraryModel:
    made = LibraryModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


def test_runs_below_campaign_bad_files_last(model: LibraryModel, tmp_path: Path) -> None:
    write_campaign(tmp_path, repeats=1)
    write_bad_files(tmp_path / "bad")
    model.set_runs(listed(tmp_path))
    assert names(model) == [
        "Trial",
        "ext4 #1",
        "xfs #1",
        "Trial",
        "left",
        "Cannot be read",
        "cut",
        "newer",
        "text",
    ]


def test_unchanged_rows_keep_their_place(model: LibraryModel, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    model.set_runs(listed(tmp_path))
    kept = model.index_of(str(paths[3]))
    paths[0].unlink()
    write_trial(tmp_path / "two" / "new.footing", Trial(name="new", started=1.9e9))
    resets: list[None] = []
    model.modelReset.connect(lambda: resets.append(None))
    model.set_runs(listed(tmp_path))
    assert names(model)[:2] == ["Trial", "new"]
    assert "ext4 #1" not in names(model)
    assert resets == []
    assert kept.row() != model.index_of(str(paths[3])).row()


def test_reordered_runs_shown_in_new_order(model: LibraryModel, tmp_path: Path) -> None:
    write_campaign(tmp_path, "a", repeats=1, started=1.7e9)
    write_campaign(tmp_path, "b", repeats=1, started=1.6e9)
    runs = listed(tmp_path)
    model.set_runs(runs)
    (tmp_path / "b" / "00-ext4.footing").unlink()
    write_trial(tmp_path / "b" / "00-ext4.footing", Trial(name="late", started=1.9e9))
    model.set_runs(listed(tmp_path))
    assert names(model) == ["Trial", "xfs #1", "late", "Trial", "ext4 #1", "xfs #1"]


def test_chosen_run_keeps_first_free_colour(model: LibraryModel, tmp_path: Path) -> None:
    first, second, third, *_ = (str(path) for path in write_campaign(tmp_path))
    model.set_runs(listed(tmp_path))
    model.choose([first, second])
    assert model.chosen == {first: 0, second: 1}
    model.choose([second, third])
    assert model.chosen == {second: 1, third: 0}
    model.choose([first])
    assert model.chosen == {first: 0}
    model.toggle(second)
    assert model.chosen == {first: 0, second: 1}
    assert model.index_of(first).data(COLOUR_ROLE) == 0
    assert model.index_of(third).data(COLOUR_ROLE) == -1


def test_colours_independent_of_reading_order(model: LibraryModel, tmp_path: Path) -> None:
    write_campaign(tmp_path, "a", repeats=1, started=1.6e9)
    runs = listed(tmp_path)
    paths = [run.entry.path for run in sorted(runs, key=lambda run: run.entry.started or 0.0)]
    model.set_runs(runs)
    model.choose(paths)
    at_once = dict(model.chosen)
    assert sorted(at_once.values()) == [0, 1]
    model.choose(())
    fresh = LibraryModel()
    before = fresh.numbering
    fresh.set_runs([run for run in runs if run.entry.path == paths[-1]])
    fresh.choose(paths[-1:], before)
    fresh.set_runs(runs)
    fresh.choose(paths, before)
    assert fresh.chosen == at_once


def test_campaign_ticked_as_a_whole(model: LibraryModel, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    model.set_runs(listed(tmp_path))
    heading = model.index(0).data(ROW_ROLE)
    assert isinstance(heading, Heading)
    model.toggle(heading.key)
    assert list(model.chosen) == [str(path) for path in paths]
    model.toggle(heading.key)
    assert model.chosen == {}


def test_unreadable_file_unselectable_with_reason(model: LibraryModel, tmp_path: Path) -> None:
    bad = write_bad_files(tmp_path)
    model.set_runs(listed(tmp_path))
    model.choose([str(bad["cut"]), str(bad["text"]), str(bad["newer"])])
    assert model.chosen == {}
    index = model.index_of(str(bad["newer"]))
    assert not model.flags(index) & Qt.ItemFlag.ItemIsUserCheckable
    assert "has format 9" in str(index.data(Qt.ItemDataRole.AccessibleTextRole))
    assert "has format 9" in str(index.data(Qt.ItemDataRole.ToolTipRole))


def test_deleted_run_no_longer_chosen(qtbot: QtBot, model: LibraryModel, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    model.set_runs(listed(tmp_path))
    model.choose(map(str, paths[:2]))
    paths[0].unlink()
    with qtbot.waitSignal(model.chosen_changed):
        model.set_runs(listed(tmp_path))
    assert list(model.chosen) == [str(paths[1])]


def test_row_described_to_screen_reader(model: LibraryModel, tmp_path: Path) -> None:
    trial = Trial(name="x", tps=4321, state=RunState.STOPPED, marks=(("unsafe", "fsync = off"),))
    path = write_trial(tmp_path / "x.footing", trial)
    model.set_runs(listed(tmp_path))
    text = str(model.index_of(str(path)).data(Qt.ItemDataRole.AccessibleTextRole))
    assert text.startswith("x, 4,321 transactions per second, whole run, stopped early, unsafe, ext4")


def test_foreign_names_plain_on_one_line(model: LibraryModel, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "x.footing", Trial(name="<b>a</b>\n\x1b[31mb\u2028c"))
    model.set_runs(listed(tmp_path))
    index = model.index_of(str(path))
    assert index.data() == "<b>a</b> [31mb c"
    assert "&lt;b&gt;a&lt;/b&gt;" in str(index.data(Qt.ItemDataRole.ToolTipRole))
    assert tooltip("<i>", "") == "<qt>&lt;i&gt;</qt>"
    assert one_line("a\tb") == "a b"


def test_rows_are_dragged_as_their_paths(model: LibraryModel, tmp_path: Path) -> None:
    paths = write_campaign(tmp_path, repeats=1)
    bad = write_bad_files(tmp_path / "bad")
    model.set_runs(listed(tmp_path))
    data = model.mimeData([model.index_of(str(path)) for path in (paths[1], bad["cut"])])
    assert bytes(data.data(MIME_TYPE).data()).decode() == str(paths[1])
    assert [url.toLocalFile() for url in data.urls()] == [str(paths[1]), str(bad["cut"])], "files for others"
    data = model.mimeData([model.index(0)])
    assert [url.toLocalFile() for url in data.urls()] == [str(path) for path in paths], "a campaign: its runs"


# The panel


@pytest.fixture
def panel(qtbot: QtBot, model: LibraryModel, light: Theme, tmp_path: Path) -> LibraryPanel:
    write_campaign(tmp_path / "library")
    made = LibraryPanel(model, light)
    made.folder = tmp_path / "library"
    qtbot.addWidget(made)
    made.resize(320, 500)
    made.show()
    made.show_runs(listed(tmp_path / "library"), complete=True)
    return made


def place_of(panel: LibraryPanel, row: int, *, tick: bool = False) -> QPoint:
    rect = panel.list.visualRect(panel.list.model().index(row, 0))
    x = check_width(panel.list.fontMetrics()) // 2 if tick else rect.center().x()
    return QPoint(x, rect.center().y())


def chosen_names(model: LibraryModel) -> list[str]:
    return [
        row.run.entry.name or ""
        for path in model.chosen
        if isinstance(row := model.row(model.index_of(path)), RunRow)
    ]


def test_click_keeps_ticks_of_others(panel: LibraryPanel, model: LibraryModel) -> None:
    view, left = panel.list.viewport(), Qt.MouseButton.LeftButton
    control = Qt.KeyboardModifier.ControlModifier
    QTest.mouseClick(view, left, PLAIN, place_of(panel, 1, tick=True))
    QTest.mouseClick(view, left, control, place_of(panel, 2))
    assert chosen_names(model) == ["ext4 #1", "xfs #1"]
    QTest.mouseClick(view, left, PLAIN, place_of(panel, 3))
    assert panel.list.currentIndex().row() == 3
    assert chosen_names(model) == ["ext4 #1", "xfs #1"]
    QTest.mouseClick(view, left, PLAIN, place_of(panel, 1, tick=True))
    assert chosen_names(model) == ["xfs #1"]


def test_double_click_shows_alone(panel: LibraryPanel, model: LibraryModel) -> None:
    view, left = panel.list.viewport(), Qt.MouseButton.LeftButton
    for row, count in ((0, 6), (3, 1)):
        QTest.mouseDClick(view, left, PLAIN, place_of(panel, row))
        assert len(model.chosen) == count
    assert chosen_names(model) == ["ext4 #2"]
    QTest.mouseDClick(view, left, PLAIN, place_of(panel, 2, tick=True))
    assert "ext4 #2" in chosen_names(model), "ticked and unticked, nothing else"


def test_everything_is_done_with_the_keyboard_alone(panel: LibraryPanel, model: LibraryModel) -> None:
    focus: list[str] = []
    panel.focus_changed.connect(focus.append)
    panel.list.setFocus()
    panel.list.setCurrentIndex(model.index(0))
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert chosen_names(model) == ["ext4 #1"]
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert chosen_names(model) == ["ext4 #1", "xfs #1"]
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert chosen_names(model) == ["ext4 #1"]
    assert [Path(path).name for path in focus if path] == ["00-ext4.footing", "01-xfs.footing"]


def test_row_menu_matches_row(qtbot: QtBot, panel: LibraryPanel, model: LibraryModel) -> None:
    menu = panel.open_menu(model.index(1), QPoint(5, 5))
    enabled = [action for action in menu.actions() if action.isEnabled() and not action.isSeparator()]
    texts = [action.text().replace("&", "") for action in enabled]
    assert texts[:4] == ["Show only this", "Add to the charts", "Replay", "Open its folder"]
    assert texts[4:] == ["Name, tags, note …", "Move to the trash"]
    with qtbot.waitSignal(panel.replay_asked) as asked:
        menu.actions()[2].trigger()
    assert asked.args == [model.index(1).data(ROW_ROLE).key]
    menu.close()


def test_count_mentions_unreadable_files(panel: LibraryPanel, tmp_path: Path) -> None:
    write_bad_files(tmp_path / "library" / "bad")
    panel.show_runs(listed(tmp_path / "library"), complete=False)
    assert panel.count.text() == "10 runs, 3 cannot be read, reading …"


def test_long_names_and_bad_files_painted(panel: LibraryPanel, model: LibraryModel, tmp_path: Path) -> None:
    library = tmp_path / "library"
    marks = (("unsafe", "fsync = off"), ("not-steady", "it has a trend"), ("foreign-kind", ""))
    write_trial(
        library / "long" / "x.footing", Trial(name=LONG_NAME, campaign=LONG_NAME, marks=marks, started=1.9e9)
    )
    write_bad_files(library / "bad")
    panel.show_runs(listed(library), complete=True)
    model.choose(model.newest_campaign())
    for width in (120, 320, 900):
        panel.resize(width, 600)
        assert not panel.grab().isNull()
    assert panel.list.horizontalScrollBar().maximum() == 0


def test_chosen_row_shows_line_colour(panel: LibraryPanel, model: LibraryModel, light: Theme) -> None:
    def paints(colour: int) -> bool:
        image = QPixmap(panel.list.viewport().grab()).toImage()
        return any(image.pixel(x, y) == colour for x in range(image.width()) for y in range(image.height()))

    colour = light.series_colour(0).rgb()
    assert not paints(colour)
    model.choose(model.newest_campaign()[:1])
    assert paints(colour)


# Following the folder


@pytest.fixture
def reader(qtbot: QtBot, own_state: Path, tmp_path: Path) -> LibraryReader:
    return LibraryReader(tmp_path / "library")


def wait_for_runs(qtbot: QtBot, reader: LibraryReader, count: int) -> list[ListedRun]:
    seen: list[list[ListedRun]] = []

    def enough(runs: list[ListedRun], complete: bool) -> bool:  # noqa: FBT001 - the signal's signature
        seen.append(runs)
        return complete and len(runs) == count

    with qtbot.waitSignal(reader.read, check_params_cb=enough):
        reader.refresh()
    return seen[-1]


def test_file_changes_noticed(qtbot: QtBot, reader: LibraryReader, tmp_path: Path) -> None:
    wait_for_runs(qtbot, reader, 0)

    def becomes(count: int) -> AbstractContextManager[object]:
        return qtbot.waitSignal(
            reader.read,
            check_params_cb=lambda runs, complete: complete and len(runs) == count,
        )

    with becomes(2):
        paths = write_campaign(tmp_path / "library", repeats=1)
    with becomes(1):
        paths[0].unlink()
    reader.stop()
    assert finish_background(60)


def test_large_library_shown_in_slices(
    qtbot: QtBot, reader: LibraryReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_reader, "SLICE_S", 0.0)  # a file a slice, however fast the disk
    for number in range(3):
        write_trial(tmp_path / "library" / f"{number:03}.footing", Trial(seconds=2, started=1.8e9 + number))
    steps: list[tuple[int, bool]] = []
    reader.read.connect(lambda runs, complete: steps.append((len(runs), complete)))
    wait_for_runs(qtbot, reader, 3)
    assert steps == [(1, False), (2, False), (3, False), (3, True)]
    steps.clear()
    wait_for_runs(qtbot, reader, 3)
    assert steps == [(3, True)], "a list that is known stays until all is read again"
    reader.stop()


def test_a_refresh_while_reading_reads_once_more(qtbot: QtBot, reader: LibraryReader, tmp_path: Path) -> None:
    write_campaign(tmp_path / "library", repeats=1)
    ends: list[int] = []
    reader.read.connect(lambda runs, complete: ends.append(len(runs)) if complete else None)
    reader.refresh()
    reader.refresh()
    qtbot.waitUntil(lambda: len(ends) == 2)
    reader.stop()


def test_a_stopped_reader_delivers_nothing(qtbot: QtBot, reader: LibraryReader, tmp_path: Path) -> None:
    write_campaign(tmp_path / "library", repeats=1)
    seen: list[QModelIndex] = []
    reader.read.connect(lambda *_: seen.append(QModelIndex()))
    reader.refresh()
    reader.stop()
    assert finish_background(60)
    qtbot.wait(50)
    assert seen == []


def test_warning_painted_first_when_narrow(panel: LibraryPanel, model: LibraryModel, tmp_path: Path) -> None:
    paths = [
        write_trial(tmp_path / "more" / f"{state}.footing", Trial("run", state=RunState(state)))
        for state in ("done", "stopped")
    ]
    model.set_runs(listed(tmp_path / "more"))
    panel.resize(110, 500)
    picture = panel.list.viewport().grab().toImage()

    def warned(path: Path) -> bool:
        rows = panel.list.visualRect(model.index_of(str(path))).intersected(picture.rect())
        points = ((x, y) for x in range(rows.left(), rows.right()) for y in range(rows.top(), rows.bottom()))
        colours = (picture.pixelColor(x, y) for x, y in points)
        return any(colour.red() - colour.green() > 60 for colour in colours)

    assert [warned(path) for path in paths] == [False, True]
