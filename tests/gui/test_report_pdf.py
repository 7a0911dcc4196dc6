"""Reports and pictures as files: painted for real, read back with other programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pypdf
import pytest
from pypdf import PdfReader
from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QFontDatabase, QImage, QPainter, QPdfWriter

from app.domain.errors import CancelledError, FootingError, RefusedError, RunFileError, UsageError
from app.domain.run import RunState
from app.report.blocks import Bar, BarFigure, Report, Text, TextRole, letters
from app.report.options import ReportOptions, Section
from app.report.report import read_report
from app.runfile.metadata.typed_json import values_of
from tests.fix_report import UNSAFE, Case, write_cases
from tests.fix_runs import Shape, change_run
from tests.fix_window import LONG_NAME
from tests.unit.analysis.test_io_baseline_words import KNOWN
from tests.unit.report.test_report_content import single_blocks
from ui.charts.painting.sheet_painting import put_body
from ui.report import canvas as canvas_module
from ui.report.canvas import (
    FOOT_MM,
    PAPERS,
    Canvas,
    Flowable,
    NoFontError,
    Pages,
    Paper,
    PaperAppearance,
    TextStyle,
    paragraph,
    put_on_pages,
)
from ui.report.layout import PageLayout
from ui.report.save import SaveRequest, report_pdf, save
from ui.report.time_chart import Gutters, TimeChart
from ui.style import FAMILY
from ui.theme import SERIES, Scheme, Theme

TOP = Path(__file__).resolve().parents[2]


def cases_of(kind: str) -> list[Case]:
    short = Shape(12, 5000)
    unsafe = (UNSAFE,)
    kinds = {
        "one": [Case(shape=Shape(60, 5000, 1, 20, (30, 3)))],
        "second": [Case("one", 0, Shape(1, 5000)), Case("zero", 0, Shape(12, 0.0))],
        "repeats": [Case(repeat=number, shape=short) for number in range(3)],
        "three": [
            Case(name, number, short, name) for number in range(3) for name in ("ext4", "xfs", "btrfs")
        ],
        "states": [Case("a", 0, short), Case("b", 0, short, state=RunState.FAILED)],
        "eight": [Case(f"{number} {LONG_NAME}", 0, short, marks=unsafe) for number in range(8)],
        "asked": [
            Case(name, number, short, name, values=(("io_baseline", values_of(KNOWN)),))
            for number in range(2)
            for name in ("ext4", LONG_NAME)
        ],
        "many": [Case(f"{number} {LONG_NAME}", 0, short, marks=unsafe) for number in range(24)],
    }
    return kinds[kind]


@pytest.fixture(scope="module")
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_cases(tmp_path_factory.mktemp(request.param), cases_of(request.param))


KINDS = (
    "one",
    "eight",
    *(
        pytest.param(kind, marks=pytest.mark.long)
        for kind in ("second", "repeats", "three", "states", "asked", "many")
    ),
)


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def sentences(report: Report) -> Iterator[str]:
    for block in report.blocks:
        if isinstance(block, Text) and block.role is not TextRole.CODE:
            yield plain(block.text)
        elif isinstance(block, BarFigure):
            yield plain(block.caption)


def as_read(text: str) -> str:
    """As this pypdf can read it: 5 has nothing for the end of some lines, which is no character of a PDF."""
    return text.replace(" ", "") if pypdf.__version__.startswith("5.") else text


def read_text(pdf: Path) -> str:
    """All text but the feet of the pages, which would cut sentences that go on on the next page."""
    pages = [page.extract_text() for page in PdfReader(pdf).pages]
    foot = r"pgFooting[^\n]*·[^\n]*\s+page[^\n]*|page\s+\d+\s+of\s+\d+\s+pgFooting[^\n]*·[^\n]*"
    return plain(" ".join(re.sub(foot, " ", page) for page in pages))


@pytest.mark.parametrize("paths", KINDS, indirect=True)
def test_sentences_selectable_without_pictures(paths: list[Path], tmp_path: Path) -> None:
    output = save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    found = read_text(output)
    missing = [text for text in sentences(read_report(paths)) if as_read(text) not in as_read(found)]
    assert not missing
    reader = PdfReader(output)
    assert not [image.name for page in reader.pages for image in page.images]
    assert not [name for page in reader.pages for name in page["/Resources"].get("/XObject", {})]  # type: ignore[attr-defined]


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_typefaces_of_pdf_and_svg(paths: list[Path], tmp_path: Path) -> None:
    reader = PdfReader(save(SaveRequest(tuple(paths), tmp_path / "out.pdf")))
    fonts = {
        str(font.get_object()["/BaseFont"]).partition("+")[2] or str(font.get_object()["/BaseFont"])
        for page in reader.pages
        for font in page["/Resources"]["/Font"].values()  # type: ignore[index]
    }
    assert any(FAMILY in name for name in fonts)
    assert not [name for name in fonts if "Sans" in name and "Mono" not in name]
    svg = save(SaveRequest(tuple(paths), tmp_path / "out.svg")).read_text(encoding="utf-8")
    assert f'font-family="{FAMILY}' not in svg
    assert "font-family=" in svg


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler's pdftotext is not installed")
@pytest.mark.parametrize("paths", ["three"], indirect=True)
def test_another_program_finds_every_sentence_too(paths: list[Path], tmp_path: Path) -> None:
    output = save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    printed = subprocess.run(
        ("pdftotext", str(output), "-"), capture_output=True, text=True, check=True
    ).stdout
    found = plain(re.sub(r"pgFooting[^\n]*·[^\n]*\n+page[^\n]*", " ", printed))
    assert not [text for text in sentences(read_report(paths)) if text not in found]


@pytest.fixture
def outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were painted beyond the edges of the test's paper."""
    found: list[str] = []
    write = Canvas.text
    paper: Paper = (
        request.node.callspec.params["paper"] if hasattr(request.node, "callspec") else PAPERS["a4"]
    )

    def check(self: Canvas, x: float, y: float, text: str, kind: TextStyle, *, right: bool = False) -> None:
        left = x - self.width(text, kind) if right else x
        bottom = paper.height - paper.bottom + 1
        if left < 8 or left + self.width(text, kind) > paper.width - 8 or not 8 < y < bottom:
            found.append(text)
        write(self, x, y, text, kind, right=right)

    monkeypatch.setattr(Canvas, "text", check)
    return found


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
@pytest.mark.parametrize("paths", KINDS, indirect=True)
def test_nothing_off_paper_and_answer_first(outside: list[str], paths: list[Path], paper: Paper) -> None:
    report = read_report(paths)
    found: list[tuple[int, int]] = []

    def go_on(number: int, count: int) -> bool:
        found.append((number, count))
        return True

    reader = PdfReader(BytesIO(report_pdf(report, paper, go_on)))
    assert not outside
    assert found == [(number, len(reader.pages)) for number in range(1, len(reader.pages) + 1)]
    for figure in (block for block in report.blocks if isinstance(block, BarFigure)):
        assert plain(figure.caption) in plain(reader.pages[0].extract_text())


