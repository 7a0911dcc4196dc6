"""What a run file says of a server that already ran when its campaign began, and was not started here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIND: Final = "existing-server"
"""Of the mark that says what is not known of such a run's machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetadata:
    """The server, as it told itself before the first run; nothing of its machine.

    Attributes:
        host_name: host, or folder of the socket, and port: what a person typed to agree.
        user_name: the role.
        version: such as ``15.14``.
        cluster_name: the setting; empty for none.
        system_identifier: of the cluster; empty where the role may not ask.
        tls: protocol and cipher; empty for none.
        has_monitor: the role sees what other sessions do.
        may_checkpoint: the role may write a checkpoint.
        sessions: of others before the campaign.
        others_tps: transactions a second of others, likewise.
        round_trip_ms: median of the time that an empty statement takes, there and back.
        round_trip_least_ms: the shortest.
        round_trip_most_ms: the longest.
        managed_service: that runs it, see `app.postgres.existing.managed`; empty for none that is known.
        room_bytes: what pgFooting's database could take; None where nobody said.
    """

    host_name: str = ""
    user_name: str = ""
    version: str = ""
    cluster_name: str = ""
    system_identifier: str = ""
    tls: str = ""
    has_monitor: bool | None = None
    may_checkpoint: bool | None = None
    sessions: int | None = None
    others_tps: float | None = None
    round_trip_ms: float | None = None
    round_trip_least_ms: float | None = None
    round_trip_most_ms: float | None = None
    managed_service: str = ""
    room_bytes: int | None = None
