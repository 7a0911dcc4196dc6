"""Chapters as manual pages: every block is there, and nothing of a text is a request of roff."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess

import pytest

from app import TOP
from app.manual.chapters import CHAPTERS, Chapter

SPEC = importlib.util.spec_from_file_location("manual_page", TOP / "packaging" / "manual_page.py")
assert SPEC is not None
assert SPEC.loader is not None
manual_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(manual_page)


def test_every_block_is_set_as_its_kind() -> None:
    text = "# T\n\n.a `b-c`\n'd\n\n## Two\n\n- **item**\n\n```\n.d\n```\n\n| H | I |\n|---|---|\n| k | m |\n"
    assert list(manual_page.requests(text)) == [
        *(".PP", "\\&.a \\fBb\\-c\\fR", "\\&'d", ".SH", "Two", ".IP \\(bu 2", "\\fBitem\\fR"),
        *(".PP", ".nf", ".RS 4", "\\&.d", ".RE", ".fi", ".TP", "k", "m."),
    ]


def test_text_is_escaped() -> None:
    assert manual_page.roff_text(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert manual_page.roff_text("'x") == "\\&'x"
    assert manual_page.roff_text("\\n(yr") == "\\en(yr"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.id)
def test_groff_accepts_every_chapter(chapter: Chapter) -> None:
    _, page = manual_page.page(chapter, "2026-01-01")
    argv = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"]
    assert subprocess.run(argv, input=page, capture_output=True, text=True, check=True).stderr == ""
