"""An ssh server of the test's own: its keys, its port on the loopback interface, its configuration."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.probes.base.probe import SshDestination

PATIENCE_S = 60
HOST = "measured"


@dataclass(slots=True)
class SshServer:
    """An ssh server, and the configuration of a client that knows it as `HOST`.

    Attributes:
        folder: everything of it.
        port: on 127.0.0.1.
        process: the server; None while it does not run.
    """

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def destination(self) -> SshDestination:
        return SshDestination(HOST, str(self.folder / "client"))

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                (str(sshd_program()), "-D", "-e", "-f", str(self.folder / "server")),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        end_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < end_s
                time.sleep(0.05)
            else:
                return

    def sessions(self) -> list[int]:
        """Return the processes of connections."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(word) for word in children.split()]

    def cut(self, sessions: list[int]) -> None:
        """End connections as a machine does that loses its power: without a word of the program there."""
        for pid in sessions:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def configure_client(self, **options: str) -> None:
        """Write the client's configuration anew, with other values of some options."""
        values = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": pwd.getpwuid(os.geteuid()).pw_name,
            "IdentityFile": str(self.folder / "key"),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(self.folder / "known"),
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "ask",
            **options,
        }
        lines = [f"Host {HOST}", *(f"  {name} {value}" for name, value in values.items())]
        (self.folder / "client").write_text("\n".join(lines) + "\n")

    def know(self, key: str = "host") -> None:
        """Let the client know this host key, and no other."""
        public = " ".join((self.folder / f"{key}.pub").read_text().split()[:2])
        (self.folder / "known").write_text(f"[127.0.0.1]:{self.port} {public}\n")


def sshd_program() -> Path | None:
    found = shutil.which("sshd", path=f"/usr/sbin:/usr/local/sbin:{os.environ['PATH']}")
    return None if found is None else Path(found)


def make_key(path: Path) -> None:
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)), check=True)


def make_server(folder: Path) -> SshServer:
    """Return a server with keys and configurations in a folder; it is not started."""
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir():
        Path("/run/sshd").mkdir(mode=0o755)  # where Debian's sshd of root separates its privileges
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    folder.mkdir(mode=0o700)
    for name in ("host", "other", "key", "stranger"):
        make_key(folder / name)
    shutil.copy(folder / "key.pub", folder / "authorized")
    lines = (
        "ListenAddress 127.0.0.1",
        f"Port {port}",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/authorized",
        f"PidFile {folder}/pid",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "StrictModes no",
        "UsePAM no",
        "LogLevel ERROR",
        "MaxStartups 100",
    )
    (folder / "server").write_text("\n".join(lines) + "\n")
    server = SshServer(folder, port)
    server.configure_client()
    server.know()
    return server


@pytest.fixture
def ssh_server(tmp_path: Path) -> Iterator[SshServer]:
    if sshd_program() is None or shutil.which("ssh") is None:
        pytest.skip("no sshd or no ssh here")
    server = make_server(tmp_path / "ssh")
    server.start()
    yield server
    server.stop()
