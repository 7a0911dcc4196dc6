"""What a server or initdb says when it refuses: its own words, taken from standard error or the log.

The output is in English, because every child runs with LC_ALL=C and lc_messages is C. Message texts are those
of guc.c, guc-file.l, initdb.c and the postmaster of 13 to 18; severities of elog.c. Before the configuration
has been read, lines have the default prefix and not ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.domain.errors import SettingError
from app.domain.text import tr

_LINE: Final = re.compile(
    r"^(?P<prefix>.*?)\b(?P<severity>PANIC|FATAL|ERROR|LOG|error|fatal|HINT|hint|DETAIL|detail):\s+(?P<text>.*\S)\s*$"
)
_PLAIN: Final = re.compile(
    r"^(?:(?:postgres|initdb): (?!removing |\w+ directory .* not removed)(?=(?P<text>.*\S))"
    r"|(?=(?P<child>child process (?:exited|was terminated) .*\S))).*$"
)
"""What a program writes before it can log (write_stderr), and initdb of the server that it starts."""
_PROCESS: Final = re.compile(r"\[(\d+)(?:-\d+)?\]")
_RANK: Final = {"PANIC": 4, "FATAL": 3, "fatal": 3, "ERROR": 2, "error": 2, "LOG": 1}
_SEVERE: Final = 2
_UNKNOWN: Final = re.compile(r'unrecognized configuration parameter "(?P<name>[^"]+)"')
_VALUE: Final = re.compile(
    r"(?:invalid value for|outside the valid range for|cannot be changed|requires a .* value).*?"
    r'parameter "(?P<name>[^"]+)"|parameter "(?P<other>[^"]+)" (?:cannot be|requires a )'
)
_IN_FILE: Final = re.compile(r'(?: in file "[^"]*" line \d+)(?P<rest>.*)$')


@dataclass(frozen=True, slots=True)
class StartupFailure:
    """Why a server did not start.

    Attributes:
        text: its own sentence without the prefix; empty where it said nothing.
        hint: the server's detail and hint that follow; may be empty.
        setting: the parameter that is to blame; empty where it is not a setting's fault.
        is_unknown: this version does not have the setting.
    """

    text: str
    hint: str = ""
    setting: str = ""
    is_unknown: bool = False


def _advice(lines: list[str], after: int) -> str:
    """Return the details and hints that follow line number `after`, up to the next message."""
    found: list[str] = []
    for line in lines[after + 1 :]:
        match = _LINE.match(line)
        if match is None:
            continue
        if match["severity"].upper() not in {"HINT", "DETAIL"}:
            break
        found.append(match["text"])
    return " ".join(found)


class _Complaint(NamedTuple):
    """A line that complains, and its number."""

    number: int
    text: str


def parse_refusal(output: str) -> StartupFailure:
    """Return what the output of a program that refused says, most telling line first.

    A line about a setting counts most (configuration errors are logged before a FATAL line that only says
    that the file has errors). Then counts the first of the errors with which the process ended that wrote
    the last line of the highest severity: what follows is mostly a consequence, such as a PANIC while it
    cleans up. Then the last line of all.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    best: _Complaint | None = None
    highest = 0
    running: dict[str, _Complaint] = {}
    for number, line in enumerate(lines):
        match = _LINE.match(line) or _PLAIN.match(line)
        told = match.groupdict() if match else {}
        severity = told.get("severity", "ERROR")
        if match is None or severity not in _RANK:
            continue
        text = told["text"] or told["child"]
        process = (_PROCESS.findall(told.get("prefix", "")) or [""])[-1]
        unknown, value = _UNKNOWN.search(text), _VALUE.search(text)
        if unknown or value:
            name = unknown["name"] if unknown else (value["name"] or value["other"] if value else "")
            return StartupFailure(
                _IN_FILE.sub(r"\g<rest>", text), _advice(lines, number), name, bool(unknown)
            )
        rank = _RANK[severity]
        first = running.get(process) if rank >= _SEVERE else None
        cause = first or _Complaint(number, text)
        if rank >= _SEVERE:
            running[process] = cause
        else:
            running.pop(process, None)  # it went on
        if rank >= highest:
            best, highest = cause, rank
    if best is not None:
        return StartupFailure(best.text, _advice(lines, best.number))
    return StartupFailure(lines[-1].strip() if lines else "")


def setting_error(refusal: StartupFailure, version: str, nearest: str = "") -> SettingError | None:
    """Return the error for a refused setting, or None where no setting is to blame.

    Args:
        refusal: what the server said.
        version: of the server.
        nearest: sentence naming a setting that exists, for an unknown one.
    """
    if not refusal.setting:
        return None
    if refusal.is_unknown:
        message = tr("postgresql.settings.{name}: PostgreSQL {version} has no such setting.")
    else:
        message = tr("postgresql.settings.{name}: PostgreSQL {version} says: {text}.")
    return SettingError(
        message.format(name=refusal.setting, version=version, text=refusal.text.rstrip(".")),
        hint=nearest or refusal.hint,
    )
