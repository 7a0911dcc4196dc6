"""What a wait event means for a run; names from the manual's tables of wait events, 13 to 18."""

from __future__ import annotations

import pytest

from app.domain.metrics import METRICS, SESSION_GROUPS
from app.probes.base.probe import ProbeContext, ServerSources
from app.probes.sources.postgres_statistics import ActivityRow, WaitEventsProbe, group_of, samples_of
from tests.unit.probes.fakes import values


@pytest.mark.parametrize(
    ("state", "kind", "event", "group"),
    [
        ("active", "", "", "running"),
        ("", "", "", "running"),  # a session that is being made
        ("idle", "Client", "ClientRead", "for_client"),
        ("idle", "", "", "for_client"),
        ("idle in transaction", "Client", "ClientRead", "for_client"),
        ("idle in transaction (aborted)", "", "", "for_client"),
        ("active", "Client", "ClientWrite", "for_client"),
        ("active", "IO", "WALSync", "for_wal"),
        ("active", "IO", "WalSync", "for_wal"),  # from 17 on
        ("active", "IO", "WALWrite", "for_wal"),
        ("active", "IO", "WalInitSync", "for_wal"),
        ("active", "LWLock", "WALWrite", "for_wal"),
        ("active", "LWLock", "WALBufMapping", "for_wal"),
        ("active", "LWLock", "WALInsert", "for_internals"),
        ("active", "IO", "DataFileRead", "for_data"),
        ("active", "IO", "DataFileExtend", "for_data"),
        ("active", "IO", "SLRURead", "for_data"),
        ("active", "IO", "AioIoCompletion", "for_data"),
        ("active", "LWLock", "BufferIO", "for_data"),  # 13
        ("active", "IPC", "BufferIO", "for_data"),  # 14 to 16
        ("active", "IPC", "BufferIo", "for_data"),  # from 17 on
        ("active", "Lock", "transactionid", "for_locks"),
        ("active", "Lock", "tuple", "for_locks"),
        ("active", "BufferPin", "BufferPin", "for_locks"),
        ("active", "LWLock", "BufferContent", "for_internals"),
        ("active", "LWLock", "ProcArray", "for_internals"),
        ("active", "IPC", "ProcArrayGroupUpdate", "for_internals"),
        ("active", "Timeout", "SpinDelay", "for_internals"),
        ("active", "Timeout", "PgSleep", "for_others"),
        ("active", "IPC", "SyncRep", "for_others"),
        ("active", "Extension", "Extension", "for_others"),
        ("active", "Something", "NewInTwenty", "for_others"),
    ],
)
def test_wait_event_groups(state: str, kind: str, event: str, group: str) -> None:
    assert group_of(state, kind, event) == group


def test_sessions_counted_by_state_and_event() -> None:
    rows: list[ActivityRow] = [
        ("active", None, None, 3),
        ("idle", "Client", "ClientRead", 2),
        ("idle in transaction", "Client", "ClientRead", 1),
        ("active", "IO", "WALSync", 1),
        ("active", "LWLock", "WALWrite", 4),
        ("active", "Lock", "tuple", 5),
        (None, None, None, 1),
    ]
    found = values(samples_of(rows))
    assert found["sessions.clients"] == 17 == sum(found[f"sessions.{group}"] for group in SESSION_GROUPS)
    assert {group: found[f"sessions.{group}"] for group in SESSION_GROUPS if found[f"sessions.{group}"]} == {
        "running": 4,
        "for_client": 3,
        "for_wal": 5,
        "for_locks": 5,
    }
    assert {key: value for key, value in found.items() if key.startswith("sessions.at_event")} == {
        "sessions.at_event IO:WALSync": 1,
        "sessions.at_event LWLock:WALWrite": 4,
        "sessions.at_event Lock:tuple": 5,
    }
    assert {sample.metric for sample in samples_of(rows)} <= METRICS.keys()


def test_no_sessions_gives_empty_groups() -> None:
    assert values(samples_of([])) == {f"sessions.{name}": 0 for name in ("clients", *SESSION_GROUPS)}


def test_without_a_server_nothing_is_read() -> None:
    probe = WaitEventsProbe()
    probe.open(ProbeContext(ServerSources()))
    assert probe.read() == []
    probe.close()
