"""OpenSSH itself, with a server of the test's own: keys, refusals, a line that is cut."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.probes.base.probe import ProbeContext, ProbeUnavailable, RemoteMachine, ServerSources, SshDestination
from app.probes.remote.connection import LineKind, RemoteConnection
from app.probes.remote.machine import FactReading, RemoteMachineProbe
from app.probes.sampling.sampler import ProbeSlot, SourceState
from app.runfile.metadata.environment import read_environment_facts
from tests.fix_sshd import PATIENCE_S, SshServer

pytestmark = pytest.mark.slow


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.05)


def refusal(destination: SshDestination) -> str:
    asked = RemoteConnection(destination)
    with pytest.raises(ProbeUnavailable) as caught:
        asked.open()
    return caught.value.reason


def test_facts_over_ssh(ssh_server: SshServer) -> None:
    reading = FactReading(ServerSources(elsewhere=RemoteMachine(ssh_server.destination, "/")))
    reading.read()
    tree = reading.facts
    assert read_environment_facts(tree).kernel == os.uname().release
    reached = tree["reached"]
    assert isinstance(reached, dict)
    assert reached["over"] == "ssh"
    wait_until(lambda: not ssh_server.sessions())


def test_seconds_come_over_ssh(ssh_server: SshServer) -> None:
    slot = ProbeSlot(
        RemoteMachineProbe(),
        ProbeContext(ServerSources(elsewhere=RemoteMachine(ssh_server.destination, "/"))),
    )
    slot.open()
    slot.read()
    found: set[str] = set()

    def arrived() -> bool:
        found.update(sample.metric for sample in slot.read())
        return {"cpu.user", "memory.available"} <= found

    wait_until(arrived)
    slot.close()
    assert slot.take_changes() == [] or slot.reason == ""
    wait_until(lambda: not ssh_server.sessions())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"HostName": "no-such-host.invalid"}, "Could not resolve hostname"),
        (
            {"IdentityFile": "{folder}/stranger"},
            "accepts none of the keys that ssh can use without a prompt",
        ),
        ({"UserKnownHostsFile": "/dev/null"}, "The host key of"),
        ({"Port": "1"}, "Connection refused"),
        # It takes ssh's first line: where it ends before, ssh may say something else.
        ({"ProxyCommand": "sh -c 'read -r line; exit 3'"}, "onnection closed by"),
        ({"NoSuchOption": "yes"}, "bad configuration option"),
    ],
)
def test_ssh_failure_reasons(ssh_server: SshServer, options: dict[str, str], words: str) -> None:
    folder = str(ssh_server.folder)
    ssh_server.configure_client(**{name: text.format(folder=folder) for name, text in options.items()})
    assert words in refusal(ssh_server.destination)


def test_changed_host_key(ssh_server: SshServer) -> None:
    ssh_server.know("other")
    assert "has changed" in refusal(ssh_server.destination)


def test_key_with_passphrase(ssh_server: SshServer) -> None:
    key = ssh_server.folder / "key"
    subprocess.run(("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(key)), check=True)
    assert "in ssh-agent" in refusal(ssh_server.destination)


def test_port_without_ssh(ssh_server: SshServer) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        ssh_server.configure_client(Port=str(silent.getsockname()[1]))
        # ssh's ConnectTimeout, which also counts the wait for the other's greeting
        assert "timed out" in refusal(ssh_server.destination)


def test_missing_shell_and_endless_output(ssh_server: SshServer) -> None:
    line = (ssh_server.folder / "key.pub").read_text()
    for command, words in (("exit 0", "ended"), ("yes", "more data than any valid answer")):
        (ssh_server.folder / "authorized").write_text(f'command="{command}" {line}')
        assert words in refusal(ssh_server.destination)
    (ssh_server.folder / "authorized").write_text(f'command="echo motd; exec sh" {line}')
    asked = RemoteConnection(ssh_server.destination)
    asked.open()
    asked.close()


def test_connection_sharing_from_user_configuration(ssh_server: SshServer) -> None:
    ssh_server.configure_client(
        ControlMaster="auto", ControlPath=str(ssh_server.folder / "control"), ControlPersist="60"
    )
    try:
        for _ in range(2):
            asked = RemoteConnection(ssh_server.destination)
            asked.open()
            asked.ask("tick", LineKind.SAMPLE, "1")
            asked.close()
            assert len(ssh_server.sessions()) == 1, "the shared connection stays, as the user wants it"
    finally:
        subprocess.run(
            ("ssh", "-F", str(ssh_server.folder / "client"), "-O", "exit", ssh_server.destination.host),
            check=True,
            capture_output=True,
        )


def test_server_restart_makes_gap(ssh_server: SshServer) -> None:
    slot = ProbeSlot(
        RemoteMachineProbe(),
        ProbeContext(ServerSources(elsewhere=RemoteMachine(ssh_server.destination, "/"))),
    )
    slot.open()
    assert slot.read()
    (session,) = ssh_server.sessions()
    ssh_server.stop()
    with suppress(ProcessLookupError):
        os.kill(session, signal.SIGKILL)
    wait_until(lambda: slot.read() == [])
    assert slot.reason
    for _ in range(3):
        assert slot.read() == []
    ssh_server.start()
    wait_until(lambda: slot.read() != [])
    states = [change.state for change in slot.take_changes()]
    assert states[0] is SourceState.UNAVAILABLE
    assert states[-1] is SourceState.AVAILABLE
    slot.close()


class Line:
    """A line between client and server that can be cut without a word: what is sent into it is swallowed."""

    def __init__(self, port: int) -> None:
        self.is_cut = threading.Event()
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._sockets: list[socket.socket] = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                if not self.is_cut.is_set():
                    sink.sendall(part)

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def test_silently_cut_line_noticed(ssh_server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.probes.remote.machine.SECOND_TIMEOUT_S", 1.0)
    line = Line(ssh_server.port)
    ssh_server.configure_client(Port=str(line.port), HostKeyAlias=f"[127.0.0.1]:{ssh_server.port}")
    slot = ProbeSlot(
        RemoteMachineProbe(),
        ProbeContext(ServerSources(elsewhere=RemoteMachine(ssh_server.destination, "/"))),
    )
    slot.open()
    assert slot.read()
    line.is_cut.set()
    assert slot.read() == []
    assert "has stopped answering" in slot.reason
    line.is_cut.clear()
    wait_until(lambda: slot.read() != [])
    slot.close()
    line.close()


def test_killed_ssh_leaves_nothing(ssh_server: SshServer) -> None:
    asked = RemoteConnection(ssh_server.destination)
    asked.open()
    (session,) = ssh_server.sessions()
    process = asked._process
    assert process is not None
    process.kill()
    wait_until(lambda: not Path(f"/proc/{session}").exists())
    asked.close()
