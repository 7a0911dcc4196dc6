"""The wizard's pages about spare disks, driven by keyboard, with disks that come and go."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QRect, QSettings, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import DiskTarget
from app.domain.disk import DiskRefusal, InspectionReport
from app.domain.disk import SpareAnswer as DiskAnswer
from app.domain.disk_answers import Disk
from app.domain.errors import FootingError, Problem, RefusedError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import KeptDisk, ReleaseOutcome, Role
from app.draft.disks.table import DiskRow, InspectionResult, assign
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Place, Step
from app.draft.machine_answers import MachineAnswer, SupportQuestion
from app.hosts.disk_watch import OnChange
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.postgres.settings import Machine
from app.process.starter import current_account
from app.storage.spare.disks import Listing
from tests.gui.test_wizard import page_of, press
from tests.made_disks import OPEN, SPARE, SYSTEM, everything_works, listing
from tests.unit.domain.test_kept_disk import KEPT_DISK
from ui.background import finish_background
from ui.theme import Scheme, Theme
from ui.widgets.texts import Text
from ui.window.campaigns.campaign_pages import CampaignPages
from ui.wizard.background import disk_feed
from ui.wizard.editors import confirmations
from ui.wizard.editors.confirmations import ReleaseDialog
from ui.wizard.editors.disk_table import DiskColumn, DiskModel, kind_icon
from ui.wizard.pages.configurations_page import MorePage
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.filesystem_page import FilesystemPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.pages.target_page import WherePage
from ui.wizard.wizard import Wizard

MACHINE = Machine(8 << 30, None, 4)
CHECKED = CheckedTarget("/somewhere", "", 1 << 36)
SERVER = Installation("/opt/new/bin", "17.2", 17, origin="package")
ENVIRONMENT = DraftEnvironment(
    MACHINE, current_account(), installations=(SERVER,), folder=CHECKED, memory=CHECKED
)
"""With a server: where there is none, coming to the window looks at this machine, which has no helper."""


class Machinery:
    """What follows the disks of a machine whose disks a test moves."""

    def __init__(self) -> None:
        self.disks: tuple[Disk, ...] = listing().disks
        self.following: list[OnChange] = []
        self.stopped = 0

    def __call__(self, on_change: OnChange) -> Machinery:
        self.following.append(on_change)
        return self

    def start(self) -> None:
        self.show(*self.disks)

    def stop(self) -> None:
        self.stopped += 1

    def show(self, *disks: Disk) -> None:
        self.disks = disks
        for on_change in self.following:
            on_change(Listing(disks, (), as_root=False), ())


@pytest.fixture
def machinery() -> Machinery:
    return Machinery()


OpenWizard = Callable[..., Wizard]


@pytest.fixture
def open_wizard(qtbot: QtBot, tmp_path: Path, machinery: Machinery) -> Iterator[OpenWizard]:
    made: list[Wizard] = []

    def make(step: Step, draft: CampaignDraft | None = None, scheme: Scheme = Scheme.LIGHT) -> Wizard:
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        draft = draft or draft_on_disks()
        wizard = Wizard(Theme(scheme), draft, settings=settings, make_watch=machinery)
        made.append(wizard)
        qtbot.addWidget(wizard)
        wizard.resize(1280, 800)
        wizard.show()
        qtbot.waitExposed(wizard)
        wizard.activateWindow()
        qtbot.waitUntil(wizard.isActiveWindow)
        wizard.flow.step = wizard.flow.furthest = step
        wizard._open_page()
        qtbot.waitUntil(lambda: draft.storage.listing is not None or not draft.parts.on_disks())
        return wizard

    yield make
    for wizard in made:
        wizard.close()
    assert finish_background(120)


def draft_on_disks(count: int = 0, *, wal: int = 0) -> CampaignDraft:
    draft = CampaignDraft(environment=ENVIRONMENT)
    draft.take(MachineAnswer(SupportQuestion(), everything_works()))
    for place in (Place.FOLDER, Place.MEMORY):
        draft.configuration_of(place).chosen = False
    draft.configuration_of(Place.DISKS).chosen = True
    for number, disk in enumerate(SPARE[: count + wal]):
        assign(draft.parts.disks, disk.identity.key(), Role.DATA if number < count else Role.WAL)
    return draft


def words_of(page: DisksPage, column: DiskColumn) -> list[str]:
    model = page.table.disks
    return [str(model.data(model.index(row, column))) for row in range(model.rowCount())]


def test_closed_wizard_drops_listing(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    """The draft outlives its wizard: the next one must not show old answers as current."""
    draft = draft_on_disks()
    open_wizard(Step.DISKS, draft).close()
    assert draft.storage.listing is None
    qtbot.waitUntil(lambda: machinery.stopped == 1)
    page = page_of(open_wizard(Step.DISKS, draft), DisksPage)
    qtbot.waitUntil(lambda: bool(page.table.disks.rows))


# --- where


def test_disks_offered_with_helper_else_explained(
    open_wizard: OpenWizard,
) -> None:
    draft = CampaignDraft(environment=ENVIRONMENT)
    page = page_of(open_wizard(Step.WHERE, draft), WherePage)
    assert page.boxes[Place.DISKS].isEnabled()
    draft.environment = replace(
        ENVIRONMENT,
        disks=Problem("target.disks", "The root helper is not installed.", "sudo packaging/helper install"),
    )
    page.refresh()
    assert not page.boxes[Place.DISKS].isEnabled()
    assert "sudo packaging/helper install" in page._choices[Place.DISKS].state.text()


def test_helper_installed_meanwhile_found(
    qtbot: QtBot, open_wizard: OpenWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[Problem | None] = [
        Problem("target.disks", "The root helper is not installed.", "Install it.")
    ]
    monkeypatch.setattr(disk_feed, "look_for_helper", lambda: there[-1])
    draft = CampaignDraft(environment=replace(ENVIRONMENT, disks=there[0]))
    wizard = open_wizard(Step.WHERE, draft)
    page = page_of(wizard, WherePage)
    assert not page.boxes[Place.DISKS].isEnabled()
    qtbot.waitUntil(lambda: wizard.asking._looking is None)  # coming to the window looks, too
    there.append(None)
    wizard._look_after_absence()
    qtbot.waitUntil(page.boxes[Place.DISKS].isEnabled)
    assert page._choices[Place.DISKS].state.text() == ""


def test_tick_adds_disk_pages_and_watch(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    draft = CampaignDraft(environment=ENVIRONMENT)
    wizard = open_wizard(Step.WHERE, draft)
    page = page_of(wizard, WherePage)
    assert (machinery.following, len(wizard.flow.steps)) == ([], 5)
    page.boxes[Place.DISKS].click()
    assert len(wizard.flow.steps) == 7
    qtbot.waitUntil(lambda: draft.storage.listing is not None)
    wizard.close()
    qtbot.waitUntil(lambda: machinery.stopped == 1)


# --- disks


def test_disks_chosen_and_ordered_by_keyboard(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    assert wizard.focusWidget() is page.table
    assert page.table.key == OPEN.identity.key()
    assert not wizard.next.isEnabled()
    assert "Choose the disks" in wizard.reason.text()
    for _ in range(4):
        press(wizard, Qt.Key.Key_Down)
        press(wizard, Qt.Key.Key_Space)
    assert wizard.draft.parts.disks.data.disks == [disk.identity.key() for disk in SPARE[:4]]
    assert words_of(page, DiskColumn.USE)[:6] == ["", "data 1", "data 2", "data 3", "data 4", ""]
    assert "Striped mirrors (RAID 10)" in page.level.currentText()
    page.earlier.setFocus()
    press(wizard, Qt.Key.Key_Space)
    assert wizard.draft.parts.disks.data.disks[2] == SPARE[3].identity.key()
    page.use.setFocus()
    press(wizard, Qt.Key.Key_Down)  # from the data to the WAL
    assert wizard.draft.parts.disks.wal.disks == [SPARE[3].identity.key()]
    assert page.wal_level.isVisible()
    page.table.setFocus()
    press(wizard, Qt.Key.Key_Space)
    assert wizard.draft.parts.disks.wal.disks == []


@pytest.mark.parametrize(
    ("attached", "rotational", "icon"),
    [
        ("nvme", False, "microchip"),
        ("sata", False, "microchip"),
        ("sas", True, "hard-drive"),
        ("usb", True, "usb"),
        ("loop", True, "file"),
        ("virtio", True, ""),
        ("sata", None, ""),
    ],
)
def test_disk_kind_icon(
    qtbot: QtBot,
    attached: str,
    rotational: bool | None,  # noqa: FBT001
    icon: str,
) -> None:
    theme = Theme(Scheme.LIGHT)
    disk = replace(SPARE[0], bus=attached, rotational=rotational, rotation_rpm=None)
    assert kind_icon(disk) == icon
    model = DiskModel(theme)
    model.show_rows((DiskRow("a", disk), DiskRow("gone", None)))
    shown, gone = (
        model.data(model.index(row, DiskColumn.KIND), Qt.ItemDataRole.DecorationRole) for row in (0, 1)
    )
    assert gone.pixmap(16, 16).size() == shown.pixmap(16, 16).size(), "words begin at one place"
    assert (shown.pixmap(16, 16).toImage() != gone.pixmap(16, 16).toImage()) is bool(icon)
    theme.set_scheme(Scheme.DARK)
    dark = model.data(model.index(0, DiskColumn.KIND), Qt.ItemDataRole.DecorationRole)
    assert (dark.pixmap(16, 16).toImage() != shown.pixmap(16, 16).toImage()) is bool(icon)


def test_unusable_disk_disabled_with_reason(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    press(wizard, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert page.table.key == SYSTEM.identity.key()
    model, index = page.table.disks, page.table.disks.index(len(SPARE) + 1, DiskColumn.USE)
    assert not model.flags(index) & Qt.ItemFlag.ItemIsUserCheckable
    assert model.data(index, Qt.ItemDataRole.CheckStateRole) is None
    assert "mounted at /" in words_of(page, DiskColumn.ANSWER)[-1]
    press(wizard, Qt.Key.Key_Space)
    assert wizard.draft.parts.disks.chosen == ()
    assert not page.use.isEnabled()
    assert "D04: A filesystem on it is mounted." in page.why.text()
    assert "→ Unmount it." in page.why.text()
    spoken = model.data(index, Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Use: cannot be selected"


def test_a_tick_by_mouse_chooses_a_disk(open_wizard: OpenWizard) -> None:
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    index = page.table.disks.index(2, DiskColumn.USE)
    page.table.disks.setData(index, Qt.CheckState.Checked.value, Qt.ItemDataRole.CheckStateRole)
    assert page.draft.parts.disks.data.disks == [SPARE[1].identity.key()]
    page.table.disks.setData(index, Qt.CheckState.Unchecked.value, Qt.ItemDataRole.CheckStateRole)
    assert page.draft.parts.disks.chosen == ()


def test_hotplug_shown_and_cursor_kept(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    wizard = open_wizard(Step.DISKS, draft_on_disks(2))
    page = page_of(wizard, DisksPage)
    press(wizard, Qt.Key.Key_Down)
    here = page.table.key
    machinery.show(SYSTEM, *SPARE[:2])
    qtbot.waitUntil(lambda: sum("gone" not in words for words in words_of(page, DiskColumn.ANSWER)) == 3)
    assert page.table.key == here
    qtbot.waitUntil(wizard.next.isEnabled)
    machinery.show(SYSTEM, SPARE[0])
    # Next is greyed before, too, while other disks are asked about: the reason tells that this is known.
    qtbot.waitUntil(lambda: "is missing" in wizard.reason.text())
    assert not wizard.next.isEnabled()
    keys = [row.key for row in page.table.disks.rows]
    assert words_of(page, DiskColumn.USE)[keys.index(SPARE[1].identity.key())] == "data 2"
    machinery.show()
    qtbot.waitUntil(lambda: all("gone" in words for words in words_of(page, DiskColumn.ANSWER)))
    machinery.show(SYSTEM, *SPARE)
    qtbot.waitUntil(wizard.next.isEnabled)


def test_machine_without_disks_gives_advice(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery
) -> None:
    machinery.disks = ()
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    qtbot.waitUntil(lambda: "Plug one in" in page.nothing.text())
    assert not page.table.isVisible()
    machinery.show(SPARE[0])
    qtbot.waitUntil(page.table.isVisible)


def test_long_answer_and_serial_elided(open_wizard: OpenWizard) -> None:
    table = page_of(open_wizard(Step.DISKS), DisksPage).table
    modes = {}
    for column in (DiskColumn.ANSWER, DiskColumn.DISK):
        painted = QStyleOptionViewItem()
        table.initViewItemOption(painted)
        index = table.disks.index(0, column)
        delegate = table.itemDelegateForIndex(index)
        assert isinstance(delegate, QStyledItemDelegate)
        delegate.initStyleOption(painted, index)
        modes[column] = painted.textElideMode
    assert modes == {
        DiskColumn.ANSWER: Qt.TextElideMode.ElideRight,
        DiskColumn.DISK: Qt.TextElideMode.ElideMiddle,
    }


def test_disk_text_is_never_markup(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    odd = replace(SPARE[0], identity=replace(SPARE[0].identity, model="<b>Evil</b>\n\x1b[31mdisk"))
    machinery.disks = (odd,)
    page = page_of(open_wizard(Step.DISKS, draft_on_disks(1)), DisksPage)
    qtbot.waitUntil(lambda: bool(page.table.disks.rows))
    assert words_of(page, DiskColumn.DISK)[0].splitlines()[0] == r"<b>Evil</b>\n\x1b[31mdisk (nvme1n1)"
    model = page.table.disks
    tip = model.data(model.index(0, DiskColumn.DISK), Qt.ItemDataRole.ToolTipRole)
    assert "&lt;b&gt;Evil" in tip
    assert "&lt;b&gt;Evil" in page.drawing.toolTip()
    assert page.why.textFormat() is Qt.TextFormat.PlainText


def test_all_disks_used_explained(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    machinery.disks = (SYSTEM,)
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    qtbot.waitUntil(lambda: "None of these disks can be used" in page.summary.text())
    machinery.show(SYSTEM, SPARE[0])
    qtbot.waitUntil(lambda: page.summary.text() == "No disk is selected.")


def test_root_asked_only_on_request(
    qtbot: QtBot, open_wizard: OpenWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    may_answer = threading.Event()

    def inspect(disks: list[Disk], progress: Callable[[float], None]) -> dict[str, InspectionResult]:
        asked.append([disk.name for disk in disks])
        progress(0.386)
        assert may_answer.wait(30)
        return {disk.name: InspectionResult(disk, DiskAnswer.SPARE) for disk in disks}

    monkeypatch.setattr(disk_feed, "inspect_disks", inspect)
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    assert asked == []
    page.ask.click()
    assert (page.ask.text(), page.ask.isEnabled()) == ("Asking root …", False)
    width = page.ask.width()
    qtbot.waitUntil(lambda: page.ask.text() == "Root reads … 38 %")
    assert page.ask.width() == width
    assert page.ask.sizeHint().width() <= width
    may_answer.set()
    qtbot.waitUntil(lambda: "✔ spare" in words_of(page, DiskColumn.ANSWER)[0])
    assert asked == [["sdb"]]
    assert not page.ask.isVisible()
    assert (page.ask.text(), page.ask.isEnabled()) == ("As&k root", True)


READS = """#!/bin/sh
printf '%s\\n' "$*" >>{noted}
echo "12.5 % read, about 03:10 left" >&2
while [ ! -e {go} ]; do sleep 0.02; done
exit {status}
"""


def reading_program(folder: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> tuple[Path, Path]:
    """Have another program stand for the command line; return what it notes, and what lets it end."""
    noted, go, program = folder / "noted", folder / "go", folder / "program"
    program.write_text(READS.format(noted=noted, go=go, status=status))
    program.chmod(0o755)
    monkeypatch.setattr(disk_feed, "sys", SimpleNamespace(executable=str(program)))
    return noted, go


def test_full_read_on_request_with_progress(
    qtbot: QtBot, open_wizard: OpenWizard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noted, go = reading_program(tmp_path, monkeypatch, status=0)
    read = InspectionReport(16 << 20, 4000, 65536, 2 << 30, read_s=1.8e9)
    asked: list[str] = []

    def inspect(disks: list[Disk], _progress: object) -> dict[str, InspectionResult]:
        asked.extend(disk.name for disk in disks)
        return {disk.name: InspectionResult(disk, DiskAnswer.SPARE, (), read) for disk in disks}

    monkeypatch.setattr(disk_feed, "inspect_disks", inspect)
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    page.table.selectRow(0)
    key, name = page.table.key, OPEN.name
    assert page.read.text() == "Read ever&y byte"
    QTest.mouseClick(page.read, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "12.5 % read, about 03:10 left" in page.why.text())
    assert page.read.text() == "Stop read&ing"
    go.touch()
    qtbot.waitUntil(lambda: asked == [name])
    qtbot.waitUntil(lambda: "Every byte was read on 2027-01-1" in page.why.text())
    assert noted.read_text().split()[-3:] == ["disks", f"--read={key}", "--json"]
    assert not page.read.isEnabled(), "nothing more can be known"


def test_full_read_stopped_by_button_or_closing(
    qtbot: QtBot, open_wizard: OpenWizard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reading_program(tmp_path, monkeypatch, status=0)
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    page.table.selectRow(0)
    for stop in (page.read.click, wizard.reject):
        page.read.click()
        qtbot.waitUntil(lambda: "12.5 %" in page.why.text())
        readings = [wizard.whole_read._process is not None]
        stop()
        assert [*readings, wizard.whole_read._process is not None] == [True, False]
        assert "12.5 %" not in page.why.text()


def test_failed_read_shows_command_words(
    qtbot: QtBot, open_wizard: OpenWizard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, go = reading_program(tmp_path, monkeypatch, status=1)
    go.touch()
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    page.table.selectRow(0)
    with qtbot.waitSignal(wizard.whole_read.failed) as failed:
        page.read.click()
    assert "12.5 % read" in failed.args[0]
    assert wizard.whole_read._process is None


def test_leftover_disk_released_by_root(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's own reason stands in its row and below, where root cannot."""
    left = replace(
        SPARE[0],
        is_left_over=True,
        answer=DiskAnswer.NOT_SPARE,
        held_by=("mounted at /run/pgfooting/1/storage",),
        refusals=(DiskRefusal("D04", "A filesystem on it is mounted.", "8:17 mounted", "Unmount it."),),
    )
    reason = DiskRefusal("D18", "pgFooting's journal names it.", "xfs, label PRECIOUS", "Look at it.")
    answers = [InspectionResult(left, DiskAnswer.NOT_SPARE, (reason,))]
    asked: list[str] = []

    def inspect(disks: list[Disk], _progress: object) -> dict[str, InspectionResult]:
        asked.extend(disk.name for disk in disks)
        return {disk.name: answers[-1] for disk in disks}

    kept: list[Disk] = []

    def look(disk: Disk) -> tuple[KeptDisk, str]:
        kept.append(disk)
        return KEPT_DISK, "seen"

    monkeypatch.setattr(disk_feed, "inspect_disks", inspect)
    monkeypatch.setattr(confirmations, "inspect_kept", look)
    machinery.disks = (left, SYSTEM)
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    assert "left behind by it" in words_of(page, DiskColumn.ANSWER)[0]
    assert not page.ask.isVisible()
    page.table.selectRow(1)
    assert not page.release.isVisible(), "nothing of ours is on the other disk"
    page.table.selectRow(0)
    QTest.mouseClick(page.release, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "label PRECIOUS" in words_of(page, DiskColumn.ANSWER)[0])
    assert "D18: pgFooting's journal names it. xfs, label PRECIOUS" in page.why.text()
    assert "→ Look at it." in page.why.text()
    (dialog,) = wizard.findChildren(ReleaseDialog)
    qtbot.waitUntil(lambda: len(kept) == 1 and "CUSTOMERS" in dialog.contents.text())
    assert ("umount /srv" in dialog.error.text(), dialog.field.isEnabled()) == (True, False)
    dialog.reject()
    qtbot.waitUntil(lambda: not wizard.findChildren(ReleaseDialog))
    wizard.activateWindow()
    qtbot.waitUntil(wizard.isActiveWindow)
    # root's look makes udev look again: what root said counts as long as the disk carries what was left on it
    elsewhere = replace(left, answer=DiskAnswer.LOOKS_SPARE, refusals=(), held_by=())
    machinery.show(elsewhere, SYSTEM)
    qtbot.waitUntil(lambda: page.draft.storage.listing == Listing((elsewhere, SYSTEM), (), as_root=False))
    assert "label PRECIOUS" in words_of(page, DiskColumn.ANSWER)[0]
    machinery.show(replace(elsewhere, is_left_over=False), SYSTEM)
    qtbot.waitUntil(lambda: "looks spare" in words_of(page, DiskColumn.ANSWER)[0])
    machinery.show(left, SYSTEM)
    qtbot.waitUntil(lambda: "label PRECIOUS" in words_of(page, DiskColumn.ANSWER)[0])
    assert page.release.isVisible(), "it can be tried again"
    answers.append(InspectionResult(left, DiskAnswer.SPARE))
    page.release.setFocus()
    press(wizard, Qt.Key.Key_Space)
    assert wizard.focusWidget() is page.table, "keys that follow change no level"
    qtbot.waitUntil(lambda: "✔ spare" in words_of(page, DiskColumn.ANSWER)[0])
    assert asked == [SPARE[0].name] * 2
    assert not page.release.isVisible()


