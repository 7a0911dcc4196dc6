"""Logging, configuration and folders of the helper.

The system's log gets sessions, refusals, commands and recovery, with the caller and the disks.

SECURITY: control characters in anything from outside are escaped: no caller can forge lines.

/etc/pgfooting/helper.conf has the administrator's permissions; nothing in it comes from a caller. It is TOML
with one key so far, ``accept_loop_devices = true``: test devices, which mark every run.

The folders are all root's own, none named by a caller.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.storage.inspect.snapshot import Policy

_LOG: Final = logging.getLogger("pgfooting.audit")
_LONGEST: Final = 4_000
_MOST_LINES: Final = 100
"""Limit of a traceback's lines; the last ones are kept."""
_SYSLOG: Final = Path("/dev/log")


def escape(record: logging.LogRecord) -> bool:
    """Make a record one line of printable characters; a filter of `logging`.

    The lines of a traceback, which may also contain texts from outside, follow it with a mark: none looks
    like a record.
    """
    record.msg = _printable(record.getMessage()[:_LONGEST])
    record.args = ()
    if record.exc_info:
        lines = logging.Formatter().formatException(record.exc_info).split("\n")[-_MOST_LINES:]
        record.exc_text = "\n".join(f"  | {_printable(line[:_LONGEST])}" for line in lines)
    return True


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def start_logging() -> None:
    """Log to the system's log if there is one, and to standard error, which systemd's journal keeps."""
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if _SYSLOG.is_socket() and not _under_systemd():
        handlers.append(
            logging.handlers.SysLogHandler(str(_SYSLOG), logging.handlers.SysLogHandler.LOG_DAEMON)
        )
    for handler in handlers:
        handler.setFormatter(logging.Formatter("pgfooting-helper: %(message)s"))
        handler.addFilter(escape)
    logging.basicConfig(level=logging.INFO, handlers=handlers)


@dataclass(slots=True)
class RateLimitedLog:
    """Limit lines of one kind, which would fill the log and make it drop others (journald.conf(5)).

    Attributes:
        most: lines of a kind in each period.
        period_s: its length.
    """

    most: int = 20
    period_s: float = 60.0
    _kinds: dict[tuple[int | None, str], _Period] = field(default_factory=dict)

    def lets(self, kind: tuple[int | None, str], now_s: float) -> bool:
        """Count a line of a user and name; return whether to write it."""
        period = self._kinds.setdefault(kind, _Period(now_s))
        period.count += 1
        return period.count <= self.most

    def over(self, now_s: float) -> list[tuple[tuple[int | None, str], int]]:
        """Return the number of suppressed lines, by kind, in periods that are over now."""
        ended = [kind for kind, period in self._kinds.items() if period.since_s + self.period_s <= now_s]
        counts = [(kind, self._kinds.pop(kind).count - self.most) for kind in ended]
        return [(kind, count) for kind, count in counts if count > 0]


@dataclass(slots=True)
class _Period:
    since_s: float
    count: int = 0


def _under_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def note(text: str, *values: object) -> None:
    """Write one line."""
    _LOG.info(text, *values)


RUN: Final = Path("/run/pgfooting")
"""Contains a folder for each session, with the mount points."""
STATE: Final = Path("/var/lib/pgfooting")
JOURNAL: Final = STATE / "journal"
CONFIGURATION: Final = Path("/etc/pgfooting/helper.conf")
INTERFACE: Final = Path(__file__).parents[1] / "interface.xml"
PRIVATE: Final = "private"
"""Name of the mount point for socket, logs and scripts, next to those of the storage."""
PRIVATE_BYTES: Final = 2 * 1024**3
"""Limit of the caller's data in memory there: the runner thins transaction logs while they grow."""


def session_folder(session: str) -> str:
    """Return the folder of a session, given its identifier without hyphens."""
    return str(RUN / session[:16])


def make_private_folder(path: Path, mode: int) -> None:
    """Make a folder of root's, or make sure that an existing one is root's.

    Raises:
        OSError: it cannot be made, or another user owns it or can write to it.
    """
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    found = path.lstat()
    # SECURITY: its content decides what is unmounted and wiped. The helper is root.
    if path.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(1, "not root's alone", str(path))
    path.chmod(mode)


_log = logging.getLogger(__name__)


def read_policy(path: Path = CONFIGURATION) -> Policy:
    """Return the administrator's permissions; none without a file, or with one that is not trustworthy."""
    try:
        found = path.lstat()
    except OSError:
        return Policy()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        _log.error("%s is ignored: it is not root's alone", path)
        return Policy()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        _log.error("%s is ignored: %r", path, str(err))
        return Policy()
    unknown = sorted(set(values) - {"accept_loop_devices"})
    if unknown or not isinstance(values.get("accept_loop_devices", False), bool):
        _log.error("%s is ignored: the only key is accept_loop_devices, true or false", path)
        return Policy()
    return Policy(accept_loop_devices=values.get("accept_loop_devices", False))
