"""Errors for users when a run fails."""

from __future__ import annotations

import logging
import re
from typing import Final

from app.domain.errors import FootingError, InternalError, PgbenchError, ServerError, TargetLostError
from app.domain.text import tr

KEPT: Final = tr("What was measured until then is kept.")

_RIGHTS: Final = re.compile(
    r"permission denied|must be (?:a )?superuser|must be owner|Only roles with", re.IGNORECASE
)
"""The server's messages for a statement that the role has no rights to (13 to 18)."""

_FULL: Final = re.compile(
    r"\b(?:ERROR|FATAL|PANIC):\s+(?P<text>.*(?:No space left on device|wrote only \d+ of \d+ bytes).*)"
)
"""ENOSPC, and a block that fits only in part, as the server reports it to clients (md.c, fd.c, xlog.c of 13
to 18).

Our own servers speak English; for an existing one, which may not, see `ServerUnderTest.no_room`.
"""

_log = logging.getLogger(__name__)


def footing_error(error: Exception) -> FootingError:
    """Return an error that can be shown to users."""
    if isinstance(error, FootingError):
        return error
    _log.debug("run failed", exc_info=error)
    return InternalError.of(error)


def failure_of_pgbench(code: int, reason: str, *, was_killed: bool) -> PgbenchError:
    """Return the error for a pgbench that failed.

    Args:
        code: its exit status, negative for a signal.
        reason: its message, empty if none.
        was_killed: the signal was not sent by pgFooting.
    """
    if code < 0 and was_killed:
        message = tr("pgbench was ended by signal {number}, not by pgFooting.")
        return PgbenchError(message.format(number=-code), hint=KEPT)
    if not reason:
        reason = tr("it ended with status {code} and said nothing").format(code=code)
    return PgbenchError(tr("pgbench failed: {reason}").format(reason=reason), hint=_hint(reason))


def full_disk(stderr: str, output: str = "") -> TargetLostError | None:
    """Return the error for a server without room, if it reported that to pgbench; else None.

    Args:
        stderr: pgbench's output. During a load the reason precedes its last line, which has none.
        output: the server's own answer why it accepts no more; empty if it was not asked, or accepts more.
    """
    found = _FULL.search(stderr)
    reason = found["text"].strip() if found is not None else output
    if not reason:
        return None
    message = tr("The disk of the server is full: {reason}.")
    hint = tr("Make room there, or choose a smaller data set or a shorter run. {kept}")
    return TargetLostError(message.format(reason=reason), hint=hint.format(kept=KEPT))


def _hint(reason: str) -> str:
    if _RIGHTS.search(reason) is None:
        return KEPT
    sentence = tr(
        "pgbench's role is no superuser and owns only what it makes; a script gets a superuser where it says "
        "openly what needs one, and you agree. {kept}"
    )
    return sentence.format(kept=KEPT)


def crash_of_server(crash: str) -> ServerError:
    """Return the error for a server with a crashed process; `crash` is the server's own line about it."""
    return ServerError(tr("A process of the server crashed: {crash}.").format(crash=crash), hint=KEPT)
