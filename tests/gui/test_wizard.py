"""The wizard: driven like a person does, by keyboard, with everything asked of the real machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.campaign_file.reader import load_campaign, read_campaign_file
from app.campaign_file.recipes import adapt
from app.campaign_file.recipes.head import RECIPES, list_recipes
from app.campaign_file.trust import check_trust
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign, DiskTarget, FolderTarget, MemoryTarget, ServerTarget
from app.domain.errors import RefusedError, refuse
from app.domain.storage_plan.plan import Role
from app.draft.disks.table import assign
from app.draft.draft import CampaignDraft
from app.draft.fields.state import OWN_SCRIPTS, DraftEnvironment, Place, Step
from app.draft.machine_answers import (
    MachineAnswer,
    MachineQuestion,
    ScriptsQuestion,
    SupportQuestion,
    TrustQuestion,
    answer,
)
from app.draft.recipe_choice import ticked_disks
from app.execution.campaign import PreflightFinding, Severity
from app.execution.resolve import ResolvedCampaign
from app.hosts.disk_watch import OnChange
from app.hosts.folders.targets import CheckedTarget
from app.library.trusted_campaigns import is_trusted
from app.postgres.installations.installation import Installation
from app.postgres.settings import Machine
from app.process.starter import current_account
from tests.made_disks import SPARE, everything_works, listing
from ui.background import finish_background
from ui.icons import make_icon
from ui.theme import Scheme, Theme
from ui.wizard.background import disk_feed
from ui.wizard.base.page import Page
from ui.wizard.pages import review_page
from ui.wizard.pages.configurations_page import MorePage
from ui.wizard.pages.postgres_page import PostgresPage
from ui.wizard.pages.review_page import Disturbances, ReviewPage
from ui.wizard.pages.target_page import RecipeChooser, WherePage
from ui.wizard.pages.workload_page import WorkloadPage
from ui.wizard.wizard import Wizard

PATIENCE_MS = 60_000

MACHINE = Machine(8 << 30, None, 4)
OLD = Installation(
    "/opt/old/bin", "9.6.1", 9, unusable=("Version 9.6.1 is not supported.",), origin="own build"
)
NEW = Installation("/opt/new/bin", "17.2", 17, version_text="postgres (PostgreSQL) 17.2", origin="package")


@pytest.fixture(autouse=True)
def _own_settings(qapp: QApplication, tmp_path: Path) -> Iterator[None]:
    """Geometry is remembered in a folder of the test."""
    before = QSettings.defaultFormat()
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path))
    names = qapp.organizationName(), qapp.applicationName()
    qapp.setOrganizationName("pgFooting")
    qapp.setApplicationName("test")
    yield
    qapp.setOrganizationName(names[0])
    qapp.setApplicationName(names[1])
    QSettings.setDefaultFormat(before)


MakeWizard = Callable[..., Wizard]
PageT = TypeVar("PageT", bound=QWidget)


@pytest.fixture
def make_wizard(qtbot: QtBot) -> Iterator[MakeWizard]:
    made: list[Wizard] = []

    def make(draft: CampaignDraft | None = None, size: tuple[int, int] = (1280, 800)) -> Wizard:
        wizard = Wizard(Theme(Scheme.LIGHT), draft, make_watch=StillWatch)
        made.append(wizard)
        qtbot.addWidget(wizard)
        wizard.resize(*size)
        wizard.show()
        qtbot.waitExposed(wizard)
        wizard.activateWindow()
        qtbot.waitUntil(wizard.isActiveWindow)
        return wizard

    yield make
    for wizard in made:
        wizard.asking.stop()
        wizard.close()
    assert finish_background(120)


def known_draft() -> CampaignDraft:
    """A draft to which every question of its first state is answered with yes."""
    checked = CheckedTarget("/somewhere", "", 1 << 36)
    environment = DraftEnvironment(
        MACHINE,
        current_account(),
        "",
        (NEW, OLD),
        "",
        checked,
        "/somewhere",
        checked,
        list_recipes(),
    )
    return agree(CampaignDraft(environment=environment))


@pytest.fixture
def always_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions that come up later are answered with yes too: the known draft's machine is not this one."""
    monkeypatch.setattr(disk_feed, "answer", lambda question, _environment: MachineAnswer(question))


def agree(draft: CampaignDraft) -> CampaignDraft:
    while questions := draft.questions_for(Step.REVIEW):
        for question in questions:
            draft.take(MachineAnswer(question))
    return draft


class StillWatch:
    """Tells the disks once: a machine on which nothing changes."""

    def __init__(self, on_change: OnChange) -> None:
        self._on_change = on_change

    def start(self) -> None:
        self._on_change(listing(), ())

    def stop(self) -> None:
        """Nothing is followed."""


