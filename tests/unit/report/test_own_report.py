"""A report of one's own: words of the author, sections and their order, what stands where one is left out."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import UsageError
from app.report.blocks import Report, ReportTable, Text, TextRole
from app.report.options import (
    DEFAULT_SECTIONS,
    SECTION_LABELS,
    ReportOptions,
    Section,
    add_report_options,
    read_report_options,
    read_sections,
    report_argv,
)
from app.report.pages.first_page import first_page
from app.report.report import MOST_WORDS, read_findings, read_report
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.unit.report.test_report_content import single_blocks, texts, three_by_three, words

OWN = ReportOptions(
    title="Disks for 2027",
    author="Jo Example, platform team",
    purpose="Which filesystem do the new machines get?\nAsked by finance.",
    conclusion="Buy nothing.\n\nxfs on what is there.",
)


@pytest.fixture(scope="module")
def nine(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return three_by_three(tmp_path_factory.mktemp("nine"))


@pytest.fixture(scope="module")
def whole(nine: list[Path]) -> Report:
    return read_report(nine, ReportOptions(sections=tuple(Section)))


def bookmarks(report: Report) -> list[str]:
    return [
        block.bookmark
        for block in single_blocks(report)
        if isinstance(block, Text) and block.bookmark and block.level == 0
    ]


def test_author_text_first_and_delimited(nine: list[Path]) -> None:
    report = read_report(nine, OWN)
    raised = [block.text for block in report.blocks if isinstance(block, Text)]
    assert raised[:2] == [OWN.title, OWN.author]
    assert raised[3:6] == ["Purpose", "Which filesystem do the new machines get?", "Asked by finance."]
    place = raised.index("Author's recommendation")
    assert raised[place + 1 : place + 3] == ["Buy nothing.", "xfs on what is there."]
    assert "Caveats" in raised[:place]
    assert (report.title, report.author) == (OWN.title, OWN.author)
    assert report.blocks[6] == read_report(nine).blocks[2]


def test_no_author_text_by_default(nine: list[Path]) -> None:
    report = read_report(nine)
    assert report.title == "Trial"
    assert not {"Purpose", "Author's recommendation"} & set(words(report))
    assert "Recommendation drafted by pgFooting" in words(report)


def test_section_order_runs_always_listed(nine: list[Path]) -> None:
    wanted = (Section.METHOD, Section.TIME, Section.DIFFERENCES)
    report = read_report(nine, ReportOptions(sections=wanted))
    assert bookmarks(report) == ["Summary", "Method", "All runs over time", "Differences", "Runs"]
    assert bookmarks(read_report(nine, ReportOptions(sections=()))) == ["Summary", "Runs"]


@pytest.mark.parametrize("section", [each for each in Section if each is not Section.RUNS])
def test_no_references_to_omitted_sections(nine: list[Path], whole: Report, section: Section) -> None:
    report = read_report(nine, ReportOptions(sections=tuple(each for each in Section if each is not section)))
    gone = set(bookmarks(whole)) - set(bookmarks(report))
    assert gone or section in {Section.PHASES, Section.VERDICTS}, "the nine runs have neither"
    assert not [text for text in words(report) for name in gone if f"“{name}”" in text]


def test_no_appendix_moves_caveats_to_front(nine: list[Path]) -> None:
    raised = tuple(f"Reservation {number}." for number in range(6))
    found = replace(read_findings(nine), warnings=raised)
    first = [block.text for block in first_page(found) if isinstance(block, Text)]
    assert any("more: see “Pairs and caveats”" in text for text in first)
    alone = [
        block.text
        for block in first_page(found, ReportOptions(sections=(Section.METHOD,)))
        if isinstance(block, Text)
    ]
    assert set(found.warnings) <= set(alone)
    assert not [text for text in alone if "“Pairs and caveats”" in text]


def test_many_configurations_below_verdicts(tmp_path: Path) -> None:
    cases = [Case(f"c{number}", 0, Shape(2, 5000 - 50 * number)) for number in range(26)]
    report = read_report(write_cases(tmp_path, cases))
    tables = [block for block in single_blocks(report) if isinstance(block, ReportTable)]
    assert [len(table.rows) for table in tables[:2]] == [24, 26]
    note = "2 more configurations are in the tables of the next pages."
    assert note in texts(report, TextRole.NOTE)


def test_long_text_truncated_with_notice(nine: list[Path]) -> None:
    report = read_report(nine, ReportOptions(title="t" * 5000, conclusion="c" * 50_000))
    assert len(report.title) < 300
    [conclusion] = [text for text in texts(report, TextRole.BODY) if text.startswith("cc")]
    assert len(conclusion) < MOST_WORDS + 100
    assert "more characters" in conclusion


def test_author_text_not_interpreted(nine: list[Path]) -> None:
    report = read_report(nine, ReportOptions(title="<b>x</b>\x1b[31m\u202e", purpose="a\x00b\u2066c"))
    assert report.title == "<b>x</b> [31m"
    assert "a b c" in list(words(report))


def test_command_line_options_reach_report() -> None:
    options = ReportOptions(
        title="--force",
        author="",
        purpose="a\nb = c",
        conclusion="-x",
        sections=(Section.RUNS, Section.TIME),
        baseline="ext4, now",
    )
    parser = argparse.ArgumentParser()
    add_report_options(parser)
    parser.add_argument("--anonymous", action="store_true")
    assert read_report_options(parser.parse_args(report_argv(options))) == options
    assert read_report_options(parser.parse_args([])) == ReportOptions()


def test_unknown_section_lists_known() -> None:
    with pytest.raises(UsageError, match="“metod” is not allowed here; use one of time, phases") as raised:
        read_sections(["time", "metod"])
    assert raised.value.hint == "Did you mean “method”?"


def test_sections_named_all_but_commands_default() -> None:
    assert set(SECTION_LABELS) == set(Section)
    assert set(Section) - set(DEFAULT_SECTIONS) == {Section.COMMANDS}
