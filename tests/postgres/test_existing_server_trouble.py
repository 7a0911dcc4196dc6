"""A server that already runs and goes away, comes back, is reached over TLS or over a slow line."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.errors import ServerError, ServerLostError, TargetError
from app.domain.run import RunState
from app.hosts import existing_server
from app.hosts.local import LocalHost
from app.hosts.recovery.resource_journal import ResourceJournal
from app.postgres.existing.address import open_address
from app.postgres.existing.look import measure_round_trip
from app.postgres.server import Server
from app.recording.events import CampaignListener
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.delaying_proxy import delaying_proxy
from tests.fix_campaign import CampaignBench, kill
from tests.fix_existing import Elsewhere
from tests.fix_postgres import TEMPLATE_SECRET, give
from tests.postgres.test_existing_server import campaign, open_there

pytestmark = pytest.mark.long

LONG = 'duration = "120s"'


def long_campaign(connection: str) -> str:
    return campaign(connection).replace('duration = "3s"', LONG)


def the_run(bench: CampaignBench) -> Path:
    (path,) = bench.run_files()
    return path


def test_restart_fails_run_and_drops_database(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    connection = elsewhere.role("bench")
    running = campaign_bench.start(long_campaign(connection), "--load", elsewhere.name)
    running.until_second(2)
    elsewhere.stop()
    elsewhere.start()
    assert running.end() == 1
    assert not elsewhere.has_ours()
    with RunFile(the_run(campaign_bench)) as run:
        assert run.state is RunState.FAILED
        error = or_none(run.metadata.error)
        assert error is not None
        assert error.message.startswith(
            ("The server was restarted during the run.", "The connection to the server was lost: ")
        )
        assert run.samples("pgbench.tps")[1].size, "what was measured is kept"
        assert "database-left" not in {kind for kind, _ in run.marks()}


@pytest.mark.longest
@pytest.mark.parametrize("phase", ["load", "settle", "warm-up", "measure", "teardown"])
def test_cut_connection_in_any_phase(elsewhere: Elsewhere, campaign_bench: CampaignBench, phase: str) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port) as proxy:
        name = f"127.0.0.1:{proxy.port}"
        text = campaign(f"host=127.0.0.1 port={proxy.port} user=bench")
        running = campaign_bench.start(text, "--load", name)
        running.until_phase(phase)
        proxy.cut()
        status = running.end()
        with RunFile(the_run(campaign_bench)) as run:
            state, marks, error = run.state, dict(run.marks()), or_none(run.metadata.error)
        is_left = elsewhere.has_ours()
        assert ("The next campaign there drops it." in marks.get("database-left", "")) is is_left
        if phase == "teardown":  # everything was measured
            assert (status, state) == (0, RunState.DONE), error
        else:
            assert (status, state) == (1, RunState.FAILED)
            assert error is not None
            assert error.code == "server-lost"
        proxy.mend()
        folder = the_run(campaign_bench).parent
        ended = campaign_bench.command("run", "--resume", str(folder), "--load", name)
    if phase == "teardown":
        assert ended.returncode == 2, "a campaign that is done touches nothing more"
        assert "is complete" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    states = []
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            states.append(run.state)
    assert states.count(RunState.DONE) == 1
    assert not elsewhere.has_ours()


@pytest.mark.longest
@pytest.mark.parametrize("phase", ["load", "measure"])
def test_runs_continue_after_connection_returns(
    elsewhere: Elsewhere, campaign_bench: CampaignBench, phase: str
) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port) as proxy:
        text = campaign(f"host=127.0.0.1 port={proxy.port} user=bench").replace("repeats = 1", "repeats = 2")
        running = campaign_bench.start(text, "--load", f"127.0.0.1:{proxy.port}")
        running.until_phase(phase)
        proxy.cut()
        found = running.until(lambda event: "Waiting for the server, at most" in str(event.get("message")))
        assert found["kind"] == "note"
        proxy.mend()
        assert running.end() == 1
    states = []
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            states.append(run.state)
    assert states == [RunState.FAILED, RunState.DONE]
    assert not elsewhere.has_ours()


@pytest.mark.longest
def test_vain_wait_happens_once(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(existing_server, "_BACK_S", 2.0)
    lines: list[str] = []
    resources = ResourceJournal.create(str(tmp_path), "x", elsewhere.account, state_folder=tmp_path)
    with ExitStack() as stack, resources:
        (ours,) = open_there(stack, elsewhere.role("bench"), elsewhere.account, CampaignListener()).values()
        host = LocalHost(elsewhere.account, resources, lambda _outcome: None)
        server = existing_server.ExistingServer(host, ours.address, ours.look, report=lines.append)
        elsewhere.stop()
        with pytest.raises(ServerError) as caught:
            server.prepare(lambda: None)
    assert not isinstance(caught.value, ServerLostError), "the campaign leaves the other runs out"
    (sentence,) = lines
    assert "Waiting for the server, at most" in sentence


@pytest.mark.longest
def test_stop_while_waiting_for_server(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port) as proxy:
        text = campaign(f"host=127.0.0.1 port={proxy.port} user=bench").replace("repeats = 1", "repeats = 2")
        running = campaign_bench.start(text, "--load", f"127.0.0.1:{proxy.port}")
        running.until_second(1)
        proxy.cut()
        running.until(lambda event: "Waiting for the server, at most" in str(event.get("message")))
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 130
    with RunFile(campaign_bench.run_files()[-1]) as run:
        assert run.state is RunState.STOPPED


@pytest.fixture
def certificate(elsewhere: Elsewhere, tmp_path: Path) -> Path:
    """A server that takes TLS alone, and the certificate that it shows: made by itself, for this address."""
    key = elsewhere.data / "server.key"
    shown = elsewhere.data / "server.crt"
    made = [
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere"),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(shown)),
    ]
    subprocess.run(made, check=True, capture_output=True)
    key.chmod(0o600)
    for path in (key, shown):
        os.chown(path, elsewhere.account.uid, elsewhere.account.gid)
    elsewhere.role("bench")
    elsewhere.stop(signal.SIGINT)
    elsewhere.settings = {"ssl": "on"}
    elsewhere.hba = elsewhere.hba.replace("host all all", "hostssl all all")
    elsewhere.start()
    return shown


@pytest.mark.longest
def test_tls_checked_as_libpq(certificate: Path, elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    root = campaign_bench.folder / "root.crt"
    root.write_bytes(certificate.read_bytes())
    root.chmod(0o644)
    line = f"host=127.0.0.1 port={elsewhere.port} user=bench sslmode=verify-full sslrootcert={root}"
    ended = campaign_bench.run(campaign(line), "--load", elsewhere.name, status=0)
    assert "TLS: TLSv1" in ended.stderr
    with RunFile(the_run(campaign_bench)) as run:
        server = or_none(run.metadata.target.server)
        assert server is not None
        assert server.tls.startswith("TLSv1")
        assert any("sslmode=verify-full" in command.argv[-1] for command in run.commands())


def test_foreign_certificate_refused_before_sending(
    certificate: Path, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    assert certificate.exists()
    other = tmp_path / "other.crt"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other")
    subprocess.run(
        [*made, "-keyout", str(tmp_path / "other.key"), "-out", str(other)], check=True, capture_output=True
    )
    line = f"host=127.0.0.1 port={elsewhere.port} user=bench sslmode=verify-full sslrootcert={other}"
    with ExitStack() as stack, pytest.raises(TargetError, match="certificate") as caught:
        open_there(stack, line, elsewhere.account, CampaignListener())
    assert "sslrootcert" in caught.value.hint


def test_a_slow_line_is_measured_as_slow(elsewhere: Elsewhere) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port, round_trip_s=0.05) as proxy:
        _, connection = open_address(f"host=127.0.0.1 port={proxy.port} user=bench")
        with connection:
            trip = measure_round_trip(connection)
    assert trip.least_ms >= 50
    assert trip.least_ms <= trip.median_ms <= trip.most_ms


@pytest.fixture
def another_data(open_folder: Path, elsewhere: Elsewhere) -> Path:
    """What initdb makes anew: another server, with another system identifier."""
    made = give(open_folder / "another", elsewhere.account)
    server = Server(
        elsewhere.installation,
        elsewhere.account,
        str(made),
        "/unused",
        "/unused",
        (),
        lambda _: None,
        secret=TEMPLATE_SECRET,
    )
    server.initdb(checksums=True)
    return made


@pytest.mark.longest
def test_resume_needs_agreement_and_same_server(
    elsewhere: Elsewhere, another_data: Path, campaign_bench: CampaignBench
) -> None:
    text = campaign(elsewhere.role("bench")).replace("repeats = 1", "repeats = 2")
    running = campaign_bench.start(text, "--load", elsewhere.name)
    running.until(lambda event: event["event"] == "finished")
    kill(running.process)
    folder = campaign_bench.run_files()[0].parent
    resume = ("run", "--resume", str(folder))
    ended = campaign_bench.command(*resume)
    assert (ended.returncode, f"--load {elsewhere.name}" in ended.stderr) == (3, True), ended.stderr
    elsewhere.stop()
    first, elsewhere.data = elsewhere.data, another_data
    elsewhere.start()
    elsewhere.role("bench")
    before = elsewhere.databases()
    ended = campaign_bench.command(*resume, "--load", elsewhere.name, status=3)
    assert "(system_identifier) has changed since the campaign started" in " ".join(ended.stderr.split())
    assert elsewhere.databases() == before
    elsewhere.stop()
    elsewhere.data = first
    elsewhere.start()
    campaign_bench.command(*resume, "--load", elsewhere.name, status=0)
    assert not elsewhere.has_ours()
    states = []
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            states.append(run.state)
    assert states.count(RunState.DONE) == 2
