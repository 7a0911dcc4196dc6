"""What a person is told of a server of others before load starts there, in sentences. Pure."""

from __future__ import annotations

from typing import Final

from app.domain.text import tr, trn
from app.domain.units import format_size
from app.postgres.existing.address import ServerAddress
from app.postgres.existing.look import RoundTrip, ServerLook
from app.postgres.existing.own_database import OWN_DATABASE

_TOLD: Final = 8


def round_trip_words(trip: RoundTrip) -> str:
    """Return how long the way to the server and back takes."""
    return tr("{median:.2f} ms ({least:.2f} to {most:.2f})").format(
        median=trip.median_ms, least=trip.least_ms, most=trip.most_ms
    )


def look_rows(look: ServerLook, address: ServerAddress) -> tuple[tuple[str, str], ...]:
    """Return what was found, as (what, value); names are of the far side."""
    others = look.others
    tls = look.tls or tr("none")
    rows = [
        (tr("Server"), address.name),
        (tr("Version"), look.version_text),
        (tr("Cluster"), _cluster(look)),
        *([(tr("Managed service"), look.managed_service)] if look.managed_service else []),
        (tr("TLS"), tr("none, it is a socket of this machine") if address.is_socket else tls),
        (tr("Role"), address.user),
        (tr("Databases"), _databases(look)),
        (
            tr("Others"),
            tr("{sessions}, {tps:.1f} transactions a second in the last {seconds:.0f} s").format(
                sessions=trn("{count} session", "{count} sessions", others.sessions).format(
                    count=others.sessions
                ),
                tps=others.tps,
                seconds=others.seconds,
            ),
        ),
        (tr("Round trip"), round_trip_words(look.round_trip)),
    ]
    return tuple(rows)


def _cluster(look: ServerLook) -> str:
    unknown = tr("(not told)")
    words = tr("{name}, system identifier {identifier}, address {address}")
    return words.format(
        name=look.cluster_name or tr("without a name"),
        identifier=look.system_identifier or unknown,
        address=look.server_address or unknown,
    )


def _databases(look: ServerLook) -> str:
    unknown = tr("size not told")  # not inside a text: catalogues are made from what stands by itself
    told = [
        f"{each.name} ({unknown if each.size_bytes is None else format_size(each.size_bytes)})"
        for each in look.databases[:_TOLD]
    ]
    more = look.database_count - len(told)
    return ", ".join(told) + (tr(" and {count} more").format(count=more) if more > 0 else "")


def not_known(look: ServerLook, *, is_asked: bool = False) -> tuple[str, ...]:
    """Return what cannot be known of such a server, in sentences: nothing of it is made up.

    Args:
        look: what it told.
        is_asked: its machine is asked over ssh.
    """
    told = [
        tr(
            "The server was not started here: its caches and what others do on its machine are not known. "
            "CPU, memory, pressure and disks are of its own machine, over ssh."
        )
        if is_asked
        else tr(
            "The server was not started here: its disks, filesystem, caches, memory and CPUs are not known. "
            "CPU, memory and pressure are of the machine that pgbench ran on."
        ),
    ]
    if look.managed_service:
        words = tr(
            "{name} runs it: its volume may have burst credit, and a short run be faster than what one gets "
            "once that is used up. No SQL tells: look there."
        )
        told.append(words.format(name=look.managed_service))
    elif not is_asked:
        told.append(
            tr(
                "Whether its volume has burst credit, or is a virtual disk of a cloud, no SQL tells: look "
                "there."
            )
        )
    if not look.role.has_monitor:
        told.append(
            tr("Without pg_monitor nothing is seen of what sessions of others do, and of some settings.")
        )
    if not look.role.may_checkpoint:
        told.append(
            tr("No checkpoint was written before measuring: the role may not (pg_checkpoint, from 15 on).")
        )
    return tuple(told)


def made_sentence(name: str) -> str:
    """Return what is done there."""
    words = tr(
        "On {name} one database is made, {database}, loaded, measured and dropped, run by run; nothing else "
        "is touched, no setting of the server is changed, and nothing is restarted."
    )
    return words.format(name=name, database=OWN_DATABASE)
