"""Write reports and pictures of run files, without dialogs: for command line and window.

The same runs and texts give the same bytes: Qt writes the time of day and a random identity into a PDF file,
which are replaced here by values from the report's content.

HTML is one web page for a wiki, a pull request, a mail: it loads and executes nothing; texts and tables are
HTML, charts are drawings (SVG) with their captions as names. Pictures are blocks on one sheet: PNG for a
mail, SVG for further editing and for web pages.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from itertools import groupby
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
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QSize, QSizeF
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator

from app import VERSION
from app.domain.columns import Alignment
from app.domain.errors import CancelledError, UsageError, did_you_mean
from app.domain.text import tr
from app.export.runs import with_readable
from app.report.blocks import (
    Attachment,
    BarFigure,
    Block,
    Facts,
    Grid,
    Key,
    Report,
    ReportTable,
    Text,
    TextRole,
    TimeFigure,
    Together,
)
from app.report.options import DEFAULT_OPTIONS, ReportOptions
from app.report.report import read_findings, read_picture, read_report
from app.report.take_with_you import taken_text
from app.runfile.output_file import check_output, write_output
from ui.charts.data.registry import CHARTS
from ui.report.canvas import (
    FOOT_MM,
    MM_PER_INCH,
    MM_PER_POINT,
    PAPER,
    PAPERS,
    Bookmark,
    Canvas,
    Flowable,
    Pages,
    Paper,
    TextStyle,
    colour,
    put_on_pages,
)
from ui.report.layout import PageLayout
from ui.theme import SERIES, painting

SHEET: Final = Paper("picture", 190.0, 1e6, left=8.0, right=6.0, top=7.0, bottom=5.0)
"""As wide as a page; as high as its content."""

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


_HEADINGS: Final = {TextRole.TITLE: "h1", TextRole.HEADING: "h2", TextRole.SUBHEADING: "h3"}
_DRAWN: Final = (BarFigure, TimeFigure, Grid, Key)

_STYLE: Final = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: TEXT; background: PAPER; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .6rem; padding-top: .8rem; border-top: 1px solid LINE; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p { margin: 0 0 .7rem; overflow-wrap: anywhere; }
.answer { font-size: 1.15rem; }
.subtitle, .note, figcaption, footer { color: MUTED; font-size: .87rem; }
.small { font-size: .9rem; }
.warning, td.warned { color: WARNING; font-weight: 600; }
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  margin: 0 0 .4rem; }
.wide { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid LINE; }
th { font-weight: 600; }
.right { text-align: right; } td.right { white-space: nowrap; }
.tag { display: inline-block; width: 1em; height: .8em; margin-right: .45em; border-radius: .2em; }
dl { display: grid; grid-template-columns: minmax(8rem, 16rem) 1fr; gap: .1rem 1rem; font-size: .87rem; }
dt { color: MUTED; } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: .8rem 0 1.2rem; } svg { width: 100%; height: auto; display: block; }
nav ul { list-style: none; padding: 0; columns: 2; font-size: .9rem; } nav .below { padding-left: 1rem; }
footer { margin-top: 3rem; border-top: 1px solid LINE; padding-top: .6rem; }
@media print {
  body { margin: 0; max-width: none; } nav { display: none; } figure, tr { break-inside: avoid; }
}
"""


def report_html(report: Report) -> str:
    """Return a report as an HTML file. Works in any thread; needs a QGuiApplication.

    Raises:
        NoFontError: this machine has no font.
        RunFileError: a run file is no longer readable.
    """
    blocks = list(_flat(report.blocks))
    body = "\n".join(_body(report, blocks))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    foot = escape(f"pgFooting {VERSION} · {report.title}")
    language = escape(tr("en"))
    author = f'<meta name="author" content="{escape(report.author)}">\n' if report.author else ""
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{author}<title>{escape(report.title)}</title>\n<style>{_style()}</style>\n</head>\n<body>\n"
        f"{body}\n<footer>{foot}</footer>\n</body>\n</html>\n"
    )


