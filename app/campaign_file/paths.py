"""Values of a campaign file that name locations: folders, servers, installations, scripts.

Also reads text files named by a user safely: limited in size, regular files only, never blocking.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from app.campaign_file.kinds import CampaignField, EnumKind, IntKind, ValueKind, quote, read_each, read_fields
from app.campaign_file.problems import InvalidValueError, printable_path, unfit
from app.domain.campaign.configuration import BuiltinScript, Script
from app.domain.errors import Problem, did_you_mean
from app.domain.text import MIB, format_size, tr
from app.probes.base.probe import is_destination

_BYTE_ORDER_MARK: Final = "\ufeff"


class UnreadableFileError(Exception):
    """The file cannot be read; the message gives the reason, to follow the file's name."""


def read_text_file(path: Path, most_bytes: int) -> str:
    """Return the text of a regular UTF-8 file; a byte order mark at its beginning is dropped.

    Args:
        path: the file; a symbolic link is followed.
        most_bytes: a larger file is refused.

    Raises:
        UnreadableFileError: it is missing, not a regular file, too large, not text, or not readable.
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
        raise UnreadableFileError(tr("is not a text file (NUL byte in line {line})").format(line=line))
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
        sentence = tr("is larger than the allowed {most}")
        raise UnreadableFileError(sentence.format(most=format_size(most_bytes)))
    return raw


SCRIPT_LIMIT_BYTES: Final = MIB
"""Largest script file, in bytes; pgbench itself has no limit."""

SCRIPT_LIMIT: Final = 128
"""Most scripts of one workload (MAX_SCRIPTS in pgbench.c, 13 to 18)."""

STORED: Final = Path(os.devnull)
"""The folder of a campaign that is stored in a run file: its scripts are only named, never opened."""

OLDEST_MAJOR: Final = 13


def expand_home(text: str) -> str:
    """Return `text` with a leading ``~`` or ``~user`` replaced, if that user exists."""
    if not text.startswith("~"):
        return text
    try:
        return str(Path(text).expanduser())
    except RuntimeError:  # no such user
        return text


def _is_path(text: str) -> bool:
    """Return whether the system allows such a path (PATH_MAX is 4096 with the final NUL)."""
    return text.isprintable() and 0 < len(text.encode()) < 4096


@dataclass(frozen=True, slots=True)
class Folder(ValueKind):
    """An absolute folder; its existence is checked later, by the account that uses it."""

    @property
    @override
    def allowed(self) -> str:
        return tr('an absolute folder, such as "/srv/bench" or "~/bench"')

    @override
    def read(self, value: object, folder: Path) -> str:
        if not isinstance(value, str) or not _is_path(value) or not expand_home(value).startswith("/"):
            raise unfit(value, self.allowed)
        return expand_home(value)


@dataclass(frozen=True, slots=True)
class InstallationName(ValueKind):
    """A PostgreSQL: the newest one found, a major version, or the folder of its programs."""

    _words: ClassVar = ("newest", *map(str, range(OLDEST_MAJOR, 100)))

    @property
    @override
    def allowed(self) -> str:
        sentence = tr(
            '"newest", a major version from {oldest} on, or the absolute folder of the programs such as '
            '"/usr/lib/postgresql/18/bin"'
        )
        return sentence.format(oldest=OLDEST_MAJOR)

    @override
    def read(self, value: object, folder: Path) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) and value < 100 else value
        if isinstance(text, str):
            if text in self._words:
                return text
            if _is_path(text) and expand_home(text).startswith("/"):
                return expand_home(text)
        raise unfit(value, self.allowed)


@dataclass(frozen=True, slots=True)
class ConnectionString(ValueKind):
    """A libpq connection string or URI without a secret; messages about it never repeat it."""

    @property
    @override
    def allowed(self) -> str:
        return tr('a libpq connection string, such as "host=db.example user=bench" or "service=bench"')

    @override
    def read(self, value: object, folder: Path) -> str:
        if not isinstance(value, str):
            raise unfit(value, self.allowed)
        from app.postgres.existing.address import connection_problem  # noqa: PLC0415 - psycopg takes a while

        problem = connection_problem(value)
        if problem:
            raise InvalidValueError(Problem("", problem))
        return value


@dataclass(frozen=True, slots=True)
class SshHost(ValueKind):
    """An ssh name in the user's configuration; empty for none."""

    @property
    @override
    def allowed(self) -> str:
        return tr('a name that your ssh knows, such as "db1" or "postgres@db1"')

    @override
    def read(self, value: object, folder: Path) -> str:
        if not isinstance(value, str) or (value and not is_destination(value)):
            raise unfit(value, self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class ScriptFile(ValueKind):
    """The user's script; a relative name starts at the campaign file's folder."""

    @property
    @override
    def allowed(self) -> str:
        most = format_size(SCRIPT_LIMIT_BYTES)
        return tr("the path of a pgbench script file of at most {most}").format(most=most)

    @override
    def read(self, value: object, folder: Path) -> Script:
        if not isinstance(value, str) or not _is_path(value):
            raise unfit(value, self.allowed)
        if folder == STORED:
            return Script(builtin=None, path=value)
        path = (folder / expand_home(value)).absolute()
        real = os.path.realpath(path)  # ask about the file that is actually read
        is_outside = not Path(real).is_relative_to(os.path.realpath(folder))
        try:
            text = read_text_file(Path(real), SCRIPT_LIMIT_BYTES)
        except UnreadableFileError as err:
            raise InvalidValueError(Problem("", f"{printable_path(path)} {err}.")) from err
        if not text.strip():
            raise InvalidValueError(
                Problem("", tr("{path} is empty; pgbench needs a command.").format(path=printable_path(path)))
            )
        return Script(builtin=None, path=str(path), text=text, is_outside=is_outside)


_SCRIPT_FIELDS: Final = (
    CampaignField("builtin", EnumKind(tuple(BuiltinScript), BuiltinScript), ""),
    CampaignField("file", ScriptFile(), ""),
    CampaignField("weight", IntKind(1, 10_000), ""),
)
_SCRIPT_KEYS: Final = {each.name for each in _SCRIPT_FIELDS}


@dataclass(frozen=True, slots=True)
class OneScript(ValueKind):
    """A script: the name of a built-in one, or a table with `file` or `builtin`, and a weight."""

    @property
    @override
    def allowed(self) -> str:
        names = ", ".join(quote(name.value) for name in BuiltinScript)
        return tr('{names}, or {{file = "my.sql", weight = 2}}').format(names=names)

    @override
    def read(self, value: object, folder: Path) -> Script:
        if isinstance(value, str) and value in tuple(BuiltinScript):
            return Script(builtin=BuiltinScript(value))
        if isinstance(value, str) and folder == STORED:  # of an earlier version
            return ScriptFile().read(value, folder)
        if isinstance(value, str):
            raise unfit(value, self.allowed, remark=did_you_mean(value[:80], tuple(BuiltinScript)))
        if not isinstance(value, dict):
            raise unfit(value, self.allowed)
        given, faults = read_fields(value, _SCRIPT_FIELDS, folder)
        if ("file" in value) == ("builtin" in value):
            exactly = Problem("", tr("needs exactly one of the keys “file” and “builtin”."))
            faults.insert(len(value.keys() - _SCRIPT_KEYS), exactly)  # after unknown keys
        if faults:
            raise InvalidValueError(*faults)
        script: Script = given.pop("file", Script())
        return replace(script, **given)

    @override
    def plain(self, value: Script) -> str | dict[str, Any]:
        if value.builtin is not None and value.weight == 1:
            return value.builtin.value
        source = {"builtin": value.builtin.value} if value.builtin else {"file": value.path or ""}
        return source if value.weight == 1 else {**source, "weight": value.weight}


@dataclass(frozen=True, slots=True)
class Scripts(ValueKind):
    """One script or a list of scripts; each transaction draws one by weight."""

    @property
    @override
    def allowed(self) -> str:
        return tr("{script}, or a list of 1 to {most} of these").format(
            script=OneScript().allowed, most=SCRIPT_LIMIT
        )

    @override
    def read(self, value: object, folder: Path) -> tuple[Script, ...]:
        if not isinstance(value, list):
            return (OneScript().read(value, folder),)
        if not 1 <= len(value) <= SCRIPT_LIMIT:
            raise unfit(value, self.allowed)
        return read_each(value, OneScript(), folder)

    @override
    def plain(self, value: tuple[Script, ...]) -> Any:
        scripts = [OneScript().plain(script) for script in value]
        return scripts[0] if len(scripts) == 1 else scripts
