"""The published figures that ship with the program: one file a text in resources/reference."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from app import TOP
from app.domain.errors import ReferenceDataError
from app.domain.text import tr
from app.published.figures import PublishedFigure
from app.published.reading import read_reference

REFERENCE: Final = TOP / "resources" / "reference"


@cache
def published_figures(folder: Path = REFERENCE) -> tuple[PublishedFigure, ...]:
    """Return every figure of every text, by file, in the order of the texts.

    Those with `is_tps` can stand beside the bars of runs; no statistic ever takes any of them.

    Raises:
        ReferenceDataError: a file that cannot be read, or is not as `reference_reading` says.
    """
    found: list[PublishedFigure] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            message = tr("Published figures: {path} cannot be read: {reason}.")
            raise ReferenceDataError(message.format(path=path, reason=error)) from error
        found += read_reference(text, path.stem)
    return tuple(found)
