"""What pgbench's sessions waited for at one moment of each second, from pg_stat_activity: versions 13 to 19.

The mean of such samples over a run is the mean number of sessions in a state ("average active sessions"), so
that a share of it is a share of the clients' time. A moment a second says nothing of that second alone; 8
clients over a minute are 480 samples, whose share of one half is right within five points.

Events are grouped by what would have to be faster. Names: PostgreSQL's manual, chapter "Monitoring Database
Activity", tables of wait events; from 17 on they are spelled in another way (``WalSync`` for ``WALSync``), so
they are compared without case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from typing_extensions import override

from app.domain.metrics import SESSION_GROUPS, Sample
from app.domain.text import tr
from app.probes.base.server_probe import APPLICATION, ServerConnection, ServerProbe

_WAITING: Final = (
    "SELECT state, wait_event_type, wait_event, count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    f" AND application_name NOT LIKE '{APPLICATION}%'"
)
_GROUPED: Final = " GROUP BY 1, 2, 3"
STATEMENT: Final = _WAITING + _GROUPED
"""Only columns of pg_stat_get_activity: the planner then leaves out the view's joins."""

OF_DATABASE: Final = f"{_WAITING} AND datname = %s{_GROUPED}"
"""The same of one database, where others have sessions as well."""

WAL_LOCKS: Final = frozenset({"walwrite", "walbufmapping"})
"""LWLocks under which sessions wait for WAL that another one writes or flushes (XLogFlush, xlog.c)."""

BUFFER_IO: Final = "bufferio"
"""Waiting for a read of the same page by another session; an LWLock in 13, of type IPC since."""

INTERNALS: Final = frozenset({"procarraygroupupdate", "xactgroupupdate", "spindelay"})
"""Waiting for the leader of a group that has such a lock, or for a spinlock, of other types."""

LOCKS: Final = frozenset({"Lock", "BufferPin", "Buffer"})

_WITHOUT_EVENTS: Final = frozenset({"running", "for_client"})

ActivityRow = tuple[str | None, str | None, str | None, int]
"""state, wait_event_type, wait_event, sessions."""


def group_of(state: str, kind: str, event: str) -> str:
    """Return the group of `SESSION_GROUPS` that a session in this state counts for.

    Args:
        state: of pg_stat_activity: active, idle, idle in transaction ...; empty where there is none yet.
        kind: wait_event_type; empty for none.
        event: wait_event; empty for none.
    """
    name = event.lower()
    if kind == "Client" or state.startswith("idle"):
        return "for_client"  # a session that just became idle has no wait event yet
    if not kind:
        return "running"
    if (kind == "IO" and name.startswith("wal")) or (kind == "LWLock" and name in WAL_LOCKS):
        return "for_wal"
    if kind == "IO" or name == BUFFER_IO:
        return "for_data"
    if kind == "LWLock" or name in INTERNALS:
        return "for_internals"
    return "for_locks" if kind in LOCKS else "for_others"


def samples_of(rows: Iterable[ActivityRow]) -> list[Sample]:
    """Return the sessions by what they wait for, every group also where it is empty, and by event."""
    groups = dict.fromkeys(SESSION_GROUPS, 0)
    events: Counter[str] = Counter()
    for state, kind, event, sessions in rows:
        group = group_of(state or "", kind or "", event or "")
        groups[group] += sessions
        if group not in _WITHOUT_EVENTS:
            events[f"{kind}:{event}"] += sessions
    return [
        Sample("sessions.clients", sum(groups.values())),
        *(Sample(f"sessions.{group}", count) for group, count in groups.items()),
        *(Sample("sessions.at_event", count, event) for event, count in sorted(events.items())),
    ]


class WaitEventsProbe(ServerProbe):
    """What the sessions of pgbench wait for."""

    id = "wait-events"
    label = tr("Wait events")
    purpose = "wait events"

    @override
    def _ask(self, connection: ServerConnection) -> list[Sample]:
        database = self._context.server.database if self._context is not None else None
        if database is None:
            rows: list[Any] = connection.execute(STATEMENT, prepare=True).fetchall()
        else:
            rows = connection.execute(_literal(OF_DATABASE), (database,), prepare=True).fetchall()
        return samples_of(rows)


def _literal(statement: str) -> bytes:
    """Return a statement with parameters, in which the percent sign of LIKE is doubled for psycopg."""
    return statement.replace(f"{APPLICATION}%", f"{APPLICATION}%%").encode()
