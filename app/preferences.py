"""The user's preferences: one file, read, described and written only here.

``~/.config/pgfooting/preferences.toml`` ($XDG_CONFIG_HOME is respected). Never part of a campaign file, which
may come from another author: a preference can run a program. A file that others could have written is
ignored. The language is settled with the first translated text: `settle_language` must be called before any
of them is imported, and this module imports texts only when it needs one.
"""

# ruff: noqa: PLC0415 - texts settle the language

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from app.process.account import current_account

SYSTEM: Final = "system"
"""The desktop's choice: theme, contrast and language."""
BY_COUNTRY: Final = "country"
"""The usual paper of the locale's country."""

CHOICES: Final = {
    "theme": (SYSTEM, "light", "dark"),
    "contrast": (SYSTEM, "normal", "high"),
    "paper": (BY_COUNTRY, "a4", "letter"),
}
"""Allowed words of preferences that are one of a few."""

MOST_REPEATS: Final = 100
LETTER_COUNTRIES: Final = frozenset(
    ("BZ", "CA", "CL", "CO", "CR", "GT", "MX", "NI", "PA", "PH", "PR", "SV", "US", "VE")
)
"""Unicode CLDR, supplementalData.xml, paperSize US-Letter; all other countries use A4."""

LANGUAGE_VARIABLE: Final = "PGFOOTING_LANGUAGE"
"""Also in `app.domain.text`, which settles the language when it is imported."""

_GONE: Final = frozenset({"motion"})
"""Keys of earlier versions: read without a word."""
_LONGEST_BYTES: Final = 64 * 1024
_OTHERS: Final = 0o022


@dataclass(frozen=True, slots=True)
class Preferences:
    """Contents of the file.

    Attributes:
        when_done: command to run when all campaigns of a command have ended; empty for none.
        notify: whether the desktop is notified when a campaign has ended.
        library: folder of the runs, an absolute path; empty for the standard one.
        theme: of the window, see `CHOICES`.
        contrast: of the window's colours, see `CHOICES`.
        language: of texts, such as ``de``; `SYSTEM` for that of the desktop.
        paper: of reports, see `CHOICES`.
        repeats: of a new benchmark in the window; 0 for the default of a campaign file.
    """

    when_done: str = ""
    notify: bool = True
    library: str = ""
    theme: str = SYSTEM
    contrast: str = SYSTEM
    language: str = SYSTEM
    paper: str = BY_COUNTRY
    repeats: int = 0


