"""Read foreign text in pieces of whole lines, of any length and line ending, and collect bad lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from app.domain.errors import ForeignDataError
from app.domain.text import tr

CHUNK_BYTES: Final = 1024**2
LONGEST_LINE: Final = 64 * 1024
MOST_TEXT_BYTES: Final = 64 * 1024**2


class Readable(Protocol):
    """Anything with bytes to read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""


@dataclass(frozen=True, slots=True)
class Lines:
    r"""Some lines of a file.

    Attributes:
        first: number of the first one, from 1.
        text: with their line ends, which are all ``\n``.
        is_cut: the text after the last line end of the file: one line that may be cut off.
    """

    first: int
    text: bytes
    is_cut: bool = False


def read_lines(stream: Readable, shown_path: str) -> Iterator[Lines]:
    """Yield all lines of a file, about a MiB at a time.

    Args:
        stream: of the file.
        shown_path: name of the file, for the error.

    Raises:
        ForeignDataError: a line that is too long for any text; names file and line.
    """
    rest, number = b"", 1
    while chunk := stream.read(CHUNK_BYTES):
        text = rest + chunk
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if len(rest) > LONGEST_LINE:
            number += text.count(b"\n", 0, end)
            message = tr("{file}, line {line} is longer than {size} characters: not a text file.")
            raise ForeignDataError(message.format(file=shown_path, line=number, size=LONGEST_LINE))
        if end:
            lines = Lines(number, _unix(text[:end]))
            number += lines.text.count(b"\n")
            yield lines
    if rest:
        yield Lines(number, rest.rstrip(b"\r"), is_cut=True)


def read_text(stream: Readable, shown_path: str) -> str:
    """Return a whole text of moderate size; invalid UTF-8 becomes a replacement character.

    Raises:
        ForeignDataError: larger than 64 MiB.
    """
    parts, size = [], 0
    while chunk := stream.read(CHUNK_BYTES):
        size += len(chunk)
        check_text_size(size, shown_path)
        parts.append(chunk)
    return _unix(b"".join(parts)).decode("utf-8", "replace").removeprefix("\ufeff")


def check_text_size(size: int, shown_path: str) -> None:
    """Check that a text to be read as a whole is of moderate size.

    Raises:
        ForeignDataError: larger than 64 MiB.
    """
    if size > MOST_TEXT_BYTES:
        message = tr("{file} is larger than {size} MiB, the limit for such a text.")
        raise ForeignDataError(message.format(file=shown_path, size=MOST_TEXT_BYTES // 1024**2))


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


MOST_BAD_LINES: Final = 100
"""Limit for one run: with more, it is not a log with a few errors, but something else."""
_SHOWN: Final = 80


class BadLines:
    """Counts and keeps the bad lines of one run.

    Attributes:
        messages: file, line and text of each.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, file: str, number: int, line: bytes | str, reason: str = "") -> None:
        """Add a line.

        Raises:
            ForeignDataError: there are too many.
        """
        text = line.decode("utf-8", "backslashreplace") if isinstance(line, bytes) else line
        shown = "".join(char if char.isprintable() else "\ufffd" for char in text.strip())[:_SHOWN]
        what = reason or tr("not understood")
        self.messages.append(
            tr("{file}, line {line}: {what}: “{text}”").format(file=file, line=number, what=what, text=shown)
        )
        if len(self.messages) > MOST_BAD_LINES:
            message = tr("{file}: more than {count} lines were not understood; the first is {first}.")
            raise ForeignDataError(message.format(file=file, count=MOST_BAD_LINES, first=self.messages[0]))