@pytest.mark.parametrize("paths", ["three"], indirect=True)
def test_outline_date_title_and_pages(paths: list[Path], tmp_path: Path) -> None:
    reader = PdfReader(save(SaveRequest(tuple(paths), tmp_path / "out.pdf")))
    report = read_report(paths)
    assert reader.metadata is not None
    assert reader.metadata.title == report.title == "Trial"
    root = reader.root_object
    assert (str(root["/Lang"]), str(root["/ViewerPreferences"])) == ("en", "{'/DisplayDocTitle': True}")
    assert reader.metadata.creation_date is not None
    assert reader.metadata.creation_date.timestamp() == int(report.moment_epoch_s)
    entries = [item for entry in reader.outline for item in (entry if isinstance(entry, list) else [entry])]
    named = [block.bookmark for block in single_blocks(report) if isinstance(block, Text) and block.bookmark]
    titles = [str(entry.title) for entry in entries]  # type: ignore[union-attr]
    assert titles == named
    for entry, title in zip(entries, titles, strict=True):
        page = reader.get_destination_page_number(entry)  # type: ignore[arg-type]
        assert page is not None
        assert title == "Summary" or plain(title) in plain(reader.pages[page].extract_text())
    last = plain(reader.pages[-1].extract_text())
    assert f"page {len(reader.pages)} of {len(reader.pages)}" in last


