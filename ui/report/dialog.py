"""The “Report…” dialog: format, the author's texts and sections, with a preview; writes in the background.

Sections have check boxes, and are ordered by dragging or with the keyboard. The winning configuration is
shown as text, to be copied.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSettings, QSize, QStandardPaths, Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid
from typing_extensions import override

from app.domain.errors import FootingError, UsageError
from app.domain.text import titled, tr, trn
from app.export.runs import with_readable
from app.preferences import preferred_paper, read_preferences
from app.report.findings import Findings
from app.report.options import DEFAULT_SECTIONS, SECTION_LABELS, ReportOptions, Section, read_sections
from app.report.report import MOST_TITLE, read_findings
from app.report.take_with_you import recommend, taken_text
from app.runfile.output_file import slug
from ui.background import BackgroundOp
from ui.report.canvas import PAPERS
from ui.report.preview import PreviewRequest, ReportPreview
from ui.report.save import SaveRequest, save
from ui.widgets.fields import OrderedList, plain
from ui.widgets.layouts import screen_room
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import ElidedComboBox, plain_label


class TakenText(QWidget):
    """The winning configuration, as commands to type; computed on first use."""

    def __init__(self, runs: tuple[Path, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._op: BackgroundOp[str] | None = None
        self._shown: bool | None = None
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName(tr("Winning setup as text"))
        self.copy = QPushButton(tr("C&opy"))
        self.copy.setAutoDefault(False)
        self.copy.setEnabled(False)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text, 1)
        layout.addLayout(row)

    def show_text(self, *, anonymous: bool) -> None:
        """Show it, anonymised or not, as soon as the runs are read."""
        if self._shown is anonymous:
            return
        self.stop()
        self._shown = anonymous
        self.copy.setEnabled(False)
        self.text.setPlainText(tr("Reading the runs …"))
        self._op = BackgroundOp(partial(_read, self._runs, anonymous), self._on_read, self._on_failed).start()

    def stop(self) -> None:
        """Cancel pending work."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _on_read(self, text: str) -> None:
        if not isValid(self):  # may be deleted with the parent window at any time
            return
        self._op = None
        self.text.setPlainText(text)
        self.copy.setEnabled(True)

    def _on_failed(self, error: FootingError) -> None:
        if not isValid(self):
            return
        self._op = None
        self.text.setPlainText(f"{error.message} {error.hint}".strip())


def _read(runs: tuple[Path, ...], anonymous: bool) -> str:  # noqa: FBT001 - for `partial`
    return with_readable(
        runs, lambda paths: taken_text(read_findings(paths, anonymous=anonymous)), lambda _: None
    )


