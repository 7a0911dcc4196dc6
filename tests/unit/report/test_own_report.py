"""A report of one's own: words of the author, sections and their order, what stands where one is left out."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import UsageError
from app.report.blocks import Report, ReportTable, Text, TextRole
from app.report.pages.first_page import first_page, warned_first
from app.report.report import MOST_WORDS, read_findings, read_report
from app.report.wishes import (
    DEFAULT_SECTIONS,
    SECTION_LABELS,
    ReportWishes,
    Section,
    add_wishes,
    read_sections,
    wish_argv,
    wishes_of,
)
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.unit.report.test_report_content import single_blocks, texts, three_by_three, words

OWN = ReportWishes(
    title="Disks for 2027",
    author="Jo Example, platform team",
    purpose="Which filesystem do the new machines get?\nAsked by finance.",
    conclusion="Buy nothing.\n\nxfs on what is there.",
)


@pytest.fixture(scope="module")
def nine(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return three_by_three(tmp_path_factory.mktemp("nine"))


def bookmarks(report: Report) -> list[str]:
    return [
        block.bookmark
        for block in report.blocks
        if isinstance(block, Text) and block.bookmark and block.level == 0
    ]


def test_the_authors_words_stand_first_and_it_is_told_where_they_end(nine: list[Path]) -> None:
    report = read_report(nine, OWN)
    told = [block.text for block in report.blocks if isinstance(block, Text)]
    assert told[:2] == [OWN.title, OWN.author]
    assert told[3:10] == [
        "Purpose",
        "Which filesystem do the new machines get?",
        "Asked by finance.",
        "Conclusion of the author",
        "Buy nothing.",
        "xfs on what is there.",
        "What was measured",
    ]
    assert (report.title, report.author) == (OWN.title, OWN.author)
    assert report.blocks[10] == read_report(nine).blocks[2]


def test_without_words_of_ones_own_the_program_says_none_for_anybody(nine: list[Path]) -> None:
    report = read_report(nine)
    assert report.title == "Trial"
    assert not {"Purpose", "Conclusion of the author", "What was measured"} & set(words(report))


def test_sections_come_in_the_order_that_is_asked_for_and_the_runs_are_always_listed(
    nine: list[Path],
) -> None:
    wanted = (Section.METHOD, Section.TIME, Section.DIFFERENCES)
    report = read_report(nine, ReportWishes(sections=wanted))
    assert bookmarks(report) == ["Summary", "Method", "All runs over time", "What differs", "Runs"]
    assert bookmarks(read_report(nine, ReportWishes(sections=()))) == ["Summary", "Runs"]


@pytest.mark.parametrize("section", [each for each in Section if each is not Section.RUNS])
@pytest.mark.slow
def test_nothing_refers_to_a_section_that_is_left_out(nine: list[Path], section: Section) -> None:
    rest = tuple(each for each in Section if each is not section)
    whole, report = (read_report(nine, ReportWishes(sections=each)) for each in (tuple(Section), rest))
    gone = set(bookmarks(whole)) - set(bookmarks(report))
    assert gone or section in {Section.PHASES, Section.VERDICTS}, "the nine runs have neither"
    assert not [text for text in words(report) for name in gone if f"“{name}”" in text]


def test_without_the_verdicts_every_reservation_stands_on_the_first_page(nine: list[Path]) -> None:
    told = tuple(f"Reservation {number}." for number in range(6))
    found = replace(read_findings(nine), warnings=told)
    assert warned_first(found) < len(found.warnings)
    first = [block.text for block in first_page(found) if isinstance(block, Text)]
    assert any("more reservations stand under “Verdicts”" in text for text in first)
    alone = [
        block.text
        for block in first_page(found, ReportWishes(sections=(Section.METHOD,)))
        if isinstance(block, Text)
    ]
    assert set(found.warnings) <= set(alone)
    assert not [text for text in alone if "“Verdicts”" in text]


@pytest.mark.slow
def test_more_configurations_than_a_page_holds_stand_whole_under_the_verdicts(tmp_path: Path) -> None:
    cases = [Case(f"c{number}", 0, Shape(2, 5000 - 50 * number)) for number in range(26)]
    report = read_report(write_cases(tmp_path, cases))
    tables = [block for block in single_blocks(report) if isinstance(block, ReportTable)]
    assert [len(table.rows) for table in tables[:2]] == [24, 26]
    note = "2 more configurations, slower or not ranked, stand under “Verdicts”."
    assert note in texts(report, TextRole.NOTE)


def test_words_that_are_too_long_are_cut_and_say_so(nine: list[Path]) -> None:
    report = read_report(nine, ReportWishes(title="t" * 5000, conclusion="c" * 50_000))
    assert len(report.title) < 300
    [conclusion] = [text for text in texts(report, TextRole.ANSWER) if text.startswith("cc")]
    assert len(conclusion) < MOST_WORDS + 100
    assert "more letters" in conclusion


def test_words_of_the_author_are_text_whatever_is_in_them(nine: list[Path]) -> None:
    report = read_report(nine, ReportWishes(title="<b>x</b>\x1b[31m\u202e", purpose="a\x00b\u2066c"))
    assert report.title == "<b>x</b> [31m"
    assert "a b c" in list(words(report))


def test_the_command_lines_wishes_arrive_where_the_report_is_painted() -> None:
    wishes = ReportWishes(
        title="--force", author="", purpose="a\nb = c", conclusion="-x", sections=(Section.RUNS, Section.TIME)
    )
    parser = argparse.ArgumentParser()
    add_wishes(parser)
    parser.add_argument("--anonymous", action="store_true")
    assert wishes_of(parser.parse_args(wish_argv(wishes))) == wishes
    assert wishes_of(parser.parse_args([])) == ReportWishes()


def test_a_section_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="“metod” is no section of a report; known are differences") as told:
        read_sections(["time", "metod"])
    assert told.value.hint == "Did you mean “method”?"


def test_every_section_has_a_name_and_all_but_the_commands_come_unasked() -> None:
    assert set(SECTION_LABELS) == set(Section)
    assert set(Section) - set(DEFAULT_SECTIONS) == {Section.COMMANDS}
