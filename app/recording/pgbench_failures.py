"""What pgbench or the server said when a benchmark failed, in the names that the user knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.campaign.configuration import Script
from app.domain.text import tr

_COMPLAINT: Final = re.compile(r"^pgbench: (?:error|fatal|warning): (?P<text>.*\S)\s*$")
_ABORTED: Final = re.compile(r"^pgbench: (?:error|fatal): client \d+ (?:script \d+ )?aborted\b", re.MULTILINE)
"""pgbench 13 to 18, commandFailed() and its neighbours: the other clients go on, but the run is lost."""
_CLIENT: Final = re.compile(r"\bclient \d+\b")
_SCRIPT: Final = re.compile(r"\bscript (?P<number>\d+)\b")
_USELESS: Final = ("Run was aborted",)
_CRASH: Final = re.compile(r"\bLOG:\s+(?P<text>[\w ]*process \(PID \d+\) (?:was terminated|exited) .*\S)\s*$")
_PANIC: Final = re.compile(r"\bPANIC:\s+(?P<text>.*\S)\s*$")
_MOST_COMPLAINTS: Final = 2


def says_aborted(text: str) -> bool:
    """Return whether pgbench says that a client gave up, after which its figures are incomplete."""
    return _ABORTED.search(text) is not None


def failure_reason(stderr: str, scripts: Sequence[Script], paths: Mapping[str, str]) -> str:
    """Return why pgbench failed, from what it printed; empty where it said nothing.

    The first complaints tell the cause and the last ones only that there was one; clients that complain
    of the same are told once.

    Args:
        stderr: everything that it printed there.
        scripts: of the workload, in pgbench's order.
        paths: from the names that pgbench was given for the user's files to the user's own.
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
    """Return the server's own line about a process of it that crashed; empty where none did.

    A process that cannot go on (an I/O error of the WAL, say) aborts itself, and says before why: PANIC.
    """
    lines = server_log.splitlines()
    for number in reversed(range(len(lines))):
        match = _CRASH.search(lines[number])
        if match:
            panics = [found["text"] for line in lines[:number] if (found := _PANIC.search(line))]
            return f"{panics[-1]} ({match['text']})" if panics else match["text"]
    return ""
