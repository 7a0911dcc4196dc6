"""The dialog of “Report…”: what, in whose words, with a preview; writes in the background."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSettings, QSize, QStandardPaths, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from app.hosts.preferences import preferred_paper, read_preferences
from app.runfile.filenames import slug
from ui.background import BackgroundOp
from ui.report.flow import PAPERS
from ui.report.preview import PreviewRequest, ReportPreview
from ui.report.save import SaveRequest, save
from ui.report.taken_text import TakenText
from ui.report.wishes_form import WishesForm
from ui.widgets.elided import ElidedComboBox
from ui.widgets.plain_label import plain_label
from ui.widgets.screen_room import screen_room
from ui.widgets.tab_order import go_as_read

_GROUP: Final = "report"
_SIZE: Final = QSize(1020, 700)
_KINDS: Final = {
    "pdf": tr("Report (PDF)"),
    "html": tr("Report as a web page (HTML)"),
    "png": tr("Charts as a picture (PNG)"),
    "svg": tr("Charts as a drawing (SVG)"),
    "txt": tr("What won, to take with you (text)"),
}

_REPORTS: Final = frozenset({"pdf", "html"})
"""Kinds that hold the whole report: what is chosen of it counts, and its pages are shown."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """The runs of which a report is wanted.

    Attributes:
        runs: run files; the configuration of the first is the baseline.
        title: of them, for the name of the file.
    """

    runs: tuple[Path, ...]
    title: str


class _Relay(QObject):
    """Takes the progress from the thread that paints to the dialog, which may be gone by then.

    Signals:
        paged: pages painted and pages in all.
    """

    paged = Signal(int, int)


class ReportDialog(QDialog):
    """Asks, writes, and closes itself.

    Signals:
        written: path of the file.
    """

    written = Signal(Path)

    def __init__(self, asked: ReportRequest, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        go_as_read(self)
        self._asked, self._settings = asked, settings
        self._op: BackgroundOp[Path] | None = None
        self.setWindowTitle(tr("Report"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.kind = _choices(_KINDS)
        self.paper = _choices({name: paper.name for name, paper in PAPERS.items()})
        self.form = WishesForm(asked.title, settings)
        self.preview = ReportPreview(asked.runs)
        self.taken = TakenText(asked.runs)
        self.progress = QProgressBar()
        self.progress.setAccessibleName(tr("Progress"))
        self.words = plain_label()
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setWordWrap(True)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel
        )
        self._lay_out()
        self._remember_last()
        self.buttons.accepted.connect(self._choose_file)
        self.buttons.rejected.connect(self.reject)
        self.kind.currentIndexChanged.connect(self._on_kind_changed)
        self.paper.currentIndexChanged.connect(self._show_preview)
        self.form.changed.connect(self._show_preview)
        self._on_kind_changed()

    def _lay_out(self) -> None:
        count = len(self._asked.runs)
        told = (
            tr("Of the ticked run.") if count == 1 else tr("Of the {count} ticked runs.").format(count=count)
        )
        if count > 1:
            told += " " + tr("The others are compared with the configuration of the first.")
        lead = plain_label(told)
        lead.setWordWrap(True)
        self.form.fields.insertRow(0, tr("Pap&er"), self.paper)
        self.form.fields.insertRow(0, tr("&What"), self.kind)
        left = QVBoxLayout()
        left.addWidget(lead)
        left.addWidget(self.form)
        left.addStretch(1)
        fields = QWidget()
        fields.setLayout(left)
        area = QScrollArea()
        area.setWidget(fields)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setMinimumWidth(fields.minimumSizeHint().width() + area.verticalScrollBar().sizeHint().width())
        both = QHBoxLayout()
        both.addWidget(area, 2)
        both.addWidget(self.preview, 3)
        both.addWidget(self.taken, 3)
        layout = QVBoxLayout(self)
        layout.addLayout(both, 1)
        layout.addWidget(self.words)
        layout.addWidget(self.progress)
        layout.addWidget(self.buttons)
        self.resize(_SIZE.boundedTo(screen_room(self)))
        self.progress.hide()
        self.words.hide()

    def _remember_last(self) -> None:
        self._settings.beginGroup(_GROUP)
        self.kind.setCurrentIndex(max(0, self.kind.findData(self._settings.value("kind"))))
        self._settings.endGroup()
        self.paper.setCurrentIndex(self.paper.findData(preferred_paper(read_preferences()[0], os.environ)))

    def _on_kind_changed(self) -> None:
        is_report = self.kind.currentData() in _REPORTS
        self.paper.setEnabled(self.kind.currentData() == "pdf")
        self.form.set_for_report(is_report=is_report)
        self.preview.setVisible(is_report)
        self.taken.setVisible(self.kind.currentData() == "txt")
        self._show_preview()

    def _show_preview(self) -> None:
        """Show again what will be written, whatever that is."""
        if self.kind.currentData() == "txt":
            self.taken.show_text(anonymous=self.form.wishes.anonymous)
        if self.kind.currentData() in _REPORTS:
            paper = PAPERS[str(self.paper.currentData())]
            self.preview.show_report(PreviewRequest(self.form.wishes, paper))

    def _choose_file(self) -> None:
        kind = str(self.kind.currentData())
        folder = str(self._settings.value(f"{_GROUP}/folder", "")) or QStandardPaths.writableLocation(
            QStandardPaths.StandardLocation.DocumentsLocation
        )
        dialog = QFileDialog(self, tr("Save report"), folder, f"{_KINDS[kind]} (*.{kind})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{slug(self._asked.title, 60)}.{kind}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # The file dialog has asked whether a file that is there may be replaced.
        dialog.fileSelected.connect(lambda name: self.save_to(Path(name)))
        dialog.open()

    def save_to(self, output: Path) -> None:
        """Write to a file that may be replaced, in the background."""
        self._settings.beginGroup(_GROUP)
        self._settings.setValue("kind", self.kind.currentData())
        self._settings.setValue("folder", str(output.parent))
        self._settings.endGroup()
        self.form.keep()
        paper = str(self.paper.currentData())
        request = SaveRequest(self._asked.runs, output, paper, self.form.wishes, replace=True)
        self._show_working(working=True)
        relay = _Relay()
        relay.paged.connect(self._on_paged, Qt.ConnectionType.QueuedConnection)

        def go_on(number: int, count: int) -> bool:
            relay.paged.emit(number, count)
            return not op.is_cancelled

        left_out: list[str] = []
        op = BackgroundOp(
            lambda: save(request, go_on, left_out.append),
            lambda path: self._on_written(path, left_out),
            self._on_failed,
        )
        self._op = op.start()

    def _on_paged(self, number: int, count: int) -> None:
        self.progress.setRange(0, count)
        self.progress.setValue(number)

    def _show_working(self, *, working: bool) -> None:
        self.progress.setRange(0, 0)
        self.progress.setVisible(working)
        self.words.setVisible(False)
        self.form.setEnabled(not working)
        self.buttons.button(QDialogButtonBox.StandardButton.Save).setEnabled(not working)
        if not working:
            self._on_kind_changed()

    def _on_written(self, path: Path, left_out: Sequence[str]) -> None:
        self._op = None
        self.written.emit(path)
        if left_out:  # stays open to say so
            self._show_working(working=False)
            self.words.setText(" ".join(left_out))
            self.words.setVisible(True)
            return
        self.accept()

    def _on_failed(self, error: FootingError) -> None:
        self._op = None
        self._show_working(working=False)
        self.words.setText(f"{error.message} {error.hint}".strip())
        self.words.setVisible(True)

    @override
    def done(self, result: int) -> None:
        self.preview.stop()
        self.taken.stop()
        self.form.keep()
        if self._op is not None:  # nothing is written then: the file comes at the very end
            self._op.cancel()
        super().done(result)


def _choices(choices: dict[str, str]) -> QComboBox:
    box = ElidedComboBox()
    for name, label in choices.items():
        box.addItem(label, name)
    return box


def title_of(campaigns: Sequence[str | None]) -> str:
    """Return the campaign of the runs, where they are of one."""
    names = set(campaigns)
    only = names.pop() if len(names) == 1 else None
    return only or tr("comparison")
