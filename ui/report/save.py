"""Reports and pictures of run files written to files, without dialogs: for command line and window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.blocks import Report
from app.report.report import read_picture, read_report
from app.runfile.output_file import check_output, write_output
from ui.report.canvas import MM_PER_INCH, Canvas, colour
from ui.report.document import Progress, report_pdf
from ui.report.flow import FOOT_MM, PAPERS, Flowable, Paper, put_on_pages
from ui.report.layout import PageLayout

ENDINGS: Final = (".pdf", ".png", ".svg")


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What is to be written.

    Attributes:
        runs: run files, at least one; the configuration of the first is the baseline.
        output: its ending chooses between report (.pdf) and picture (.png, .svg).
        paper: of a report, a key of `PAPERS`.
        anonymous: whether serials, host, user and folders are replaced.
        replace: whether a file that is there may be replaced.
    """

    runs: tuple[Path, ...]
    output: Path
    paper: str = "a4"
    anonymous: bool = False
    replace: bool = False


def save(
    request: SaveRequest, progress: Progress | None = None, left_out: Callable[[str], object] | None = None
) -> Path:
    """Write it and return the path. Works in any thread; needs a QGuiApplication.

    Args:
        request: what.
        progress: told after each page of a report; may stop it.
        left_out: gets a sentence for each run that cannot be read and is therefore not in it; None: then
            nothing is written.

    Raises:
        UsageError: an unknown ending or paper, or nothing can stand at that place.
        RefusedError: a file is there already; nothing was changed.
        RunFileError: a run file cannot be read, or none of them.
        NoFontError: this machine has no font.
        CancelledError: progress stopped it; nothing was written.
        FootingError: the file cannot be written; what was there before is untouched.
    """
    ending = request.output.suffix.lower()
    if ending not in ENDINGS:
        message = tr("“{suffix}” is no ending of a report or picture; known are {known}.")
        found = message.format(suffix=request.output.suffix or request.output.name, known=", ".join(ENDINGS))
        raise UsageError(found, hint=did_you_mean(ending, ENDINGS))
    check_output(request.output, replace=request.replace)
    if left_out is None:
        content = _content(request, ending, progress)
    else:
        content = with_readable(
            request.runs,
            lambda runs: _content(replace(request, runs=tuple(runs)), ending, progress),
            left_out,
        )
    write_output(request.output, lambda stream: stream.write(content))
    return request.output


def _content(request: SaveRequest, ending: str, progress: Progress | None) -> bytes:
    if ending == ".pdf":
        paper = PAPERS.get(request.paper)
        if paper is None:
            message = tr("“{paper}” is no known size of paper; known are {known}.")
            raise UsageError(message.format(paper=request.paper, known=", ".join(PAPERS)))
        return report_pdf(read_report(request.runs, anonymous=request.anonymous), paper, progress)
    picture = read_picture(request.runs, anonymous=request.anonymous)
    return report_png(picture) if ending == ".png" else report_svg(picture)


# --- The charts of runs as one picture: PNG for a mail, SVG for whoever goes on drawing.


SHEET: Final = Paper("picture", 190.0, 1e6, left=8.0, right=6.0, top=7.0, bottom=5.0)
"""As wide as a page; as high as what is on it."""

_PNG_DOTS_PER_INCH: Final = 200
_SVG_DOTS_PER_INCH: Final = 1200


def _height(pieces: list[Flowable]) -> float:
    return SHEET.top + sum(piece.height for piece in pieces) + SHEET.bottom


def _paint(canvas: Canvas, painter: QPainter, pieces: list[Flowable], height: float) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    canvas.painter = painter
    canvas.area(0, 0, SHEET.width, height, colour("background"))
    for piece, y in put_on_pages(pieces, replace(SHEET, height=height + FOOT_MM + SHEET.bottom)).placed[0]:
        piece.draw(canvas, SHEET.left, y)
    canvas.painter = None


def report_png(report: Report) -> bytes:
    """Return the blocks of a report on one sheet as a PNG file.

    Raises:
        NoFontError: this machine has no font.
    """
    trial = _image(10.0)
    height = _height(PageLayout(Canvas(trial), SHEET, report).pieces(report.blocks))
    image = _image(height)
    canvas = Canvas(image)
    painter = QPainter(image)
    _paint(canvas, painter, PageLayout(canvas, SHEET, report).pieces(report.blocks), height)
    painter.end()
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(content.data())


def _image(height: float) -> QImage:
    dots = _PNG_DOTS_PER_INCH / MM_PER_INCH
    image = QImage(round(SHEET.width * dots), round(height * dots), QImage.Format.Format_RGB32)
    image.fill(colour("background"))
    image.setDotsPerMeterX(round(1000 * dots))
    image.setDotsPerMeterY(round(1000 * dots))
    return image


def report_svg(report: Report) -> bytes:
    """Return the blocks of a report on one sheet as an SVG file, lines as lines and text as text.

    Raises:
        NoFontError: this machine has no font.
    """
    content = QByteArray()
    buffer = QBuffer(content)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setResolution(_SVG_DOTS_PER_INCH)
    generator.setTitle(report.title)
    canvas = Canvas(generator)
    pieces = PageLayout(canvas, SHEET, report).pieces(report.blocks)
    height = _height(pieces)
    generator.setSize(QSize(round(SHEET.width * canvas.dots), round(height * canvas.dots)))
    generator.setViewBox(QRectF(0, 0, SHEET.width * canvas.dots, height * canvas.dots))
    painter = QPainter(generator)
    _paint(canvas, painter, pieces, height)
    painter.end()
    return bytes(content.data())
