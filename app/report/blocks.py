"""The parts of a report in reading order: texts, tables, figures. Pure data; a painter decides where they go.

Texts are plain: nothing in them is read as markup. Figures name the runs that they show by their number in
`Report.runs`, charts by their id in the program's registry of charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.columns import AnyColumn, Column, RowT, texts
from app.runfile.series import RunData


class TextRole(StrEnum):
    """What a text is in the report."""

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
    """How large a table is set."""

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
        role: how it is set.
        text: one paragraph.
        bookmark: its entry in the outline; empty for none.
        level: of the bookmark, 0 for the outermost.
        new_page: whether it begins one, where the one before is at least half full.
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
        cells: texts by the ids of their columns, one per column.
        look: number of the configuration whose tag stands before the first cell; None for none.
        warned: ids of columns that must be seen.
    """

    cells: Mapping[str, str]
    look: int | None = None
    warned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under headings; columns without any text are left out.

    Attributes:
        columns: in reading order.
        rows: at least one.
        lines: at most so many in a cell, what is longer is shortened in its middle; None for any number.
        size: of its type.
    """

    columns: tuple[AnyColumn, ...]
    rows: tuple[TableRow, ...]
    lines: int | None = None
    size: TableSize = TableSize.NORMAL


def plain_table(columns: Sequence[Column[RowT]], rows: Iterable[RowT], *, size: TableSize) -> ReportTable:
    """Return a table whose rows are neither tagged nor warned of."""
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
    """A configuration in a bar chart.

    Attributes:
        look: number of the configuration.
        name: of the configuration.
        value: its mean; None where there is none.
        low: lower end of the interval; None for none.
        high: upper end.
        runs: the values of its runs.
        told: the value in words, with what goes with it.
        warning: what is to be seen beside it, such as that its options trade safety away; empty for nothing.
    """

    look: int
    name: str
    value: float | None
    low: float | None
    high: float | None
    runs: tuple[float, ...]
    told: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class BarFigure:
    """Means beside each other, from zero.

    Attributes:
        title: what is shown.
        unit: of the values.
        bars: in reading order.
        caption: what bars, lines and dots are, and of which runs.
    """

    title: str
    unit: str
    bars: tuple[Bar, ...]
    caption: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A run in a chart over time.

    Attributes:
        run: its number in the report.
        look: number of its configuration.
        tag: a letter or two at the end of its line; empty for none.
        curves: ids of the curves that are drawn; the main ones where empty.
        seconds: whether the seconds are drawn behind the running mean.
    """

    run: int
    look: int
    tag: str
    curves: tuple[str, ...] = ()
    seconds: bool = True


@dataclass(frozen=True, slots=True)
class TimeFigure:
    """Runs over the time since their measured phase began.

    Attributes:
        chart: id of the chart.
        traces: at least one.
        caption: which runs these are; empty where it stands elsewhere.
        title: instead of the chart's; empty for the chart's.
        height_mm: of the chart with its title.
        marks_of: number of the run whose stalls and checkpoints are marked; None for none.
        end_s: right edge; None for the end of the longest run.
        high: least upper edge of the values, so that charts can share a scale; None for its own.
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
    """Charts beside each other.

    Attributes:
        figures: row by row.
        columns: in a row.
        caption: which runs these are; empty where it stands elsewhere.
        alike: whether they are of one kind, told once above them, and share their scale.
    """

    figures: tuple[TimeFigure, ...]
    columns: int
    caption: str
    alike: bool = True


@dataclass(frozen=True, slots=True)
class Together:
    """Blocks that are never parted by the end of a page; together they fill less than half of one."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """Line samples with names, for the charts that follow."""

    entries: tuple[tuple[int, str], ...]


Block = Text | ReportTable | Facts | BarFigure | TimeFigure | Grid | Key | Together


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a PDF carries with it.

    Attributes:
        name: of the file; the same report has no two of one name.
        description: what it is, in a few words.
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
        runs: what the figures draw.
        moment_epoch_s: when the newest of its runs ended, which is the date of the file.
        attachments: files that a PDF carries with it; pictures do not.
        author: for the file's properties; empty for none.
    """

    title: str
    blocks: tuple[Block, ...]
    runs: tuple[RunData, ...]
    moment_epoch_s: float
    attachments: tuple[Attachment, ...] = ()
    author: str = ""
