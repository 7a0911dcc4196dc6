"""Define the parts of a report in reading order: texts, tables, figures. Pure data; a painter lays them out.

Texts are plain: they contain no markup. Figures refer to runs by their number in `Report.runs`, and to charts
by their id in the registry of charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.columns import AnyColumn, Column, RowT, texts
from app.report.report_data import RunSeries


class TextRole(StrEnum):
    """The role of a text in the report."""

    TITLE = "title"
    SUBTITLE = "subtitle"
    HEADING = "heading"
    SUBHEADING = "subheading"
    ANSWER = "answer"
    BODY = "body"
    SMALL = "small"
    NOTE = "note"
    WARNING = "warning"
    CODE = "code"


class TableSize(StrEnum):
    """The type size of a table."""

    NORMAL = "normal"
    SMALL = "small"
    DENSE = "dense"


def letters(number: int) -> str:
    """Return A to Z, then AA, AB ... for 0, 1 ..."""
    return (letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


@dataclass(frozen=True, slots=True)
class Text:
    """A heading or a paragraph.

    Attributes:
        role: determines its style.
        text: one paragraph.
        bookmark: its entry in the outline; empty for none.
        level: of the bookmark, 0 for the outermost.
        new_page: whether it starts a page if the current one is at least half full.
    """

    role: TextRole
    text: str
    bookmark: str = ""
    level: int = 0
    new_page: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        cells: texts by column id, one per column.
        look: number of the configuration with a sample of its line before the first cell; None for none.
        warned: ids of columns to highlight.
        best: ids of columns in bold type.
    """

    cells: Mapping[str, str]
    look: int | None = None
    warned: frozenset[str] = frozenset()
    best: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under headings; columns without any text are omitted.

    Attributes:
        columns: in reading order.
        rows: at least one.
        lines: most lines in a cell, longer texts are shortened in the middle; None for no limit.
        size: type size.
    """

    columns: tuple[AnyColumn, ...]
    rows: tuple[TableRow, ...]
    lines: int | None = None
    size: TableSize = TableSize.NORMAL


def plain_table(columns: Sequence[Column[RowT]], rows: Iterable[RowT], *, size: TableSize) -> ReportTable:
    """Return a table without samples and warnings."""
    return ReportTable(tuple(columns), tuple(TableRow(texts(columns, row)) for row in rows), size=size)


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values in two columns, small, for reference.

    Attributes:
        pairs: (name, value).
    """

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a bar chart, on screen and on paper.

    Attributes:
        label: its name.
        value: its length; None for no bar.
        interval: whiskers; None for none.
        within: whether the interval is within a single run, drawn dotted.
        points: values of its runs.
        colour_index: of its colour.
        note: after the bar: "indicative only", "UNSAFE".
        tip: lines of explanation.
        published: whether it is a published figure: a mark, no bar.
        tag: letters before the name.
        value_text: replaces value and note after the bar; empty to show these.
        warning: after them, such as that it is not durable.
    """

    label: str
    value: float | None
    interval: tuple[float, float] | None = None
    within: bool = False
    points: tuple[float, ...] = ()
    colour_index: int = 0
    note: str = ""
    tip: str = ""
    published: bool = False
    tag: str = ""
    value_text: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class BarFigure:
    """A bar chart of means, from zero.

    Attributes:
        title: of the chart.
        unit: of the values.
        bars: in reading order.
        caption: meaning of bars, lines and dots, and their runs.
        headings: of each bar; bars with the same one are together. Empty for no headings.
    """

    title: str
    unit: str
    bars: tuple[Bar, ...]
    caption: str
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """A run in a chart over time.

    Attributes:
        run: its number in the report.
        look: number of its configuration.
        tag: at the end of its line; empty for none.
        curves: ids of the curves to draw; empty for the main ones.
        seconds: whether the seconds are drawn behind the running mean.
    """

    run: int
    look: int
    tag: str
    curves: tuple[str, ...] = ()
    seconds: bool = True


@dataclass(frozen=True, slots=True)
class TimeFigure:
    """Runs over the time since the start of their measured phase.

    Attributes:
        chart: id of the chart.
        traces: at least one.
        caption: lists the runs; empty if they are listed elsewhere.
        title: replaces the chart's; empty for the chart's.
        height_mm: of the chart with its title.
        marks_of: number of the run with its stalls and checkpoints marked; None for none.
        end_s: right edge; None for the end of the longest run.
        high: least upper limit of the value axis, to share a scale between charts; None for its own.
    """

    chart: str
    traces: tuple[Trace, ...]
    caption: str = ""
    title: str = ""
    height_mm: float = 60.0
    marks_of: int | None = None
    end_s: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Charts arranged in rows.

    Attributes:
        figures: row by row.
        columns: per row.
        caption: lists the runs; empty if they are listed elsewhere.
        alike: whether they are of one kind, with a common scale.
        headed: whether that is stated above them; else each title says it.
    """

    figures: tuple[TimeFigure, ...]
    columns: int
    caption: str
    alike: bool = True
    headed: bool = True


@dataclass(frozen=True, slots=True)
class Together:
    """Blocks that are never separated by a page break if they fit on a page."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """Line samples of configurations with their names, for the charts that follow."""

    entries: tuple[tuple[int, str], ...]


Block = Text | ReportTable | Facts | BarFigure | TimeFigure | Grid | Key | Together


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a PDF.

    Attributes:
        name: of the file; unique in the report.
        description: in a few words.
        media_type: such as text/plain.
        text: its content.
    """

    name: str
    description: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes:
        title: for the first page, the file's properties and every page's foot.
        blocks: in reading order.
        runs: those that the figures draw, and others; each is read when it is drawn.
        moment_epoch_s: end of the newest run, the date of the file.
        attachments: files attached to a PDF; pictures have none.
        author: for the file's properties; empty for none.
    """

    title: str
    blocks: tuple[Block, ...]
    runs: tuple[RunSeries, ...]
    moment_epoch_s: float
    attachments: tuple[Attachment, ...] = ()
    author: str = ""
