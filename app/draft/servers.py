"""Confirm that external servers are put under load: the user types the name of each. Pure."""

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
    """A server that will be put under load.

    Attributes:
        connection: as in the campaign.
        name: to be typed.
        typed: text so far.
        rows: findings, as (property, value).
        sentences: planned actions there, and unknown facts.
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
    """Return every inspected server of the campaign.

    Args:
        typed: texts by connection.
        found: connection and findings.
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
    """Return the connections to be made, a line each; texts of campaign files are escaped.

    Args:
        servers: connection strings, and the ssh name of each machine.
    """
    lines = [tr("This campaign connects to:")]
    for connection, ssh in servers.items():
        lines.append(one_line(connection))
        if ssh:
            lines.append(tr("and queries its machine over ssh: {host}").format(host=one_line(ssh)))
    lines.append(
        tr(
            "libpq sends a server the password that it finds: PGPASSWORD to any server, entries of "
            "~/.pgpass only to their host."
        )
    )
    return "\n".join(lines)


def contact_problems(servers: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return why nothing was inspected yet; `servers` as in `contact_words`."""
    if not servers:
        return ()
    return (Problem(LOAD_FIELD, tr("Allow pgFooting to look at the server; it has not connected yet.")),)


def load_problems(confirmations: Iterable[ServerConfirmation]) -> tuple[Problem, ...]:
    """Return why no server may be put under load yet."""
    for each in confirmations:
        if not each.matches:
            message = tr("Type the server's name, {name}, to confirm putting it under load.")
            return (Problem(LOAD_FIELD, message.format(name=each.name)),)
    return ()


def agreed_names(confirmations: Iterable[ServerConfirmation]) -> tuple[str, ...]:
    """Return the typed names: load may start on these servers and no others."""
    return tuple(dict.fromkeys(each.name for each in confirmations if each.matches))
