"""Reading a text file that a user names, whatever it really is: bounded, never waiting."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from app.domain.text import tr
from app.domain.units import format_size

_BYTE_ORDER_MARK: Final = "\ufeff"


class UnreadableFileError(Exception):
    """The file cannot be read; the message says why and fits after the file's name."""


def read_text_file(path: Path, most_bytes: int) -> str:
    """Return the text of a regular UTF-8 file; a byte order mark at its beginning is dropped.

    Args:
        path: the file; a symbolic link is followed.
        most_bytes: a larger file is refused.

    Raises:
        UnreadableFileError: it is missing, no regular file, too large, not text, or may not be read.
    """
    raw = _read_bytes(path, most_bytes)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as err:
        line = raw.count(b"\n", 0, err.start) + 1
        sentence = tr("is not text in UTF-8 (line {line}, byte {byte} of the file)")
        raise UnreadableFileError(sentence.format(line=line, byte=err.start + 1)) from err
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableFileError(tr("is not text (a NUL byte in line {line})").format(line=line))
    return text.removeprefix(_BYTE_ORDER_MARK)


def _read_bytes(path: Path, most_bytes: int) -> bytes:
    """Return the file's bytes; O_NONBLOCK because opening a FIFO would wait for a writer."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFileError(tr("is not a regular file"))
            raw = file.read(most_bytes + 1)
    except IsADirectoryError as err:  # os.fdopen refuses folders
        raise UnreadableFileError(tr("is a folder, not a file")) from err
    except FileNotFoundError as err:
        raise UnreadableFileError(tr("does not exist")) from err
    except (OSError, ValueError) as err:  # ValueError: a NUL in the name
        reason = getattr(err, "strerror", None) or str(err)
        raise UnreadableFileError(tr("cannot be read: {reason}").format(reason=reason)) from err
    if len(raw) > most_bytes:
        sentence = tr("is larger than the {most} that are allowed")
        raise UnreadableFileError(sentence.format(most=format_size(most_bytes)))
    return raw