class SectionList(OrderedList):
    """Every section of a report."""

    def __init__(self, sections: Sequence[Section], parent: QWidget | None = None) -> None:
        super().__init__(plain(tr("&Sections")), parent)
        always = tr("{section} (required)").format(section=SECTION_LABELS[Section.RUNS])
        labels = {**SECTION_LABELS, Section.RUNS: always}
        others = (each for each in Section if each not in sections)
        self.show_rows(
            (each.value, labels[each], each in sections or each is Section.RUNS)
            for each in (*sections, *others)
        )
        for item in self.list.findItems(always, Qt.MatchFlag.MatchExactly):
            item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsUserCheckable)
        self.list.setSizeAdjustPolicy(QAbstractItemView.SizeAdjustPolicy.AdjustToContents)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The ticked sections, in order."""
        return tuple(map(Section, self.ticked()))


_LINES: Final = 3
MOST_OFFERED: Final = 200
"""Most configurations offered as a baseline."""


class ReportOptionsForm(QWidget):
    """The options of a report; the last texts for the same runs are restored.

    Signals:
        changed: something was typed, ticked or moved.

    Attributes:
        fields: their layout, to add further fields.

    Args:
        about: name of the runs, under which the texts are stored.
        settings: store of the texts.
    """

    changed = Signal()

    def __init__(self, about: str, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._about, self._settings = about, settings
        self.title = QLineEdit()
        self.title.setPlaceholderText(about)
        self.author = QLineEdit()
        self.purpose = _text(tr("Why you measured, in one or two sentences"))
        self.conclusion = _text(tr("Default: pgFooting's draft"))
        self.baseline = ElidedComboBox()
        self.baseline.addItem(tr("the first one"), "")
        self.draft = QPushButton(tr("Use &draft"))
        self.draft.setAutoDefault(False)
        self.draft.setEnabled(False)
        self.named = QRadioButton(tr("As they are, with serial numbers, &host, user and folders"))
        self.anonymous = QRadioButton(tr("Anonymised, to pass a&long"))
        self.named.setChecked(True)
        self._lay_out()
        self._take_last()
        for edit in (self.title, self.author):
            edit.setMaxLength(MOST_TITLE)
            edit.textChanged.connect(self.changed)
        for box in (self.purpose, self.conclusion):
            box.textChanged.connect(self.changed)
        self.anonymous.toggled.connect(self.changed)
        self.baseline.currentIndexChanged.connect(self.changed)
        self.draft.clicked.connect(lambda: self.conclusion.setPlainText(self.draft.toolTip()))
        self.sections.changed.connect(self.changed)

    def _lay_out(self) -> None:
        self.sections = SectionList(self._last_sections())
        names = QVBoxLayout()
        names.setSpacing(2)
        group = QButtonGroup(self)
        for button in (self.named, self.anonymous):
            group.addButton(button)
            names.addWidget(button)
        self.fields = form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        rows: tuple[tuple[str, QWidget], ...] = (
            (tr("&Title"), self.title),
            (tr("&Author"), self.author),
            (tr("Pur&pose"), self.purpose),
            (tr("&Compared with"), self.baseline),
            (tr("Reco&mmendation"), self.conclusion),
            ("", self.draft),
        )
        for label, widget in rows:
            widget.setAccessibleName(label.replace("&", ""))
            form.addRow(label, widget)
        form.addRow(tr("Names"), names)
        form.addRow(tr("&Sections"), self.sections)

    @property
    def options(self) -> ReportOptions:
        """The chosen options."""
        return ReportOptions(
            title=self.title.text(),
            author=self.author.text(),
            purpose=self.purpose.toPlainText(),
            conclusion=self.conclusion.toPlainText(),
            baseline=str(self.baseline.currentData()),
            sections=self.sections.sections,
            anonymous=self.anonymous.isChecked(),
        )

    def set_for_report(self, *, is_report: bool) -> None:
        """Enable all options for a report, only anonymity for a picture."""
        for widget in (self.title, self.author, self.purpose, self.conclusion, self.sections, self.draft):
            widget.setEnabled(is_report)

    def show_findings(self, found: Findings) -> None:
        """Offer baselines, and the draft of the recommendation."""
        for name in found.baselines[: MOST_OFFERED if self.baseline.count() == 1 else 0]:
            self.baseline.addItem(name, name)
        draft = recommend(found)
        self.draft.setEnabled(bool(draft))
        self.conclusion.setPlaceholderText(draft)

    def keep(self) -> None:
        """Store all options for the next report, and the texts for reports of the same runs."""
        options = self.options
        self._settings.beginGroup(_GROUP)
        for name in ("author", "anonymous"):
            self._settings.setValue(name, getattr(options, name))
        self._settings.setValue("sections", ",".join(options.sections))
        self._settings.setValue("about", self._about)
        for name in ("title", "purpose", "conclusion"):
            self._settings.setValue(name, getattr(options, name))
        self._settings.endGroup()

    def _last_sections(self) -> tuple[Section, ...]:
        stored = str(self._settings.value(f"{_GROUP}/sections", "") or "")
        try:
            return read_sections(stored.split(",")) if stored else DEFAULT_SECTIONS
        except UsageError:  # stored by another version
            return DEFAULT_SECTIONS

    def _take_last(self) -> None:
        def last(name: str) -> str:
            return str(self._settings.value(f"{_GROUP}/{name}", "") or "")

        self.author.setText(last("author")[:MOST_TITLE])
        if last("anonymous").lower() == "true":
            self.anonymous.setChecked(True)
        if last("about") == self._about:
            self.title.setText(last("title")[:MOST_TITLE])
            self.purpose.setPlainText(last("purpose"))
            self.conclusion.setPlainText(last("conclusion"))


def _text(placeholder: str) -> QPlainTextEdit:
    """Return a box for a few sentences; Tab leaves it."""
    box = QPlainTextEdit()
    box.setPlaceholderText(placeholder)
    box.setTabChangesFocus(True)
    box.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    box.setFixedHeight(box.fontMetrics().lineSpacing() * _LINES + 14)
    return box


_GROUP: Final = "report"
_SIZE: Final = QSize(1020, 700)
_KINDS: Final = {
    "pdf": tr("Report (PDF)"),
    "html": tr("Report as a web page (HTML)"),
    "png": tr("Charts as a picture (PNG)"),
    "svg": tr("Charts as a drawing (SVG)"),
    "txt": tr("Winning setup as text"),
}

_REPORTS: Final = frozenset({"pdf", "html"})
"""Formats with the whole report: they use all options, and have a page preview."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """The runs for a report.

    Attributes:
        runs: run files; the configuration of the first is the baseline.
        title: of the runs, for the file name.
    """

    runs: tuple[Path, ...]
    title: str


class _Relay(QObject):
    """Pass progress from the painting thread to the dialog, which may be closed by then.

    Signals:
        paged: painted and total pages.
    """

    paged = Signal(int, int)


class ReportDialog(QDialog):
    """Ask for options, write the file, and close.

    Signals:
        written: path of the file.
    """

    written = Signal(Path)

    def __init__(self, asked: ReportRequest, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self._asked, self._settings = asked, settings
        self._op: BackgroundOp[Path] | None = None
        self.setWindowTitle(plain(tr("Re&port …")).removesuffix(" …"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.kind = _choices(_KINDS)
        self.paper = _choices({name: paper.name for name, paper in PAPERS.items()})
        self.form = ReportOptionsForm(asked.title, settings)
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
        self.preview.read.connect(self.form.show_findings)
        self._on_kind_changed()

    def _lay_out(self) -> None:
        count = len(self._asked.runs)
        words = trn("The report covers the ticked run.", "The report covers the {count} ticked runs.", count)
        sentence = words.format(count=count)
        if count > 1:
            sentence += " " + titled(tr("the first run's configuration is the baseline")) + "."
        lead = plain_label(sentence)
        lead.setWordWrap(True)
        self.form.fields.insertRow(0, tr("Pap&er"), self.paper)
        self.form.fields.insertRow(0, tr("&Format"), self.kind)
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
        """Update the preview of the chosen format."""
        if self.kind.currentData() == "txt":
            self.taken.show_text(anonymous=self.form.options.anonymous)
        if self.kind.currentData() in _REPORTS:
            paper = PAPERS[str(self.paper.currentData())]
            self.preview.show_report(PreviewRequest(self.form.options, paper))

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
        # The file dialog has asked whether an existing file may be replaced.
        dialog.fileSelected.connect(lambda name: self.save_to(Path(name)))
        dialog.open()

    def save_to(self, output: Path) -> None:
        """Write to a file in the background, replacing an existing one."""
        self._settings.beginGroup(_GROUP)
        self._settings.setValue("kind", self.kind.currentData())
        self._settings.setValue("folder", str(output.parent))
        self._settings.endGroup()
        self.form.keep()
        paper = str(self.paper.currentData())
        request = SaveRequest(self._asked.runs, output, paper, self.form.options, replace=True)
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
        if left_out:  # stay open to show the excluded runs
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
        if self._op is not None:  # nothing is written then: the file is created at the very end
            self._op.cancel()
        super().done(result)


def _choices(choices: dict[str, str]) -> QComboBox:
    box = ElidedComboBox()
    for name, label in choices.items():
        box.addItem(label, name)
    return box


def title_of(campaigns: Sequence[str | None]) -> str:
    """Return the campaign of the runs, if they are of one."""
    names = set(campaigns)
    only = names.pop() if len(names) == 1 else None
    return only or tr("comparison")
