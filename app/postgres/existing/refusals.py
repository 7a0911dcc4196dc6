"""Why a server of others is not measured, from what it told; pure. The first reason is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.errors import RefusedError
from app.domain.text import tr, trn
from app.domain.units import format_size
from app.postgres.existing.look import ServerLook

MOST_TPS_OF_OTHERS: Final = 10.0
"""Monitoring makes some a second; who works there makes more."""
_CONNECTIONS_OF_OURS: Final = 5
"""Beside pgbench's clients: to look, to watch, the sampler's two, vacuum."""
_TOLD: Final = 5


@dataclass(frozen=True, slots=True)
class ServerNeeds:
    """What a campaign needs of a server.

    Attributes:
        name: of the server, see `ServerAddress.name`.
        clients: of the phase with the most.
        need_bytes: what its database takes at most.
        room_bytes: what it may take, as the campaign says; None where nobody says.
        pgbench_major: of the oldest pgbench that is used.
    """

    name: str
    clients: int
    need_bytes: int
    room_bytes: int | None
    pgbench_major: int


def check_server(look: ServerLook, needs: ServerNeeds) -> None:
    """Do nothing where a server may be measured.

    Raises:
        RefusedError: it may not; the first reason, and what would help.
    """
    for message, hint in _reasons(look, needs):
        end = tr("{reason} Nothing was done there.")
        raise RefusedError(end.format(reason=message), hint=hint)


def _reasons(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    if needs.pgbench_major < look.major:
        message = tr("The server is PostgreSQL {version}; pgbench of {major} is older than it.")
        hint = tr(
            "Install the programs of PostgreSQL {major} here (the server is not needed), or newer ones."
        )
        yield message.format(version=look.version, major=needs.pgbench_major), hint.format(major=look.major)
    if look.in_recovery:
        yield (
            tr("{name} is a standby, or still recovers: nothing can be written there.").format(
                name=needs.name
            ),
            tr("Name the primary."),
        )
    yield from _of_role(look)
    yield from _of_room(look, needs)
    yield from _of_others(look, needs)


def _of_role(look: ServerLook) -> Iterator[tuple[str, str]]:
    role = look.role
    grant = tr(
        "Make a role for pgFooting alone: CREATE ROLE pgfooting LOGIN CREATEDB; and, to see more and to "
        "write a checkpoint, GRANT pg_monitor, pg_checkpoint TO pgfooting; (pg_checkpoint is of 15)."
    )
    if role.is_superuser:
        yield (
            tr("The role {role} is a superuser: it may do more than make a database.").format(role=role.name),
            grant,
        )
    if not role.may_create:
        yield tr("The role {role} may not create a database (CREATEDB).").format(role=role.name), grant
    if role.dangerous:
        message = tr("The role {role} is a member of {roles}, with which SQL leaves the database.")
        yield message.format(role=role.name, roles=", ".join(role.dangerous)), grant
    if role.owned:
        message = tr("The role {role} owns more than pgFooting's database: {names}.")
        yield message.format(role=role.name, names=_names(role.owned)), grant


def _of_room(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    if needs.room_bytes is not None and needs.need_bytes > needs.room_bytes:
        message = tr("The database needs about {need} there; the campaign allows it {room}.")
        hint = tr("Choose a smaller data set, or more room (target.server.room).")
        told = message.format(need=format_size(needs.need_bytes), room=format_size(needs.room_bytes))
        yield told, hint
    left = look.max_connections - look.reserved_connections - look.others.sessions
    wanted = needs.clients + _CONNECTIONS_OF_OURS
    if left < wanted:
        message = tr("{clients} clients and pgFooting need {wanted} connections; the server has {left} left.")
        yield (
            message.format(clients=needs.clients, wanted=wanted, left=max(0, left)),
            tr("Choose fewer clients, or raise max_connections of the server."),
        )


def _of_others(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    others = look.others
    if others.tps > MOST_TPS_OF_OTHERS or others.active:
        message = trn(
            "Others work on {name}: {tps:.0f} transactions a second in the last {seconds:.0f} s, {active} "
            "session at work. A measurement would hinder them, and they it.",
            "Others work on {name}: {tps:.0f} transactions a second in the last {seconds:.0f} s, {active} "
            "sessions at work. A measurement would hinder them, and they it.",
            others.active,
        )
        told = message.format(name=needs.name, tps=others.tps, seconds=others.seconds, active=others.active)
        yield told, tr("Measure when nobody works there, or on a twin of it.")


def _names(names: tuple[str, ...]) -> str:
    more = tr(" and {count} more").format(count=len(names) - _TOLD) if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more
