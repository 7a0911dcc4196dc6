"""Every error that a user can meet: a class with a code, a message and a hint.

::

    FootingError                  exit status 1
    ├── UsageError                exit status 2: the command line
    │   ├── CampaignError         a campaign file: names field, found, allowed
    │   └── TargetError           a target that cannot hold the data directory
    ├── RefusedError              exit status 3: safety or authorisation
    ├── CancelledError            exit status 130
    ├── ProgramError              a program that could not be started
    ├── InstallationError         no usable PostgreSQL
    ├── ServerError               initdb or the server failed
    │   └── ServerLostError       a server elsewhere that cannot be reached now
    ├── PgbenchError              pgbench failed or printed something unknown
    ├── TargetLostError           the target vanished or filled up while running
    ├── BusyError                 another runner holds what this one needs
    ├── RunFileError              a run file that cannot be read or written
    │   ├── NotARunFileError
    │   ├── NewerRunFileError
    │   └── CorruptRunFileError
    ├── SettingError              a server setting that the server refuses
    ├── ForeignDataError          foreign results that cannot be read: names file and line
    ├── ReferenceDataError        an invalid file of published figures
    ├── StorageError              creating or removing storage failed
    │   └── ReadBackError         the result differs from the request (app.storage.checks.readback)
    └── InternalError             a bug in this program

A message says what happened and what was not touched; the hint says what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from app.domain.text import tr


class ExitStatus(IntEnum):
    """Exit statuses promised to scripts (`pgfooting --help`)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    WORSE = 10
    """`compare --worse-than`: the new side is worse."""
    INCONCLUSIVE = 11
    """`compare --worse-than`: inconclusive."""
    CANCELLED = 130


class FootingError(Exception):
    """Base of all errors that are shown to the user as a sentence.

    Attributes:
        code: stable identifier, stored in run files and printed by ``--json``.
        message: what happened, one sentence or a few.
        hint: what the user can do; may be empty.
    """

    code: ClassVar[str] = "failed"
    exit_status: ClassVar[ExitStatus] = ExitStatus.FAILED
    _classes: ClassVar[dict[str, type[FootingError]]] = {}

    def __init_subclass__(cls, **options: object) -> None:  # type: ignore[explicit-override]
        """Register a class with its own code, for `restore_error`."""
        super().__init_subclass__(**options)
        if "code" in cls.__dict__:
            FootingError._classes.setdefault(cls.code, cls)

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        self.hint = hint


class UsageError(FootingError):
    """The command line asks for something that does not exist."""

    code = "usage"
    exit_status = ExitStatus.USAGE


class CampaignError(UsageError):
    """A campaign file that cannot be used.

    Attributes:
        field: dotted path of the key, such as ``workload.clients``; empty for the whole file.
    """

    code = "campaign"

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field


class TargetError(UsageError):
    """A target that cannot hold the data directory; found before anything is written."""

    code = "target"


class RefusedError(FootingError):
    """Refused for safety or for lack of authorisation; nothing was touched."""

    code = "refused"
    exit_status = ExitStatus.REFUSED


class CancelledError(FootingError):
    """The user stopped it."""

    code = "cancelled"
    exit_status = ExitStatus.CANCELLED


class ProgramError(FootingError):
    """A program could not be started as the account that it should run as."""

    code = "program"


class InstallationError(FootingError):
    """No PostgreSQL installation that can be used."""

    code = "installation"


class SettingError(FootingError):
    """A server setting that this PostgreSQL does not know or does not accept."""

    code = "setting"
    exit_status = ExitStatus.USAGE


class ServerError(FootingError):
    """Initdb failed, or the server did not start or died; the message carries its log line."""

    code = "server"


class ServerLostError(ServerError):
    """A foreign server cannot be reached now; a later attempt may succeed."""

    code = "server-lost"


class PgbenchError(FootingError):
    """The program pgbench failed, or printed something that no known version prints."""

    code = "pgbench"


class TargetLostError(FootingError):
    """The target vanished, filled up or became read-only during the run."""

    code = "target-lost"


class BusyError(FootingError):
    """Another runner holds what this one needs."""

    code = "busy"


class RunFileError(FootingError):
    """A run file that cannot be read or written."""

    code = "run-file"


class NotARunFileError(RunFileError):
    """The file is not a pgFooting run file."""

    code = "run-file-foreign"


class NewerRunFileError(RunFileError):
    """The file was written by a newer pgFooting whose format this one does not know."""

    code = "run-file-newer"


class CorruptRunFileError(RunFileError):
    """The file is damaged or cut off."""

    code = "run-file-corrupt"


class ForeignDataError(FootingError):
    """Foreign results that cannot be read, or not safely; names the file, and the line if any."""

    code = "foreign-data"


class ReferenceDataError(FootingError):
    """An invalid file of published figures."""

    code = "reference-data"


class StorageError(FootingError):
    """Creating or removing storage failed; the message names the step and the program's output."""

    code = "storage"


class InternalError(FootingError):
    """A bug in this program: shown without a traceback, which is logged at level DEBUG."""

    code = "internal"

    @classmethod
    def of(cls, error: BaseException) -> InternalError:
        """Return the error for an unexpected exception."""
        message = tr("pgFooting made a mistake ({kind}: {error}). Data measured so far is kept.")
        hint = tr("Please report it; PGFOOTING_LOG=debug shows where it happened.")
        return cls(message.format(kind=type(error).__name__, error=error), hint=hint)


def restore_error(code: str, message: str, hint: str = "") -> FootingError:
    """Return the error that another process sent by its code, of the class that registered the code.

    A class with other constructor arguments than message and hint is replaced by its base class; an unknown
    code of a newer program becomes a `StorageError`.
    """
    if code == FootingError.code:
        return FootingError(message, hint=hint)
    known = FootingError._classes.get(code, StorageError)  # noqa: SLF001 - of this module
    kind = next(each for each in known.__mro__ if each.__init__ is FootingError.__init__)  # type: ignore[misc]
    return kind(message, hint=hint)  # type: ignore[no-any-return]


def refuse(_asked: object) -> None:
    """Refuse: the default for callers that cannot ask.

    Raises:
        RefusedError: always.
    """
    raise RefusedError(tr("This was not confirmed. Nothing was done."))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence naming the nearest of the `known` words, or an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return tr("Did you mean “{word}”?").format(word=near[0]) if near else ""


# A problem of a user's choice: one form from the declarations to the window.


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    Attributes:
        path: what it is about: a key dotted as in campaign files, such as ``workload.clients``, or below the
            value at hand, such as ``[2].weight``; empty for the whole.
        message: a sentence.
        hint: what would help, or what is allowed; may be empty.
        pending: not an error, only not known yet.
    """

    path: str
    message: str
    hint: str = ""
    pending: bool = False

    @property
    def sentence(self) -> str:
        """Message and hint in one line."""
        return f"{self.message} {self.hint}".strip()
