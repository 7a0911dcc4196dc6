"""Preview a report page by page, as small pictures of the PDF's pages, next to the options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import titled, tr
from app.export.runs import with_readable
from app.report.blocks import Report
from app.report.findings import Findings
from app.report.options import ReportOptions
from app.report.report import compose, read_findings
from ui.background import BackgroundOp
from ui.report.canvas import MM_PER_INCH, Canvas, Paper, colour, put_on_pages
from ui.report.layout import PageLayout
from ui.report.save import DOTS_PER_INCH, paint_page
from ui.theme import painting
from ui.widgets.texts import announce, plain_label


class PageImages:
    """A report on its pages: laid out once, painted page by page.

    Lines break as in the PDF: everything is measured in its dots.

    Args:
        report: its content.
        paper: paper size.

    Raises:
        NoFontError: this machine has no font.
    """

    def __init__(self, report: Report, paper: Paper) -> None:
        self._paper, self._title = paper, report.title
        self._canvas = Canvas(_in_dots(QImage(1, 1, QImage.Format.Format_RGB32)))
        self._pages = put_on_pages(PageLayout(self._canvas, paper, report).pieces(report.blocks), paper)

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._pages.placed)

    @property
    def proportion(self) -> float:
        """Height divided by width of a page."""
        return self._paper.height / self._paper.width

    def paint(self, number: int, width: int) -> QImage:
        """Return page `number`, from 0, as a picture `width` pixels wide."""
        paper = self._paper
        image = QImage(width, round(width * paper.height / paper.width), QImage.Format.Format_RGB32)
        image.fill(colour("background"))
        with painting(_in_dots(image)) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            scale = width / (paper.width * self._canvas.dots)
            painter.scale(scale, scale)
            self._canvas.painter = painter
            paint_page(self._canvas, self._pages, paper, self._title, number)
            self._canvas.painter = None
        return image

    def words(self, number: int) -> str:
        """Return the text of a page, counted from 0, in the order of painting."""
        words = self._canvas.words = []
        self.paint(number, 1)
        self._canvas.words = None
        return " ".join(" ".join(words).split())


def _in_dots(image: QImage) -> QImage:
    """Set an image's dots per inch to those of the PDF, so that letters have the same widths."""
    dots = round(1000 * DOTS_PER_INCH / MM_PER_INCH)
    image.setDotsPerMeterX(dots)
    image.setDotsPerMeterY(dots)
    return image


_WAIT_MS: Final = 400
"""Delay after the last key press, before pages are made again."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The runs and options of a preview."""

    options: ReportOptions
    paper: Paper


class _Page(QLabel):
    """A page as a picture; its text is computed when a screen reader asks."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.describe: Callable[[], str] = str

    def accessible_text(self) -> str:
        """Return the text of the page."""
        return self.describe()


class ReportPreview(QWidget):
    """A page of the report, with its number and the total.

    Run files are read once, or twice with and without anonymised names, and again for another baseline.

    Signals:
        read: the findings (`Findings`), when its pages are shown.
    """

    read = Signal(object)

    def __init__(self, runs: tuple[Path, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._read: dict[tuple[bool, str], Findings] = {}
        self._op: BackgroundOp[tuple[PageImages, Findings]] | None = None
        self._wanted: PreviewRequest | None = None
        self._pages: PageImages | None = None
        self._number = 0
        self.page = _Page()
        self.page.describe = self._accessible_text
        self.page.setWordWrap(True)
        self.page.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.page.setAccessibleName(tr("Page"))
        self.page.setMinimumSize(220, 300)
        self.where = plain_label()
        self.where.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.back = QPushButton(tr("P&revious page"))
        self.on = QPushButton(tr("Ne&xt page"))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_WAIT_MS)
        self._timer.timeout.connect(self._begin)
        row = QHBoxLayout()
        for widget in (self.back, self.on):
            row.addWidget(widget, 1)
        for button, step in ((self.back, -1), (self.on, 1)):
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, step=step: self._turn(step))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.page, 1)
        layout.addWidget(self.where)
        layout.addLayout(row)
        self._show_words(tr("Preparing the pages …"))

    def show_report(self, wanted: PreviewRequest) -> None:
        """Show this after a moment without other requests."""
        self._wanted = wanted
        self._timer.start()

    def stop(self) -> None:
        """Cancel pending work."""
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()
            self._op = None

    @property
    def pages(self) -> int:
        """The number of pages; 0 while unknown."""
        return 0 if self._pages is None else self._pages.count

    def _begin(self) -> None:
        wanted = self._wanted
        if wanted is None or self._op is not None:  # asked again at its end
            return
        self._wanted = None
        self._op = BackgroundOp(self._making(wanted), self._on_made, self._on_failed).start()

    def _making(self, wanted: PreviewRequest) -> Callable[[], tuple[PageImages, Findings]]:
        runs, known = self._runs, self._read

        def make() -> tuple[PageImages, Findings]:
            key = wanted.options.anonymous, wanted.options.baseline
            if key not in known:
                known[key] = with_readable(
                    runs,
                    lambda paths: read_findings(paths, anonymous=key[0], baseline=key[1]),
                    lambda _: None,
                )
            return PageImages(compose(known[key], wanted.options), wanted.paper), known[key]

        return make

    def _on_made(self, made: tuple[PageImages, Findings]) -> None:
        if not isValid(self):  # may be deleted with the parent window at any time
            return
        self._op = None
        self._pages, found = made
        self._number = min(self._number, self._pages.count - 1)
        self._show()
        self.read.emit(found)
        self._begin()

    def _on_failed(self, error: FootingError) -> None:
        if not isValid(self):
            return
        self._op = None
        self._pages = None
        self._show_words(f"{error.message} {error.hint}".strip())
        self._begin()

    def _turn(self, step: int) -> None:
        self._number = min(max(0, self._number + step), self.pages - 1)
        self._show()
        announce(self.page, self.where.text())

    def _accessible_text(self) -> str:
        if self._pages is None:
            return self.page.text()
        return f"{self.where.text()}. {self._pages.words(self._number)}"

    def _show_words(self, words: str) -> None:
        self.page.setPixmap(QPixmap())
        self.page.setText(words)
        self.where.clear()
        for button in (self.back, self.on):
            button.setEnabled(False)

    def _show(self) -> None:
        if self._pages is None:
            return
        room, ratio = self.page.contentsRect(), self.devicePixelRatioF()
        width = min(room.width(), round(room.height() / self._pages.proportion))
        image = self._pages.paint(self._number, max(1, round(width * ratio)))
        image.setDevicePixelRatio(ratio)
        self.page.setPixmap(QPixmap.fromImage(image))
        sentence = titled(tr("page {number} of {count}")).format(number=self._number + 1, count=self.pages)
        self.where.setText(sentence)
        self.back.setEnabled(self._number > 0)
        self.on.setEnabled(self._number < self.pages - 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show()
