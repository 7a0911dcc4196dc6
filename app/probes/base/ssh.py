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
            raise ValueError(tr("“{host}” is not a valid host name.").format(host=strip_controls(self.host)))

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


_CAUSES: Final = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": tr(
        "The host key of {host} has changed: another machine, a new installation, or someone in between. "
        "Find out which; a manual ssh names the known_hosts line."
    ),
    "Host key verification failed": tr(
        "The host key of {host} is not known. Connect once yourself: ssh {host!q}"
    ),
    "Permission denied": tr(
        "{host} refused: it accepts none of the keys that ssh can use without a prompt. Add a key with a "
        "passphrase to ssh-agent; pgFooting never asks for passwords."
    ),
}
"""Sentences for messages of ssh that do not say what to do.

The first match wins: ssh's message about a changed key contains the one about an unknown key.
"""


def explain(host: str, errors: str, status: int | None) -> str:
    """Return a sentence for the failure of a connection; for most errors it quotes ssh's last message.

    Args:
        host: as the user calls it.
        errors: standard error of ssh and of the remote side.
        status: exit status of ssh; None while it runs.
    """
    for words, sentence in _CAUSES.items():
        if words in errors:
            return sentence.format(host=host)
    lines = [line for line in strip_controls(errors.replace("\n", "\t")).split("\t") if line.strip()]
    if lines:
        message = tr("The connection to {host} ended; ssh said: {words}")
        return message.format(host=host, words=lines[-1].strip()[:_LONGEST_WORDS])
    if status:
        return tr("The connection to {host} ended; ssh said nothing (exit status {status}).").format(
            host=host, status=status
        )
    return tr("The connection to {host} ended.").format(host=host)
