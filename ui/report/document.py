"""A report as the bytes of a PDF file: pages painted by Qt, outline, date and identity set by pypdf.

Qt writes the time of day and a random identity into a file; here both follow from what is in the report, so
that the same runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, cast

from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, ByteStringObject, DictionaryObject, Fit, IndirectObject, NameObject
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QSizeF
from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter

from app import VERSION
from app.domain.errors import CancelledError
from app.domain.text import tr
from app.report.blocks import Report
from ui.report.canvas import MM_PER_POINT, Canvas, TextStyle
from ui.report.flow import FOOT_MM, Bookmark, Pages, Paper, put_on_pages
from ui.report.layout import PageLayout

DOTS_PER_INCH: Final = 1200
_FOOT: Final = TextStyle(7.5, colour="muted")

Progress = Callable[[int, int], bool]
"""Called with pages painted and pages in all; returns whether to go on."""


def report_pdf(report: Report, paper: Paper, progress: Progress | None = None) -> bytes:
    """Return the PDF file of a report. Works in any thread; needs a QGuiApplication.

    Args:
        report: what is said.
        paper: its size.
        progress: told after each page.

    Raises:
        NoFontError: this machine has no font.
        CancelledError: progress said so.
        RunFileError: a run file cannot be read any more.
    """
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    device = QPdfWriter(buffer)
    device.setResolution(DOTS_PER_INCH)
    device.setPageLayout(
        QPageLayout(
            QPageSize(QSizeF(paper.width, paper.height), QPageSize.Unit.Millimeter, paper.name),
            QPageLayout.Orientation.Portrait,
            QMarginsF(0, 0, 0, 0),
        )
    )
    canvas = Canvas(device)
    pages = put_on_pages(PageLayout(canvas, paper, report).pieces(report.blocks), paper)
    painter = QPainter(device)
    canvas.painter = painter
    try:
        _paint(canvas, pages, paper, report.title, device.newPage, progress)
    finally:
        canvas.painter = None
        painter.end()
        buffer.close()
    return _finish(bytes(content.data()), pages.bookmarks, report, paper)


def _paint(
    canvas: Canvas,
    pages: Pages,
    paper: Paper,
    title: str,
    new_page: Callable[[], bool],
    progress: Progress | None,
) -> None:
    count = len(pages.placed)
    for number, placed in enumerate(pages.placed, 1):
        if number > 1:
            new_page()
        for piece, y in placed:
            piece.draw(canvas, paper.left, y)
        _paint_foot(canvas, paper, title, number, count)
        if progress is not None and not progress(number, count):
            raise CancelledError(tr("Stopped; no report was written."))


def _paint_foot(canvas: Canvas, paper: Paper, title: str, number: int, count: int) -> None:
    y = paper.height - paper.bottom - FOOT_MM + 4.5
    right = paper.left + paper.text_width
    canvas.rule(paper.left, y - 1.2, right, y - 1.2)
    page = tr("page {number} of {count}").format(number=number, count=count)
    canvas.text(right, y, page, _FOOT, right=True)
    room = paper.text_width - canvas.width(page, _FOOT) - 8
    name = f"pgFooting {VERSION} · {title}"
    canvas.text(paper.left, y, canvas.elide(name, _FOOT, room), _FOOT)


def _finish(pdf: bytes, bookmarks: list[Bookmark], report: Report, paper: Paper) -> bytes:
    """Return the file with outline, date and identity; objects in the order in which pages name them."""
    reader = PdfReader(io.BytesIO(pdf))
    # What is not to be copied goes now: later it would stay as an object that nothing refers to.
    reader.trailer.pop("/ID", None)
    cast("DictionaryObject", reader.trailer["/Root"]).pop("/Metadata", None)
    writer = PdfWriter(clone_from=reader)
    parents: list[IndirectObject] = []
    for bookmark in bookmarks:
        level = min(bookmark.level, len(parents))
        top = (paper.height - bookmark.y) / MM_PER_POINT
        entry = writer.add_outline_item(
            title=bookmark.text,
            page_number=bookmark.page,
            parent=parents[level - 1] if level else None,
            fit=Fit.xyz(left=0, top=top),
        )
        parents = [*parents[:level], entry]
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    moment = datetime.fromtimestamp(report.moment_epoch_s, tz=UTC).strftime("D:%Y%m%d%H%M%S+00'00'")
    writer.metadata = None
    writer.add_metadata(
        {
            "/Title": report.title,
            "/Creator": f"pgFooting {VERSION}",
            "/Producer": "Qt, pypdf",
            "/CreationDate": moment,
            "/ModDate": moment,
        }
    )
    _name_fonts(writer)
    out = io.BytesIO()
    writer.write(out)
    identity = hashlib.sha256(out.getvalue()).digest()[:16]
    writer._ID = ArrayObject((ByteStringObject(identity), ByteStringObject(identity)))  # noqa: SLF001 - there is no other way
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _name_fonts(writer: PdfWriter) -> None:
    """Take away the letters that Qt puts before a font's name, which are others in every process."""
    for page in writer.pages:
        resources = cast("DictionaryObject", page["/Resources"])
        for font in cast("DictionaryObject", resources.get("/Font", DictionaryObject())).values():
            for part in font.get_object().get("/DescendantFonts", ()):
                descriptor = part.get_object()["/FontDescriptor"]
                name = str(descriptor["/FontName"]).rpartition("+")[2]
                descriptor[NameObject("/FontName")] = NameObject("/" + name.removeprefix("/"))
