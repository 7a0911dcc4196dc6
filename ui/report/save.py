"""Reports and pictures of run files written to files, without dialogs: for command line and window.

Qt writes the time of day and a random identity into a PDF file; here both follow from what is in the report,
so that the same runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    ByteStringObject,
    DictionaryObject,
    Fit,
    IndirectObject,
    NameObject,
    StreamObject,
    TextStringObject,
)
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QSizeF
from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter

from app import VERSION
from app.domain.errors import CancelledError, UsageError, did_you_mean
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.blocks import Attachment, Report
from app.report.report import read_findings, read_picture, read_report
from app.report.take_with_you import taken_text
from app.report.wishes import AS_IT_COMES, ReportWishes
from app.runfile.output_file import check_output, write_output
from ui.painting import painting
from ui.report.canvas import MM_PER_POINT, Canvas, TextStyle
from ui.report.flow import FOOT_MM, PAPERS, Bookmark, Pages, Paper, put_on_pages
from ui.report.layout import PageLayout
from ui.report.pictures import report_png, report_svg
from ui.report.web_page import report_html

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
    try:
        with painting(device) as canvas.painter:
            _paint_document(canvas, pages, paper, report.title, device.newPage, progress)
    finally:
        canvas.painter = None
        buffer.close()
    return _finish(bytes(content.data()), pages.bookmarks, report, paper)


def _paint_document(
    canvas: Canvas,
    pages: Pages,
    paper: Paper,
    title: str,
    new_page: Callable[[], bool],
    progress: Progress | None,
) -> None:
    count = len(pages.placed)
    for number in range(1, count + 1):
        if number > 1:
            new_page()
        paint_page(canvas, pages, paper, title, number - 1)
        if progress is not None and not progress(number, count):
            raise CancelledError(tr("Stopped; no report was written."))


def paint_page(canvas: Canvas, pages: Pages, paper: Paper, title: str, number: int) -> None:
    """Paint a page, counted from 0, with its foot."""
    for piece, y in pages.placed[number]:
        piece.draw(canvas, paper.left, y)
    _paint_foot(canvas, paper, title, number + 1, len(pages.placed))


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
    # Information of the file comes below; that of Qt 6.8.0 has no end and cannot be read.
    for name in ("/ID", "/Info"):
        reader.trailer.pop(name, None)
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
    writer.root_object[NameObject("/Lang")] = TextStringObject(tr("en"))
    writer.root_object[NameObject("/ViewerPreferences")] = DictionaryObject(
        {NameObject("/DisplayDocTitle"): BooleanObject(value=True)}
    )
    moment = datetime.fromtimestamp(report.moment_epoch_s, tz=UTC).strftime("D:%Y%m%d%H%M%S+00'00'")
    writer.metadata = None
    writer.add_metadata(
        {
            "/Title": report.title,
            **({"/Author": report.author} if report.author else {}),
            "/Creator": f"pgFooting {VERSION}",
            "/Producer": "Qt, pypdf",
            "/CreationDate": moment,
            "/ModDate": moment,
        }
    )
    _name_fonts(writer)
    _attach(writer, report.attachments)
    out = io.BytesIO()
    writer.write(out)
    identity = hashlib.sha256(out.getvalue()).digest()[:16]
    writer._ID = ArrayObject((ByteStringObject(identity), ByteStringObject(identity)))  # noqa: SLF001 - there is no other way
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _attach(writer: PdfWriter, attachments: Sequence[Attachment]) -> None:
    """Let the file carry others; readers list them, and `pdfdetach` (poppler) takes them out."""
    names = ArrayObject()
    for each in sorted(attachments, key=lambda each: each.name):
        content = StreamObject()
        content.set_data(each.text.encode())
        content[NameObject("/Type")] = NameObject("/EmbeddedFile")
        content[NameObject("/Subtype")] = NameObject("/" + each.media_type)
        packed = content.flate_encode()
        told = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Filespec"),
                NameObject("/F"): TextStringObject(each.name),
                NameObject("/UF"): TextStringObject(each.name),
                NameObject("/Desc"): TextStringObject(each.description),
                NameObject("/AFRelationship"): NameObject("/Data"),
                NameObject("/EF"): DictionaryObject({NameObject("/F"): writer._add_object(packed)}),  # noqa: SLF001 - as above
            }
        )
        names += [TextStringObject(each.name), writer._add_object(told)]  # noqa: SLF001 - as above
    if names:
        files = DictionaryObject({NameObject("/Names"): names})
        writer.root_object[NameObject("/Names")] = DictionaryObject({NameObject("/EmbeddedFiles"): files})


def _name_fonts(writer: PdfWriter) -> None:
    """Take away the letters that Qt puts before a font's name, which are others in every process."""
    for page in writer.pages:
        resources = cast("DictionaryObject", page["/Resources"])
        for font in cast("DictionaryObject", resources.get("/Font", DictionaryObject())).values():
            for part in font.get_object().get("/DescendantFonts", ()):
                descriptor = part.get_object()["/FontDescriptor"]
                name = str(descriptor["/FontName"]).rpartition("+")[2]
                descriptor[NameObject("/FontName")] = NameObject("/" + name.removeprefix("/"))


ENDINGS: Final = (".pdf", ".html", ".png", ".svg", ".txt")


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What is to be written.

    Attributes:
        runs: run files, at least one; the configuration of the first is the baseline.
        output: its ending chooses between report (.pdf, .html), picture (.png, .svg) and what won (.txt).
        paper: of a report, a key of `PAPERS`.
        wishes: what is wanted of a report; of a picture only whether it is anonymous.
        replace: whether a file that is there may be replaced.
    """

    runs: tuple[Path, ...]
    output: Path
    paper: str = "a4"
    wishes: ReportWishes = AS_IT_COMES
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
        return report_pdf(read_report(request.runs, request.wishes), paper, progress)
    if ending == ".html":
        return report_html(read_report(request.runs, request.wishes)).encode()
    if ending == ".txt":
        return taken_text(read_findings(request.runs, anonymous=request.wishes.anonymous)).encode()
    picture = read_picture(request.runs, anonymous=request.wishes.anonymous)
    return report_png(picture) if ending == ".png" else report_svg(picture)
