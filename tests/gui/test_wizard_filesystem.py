"""The filesystem page says the field's words, finds by them, and shows what is not the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAction, QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QMenu, QScrollArea
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import DiskTarget
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Role
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Step
from app.draft.matrix.ticking import cell_rows
from tests.gui.test_wizard import page_of
from tests.gui.test_wizard_disks import ENVIRONMENT, Machinery, draft_on_disks
from tests.made_disks import SPARE
from ui.background import finish_background
from ui.style import FAMILY, load_fonts
from ui.theme import Scheme, Theme
from ui.wizard.editors.disk_table import DiskColumn
from ui.wizard.editors.options_form import OptionEditor
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.filesystem_page import FilesystemPage
from ui.wizard.wizard import Wizard

OpenPage = Callable[..., FilesystemPage]


@pytest.fixture
def open_page(qtbot: QtBot, tmp_path: Path) -> Iterator[OpenPage]:
    made: list[Wizard] = []

    def make(draft: CampaignDraft | None = None, size: tuple[int, int] = (1280, 800)) -> FilesystemPage:
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        draft = draft or draft_on_disks(2)
        wizard = Wizard(Theme(Scheme.LIGHT), draft, settings=settings, make_watch=Machinery())
        made.append(wizard)
        qtbot.addWidget(wizard)
        wizard.resize(*size)
        wizard.show()
        qtbot.waitExposed(wizard)
        wizard.activateWindow()
        qtbot.waitUntil(wizard.isActiveWindow)
        wizard.flow.step = wizard.flow.furthest = Step.FILESYSTEM
        wizard._open_page()
        qtbot.waitUntil(lambda: draft.storage.listing is not None)
        return page_of(wizard, FilesystemPage)

    yield make
    for wizard in made:
        wizard.close()
    assert finish_background(120)


def found(page: FilesystemPage) -> list[str]:
    return [name for name, editor in page.editors.items() if editor.isVisible()]


@pytest.mark.parametrize(
    ("filesystem", "word", "option"),
    [
        ("ext4", "nobarrier", "barrier"),
        pytest.param("ext4", "noatime", "atime", marks=pytest.mark.long),
        pytest.param("ext4", "writeback", "data", marks=pytest.mark.long),
        pytest.param("ext4", "has_journal", "journal", marks=pytest.mark.long),
        ("ext4", "Commit interval", "commit"),
        pytest.param("xfs", "logbsize", "logbsize", marks=pytest.mark.long),
        pytest.param("btrfs", "nodatacow", "datacow", marks=pytest.mark.long),
        ("btrfs", "chattr +C", "nocow_attribute"),
        pytest.param("zfs", "recordsize", "recordsize", marks=pytest.mark.long),
        ("zfs", "ASHIFT", "ashift"),
        pytest.param("zfs", "redundant_metadata", "redundant_metadata", marks=pytest.mark.long),
    ],
)
def test_search_finds_an_options_box(open_page: OpenPage, filesystem: str, word: str, option: str) -> None:
    page = open_page()
    page.cards[filesystem].click()
    QTest.keyClick(page.window().windowHandle(), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.options.search.hasFocus()
    QTest.keyClicks(page.options.search, word)
    assert found(page) == [option]
    QTest.keyClick(page.options.search, Qt.Key.Key_Return)
    editor = page.editors[option]
    assert editor.control.hasFocus(), "Enter presses no button"
    assert page.isVisible()
    page.options.search.clear()
    assert len(found(page)) == len(page.editors)


@pytest.mark.parametrize(
    ("filesystem", "word", "says"),
    [
        ("ext4", "nodatacow", "ext4 has no such option. btrfs has it: Copy on write (nodatacow)."),
        ("ext4", "recordsize", "ext4 has no such option. ZFS has it: Record size (recordsize)."),
        ("xfs", "nothing of the kind", "XFS has no such option."),
    ],
)
def test_search_names_filesystem_with_option(
    open_page: OpenPage, filesystem: str, word: str, says: str
) -> None:
    page = open_page()
    page.cards[filesystem].click()
    QTest.keyClicks(page.options.search, word)
    assert found(page) == []
    assert page.options.nothing.text() == says
    assert page.options.nothing.isVisible()


def test_search_explains_impossible_option(open_page: OpenPage) -> None:
    page = open_page()
    page.cards["zfs"].click()
    QTest.keyClicks(page.options.search, "nobarrier")
    assert found(page) == []
    assert "sync" in page.options.nothing.text()


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs", "zfs"])
def test_eight_real_options_visible_at_1280x800(open_page: OpenPage, filesystem: str) -> None:
    page = open_page(size=(1152, 720))
    page.cards[filesystem].click()
    (area,) = [each for each in page.window().findChildren(QScrollArea) if each.widget() is page]
    assert area.verticalScrollBar().value() == 0
    assert sum(is_in_sight(editor, area) for editor in page.editors.values()) >= 8


@pytest.fixture
def large_type(qapp: QApplication) -> Iterator[None]:
    before = qapp.font()
    load_fonts()
    font = QFont(FAMILY)
    font.setPointSizeF(before.pointSizeF() * 1.5)
    qapp.setFont(font)
    yield
    qapp.setFont(before)


@pytest.mark.usefixtures("large_type")
@pytest.mark.parametrize("size", [(1024, 640), (1280, 800)])
def test_six_options_visible_with_large_type(open_page: OpenPage, size: tuple[int, int]) -> None:
    page = open_page(size=size)
    (area,) = [each for each in page.window().findChildren(QScrollArea) if each.widget() is page]
    for filesystem in ("xfs", "zfs", "btrfs", "ext4"):
        page.cards[filesystem].click()
        QApplication.processEvents()
        seen = [name for name, editor in page.editors.items() if is_in_sight(editor, area)]
        few = filesystem == "xfs" and size[0] < 1280  # it says why it has no barriers
        assert len(seen) >= (4 if few else 6), filesystem
    barrier = page.editors["barrier"]
    assert not barrier._notes.isVisible()
    barrier.control.setFocus()
    QTest.keyClick(barrier.control, Qt.Key.Key_Space)
    assert (
        "A power cut can lose acknowledged commits or the whole filesystem, unless "
        "all write caches survive it (power-loss protection, battery)"
    ) in barrier.badge.text()
    assert barrier._notes.isVisible(), "what is dangerous is said at the option"


@pytest.mark.usefixtures("large_type")
@pytest.mark.parametrize("size", [(1024, 640), (1280, 800)])
def test_serial_and_reason_whole_with_large_type(open_page: OpenPage, size: tuple[int, int]) -> None:
    wizard = open_page(size=size).window()
    assert isinstance(wizard, Wizard)
    wizard.flow.step = Step.DISKS
    wizard._open_page()
    QApplication.processEvents()
    page = page_of(wizard, DisksPage)
    table = page.table
    assert table.horizontalScrollBar().maximum() == 0
    disks = [row.disk for row in table.disks.rows if row.disk is not None]
    room = table.columnWidth(DiskColumn.DISK)
    assert all(table.fontMetrics().horizontalAdvance(disk.identity.serial) < room for disk in disks)
    assert page.why.isVisible()
    assert all(word in page.why.text() for word in ("/dev/", disks[0].identity.serial, "1.82 TiB"))
    assert wizard.rect().contains(wizard.next.geometry())


def is_in_sight(editor: OptionEditor, area: QScrollArea) -> bool:
    """Whether both the control and the real name are seen whole."""
    seen = area.viewport().rect()
    return all(
        seen.contains(widget.mapTo(area.viewport(), corner))
        for widget in (editor.control, editor.word)
        for corner in (QPoint(0, 0), widget.rect().bottomRight())
    )


def test_changed_options_visible_and_named(
    open_page: OpenPage,
) -> None:
    page = open_page()
    barrier, commit = page.editors["barrier"], page.editors["commit"]
    assert page.chosen.text() == "All options are at their defaults (tools and kernel)."
    assert not barrier.control.font().bold()
    assert isinstance(barrier.control, QCheckBox)
    assert barrier.word.text() == "off: nobarrier"
    barrier.control.click()
    commit.entered.emit("commit", "30")
    assert page.chosen.text() == "Changed from the defaults: nobarrier, commit=30"
    for editor in (barrier, commit):
        marked = editor.grab().toImage().pixelColor(1, editor.height() // 2)
        assert marked.name() in {page.theme.palette.warning, page.theme.palette.accent}
    assert barrier.control.font().bold()
    tip = barrier.control.toolTip()
    assert "Written as: mount -o nobarrier" in tip
    assert "Default: on." in tip
    assert "nobarrier" in page.commands.toPlainText()
    assert "Default: on." in barrier.control.accessibleDescription()
    page.options.only_chosen.click()
    assert page.options.only_chosen.text() == "Only selected options (2)"
    assert found(page) == ["barrier", "commit"]
    barrier.control.click()
    assert found(page) == ["barrier", "commit"], "nothing moves away under the mouse"
    page.options.only_chosen.click()
    page.options.clear.click()
    assert page.chosen.text() == "All options are at their defaults (tools and kernel)."
    assert not barrier.control.font().bold()


def test_risks_of_option_listed_once(open_page: OpenPage) -> None:
    page = open_page()
    page.cards["btrfs"].click()
    page.editors["datacow"].entered.emit("datacow", "false")
    text = page.unsafe.text()
    assert text.count("UNSAFE: Copy on write: off (mount -o nodatacow)") == 1
    assert "no data checksums" in text
    assert "torn pages" in text


def test_preset_values_shown_as_chosen(open_page: OpenPage) -> None:
    page = open_page()
    page.preset.setCurrentIndex(page.preset.findData("2011-nobarrier"))
    assert page.chosen.text() == "Changed from the defaults: noatime, nobarrier, data=writeback"
    assert page.editors["data"].control.accessibleName() == "Journal mode (data)"
    assert not page.options.clear.isEnabled(), "nothing of one's own is there"


@pytest.mark.parametrize(
    ("word", "key"),
    [("assume-clean", "initial_sync"), ("read_ahead_kb", "read_ahead"), ("scheduler", "scheduler")],
)
def test_search_finds_mdadm_and_queue_words(open_page: OpenPage, word: str, key: str) -> None:
    page = open_page()
    QTest.keyClicks(page.options.search, word)
    assert [name for name, field in page.array.fields.items() if field.isVisible()] == [key]
    assert not page.options.nothing.isVisible()
    assert found(page) == []
    page.options.search.clear()
    assert sum(field.isVisible() for field in page.array.fields.values()) == 4


# --- compare with


def action_of(page: FilesystemPage, *path: str) -> QAction:
    """Return an entry of the menu of what can be compared, by the begin of its words."""
    page.compare.fill_menu()
    menu: QMenu = page.compare.menu
    for begin in path:
        found = next(each for each in menu.actions() if each.text().startswith(begin))
        inner = found.menu()
        if not isinstance(inner, QMenu):
            return found
        menu = inner
    raise AssertionError(path)


def cells(page: FilesystemPage) -> list[str]:
    matrix = page.draft.built.matrix
    return [each.name for each in cell_rows(matrix)] if matrix else []


def test_filesystems_and_variants_compared(
    open_page: OpenPage,
) -> None:
    page = open_page()
    assert page.compare.result.text() == "Nothing added yet. Only this configuration will be measured."
    page.compare.ticks["XFS"].click()
    page.compare.ticks["ZFS"].click()
    assert cells(page) == ["ext4", "xfs", "zfs"]
    action_of(page, "Record size · recordsize", "all of 8 KiB, 16 KiB, 32 KiB").trigger()
    assert cells(page) == [
        "ext4",
        "xfs",
        *(f"zfs, recordsize {size} KiB" for size in (128, 8, 16, 32)),
    ]
    assert "recordsize 8 KiB, 16 KiB, 32 KiB, 128 KiB" in page.compare.result.text()
    all_sizes = action_of(page, "Record size · recordsize", "all of")
    assert all_sizes.isChecked()
    all_sizes.trigger()
    assert cells(page) == ["ext4", "xfs", "zfs"]
    page.compare.ticks["XFS"].click()
    page.compare.ticks["ZFS"].click()
    assert page.draft.parts.dimensions == []


def test_without_barriers_measured_beside(open_page: OpenPage) -> None:
    page = open_page()
    action_of(page, "the same with nobarrier  (Write barriers").trigger()
    assert cells(page) == ["barrier on", "barrier off"]
    editor = page.editors["barrier"]
    assert editor.note.text() == "Compared: on, off (⚠ needs PLP)."
    assert not editor.control.isEnabled(), "the ticks count, not what stands here"
    assert action_of(page, "the same with nobarrier").isChecked()
    action_of(page, "the same with nobarrier").trigger()
    assert editor.control.isEnabled()
    assert page.draft.parts.dimensions == []


def test_barrier_dimension_skips_unsupporting_filesystems(open_page: OpenPage) -> None:
    page = open_page()
    page.compare.ticks["XFS"].click()
    page.compare.ticks["ZFS"].click()
    action_of(page, "the same with nobarrier").trigger()
    action_of(page, "Record size · recordsize", "8 KiB").trigger()
    assert cells(page) == [
        *("ext4, barrier on", "ext4, barrier off", "xfs"),
        *("zfs, recordsize 128 KiB", "zfs, recordsize 8 KiB"),
    ]
    assert page.draft.built.problems == ()


def test_nodatacow_offered_with_btrfs(open_page: OpenPage) -> None:
    page = open_page()
    page.compare.ticks["btrfs"].click()
    action_of(page, "the same with nodatacow").trigger()
    assert cells(page) == ["ext4", "btrfs, datacow on", "btrfs, datacow off"]


def test_new_filesystem_replaces_first_compared(
    open_page: OpenPage,
) -> None:
    page = open_page()
    page.compare.ticks["ZFS"].click()
    page.cards["xfs"].click()
    assert cells(page) == ["xfs", "zfs"]
    assert sorted(page.compare.ticks) == ["F2FS", "ReiserFS", "ZFS", "btrfs", "ext3", "ext4"]
    page.cards["zfs"].click()
    assert page.draft.parts.dimensions == []


def test_wal_filesystems_not_compared_with_data(
    open_page: OpenPage,
) -> None:
    page = open_page(draft_on_disks(2, wal=1))
    page.compare.ticks["XFS"].click()
    page.wal_button.click()
    assert not page.compare.isVisible()
    page.cards["btrfs"].click()
    assert [value.name for value in page.draft.parts.dimensions[0].values] == ["ext4", "xfs"]


def test_data_fitting_memory_noted(open_page: OpenPage) -> None:
    draft = draft_on_disks(1)
    wizard = open_page(draft).window()
    assert isinstance(wizard, Wizard)
    draft.environment = ENVIRONMENT  # the window was activated, and may have read this machine meanwhile
    wizard.flow.step = Step.WORKLOAD
    wizard._open_page()
    note = wizard.pages[Step.WORKLOAD].fields["workload.size"].note
    assert "The data fits in RAM 40 times over, so reads come mostly from memory, not storage." in note.text()
    draft.parts.values["workload.size"] = "large"
    wizard.pages[Step.WORKLOAD].load()
    assert "fits in RAM" not in note.text()
    draft.parts.values["workload.size"] = "small"
    draft.parts.disks.memory_limit = "1 GiB"
    wizard.pages[Step.WORKLOAD].load()
    assert "fits in RAM" not in note.text(), "that is what the limit is for"


# --- tables and indexes on disks of their own


def test_tablespaces_get_disks_level_and_filesystem(qtbot: QtBot, open_page: OpenPage) -> None:
    page = open_page(draft_on_disks(1))
    wizard, draft = page.window(), page.draft
    assert isinstance(wizard, Wizard)
    wizard.flow.step = Step.DISKS
    wizard._open_page()
    disks = page_of(wizard, DisksPage)
    for number, words in ((2, "tables"), (3, "tables"), (4, "indexes")):
        disks.table.selectRow(number)
        disks.use.setCurrentIndex(
            next(row for row in range(disks.use.count()) if disks.use.itemText(row).startswith(words))
        )
    assert draft.parts.disks.tables.disks == [disk.identity.key() for disk in SPARE[1:3]]
    level = disks.levels[Role.TABLES]
    assert level.isVisible()
    level.setCurrentIndex(level.findData(Level.STRIPE))
    assert draft.parts.disks.tables.made.level is Level.STRIPE
    assert not disks.levels[Role.WAL].isEnabled()
    assert "Tables (a tablespace) on" in disks.drawing.accessibleDescription()
    wizard.flow.step = Step.FILESYSTEM
    wizard._open_page()
    assert not page.wal_button.isVisible()
    page.group_buttons[Role.TABLES].click()
    page.cards["xfs"].click()
    page.group_buttons[Role.INDEXES].click()
    assert page.cards["ext4"].isChecked()
    page.editors["commit"].entered.emit("commit", "soon")
    assert "“soon” is not allowed" in page.editors["commit"].error.text()
    page.options.clear.click()
    page.data_button.click()
    (target,) = draft.built.targets.values()
    assert isinstance(target, DiskTarget)
    assert target.tables is not None
    assert (target.tables.filesystem, target.tables.level) == ("xfs", Level.STRIPE)
    assert target.indexes is not None
    assert target.indexes.filesystem == target.data.filesystem == "ext4"
