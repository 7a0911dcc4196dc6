"""Blocks of a report on one sheet: PNG for a mail, SVG for whoever goes on drawing, and for web pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.report.blocks import Report
from ui.painting import painting
from ui.report.canvas import MM_PER_INCH, Canvas, colour
from ui.report.flow import FOOT_MM, Flowable, Paper, put_on_pages
from ui.report.layout import PageLayout

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
    with painting(image) as painter:
        _paint(canvas, painter, PageLayout(canvas, SHEET, report).pieces(report.blocks), height)
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
    canvas = Canvas(generator, carries_fonts=False)
    pieces = PageLayout(canvas, SHEET, report).pieces(report.blocks)
    height = _height(pieces)
    generator.setSize(QSize(round(SHEET.width * canvas.dots), round(height * canvas.dots)))
    generator.setViewBox(QRectF(0, 0, SHEET.width * canvas.dots, height * canvas.dots))
    with painting(generator) as painter:
        _paint(canvas, painter, pieces, height)
    return bytes(content.data())
