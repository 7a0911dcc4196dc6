"""A run on a server whose machine is asked over ssh: series, facts, gaps, and what is told of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import pytest
from typing_extensions import override

from app.analysis.properties import properties_of
from app.domain.disturbances import DisturbanceKind
from app.domain.run import Phase, RunState
from app.execution import servers
from app.hosts.existing_server import OF_ITS_MACHINE
from app.probes.base.probe import RemoteMachine, ServerSources, SshDestination
from app.recording.events import CampaignListener, ProgressReport
from app.runfile.disturbance import read_disturbances
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.reader import RunFile
from tests.fix_existing import Elsewhere
from tests.fix_sshd import SshServer
from tests.postgres.test_existing_server import open_there
from tests.postgres.test_server_of_others import WORKLOAD, Bench, ServerOfOthers, bench

__all__ = ["bench"]

pytestmark = pytest.mark.long


@dataclass(slots=True)
class ServerElsewhere(ServerOfOthers):
    """One whose machine is asked over ssh."""

    machine: RemoteMachine | None = None

    @property
    @override
    def sources(self) -> ServerSources:
        return ServerSources(conninfo=self.conninfo(), reason=OF_ITS_MACHINE, elsewhere=self.machine)


def asked_over_ssh(bench: Bench, destination: SshDestination) -> Bench:
    machine = RemoteMachine(destination, "/var/lib/postgresql/17/main")
    server = ServerElsewhere(bench.server.port, bench.server.folder, machine=machine)
    return replace(bench, server=server)


def test_server_machine_series_and_facts(
    bench: Bench,
    ssh_server: SshServer,
) -> None:
    outcome = asked_over_ssh(bench, ssh_server.destination).run(
        CampaignListener(), replace(WORKLOAD, duration_s=5)
    )
    assert outcome.state is RunState.DONE, outcome.error
    with RunFile(bench.file) as run:
        metrics = {each.metric for each in run.series()}
        assert {"cpu.user", "cpu.system", "memory.available"} <= metrics
        assert not any(metric.startswith(("array.", "zfs.", "btrfs.", "kernel.")) for metric in metrics)
        before, after = (read_environment_facts(run.facts(moment)) for moment in ("before", "after"))
        assert before.reached.over == after.reached.over == "ssh"
        assert before.kernel
        assert before.filesystem
        # Whatever else was found: a hypervisor may take CPU time from this machine while it is measured.
        unknown = dict(read_disturbances(run).unknown)
        assert "postgres" in unknown[DisturbanceKind.OTHERS_CPU], "whose CPU time it was is not known"
        values = {each.name: each.value for each in properties_of(run.metadata, before)}
    assert values["read via"].startswith("ssh, ")


def test_refused_ssh_still_measured(
    bench: Bench,
    ssh_server: SshServer,
) -> None:
    ssh_server.configure_client(IdentityFile=str(ssh_server.folder / "stranger"))
    outcome = asked_over_ssh(bench, ssh_server.destination).run(CampaignListener())
    assert outcome.state is RunState.DONE, outcome.error
    with RunFile(bench.file) as run:
        assert not any(each.metric.startswith(("cpu.", "memory.")) for each in run.series())
        (reason,) = {reason for _, source, reason in run.unavailable() if source == "remote-machine"}
        assert "accepts none of the keys that ssh can use without a prompt" in reason
        facts = read_environment_facts(run.facts("before"))
        assert "in vain" in facts.reached.words
        assert facts.online_cpus is None


def test_cut_ssh_fails_nothing(
    bench: Bench,
    ssh_server: SshServer,
) -> None:
    class CuttingIt(CampaignListener):
        @override
        def second(self, second: ProgressReport) -> None:
            if second.phase is Phase.MEASURE and ssh_server.process is not None:
                sessions = ssh_server.sessions()
                ssh_server.stop()
                ssh_server.cut(sessions)

    outcome = asked_over_ssh(bench, ssh_server.destination).run(CuttingIt(), replace(WORKLOAD, duration_s=5))
    assert outcome.state is RunState.DONE, outcome.error
    with RunFile(bench.file) as run:
        reasons = [reason for _, source, reason in run.unavailable() if source == "remote-machine"]
        assert reasons
        assert run.samples("pgbench.tps")[1].size


def test_machine_shown_before_load(
    elsewhere_with_monitor: str,
    elsewhere: Elsewhere,
    ssh_server: SshServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        servers, "SshDestination", partial(SshDestination, configuration=ssh_server.destination.configuration)
    )
    with ExitStack() as stack:
        opened = open_there(
            stack,
            elsewhere_with_monitor,
            elsewhere.account,
            CampaignListener(),
            ssh=ssh_server.destination.host,
        )
        (server,) = opened.values()
    assert server.is_asked
    assert server.machine is not None
    assert server.machine.folder == str(elsewhere.data)
    rows = dict(server.rows)
    assert rows["Read via"] == "ssh, Linux"
    assert rows["Filesystem"] != "not known"
    assert "over ssh" in server.sentences[0]


@pytest.fixture
def elsewhere_with_monitor(elsewhere: Elsewhere) -> str:
    """Return how a role connects that may see where the data lies."""
    return elsewhere.role("bench", "CREATEDB IN ROLE pg_monitor")
