"""The Markdown of the manual: what it has is read, and what it has not is refused."""

from __future__ import annotations

import pytest

from app.manual.markdown import (
    CodeBlock,
    Heading,
    ListItem,
    ManualTable,
    MarkdownError,
    Paragraph,
    Span,
    SpanKind,
    anchor_of,
    markdown_table,
    plain_markdown,
    read_markdown,
    words_of,
)

ALL = """# Title

Two lines
of `code`, **bold** and [a link](words.md#p99).

- an item
  of two lines
- another

```sql
SELECT * FROM a_b;

```

| one | two |
|---|---|
| a \\| b | `c` |
"""


def test_everything_of_the_subset_is_read() -> None:
    title, paragraph, first, second, code, table = read_markdown(ALL)
    assert title == Heading(1, (Span("Title"),))
    assert isinstance(paragraph, Paragraph)
    assert paragraph.spans == (
        Span("Two lines of "),
        Span("code", SpanKind.CODE),
        Span(", "),
        Span("bold", SpanKind.BOLD),
        Span(" and "),
        Span("a link", SpanKind.LINK, "words.md#p99"),
        Span("."),
    )
    assert first == ListItem((Span("an item of two lines"),))
    assert second == ListItem((Span("another"),))
    assert code == CodeBlock("SELECT * FROM a_b;\n")
    assert isinstance(table, ManualTable)
    assert [words_of(cell) for cell in table.rows[0]] == ["a | b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "#### too deep",
        "#no blank",
        "Title\n=====",
        "> quoted",
        "1. numbered",
        "* another bullet",
        "- item\n  - nested",
        "    indented code",
        "---",
        "an *emphasis*",
        "an _emphasis_",
        "![picture](x.png)",
        "<b>markup</b>",
        "[broken](two words)",
        "`never closed",
        "**never closed",
        "**bold with `code`**",
        "```\nnever closed",
        "| one |",
        "| one | two |\n|---|---|\n| a |",
        "| one |\n|:-:|\n| a |",
        "text\n| a |",
        "text\n- item",
        "line one  \n  line two",
    ],
)
def test_whatever_else_markdown_has_is_refused(text: str) -> None:
    with pytest.raises(MarkdownError):
        read_markdown(text)


def test_a_foreign_text_is_plain_whatever_is_in_it() -> None:
    hostile = "a | b * _c_ `d` <e> [f](g) \\ #h\n\ni"
    table = markdown_table(("one", "two"), iter([(plain_markdown(hostile), "x")]))
    (grid,) = read_markdown(table)
    assert isinstance(grid, ManualTable)
    assert words_of(grid.rows[0][0]) == " ".join(hostile.split())
    assert all(span.kind is SpanKind.PLAIN for span in grid.rows[0][0])


def test_headings_are_named_by_their_words() -> None:
    assert anchor_of("How to read a verdict") == "how-to-read-a-verdict"
    assert anchor_of("late, skipped") == "late-skipped"
    assert anchor_of("p99.9") == "p99.9"
