"""No server that a campaign file names is connected to before a person was told which it is."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.fix_campaign import CampaignBench
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


def test_the_password_of_the_environment_goes_only_where_a_person_agreed_that_it_goes(
    campaign_bench: CampaignBench, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(campaign_bench.environment, "PGPASSWORD", SECRET)
    text = campaign(f"host=127.0.0.1 port={listener.port} user=bench")
    ended = campaign_bench.run(text)
    assert ended.returncode == 3
    assert f"--load 127.0.0.1:{listener.port}" in ended.stderr
    ended = campaign_bench.run(text, "--load", "db.example:5432")
    assert ended.returncode == 2
    assert "no server of the campaign" in ended.stderr
    assert listener.heard == []
    ended = campaign_bench.run(text, "--load", f"127.0.0.1:{listener.port}")
    assert ended.returncode == 2
    assert "cannot be reached" in ended.stderr
    assert SECRET.encode() in b"".join(listener.heard), "whoever names a server sends it that, as psql would"
