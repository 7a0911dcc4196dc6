"""The manual in blocks, as a reader of Markdown has them."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.arguments.declared import filled_text
from app.manual.chapters import Chapter, find_chapter


@dataclass(frozen=True)
class ManualBlock:
    """A piece of a chapter.

    Attributes:
        tag: of the HTML element that it is: h1 to h3, p, li, tr, th or code.
        text: without marks; of a row that of its cells.
        children: what its text is made of.
    """

    tag: str
    text: tuple[str, ...]
    children: tuple[Token, ...] = ()


def blocks(chapter: Chapter | str) -> list[ManualBlock]:
    """Return the blocks of a chapter, or of the one of a name; a row of a table is one."""
    found: list[ManualBlock] = []
    tags: list[str] = []
    chosen = find_chapter(chapter) if isinstance(chapter, str) else chapter
    for token in MarkdownIt("commonmark").enable("table").parse(filled_text(chosen)):
        if token.type == "fence":
            found.append(ManualBlock("code", (token.content.removesuffix("\n"),)))
        elif token.nesting == 1:
            tags = [*tags, token.tag] if not token.hidden else [*tags, tags[-1]]
            if token.tag == "tr":
                found.append(ManualBlock("th" if "thead" in tags else "tr", ()))
        elif token.nesting == -1:
            tags.pop()
        elif token.type == "inline":
            children = tuple(token.children or ())
            text = "".join(" " if each.type == "softbreak" else each.content for each in children)
            if tags[-1] in {"td", "th"}:
                row = found.pop()
                found.append(ManualBlock(row.tag, (*row.text, text), (*row.children, *children)))
            else:
                found.append(ManualBlock(tags[-1], (text,), children))
    return found
