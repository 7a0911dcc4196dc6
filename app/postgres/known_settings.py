"""Check a campaign's settings with the server's own program before any start, and explain its refusals.

No data directory is needed: ``--describe-config`` lists the parameters of the sample file (help_config.c:
without those marked as internal or for developers), and ``-C`` reads an empty configuration file and then
every ``-c`` of the command line (postmaster.c).

Refusals of a server or of initdb are parsed from standard error or the log. They are in English, because
every child runs with LC_ALL=C and lc_messages is C. Message texts are those of guc.c, guc-file.l, initdb.c
and the postmaster of 13 to 18; severities of elog.c. Before the configuration has been read, lines have the
default prefix and not ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.domain.errors import SettingError, did_you_mean
from app.domain.text import tr
from app.postgres.installations.installation import Installation
from app.postgres.settings import Setting
from app.process.starter import TIMED_OUT, Account, Recorder, run_command

_LINE: Final = re.compile(
    r"^(?P<prefix>.*?)\b(?P<severity>PANIC|FATAL|ERROR|LOG|error|fatal|HINT|hint|DETAIL|detail):\s+(?P<text>.*\S)\s*$"
)
_PLAIN: Final = re.compile(
    r"^(?:(?:postgres|initdb): (?!removing |\w+ directory .* not removed)(?=(?P<text>.*\S))"
    r"|(?=(?P<child>child process (?:exited|was terminated) .*\S))).*$"
)
"""Output of a program that cannot log yet (write_stderr), and initdb's about the server that it starts."""
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
        text: its own sentence without the prefix; empty if there was none.
        hint: the server's detail and hint that follow; may be empty.
        setting: the parameter that caused it; empty if it was no setting.
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
    """An error line and its number."""

    number: int
    text: str


def parse_refusal(output: str) -> StartupFailure:
    """Return the most important line in the output of a program that refused to start.

    A line about a setting comes first (configuration errors are logged before a FATAL line that only says
    that the file has errors). Then, of the process that wrote the last line of the highest severity, the
    first of the errors with which it ended: later ones are mostly consequences, such as a PANIC during
    cleanup. Then the last line of all.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    best: _Complaint | None = None
    highest = 0
    running: dict[str, _Complaint] = {}
    for number, line in enumerate(lines):
        match = _LINE.match(line) or _PLAIN.match(line)
        groups = match.groupdict() if match else {}
        severity = groups.get("severity", "ERROR")
        if match is None or severity not in _RANK:
            continue
        text = groups["text"] or groups["child"]
        process = (_PROCESS.findall(groups.get("prefix", "")) or [""])[-1]
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
            running.pop(process, None)  # it continued
        if rank >= highest:
            best, highest = cause, rank
    if best is not None:
        return StartupFailure(best.text, _advice(lines, best.number))
    return StartupFailure(lines[-1].strip() if lines else "")


def setting_error(refusal: StartupFailure, version: str, nearest: str = "") -> SettingError | None:
    """Return the error for a refused setting, or None if no setting caused it.

    Args:
        refusal: of the server.
        version: of the server.
        nearest: sentence naming an existing setting, for an unknown one.
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


CHECK_TIMEOUT_S: Final = 120.0


def known_settings(installation: Installation, account: Account, record: Recorder) -> tuple[str, ...]:
    """Return the names of the parameters that ``postgres --describe-config`` lists, one a line.

    Raises:
        SettingError: the program failed.
        ProgramError: the program could not be started.
    """
    argv = (installation.program("postgres"), "--describe-config")
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    names = tuple(line.partition("\t")[0] for line in outcome.stdout.splitlines() if "\t" in line)
    if not outcome.succeeded or not names:
        raise SettingError(
            tr("The settings of PostgreSQL {version} could not be listed: {outcome}").format(
                version=installation.version, outcome=outcome.describe()
            )
        )
    return names


def check_settings(
    settings: Sequence[Setting], installation: Installation, account: Account, record: Recorder
) -> None:
    """Make the server parse all settings; nothing is started or written.

    A value can still fail at the start, when the server requests memory or compares settings with each other.

    Raises:
        SettingError: this version does not know a setting, or rejects its value; names it. Or a timeout,
            which says nothing about the settings.
        ProgramError: the server's program cannot be started.
    """
    argv = [installation.program("postgres"), "-C", "server_version", "-D", installation.bin_directory]
    argv += ["-c", "config_file=/dev/null"]
    for setting in settings:
        argv += ["-c", f"{setting.name}={setting.value}"]
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    if outcome.succeeded:
        return
    if outcome.exit_code == TIMED_OUT:
        message = tr("PostgreSQL {version} did not say in time whether it takes these settings: {outcome}")
        raise SettingError(
            message.format(version=installation.version, outcome=outcome.describe()),
            hint=tr("Something keeps this machine busy; look again once it has ended."),
        )
    refusal = parse_refusal(outcome.stderr)
    nearest = ""
    if refusal.is_unknown:
        nearest = did_you_mean(refusal.setting, known_settings(installation, account, record))
    raise setting_error(refusal, installation.version, nearest) or SettingError(
        tr("PostgreSQL {version} does not take these settings: {text}").format(
            version=installation.version, text=refusal.text or outcome.describe()
        ),
        hint=refusal.hint,
    )
