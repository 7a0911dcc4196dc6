"""The existing servers of a campaign: examined, refused or confirmed by the user, locked until its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final

import psycopg

from app.analysis.cannot_show import BURST_CREDIT, burst_sentence
from app.domain.campaign.configuration import Campaign, PlannedRun, ServerTarget
from app.domain.campaign.phases import most_clients
from app.domain.errors import refuse
from app.domain.text import tr
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.execution.resume.changed import Before, server_changes
from app.postgres.existing.address import ServerAddress, named_server, open_address
from app.postgres.existing.look import (
    LOOK_S,
    ServerLook,
    ServerNeeds,
    check_server,
    look_at_server,
    look_rows,
    not_known,
)
from app.postgres.existing.own_database import OWN_DATABASE, ServerLock, drop_own
from app.probes.base.probe import RemoteMachine, ServerSources, SshDestination
from app.probes.remote.machine import FactReading
from app.recording.events import CampaignListener
from app.runfile.metadata.environment import EnvironmentFacts, machine_rows, read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, ServerMetadata


@dataclass(frozen=True, slots=True)
class OpenServer:
    """A server that the user agreed to load.

    Attributes:
        address: for connections.
        look: its answers.
        machine: of the server; None if that is not asked.
        facts: of the machine.
        lock: excludes other campaigns; None if the server was only examined.
    """

    address: ServerAddress
    look: ServerLook
    machine: RemoteMachine | None = None
    facts: EnvironmentFacts | None = None
    lock: ServerLock | None = field(default=None, compare=False, repr=False)

    @property
    def is_asked(self) -> bool:
        """Whether its machine answers."""
        return self.facts is not None and not self.facts.reached.reason

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """Description for users, as (label, value)."""
        of_machine = () if self.facts is None else machine_rows(self.facts)
        return (*look_rows(self.look, self.address), *of_machine)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences about unknown facts."""
        return not_known(self.look, is_asked=self.is_asked)


Confirm = Callable[[Sequence[OpenServer]], None]
"""Returns if the user agrees to load these servers; raises a `RefusedError` otherwise."""

Servers = Mapping[str, OpenServer]
"""By the campaign's connection string."""


@dataclass(frozen=True, slots=True)
class Contact:
    """Destination of a campaign's connection, before anything is sent there.

    Attributes:
        connection: as stated in the campaign, without a secret.
        name: of the server, see `named_server`; empty if the campaign does not name a host.
        ssh: destination of ssh to its machine; empty if that is not asked.
    """

    connection: str
    name: str
    ssh: str = ""


AskContact = Callable[[Sequence[Contact]], None]
"""Returns if the user agrees to connect to these servers; raises a `RefusedError` otherwise."""


@dataclass(frozen=True, slots=True)
class LoadConsent:
    """How the user is asked, and how long other sessions are watched before.

    Attributes:
        confirm: asks whether the servers may be loaded.
        look_s: seconds.
        contact: asks before the first connection: libpq offers the server any password it finds, and another
            author's campaign file may name any server.
    """

    confirm: Confirm = refuse
    look_s: float = LOOK_S
    contact: AskContact = refuse


_NO_SERVERS: Final[Servers] = {}


def open_servers(
    stack: ExitStack,
    resolved: ResolvedCampaign,
    runs: Iterable[PlannedRun],
    consent: LoadConsent,
    listener: CampaignListener,
    before: Sequence[Before] = (),
) -> Servers:
    """Connect to the servers of the runs that are still to be done, and get the user's agreement.

    Args:
        stack: releases the servers when it is closed.
        resolved: the campaign on this machine.
        runs: those to be done.
        consent: how the user is asked.
        listener: called with the servers examined, and remains of an earlier campaign.
        before: environments of done runs: the campaign continues on the servers that they measured.

    Raises:
        TargetError: one cannot be reached, or is too old.
        RefusedError: one may not be measured, is another one than before, or the user did not agree; nothing
            was done there.
    """
    names = dict.fromkeys(run.configuration.name for run in runs)
    wanted: dict[str, list[ResolvedConfiguration]] = {}
    for each in (resolved.configurations[name] for name in names):
        target = each.configuration.target
        if isinstance(target, ServerTarget):
            wanted.setdefault(target.connection, []).append(each)
    if not wanted:
        return _NO_SERVERS
    consent.contact([Contact(each, named_server(each), _ssh_of(found)) for each, found in wanted.items()])
    opened: dict[str, OpenServer] = {}
    locks: dict[tuple[str, str], ServerLock] = {}  # e.g. with and without TLS it is the same server
    connections: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}
    for connection_string, configurations in wanted.items():
        address, connection = open_address(connection_string)
        stack.callback(connection.close)
        sentence = tr("Checking {name} and watching other sessions there for {seconds:.0f} s.")
        listener.reported("note", sentence.format(name=address.name, seconds=consent.look_s))
        look = look_at_server(connection, address, OWN_DATABASE, look_s=consent.look_s, sleep=time.sleep)
        check_server(look, _needs(address, configurations))
        lock = locks.get(look.identity)
        if lock is None:
            lock = locks[look.identity] = ServerLock(address, connection)
            stack.callback(lock.close)
            lock.take()
        server = replace(_with_machine(address, look, _ssh_of(configurations)), lock=lock)
        for change in _changes(server, configurations, before):
            listener.reported("changed", change)
        opened[connection_string] = server
        connections[connection_string] = connection
    consent.confirm(tuple(opened.values()))
    for connection_string, connection in connections.items():
        address = opened[connection_string].address
        if drop_own(connection, address, ends_sessions=False):
            sentence = tr("The database {database} that an earlier campaign left on {name} was dropped.")
            listener.reported("note", sentence.format(database=OWN_DATABASE, name=address.name))
    return opened


