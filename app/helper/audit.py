"""What is told to the system's log: sessions, refusals, commands, recovery, with who asked and which disks.

SECURITY: whatever came from outside is written with its control characters escaped: nobody forges lines.
"""

from __future__ import annotations

import logging
import logging.handlers
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger("pgfooting.audit")
_LONGEST: Final = 4_000
_SYSLOG: Final = Path("/dev/log")


def escape(record: logging.LogRecord) -> bool:
    """Make a record one line of printable characters; a filter of `logging`."""
    text = record.getMessage()[:_LONGEST]
    record.msg = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    record.args = ()
    return True


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


def _under_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def note(text: str, *values: object) -> None:
    """Write one line."""
    _LOG.info(text, *values)
