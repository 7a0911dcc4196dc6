"""Explain a failed benchmark by the messages of pgbench or the server, with the user's own file names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.campaign.configuration import Script
from app.domain.text import tr

_COMPLAINT: Final = re.compile(r"^pgbench: (?:error|fatal|warning): (?P<text>.*\S)\s*$")
_ABORTED: Final = re.compile(r"^pgbench: (?:error|fatal): client \d+ (?:script \d+ )?aborted\b", re.MULTILINE)
"""pgbench 13 to 18, commandFailed() and related functions: the other clients continue, but the run is
lost.
"""
_CLIENT: Final = re.compile(r"\bclient \d+\b")
_SCRIPT: Final = re.compile(r"\bscript (?P<number>\d+)\b")
_USELESS: Final = ("Run was aborted",)
_CRASH: Final = re.compile(r"\bLOG:\s+(?P<text>[\w ]*process \(PID \d+\) (?:was terminated|exited) .*\S)\s*$")
_PANIC: Final = re.compile(r"\bPANIC:\s+(?P<text>.*\S)\s*$")
_MOST_COMPLAINTS: Final = 2


def reports_aborted(text: str) -> bool:
    """Return whether pgbench says that a client gave up, after which its figures are incomplete."""
    return _ABORTED.search(text) is not None


def failure_reason(stderr: str, scripts: Sequence[Script], paths: Mapping[str, str]) -> str:
    """Return why pgbench failed, from its error output; empty if it printed nothing.

    The first messages tell the cause, the last ones only that there was one; the same message of several
    clients appears once.

    Args:
        stderr: its whole error output.
        scripts: of the workload, in pgbench's order.
        paths: the user's file names by the names passed to pgbench.
    """
    found: dict[str, str] = {}
    lines = stderr.splitlines()
    for number, line in enumerate(lines):
        match = _COMPLAINT.match(line)
        if match is None or match["text"].startswith(_USELESS):
            continue
        text = match["text"]
        context = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if context and not context.startswith(("pgbench:", "progress:", "^")):
            text = f"{text} ({context})"
        found.setdefault(_CLIENT.sub("client", text), text)
    reason = "; ".join(list(found.values())[:_MOST_COMPLAINTS])
    if not reason:
        reason = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return _in_known_names(reason, scripts, paths)


def _in_known_names(text: str, scripts: Sequence[Script], paths: Mapping[str, str]) -> str:
    for given, known in paths.items():
        text = text.replace(given, known)

    def named(match: re.Match[str]) -> str:
        number = int(match["number"])
        if number >= len(scripts):
            return match[0]
        return tr("script {number} ({name})").format(number=number, name=scripts[number].label)

    return _SCRIPT.sub(named, text)


def crash_reason(server_log: str) -> str:
    """Return the server's own line about a crashed server process; empty if none crashed.

    A process that cannot continue (an I/O error of the WAL, say) logs the reason as PANIC and aborts itself.
    """
    lines = server_log.splitlines()
    for number in reversed(range(len(lines))):
        match = _CRASH.search(lines[number])
        if match:
            panics = [found["text"] for line in lines[:number] if (found := _PANIC.search(line))]
            return f"{panics[-1]} ({match['text']})" if panics else match["text"]
    return ""
