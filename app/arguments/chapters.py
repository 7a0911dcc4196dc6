"""Chapters of the manual with their tables filled in, including the commands."""

from __future__ import annotations

from app.arguments.completion import commands_as_markdown
from app.arguments.declared import build_parser
from app.manual.chapters import Chapter, chapter_text


def _commands() -> str:
    return commands_as_markdown(build_parser())


def filled_text(chapter: Chapter) -> str:
    """Return a chapter as Markdown."""
    return chapter_text(chapter, _commands)