def _changes(
    server: OpenServer, configurations: Sequence[ResolvedConfiguration], before: Sequence[Before]
) -> tuple[str, ...]:
    names = {each.configuration.name for each in configurations}
    changes = [server_changes(each, server.look, server.facts) for each in before if each.name in names]
    return tuple(dict.fromkeys(sentence for sentences in changes for sentence in sentences))


def _ssh_of(configurations: Sequence[ResolvedConfiguration]) -> str:
    """Return the ssh destination of a server's machine: the first one stated."""
    targets = [each.configuration.target for each in configurations]
    return next((each.ssh for each in targets if isinstance(each, ServerTarget) and each.ssh), "")


def _with_machine(address: ServerAddress, look: ServerLook, ssh: str) -> OpenServer:
    """Return a server with the facts of its machine, or why there are none; that alone refuses nothing."""
    if not ssh:
        return OpenServer(address, look)
    machine = RemoteMachine(SshDestination(ssh), look.data_folder or None)
    reading = FactReading(ServerSources(elsewhere=machine))
    reading.read()
    return OpenServer(address, look, machine, read_environment_facts(reading.facts))


def look_there(connection_string: str, ssh: str = "") -> OpenServer:
    """Return a server's description and the activity on it; takes ten seconds, refuses and creates nothing.

    Args:
        connection_string: of the server.
        ssh: destination of ssh to its machine; empty if that is not asked.

    Raises:
        TargetError: it cannot be reached, or is too old.
    """
    address, connection = open_address(connection_string)
    with connection:
        look = look_at_server(connection, address, OWN_DATABASE)
    return _with_machine(address, look, ssh)


def servers_of(campaign: Campaign) -> Mapping[str, str]:
    """Return the servers of a campaign: ssh destinations by connection string."""
    found: dict[str, str] = {}
    for target in (each.target for each in campaign.configurations):
        if isinstance(target, ServerTarget):
            found[target.connection] = found.get(target.connection) or target.ssh
    return found


def _needs(address: ServerAddress, configurations: Sequence[ResolvedConfiguration]) -> ServerNeeds:
    rooms = [
        each.configuration.target.room_bytes
        for each in configurations
        if isinstance(each.configuration.target, ServerTarget)
    ]
    return ServerNeeds(
        name=address.name,
        clients=max(most_clients(each.configuration.workload) for each in configurations),
        need_bytes=max(each.need_bytes for each in configurations),
        room_bytes=min((room for room in rooms if room is not None), default=None),
        pgbench_major=min(each.installation.major for each in configurations),
    )


def server_of(servers: Servers, resolved: ResolvedConfiguration) -> OpenServer | None:
    """Return the server of a configuration; None for a target of this machine."""
    target = resolved.configuration.target
    return servers[target.connection] if isinstance(target, ServerTarget) else None


def marks_of_server(server: OpenServer) -> list[tuple[str, str]]:
    """Return the (kind, reason) labels of a run on an existing server that follow from its answers."""
    service = server.look.managed_service
    what = tr("the volume of {name}").format(name=service)
    return [(BURST_CREDIT, burst_sentence(what))] if service else []


def with_server(
    run_metadata: RunMetadata, server: OpenServer, resolved: ResolvedConfiguration
) -> RunMetadata:
    """Return a run file's metadata with those of an existing server."""
    look, target = server.look, resolved.configuration.target
    metadata = ServerMetadata(
        host_name=server.address.name,
        user_name=server.address.user,
        version=look.version,
        cluster_name=look.cluster_name,
        system_identifier=look.system_identifier,
        tls=look.tls,
        has_monitor=look.role.has_monitor,
        may_checkpoint=look.role.may_checkpoint,
        sessions=look.others.sessions,
        others_tps=round(look.others.tps, 2),
        round_trip_ms=round(look.round_trip.median_ms, 3),
        round_trip_least_ms=round(look.round_trip.least_ms, 3),
        round_trip_most_ms=round(look.round_trip.most_ms, 3),
        managed_service=look.managed_service,
        room_bytes=target.room_bytes if isinstance(target, ServerTarget) else None,
    )
    return replace(
        run_metadata,
        target=replace(run_metadata.target, server=metadata),
        installation=replace(run_metadata.installation, version=look.version),
    )
