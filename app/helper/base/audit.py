"""What is told to the system's log: sessions, refusals, commands, recovery, with who asked and which disks.

SECURITY: whatever came from outside is written with its control characters escaped: nobody forges lines.
"""

from __future__ import annotations

import logging
import logging.handlers
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger("pgfooting.audit")
_LONGEST: Final = 4_000
_MOST_LINES: Final = 100
"""Of a traceback, the last ones."""
_SYSLOG: Final = Path("/dev/log")


def escape(record: logging.LogRecord) -> bool:
    """Make a record one line of printable characters; a filter of `logging`.

    The lines of a traceback, whose texts may be from outside too, follow it marked: none looks like a record.
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
    """Log to the system's log where there is one, and to standard error, which systemd's journal keeps."""
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
    """Keeps lines of one kind from filling the log, and from making it drop others (journald.conf(5)).

    Attributes:
        most: lines of a kind in each period.
        period_s: its length.
    """

    most: int = 20
    period_s: float = 60.0
    _kinds: dict[tuple[int | None, str], _Period] = field(default_factory=dict)

    def lets(self, kind: tuple[int | None, str], now_s: float) -> bool:
        """Count a line of a user and name; return whether it is to be written."""
        period = self._kinds.setdefault(kind, _Period(now_s))
        period.count += 1
        return period.count <= self.most

    def over(self, now_s: float) -> list[tuple[tuple[int | None, str], int]]:
        """Return how many lines were not written, by kind, in periods that are over now."""
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
