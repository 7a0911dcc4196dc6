"""A report as one web page for a wiki, a pull request, a mail: nothing else is loaded, nothing is executed.

Texts and tables are what they are in HTML, charts are drawings (SVG) with their captions as their names. The
same runs and words give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import Final

from app import VERSION
from app.domain.columns import Alignment
from app.domain.text import tr
from app.report.blocks import (
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
    letters,
)
from ui.charts.data.registry import CHARTS
from ui.report.canvas import colour, series_colour
from ui.report.pictures import report_svg

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
.tag { display: inline-block; min-width: 1.3em; margin-right: .45em; padding: 0 .2em; text-align: center;
  color: PAPER; font-weight: 600; border-radius: .2em; }
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
        RunFileError: a run file cannot be read any more.
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
    """Yield blocks without what keeps them on one sheet of paper."""
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
    """Return the list of chapters, each a link; empty where there are fewer than two."""
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
    return f'<span class="tag" style="background:{series_colour(look).name()}">{letters(look)}</span>'


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
            cells.append(f"<td{kind}>{tag}{escape(row.cells[column.id])}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head, body = f"<thead><tr>{heads}</tr></thead>", f"<tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _facts(facts: Facts) -> str:
    pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.pairs)
    return f"<dl>{pairs}</dl>"


def _drawing(report: Report, blocks: Sequence[Block]) -> str:
    """Return charts that follow each other as one drawing, whose name is what they show."""
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
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{drawing}{told}</figure>"


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
