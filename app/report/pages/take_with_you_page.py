"""The page with the winning configuration, as commands to type."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.text import tr
from app.report.blocks import Block, Text, TextRole
from app.report.findings import Findings
from app.report.take_with_you import TITLE, take_with_you


def take_with_you_page(found: Findings) -> Iterator[Block]:
    """Yield the winning configuration, or that of each of a few conditions; nothing if there is none."""
    for place, taken in enumerate(take_with_you(found)):
        if not place:
            yield Text(TextRole.HEADING, TITLE, bookmark=TITLE, new_page=True)
        yield Text(TextRole.BODY, taken.name)
        for warning in taken.warnings:
            yield Text(TextRole.WARNING, tr("Safety is traded for speed: {reason}").format(reason=warning))
        for sentence in taken.sentences:
            yield Text(TextRole.BODY, sentence)
        for part in taken.parts:
            yield Text(TextRole.SUBHEADING, part.heading)
            for line in part.lines:
                yield Text(TextRole.CODE, line)