def _style() -> str:
    words = {"TEXT": "text", "PAPER": "background", "LINE": "grid", "MUTED": "muted", "WARNING": "warning"}
    return re.sub("|".join(words), lambda found: colour(words[found[0]]).name(), _STYLE)


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks without those that only keep others on one page."""
    for block in blocks:
        if isinstance(block, Together):
            yield from _flat(block.blocks)
        else:
            yield block


def _body(report: Report, blocks: Sequence[Block]) -> Iterator[str]:
    contents = _contents(blocks)
    is_first = True
    for is_drawn, group in groupby(enumerate(blocks), lambda item: isinstance(item[1], _DRAWN)):
        found = list(group)
        if is_drawn:
            yield _drawing(report, [block for _, block in found])
            continue
        for place, block in found:
            match block:
                case Text():
                    if is_first and block.role is TextRole.HEADING:
                        yield contents
                        is_first = False
                    yield _text(block, place)
                case ReportTable():
                    yield _table(block)
                case Facts():
                    yield _facts(block)
                case _:
                    raise AssertionError(block)


def _anchor(place: int) -> str:
    return f"part-{place}"


def _contents(blocks: Sequence[Block]) -> str:
    """Return the list of chapters, each a link; empty for fewer than two."""
    found = [
        (place, block) for place, block in enumerate(blocks) if isinstance(block, Text) and block.bookmark
    ]
    if len(found) < 2:
        return ""
    lines = [
        f"<li{' class=below' if block.level else ''}>"
        f'<a href="#{_anchor(place)}">{escape(block.bookmark)}</a></li>'
        for place, block in found
    ]
    heading = escape(tr("Chapters"))
    return f'<nav aria-label="{heading}"><ul>{"".join(lines)}</ul></nav>'


def _text(block: Text, place: int) -> str:
    if not block.text:
        return ""
    anchor = f' id="{_anchor(place)}"' if block.bookmark else ""
    name = _HEADINGS.get(block.role)
    if name is not None:
        return f"<{name}{anchor}>{escape(block.text)}</{name}>"
    if block.role is TextRole.CODE:
        return f"<pre{anchor}>{escape(block.text)}</pre>"
    sign = "⚠ " if block.role is TextRole.WARNING else ""
    return f'<p class="{block.role.value}"{anchor}>{sign}{escape(block.text)}</p>'


def _tag(look: int) -> str:
    ground = colour = PAPER.series[look % SERIES]
    if look >= SERIES:  # the colour of an earlier one, striped
        ground = f"repeating-linear-gradient({45 * (look // SERIES)}deg,{colour} 0 2px,#fff 2px 4px)"
    return f'<span class="tag" style="background:{ground}"></span>'


def _table(table: ReportTable) -> str:
    columns = [column for column in table.columns if any(row.cells[column.id] for row in table.rows)]
    side = {column.id: ' class="right"' if column.alignment is Alignment.RIGHT else "" for column in columns}
    heads = "".join(f'<th scope="col"{side[each.id]}>{escape(each.heading)}</th>' for each in columns)
    rows = []
    for row in table.rows:
        cells = []
        for number, column in enumerate(columns):
            tag = _tag(row.look) if number == 0 and row.look is not None else ""
            kinds = " ".join(
                [*(["right"] if side[column.id] else []), *(["warned"] if column.id in row.warned else [])]
            )
            kind = f' class="{kinds}"' if kinds else ""
            text = escape(row.cells[column.id])
            text = f"<b>{text}</b>" if column.id in row.best else text
            cells.append(f"<td{kind}>{tag}{text}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head, body = f"<thead><tr>{heads}</tr></thead>", f"<tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _facts(facts: Facts) -> str:
    pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.pairs)
    return f"<dl>{pairs}</dl>"


def _drawing(report: Report, blocks: Sequence[Block]) -> str:
    """Return consecutive charts as one drawing, named after its content."""
    bare: list[Block] = []
    captions = []
    for block in blocks:
        if isinstance(block, BarFigure | TimeFigure | Grid):
            captions.append(block.caption)
            bare.append(replace(block, caption=""))
        else:
            bare.append(block)
    caption = " ".join(filter(None, captions))
    name = "; ".join(dict.fromkeys(filter(None, map(_title, blocks))))
    svg = report_svg(replace(report, blocks=tuple(bare))).decode()
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub(r"<(title|desc)>.*?</\1>\s*", "", drawing, flags=re.DOTALL)
    drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1).strip()
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{drawing}{text}</figure>"


def _title(block: Block) -> str:
    match block:
        case BarFigure():
            return block.title
        case TimeFigure():
            return block.title or CHARTS[block.chart].title
        case Grid():
            return CHARTS[block.figures[0].chart].title
        case _:
            return ""


DOTS_PER_INCH: Final = 1200
_FOOT: Final = TextStyle(7.5, colour="muted")

Progress = Callable[[int, int], bool]
"""Called with painted and total pages; returns whether to continue."""


def report_pdf(report: Report, paper: Paper, progress: Progress | None = None) -> bytes:
    """Return the PDF file of a report. Works in any thread; needs a QGuiApplication.

    Args:
        report: its content.
        paper: paper size.
        progress: called after each page.

    Raises:
        NoFontError: this machine has no font.
        CancelledError: progress asked for it.
        RunFileError: a run file is no longer readable.
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
    """Return the file with outline, date and identity; objects in the order of their pages."""
    reader = PdfReader(io.BytesIO(pdf))
    # Remove first what is not copied: later it would stay as an unreferenced object.
    # The file's information follows below; that of Qt 6.8.0 has no end and cannot be read.
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
    """Attach files; readers list them, and `pdfdetach` (poppler) extracts them."""
    names = ArrayObject()
    for each in sorted(attachments, key=lambda each: each.name):
        content = StreamObject()
        content.set_data(each.text.encode())
        content[NameObject("/Type")] = NameObject("/EmbeddedFile")
        content[NameObject("/Subtype")] = NameObject("/" + each.media_type)
        packed = content.flate_encode()
        specification = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Filespec"),
                NameObject("/F"): TextStringObject(each.name),
                NameObject("/UF"): TextStringObject(each.name),
                NameObject("/Desc"): TextStringObject(each.description),
                NameObject("/AFRelationship"): NameObject("/Data"),
                NameObject("/EF"): DictionaryObject({NameObject("/F"): writer._add_object(packed)}),  # noqa: SLF001 - as above
            }
        )
        names += [TextStringObject(each.name), writer._add_object(specification)]  # noqa: SLF001 - as above
    if names:
        files = DictionaryObject({NameObject("/Names"): names})
        writer.root_object[NameObject("/Names")] = DictionaryObject({NameObject("/EmbeddedFiles"): files})


