"""The wizard with real disks, UDisks2, polkit and helper: from a disk that is plugged in to a run on it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import Campaign, DiskTarget, GroupChoice
from app.domain.disk import SpareAnswer
from app.domain.options.raid import Level
from app.domain.text import GIB
from app.draft.disks.table import DiskRow
from app.draft.draft import CampaignDraft
from app.draft.fields.state import Place, Step, look_for_helper
from app.draft.machine_answers import describe_plans, inspect_disks
from app.hosts.disk_watch import DiskWatch, OnChange
from app.runfile.reader import RunFile
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.layout.disk_target import storage_plan
from app.storage.spare.disks import list_disks
from tests.disks.workshop import readable_proc
from tests.fix_campaign import PATIENCE_S, CampaignBench
from tests.fix_helper import Running, journaled
from tests.launched import wait_for_end
from ui.background import finish_background
from ui.theme import Scheme, Theme
from ui.window.commands.deferred import launch
from ui.wizard.pages.disks_page import DisksPage
from ui.wizard.pages.filesystem_page import FilesystemPage
from ui.wizard.pages.review_page import ReviewPage
from ui.wizard.wizard import Wizard

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
    pytest.mark.qt_log_ignore("This plugin does not support propagateSizeHints"),
]

PATIENCE_MS = 180_000

OpenWizard = Callable[[], Wizard]


@pytest.fixture
def open_wizard(qtbot: QtBot, tmp_path: Path) -> Iterator[OpenWizard]:
    made: list[Wizard] = []
    with readable_proc(tmp_path) as proc:
        places = SourceFolders(proc=proc, as_root=True)

        def follow(on_change: OnChange) -> DiskWatch:
            return DiskWatch(on_change, Policy(accept_loop_devices=True), places)

        def make() -> Wizard:
            draft = CampaignDraft()
            for place in (Place.FOLDER, Place.MEMORY):
                draft.configuration_of(place).chosen = False
            draft.configuration_of(Place.DISKS).chosen = True
            draft.parts.values["repeats"], draft.parts.values["io_baseline"] = "1", "false"
            draft.parts.values["workload.duration"], draft.parts.values["workload.warmup"] = "3s", "0s"
            draft.parts.values["workload.clients"] = "2"
            for group in (draft.parts.disks.data, draft.parts.disks.wal):
                group.texts["partition_size"] = "2 GiB"
            settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
            wizard = Wizard(Theme(Scheme.LIGHT), draft, settings=settings, make_watch=follow)
            made.append(wizard)
            qtbot.addWidget(wizard)
            wizard.resize(1280, 800)
            wizard.show()
            qtbot.waitExposed(wizard)
            return wizard

        yield make
        for wizard in made:
            wizard.close()
        assert finish_background(120)


def row_of(wizard: Wizard, device: str) -> DiskRow | None:
    page = wizard.pages[Step.DISKS]
    assert isinstance(page, DisksPage)
    rows = page.table.disks.rows
    return next((row for row in rows if row.disk is not None and row.disk.path == device), None)


def is_answer(wizard: Wizard, device: str, answer: SpareAnswer) -> bool:
    row = row_of(wizard, device)
    return row is not None and row.disk is not None and row.disk.answer is answer


def go_to(qtbot: QtBot, wizard: Wizard, step: Step) -> None:
    """Press Next until a page is open."""

    def leaves(before: Step) -> None:
        assert wizard.flow.step is not before, wizard.reason.text()

    while wizard.flow.step is not step:
        before = wizard.flow.step
        qtbot.waitUntil(wizard.next.isEnabled, timeout=PATIENCE_MS)
        wizard.next.click()
        qtbot.waitUntil(partial(leaves, before), timeout=PATIENCE_MS)


def test_disk_events_shown_within_a_second(
    qtbot: QtBot,
    open_wizard: OpenWizard,
    system_daemons: None,
    make_loop: Callable[..., str],
    record_property: Callable[[str, object], None],
) -> None:
    wizard = open_wizard()
    wizard.flow.step = wizard.flow.furthest = Step.DISKS
    wizard._open_page()
    qtbot.waitUntil(lambda: wizard.draft.storage.listing is not None, timeout=PATIENCE_MS)

    def seconds(what: str, change: Callable[[], object], seen: Callable[[], bool]) -> None:
        began_s = time.monotonic()
        change()
        changed_s = time.monotonic()
        qtbot.waitUntil(seen, timeout=PATIENCE_MS)
        text = f"{what}: {time.monotonic() - changed_s:.2f} ({changed_s - began_s:.2f} for the change itself)"
        record_property("seconds", text)
        print(text)  # noqa: T201 - shown with -s

    made: list[str] = []
    seconds(
        "plugged in",
        lambda: made.append(make_loop(2 * GIB)),
        lambda: bool(made) and is_answer(wizard, made[0], SpareAnswer.SPARE),
    )
    (device,) = made
    seconds(
        "formatted",
        lambda: subprocess.run(["mkfs.ext4", "-q", device], check=True),
        lambda: is_answer(wizard, device, SpareAnswer.NOT_SPARE),
    )
    page = wizard.pages[Step.DISKS]
    assert isinstance(page, DisksPage)
    row = row_of(wizard, device)
    assert row is not None
    assert "ext4" in str(row.disk)
    seconds(
        "wiped",
        lambda: subprocess.run(["wipefs", "-q", "-a", device], check=True),
        lambda: "ext4" not in str(row_of(wizard, device)),
    )


def test_the_helper_answers_in_its_own_words(
    helper: Running, make_loop: Callable[..., str], tmp_path: Path
) -> None:
    assert look_for_helper() is None
    blank, taken = make_loop(3 * GIB, partscan=True), make_loop(3 * GIB, partscan=True)
    subprocess.run(["mkfs.ext4", "-q", taken], check=True)
    with readable_proc(tmp_path) as proc:
        listed = list_disks(Policy(accept_loop_devices=True), SourceFolders(proc=proc, as_root=True)).disks
    here = {disk.path: disk for disk in listed}
    shares: list[float] = []
    results = inspect_disks([here[blank], here[taken]], shares.append)
    assert results[here[blank].name].answer is SpareAnswer.SPARE
    assert results[here[taken].name].answer is SpareAnswer.NOT_SPARE
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert any(refusal.rule == "D08" for refusal in results[here[taken].name].refusals)
    target = DiskTarget(
        GroupChoice((here[blank].identity.key(),), Level.SINGLE, "xfs", partition_bytes=2 * GIB)
    )
    (words,) = describe_plans([storage_plan(target, listed, 1 << 28)])
    assert any(line.startswith("mkfs.xfs ") and blank in line for line in words)


def test_wizard_run_frees_spare_disks(
    qtbot: QtBot,
    open_wizard: OpenWizard,
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
) -> None:
    data, wal = make_loop(3 * GIB, partscan=True), make_loop(3 * GIB, partscan=True)
    wizard = open_wizard()
    go_to(qtbot, wizard, Step.DISKS)
    disks = wizard.pages[Step.DISKS]
    assert isinstance(disks, DisksPage)
    for device, use in ((data, "data"), (wal, "WAL, on disks of its own")):
        qtbot.waitUntil(partial(is_answer, wizard, device, SpareAnswer.SPARE), timeout=PATIENCE_MS)
        row = row_of(wizard, device)
        assert row is not None
        disks.table.selectRow(disks.table.disks.rows.index(row))
        disks.use.setCurrentIndex(disks.use.findText(use))
    go_to(qtbot, wizard, Step.FILESYSTEM)
    filesystem = wizard.pages[Step.FILESYSTEM]
    assert isinstance(filesystem, FilesystemPage)
    filesystem.cards["xfs"].click()
    filesystem.preset.setCurrentIndex(filesystem.preset.findData("recommended"))
    assert "mkfs.xfs" in filesystem.commands.toPlainText()
    go_to(qtbot, wizard, Step.REVIEW)
    review = wizard.pages[Step.REVIEW]
    assert isinstance(review, ReviewPage)
    qtbot.waitUntil(lambda: "by the helper" in review.commands.toPlainText(), timeout=PATIENCE_MS)
    assert "listed by the helper" in review.commands.toPlainText()
    assert "mkfs.xfs" in review.commands.toPlainText()
    assert "TEST DEVICES" in review.stored.text()
    assert not wizard.next.isEnabled()
    for key, field in review.confirm.fields.items():
        disk = wizard.draft.storage.disk(key)
        assert disk is not None
        QTest.keyClicks(field, disk.identity.tail())
    qtbot.waitUntil(wizard.next.isEnabled, timeout=PATIENCE_MS)
    accepted: list[Campaign] = []
    wizard.accepted_campaign.connect(accepted.append)
    QTest.mouseClick(wizard.next, Qt.MouseButton.LeftButton)
    (campaign,) = accepted
    launched = launch(campaign, campaign_bench.library, ())
    assert wait_for_end(launched, PATIENCE_S) == 0, launched.problem
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.values["state"] == "done"
        made = [command.argv for command in run.commands() if command.account == "root"]
    assert any(Path(argv[0]).name == "mkfs.xfs" for argv in made)
    assert journaled() == []
    for device in (data, wal):
        signatures = subprocess.run(["wipefs", "--noheadings", device], capture_output=True, check=True)
        assert signatures.stdout == b""
