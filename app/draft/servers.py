"""Confirming that servers of others are loaded: a person types the name of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.analysis.labels import one_line
from app.domain.problem import Problem
from app.domain.text import tr
from app.execution.servers import OpenServer
from app.postgres.existing.look import made_sentence

LOAD_FIELD: Final = "load"


@dataclass(frozen=True, slots=True)
class ServerConfirmation:
    """A server that will be loaded.

    Attributes:
        connection: as the campaign says it.
        name: what has to be typed.
        typed: what was typed so far.
        rows: what was found there, as (what, value).
        sentences: what is done there, and what is not known of it.
    """

    connection: str
    name: str
    typed: str
    rows: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]

    @property
    def matches(self) -> bool:
        """Whether its name was typed."""
        return self.typed.strip() == self.name


def server_confirmations(
    typed: Mapping[str, str], found: Iterable[tuple[str, OpenServer]]
) -> tuple[ServerConfirmation, ...]:
    """Return every server of the campaign that was looked at.

    Args:
        typed: what was typed, by connection.
        found: connection and what was found there.
    """
    return tuple(
        ServerConfirmation(
            connection,
            server.address.name,
            typed.get(connection, ""),
            server.rows,
            (made_sentence(server.address.name), *server.sentences),
        )
        for connection, server in found
    )


def contact_words(servers: Mapping[str, str]) -> str:
    """Return where is connected to, a line each; what a campaign file says is foreign.

    Args:
        servers: connection strings, and how ssh names each machine.
    """
    lines = [tr("This campaign connects to:")]
    for connection, ssh in servers.items():
        lines.append(one_line(connection))
        if ssh:
            lines.append(tr("and asks its machine over ssh: {host}").format(host=one_line(ssh)))
    lines.append(
        tr(
            "libpq offers a server the password that it finds: that of PGPASSWORD whichever server it is, "
            "those of ~/.pgpass by host."
        )
    )
    return "\n".join(lines)


def contact_problems(servers: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return why nothing was looked at yet; `servers` as in `contact_words`."""
    if not servers:
        return ()
    return (Problem(LOAD_FIELD, tr("Say that the server may be looked at; nothing was connected to yet.")),)


def load_problems(confirmations: Iterable[ServerConfirmation]) -> tuple[Problem, ...]:
    """Return why nothing may be loaded yet."""
    for each in confirmations:
        if not each.matches:
            message = tr("Type the name of the server, {name}, to agree that it is loaded.")
            return (Problem(LOAD_FIELD, message.format(name=each.name)),)
    return ()


def agreed_names(confirmations: Iterable[ServerConfirmation]) -> tuple[str, ...]:
    """Return the names that were typed: on these servers, and no others, may load begin."""
    return tuple(dict.fromkeys(each.name for each in confirmations if each.matches))
