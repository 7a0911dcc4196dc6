"""“Report…”: asks, writes in the background, tells; the files are real."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.domain.run import RunState
from app.report.options import DEFAULT_SECTIONS, Section
from tests.fix_main_window import until_read
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.fix_window import Trial, write_trial
from tests.hostile_files import REFUSED
from ui.background import finish_background
from ui.report.dialog import ReportDialog, ReportRequest, title_of
from ui.window.main_window import MainWindow

OpenWindow = Callable[..., MainWindow]


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def dialog(qtbot: QtBot, settings: QSettings, tmp_path: Path) -> ReportDialog:
    paths = write_cases(tmp_path / "runs", [Case(name, 0, Shape(12, 5000)) for name in ("ext4", "xfs")])
    made = ReportDialog(ReportRequest(tuple(paths), "Trial"), settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(made)
    made.show()
    return made


def choose(dialog: ReportDialog, kind: str) -> None:
    dialog.kind.setCurrentIndex(dialog.kind.findData(kind))


def test_report_written_and_dialog_closes(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    with qtbot.waitSignal(dialog.written, timeout=60_000) as signal:
        dialog.save_to(tmp_path / "out.pdf")
    assert signal.args == [tmp_path / "out.pdf"]
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")
    assert not dialog.isVisible()
    assert dialog.progress.maximum() > 3
    assert dialog.progress.value() == dialog.progress.maximum()


def test_unreadable_run_omitted_from_report(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    REFUSED["a trigger"](dialog._asked.runs[1])
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")
    assert dialog.isVisible()
    assert dialog.words.text().startswith("Skipped: ")
    assert "its trigger “t”" in dialog.words.text()


def test_a_picture_needs_no_paper(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    choose(dialog, "svg")
    assert not dialog.paper.isEnabled()
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "out.svg")
    assert (tmp_path / "out.svg").read_text().startswith("<?xml")


def test_failure_shown_and_retried(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    dialog.save_to(tmp_path / "no" / "out.pdf")
    save = dialog.buttons.button(QDialogButtonBox.StandardButton.Save)
    assert not save.isEnabled()
    qtbot.waitUntil(dialog.words.isVisible, timeout=60_000)
    assert "does not exist" in dialog.words.text()
    assert dialog.isVisible()
    assert save.isEnabled()


def test_full_disk_keeps_old_report(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    """A limit on the size of files fails the write in its middle, as a full disk does."""
    output = tmp_path / "full" / "out.pdf"
    output.parent.mkdir()
    output.write_text("the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        dialog.save_to(output)
        assert finish_background(120)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    qtbot.waitUntil(dialog.words.isVisible, timeout=60_000)
    assert dialog.words.text() == f"{output} cannot be written: File too large. Nothing there was changed."
    assert [path.name for path in output.parent.iterdir()] == ["out.pdf"]
    assert output.read_text() == "the old one"
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(output)
    assert output.read_bytes().startswith(b"%PDF-")


def test_cancelling_writes_nothing(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    written: list[Path] = []
    dialog.written.connect(written.append)
    dialog.save_to(tmp_path / "out.pdf")
    dialog.reject()
    assert finish_background(60)
    qtbot.wait(50)
    assert not written
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_the_last_kind_is_remembered(
    qtbot: QtBot, dialog: ReportDialog, settings: QSettings, tmp_path: Path
) -> None:
    choose(dialog, "png")
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "out.png")
    again = ReportDialog(ReportRequest((tmp_path / "a.footing",), "Trial"), settings)
    qtbot.addWidget(again)
    assert again.kind.currentData() == "png"


def test_author_text_and_section_order_persist(
    qtbot: QtBot, dialog: ReportDialog, settings: QSettings, tmp_path: Path
) -> None:
    form = dialog.form
    form.title.setText("Disks for 2027")
    form.author.setText("Jo Example")
    form.purpose.setPlainText("Which filesystem?")
    form.conclusion.setPlainText("xfs it is.")
    form.anonymous.setChecked(True)
    rows = form.sections
    rows.list.setCurrentRow([*DEFAULT_SECTIONS].index(Section.METHOD))
    for _ in DEFAULT_SECTIONS[1:]:
        rows.up.click()
    rows.list.item(1).setCheckState(Qt.CheckState.Unchecked)
    assert rows.sections[0] is Section.METHOD
    assert DEFAULT_SECTIONS[0] not in rows.sections
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "out.pdf")
    reader = PdfReader(tmp_path / "out.pdf")
    assert reader.metadata is not None
    assert (reader.metadata.title, reader.metadata.author) == ("Disks for 2027", "Jo Example")
    first = " ".join(reader.pages[0].extract_text().split())
    for words in (
        "Disks for 2027",
        "Jo Example",
        "Which filesystem?",
        "xfs it is.",
        "Author's recommendation",
    ):
        assert words in first
    entries = [str(entry.title) for entry in reader.outline if not isinstance(entry, list)]
    assert entries[:2] == ["Summary", "Method"]
    assert "All runs over time" not in entries
    again = ReportDialog(ReportRequest((tmp_path / "a.footing",), "Trial"), settings)
    qtbot.addWidget(again)
    assert again.form.options == form.options
    other = ReportDialog(ReportRequest((tmp_path / "a.footing",), "Another one"), settings)
    qtbot.addWidget(other)
    assert (other.form.options.title, other.form.options.conclusion) == ("", "")
    assert other.form.options.author == "Jo Example"


def test_list_of_runs_is_mandatory(dialog: ReportDialog) -> None:
    rows = dialog.form.sections.list
    [item] = [rows.item(row) for row in range(rows.count()) if "required" in rows.item(row).text()]
    assert not item.flags() & Qt.ItemFlag.ItemIsUserCheckable
    assert item.checkState() is Qt.CheckState.Checked


def test_preview_matches_written_pages(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    preview = dialog.preview
    dialog.form.title.setText("Disks for 2027")
    qtbot.waitUntil(lambda: preview.pages > 0, timeout=60_000)
    assert preview.where.text() == f"Page 1 of {preview.pages}"
    first = preview.page.pixmap().toImage()
    preview.on.click()
    assert preview.where.text() == f"Page 2 of {preview.pages}"
    assert preview.page.pixmap().toImage() != first
    assert preview.back.isEnabled()
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "out.pdf")
    assert len(PdfReader(tmp_path / "out.pdf").pages) == preview.pages


def test_the_preview_follows_what_is_asked_for(qtbot: QtBot, dialog: ReportDialog) -> None:
    preview = dialog.preview
    qtbot.waitUntil(lambda: preview.pages > 0, timeout=60_000)
    whole = preview.pages
    rows = dialog.form.sections.list
    for row in range(rows.count()):
        if rows.item(row).flags() & Qt.ItemFlag.ItemIsUserCheckable:
            rows.item(row).setCheckState(Qt.CheckState.Unchecked)
    qtbot.waitUntil(lambda: 0 < preview.pages < whole, timeout=60_000)
    choose(dialog, "png")
    assert not preview.isVisible()
    assert not dialog.form.title.isEnabled()
    assert dialog.form.anonymous.isEnabled(), "a picture has names too"


def test_what_won_is_read_copied_and_saved(qtbot: QtBot, dialog: ReportDialog, tmp_path: Path) -> None:
    choose(dialog, "txt")
    taken = dialog.taken
    assert taken.isVisible()
    assert not dialog.preview.isVisible()
    qtbot.waitUntil(taken.copy.isEnabled, timeout=60_000)
    taken.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert "shared_buffers = 8GB" in copied
    assert "initdb --pgdata=/srv/pgdata/data --data-checksums" in copied
    with qtbot.waitSignal(dialog.written, timeout=60_000):
        dialog.save_to(tmp_path / "won.txt")
    assert (tmp_path / "won.txt").read_text() == copied


@pytest.mark.parametrize("kind", ["pdf", "txt"])
def test_deleted_dialog_ignores_late_pages(
    qtbot: QtBot, dialog: ReportDialog, settings: QSettings, kind: str
) -> None:
    doomed = ReportDialog(dialog._asked, settings)
    choose(doomed, kind)
    doomed.preview._timer.setInterval(0)
    doomed._show_preview()
    qtbot.waitUntil(lambda: (doomed.preview._op or doomed.taken._op) is not None, timeout=60_000)
    delete(doomed)
    assert finish_background(60)
    qtbot.wait(50)


def test_where_nothing_won_the_dialog_says_so(qtbot: QtBot, settings: QSettings, tmp_path: Path) -> None:
    paths = write_cases(tmp_path / "runs", [Case("a", 0, Shape(12, 5000), state=RunState.FAILED)])
    dialog = ReportDialog(ReportRequest(tuple(paths), "Trial"), settings)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    choose(dialog, "txt")
    qtbot.waitUntil(lambda: "no setup to write" in dialog.taken.text.toPlainText(), timeout=60_000)
    assert not dialog.taken.copy.isEnabled()


def test_the_preview_says_why_there_is_none(qtbot: QtBot, settings: QSettings, tmp_path: Path) -> None:
    dialog = ReportDialog(ReportRequest((tmp_path / "gone.footing",), "Trial"), settings)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "gone.footing" in dialog.preview.page.text(), timeout=60_000)
    assert not dialog.preview.on.isEnabled()


def test_file_named_after_campaign() -> None:
    assert title_of(["Trial", "Trial"]) == "Trial"
    assert title_of(["Trial", "Other"]) == title_of([None]) == "comparison"


def test_command_uses_ticked_runs(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "library" / "one" / "00-ext4.footing", Trial())
    window = open_window(tmp_path / "library")
    until_read(qtbot, window)
    window.runs_page.model.choose([str(path)])
    window.commands["report"].trigger()
    [dialog] = window.findChildren(ReportDialog)
    dialog.save_to(tmp_path / "out.pdf")
    qtbot.waitUntil(lambda: str(tmp_path / "out.pdf") in window.notice.words.text(), timeout=60_000)
    assert (tmp_path / "out.pdf").exists()
