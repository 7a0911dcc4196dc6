"""The arguments of ssh, valid destinations, and explanations of its errors.

Everything else is the user's own configuration: keys, jump hosts, shared connections (ControlMaster), ports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.text import tr

CONNECT_TIMEOUT_S: Final = 10
SILENCE_S: Final = 15
"""After this time without an answer ssh considers a connection broken."""

_PROBE_S: Final = 5
_HOST: Final = re.compile(r"[A-Za-z0-9_%\[][A-Za-z0-9_.:@%\[\]/+-]{0,254}")
_LONGEST_WORDS: Final = 300
_STEERING: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

_OPTIONS: Final = {
    "BatchMode": "yes",
    "ConnectTimeout": str(CONNECT_TIMEOUT_S),
    "ServerAliveInterval": str(_PROBE_S),
    "ServerAliveCountMax": str(SILENCE_S // _PROBE_S),
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
}
"""Options of ssh_config(5): no questions, no forwarding, broken connections are detected."""


def strip_controls(text: str) -> str:
    """Replace characters that control terminals or change the direction of text."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def is_destination(host: str) -> bool:
    """Return whether ssh may be given this name: a host, an alias, user@host or an ssh:// address."""
    return _HOST.fullmatch(host) is not None


@dataclass(frozen=True, slots=True)
class SshDestination:
    """A machine by a name that the user's ssh knows.

    Attributes:
        host: passes `is_destination`.
        configuration: file in place of the user's own configuration; empty for that one.
    """

    host: str
    configuration: str = ""

    def __post_init__(self) -> None:
        if not is_destination(self.host):
            raise ValueError(tr("“{host}” is no name of a host.").format(host=strip_controls(self.host)))

    def argv(self) -> tuple[str, ...]:
        """Return ssh's arguments for a remote shell that reads its program from standard input."""
        own = ("-F", self.configuration) if self.configuration else ()
        options = [word for name, value in _OPTIONS.items() for word in ("-o", f"{name}={value}")]
        return ("ssh", *own, *options, "-T", "--", self.host, "sh")


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """The machine of a server that is not on this one.

    Attributes:
        destination: for ssh.
        folder: data directory there; None if the server does not report it.
    """

    destination: SshDestination
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class _Cause:
    """A message of ssh and our sentence for it."""

    words: str
    sentence: str


# The first match wins: ssh's message about a changed key contains the one about an unknown key.
_CAUSES: Final = (
    _Cause(
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        tr(
            "The host key of {host} has changed: it is another machine, it was installed anew, or somebody "
            "is in between. Find out which; ssh tells the line of known_hosts when you connect yourself."
        ),
    ),
    _Cause(
        "Host key verification failed",
        tr(
            "The host key of {host} is not known, and ssh would have to ask. Connect once yourself: "
            "ssh {host!q}"
        ),
    ),
    _Cause(
        "Could not resolve hostname",
        tr("{host} is not known: neither your ssh configuration nor name resolution has it."),
    ),
    _Cause(
        "Permission denied",
        tr(
            "{host} refused: no key that ssh has without asking is accepted there. A key with a passphrase "
            "has to be in ssh-agent; passwords are never asked for."
        ),
    ),
    _Cause(
        "Too many authentication failures",
        tr("{host} refused after too many keys: name one in IdentityFile."),
    ),
    _Cause("Connection refused", tr("{host} refuses connections on the port of ssh.")),
    _Cause("timed out", tr("{host} did not answer.")),
    _Cause("No route to host", tr("There is no route to {host}.")),
    _Cause("Network is unreachable", tr("The network of {host} cannot be reached.")),
    _Cause("not responding", tr("The connection to {host} was cut: nothing was heard any more.")),
    _Cause("Connection reset", tr("The connection to {host} was cut.")),
    _Cause("Broken pipe", tr("The connection to {host} was cut.")),
    _Cause("Connection closed", tr("{host} closed the connection.")),
    _Cause("closed by remote host", tr("{host} closed the connection.")),
    _Cause("not found", tr("There is no sh for this account on {host}.")),
    _Cause("Bad configuration option", tr("ssh does not understand its configuration.")),
    _Cause("Bad owner or permissions", tr("ssh refuses its configuration because others may write it.")),
)


def explain(host: str, errors: str, status: int | None) -> str:
    """Return a sentence for the failure of a connection; for unknown errors it quotes ssh's last message.

    Args:
        host: as the user calls it.
        errors: standard error of ssh and of the remote side.
        status: exit status of ssh; None while it runs.
    """
    for cause in _CAUSES:
        if cause.words in errors:
            return cause.sentence.format(host=host)
    lines = [line for line in strip_controls(errors.replace("\n", "\t")).split("\t") if line.strip()]
    if lines:
        told = tr("The connection to {host} ended; ssh said: {words}")
        return told.format(host=host, words=lines[-1].strip()[:_LONGEST_WORDS])
    if status:
        return tr("The connection to {host} ended; ssh said nothing (exit status {status}).").format(
            host=host, status=status
        )
    return tr("The connection to {host} ended.").format(host=host)
