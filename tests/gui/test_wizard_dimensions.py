"""The page of dimensions: values are ticked by mouse, cells unticked, and what cannot be is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QScrollArea,
    QStyle,
    QStyleOptionButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.campaign.matrix import MatrixDimension
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Place, Step
from app.draft.machine_answers import MachineAnswer, MachineQuestion, SupportQuestion
from app.draft.matrix.ticking import set_values, value_of
from app.hosts.folders.targets import CheckedTarget
from app.postgres.settings import Machine
from app.process.starter import current_account
from tests.gui.test_wizard import StillWatch, page_of
from tests.made_disks import SPARE, everything_works, listing
from ui.background import finish_background
from ui.theme import Scheme, Theme
from ui.wizard.background import disk_feed
from ui.wizard.editors.disk_table import DiskColumn
from ui.wizard.pages.configurations_page import MorePage
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.pages.target_page import WherePage
from ui.wizard.wizard import Wizard

MACHINE = Machine(8 << 30, None, 4)
CHECKED = CheckedTarget("/somewhere", "", 1 << 36)
ENVIRONMENT = DraftEnvironment(MACHINE, current_account(), folder=CHECKED, memory=CHECKED)
FILESYSTEM = "target.disks.filesystem"
RECORDSIZE = "target.disks.options.recordsize"
BARRIER = "target.disks.options.barrier"
CLIENTS = "workload.clients"


def _answer(question: MachineQuestion, _environment: DraftEnvironment) -> MachineAnswer:
    return MachineAnswer(question, everything_works() if isinstance(question, SupportQuestion) else None)


OpenWizard = Callable[[CampaignDraft, Step], Wizard]


@pytest.fixture
def open_wizard(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenWizard]:
    """Opens wizards of a machine that can make everything and says yes to every question."""
    monkeypatch.setattr(disk_feed, "answer", _answer)
    monkeypatch.setattr(disk_feed, "read_environment", lambda: ENVIRONMENT)
    made: list[Wizard] = []

    def make(draft: CampaignDraft, step: Step = Step.MORE) -> Wizard:
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        wizard = Wizard(Theme(Scheme.LIGHT), draft, settings=settings, make_watch=StillWatch)
        made.append(wizard)
        qtbot.addWidget(wizard)
        wizard.resize(1280, 800)
        wizard.show()
        qtbot.waitExposed(wizard)
        wizard.flow.step = wizard.flow.furthest = step
        wizard._open_page()
        return wizard

    yield make
    for wizard in made:
        wizard.close()
    assert finish_background(120)


def draft_here(*, disks: int = 0) -> CampaignDraft:
    draft = CampaignDraft(environment=ENVIRONMENT)
    draft.take(MachineAnswer(SupportQuestion(), everything_works()))
    if disks:
        draft.see_disks(listing())
        draft.choose_place(Place.DISKS, ticked=True)
        draft.parts.disks.data.disks = [disk.identity.key() for disk in SPARE[:disks]]
    return draft


class Clicks:
    """Clicks as a person does, at what is seen, and counts."""

    def __init__(self, qtbot: QtBot) -> None:
        self.count = 0
        self._qtbot = qtbot

    def on(self, widget: QWidget, place: QPoint | None = None) -> None:
        for area in widget.window().findChildren(QScrollArea):
            if area.isAncestorOf(widget):
                area.ensureWidgetVisible(widget)
        self._qtbot.waitUntil(lambda: widget.isVisible() and widget.isEnabled())
        if place is None and isinstance(widget, QCheckBox):
            option = QStyleOptionButton()
            widget.initStyleOption(option)
            element = QStyle.SubElement.SE_CheckBoxIndicator
            place = widget.style().subElementRect(element, option, widget).center()
        place = place or widget.rect().center()
        window = widget.window()
        at = widget.mapTo(window, place)
        hit = window.childAt(at)
        assert hit is not None
        assert hit is widget or widget.isAncestorOf(hit) or isinstance(widget, QAbstractButton)
        QTest.mouseClick(
            hit, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, hit.mapFrom(window, at)
        )
        self.count += 1
        QApplication.processEvents()


def test_filesystem_comparison_in_ten_clicks(qtbot: QtBot, open_wizard: OpenWizard) -> None:
    wizard = open_wizard(CampaignDraft(environment=ENVIRONMENT), Step.WHERE)
    started: list[Campaign] = []
    wizard.accepted_campaign.connect(started.append)
    click = Clicks(qtbot)

    where = page_of(wizard, WherePage)
    click.on(where.boxes[Place.DISKS])
    click.on(wizard.next)
    disks = page_of(wizard, DisksPage)
    model = disks.table.model()
    qtbot.waitUntil(lambda: model.rowCount() > 2)
    for disk in SPARE[:2]:
        row = next(row for row in range(model.rowCount()) if is_of(disks, row, disk.identity.serial))
        index = disks.table.model().index(row, DiskColumn.USE)
        box = disks.table.visualRect(index)
        click.on(disks.table.viewport(), box.topLeft() + QPoint(12, box.height() // 2))
    assert wizard.draft.parts.disks.data.disks == [disk.identity.key() for disk in SPARE[:2]]
    click.on(wizard.steps._buttons[Step.MORE])
    page = page_of(wizard, MorePage)
    click.on(page.dimensions.editors[FILESYSTEM].ticks["xfs"])
    click.on(page.dimensions.editors[FILESYSTEM].ticks["zfs"])
    click.on(page.dimensions.editors[RECORDSIZE].ticks["8 KiB"])
    click.on(page.dimensions.editors[BARRIER].ticks["false"])
    click.on(wizard.next)
    review = page_of(wizard, ReviewPage)
    qtbot.waitUntil(lambda: bool(review.confirm.fields))
    for disk, field in zip(SPARE, review.confirm.fields.values(), strict=False):
        field.setFocus()
        QTest.keyClicks(field, disk.identity.tail())
    assert click.count <= 10
    click.on(wizard.next)

    (campaign,) = started
    assert [each.name for each in campaign.configurations] == [
        "ext4, barrier on",
        "ext4, barrier off",
        "xfs",
        "zfs, recordsize 8 KiB",
    ]
    targets = [each.target for each in campaign.configurations]
    assert all(isinstance(each, DiskTarget) and each.data.level == "mirror" for each in targets)
    assert [dict(each.data.options) for each in targets if isinstance(each, DiskTarget)] == [
        {"barrier": True},
        {"barrier": False},
        {},
        {"recordsize": 8192},
    ]


def is_of(page: DisksPage, row: int, serial: str) -> bool:
    model = page.table.model()
    texts = (model.index(row, column).data() for column in range(model.columnCount()))
    return any(serial in str(text) for text in texts)


def test_search_ready_when_page_opens(qtbot: QtBot, open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(disks=2), Step.MORE)
    page = page_of(wizard, MorePage)
    wizard.activateWindow()
    qtbot.waitUntil(wizard.isActiveWindow)
    assert wizard.focusWidget() is page.dimensions.search
    QTest.keyClicks(wizard.focusWidget(), "nobarrier")
    shown = [key for key, editor in page.dimensions.editors.items() if editor.isVisible()]
    assert shown[-1] == "target.disks.options.barrier"
    assert len(shown) <= 2, "and presets that say it"
    assert page.dimensions.editors[shown[-1]].label.text() == "Write barriers · nobarrier"


def test_impossible_level_explained_in_row(
    open_wizard: OpenWizard,
) -> None:
    draft = draft_here(disks=2)
    support = everything_works()
    others = {name: path for name, path in support.programs.items() if name != "mdadm"}
    draft.take(MachineAnswer(SupportQuestion(), replace(support, programs=others)))
    page = page_of(open_wizard(draft, Step.MORE), MorePage)
    note = page.dimensions.editors["target.disks.level"].note.text()
    assert "Mirror (RAID 1): Not with ext4: " in note
    assert "Possible here: btrfs and ZFS." in note
    assert "Striped mirrors" not in note, "how many disks a level takes is told by its tick"


def test_unticked_cells_left_out(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(disks=2), Step.MORE)
    page = page_of(wizard, MorePage)
    page.dimensions.editors[FILESYSTEM].ticks["xfs"].click()
    page.dimensions.editors[CLIENTS].ticks["8"].click()
    names = [page.cells.list.item(row).text() for row in range(page.cells.list.count())]
    assert names == ["ext4, clients 4", "ext4, clients 8", "xfs, clients 4", "xfs, clients 8"]
    page.cells.list.item(3).setCheckState(Qt.CheckState.Unchecked)
    campaign = wizard.draft.to_campaign()
    assert [each.name for each in campaign.configurations] == names[:3]
    text = format_campaign(campaign)
    assert '[[exclude]]\nfilesystem = ["xfs"]\nclients = ["8"]\n' in text.replace(
        '"filesystem"', "filesystem"
    ).replace('"clients"', "clients")
    assert parse_campaign(text, base_directory="/", source_name="again") == campaign
    assert "3 of 4 configurations are measured" in page.cells.heading.text()
    page.cells.list.item(3).setCheckState(Qt.CheckState.Checked)
    assert len(wizard.draft.to_campaign().configurations) == 4
    page.dimensions.editors[CLIENTS].ticks["8"].click()
    page.dimensions.editors[FILESYSTEM].ticks["xfs"].click()
    assert wizard.draft.parts.dimensions == []
    assert wizard.draft.to_campaign().matrix is None


def test_one_click_client_sweep(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(), Step.MORE)
    page = page_of(wizard, MorePage)
    assert page.dimensions.sweep.text().replace("&", "") == "Sweep clients: 1 to 8"
    page.dimensions.sweep.click()
    campaign = wizard.draft.to_campaign()
    found = {each.name: each.workload.clients for each in campaign.configurations}
    assert found == {
        f"{place}, clients {count}": count for place in ("folder", "memory") for count in (4, 1, 2, 8)
    }
    assert "8 configurations x " in page.totals.text()


def wrong_on(wizard: Wizard) -> str:
    """What is told beside Next, which is disabled."""
    assert not wizard.next.isEnabled()
    return wizard.reason.text()


def test_empty_dimension_blocks_next(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(), Step.MORE)
    page = page_of(wizard, MorePage)
    page.dimensions.setting.setCurrentText("work_mem")
    page.dimensions.add.click()
    assert wrong_on(wizard) == "Correct this first: work_mem"
    assert "“work_mem” has no value: tick or type at least one" in wizard.next.accessibleDescription()
    editor = page.dimensions.editors["postgresql.settings.work_mem"]
    assert "has no value" in editor.error.text()
    assert editor.typed is not None
    QTest.keyClicks(editor.typed, "4MB, 64MB")
    assert not [each for each in wizard.draft.problems_for(Step.MORE) if not each.pending]
    assert len(wizard.draft.to_campaign().configurations) == 4


def test_invalid_value_reported_in_row(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(), Step.MORE)
    editor = page_of(wizard, MorePage).dimensions.editors[CLIENTS]
    assert editor.typed is not None
    QTest.keyClicks(editor.typed, "16, many")
    assert "clients many: found “many”; allowed: a whole number from 1 to 10000." in editor.error.text()
    assert wrong_on(wizard) == "Correct this first: Clients", "the sentence is at the field, once"
    assert not page_of(wizard, MorePage).general.isVisible()


def test_no_cell_left_refused(open_wizard: OpenWizard) -> None:
    wizard = open_wizard(draft_here(disks=2), Step.MORE)
    page = page_of(wizard, MorePage)
    page.dimensions.editors[FILESYSTEM].ticks["xfs"].click()
    for row in (0, 1):
        page.cells.list.item(row).setCheckState(Qt.CheckState.Unchecked)
    assert "xcludes all 2 configurations" in wrong_on(wizard)
    assert not page.general.isVisible(), "it is said beside Next"
    assert page.cells.list.count() == 2
    page.cells.list.item(1).setCheckState(Qt.CheckState.Checked)
    (left,) = wizard.draft.to_campaign().configurations
    assert isinstance(left.target, DiskTarget)
    assert left.target.data.filesystem == "xfs"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((40, 30), "1,200 configurations are too many; at most 1,000"),
        ((101, 100), "10,100 combinations; at most"),
    ],
)
def test_too_many_cells_refused(open_wizard: OpenWizard, counts: tuple[int, int], words: str) -> None:
    draft = draft_here()
    draft.configuration_of(Place.MEMORY).chosen = False
    for key, count in zip((CLIENTS, "workload.scale"), counts, strict=True):
        set_values(draft.parts, key, [value_of(key, number) for number in range(1, count + 1)])
    wizard = open_wizard(draft, Step.MORE)
    assert words in wrong_on(wizard)
    assert not page_of(wizard, MorePage).general.isVisible()
    assert draft.built.campaign is None


def test_unreadable_values_reported(open_wizard: OpenWizard) -> None:
    draft = draft_here()
    damaged = value_of(CLIENTS, 3)
    change = damaged.changes[0]
    broken = type(damaged)("x", (type(change)(change.key, '"'),))
    draft.parts.dimensions = [MatrixDimension("clients", (broken,), CLIENTS)]
    assert "a whole number from 1" in open_wizard(draft, Step.MORE).next.accessibleDescription()
