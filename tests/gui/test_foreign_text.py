"""Names, labels, paths and notes of anybody are text on every page and never markup, in tool tips neither."""

from __future__ import annotations

import ast
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6 import QtGui
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QAbstractTableModel,
    QModelIndex,
    QSettings,
    Qt,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.domain.storage_plan.plan import Role
from app.draft.disks.table import assign
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Place
from app.draft.machine_answers import MachineAnswer, SupportQuestion
from app.hosts.folders.targets import CheckedTarget
from app.library.entries import read_entry
from app.library.scan import ListedRun
from app.postgres.installations.installation import Installation
from app.postgres.settings import Machine
from app.process.starter import current_account
from app.storage.spare.disks import Listing
from tests.fix_main_window import until_read
from tests.fix_window import Trial, write_trial
from tests.gui.live_bench import LiveBench
from tests.made_disks import SPARE, everything_works
from ui.background import finish_background
from ui.compare.page import ComparePage
from ui.live.page import LivePage
from ui.report.dialog import ReportDialog, ReportRequest
from ui.theme import Scheme, Theme
from ui.widgets.texts import ElidedLabel
from ui.window.main_window import MainWindow
from ui.wizard.background import disk_feed
from ui.wizard.wizard import Wizard

UI = Path(__file__).resolve().parents[2] / "ui"
EVIL = '<img src="x"><b>evil</b> <a href="y">z</a> {x} &lt;i&gt;'
MARK = "evil"
TAGS = ("<img", "<b>", "<a ", "<i>")
OpenWindow = Callable[..., MainWindow]


def is_markup(text: str) -> bool:
    """Whether Qt would take a text for markup where nobody told it not to."""
    return bool(QtGui.Qt.mightBeRichText(text))


