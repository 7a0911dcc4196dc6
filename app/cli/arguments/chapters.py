"""Chapters of the manual with their tables filled, those of the command line too."""

from __future__ import annotations

from app.cli.arguments.completion import commands_as_markdown
from app.cli.arguments.declared import build_parser
from app.manual.chapters import Chapter, chapter_text
from app.manual.markdown import ManualBlock, read_markdown


def _commands() -> str:
    return commands_as_markdown(build_parser())


def filled_text(chapter: Chapter) -> str:
    """Return a chapter as Markdown."""
    return chapter_text(chapter, _commands)


def filled_blocks(chapter: Chapter) -> tuple[ManualBlock, ...]:
    """Return a chapter in blocks, its title first."""
    return read_markdown(filled_text(chapter))
