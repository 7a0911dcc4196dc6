"""Write a file named by the user: never replace another one unasked, never leave a partial one.

The content is written to a temporary file in the same folder, which is renamed when complete. Also makes file
names from users' names.
"""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from app.domain.errors import FootingError, RefusedError, UsageError
from app.domain.text import tr


def check_output(output: Path, *, replace: bool | None) -> None:
    """Check, before anything is computed, that a file can be written.

    Args:
        output: its path.
        replace: whether an existing file may be replaced; None if there is no option to allow it.

    Raises:
        RefusedError: the file exists.
        UsageError: something else is there, or there is no such folder.
    """
    try:
        if output.is_dir():
            raise UsageError(f"{output} " + tr("is a folder, not a file") + ".")
        if output.exists() and not output.is_file():
            message = f"{output} " + tr("is not a regular file") + "."
            raise UsageError(message, hint=tr("Choose another name."))
        if output.exists() and not replace:
            message = tr("{path} already exists; it was not touched.")
            another = tr("Choose another name.")
            hint = another if replace is None else tr("Choose another name, or add --force to replace it.")
            raise RefusedError(message.format(path=output), hint=hint)
        folder = output.resolve().parent
        if not folder.is_dir():
            raise UsageError(f"{folder} " + tr("does not exist") + ".")
    except OSError as error:
        raise _cannot_write(output, error) from error
    except ValueError as error:  # a NUL in the name
        message = tr("{path} cannot be written: {reason}.")
        raise UsageError(message.format(path=repr(str(output)), reason=error)) from error


def write_output(output: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file; on failure an existing file is unchanged and nothing else is left.

    Args:
        output: its path; a symbolic link is followed.
        write: writes the content.

    Raises:
        FootingError: the folder cannot be written, the disk is full ...
    """
    place = output.resolve()
    part = place.with_name(f".{place.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with part.open("xb") as stream:
            write(stream)
            _keep_mode(place, stream)
        part.replace(place)
    except OSError as error:
        raise _cannot_write(output, error) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _keep_mode(place: Path, stream: BinaryIO) -> None:
    """Restore the permissions of a replaced file."""
    with suppress(OSError):
        os.fchmod(stream.fileno(), place.stat().st_mode & 0o777)


def _cannot_write(output: Path, error: OSError) -> FootingError:
    message = tr("{path} cannot be written: {reason}. Nothing there was changed.")
    return FootingError(message.format(path=output, reason=error.strerror or error))


_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str, limit: int = 40) -> str:
    """Return a text as part of a file name: lower case, a to z, digits, hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")[:limit].strip("-") or "campaign"
