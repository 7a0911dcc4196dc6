"""What reports say, without painting: the real reader, comparison and sentences on made run files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.errors import FootingError
from app.domain.run import RunState
from app.export.anonymize import Anonymizer
from app.library.entries import CampaignLock
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
from app.report.findings import find
from app.report.options import ReportOptions, Section
from app.report.report import read_picture, read_report
from app.report.report_data import read_runs
from app.runfile.series import mean_width
from tests.fix_report import UNSAFE, Case, write_cases
from tests.fix_runs import Shape, change_run
from tests.fix_window import LONG_NAME, Trial, begin_trial, write_campaign, write_matrix

SHORT = Shape(30, 5000)


def words(report: Report) -> Iterator[str]:
    """Everything that the report writes but the labels of axes, and what it carries."""
    for block in report.blocks:
        yield from words_of(block)
    for each in report.attachments:
        yield from (each.name, each.description, *each.text.splitlines())


def words_of(block: Block) -> Iterator[str]:  # noqa: C901 - one case for each kind of block
    match block:
        case Text(text=text, bookmark=bookmark):
            yield from (text, bookmark)
        case ReportTable(columns=columns, rows=rows):
            yield from (column.heading for column in columns)
            for row in rows:
                yield from row.cells.values()
        case Facts(pairs=pairs):
            for name, value in pairs:
                yield from (name, value)
        case BarFigure(title=title, caption=caption, bars=bars):
            yield from (title, caption, *(bar.label for bar in bars), *(bar.value_text for bar in bars))
        case TimeFigure(title=title, caption=caption):
            yield from (title, caption)
        case Grid(figures=figures, caption=caption):
            yield from (caption, *(figure.title for figure in figures))
        case Key(entries=entries):
            yield from (name for _, name in entries)
        case Together(blocks=blocks):
            for each in blocks:
                yield from words_of(each)


def single_blocks(report: Report) -> Iterator[Block]:
    """All blocks in reading order."""
    for block in report.blocks:
        yield from block.blocks if isinstance(block, Together) else (block,)


def texts(report: Report, role: TextRole) -> list[str]:
    return [block.text for block in single_blocks(report) if isinstance(block, Text) and block.role is role]


def three_by_three(folder: Path) -> list[Path]:
    cases = [
        Case(name, repeat, Shape(30, tps + 20 * repeat), name, marks=(UNSAFE,) if name == "btrfs" else ())
        for repeat in range(3)
        for name, tps in (("ext4", 5000.0), ("xfs", 6000.0), ("btrfs", 3000.0))
    ]
    return write_cases(folder, cases)


def bars(report: Report) -> BarFigure:
    [figure] = [block for block in report.blocks if isinstance(block, BarFigure)]
    return figure


def test_fastest_first_baseline_is_first_run(tmp_path: Path) -> None:
    report = read_report(three_by_three(tmp_path))
    assert [bar.label for bar in bars(report).bars] == ["xfs", "ext4", "btrfs"]
    answers = texts(report, TextRole.ANSWER)
    assert answers == [answers[0]]
    assert answers[0].startswith("Fastest: xfs. Each of the other 2 is significantly slower")
    pairs = texts(report, TextRole.SMALL)
    assert any(each.startswith("xfs is ") and "faster than ext4 (" in each for each in pairs)
    assert any("slower than ext4 (" in each for each in pairs)
    [recommended] = [each for each in texts(report, TextRole.BODY) if each.startswith("Use xfs: ")]
    assert recommended.startswith("Use xfs: 20 % faster than ext4 (")
    assert recommended.endswith(" %). No unsafe option is used.")
    table = next(block for block in report.blocks if isinstance(block, ReportTable))
    assert [row.cells["difference"] for row in table.rows][1] == "baseline"


def test_single_run_matrix_starts_with_its_answer(tmp_path: Path) -> None:
    report = read_report(write_matrix(tmp_path))
    answers = texts(report, TextRole.ANSWER)
    assert answers[0] == "Which filesystem? ext4: the highest mean everywhere."
    ranking = next(block for block in report.blocks if isinstance(block, ReportTable))
    assert [row.cells["level"] for row in ranking.rows] == ["ext4", "btrfs"]


def test_table_cells_match_headings(tmp_path: Path) -> None:
    report = read_report(three_by_three(tmp_path))
    tables = [block for block in single_blocks(report) if isinstance(block, ReportTable)]
    assert len(tables) > 8
    for each in tables:
        ids = [column.id for column in each.columns]
        assert len(set(ids)) == len(ids)
        assert all(column.heading for column in each.columns)
        assert all(list(row.cells) == ids and row.warned <= set(ids) for row in each.rows)


def test_unsafe_options_named_everywhere(tmp_path: Path) -> None:
    report = read_report(three_by_three(tmp_path))
    warnings = texts(report, TextRole.WARNING)
    assert len(warnings) == 2
    assert all("UNSAFE" in warning and UNSAFE[1] in warning for warning in warnings)
    assert [bar.warning for bar in bars(report).bars] == ["", "", "UNSAFE"]
    table = next(block for block in report.blocks if isinstance(block, ReportTable))
    assert [set(row.warned) for row in table.rows] == [set(), set(), {"marks"}]
    assert any("UNSAFE options: btrfs" in each for each in texts(report, TextRole.SMALL))


def test_sentence_reasons_have_one_full_stop(tmp_path: Path) -> None:
    marks = (
        (UNSAFE[0], "barrier = false: A power cut loses commits."),
        (UNSAFE[0], "full_page_writes = off"),
    )
    report = read_report(write_cases(tmp_path, [Case("ext4", marks=marks, shape=Shape(20, 5000))]))
    lines = [
        each for each in texts(report, TextRole.WARNING) if "crash or power failure can lose data" in each
    ]
    assert lines
    reasons = "barrier = false: A power cut loses commits; full_page_writes = off."
    assert all(each.endswith(f": {reasons}") for each in lines)


def test_single_run_is_indicative(tmp_path: Path) -> None:
    report = read_report(write_cases(tmp_path, [Case(shape=Shape(60, 5000, stall=(20, 3)))]))
    [answer] = texts(report, TextRole.ANSWER)
    assert "indicative only" in answer
    assert any("Stalled in 3 of 60 s" in text for text in texts(report, TextRole.BODY))
    assert not [block for block in report.blocks if isinstance(block, BarFigure)]


def test_repeats_only_interval_without_verdict(tmp_path: Path) -> None:
    cases = [Case(repeat=number, shape=Shape(30, 5000 + 50 * number)) for number in range(3)]
    report = read_report(write_cases(tmp_path, cases))
    [answer] = texts(report, TextRole.ANSWER)
    assert "95 % CI" in answer
    assert "No known difference, but unknown values: " in " ".join(texts(report, TextRole.BODY))


def test_no_difference_names_no_winner(tmp_path: Path) -> None:
    cases = [
        Case(name, repeat, Shape(30, 5000.0 + (200 if (repeat + place) % 2 else 0)))
        for repeat in range(3)
        for place, name in enumerate(("one", "two"))
    ]
    text = " ".join(texts(read_report(write_cases(tmp_path, cases)), TextRole.ANSWER))
    assert "Inconclusive: two measured" in text


def test_failed_and_stopped_runs_not_counted(tmp_path: Path) -> None:
    error: tuple[tuple[str, object], ...] = (("error", {"message": "The disk is full.", "hint": ""}),)
    cases = [
        Case("good", 0, SHORT),
        Case("bad", 0, SHORT, state=RunState.FAILED, values=error),  # type: ignore[arg-type]
        Case("cut", 0, SHORT, state=RunState.STOPPED),
    ]
    report = read_report(write_cases(tmp_path, cases))
    assert {bar.label: bar.value for bar in bars(report).bars if bar.value is None} == {
        "bad": None,
        "cut": None,
    }
    everything = " ".join(words(report))
    for sentence in (
        "The disk is full.",
        "is excluded: it is failed.",
        "is excluded: it is stopped early.",
    ):
        assert sentence in everything


def test_long_names_shortened_in_sentences(tmp_path: Path) -> None:
    cases = [Case(f"{number} {LONG_NAME}", 0, SHORT) for number in range(2)]
    report = read_report(write_cases(tmp_path, cases))
    assert all(len(answer) < 300 for answer in texts(report, TextRole.ANSWER))
    listed = list(words(report))
    assert all(any(f"{number} {LONG_NAME}" in each for each in listed) for number in range(2))


def test_figures_name_their_runs(tmp_path: Path) -> None:
    report = read_report(three_by_three(tmp_path))
    waiting = False
    figures = 0
    for block in single_blocks(report):
        if isinstance(block, TimeFigure | Grid | BarFigure):
            figures += 1
            waiting = "Source:" not in block.caption
        elif isinstance(block, Text) and "Source:" in block.text:
            waiting = False
        elif not isinstance(block, Key):
            assert not waiting, block
    assert figures > 10


def test_anonymous_report_hides_identities(tmp_path: Path) -> None:
    paths = three_by_three(tmp_path)
    named, anonymous = (
        " ".join(words(read_report(paths, ReportOptions(sections=tuple(Section), anonymous=way))))
        for way in (False, True)
    )
    for secret in ("S3CRET0815", "db-of-jo", "bench of jo", "jo$"):
        assert secret in named
        assert secret not in anonymous
    assert str(tmp_path) not in anonymous
    assert "00.footing" not in anonymous


def test_duplicate_file_counts_once(tmp_path: Path) -> None:
    [path] = write_cases(tmp_path, [Case(shape=SHORT)])
    (tmp_path / "link.footing").symlink_to(path)
    assert len(read_report([path, path, tmp_path / "link.footing"]).runs) == 1


def test_one_second_and_zeros_are_reported(tmp_path: Path) -> None:
    report = read_report(
        write_cases(tmp_path, [Case("one", 0, Shape(1, 5000)), Case("zero", 0, Shape(20, 0.0))])
    )
    assert [bar.value_text for bar in bars(report).bars][-1] == "0.0"


def test_running_run_drawn_not_counted(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case("good", 0, SHORT)])
    lock = CampaignLock(tmp_path)
    try:
        growing = begin_trial(
            tmp_path / "growing.footing", Trial("growing #1", "growing", state=RunState.RUNNING)
        )
        report = read_report([*paths, tmp_path / "growing.footing"])
        growing.close()
    finally:
        lock.release()
    drawn = [bar for block in report.blocks if isinstance(block, BarFigure) for bar in block.bars]
    assert [bar.value is None for bar in drawn] == [False, True]
    assert "growing #1 is excluded: it is running." in " ".join(words(report))


def test_stalls_and_drift_on_first_page(tmp_path: Path) -> None:
    cases = [Case("ext4", 0, Shape(60, 5000, stall=(20, 4))), Case("xfs", 0, Shape(60, 5000))]
    notes = " ".join(texts(read_report(write_cases(tmp_path, cases)), TextRole.SMALL))
    assert "Stalled (below 10 % of the rate nearby): ext4 in 4 of 60 s, at most 4 in a row." in notes


def test_huge_file_truncated_with_notice(tmp_path: Path) -> None:
    [path] = write_cases(tmp_path, [Case(shape=SHORT)])
    many = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
    argv = """'["' || replace(hex(zeroblob(30000)), '00', 'xy ') || '"]'"""
    change_run(
        path,
        f"INSERT INTO mark SELECT 'unsafe', {argv} || 1",
        f"{many} INSERT INTO command SELECT NULL, 0, 0, 'jo', '[\"true\"]', 0, '', '' FROM n",
        f"INSERT INTO command VALUES(0, 0, 0, 'jo', {argv}, 0, '', '')",
        f"{many} INSERT INTO unavailable SELECT NULL, i, 'source' || i, 'why' || i FROM n",
    )
    report = read_report([path], ReportOptions(sections=tuple(Section)))
    everything = [text for block in report.blocks for text in words_of(block)]
    assert sum(map(len, everything)) < 200_000
    assert any("more characters in the run file" in text for text in everything)
    assert any("more in the run file" in text for text in texts(report, TextRole.CODE))


def test_long_value_only_where_it_differs(tmp_path: Path) -> None:
    builds = [{"version": "17.2", "configure": "--with-all " * 100 + name} for name in ("one", "two")]
    cases = [
        Case(build["version"] + build["configure"][-3:], shape=SHORT, values=(("installation", {**build}),))
        for build in builds
    ]
    report = read_report(write_cases(tmp_path, cases))
    sentences = list(words(report))
    assert any("--with-all" in each and "…" in each and len(each) < 200 for each in sentences)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE summary SET value = 9e999",
        "UPDATE run SET value = '{}' WHERE key IN ('name', 'campaign', 'configuration', 'id', 'repeat')",
        "UPDATE run SET value = '[[]]' WHERE key IN ('target', 'workload', 'settings', 'installation')",
        "DELETE FROM summary",
        "DELETE FROM phase",
        "UPDATE event SET t_ms = -9e15",
        "UPDATE series SET metric = 'nobody.' || id",
    ],
)
def test_strange_file_reported(tmp_path: Path, statement: str) -> None:
    paths = write_cases(tmp_path, [Case(name, 0, Shape(12, 5000, 1, 5)) for name in ("ext4", "xfs")])
    report = read_report([change_run(paths[0], statement), paths[1]])
    assert len(report.runs) == 2
    assert not any("nan" in text.split() or "inf" in text.split() for text in words(report))


def test_impossible_date_is_no_date(tmp_path: Path) -> None:
    values = (("started_epoch_s", 1e300),)
    report = read_report(write_cases(tmp_path, [Case(shape=SHORT, values=values)]))
    assert report.moment_epoch_s == 0


def test_common_values_once_rest_attached(tmp_path: Path) -> None:
    report = read_report(three_by_three(tmp_path))
    found = [pair for block in report.blocks if isinstance(block, Facts) for pair in block.pairs]
    assert found.count(("memory", "64 GiB")) == 1
    assert found.count(("shared_buffers", "8GB")) == 1
    assert "xfs (3 runs); ext4 (3 runs); btrfs (3 runs)" in words(report)
    assert not [name for name, _ in found if name.count(".") > 1]
    commands, facts = sorted(report.attachments, key=lambda each: each.name)
    assert (commands.name, facts.name) == ("commands.txt", "facts.json")
    assert sum(line.startswith("jo$ pgbench --client=4") for line in commands.text.splitlines()) == 9
    read = json.loads(facts.text)
    assert read["all"]["storage.devices.sda.serial"] == "S3CRET0815"
    assert {each["facts"]["storage.mount.filesystem"] for each in read["runs"].values()} == {
        "ext4",
        "xfs",
        "btrfs",
    }


def test_names_are_text_whatever_is_in_them(tmp_path: Path) -> None:
    hostile = "<b>x</b>\n\x1b[31m\u202egpj"
    report = read_report(write_cases(tmp_path, [Case(hostile, 0, SHORT)]))
    everything = " ".join(words(report))
    assert "<b>x</b>" in everything
    assert not {"\x1b", "\u202e", "\n"} & set(everything)


def test_picture_has_charts_and_sources(tmp_path: Path) -> None:
    picture = read_picture(three_by_three(tmp_path))
    assert [block.chart for block in picture.blocks if isinstance(block, TimeFigure)] == [
        "tps",
        "latency",
        "iops",
    ]
    assert "Source:" in texts(picture, TextRole.NOTE)[-1]
    assert UNSAFE[1] in texts(picture, TextRole.WARNING)[0]


def test_empty_picture_refused(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case(shape=Shape(0, 5000))])
    with pytest.raises(FootingError, match="nothing to draw"):
        read_picture(paths)


@pytest.mark.parametrize(("number", "expected"), [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA")])
def test_letters_count_on_after_z(number: int, expected: str) -> None:
    assert letters(number) == expected


def test_many_configurations_are_drawn_beside_each_other(tmp_path: Path) -> None:
    cases: Sequence[Case] = [Case(f"c{number}", 0, Shape(12, 5000 - 100 * number)) for number in range(7)]
    report = read_report(write_cases(tmp_path, cases))
    grids = [block for block in report.blocks if isinstance(block, Grid)]
    assert [len(grid.figures) for grid in grids] == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("seconds", "width"),
    [(12, 2), (300, 5), *(pytest.param(s, s // 60, marks=pytest.mark.long) for s in (1800, 3600))],
)
def test_averaging_width_follows_run_length(tmp_path: Path, seconds: int, width: int) -> None:
    cases = [Case(name, 0, Shape(seconds, 5000, histograms=5)) for name in ("ext4", "xfs")]
    report = read_report(write_cases(tmp_path, cases), ReportOptions(sections=(Section.TIME,)))
    figures = [block for block in report.blocks if isinstance(block, TimeFigure)]
    assert {mean_width(figure.end_s or 0) for figure in figures} == {width}
    assert any(text.startswith(f"Lines are means over {width} s ") for text in texts(report, TextRole.NOTE))


def test_compressibility_and_achieved_compression(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case(name, 0, SHORT, name) for name in ("btrfs", "zfs")])
    plain = read_report(paths)
    assert not any("zstd -3" in text for text in words(plain))
    for path, made in zip(paths, ("tables_compressed", "tables_on_disk"), strict=True):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM summary WHERE name IN ('rows_ratio', ?)", (made,))
            connection.executemany("INSERT INTO summary VALUES (?, ?)", [("rows_ratio", 2.03), (made, 51.6)])
    report = read_report(paths)
    tables = [block for block in single_blocks(report) if isinstance(block, ReportTable)]
    assert {row.cells["compressed"] for row in tables[0].rows} == {"52 % of extents", "52 % on disk"}
    assert {row.cells["rows_ratio"] for row in tables[0].rows} == {"2.0:1"}
    own = [each for each in tables if "rows_ratio" in each.rows[0].cells and each is not tables[0]]
    assert [list(each.rows[0].cells.values())[1:] for each in own] == [["2.03:1", "51.6 %"]] * 2
    headings = {tuple(column.heading for column in each.columns)[1:] for each in own}
    assert headings == {
        ("Compressibility", "In compressed extents"),
        ("Compressibility", "Table size on disk"),
    }
    assert sum("zstd -3" in text for text in texts(report, TextRole.NOTE)) == 2


def test_colour_independent_of_rank(tmp_path: Path) -> None:
    facts, series = read_runs(write_campaign(tmp_path), Anonymizer.none())
    found = find(facts, series).configurations
    assert [each.name for each in found] == ["xfs", "ext4"], "the fastest first"
    assert [each.look for each in found] == [1, 0], "ext4 was measured first"
    again = find(facts[::-1], series[::-1]).configurations
    assert {each.name: each.look for each in again} == {"xfs": 1, "ext4": 0}


def test_chart_omitted_without_own_seconds(tmp_path: Path) -> None:
    """As of a server that already ran: pgbench's CPU is known and that of the server is not."""
    paths = write_cases(tmp_path, [Case(name, 0, SHORT) for name in ("ext4", "xfs")])

    def overlays() -> set[str]:
        report = read_report(paths, ReportOptions())
        return {each.chart for each in report.blocks if isinstance(each, TimeFigure) and len(each.traces) > 1}

    assert "cpu" in overlays()
    for path in paths:
        change_run(path, "UPDATE series SET instance = 'another' WHERE instance = 'postgres'")
    assert "tps" in overlays()
    assert "cpu" not in overlays()
