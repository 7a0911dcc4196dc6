"""What the report will look like, page by page, beside what is asked for.

The pages of a report as they will be in the PDF, painted small: for looking at before it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QImage, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.blocks import Report
from app.report.findings import Findings
from app.report.report import compose, read_findings
from app.report.wishes import ReportWishes
from ui.background import BackgroundOp
from ui.painting import painting
from ui.report.canvas import MM_PER_INCH, Canvas, colour
from ui.report.flow import Paper, put_on_pages
from ui.report.layout import PageLayout
from ui.report.save import DOTS_PER_INCH, paint_page
from ui.widgets.texts import announce, plain_label


class PageImages:
    """A report on its pages: laid out once, painted page by page.

    Lines break where they break in the PDF: everything is measured in its dots.

    Args:
        report: what is said.
        paper: its size.

    Raises:
        NoFontError: this machine has no font.
    """

    def __init__(self, report: Report, paper: Paper) -> None:
        self._paper, self._title = paper, report.title
        self._canvas = Canvas(_in_dots(QImage(1, 1, QImage.Format.Format_RGB32)))
        self._pages = put_on_pages(PageLayout(self._canvas, paper, report).pieces(report.blocks), paper)

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._pages.placed)

    @property
    def proportion(self) -> float:
        """Height of a page by its width."""
        return self._paper.height / self._paper.width

    def paint(self, number: int, width: int) -> QImage:
        """Return a page, counted from 0, so many pixels wide."""
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
        """Return all that a page says, counted from 0, in the order in which it is painted."""
        words = self._canvas.words = []
        self.paint(number, 1)
        self._canvas.words = None
        return " ".join(" ".join(words).split())


def _in_dots(image: QImage) -> QImage:
    """Let an image say that it has as many dots in an inch as the PDF: letters have the same widths."""
    dots = round(1000 * DOTS_PER_INCH / MM_PER_INCH)
    image.setDotsPerMeterX(dots)
    image.setDotsPerMeterY(dots)
    return image


_WAIT_MS: Final = 400
"""After the last letter, until a page is made anew."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What is to be shown."""

    wishes: ReportWishes
    paper: Paper


class _Page(QLabel):
    """A page as a picture; what it says is worked out when a screen reader asks."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.told: Callable[[], str] = str

    def accessible_text(self) -> str:
        """Return the words of the page."""
        return self.told()


class ReportPreview(QWidget):
    """A page of the report, and which of how many it is.

    The run files are read once, or twice where names are replaced and not.
    """

    def __init__(self, runs: tuple[Path, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._read: dict[bool, Findings] = {}
        self._op: BackgroundOp[PageImages] | None = None
        self._wanted: PreviewRequest | None = None
        self._pages: PageImages | None = None
        self._number = 0
        self.page = _Page()
        self.page.told = self._told
        self.page.setWordWrap(True)
        self.page.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.page.setAccessibleName(tr("Preview of the page"))
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
        self._tell(tr("The pages are being made …"))

    def show_report(self, wanted: PreviewRequest) -> None:
        """Show this as soon as nothing else has been asked for a moment."""
        self._wanted = wanted
        self._timer.start()

    def stop(self) -> None:
        """Want nothing any more."""
        self._timer.stop()
        if self._op is not None:
            self._op.cancel()
            self._op = None

    @property
    def pages(self) -> int:
        """How many pages there are; 0 as long as nobody knows."""
        return 0 if self._pages is None else self._pages.count

    def _begin(self) -> None:
        wanted = self._wanted
        if wanted is None or self._op is not None:  # asked again when it has ended
            return
        self._wanted = None
        self._op = BackgroundOp(self._making(wanted), self._on_made, self._on_failed).start()

    def _making(self, wanted: PreviewRequest) -> Callable[[], PageImages]:
        runs, known = self._runs, self._read

        def make() -> PageImages:
            anonymous = wanted.wishes.anonymous
            if anonymous not in known:
                known[anonymous] = with_readable(
                    runs, lambda paths: read_findings(paths, anonymous=anonymous), lambda _: None
                )
            return PageImages(compose(known[anonymous], wanted.wishes), wanted.paper)

        return make

    def _on_made(self, pages: PageImages) -> None:
        if not isValid(self):  # deleted with the window above it, which asks nobody
            return
        self._op = None
        self._pages = pages
        self._number = min(self._number, pages.count - 1)
        self._show()
        self._begin()

    def _on_failed(self, error: FootingError) -> None:
        if not isValid(self):
            return
        self._op = None
        self._pages = None
        self._tell(f"{error.message} {error.hint}".strip())
        self._begin()

    def _turn(self, step: int) -> None:
        self._number = min(max(0, self._number + step), self.pages - 1)
        self._show()
        announce(self.page, self.where.text())

    def _told(self) -> str:
        if self._pages is None:
            return self.page.text()
        return f"{self.where.text()}. {self._pages.words(self._number)}"

    def _tell(self, words: str) -> None:
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
        told = tr("Page {number} of {count}").format(number=self._number + 1, count=self.pages)
        self.where.setText(told)
        self.back.setEnabled(self._number > 0)
        self.on.setEnabled(self._number < self.pages - 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show()
