"""What a user of this program prefers: one file of his own, read and described here and nowhere else.

``~/.config/pgfooting/preferences.toml`` ($XDG_CONFIG_HOME counts). Never part of a campaign file, which may
be somebody else's: what stands here can run a program. A file that others could have written does not count.
"""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from app.domain.text import tr
from app.process.starter import current_account

_LONGEST_BYTES: Final = 64 * 1024
_OTHERS: Final = 0o022


@dataclass(frozen=True, slots=True)
class Preferences:
    """What may stand in the file.

    Attributes:
        when_done: command that is run when the campaigns of a command have ended; empty for none.
        notify: whether the desktop is told when a campaign has ended.
    """

    when_done: str = ""
    notify: bool = True


def preferences_path() -> Path:
    """Return where the file is looked for."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(current_account().home, ".config")
    return folder / "pgfooting" / "preferences.toml"


def read_preferences(path: Path | None = None) -> tuple[Preferences, str]:
    """Return the preferences, and why the file does not count where it does not; empty where it does.

    Args:
        path: for tests; None for this user's own.
    """
    path = path or preferences_path()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Preferences(), ""
    except OSError as error:
        return _refused(path, error.strerror or str(error))
    try:
        reason = _why_not_trusted(path, os.fstat(descriptor))
        text = b"" if reason else os.read(descriptor, _LONGEST_BYTES)
        return _refused(path, reason) if reason else (_read(tomllib.loads(text.decode("utf-8"))), "")
    except (OSError, ValueError, RecursionError) as error:
        return _refused(path, str(error).partition("\n")[0])
    finally:
        os.close(descriptor)


def _refused(path: Path, reason: str) -> tuple[Preferences, str]:
    message = tr("The preferences in {path} do not count: {reason}.")
    return Preferences(), message.format(path=path, reason=reason.rstrip("."))


def _why_not_trusted(path: Path, found: os.stat_result) -> str:
    """Return why others could have written a file; empty where nobody else could.

    SECURITY: what stands in it is run as this user, who may be root. The folder around it counts too: whoever
    may write there puts another file in its place.
    """
    if not stat.S_ISREG(found.st_mode):
        return tr("it is no regular file")
    for place, each in ((path, found), (path.parent, path.parent.stat())):
        if each.st_uid not in {0, os.geteuid()} or stat.S_IMODE(each.st_mode) & _OTHERS:
            return tr("others could change {path}").format(path=place)
    return ""


def _read(document: dict[str, object]) -> Preferences:
    """Return what a document says.

    Raises:
        ValueError: a key that there is not, or a value of another type.
    """
    known = {each.name: type(getattr(Preferences(), each.name)) for each in fields(Preferences)}
    for name, value in document.items():
        if name not in known:
            raise ValueError(tr("there is no preference {name!r}").format(name=name[:40]))
        if type(value) is not known[name]:
            raise ValueError(tr("{name} has a value of another kind").format(name=name))
    return Preferences(**document)  # type: ignore[arg-type] # checked above, key by key