@pytest.mark.parametrize("paths", ["three"], indirect=True)
@pytest.mark.parametrize(
    "ending", ["pdf", *(pytest.param(each, marks=pytest.mark.long) for each in ("png", "svg"))]
)
def test_same_bytes_in_every_process(paths: list[Path], tmp_path: Path, ending: str) -> None:
    contents = set()
    for number in range(2):
        output = tmp_path / f"{number}.{ending}"
        argv = (sys.executable, "-m", "ui.report", "--output", str(output), "--", *map(str, paths))
        # Qt's own tables are in another order in every process, Python's where it is told.
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "PYTHONWARNINGS": "error"}
        ended = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
        contents.add(output.read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_a_machine_without_fonts_is_told(
    monkeypatch: pytest.MonkeyPatch, paths: list[Path], tmp_path: Path
) -> None:
    monkeypatch.setattr(QFontDatabase, "families", staticmethod(list))
    with pytest.raises(NoFontError, match="no font") as caught:
        save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    assert "apt install" in caught.value.hint
    assert not (tmp_path / "out.pdf").exists()


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_system_fonts_as_fallback(monkeypatch: pytest.MonkeyPatch, paths: list[Path], tmp_path: Path) -> None:
    monkeypatch.setattr(QFontDatabase, "families", staticmethod(lambda: ["Some Other Font"]))
    monkeypatch.setattr(canvas_module, "load_fonts", lambda: Path("Inter.otf"))
    output = save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    assert "TPS" in read_text(output)


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_stopping_writes_nothing(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(CancelledError):
        save(SaveRequest(tuple(paths), tmp_path / "out.pdf"), lambda number, count: number < 2)
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_existing_file_and_unknown_ending_refused(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out.pdf").write_text("mine")
    with pytest.raises(RefusedError):
        save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    assert (tmp_path / "out.pdf").read_text() == "mine"
    with pytest.raises(UsageError, match="use one of .*pdf"):
        save(SaveRequest(tuple(paths), tmp_path / "out.doc"))
    with pytest.raises(UsageError, match="use one of a4"):
        save(SaveRequest(tuple(paths), tmp_path / "new.pdf", paper="a3"))
    save(SaveRequest(tuple(paths), tmp_path / "out.pdf", replace=True))
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")


def test_vanished_run_leaves_no_file(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, cases_of("states"))
    paths[1].unlink()
    with pytest.raises(RunFileError):
        save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    assert not (tmp_path / "out.pdf").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sample SET value = -1e300 WHERE series IN (SELECT id FROM series WHERE metric LIKE 'cpu%')",
        "UPDATE sample SET value = 9e999 WHERE series IN (SELECT id FROM series WHERE metric LIKE 'stor%')",
        "UPDATE sample SET t_ms = t_ms * 1000000000",
        "UPDATE phase SET ended_ms = 9000000000000000",
        "DELETE FROM sample",
    ],
)
def test_strange_file_still_painted(tmp_path: Path, statement: str) -> None:
    paths = write_cases(tmp_path, cases_of("states"))
    change_run(paths[0], statement)
    assert "Trial" in read_text(save(SaveRequest(tuple(paths), tmp_path / "out.pdf")))


@pytest.mark.parametrize("paths", ["three"], indirect=True)
def test_an_svg_holds_lines_and_text(paths: list[Path], tmp_path: Path) -> None:
    content = save(SaveRequest(tuple(paths), tmp_path / "out.svg")).read_text()
    assert re.search(r'<svg width="(189.9|190)', content)
    assert "<image" not in content
    assert content.count("<polyline") >= 9 * 3
    assert "Transactions" in content


def laid_out(report: Report, paper: Paper, folder: Path) -> Pages:
    canvas = Canvas(QPdfWriter(str(folder / "unused.pdf")))
    return put_on_pages(PageLayout(canvas, paper, report).pieces(report.blocks), paper)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
@pytest.mark.parametrize("paths", KINDS, indirect=True)
def test_inner_pages_half_full_if_possible(paths: list[Path], paper: Paper, tmp_path: Path) -> None:
    pages = laid_out(read_report(paths, ReportOptions(sections=tuple(Section))), paper, tmp_path)
    for placed, after in zip(pages.placed, pages.placed[1:], strict=False):
        piece, y = placed[-1]
        used = y + piece.height - paper.top
        together = 0.0
        for following, _ in after:
            together += following.height
            if not following.with_next:
                break
        assert used >= 0.5 * paper.text_height or used + together > paper.text_height


def test_lines_differ_without_colours(tmp_path: Path) -> None:
    theme = PaperAppearance(Canvas(QPdfWriter(str(tmp_path / "unused.pdf"))))
    assert len({theme.line_look(number)[1:] for number in range(60)}) == 60


@pytest.mark.parametrize("paths", ["one"], indirect=True)
def test_stacked_charts_share_edges(monkeypatch: pytest.MonkeyPatch, paths: list[Path]) -> None:
    edges: list[tuple[float, float]] = []
    paint = TimeChart.paint

    def remember(self: TimeChart, painter: QPainter, size: QSizeF, theme: Theme, gutters: Gutters) -> None:
        edges.append((round(gutters[0], 6), round(size.width() - gutters[1], 6)))
        paint(self, painter, size, theme, gutters)

    monkeypatch.setattr(TimeChart, "paint", remember)
    report_pdf(read_report(paths), PAPERS["a4"])
    stacks = [len(list(group)) for _, group in groupby(edges)]
    assert stacks == [1, 4], "a chart on the first page, then four of one run"


def test_hatches_as_wide_on_paper() -> None:
    """Only they distinguish bars of one colour."""
    image = QImage(600, 200, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    painter.scale(10, 10)
    put_body(painter, Theme(Scheme.LIGHT), QRectF(0, 0, 60, 20), SERIES)
    painter.end()
    row = [image.pixel(x, 100) for x in range(20, 580)]
    assert 15 < sum(one != other for one, other in pairwise(row)) < 60


def test_note_at_moment_printed_once_a_chart(tmp_path: Path) -> None:
    note = "[0:00:20] backup started\n[0:05:00] after the end"
    paths = write_cases(tmp_path, [Case(shape=Shape(60, 5000), values=(("note", note),))])
    reader = PdfReader(save(SaveRequest(tuple(paths), tmp_path / "out.pdf")))
    printed = plain(" ".join(page.extract_text() for page in reader.pages))
    assert printed.count("backup started") == 5, "on the first page, and in four charts of the run"
    assert "after the end" not in printed


@pytest.mark.parametrize("paths", ["three"], indirect=True)
def test_facts_and_commands_attached_to_pdf(paths: list[Path], tmp_path: Path) -> None:
    output = save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    report = read_report(paths)
    carried = PdfReader(output).attachments
    assert {name: [part.decode() for part in parts] for name, parts in carried.items()} == {
        each.name: [each.text] for each in report.attachments
    }
    assert len(output.read_bytes()) < 250_000


@pytest.mark.skipif(shutil.which("pdfdetach") is None, reason="poppler's pdfdetach is not installed")
@pytest.mark.parametrize("paths", ["three"], indirect=True)
def test_another_program_takes_the_facts_out(paths: list[Path], tmp_path: Path) -> None:
    output = save(SaveRequest(tuple(paths), tmp_path / "out.pdf"))
    subprocess.run(("pdfdetach", "-saveall", "-o", str(tmp_path), str(output)), check=True)
    assert json.loads((tmp_path / "facts.json").read_text())["all"]["kernel.release"] == "6.1.0-26-amd64"


@pytest.mark.long
def test_sixty_runs_fit_ten_pages(tmp_path: Path) -> None:
    cases = [
        Case(f"configuration {number}", repeat, Shape(60, 7000 - 300 * number), "ext4")
        for repeat in range(5)
        for number in range(12)
    ]
    report = read_report(write_cases(tmp_path, cases))
    for paper in PAPERS.values():
        assert len(laid_out(report, paper, tmp_path).placed) <= 10


def test_overlong_chart_note_left_out_whole(tmp_path: Path) -> None:
    cases = [
        Case(f"configuration {number}", 0, Shape(60, 7000 - 300 * number), "ext4") for number in range(12)
    ]
    target = tmp_path / "report.pdf"
    save(SaveRequest(tuple(write_cases(tmp_path / "runs", cases)), target))
    text = read_text(target)
    assert "configuration 11" in text
    assert "…" not in text


def test_heading_never_last_on_page(tmp_path: Path) -> None:
    report = read_report(write_cases(tmp_path, cases_of("three")))
    paper = PAPERS["a4"]
    canvas = Canvas(QPdfWriter(str(tmp_path / "unused.pdf")))
    pages = put_on_pages(PageLayout(canvas, paper, report).pieces(report.blocks), paper)
    for placed in pages.placed:
        piece, y = placed[-1]
        assert not piece.with_next
        assert y + piece.height <= paper.height - paper.bottom - FOOT_MM + 5


@pytest.mark.parametrize(("count", "on_the_first"), [(4, 0), (6, 0), (7, 3), (9, 3)])
def test_page_breaks_only_long_paragraphs(tmp_path: Path, count: int, on_the_first: int) -> None:
    canvas, kind = Canvas(QPdfWriter(str(tmp_path / "unused.pdf"))), TextStyle(10)
    paper = PAPERS["a4"]
    lines = paragraph(canvas, " ".join(["word" * 20] * count), kind, canvas.width("word" * 21, kind), after=0)
    assert len(lines) == count
    before = Flowable(paper.text_height - 3.5 * kind.line_mm, lambda _canvas, _x, _y: None)
    first, second = put_on_pages([before, *lines], paper).placed
    assert (len(first) - 1, len(second)) == (on_the_first, count - on_the_first)


def test_heading_words_unbroken_beside_marks(tmp_path: Path) -> None:
    marks = (UNSAFE, ("contended", "few rows"), ("test-devices", "loop0"), ("no-checkpoint-cycle", "short"))
    cases = [
        Case(name, number, Shape(12, 5000), name, marks=marks)
        for number in range(3)
        for name in ("ext4, noatime", "xfs, noatime")
    ]
    output = save(SaveRequest(tuple(write_cases(tmp_path, cases)), tmp_path / "out.pdf"))
    text = read_text(output)
    assert "Configuration " in text
    assert not re.search(r"\bConfig(?!uration)[a-z]* [a-z]{1,9} ", text)


BARS = {
    "a mark behind a long interval": (
        Bar("folder", 4783, (3847, 5947), points=(4300.0, 5100.0), tag="A", value_text="4,783, disturbed"),
        Bar(
            "memory",
            8692,
            (5419, 13941),
            points=(7079.0, 10306.0),
            colour_index=1,
            tag="B",
            value_text="8,692, disturbed",
            warning="NOT DURABLE",
        ),
    ),
    "nothing done, and nothing known": (
        Bar(LONG_NAME, 0.0, tag="A", value_text="0", warning="NOT DURABLE"),
        Bar("b", None, colour_index=1, tag="B", value_text="no result"),
    ),
    "many small ones": tuple(
        Bar(
            LONG_NAME,
            1e6 - number,
            colour_index=number,
            tag=letters(number),
            value_text="1,000,000, disturbed",
            warning="UNSAFE",
        )
        for number in range(17)
    ),
    "one alone": (Bar("a", 1.0, tag="A", value_text="1"),),
}


@pytest.mark.parametrize("bars", BARS.values(), ids=BARS)
def test_bar_labels_end_within_chart(bars: tuple[Bar, ...]) -> None:
    figure = BarFigure("TPS", "higher is better", bars, "")
    image = QImage(1200, 700, QImage.Format.Format_RGB32)
    image.fill("white")
    painter = QPainter(image)
    canvas = Canvas(image, painter)
    left_mm, width_mm = 10.0, 170.0
    assert (left_mm + width_mm) * canvas.dots < image.width() - 100, "words may be wrong and still be seen"
    paper = Paper("bars", left_mm + width_mm, 200.0, left=left_mm, right=0.0)
    *_, piece = PageLayout(canvas, paper, Report("", (), (), 0.0)).pieces((figure,))
    piece.draw(canvas, left_mm, 5.0)
    painter.end()
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(700, 1200) & 0xFFFFFF
    painted = np.flatnonzero((pixels != 0xFFFFFF).any(axis=0))
    assert painted[-1] <= (left_mm + width_mm) * canvas.dots + 1
    assert painted[-1] >= 0.6 * (left_mm + width_mm) * canvas.dots


RIGHT_TO_LEFT = "\u05e7\u05d5\u05d1\u05e5 \u0645\u0644\u0641 " * 34


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_three_hundred_letter_names_on_paper(outside: list[str], tmp_path: Path, paper: Paper) -> None:
    names = (RIGHT_TO_LEFT[:300], "x" * 150 + " " + "y" * 149)
    cases = [Case(name, 0, Shape(8, 5000), name[:20], campaign=names[0]) for name in names]
    paths = write_cases(tmp_path, cases)
    options = ReportOptions(title=names[0], author=names[1], conclusion=names[0] * 3, sections=tuple(Section))
    reader = PdfReader(BytesIO(report_pdf(read_report(paths, options), paper)))
    assert not outside
    assert reader.metadata is not None
    assert str(reader.metadata.title).startswith(names[0][:50])


@pytest.mark.long
def test_two_hundred_runs_summarized_on_first_page(outside: list[str], tmp_path: Path) -> None:
    cases = [Case(f"configuration {number}", 0, Shape(2, 5000 + number)) for number in range(200)]
    report = read_report(write_cases(tmp_path, cases))
    reader = PdfReader(BytesIO(report_pdf(report, PAPERS["a4"])))
    assert not outside
    assert len(reader.pages) <= 12
    first = plain(reader.pages[0].extract_text())
    assert "200 runs of 200 configurations" in first
    assert "176 more configurations are in the tables of the next pages." in first


def test_what_won_is_written_as_a_text(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, cases_of("three"))
    text = save(SaveRequest(tuple(paths), tmp_path / "won.txt")).read_text()
    assert text.startswith("# pgFooting")
    assert "shared_buffers = 8GB" in text
    failed = write_cases(tmp_path / "failed", [Case("a", 0, Shape(12, 5000), state=RunState.FAILED)])
    with pytest.raises(FootingError, match="no setup to write"):
        save(SaveRequest(tuple(failed), tmp_path / "none.txt"))
    assert not (tmp_path / "none.txt").exists()