def _name_fonts(writer: PdfWriter) -> None:
    """Remove the prefix that Qt puts before a font's name, which differs in every process."""
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
    """The runs, target and options of a file.

    Attributes:
        runs: run files, at least one; the configuration of the first is the baseline.
        output: its suffix chooses between report (.pdf, .html), picture (.png, .svg) and the winning
            configuration (.txt).
        paper: of a report, a key of `PAPERS`.
        options: options of a report; for a picture only whether it is anonymous.
        replace: whether an existing file may be replaced.
    """

    runs: tuple[Path, ...]
    output: Path
    paper: str = "a4"
    options: ReportOptions = DEFAULT_OPTIONS
    replace: bool = False


def save(
    request: SaveRequest, progress: Progress | None = None, left_out: Callable[[str], object] | None = None
) -> Path:
    """Write the file and return its path. Works in any thread; needs a QGuiApplication.

    Args:
        request: runs, target and options.
        progress: called after each page of a report; may stop it.
        left_out: called with a sentence for each unreadable run, which is excluded; None to write nothing in
            this case.

    Raises:
        UsageError: an unknown suffix or paper, or an impossible path.
        RefusedError: the file exists already; nothing was changed.
        RunFileError: a run file is unreadable, or all are.
        NoFontError: this machine has no font.
        CancelledError: progress stopped it; nothing was written.
        FootingError: the file cannot be written; an existing file is untouched.
    """
    ending = request.output.suffix.lower()
    if ending not in ENDINGS:
        message = tr("“{word}” is not allowed here; use one of {known}.")
        found = message.format(word=request.output.suffix or request.output.name, known=", ".join(ENDINGS))
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
            message = tr("“{word}” is not allowed here; use one of {known}.")
            raise UsageError(message.format(word=request.paper, known=", ".join(PAPERS)))
        return report_pdf(read_report(request.runs, request.options), paper, progress)
    if ending == ".html":
        return report_html(read_report(request.runs, request.options)).encode()
    if ending == ".txt":
        wanted = request.options
        found = read_findings(request.runs, anonymous=wanted.anonymous, baseline=wanted.baseline)
        return taken_text(found).encode()
    picture = read_picture(request.runs, anonymous=request.options.anonymous)
    return report_png(picture) if ending == ".png" else report_svg(picture)
