"""Lines that nobody understands: left out, and told by file and line."""

from __future__ import annotations

from typing import Final

from app.domain.errors import ForeignDataError
from app.domain.text import tr

MOST_BAD_LINES: Final = 100
"""Of one run; more than that is no log with a slip in it, but something else."""
_SHOWN: Final = 80


class BadLines:
    """Counts and keeps bad lines of one run.

    Attributes:
        told: file, line and text of each.
    """

    def __init__(self) -> None:
        self.told: list[str] = []

    def add(self, file: str, number: int, line: bytes | str, reason: str = "") -> None:
        """Note one.

        Raises:
            ForeignDataError: there are too many.
        """
        text = line.decode("utf-8", "backslashreplace") if isinstance(line, bytes) else line
        shown = "".join(char if char.isprintable() else "\ufffd" for char in text.strip())[:_SHOWN]
        what = reason or tr("not understood")
        self.told.append(
            tr("{file}, line {line}: {what}: “{text}”").format(file=file, line=number, what=what, text=shown)
        )
        if len(self.told) > MOST_BAD_LINES:
            message = tr("{file}: more than {count} lines are not understood, the first is {first}.")
            raise ForeignDataError(message.format(file=file, count=MOST_BAD_LINES, first=self.told[0]))
