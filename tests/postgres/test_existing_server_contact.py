"""No server that a campaign file names is connected to before a person was told which it is."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.domain.errors import ServerError
from app.domain.text import MIB
from app.execution.children import PgbenchBounds
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.server_under_test import PgbenchPlace
from app.postgres.installations.installation import Installation
from app.process.starter import Account, spawn
from tests.false_server import (
    Answer,
    endless_rows,
    endless_short_rows,
    false_server,
    one_huge_row,
    welcome,
)
from tests.fix_campaign import PATIENCE_S, CampaignBench
from tests.postgres.test_existing_server import campaign

pytestmark = pytest.mark.postgres

SECRET = "of-another-server"  # noqa: S105 - planted


@dataclass(slots=True)
class Listener:
    """Takes connections as somebody would who wants passwords: it asks for them in clear.

    Attributes:
        port: of the loopback interface.
        heard: what was sent.
    """

    listening: socket.socket
    heard: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    def listen(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            with client:
                self.heard.append(client.recv(4096))
                if self.heard[-1][4:8] == struct.pack("!I", 80877103):  # SSLRequest: there is no TLS here
                    client.sendall(b"N")
                    self.heard.append(client.recv(4096))
                client.sendall(b"R" + struct.pack("!II", 8, 3))  # AuthenticationCleartextPassword
                self.heard.append(client.recv(4096))


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener(socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=found.listen, daemon=True)
    thread.start()
    yield found
    found.listening.shutdown(socket.SHUT_RDWR)
    found.listening.close()
    thread.join(10)


@pytest.mark.long
def test_environment_password_only_with_agreement(
    campaign_bench: CampaignBench, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(campaign_bench.environment, "PGPASSWORD", SECRET)
    text = campaign(f"host=127.0.0.1 port={listener.port} user=bench")
    ended = campaign_bench.run(text, status=3)
    assert f"--load 127.0.0.1:{listener.port}" in ended.stderr
    ended = campaign_bench.run(text, "--load", "db.example:5432", status=2)
    assert "nothing with that name" in ended.stderr
    assert listener.heard == []
    ended = campaign_bench.run(text, "--load", f"127.0.0.1:{listener.port}", status=2)
    assert "cannot be reached" in ended.stderr
    assert SECRET.encode() in b"".join(listener.heard), "whoever names a server sends it that, as psql would"


def test_endless_answer_exhausts_pgbench_memory(
    installation: Installation, database_account: Account, open_folder: Path
) -> None:
    errors = open_folder / "stderr"
    errors.touch(mode=0o666)
    errors.chmod(0o666)
    with false_server(welcome, one_huge_row) as server:
        child = spawn(
            (installation.program("pgbench"), "--no-vacuum", "--transactions=1", server.conninfo),
            account=database_account,
            death_signal=signal.SIGKILL,
            stderr=errors,
            memory_bytes=256 * MIB,
        )
        try:
            assert child.wait(PATIENCE_S) != 0
        finally:
            child.kill()
            child.wait()
    assert "memory" in errors.read_text()


def until_ended(child: subprocess.Popen[bytes], bounds: PgbenchBounds) -> None:
    """Look at pgbench as often as can be."""
    while child.poll() is None:
        bounds.check(child.pid)


@pytest.mark.parametrize("answer", [endless_rows, endless_short_rows])
def test_endless_pgbench_answer_detected(
    installation: Installation, database_account: Account, open_folder: Path, answer: Answer
) -> None:
    place = PgbenchPlace(
        PrivateFolder(str(open_folder), FileIdentity(0, 0, 0), database_account), memory_bytes=256 * MIB
    )
    bounds = PgbenchBounds(place, open_folder / "stderr")
    with false_server(welcome, answer) as server:
        child = spawn(
            (installation.program("pgbench"), "--no-vacuum", "--transactions=1", server.conninfo),
            account=database_account,
            death_signal=signal.SIGKILL,
            memory_bytes=place.memory_bytes,
        )
        try:
            with pytest.raises(ServerError, match="The server sent too much data"):
                until_ended(child, bounds)
        finally:
            child.kill()
            child.wait()
