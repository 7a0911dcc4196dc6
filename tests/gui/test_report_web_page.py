"""A report as a web page: everything that is said is in it, it is whole, and nothing of a run is markup."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typing_extensions import override

from app.domain.errors import RefusedError
from app.report.blocks import BarFigure, Block, Facts, Grid, ReportTable, Text, TimeFigure, Together
from app.report.options import ReportOptions
from app.report.report import read_report
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from ui.report.save import SaveRequest, save

TOP = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)</script> & \"quoted\" <img src=x onerror='y'>"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Text, tags and attributes of a page; fails where tags are not closed in their order."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(content)
        self.close()
        assert self.open == []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    @override
    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return plain(" ".join(self.words))


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def block_texts(blocks: tuple[Block, ...]) -> Iterator[str]:
    """Yield every sentence and cell that is in a report."""
    for block in blocks:
        match block:
            case Text():
                yield block.text
            case ReportTable():
                shown = [each for each in block.columns if any(row.cells[each.id] for row in block.rows)]
                yield from (column.heading for column in shown)
                yield from (row.cells[column.id] for row in block.rows for column in shown)
            case Facts():
                yield from (text for pair in block.pairs for text in pair)
            case BarFigure() | TimeFigure() | Grid():
                yield block.caption
            case Together():
                yield from block_texts(block.blocks)
            case _:
                pass


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    cases = [
        Case(name, number, Shape(12, 5000 + 100 * number), name)
        for number in range(3)
        for name in ("ext4", EVIL, "פוסטגרס " + 60 * "long ")
    ]
    return write_cases(tmp_path_factory.mktemp("runs"), cases)


def test_page_holds_all_report_text(paths: list[Path], tmp_path: Path) -> None:
    page = Page(save(SaveRequest(tuple(paths), tmp_path / "out.html")).read_text(encoding="utf-8"))
    missing = [
        text for text in block_texts(read_report(paths).blocks) if text and plain(text) not in page.text
    ]
    assert missing == []


def test_page_without_markup_loads_or_scripts(paths: list[Path], tmp_path: Path) -> None:
    content = save(SaveRequest(tuple(paths), tmp_path / "out.html")).read_text(encoding="utf-8")
    page = Page(content)
    assert not page.names & {"script", "img", "image", "link", "iframe", "object", "foreignobject", "a:href"}
    addresses = [value or "" for name, value in page.attributes if name in {"href", "src", "xlink:href"}]
    assert addresses
    assert all(value.startswith("#part-") for value in addresses)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "default-src 'none'" in content
    places = {value for name, value in page.attributes if name == "id" and value}
    assert {value.removeprefix("#") for value in addresses} <= places, "a chapter's link leads nowhere"


def test_charts_are_drawings_with_a_name(paths: list[Path], tmp_path: Path) -> None:
    page = Page(save(SaveRequest(tuple(paths), tmp_path / "out.html")).read_text(encoding="utf-8"))
    assert {"svg", "polyline", "figure"} <= page.names
    names = [value for name, value in page.attributes if name == "aria-label"]
    assert any("Transactions per second" in (name or "") for name in names)
    assert all(names)


def test_own_text_kept_when_anonymous(paths: list[Path], tmp_path: Path) -> None:
    options = ReportOptions(title="Disks <for> 2027", author="A & B", conclusion="Buy two.", anonymous=True)
    content = save(SaveRequest(tuple(paths), tmp_path / "out.html", options=options)).read_text(
        encoding="utf-8"
    )
    page = Page(content)
    assert "Disks <for> 2027" in page.text
    assert "Buy two." in page.text
    assert '<meta name="author" content="A &amp; B">' in content


@pytest.mark.long
def test_command_is_reproducible_and_overwrites_nothing(paths: list[Path], tmp_path: Path) -> None:
    outputs = [tmp_path / "one.html", tmp_path / "two.html"]
    for output in outputs:
        argv = (sys.executable, "-m", "app", "report", *map(str, paths), "-o", str(output))
        ended = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    with pytest.raises(RefusedError):
        save(SaveRequest(tuple(paths), outputs[0]))