def choose_disks(draft: CampaignDraft, count: int = 4, *, wal: int = 1) -> CampaignDraft:
    """Let the draft lie on spare disks, with their machine known."""
    draft.see_disks(listing())
    draft.configuration_of(Place.DISKS).chosen = True
    for number, disk in enumerate(SPARE[: count + wal]):
        assign(draft.parts.disks, disk.identity.key(), Role.DATA if number < count else Role.WAL)
    draft.take(MachineAnswer(SupportQuestion(), everything_works()))
    return draft


def page_of(wizard: Wizard, kind: type[PageT]) -> PageT:
    """Return the page of this kind."""
    return next(page for page in wizard.pages.values() if isinstance(page, kind))


def control(page: Page, key: str) -> Any:  # noqa: ANN401 - as its kind has it
    """Return the control of a key."""
    return page.fields[key].control


def change(page: MorePage, key: str) -> Any:  # noqa: ANN401 - as its kind has it
    """Choose another key to change in the chosen configuration, and return its control."""
    box = page.editor.change
    box.setCurrentIndex(box.findData(key))
    box.activated.emit(box.currentIndex())
    return page.editor.form.fields[key].control


def press(
    wizard: Wizard, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    """Press a key where the focus is, as a person does."""
    QTest.keyClick(wizard.windowHandle(), key, modifier)


def go_on(qtbot: QtBot, wizard: Wizard, *steps: Step) -> None:
    """Press Enter until each of the steps is open, one after the other; an answer may be waited for."""
    for step in steps:
        press(wizard, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda step=step: wizard.flow.step is step, timeout=PATIENCE_MS)  # type: ignore[misc]


def press_mnemonic(qtbot: QtBot, wizard: Wizard, letter: str) -> None:
    """Press Alt and a letter; a button shows itself pressed for a moment before it acts."""
    clicked: list[bool] = []
    buttons = [each for each in wizard.findChildren(QAbstractButton) if each.isVisible() and each.isEnabled()]
    button = next((each for each in buttons if mnemonic(each.text()) == letter.lower()), None)
    if button is not None:
        button.clicked.connect(lambda: clicked.append(True))
    key = Qt.Key(ord(letter.upper()))  # Qt.Key counts letters as ASCII does
    QTest.keyClick(wizard.windowHandle(), key, Qt.KeyboardModifier.AltModifier)
    if button is not None:
        qtbot.waitUntil(lambda: bool(clicked), timeout=PATIENCE_MS)


def settle(qtbot: QtBot, wizard: Wizard) -> None:
    """Wait until nothing is being asked for the open page."""

    def known() -> bool:
        obstacle = wizard.flow.obstacle()
        return obstacle is None or not obstacle.pending

    qtbot.waitUntil(known, timeout=PATIENCE_MS)


def controls(wizard: Wizard) -> list[QWidget]:
    """Everything of the open page and the shell that the keyboard reaches."""
    page = wizard.pages[wizard.flow.step]
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox, QAbstractItemView)
    found = [*page.findChildren(QWidget), wizard.back, wizard.next, wizard.cancel, *wizard.files.buttons]
    return [
        widget
        for widget in found
        if isinstance(widget, kinds)
        and widget.isVisibleTo(wizard)
        and widget.isEnabled()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]


def mnemonic(text: str) -> str:
    text = text.replace("&&", "")
    return text[text.index("&") + 1].lower() if "&" in text else ""


def open_step(wizard: Wizard) -> Step:
    return wizard.flow.step


def row_texts(page: MorePage, row: int) -> list[str]:
    items = [page.list.item(row, column) for column in range(page.list.columnCount())]
    return [item.text() for item in items if item is not None]


# --- from the first page to the last