def preferences_path() -> Path:
    """Return the path of the file."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(current_account().home, ".config")
    return folder / "pgfooting" / "preferences.toml"


def settle_language(environment: MutableMapping[str, str]) -> None:
    """Set the preferred language; called before any module with texts is imported.

    The environment's own setting wins over the file.
    """
    language = _read_file(preferences_path())[0].language
    if language != SYSTEM:
        environment.setdefault(LANGUAGE_VARIABLE, language)


def preferred_paper(preferences: Preferences, environment: Mapping[str, str]) -> str:
    """Return the paper size of new reports, ``a4`` or ``letter``."""
    if preferences.paper != BY_COUNTRY:
        return preferences.paper
    names = (environment.get(name, "") for name in ("LC_ALL", "LC_PAPER", "LANG"))
    locale = next(filter(None, names), "")
    country = locale.partition(".")[0].partition("@")[0].partition("_")[2]
    return "letter" if country in LETTER_COUNTRIES else "a4"


def read_preferences(path: Path | None = None) -> tuple[Preferences, str]:
    """Return the preferences, and a sentence about ignored parts of the file; empty if there are none.

    An unknown key is reported, and the others still count; a damaged file is ignored.

    Args:
        path: for tests; None for this user's own.
    """
    from app.domain.text import tr

    path = path or preferences_path()
    preferences, unknown, reason = _read_file(path)
    if reason:
        message = tr("{path} was ignored: {reason}.")
        return preferences, message.format(path=path, reason=reason.rstrip("."))
    if unknown:
        message = tr("{path} has keys that this version does not know: {names}. The others apply.")
        names = ", ".join(repr(name[:40]) for name in sorted(unknown)[:5])
        return preferences, message.format(path=path, names=names)
    return preferences, ""


def write_preferences(wanted: Preferences, path: Path | None = None) -> Path | None:
    """Write the preferences, completely or not at all; comments and unknown keys stay unchanged.

    Args:
        wanted: all of them.
        path: for tests; None for this user's own.

    Returns:
        Where an ignored file was moved; None if there was none.

    Raises:
        UsageError: the folder cannot be written, or the file needs an editor.
    """
    from app.domain.errors import UsageError
    from app.domain.text import tr

    path = path or preferences_path()
    refused = bool(_read_file(path)[2])
    aside = path.with_name(f"{path.name}.damaged") if refused else None
    part = path.with_name(f".{path.name}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = "" if refused or not path.exists() else path.read_text(encoding="utf-8")
        text = _with_values(before, wanted).encode("utf-8")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if aside is not None:
            os.replace(path, aside)  # noqa: PTH105 - a link is moved, not followed
        os.replace(part, path)  # noqa: PTH105 - whole or not at all; a link is replaced, not followed
    except (OSError, ValueError) as error:
        message = tr("{path} cannot be written: {reason}.")
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(message.format(path=path, reason=reason.rstrip("."))) from error
    return aside


def _with_values(text: str, wanted: Preferences) -> str:
    """Return the text of a file with other values.

    Raises:
        ValueError: a value is written over several lines, or contains what TOML does not allow.
    """
    from app.domain.text import tr

    document, standard = tomllib.loads(text), asdict(Preferences())
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    # An unchanged value is not rewritten.
    changed = {name: it for name, it in asdict(wanted).items() if document.get(name, standard[name]) != it}
    for name, value in changed.items():
        top = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
        old = (n for n, line in enumerate(lines[:top]) if line.partition("=")[0].strip(" \t\"'") == name)
        at = next(old, top)
        lines[at : at + (at < top)] = [f"{name} = {_toml(value)}\n"]
    made = "".join(lines)
    try:
        is_right = tomllib.loads(made) == document | changed
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise ValueError(tr("it uses TOML that pgFooting cannot rewrite; edit it by hand"))
    return made


def _toml(value: str | bool | int) -> str:  # noqa: FBT001 - it is the value
    """Return a value in TOML 1.0: its basic strings are those of JSON except for the character delete."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_file(path: Path) -> tuple[Preferences, frozenset[str], str]:
    """Return the preferences, unknown keys, and why the file is ignored; empty if it is used."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Preferences(), frozenset(), ""
    except OSError as error:
        return Preferences(), frozenset(), error.strerror or str(error)
    try:
        if reason := _why_not_trusted(path, os.fstat(descriptor)):
            return Preferences(), frozenset(), reason
        text = os.read(descriptor, _LONGEST_BYTES).decode("utf-8")
        return *_read(tomllib.loads(text)), ""
    except (OSError, ValueError, RecursionError) as error:
        return Preferences(), frozenset(), str(error).partition("\n")[0]
    finally:
        os.close(descriptor)


def _why_not_trusted(path: Path, found: os.stat_result) -> str:
    """Return why others could have written a file; empty if they could not.

    SECURITY: the file's commands run as this user, who may be root. The folder counts too: anyone who may
    write there can put another file in its place.
    """
    is_file, changeable = stat.S_ISREG(found.st_mode), None
    for place, each in ((path, found), (path.parent, path.parent.stat())):
        if each.st_uid not in {0, os.geteuid()} or stat.S_IMODE(each.st_mode) & _OTHERS:
            changeable = changeable or place
    if is_file and changeable is None:
        return ""
    from app.domain.text import tr  # an ignored file sets no language

    changed = tr("other users could change {path}").format(path=changeable)
    return changed if is_file else tr("is not a regular file")


def _read(document: dict[str, object]) -> tuple[Preferences, frozenset[str]]:
    """Return a document's preferences, and its unknown keys.

    Raises:
        ValueError: a value of another type, or not an allowed one.
    """
    known = {each.name: type(getattr(Preferences(), each.name)) for each in fields(Preferences)}
    found = {name: value for name, value in document.items() if name in known}
    if wrong := next((name for name, value in found.items() if not _is_right(name, value, known[name])), ""):
        from app.domain.text import tr

        raise ValueError(f"{wrong}: " + tr("a value has the wrong type"))
    return Preferences(**found), frozenset(document) - _GONE - frozenset(known)  # type: ignore[arg-type] # checked above


def _is_right(name: str, value: object, kind: type) -> bool:
    if type(value) is not kind:
        return False
    if name in CHOICES:
        return value in CHOICES[name]
    if isinstance(value, int) and name == "repeats":
        return 0 <= value <= MOST_REPEATS
    return name != "library" or value == "" or str(value).startswith("/")
