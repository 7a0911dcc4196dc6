"""The pages of a report as they will be in the PDF, painted small: for looking at before it is written."""

from __future__ import annotations

from PySide6.QtGui import QImage, QPainter

from app.report.blocks import Report
from ui.painting import painting
from ui.report.canvas import MM_PER_INCH, Canvas, colour
from ui.report.flow import Paper, put_on_pages
from ui.report.layout import PageLayout
from ui.report.save import DOTS_PER_INCH, paint_page


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