class Walk:
    """Looks at everything that widgets show or tell.

    Attributes:
        wrong: what Qt would show as markup, with where it stands.
        seen: places in which the evil name stands as text.
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.seen: set[str] = set()

    def all(self) -> Walk:
        for widget in QApplication.allWidgets():
            self.widget(widget)
        return self

    def widget(self, widget: QWidget) -> None:
        where = f"{type(widget).__name__} {widget.objectName()} {widget.accessibleName()[:40]}"
        self._tip(where, widget.toolTip())
        self._tip(f"{where} what's this", widget.whatsThis())
        for action in widget.actions():
            self._tip(f"action {action.text()} of {where}", action.toolTip())
            self._see(f"action of {where}", action.text())
        if isinstance(widget, QLabel):
            self._label(where, widget)
        if isinstance(widget, QTextEdit):
            self._rich(where, widget.toHtml())
            self._see(where, widget.toPlainText())
        if isinstance(widget, QPlainTextEdit):
            self._see(where, widget.toPlainText())
        if isinstance(widget, QComboBox | QAbstractItemView) and widget.model() is not None:
            self._model(where, widget.model(), QModelIndex(), 3)

    def _label(self, where: str, label: QLabel) -> None:
        self._see(where, label.text())
        if label.textFormat() is Qt.TextFormat.PlainText:
            return
        is_rich = label.textFormat() is not Qt.TextFormat.AutoText or is_markup(label.text())
        if is_rich or MARK in label.text():
            self.wrong.append(f"{where}: {label.text()[:60]}")

    def _tip(self, where: str, tip: str) -> None:
        if tip and is_markup(tip) and (not tip.startswith("<qt>") or any(tag in tip for tag in TAGS)):
            self.wrong.append(f"tool tip of {where}: {tip[:80]}")
        if MARK in tip:
            self.seen.add(f"tool tip of {where}")

    def _rich(self, where: str, html: str) -> None:
        if "<img" in html or 'href="y"' in html:  # links of the program's own are allowed
            self.wrong.append(f"{where}: {html[:200]}")

    def _see(self, where: str, text: str) -> None:
        if MARK in text:
            self.seen.add(where)

    def _model(self, where: str, model: QAbstractItemModel, parent: QModelIndex, depth: int) -> None:
        for row in range(min(200, model.rowCount(parent))):
            # Qt hides columnCount of lists and hasChildren of tables.
            columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
            for column in range(columns):
                index = model.index(row, column, parent)
                self._tip(f"{where} {row},{column}", str(index.data(Qt.ItemDataRole.ToolTipRole) or ""))
                self._see(f"item of {where}", str(index.data(Qt.ItemDataRole.DisplayRole) or ""))
                if depth and column == 0 and not isinstance(model, QAbstractListModel | QAbstractTableModel):
                    self._model(where, model, index, depth - 1)


def evil_run(path: Path, number: int = 0) -> Path:
    """A run all of whose texts are evil."""
    name = f"{EVIL} #{number}"
    trial = Trial(
        name,
        name,
        number,
        campaign=EVIL,
        filesystem=EVIL,
        marks=(("unsafe", EVIL), (EVIL, EVIL)),
        settings=((EVIL, EVIL),),
        started=1.8e9 + number,
        more={
            "tags": [EVIL],
            "note": f"{EVIL}\n{EVIL}",
            "target": {"kind": EVIL, "path": f"/{EVIL}", "raid": EVIL},
            "installation": {"version": EVIL, "folder": EVIL},
            "error": {"message": EVIL, "hint": EVIL},
        },
    )
    write_trial(path, trial)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE series SET instance = ?, unit = ?, label = ?", (EVIL,) * 3)
        connection.execute("INSERT INTO event (t_ms, kind, message) VALUES (1500, ?, ?)", (EVIL, EVIL))
        connection.execute("INSERT INTO unavailable (t_ms, source, reason) VALUES (1, ?, ?)", (EVIL, EVIL))
    return path


@pytest.fixture
def nothing_left() -> Iterator[None]:
    yield
    assert finish_background(120)


def test_main_window(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    library = tmp_path / f"library {MARK}"
    for number in range(3):
        evil_run(library / EVIL.replace("/", "") / f"{number} {EVIL.replace('/', '')}.footing", number)
    bad = shutil.copyfile(next(library.rglob("*.footing")), library / f"bad {EVIL.replace('/', '')}.footing")
    bad.write_bytes(bad.read_bytes()[:5000])
    window = open_window(library)
    until_read(qtbot, window)
    window.runs_page.model.choose(str(path) for path in library.rglob("*evil*.footing"))
    window.pages.setCurrentWidget(window.runs_page)
    qtbot.wait(50)
    assert finish_background(120)
    qtbot.wait(50)
    walk = Walk().all()
    assert walk.wrong == []
    assert len(walk.seen) >= 3


def test_compare_page_views(qtbot: QtBot, tmp_path: Path, nothing_left: None) -> None:
    page = ComparePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    paths = [evil_run(tmp_path / f"{number}.footing", number) for number in range(3)]
    with qtbot.waitSignal(page.settled):
        page.show_runs([ListedRun(read_entry(path), ()) for path in paths], {}, "")
    walk = Walk()
    for index in range(page.tabs.count()):
        page.tabs.setCurrentIndex(index)
        qtbot.wait(30)
        assert finish_background(120)
        walk.all()
    page.stop()
    assert walk.wrong == []
    assert len(walk.seen) >= 2


def test_the_live_page(qtbot: QtBot, tmp_path: Path, nothing_left: None) -> None:
    bench = LiveBench.create(tmp_path, name="evil campaign")
    page = LivePage(Theme(Scheme.LIGHT))
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    writer = bench.begin(1, name=EVIL, campaign=EVIL, error={"message": EVIL, "hint": EVIL})
    with writer.transaction():
        writer.add_mark("unsafe", EVIL)
        writer.add_event(100, "error", EVIL)
    page.set_campaign(bench.folder)
    with qtbot.waitSignal(page.poller.watched):
        page.poller.look()
    page.log_button.click()
    qtbot.wait(30)
    walk = Walk().all()
    page.stop()
    bench.close()
    assert walk.wrong == []
    assert len(walk.seen) >= 2


def evil_draft() -> CampaignDraft:
    """A draft whose machine, disks and configurations have evil names."""
    checked = CheckedTarget(f"/{EVIL}", EVIL, 1 << 36)
    old = Installation(f"/{EVIL}", EVIL, 9, unusable=(EVIL,), origin=EVIL)
    new = Installation(f"/new {EVIL}", "17.2", 17, version_text=EVIL, origin=EVIL)
    machine = Machine(8 << 30, None, 4)
    place = checked
    environment = DraftEnvironment(
        machine, current_account(), "", (new, old), "", place, f"/{EVIL}", place, ()
    )
    draft = CampaignDraft(environment=environment)
    disks = tuple(replace(disk, identity=replace(disk.identity, model=EVIL)) for disk in SPARE)
    draft.see_disks(Listing(disks, (), as_root=False))
    draft.configuration_of(Place.DISKS).chosen = True
    for disk in disks[:2]:
        assign(draft.parts.disks, disk.identity.key(), Role.DATA)
    draft.take(MachineAnswer(SupportQuestion(), everything_works()))
    for each in draft.parts.configurations:
        each.name = f"{each.name} {EVIL}"
    draft.parts.values["target.folder.path"] = f"/{EVIL}"
    draft.parts.values["postgresql.settings"] = f"cluster_name = '{EVIL}'"
    return draft


class Still:
    """A machine whose disks do not change."""

    def __init__(self, _on_change: object) -> None:
        pass

    def start(self) -> None:
        """Nothing is told."""

    def stop(self) -> None:
        """Nothing is followed."""


def test_every_page_of_the_wizard(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    monkeypatch.setattr(disk_feed, "answer", lambda question, _environment: MachineAnswer(question))
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    wizard = Wizard(Theme(Scheme.LIGHT), evil_draft(), settings=settings, make_watch=Still)
    qtbot.addWidget(wizard)
    wizard.show()
    walk = Walk()
    for step in wizard.flow.steps:
        wizard.flow.step = wizard.flow.furthest = step
        wizard._open_page()
        qtbot.wait(50)
        walk.all()
    wizard.asking.stop()
    wizard.close()
    assert walk.wrong == []
    assert len(walk.seen) >= 5


def test_the_report_dialog(qtbot: QtBot, tmp_path: Path) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    dialog = ReportDialog(ReportRequest((tmp_path / f"{MARK}.footing",), EVIL), settings)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.save_to(tmp_path / EVIL.replace("/", "") / "out.pdf")
    qtbot.waitUntil(dialog.words.isVisible)
    walk = Walk().all()
    assert walk.wrong == []
    assert len(walk.seen) >= 1


# What no walk can miss: how labels and tool tips are made at all


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a function or method in ui, with where it stands."""
    for path in sorted(UI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func
                own = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if own == name:
                    yield f"{path.relative_to(UI)}:{node.lineno}", node


def test_labels_created_where_format_chosen() -> None:
    found = {where.partition(":")[0] for where, _ in calls("QLabel")}
    assert found == {"widgets/texts.py"}


def test_mnemonic_labels_hold_own_text() -> None:
    made = [where for where, _ in calls("mnemonic_label")]
    assert 3 <= len(made) <= 9  # a new one wants a look: where does its text come from?


OWN = {"command.description", "native", "self.before.accessibleName()", "self.after.accessibleName()"}
"""Constants of ui.window.commands.commands and ui.live.replay_bar."""


def is_own_or_escaped(value: ast.expr) -> bool:
    """Whether a tool tip is a constant of the program or has gone through `tooltip`."""
    if isinstance(value, ast.IfExp):
        return is_own_or_escaped(value.body) and is_own_or_escaped(value.orelse)
    if isinstance(value, ast.JoinedStr):
        parts = [ast.unparse(part.value) for part in value.values if isinstance(part, ast.FormattedValue)]
        return set(parts) <= OWN
    match value:
        case ast.Constant() | ast.Call(func=ast.Name(id="tooltip")):
            return True
        case ast.Call(func=ast.Name(id="tr"), args=[ast.Constant()]):
            return True
        case _:
            return ast.unparse(value) in OWN


def is_announced_before(call: ast.Call, where: str) -> bool:
    """Whether the text of a tool tip is a name that was given what `tooltip` returned."""
    name = ast.unparse(call.args[1])
    return f"{name} = tooltip(" in (UI / where.partition(":")[0]).read_text(encoding="utf-8")


def test_tool_tips_escape_foreign_text() -> None:
    tips = list(calls("setToolTip"))
    called = [*calls("setItemData"), *calls("setData"), *calls("showText")]
    others = [(where, call) for where, call in called if "ToolTip" in ast.dump(call)]
    assert len(tips) >= 20
    assert len(others) >= 5
    wrong = [where for where, call in tips if not is_own_or_escaped(call.args[-1])]
    wrong += [
        where
        for where, call in others
        if not is_own_or_escaped(call.args[1]) and not is_announced_before(call, where)
    ]
    assert wrong == []


def test_message_boxes_show_plain_text() -> None:
    for path in sorted(UI.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        made, plain = (
            text.count("QMessageBox(QMessageBox"),
            text.count("setTextFormat(Qt.TextFormat.PlainText)"),
        )
        assert made <= plain, path
        assert "setHtml(" not in text, path
        assert "insertHtml(" not in text, path


def test_typed_text_left_to_right_in_rtl(qtbot: QtBot, qapp: QApplication) -> None:
    def picture(of_program: Qt.LayoutDirection) -> QtGui.QImage:
        qapp.setLayoutDirection(of_program)
        label = ElidedLabel()
        qtbot.addWidget(label)
        label.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        label.show_line("-E stride")
        label.resize(200, 20)
        return label.grab().toImage()

    try:
        from_right = picture(Qt.LayoutDirection.RightToLeft)
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    assert from_right == picture(Qt.LayoutDirection.LeftToRight)
