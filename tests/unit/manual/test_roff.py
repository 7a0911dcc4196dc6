"""Chapters as manual pages: every block is there, and nothing of a text is a request of roff."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from app.cli.arguments.chapters import filled_blocks
from app.manual.chapters import CHAPTERS
from app.manual.markdown import read_markdown
from app.manual.roff import ManualPage, manual_page, roff_text

PAGE = ManualPage("pgfooting-x", "x of pgFooting")
needs_groff = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")


def test_every_block_is_set_as_its_kind() -> None:
    text = "# T\n\n.a `b-c`\n\n## Two\n\n- item\n\n```\n.d\n```\n\n| H | I |\n|---|---|\n| k | m |\n"
    lines = manual_page(PAGE, "2026-01-01", read_markdown(text)).split("\n")
    assert lines[0].startswith('.TH PGFOOTING-X 5 "2026-01-01"')
    assert "pgfooting\\-x \\- x of pgFooting" in lines
    body = lines[lines.index(".SH DESCRIPTION") + 1 :]
    assert body == [
        *(".PP", "\\&.a \\fBb\\-c\\fR", ".SH TWO", ".IP \\(bu 2", "item"),
        *(".PP", ".nf", ".RS 4", "\\&.d", ".RE", ".fi", ".TP", "k", "m."),
    ]


def test_a_text_is_never_a_request_or_an_escape() -> None:
    assert roff_text(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert roff_text("'x") == "\\&'x"
    assert roff_text("\\n(yr") == "\\en(yr"


@needs_groff
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.id)
def test_groff_has_nothing_to_say_of_any_chapter(chapter: object) -> None:
    (found,) = (each for each in CHAPTERS if each == chapter)
    page = manual_page(found.page or PAGE, "2026-01-01", filled_blocks(found))
    argv = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"]
    told = subprocess.run(argv, input=page, capture_output=True, text=True, check=True)
    assert told.stderr == ""