@pytest.mark.postgres
def test_five_enters_compare_folder_and_memory(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard()
    accepted: list[Campaign] = []
    wizard.accepted_campaign.connect(accepted.append)
    for step in wizard.flow.steps:
        qtbot.waitUntil(lambda step=step: wizard.flow.step is step, timeout=PATIENCE_MS)  # type: ignore[misc]
        if step is Step.REVIEW:
            settle(qtbot, wizard)
            wizard.show_running("other")
            press(wizard, Qt.Key.Key_Return)
            assert "“other”" in wizard.reason.text()
            assert accepted == []
            wizard.show_running("")
        press(wizard, Qt.Key.Key_Return)
    (campaign,) = accepted
    assert [each.target for each in campaign.configurations] == [FolderTarget(), MemoryTarget()]
    assert campaign.configurations[0].workload.duration_s == 30
    assert not wizard.isVisible()


@pytest.mark.postgres
def test_campaign_by_keyboard_alone(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard()
    settle(qtbot, wizard)
    assert wizard.focusWidget() is wizard.pages[Step.WHERE].first_control()
    press_mnemonic(qtbot, wizard, "m")  # memory: the mnemonic takes the tick away
    assert not wizard.draft.configuration_of(Place.MEMORY).chosen
    press_mnemonic(qtbot, wizard, "n")
    settle(qtbot, wizard)
    qtbot.waitUntil(lambda: wizard.flow.step is Step.POSTGRESQL, timeout=PATIENCE_MS)

    press_mnemonic(qtbot, wizard, "u")  # own settings
    QTest.keyClicks(wizard.focusWidget(), "fsync = off")
    settle(qtbot, wizard)
    page = page_of(wizard, PostgresPage)
    qtbot.waitUntil(page.unsafe.isVisible, timeout=PATIENCE_MS)
    assert "UNSAFE: fsync = off" in page.unsafe.text()
    press_mnemonic(qtbot, wizard, "k")  # checksums
    press_mnemonic(qtbot, wizard, "n")
    qtbot.waitUntil(lambda: wizard.flow.step is Step.WORKLOAD, timeout=PATIENCE_MS)

    press_mnemonic(qtbot, wizard, "o")  # select only
    press_mnemonic(qtbot, wizard, "l")  # clients
    QTest.keyClicks(wizard.focusWidget(), "8")
    press(wizard, Qt.Key.Key_Tab)
    press(wizard, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    press(wizard, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: wizard.flow.step is Step.MORE, timeout=PATIENCE_MS)

    press_mnemonic(qtbot, wizard, "o")  # copy
    QTest.keyClicks(wizard.focusWidget(), "lazy")
    press_mnemonic(qtbot, wizard, "t")
    QTest.keyClicks(wizard.focusWidget(), "synchronous_commit = off")
    press_mnemonic(qtbot, wizard, "n")
    qtbot.waitUntil(lambda: wizard.flow.step is Step.REVIEW, timeout=PATIENCE_MS)
    settle(qtbot, wizard)
    with qtbot.waitSignal(wizard.accepted_campaign) as started:
        press_mnemonic(qtbot, wizard, "s")
    campaign: Campaign = started.args[0]
    assert [each.name for each in campaign.configurations] == ["folder", "lazy"]
    folder, lazy = campaign.configurations
    assert folder.workload.label == "select-only"
    assert folder.workload.clients == 8
    assert not folder.postgresql.checksums
    assert lazy.postgresql.settings == (("fsync", "off"), ("synchronous_commit", "off"))


@pytest.mark.postgres
def test_review_shows_commands_time_and_removal(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard()
    go_on(qtbot, wizard, *wizard.flow.steps[1:])
    settle(qtbot, wizard)
    page = page_of(wizard, ReviewPage)
    qtbot.waitUntil(lambda: page.table.rowCount() == 2, timeout=PATIENCE_MS)
    model = page.table.model()
    cells = [model.index(0, place) for place in range(model.columnCount())]
    shown = {
        str(model.headerData(cell.column(), Qt.Orientation.Horizontal)): (
            str(cell.data()),
            bool((cell.data(Qt.ItemDataRole.TextAlignmentRole) or 0) & Qt.AlignmentFlag.AlignRight),
        )
        for cell in cells
    }
    assert list(shown) == ["Configuration", "Data in", "PostgreSQL", "Data", "Free"]
    assert shown["Configuration"] == (page.configuration.itemText(0), False)
    assert {heading for heading, (_, is_right) in shown.items() if is_right} == {"Data", "Free"}
    size, scale = shown["Data"][0].splitlines()
    assert size.endswith("iB")
    assert scale.startswith("scale ")
    assert "initdb --pgdata" in page.commands.toPlainText()
    assert "--time=30" in page.commands.toPlainText()
    assert page.time.text().startswith("6 runs, about 4 min")
    assert "removed" in page.removed.text()
    assert "quiet machine" in page.effect.text()
    found = page.disturbances
    qtbot.waitUntil(lambda: "Looking" not in found.notes.text(), timeout=PATIENCE_MS)
    assert found.warnings.text() or found.notes.text()
    page.configuration.setCurrentIndex(1)
    assert "/dev/shm/pgfooting-XXXXXXXX/data" in page.commands.toPlainText()
    assert wizard.next.text() == "&Start"


@pytest.mark.long
@pytest.mark.postgres
def test_review_storage_check_and_duration(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard()
    go_on(qtbot, wizard, *wizard.flow.steps[1:])
    settle(qtbot, wizard)
    page = page_of(wizard, ReviewPage)
    qtbot.waitUntil(lambda: page.table.rowCount() == 2, timeout=PATIENCE_MS)
    assert not page.baseline.isChecked()  # of folder and memory by choice only
    assert not page.asking.isVisible()
    before = page.time.text()
    page.baseline.click()
    settle(qtbot, wizard)
    qtbot.waitUntil(page.asking.isVisible, timeout=PATIENCE_MS)
    assert page.asking.text().startswith("Takes about 50 s once")
    assert page.time.text() != before
    assert wizard.draft.to_campaign().io_baseline is True
    page.baseline.click()
    settle(qtbot, wizard)
    qtbot.waitUntil(lambda: page.time.text() == before, timeout=PATIENCE_MS)
    assert wizard.draft.to_campaign().io_baseline is None


# --- what is wrong, and where that is said


def test_review_lists_disturbances(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    battery = PreflightFinding("battery", Severity.WARNING, "The machine runs on battery.", "Plug it in.")
    note = PreflightFinding("library-on-target", Severity.NOTE, "The library is on a disk under test (sda).")
    asked: list[str | None] = []

    def find(_resolved: ResolvedCampaign, library: str | None) -> tuple[PreflightFinding, ...]:
        asked.append(library)
        return (battery, note)

    monkeypatch.setattr(review_page, "find_disturbances", find)
    monkeypatch.setattr(review_page, "find_other_campaign", lambda: "")
    box = Disturbances(Theme(Scheme.LIGHT))
    qtbot.addWidget(box)
    box.library = Path("/")
    box.look(ResolvedCampaign(Campaign("x", (), 1, ()), MACHINE, {}))
    assert box.notes.text() == "Checking …"
    qtbot.waitUntil(lambda: bool(box.warnings.text()), timeout=PATIENCE_MS)
    assert box.warnings.text() == "⚠ The machine runs on battery. Plug it in."
    assert box.notes.text() == "The library is on a disk under test (sda)."
    assert asked == ["/"]
    monkeypatch.setattr(review_page, "find_disturbances", lambda *_: ())
    box.look(ResolvedCampaign(Campaign("x", (), 1, ()), MACHINE, {}))
    qtbot.waitUntil(lambda: "No disturbance found" in box.notes.text(), timeout=PATIENCE_MS)
    assert box.warnings.isHidden()


def test_disabled_next_explained(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WherePage)
    page.path.setFocus()
    QTest.keyClicks(page.path, "somewhere/relative")
    assert not wizard.next.isEnabled()
    assert wizard.reason.text() == "Correct this first: Folder"
    assert wizard.reason.isVisible()
    assert "absolute folder" in wizard.next.accessibleDescription()
    error = page.fields["target.folder.path"].error
    assert error.isVisible()
    assert "absolute folder" in error.text()
    assert "absolute folder" in page.path.accessibleDescription()
    page.path.clear()
    QTest.keyClick(page.path, Qt.Key.Key_Backspace)
    page.path.textEdited.emit("")
    assert wizard.next.isEnabled()
    assert not error.isVisible()


def test_cold_caches_exclude_warm_up(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    wizard.flow.step = wizard.flow.furthest = Step.WORKLOAD
    wizard._open_page()
    page = page_of(wizard, WorkloadPage)
    error = page.fields["workload.warmup"].error
    control(page, "workload.caches").setCurrentIndex(control(page, "workload.caches").findData("cold"))
    assert error.text() == (
        "A warm-up of 5 s would warm the cold caches; with cold caches only 0 is allowed."
    )
    assert error.isVisible()
    control(page, "workload.warmup").setText("0")
    control(page, "workload.warmup").textEdited.emit("0")
    assert not error.isVisible()
    assert "cold" in wizard.draft.parts.values["workload.caches"]
    control(page, "workload.caches").setCurrentIndex(control(page, "workload.caches").findData("warm"))
    assert wizard.draft.parts.values["workload.caches"] == "warm"


def test_missing_folder_reported_at_field(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    draft = known_draft()
    draft.parts.values["target.folder.path"] = "/nowhere/at/all"
    wizard = make_wizard(draft)
    settle(qtbot, wizard)
    page = wizard.pages[Step.WHERE]
    error = page.fields["target.folder.path"].error
    qtbot.waitUntil(error.isVisible, timeout=PATIENCE_MS)
    assert "there is no /nowhere" in error.text()
    assert not wizard.next.isEnabled()


def test_early_enter_remembered(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    draft = CampaignDraft(environment=known_draft().environment)
    draft.configuration_of(Place.MEMORY).chosen = False
    draft.parts.values["target.folder.path"] = "/tmp"
    wizard = make_wizard(draft)
    press(wizard, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: wizard.flow.step is Step.POSTGRESQL, timeout=PATIENCE_MS)


def test_every_kind_of_place_can_be_chosen(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    page = wizard.pages[Step.WHERE]
    greyed = [tick.text() for tick in page.findChildren(QAbstractButton) if not tick.isEnabled()]
    # The two that belong to a recipe wait until a question is chosen.
    assert greyed == ["Quic&k variant", "&Use it"]


@pytest.mark.usefixtures("always_yes")
def test_unusable_installation_disabled_with_reason(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL)
    page = page_of(wizard, PostgresPage)
    model = page.installation.model()
    flags = [model.flags(model.index(row, 0)) for row in range(page.installation.count())]
    enabled = [bool(each & Qt.ItemFlag.ItemIsEnabled) for each in flags]
    assert enabled == [True, True, False, True]
    texts = [label.text() for label in page.findChildren(QLabel) if label.isVisible()]
    assert any("Version 9.6.1 is not supported." in text for text in texts)
    assert page.installation.itemText(0) == "The newest here: 17.2"


def test_missing_postgresql_on_second_page(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    draft = known_draft()
    assert draft.environment is not None
    draft.environment = DraftEnvironment(
        MACHINE, current_account(), folder_path="/tmp", install_hint="", recipes=()
    )
    draft.parts.values["target.folder.path"] = "/tmp"
    draft.configuration_of(Place.MEMORY).chosen = False
    wizard = make_wizard(draft)
    press(wizard, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: wizard.flow.step is Step.POSTGRESQL, timeout=PATIENCE_MS)
    settle(qtbot, wizard)
    error = wizard.pages[Step.POSTGRESQL].fields["postgresql.installation"].error
    qtbot.waitUntil(error.isVisible, timeout=PATIENCE_MS)
    assert "nstall" in error.text()
    assert not wizard.next.isEnabled()


# --- going back


@pytest.mark.usefixtures("always_yes")
def test_back_loses_nothing_also_what_is_wrong(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD)
    page = page_of(wizard, WorkloadPage)
    clients = page.fields["workload.clients"].control
    assert isinstance(clients, QLineEdit)
    clients.selectAll()
    QTest.keyClicks(clients, "many")
    page.script_buttons[OWN_SCRIPTS].click()
    assert not wizard.next.isEnabled()
    press_mnemonic(qtbot, wizard, "b")
    press_mnemonic(qtbot, wizard, "b")
    assert open_step(wizard) is Step.WHERE
    assert not wizard.back.isEnabled()
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD)
    assert clients.text() == "many"
    assert page.script_buttons[OWN_SCRIPTS].isChecked()


def test_escape_keeps_draft(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WherePage)
    page.path.setFocus()
    QTest.keyClicks(page.path, "/srv/x")
    press(wizard, Qt.Key.Key_Escape)
    assert not wizard.isVisible()
    another = make_wizard(wizard.draft)
    page = page_of(another, WherePage)
    assert page.path.text() == "/srv/x"


@pytest.mark.usefixtures("always_yes")
def test_steps_ticked_when_complete_and_jump(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD)
    buttons = [each for each in wizard.steps.findChildren(QToolButton) if each.isVisible()]
    tick = make_icon("check", wizard.theme, colour="good").pixmap(16).toImage()
    ticked = [button.icon().pixmap(16).toImage() == tick for button in buttons]
    assert ticked == [True, True, False, False, False]
    assert all(button.isEnabled() for button in buttons), "a step opens over complete pages"
    assert "complete" in buttons[0].accessibleName()
    opened = []
    for number in (0, 3):
        buttons[number].click()
        opened.append(wizard.flow.step)
    assert opened == [Step.WHERE, Step.MORE]


# --- the list


@pytest.mark.usefixtures("always_yes")
def test_copy_edited_and_removed(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE)
    page = page_of(wizard, MorePage)
    assert [row_texts(page, row)[0] for row in range(2)] == ["folder", "memory"]
    page.copy.click()
    assert page.editor.name.hasFocus()
    edit = change(page, "workload.clients")
    QTest.keyClicks(edit, "16")
    page.editor.place.setCurrentIndex(page.editor.place.findData(Place.OTHER_FOLDER))
    where = page.editor.form.fields["target.folder.path"]
    QTest.keyClicks(where.control, "srv")
    assert "absolute folder" in where.error.text()
    where.control.setProperty("text", "")
    QTest.keyClicks(where.control, "/srv/other")
    assert not where.error.text()
    assert row_texts(page, 1) == ["folder 2", "/srv/other", "clients 16"]
    made = wizard.draft.built.configurations[1]
    assert made.target == FolderTarget("/srv/other")
    assert made.workload.clients == 16
    page.remove.click()
    assert page.list.rowCount() == 2
    page.remove.click()
    assert page.list.rowCount() == 1
    assert not page.remove.isEnabled()  # something has to be measured


@pytest.mark.usefixtures("always_yes")
def test_change_of_another_key(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE)
    page = page_of(wizard, MorePage)
    page.copy.click()
    for key, text in (("workload.clients", "16"), ("workload.rate", "x")):
        QTest.keyClicks(change(page, key), text)
    texts = wizard.draft.parts.chosen()[1].texts
    assert texts == {"workload.clients": "16", "workload.rate": "x"}
    assert "Found “x”" in page.editor.form.fields["workload.rate"].error.text()
    offered = page.editor.change
    assert offered.findData("workload.rate") == -1
    page.editor.form.fields["workload.rate"].findChildren(QPushButton)[0].click()
    assert texts == {"workload.clients": "16"}
    assert offered.findData("workload.rate") > 0
    change(page, "workload.transactions")
    change(page, "workload.duration")
    assert "workload.transactions" not in texts  # they exclude each other


@pytest.mark.usefixtures("always_yes")
def test_invalid_change_reported_with_its_name(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    go_on(qtbot, wizard, Step.POSTGRESQL, Step.WORKLOAD, Step.MORE)
    page = page_of(wizard, MorePage)
    page.copy.click()
    page.editor.form.fields["postgresql.settings"].control.setFocus()
    QTest.keyClicks(page.editor.form.fields["postgresql.settings"].control, "nonsense")
    texts = [label.text() for label in page.editor.findChildren(QLabel) if label.isVisible()]
    assert any("Line 1 is not a setting" in text for text in texts)
    page.list.setCurrentCell(0, 0)
    assert page.general.isHidden()
    assert "“folder 2”: Line 1 is not a setting" in wizard.reason.text()


# --- recipes and files


def test_a_recipe_fills_every_page(qtbot: QtBot, make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    actions = [action.text() for action in wizard.files.menu.actions()]
    recipe = next(each for each in list_recipes() if each.name == "clients")
    assert recipe.summary in actions
    with qtbot.waitSignal(wizard.files.loaded, timeout=PATIENCE_MS):
        wizard.files.load(recipe.path)
    assert wizard.draft.to_campaign() == load_campaign(RECIPES / "clients.toml")
    assert wizard.flow.step is Step.WHERE


def test_a_saved_file_is_the_campaign(qtbot: QtBot, make_wizard: MakeWizard, tmp_path: Path) -> None:
    wizard = make_wizard(known_draft())
    path = tmp_path / "campaign.toml"
    with qtbot.waitSignal(wizard.files.saved, timeout=PATIENCE_MS):
        wizard.files.store(str(path))
    assert load_campaign(path) == wizard.draft.to_campaign()


@pytest.mark.parametrize("name", ["missing/campaign.toml", "broken.toml"])
def test_unreadable_file_changes_nothing(
    qtbot: QtBot, make_wizard: MakeWizard, tmp_path: Path, name: str
) -> None:
    (tmp_path / "broken.toml").write_text("name = ")
    wizard = make_wizard(known_draft())
    before = wizard.draft.to_campaign()
    with qtbot.waitSignal(wizard.files.failed, timeout=PATIENCE_MS):
        wizard.files.load(tmp_path / name)
    assert "Nothing was started" in wizard.reason.text()
    assert wizard.draft.to_campaign() == before


def test_long_reason_takes_no_room_from_page(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    wizard._on_failed("short")
    height = wizard.stack.height()
    wizard._on_failed("a sentence of several words, one of many " * 40)
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    assert wizard.stack.height() == height


# --- for everybody


@pytest.mark.parametrize("step", Step, ids=lambda step: step.name.lower())
def test_controls_named_and_mnemonics_unique(make_wizard: MakeWizard, step: Step) -> None:
    draft = known_draft()
    draft.parts.values["workload.script"] = OWN_SCRIPTS
    choose_disks(draft)
    place = Place.DISKS if step is Step.MORE else Place.FOLDER
    copy = draft.copy_configuration(draft.configuration_of(place))
    agree(draft)
    wizard = make_wizard(draft)
    wizard.flow.step = wizard.flow.furthest = step
    wizard._open_page()
    page = wizard.pages[step]
    if isinstance(page, MorePage):
        page.list.setCurrentCell(draft.parts.chosen().index(copy), 0)
        change(page, "workload.clients")
    for widget in page.findChildren(QWidget):
        if widget.window() is wizard:  # and no list of a closed combo box
            widget.setVisible(True)  # also what shows only for some choices
    found = controls(wizard)
    assert len(found) > 4
    nameless = [widget for widget in found if not widget.accessibleName()]
    assert nameless == []
    texts = [widget.text() for widget in found if isinstance(widget, QAbstractButton)]
    texts += [
        label.text()
        for label in page.findChildren(QLabel)
        if label.buddy() is not None and label.buddy() in found
    ]
    keys = [key for key in map(mnemonic, texts) if key]
    assert len(keys) == len(set(keys)), sorted((mnemonic(text), text) for text in texts)
    reached = {widget for widget in found if not isinstance(widget, QAbstractButton)}
    buddies = {label.buddy() for label in page.findChildren(QLabel) if mnemonic(label.text())}
    beside = {widget for widget in reached if widget not in buddies}
    # What stands beside a field is reached from it with Tab.
    assert all(widget.accessibleName() for widget in beside)


def test_help_panel_follows_focus(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WherePage)
    assert "filesystem" in wizard.help.text.text()
    page.boxes[Place.MEMORY].setFocus()
    assert "tmpfs" in wizard.help.source.text()
    assert wizard.help.title.text() == "Memory"


@pytest.mark.parametrize("step", Step, ids=lambda step: step.name.lower())
@pytest.mark.parametrize(
    ("size", "type_share"),
    [
        ((1024, 700), 1.0),
        pytest.param((1024, 700), 2.0, marks=pytest.mark.long),
        pytest.param((1280, 800), 1.5, marks=pytest.mark.long),
    ],
)
def test_no_page_is_wider_than_its_window(
    qtbot: QtBot,
    make_wizard: MakeWizard,
    qapp: QApplication,
    step: Step,
    size: tuple[int, int],
    type_share: float,
) -> None:
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(before.pointSizeF() * type_share)
    qapp.setFont(font)
    try:
        draft = known_draft()
        draft.configuration_of(Place.FOLDER).name = (
            "a configuration with a name of eighty characters " + "x" * 31
        )
        draft.parts.values["workload.scale"] = "100"
        choose_disks(draft)
        agree(draft)
        wizard = make_wizard(draft, size)
        wizard.flow.step = wizard.flow.furthest = step
        wizard._open_page()
        qtbot.wait(10)
        assert (wizard.width(), wizard.height()) == size
        page = wizard.pages[step]
        viewport = page.parentWidget()
        assert viewport is not None
        assert page.width() <= viewport.width()
        for button in (wizard.back, wizard.next, wizard.cancel):
            assert wizard.rect().contains(button.geometry())
    finally:
        qapp.setFont(before)


# --- what may do more than measure


def test_program_consent_required_and_kept(
    qtbot: QtBot, make_wizard: MakeWizard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(disk_feed, "answer", _trust_asked_in_earnest)
    (tmp_path / "own.sql").write_text("\\shell touch <b>\u202e/tmp/x</b>\nSELECT 1;\n")
    path = tmp_path / "theirs.toml"
    path.write_text('name = "Theirs"\ntarget.memory = {}\n[workload]\nscript = {file = "own.sql"}\n')
    wizard = make_wizard(known_draft())
    with qtbot.waitSignal(wizard.files.loaded, timeout=PATIENCE_MS):
        wizard.files.load(path)
    settle(qtbot, wizard)
    go_on(qtbot, wizard, *wizard.flow.steps[1:])
    settle(qtbot, wizard)
    page = page_of(wizard, ReviewPage)
    qtbot.waitUntil(page.trust.isVisible, timeout=PATIENCE_MS)
    assert "\\shell touch <b>\\u202e/tmp/x</b>" in page.asked.toPlainText()
    assert not wizard.next.isEnabled()
    assert "Read the list, then tick the box if you trust it" in wizard.reason.text()

    saved = tmp_path / "saved.toml"
    with qtbot.waitSignal(wizard.files.saved, timeout=PATIENCE_MS):
        wizard.files.store(str(saved))
    with pytest.raises(RefusedError):  # what nobody has ticked is kept nowhere
        check_trust(read_campaign_file(saved), refuse, is_trusted=is_trusted)

    press_mnemonic(qtbot, wizard, "t")
    assert page.trust.isChecked()
    assert wizard.next.isEnabled()
    with qtbot.waitSignal(wizard.accepted_campaign) as started:
        press_mnemonic(qtbot, wizard, "s")
    assert format_campaign(started.args[0]) == saved.read_text()
    check_trust(read_campaign_file(saved), refuse, is_trusted=is_trusted)
    saved.write_text(saved.read_text() + "\n")
    with pytest.raises(RefusedError):
        check_trust(read_campaign_file(saved), refuse, is_trusted=is_trusted)


def test_unsaved_consent_stops_start(
    qtbot: QtBot, make_wizard: MakeWizard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(disk_feed, "answer", _trust_asked_in_earnest)
    (tmp_path / "data").touch()
    draft = known_draft()
    draft.parts.values["postgresql.settings"] = "archive_command = touch"
    wizard = make_wizard(draft)
    settle(qtbot, wizard)
    go_on(qtbot, wizard, *wizard.flow.steps[1:])
    settle(qtbot, wizard)
    press_mnemonic(qtbot, wizard, "t")
    press_mnemonic(qtbot, wizard, "s")
    assert wizard.isVisible()
    assert "cannot be stored" in wizard.reason.text()


def _trust_asked_in_earnest(question: MachineQuestion, environment: DraftEnvironment) -> MachineAnswer:
    real = isinstance(question, ScriptsQuestion | TrustQuestion)
    return answer(question, environment) if real else MachineAnswer(question)


def test_compressible_rows_and_ratios_of_file(
    make_wizard: MakeWizard,
) -> None:
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WorkloadPage)
    values = wizard.draft.parts.values
    page.load()
    assert control(page, "workload.compressibility").currentText() == "pgbench's own, mostly blanks"
    for place in range(1, control(page, "workload.compressibility").count()):
        control(page, "workload.compressibility").setCurrentIndex(place)
        ratio = float(control(page, "workload.compressibility").currentText().partition(":")[0])
        campaign = wizard.draft.to_campaign()
        assert {each.workload.compressibility for each in campaign.configurations} == {ratio}
    offered = control(page, "workload.compressibility").count()
    values["workload.compressibility"] = "2.7"
    page.load()
    assert (
        control(page, "workload.compressibility").currentText(),
        control(page, "workload.compressibility").count(),
    ) == ("2.7:1", offered + 1)
    values["workload.compressibility"] = ""
    page.load()
    assert (
        control(page, "workload.compressibility").currentIndex(),
        control(page, "workload.compressibility").count(),
    ) == (0, offered)
    assert {each.workload.compressibility for each in wizard.draft.to_campaign().configurations} == {None}


# --- by question


def ask(wizard: Wizard, name: str) -> RecipeChooser:
    """Choose a recipe by its name on the first page."""
    page = page_of(wizard, WherePage)
    place = next(number for number, each in enumerate(list_recipes(), 1) if each.name == name)
    page.recipes.questions.setCurrentIndex(place)
    page.recipes.questions.activated.emit(place)
    return page.recipes


def test_questions_first_own_question_on_top(make_wizard: MakeWizard) -> None:
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WherePage)
    chooser = page.recipes
    assert chooser.y() < page.boxes[Place.FOLDER].mapTo(page, page.boxes[Place.FOLDER].rect().topLeft()).y()
    texts = [chooser.questions.itemText(number) for number in range(chooser.questions.count())]
    assert texts[0] == "My own comparison"
    assert "What do barriers cost?" in texts
    assert sum(text.startswith("Which filesystem? ") for text in texts) == 4, "told apart by what they try"
    assert len(set(texts)) == len(texts)
    assert not chooser.use.isEnabled()
    assert chooser.remarks.text() == ""


def test_question_fills_pages_with_quick_variant(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt, "find_installations", lambda *_args, **_named: (NEW,))
    monkeypatch.setattr(adapt, "check_settings", lambda *_args: None)
    wizard = make_wizard(known_draft())
    chooser = ask(wizard, "durability")
    assert "fsync and synchronous_commit on and off" in chooser.remarks.text()
    chooser.quick.setChecked(True)
    assert "cannot show: how data-file flushes" in chooser.remarks.text()
    with qtbot.waitSignal(chooser.loaded, timeout=PATIENCE_MS):
        chooser.use.click()
    campaign = wizard.draft.to_campaign()
    assert campaign.name == "Durability (quick)"
    assert [item.workload.duration_s for item in campaign.configurations] == [5, 5, 5]
    assert wizard.flow.step is Step.WHERE


def test_disk_recipe_uses_ticked_disks(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt, "find_installations", lambda *_args, **_named: (NEW,))
    monkeypatch.setattr(adapt, "check_settings", lambda *_args: None)
    monkeypatch.setattr(adapt, "read_support", everything_works)
    wizard = make_wizard(known_draft())
    chooser = ask(wizard, "mount-options-2011")
    assert not chooser.use.isEnabled()
    assert "Needs 2 spare disks, but 0 are ticked." in chooser.remarks.text()
    assert chooser.use.accessibleDescription()
    choose_disks(wizard.draft)
    wizard.pages[Step.WHERE].refresh()
    assert chooser.use.isEnabled()
    chosen = ticked_disks(wizard.draft.parts)
    with qtbot.waitSignal(chooser.loaded, timeout=PATIENCE_MS):
        chooser.use.click()
    campaign = wizard.draft.to_campaign()
    first = campaign.configurations[0].target
    assert isinstance(first, DiskTarget)
    assert first.names == chosen[:3]
    assert len(campaign.configurations) == 14
    assert "“XFS noatime,noquota,nobarrier” is skipped." in chooser.remarks.text()
    ask(wizard, "durability")
    assert "left out" not in chooser.remarks.text()


def test_question_on_prepared_server(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt, "find_installations", lambda *_args, **_named: (NEW,))
    monkeypatch.setattr(adapt, "check_settings", lambda *_args: None)
    wizard = make_wizard(known_draft())
    page = page_of(wizard, WherePage)
    chooser = ask(wizard, "lentfer-2009")
    assert chooser.steps.isHidden()
    assert (
        "Or tick “An existing PostgreSQL server” to measure its existing filesystem" in chooser.remarks.text()
    )
    page.boxes[Place.SERVER].click()
    assert "Enter the connection to the server below" in chooser.remarks.text()
    assert not chooser.use.isEnabled()
    control(page, "target.server.connection").setText("host=db user=bench")
    control(page, "target.server.connection").textEdited.emit("host=db user=bench")
    assert chooser.use.isEnabled()
    assert "\n1. Use a separate disk or partition" in chooser.steps.text()
    assert "\n10. To rank campaigns" in chooser.steps.text()
    box = page.boxes[Place.SERVER]
    assert chooser.steps.y() > box.mapTo(page, box.rect().topLeft()).y()
    with qtbot.waitSignal(chooser.loaded, timeout=PATIENCE_MS):
        chooser.use.click()
    (only,) = wizard.draft.to_campaign().configurations
    assert only.target == ServerTarget("host=db user=bench")
    assert [each.name for each in only.workload.phases][1:3] == ["selects", "TPC-B"]
    ask(wizard, "durability")
    assert chooser.steps.isHidden(), "it has no variant for a server"


def test_unanswerable_question_explained(
    qtbot: QtBot, make_wizard: MakeWizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt, "find_installations", lambda *_args, **_named: (NEW,))
    wizard = make_wizard(known_draft())
    before = wizard.draft.to_campaign()
    chooser = ask(wizard, "postgresql-18-io")
    with qtbot.waitSignal(chooser.failed, timeout=PATIENCE_MS):
        chooser.use.click()
    assert "needs PostgreSQL 18 or newer; found" in wizard.reason.text()
    assert wizard.draft.to_campaign() == before