def test_long_serial_shown_to_its_end(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is what has to be typed: no label, and no cell, may cut it."""
    serial = "S" * 124 + "TAIL"
    disk = replace(SPARE[0], identity=replace(SPARE[0].identity, serial=serial), is_left_over=True)
    draft = draft_on_disks()
    assign(draft.parts.disks, disk.identity.key(), Role.DATA)
    machinery.disks = (disk, SYSTEM)
    monkeypatch.setattr(confirmations, "inspect_kept", lambda _disk: (KEPT_DISK, "seen"))
    wizard = open_wizard(Step.DISKS, draft)
    page = page_of(wizard, DisksPage)
    table = page.table
    cell = words_of(page, DiskColumn.DISK)[0]
    metrics, width = table.fontMetrics(), table.columnWidth(DiskColumn.DISK)
    assert metrics.elidedText(cell.splitlines()[1], table.textElideMode(), width).endswith("TAIL")
    wizard._on_kept(disk.identity.key())
    (dialog,) = wizard.findChildren(ReleaseDialog)
    wizard._on_step(Step.REVIEW)
    names = [
        each for each in (*wizard.findChildren(Text), *dialog.findChildren(Text)) if "TAIL" in each.text()
    ]
    assert len(names) >= 2
    for each in names:
        words = re.split(r"[\s\u200b]", each.text())
        assert max(each.fontMetrics().horizontalAdvance(word) for word in words) < 400
    dialog.reject()


def test_a_kept_disk_is_released_by_dialog(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = replace(SPARE[0], is_left_over=True, answer=DiskAnswer.NOT_SPARE)
    reason = DiskRefusal("D18", "pgFooting's journal names it.", "xfs, label PRECIOUS", "Release it.")
    answers = [InspectionResult(left, DiskAnswer.NOT_SPARE, (reason,))]
    outcomes: list[FootingError | ReleaseOutcome] = [RefusedError("Not as shown."), ReleaseOutcome.WIPED]
    asked: list[tuple[str, str]] = []

    def release(disk: Disk, digest: str, _watch: object) -> ReleaseOutcome:
        asked.append((disk.name, digest))
        outcome = outcomes.pop(0)
        if isinstance(outcome, FootingError):
            raise outcome
        answers.append(InspectionResult(left, DiskAnswer.SPARE))
        return outcome

    free = replace(KEPT_DISK, obstacles=())
    monkeypatch.setattr(
        disk_feed, "inspect_disks", lambda disks, _: {each.name: answers[-1] for each in disks}
    )
    monkeypatch.setattr(confirmations, "inspect_kept", lambda _disk: (free, "seen"))
    monkeypatch.setattr(confirmations, "release_kept", release)
    machinery.disks = (left, SYSTEM)
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    page.table.selectRow(0)
    page.release.click()
    qtbot.waitUntil(lambda: bool(wizard.findChildren(ReleaseDialog)))
    (dialog,) = wizard.findChildren(ReleaseDialog)
    qtbot.waitUntil(dialog.field.isEnabled)
    assert ("CUSTOMERS" in dialog.contents.text(), dialog.release.isEnabled()) == (True, False)
    QTest.keyClicks(dialog.field, "nope")
    assert not dialog.release.isEnabled()
    dialog.field.clear()
    QTest.keyClicks(dialog.field, left.identity.tail())
    assert dialog.release.isEnabled()
    QTest.mouseClick(dialog.release, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.error.text() == "Not as shown." and dialog.field.isEnabled())
    assert (dialog.field.text(), dialog.release.isEnabled()) == ("", False), "it is looked at again"
    QTest.keyClicks(dialog.field, left.identity.tail())
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not wizard.findChildren(ReleaseDialog))
    assert asked == [(left.name, "seen")] * 2
    qtbot.waitUntil(lambda: "✔ spare" in words_of(page, DiskColumn.ANSWER)[0])


def test_leftover_disk_unavailable_before_root_check(open_wizard: OpenWizard, machinery: Machinery) -> None:
    """Who may not read it sees nothing that speaks against it but pgFooting's own partition."""
    machinery.disks = (replace(SPARE[0], is_left_over=True, answer=DiskAnswer.LOOKS_SPARE), SYSTEM)
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    assert words_of(page, DiskColumn.ANSWER)[0].startswith(
        "✘ not spare\nused by pgFooting or left behind by it"
    )
    page.table.selectRow(0)
    press(wizard, Qt.Key.Key_Space)
    assert wizard.draft.parts.disks.chosen == ()
    assert page.release.isVisible()


def test_unreachable_levels_disabled_with_requirement(open_wizard: OpenWizard) -> None:
    page = page_of(open_wizard(Step.DISKS, draft_on_disks(3)), DisksPage)
    row = page.level.findData(Level.RAID6)
    assert "at least 4 disks" in page.level.itemText(row)
    assert not page.level.model().flags(page.level.model().index(row, 0)) & Qt.ItemFlag.ItemIsEnabled
    page.level.setCurrentIndex(page.level.findData(Level.RAID5))
    assert page.draft.parts.disks.data.made.level is Level.RAID5
    assert "survives the loss of any 1 disk" in page.drawing.accessibleDescription()
    assert "write hole" in page.fields["target.disks.level"].note.text()


def test_partition_by_data_whole_or_size(open_wizard: OpenWizard) -> None:
    page = page_of(open_wizard(Step.DISKS, draft_on_disks(2)), DisksPage)
    assert page.partition.kind.currentText() == "what the data needs: 16 GiB"
    page.partition.kind.setCurrentIndex(1)
    assert page.draft.parts.disks.data.whole_disk
    page.partition.kind.setCurrentIndex(2)
    page.partition.amount.setFocus()
    page.partition.amount.selectAll()
    QTest.keyClicks(page.partition.amount, "2 EiB")
    errors = page.fields["target.disks.partition_size"].error
    assert "2 EiB" in errors.text()


def test_drawing_paints_disks_light_and_dark(qtbot: QtBot, open_wizard: OpenWizard) -> None:
    pictures = []
    for scheme in (Scheme.LIGHT, Scheme.DARK):
        page = page_of(open_wizard(Step.DISKS, draft_on_disks(4, wal=1), scheme), DisksPage)
        qtbot.wait(10)
        assert page.drawing.height() >= page.drawing.heightForWidth(page.drawing.width()) > 100
        pictures.append(page.drawing.grab().toImage())
    assert all(colours_of(picture) > 5 for picture in pictures)
    assert pictures[0].pixelColor(2, 60) != pictures[1].pixelColor(2, 60)


def colours_of(image: QImage) -> int:
    places = [(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)]
    return len({image.pixel(x, y) for x, y in places})


# --- filesystem


def test_options_by_keyboard_extend_commands(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(4))
    page = page_of(wizard, FilesystemPage)
    assert "mkfs.ext4" in page.commands.toPlainText()
    xfs = page.cards["xfs"]
    assert isinstance(xfs, QRadioButton)
    xfs.setFocus()
    press(wizard, Qt.Key.Key_Space)
    assert "mkfs.xfs" in page.commands.toPlainText()
    lazytime = page.editors["lazytime"].control
    assert isinstance(lazytime, QCheckBox)
    lazytime.setFocus()
    press(wizard, Qt.Key.Key_Space)
    assert "lazytime" in page.commands.toPlainText()
    assert "Source:" in wizard.help.source.text()
    logbufs = page.editors["logbufs"].control
    assert isinstance(logbufs, QComboBox)
    logbufs.setCurrentIndex(logbufs.findText("2"))
    assert wizard.draft.parts.disks.data.made.typed == {"lazytime": "true", "logbufs": "2"}
    page.options.clear.click()
    assert wizard.draft.parts.disks.data.made.typed == {}
    assert not lazytime.isChecked()


def test_option_conflict_blocks_next(open_wizard: OpenWizard) -> None:
    draft = draft_on_disks(4)
    wizard = open_wizard(Step.FILESYSTEM, draft)
    page = page_of(wizard, FilesystemPage)
    journal, data = page.editors["journal"].control, page.editors["data"].control
    assert isinstance(journal, QCheckBox)
    assert isinstance(data, QComboBox)
    data.setCurrentIndex(data.findText("writeback"))
    assert wizard.next.isEnabled()
    assert "STALE DATA" in page.editors["data"].badge.text()
    journal.click()
    assert "Without a journal" in page.editors["data"].error.text()
    assert not wizard.next.isEnabled()
    assert wizard.reason.text() == "Correct this first: Journal mode (data)"
    assert page.unsafe.text().count("⚠ UNSAFE") == 2
    journal.click()
    assert wizard.next.isEnabled()
    assert not page.editors["data"].error.isVisible()


def test_invalid_number_reported_and_kept(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(1))
    page = page_of(wizard, FilesystemPage)
    commit = page.editors["commit"].control
    assert isinstance(commit, QLineEdit)
    assert commit.placeholderText() == "5 s (default)"
    commit.setFocus()
    QTest.keyClicks(commit, "soon")
    assert "“soon” is not allowed" in page.editors["commit"].error.text()
    assert not wizard.next.isEnabled()
    wizard._on_back()
    wizard.flow.step = Step.FILESYSTEM
    wizard._open_page()
    assert page.editors["commit"].control.text() == "soon"  # type: ignore[union-attr]


def test_hovered_option_explained(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(1))
    for editor in page_of(wizard, FilesystemPage).editors.values():
        wizard.help.explain(editor)  # the label and what lies around the control
        assert wizard.help.title.text() == editor.control.accessibleName() != ""


def test_preset_shows_values_and_source(open_wizard: OpenWizard) -> None:
    page = page_of(open_wizard(Step.FILESYSTEM, draft_on_disks(1)), FilesystemPage)
    page.preset.setCurrentIndex(page.preset.findData("2011-nobarrier"))
    assert page.draft.parts.disks.data.made.preset == "2011-nobarrier"
    assert "Source: 2011" in page._preset.note.text()
    assert not page.editors["barrier"].control.isChecked()  # type: ignore[union-attr]
    assert "NEEDS PLP" in page.editors["barrier"].badge.text()
    assert "UNSAFE" in page.unsafe.text()


def test_the_wals_filesystem_has_the_same_form(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(2, wal=1))
    page = page_of(wizard, FilesystemPage)
    page.wal_button.click()
    page.cards["xfs"].click()
    assert wizard.draft.parts.disks.wal.made.filesystem == "xfs"
    assert wizard.draft.parts.disks.data.made.filesystem == "ext4"
    page.data_button.click()
    assert page.cards["ext4"].isChecked()


def test_options_have_name_explanation_and_source(
    open_wizard: OpenWizard,
) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(4))
    page = page_of(wizard, FilesystemPage)
    for card in page.cards.values():
        card.click()
        assert page.editors
        for editor in page.editors.values():
            assert editor.control.accessibleName()
            assert editor.control.accessibleDescription()
            wizard.help.explain(editor.control)
            assert wizard.help.text.text()
            assert wizard.help.source.text()


