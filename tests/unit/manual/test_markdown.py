"""Markdown that the program writes, as the window and the terminal read it."""

from __future__ import annotations

from markdown_it import MarkdownIt

from app.manual.markdown import anchor_of, markdown_table, plain_markdown


def test_plain_markdown_has_no_mark() -> None:
    hostile = "a | b * _c_ `d` <e> [f](g) \\ #h\n\ni"
    table = markdown_table(("one", "two"), iter([(plain_markdown(hostile), "x")]))
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    cells = [token.children or [] for token in tokens if token.type == "inline"]
    assert len(cells) == 4
    assert {child.type for child in cells[2]} == {"text"}
    assert "".join(child.content for child in cells[2]) == " ".join(hostile.split())


def test_anchor_of_heading() -> None:
    assert anchor_of("How to read a verdict") == "how-to-read-a-verdict"
    assert anchor_of("late, skipped") == "late-skipped"
    assert anchor_of("p99.9") == "p99.9"
