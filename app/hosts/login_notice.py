"""Whether the desktop says at login that an interrupted campaign waits: a file in the autostart folder.

``~/.config/autostart`` ($XDG_CONFIG_HOME counts), Desktop Application Autostart Specification 0.5. Off as
long as nobody asks for it; it starts nothing but `pgfooting unfinished --notify`, as this user.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from app import COMMAND, TOP
from app.domain.errors import UsageError
from app.domain.text import tr
from app.process.starter import current_account

FILE_NAME: Final = "org.pgfooting.Footing.Unfinished.desktop"
_TEMPLATE: Final = TOP / "packaging" / FILE_NAME
_ARGUMENTS: Final = ("unfinished", "--notify")
_LONGEST_BYTES: Final = 16_384
_SWITCHED_OFF: Final = re.compile(
    r"^(Hidden\s*=\s*true|X-GNOME-Autostart-enabled\s*=\s*false)\s*$", re.MULTILINE
)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:=+-]+")


def notice_path() -> Path:
    """Return where the file lies for this account."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(current_account().home, ".config")
    return folder / "autostart" / FILE_NAME


def tells_at_login() -> bool:
    """Whether the desktop says so: the file is there, and the desktop has not switched it off."""
    return bool(text := _read()) and _SWITCHED_OFF.search(text) is None


def tell_at_login() -> Path:
    """Let the desktop say so from the next login on, and return the file that was written.

    Raises:
        UsageError: the file cannot be written, or the program cannot be named in it.
    """
    path, text = notice_path(), notice_text()
    part = path.with_name(f".{FILE_NAME}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)  # noqa: PTH105 - whole or not at all; a link is replaced, not followed
    except OSError as error:
        message = tr("{path} could not be written: {reason}.")
        raise UsageError(message.format(path=path, reason=error.strerror)) from error
    return path


def tell_no_more() -> Path:
    """Let the desktop say nothing any more, and return the file that is not there any more.

    Raises:
        UsageError: it cannot be removed.
    """
    path = notice_path()
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        message = tr("{path} could not be removed: {reason}.")
        raise UsageError(message.format(path=path, reason=error.strerror)) from error
    return path


def renew_notice() -> bool:
    """Write the file anew where it names a program of before, and return whether that was so.

    The Python environment of a checkout lies elsewhere after an update; a file that a person changed or
    switched off is left alone but for the program that it names.

    Raises:
        UsageError: as `tell_at_login`.
    """
    if not tells_at_login() or _read() == notice_text():
        return False
    tell_at_login()
    return True


def notice_text() -> str:
    """Return what the file says: that of the packaging folder, with this program.

    Raises:
        UsageError: the packaging folder is not there, or the program has a name that cannot stand in it.
    """
    try:
        lines = _TEMPLATE.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        message = tr("{path} is not there: this copy of pgFooting does not know what to write.")
        raise UsageError(message.format(path=_TEMPLATE)) from error
    command = " ".join(_quoted(word) for word in _program())
    return "\n".join(f"Exec={command}" if line.startswith("Exec=") else line for line in lines) + "\n"


def _program() -> tuple[str, ...]:
    """Return the command: the installed one, else this Python with this checkout."""
    installed = shutil.which(COMMAND)
    if installed is not None:
        return (installed, *_ARGUMENTS)
    return ("env", f"PYTHONPATH={TOP}", sys.executable, "-P", "-m", "app", *_ARGUMENTS)


def _quoted(word: str) -> str:
    """Return a word of the key Exec (Desktop Entry Specification 1.5, "The Exec key").

    Raises:
        UsageError: it has control characters.
    """
    if not word.isprintable():
        raise UsageError(tr("The path of pgFooting has characters that no desktop can start."))
    if _PLAIN_WORD.fullmatch(word):
        return word
    inner = re.sub(r'(["`$\\])', r"\\\1", word)
    return '"' + inner.replace("\\", "\\\\").replace("%", "%%") + '"'


def _read() -> str:
    """Return what the file says; empty where there is none that can be read."""
    try:
        descriptor = os.open(notice_path(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_LONGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