# --- nothing moves under the mouse


def places(wizard: Wizard) -> dict[str, QRect]:
    """Return where every control of the page is in the window, and every row of the table of disks."""
    found: dict[str, QRect] = {}
    page = wizard.pages[wizard.flow.step]
    for kind in (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit):
        for widget in page.findChildren(kind):
            if widget.isVisible() and widget.window() is wizard:
                name = f"{kind.__name__} {widget.accessibleName()} {id(widget)}"
                found[name] = QRect(widget.mapTo(wizard, QPoint(0, 0)), widget.size())
    if isinstance(page, DisksPage):
        table = page.table
        origin = table.viewport().mapTo(wizard, QPoint(0, 0))
        for number, row in enumerate(table.disks.rows):
            for column in DiskColumn:
                rect = table.visualRect(table.disks.index(number, column))
                found[f"{row.key} {column.name}"] = rect.translated(origin)
    return found


def settle() -> None:
    for _ in range(3):
        QApplication.sendPostedEvents()
        QApplication.processEvents()


def moved(before: dict[str, QRect], wizard: Wizard) -> list[str]:
    settle()
    after = places(wizard)
    return [f"{name}: {rect} {after.get(name)}" for name, rect in before.items() if after.get(name) != rect]


def click_at(wizard: Wizard, place: QPoint) -> None:
    QTest.mouseClick(wizard.windowHandle(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    settle()


def box_of(wizard: Wizard, row: int) -> QPoint:
    """Return where the tick of a row is in the window."""
    table = page_of(wizard, DisksPage).table
    rect = table.visualRect(table.disks.index(row, DiskColumn.USE))
    return table.viewport().mapTo(wizard, QPoint(rect.left() + 10, rect.center().y()))


def test_second_click_ticks_same_disk(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.DISKS)
    settle()
    first, second = box_of(wizard, 1), box_of(wizard, 2)
    click_at(wizard, first)
    click_at(wizard, second)
    assert wizard.draft.parts.disks.data.disks == [disk.identity.key() for disk in SPARE[:2]]
    assert page_of(wizard, DisksPage).table.key == SPARE[1].identity.key(), (
        "what is said below is of the disk ticked"
    )
    click_at(wizard, first)
    assert wizard.draft.parts.disks.data.disks == [SPARE[1].identity.key()]


def test_ticks_and_questions_move_nothing(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery
) -> None:
    left = replace(
        SPARE[5], is_left_over=True, answer=DiskAnswer.NOT_SPARE, held_by=("mounted at /run/pgfooting/1",)
    )
    machinery.disks = (OPEN, *SPARE[:5], left, SYSTEM)
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    settle()
    before = places(wizard)
    assert len(before) > 20
    for number in (1, 2, 3, 0):
        click_at(wizard, box_of(wizard, number))
        assert moved(before, wizard) == [], number
    for number in range(len(page.table.disks.rows)):
        page.table.selectRow(number)
        page.table.scrollToTop()
        visible = {name: rect for name, rect in before.items() if not name.startswith("QPushButton Release")}
        assert moved(visible, wizard) == [], number
    page.table.selectRow(1)
    for index in range(page.use.count()):
        page.use.setCurrentIndex(index)
        assert moved(before, wizard) == [], page.use.itemText(index)
    for index in range(page.level.count()):
        page.level.setCurrentIndex(index)
        assert moved(before, wizard) == [], page.level.itemText(index)
    page.fields["target.disks.memory_limit"].control.setFocus()
    QTest.keyClicks(page.fields["target.disks.memory_limit"].control, "nonsense")
    assert "nonsense" in page.fields["target.disks.memory_limit"].error.text()
    assert moved(before, wizard) == []
    page.show_asking(asking=True)
    assert moved(before, wizard) == []
    page.show_asking(asking=False)
    # an answer of root's, a disk that is used meanwhile, pulled or plugged in, keep their rows
    machinery.show(replace(OPEN, answer=DiskAnswer.NOT_SPARE), *SPARE[:5], left, SYSTEM)
    qtbot.waitUntil(lambda: "not spare" in words_of(page, DiskColumn.ANSWER)[0])
    rows = {name: rect for name, rect in before.items() if not name.startswith("Q")}
    assert moved(rows, wizard) == []
    machinery.show(*SPARE[2:5], left, SYSTEM)
    qtbot.waitUntil(lambda: "gone" in words_of(page, DiskColumn.ANSWER)[0])
    assert moved(rows, wizard) == []
    machinery.show(*SPARE[:5], left, SYSTEM, *SPARE[6:])
    qtbot.waitUntil(lambda: "gone" not in words_of(page, DiskColumn.ANSWER)[1])
    assert moved(rows, wizard) == []


def test_hotplug_moves_nothing(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    machinery.disks = SPARE[:2]
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    settle()
    before = places(wizard)
    machinery.show(*SPARE[:4])
    qtbot.waitUntil(lambda: len(page.table.disks.rows) == 4)
    assert moved(before, wizard) == []
    machinery.show(SPARE[1])
    qtbot.waitUntil(lambda: "gone" in words_of(page, DiskColumn.ANSWER)[0])
    assert moved(before, wizard) == []
    assert page.table.disks.rows[0].key == SPARE[0].identity.key()
    assert (
        not page.table.disks.flags(page.table.disks.index(0, DiskColumn.USE))
        & Qt.ItemFlag.ItemIsUserCheckable
    )
    press(wizard, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert "was here and is now missing" in page.why.text()
    page.load()  # as when it is opened again
    assert [row.key for row in page.table.disks.rows] == [SPARE[1].identity.key()]


def test_cursor_stays_on_disk_without_serial(
    qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery
) -> None:
    nameless = [
        replace(each, identity=replace(each.identity, serial="", wwn=None), name=name)
        for each, name in ((SPARE[0], "sdx"), (SPARE[1], "sdy"))
    ]
    machinery.disks = (SPARE[2], *nameless)
    page = page_of(open_wizard(Step.DISKS), DisksPage)
    page.table.selectRow(2)
    machinery.show(SPARE[2], *nameless, SPARE[3])
    qtbot.waitUntil(lambda: len(page.table.disks.rows) == 4)
    row = page.table.row
    assert row is not None
    assert row.disk is not None
    assert row.disk.name == "sdy"


def test_tick_applies_to_pressed_disk(qtbot: QtBot, open_wizard: OpenWizard, machinery: Machinery) -> None:
    machinery.disks = SPARE[:3]
    wizard = open_wizard(Step.DISKS)
    page = page_of(wizard, DisksPage)
    settle()
    left, none, box = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, box_of(wizard, 2)
    QTest.mousePress(wizard.windowHandle(), left, none, box)
    machinery.show(*SPARE[1:5])
    qtbot.waitUntil(lambda: len(page.table.disks.rows) == 5)
    QTest.mouseRelease(wizard.windowHandle(), left, none, box)
    settle()
    assert wizard.draft.parts.disks.data.disks == [SPARE[2].identity.key()]


def test_second_click_reaches_access_times(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(1))
    page = page_of(wizard, FilesystemPage)
    settle()
    barrier, atime = page.editors["barrier"].control, page.editors["atime"].control
    assert isinstance(barrier, QCheckBox)
    tick = barrier.mapTo(wizard, QPoint(8, barrier.height() // 2))
    times = atime.mapTo(wizard, atime.rect().center())
    click_at(wizard, tick)
    assert not barrier.isChecked()
    assert "UNSAFE" in page.unsafe.text()
    click_at(wizard, times)
    popup = QApplication.activePopupWidget()
    assert popup is not None
    assert popup.parentWidget() is atime
    popup.close()
    assert wizard.draft.parts.disks.data.made.typed == {"barrier": "false"}


@pytest.mark.parametrize(
    ("filesystem", "count"),
    [
        ("zfs", 4),
        *(pytest.param(*each, marks=pytest.mark.longest) for each in (("ext4", 1), ("xfs", 3), ("btrfs", 2))),
    ],
)
@pytest.mark.long
def test_nothing_on_the_page_of_filesystems_moves(
    open_wizard: OpenWizard, filesystem: str, count: int
) -> None:
    wizard = open_wizard(Step.FILESYSTEM, draft_on_disks(count))
    page = page_of(wizard, FilesystemPage)
    ids = {str(id(card)) for card in page.cards.values()}
    cards = {name: rect for name, rect in places(wizard).items() if name.rpartition(" ")[2] in ids}
    page.cards[filesystem].click()
    assert len(cards) == len(page.cards)
    assert moved(cards, wizard) == []
    settle()
    before = places(wizard)
    found = 0
    for name, editor in page.editors.items():
        control = editor.control
        if isinstance(control, QCheckBox):
            control.click()
            assert moved(before, wizard) == [], name
            found += bool(editor.badge.text())
            control.click()
        elif isinstance(control, QComboBox):
            for index in (*range(control.count()), 0):
                control.setCurrentIndex(index)
                assert moved(before, wizard) == [], (name, control.itemText(index))
                found += bool(editor.badge.text() or editor.note.text())
        else:
            control.setFocus()
            QTest.keyClicks(control, "soon")
            assert editor.error.text()
            assert moved(before, wizard) == [], name
            control.clear()
            editor.entered.emit(name, "")
        assert moved(before, wizard) == [], name
    assert found, "something was said that could have moved something"
    for index in range(page.preset.count()):
        page.preset.setCurrentIndex(index)
        assert moved(before, wizard) == [], page.preset.itemText(index)


# --- more, review


def test_copy_on_disks_with_its_own_filesystem(open_wizard: OpenWizard) -> None:
    draft = draft_on_disks(4)
    page = page_of(open_wizard(Step.MORE, draft), MorePage)
    page.list.setCurrentCell(0, 0)
    page.copy.click()
    made = page.editor.made
    assert made.isVisible()
    made.filesystem.setCurrentIndex(made.filesystem.findData("btrfs"))
    assert page.list.rowCount() == 2
    item = page.list.item(1, 1)
    assert item is not None
    assert item.text() == "4 disks: btrfs raid10"
    lazytime, nodatacow = (made.options.editors[name].control for name in ("lazytime", "datacow"))
    assert nodatacow.isVisible()
    assert not lazytime.isVisible(), "what matters less is found by the search"
    QTest.keyClicks(made.options.search, "lazytime")
    assert isinstance(lazytime, QCheckBox)
    assert lazytime.isVisible()
    lazytime.click()
    made.level.setCurrentIndex(made.level.findData(Level.MIRROR))
    target = draft.built.configurations[1].target
    assert isinstance(target, DiskTarget)
    assert (target.data.level, target.data.options) == (Level.MIRROR, (("lazytime", True),))
    made.options.search.clear()
    assert isinstance(nodatacow, QCheckBox)
    nodatacow.click()
    assert "UNSAFE: The filesystem has no data checksums" in made.unsafe.text()
    assert "nodatacow" in made.unsafe.text()
    made.options.clear.click()
    copied = draft.parts.chosen()[-1].made
    assert copied is not None
    assert copied.typed == {}
    assert not made.unsafe.isVisible()
    copied.typed["compres"] = "lzo"  # of a campaign file
    page.report_change()
    assert "Did you mean “compress”?" in page.editor._place.error.text()


def test_start_waits_until_every_disk_is_confirmed(open_wizard: OpenWizard) -> None:
    draft = draft_on_disks(2)
    while questions := draft.questions_for(Step.REVIEW):
        for question in questions:
            draft.take(MachineAnswer(question))
    wizard = open_wizard(Step.REVIEW, draft)
    page = page_of(wizard, ReviewPage)
    assert "(0 of 2)" in wizard.reason.text()
    fields = page.confirm.fields
    assert list(fields) == [disk.identity.key() for disk in SPARE[:2]]
    for disk, field in zip(SPARE, fields.values(), strict=False):
        assert not wizard.next.isEnabled()
        field.setFocus()
        QTest.keyClicks(field, disk.identity.tail().lower())
    assert wizard.next.isEnabled()
    named = [text.text() for text in page.confirm.findChildren(Text)]
    assert f"Samsung SSD 990 PRO 2TB, {SPARE[0].identity.serial}, 1.82 TiB" in named
    assign(draft.parts.disks, SPARE[2].identity.key(), Role.DATA)
    wizard._on_answered()
    assert len(page.confirm.fields) == 3
    assert not wizard.next.isEnabled()


def test_confirmation_forgotten_with_other_disks(open_wizard: OpenWizard) -> None:
    draft = draft_on_disks(2)
    draft.parts.disks.confirmed = {disk.identity.key(): disk.identity.tail() for disk in SPARE[:2]}
    wizard = open_wizard(Step.DISKS, draft)
    press(wizard, Qt.Key.Key_Space)
    assert draft.parts.disks.confirmed == {}


@pytest.fixture
def campaign_pages(qtbot: QtBot, tmp_path: Path) -> Iterator[CampaignPages]:
    window = QWidget()
    qtbot.addWidget(window)
    settings = QSettings(str(tmp_path / "pages.ini"), QSettings.Format.IniFormat)
    pages = CampaignPages(window, Theme(Scheme.LIGHT), tmp_path, settings)
    pages.page_made.connect(qtbot.addWidget)
    yield pages
    pages.stop()


@pytest.mark.parametrize("is_open", [False, True])
def test_serial_retyped_for_each_campaign(
    open_wizard: OpenWizard,
    campaign_pages: CampaignPages,
    tmp_path: Path,
    is_open: bool,  # noqa: FBT001 - a parameter
) -> None:
    draft = draft_on_disks(2)
    draft.parts.disks.confirmed = {disk.identity.key(): disk.identity.tail() for disk in SPARE[:2]}
    wizard = open_wizard(Step.REVIEW, draft)
    page = page_of(wizard, ReviewPage)
    assert [field.text() for field in page.confirm.fields.values()] == [
        disk.identity.tail() for disk in SPARE[:2]
    ]
    if is_open:
        campaign_pages.wizard = wizard  # opened again while the question for the password is on the screen
    else:
        wizard.accept()
        campaign_pages._draft = draft
    campaign_pages.starter.failed.emit("The password prompt was cancelled.", "", 3)
    assert len(draft.parts.disks.confirmed) == 2
    campaign_pages.starter.started.emit(tmp_path)
    assert draft.parts.disks.confirmed == {}
    if is_open:
        assert [field.text() for field in page.confirm.fields.values()] == ["", ""]
        assert not wizard.next.isEnabled()


def test_unsafe_options_marked_on_page(open_wizard: OpenWizard) -> None:
    draft = draft_on_disks(1)
    draft.parts.disks.data.made.typed.update(barrier="false")
    page = page_of(open_wizard(Step.FILESYSTEM, draft), FilesystemPage)
    assert "Write barriers: off (mount -o nobarrier)" in page.unsafe.text()
    assert "NOT DURABLE" in page.findings.text()
