"""Servers that a test starts itself, on a port of the loopback interface, as somebody else would have."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from app.postgres.configuration_text import ROLE
from app.postgres.existing.own_database import OWN_DATABASE
from app.postgres.installations.installation import Installation
from app.process.starter import Account, spawn

PATIENCE_S: Final = 60.0
PASSWORD: Final = "open-sesame"  # noqa: S105 - of a server that ends with its test
_TRUST: Final = "host all all 127.0.0.1/32 trust\n"
_HBA: Final = f"host all {ROLE} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


def free_port() -> int:
    """Return a port that nobody has at this moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start_server(
    installation: Installation,
    account: Account,
    data: Path,
    *,
    hba: str = _TRUST,
    settings: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    port: int = 0,
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server on a port of the loopback interface; another one where somebody takes it meanwhile."""
    (data / "pg_hba.conf").write_text(hba)
    for _ in range(5):
        taken = port or free_port()
        options = {
            "listen_addresses": "127.0.0.1",
            "port": taken,
            "unix_socket_directories": "",
            "fsync": "off",
            **(settings or {}),
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        process = spawn(
            (installation.program("postgres"), "-D", str(data), *words),
            account=account,
            death_signal=signal.SIGQUIT,
            env=environment,
        )
        deadline_s = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline_s:
            try:
                psycopg.connect(f"host=127.0.0.1 port={taken} user={ROLE} dbname=postgres").close()
            except psycopg.Error:
                time.sleep(0.05)
            else:
                return process, taken
        process.kill()
        process.wait()
    raise AssertionError("no server")


@dataclass(slots=True)
class Elsewhere:
    """A server of somebody else, who may do everything there; `role` makes one that may do little."""

    installation: Installation
    account: Account
    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    hba: str = _HBA
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, on its port where it had one."""
        self.process, self.port = start_server(
            self.installation,
            self.account,
            self.data,
            hba=self.hba,
            settings=self.settings,
            environment=self.environment,
            port=self.port,
        )

    def stop(self, number: signal.Signals = signal.SIGQUIT) -> None:
        """End it: SIGQUIT at once, SIGINT in order."""
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(number)
            process.wait(PATIENCE_S)

    @property
    def name(self) -> str:
        """What a person types."""
        return f"127.0.0.1:{self.port}"

    def ask(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Execute statements as its superuser; return the rows of the last one."""
        conninfo = f"host=127.0.0.1 port={self.port} user={ROLE} dbname={database}"
        with psycopg.connect(conninfo, autocommit=True) as connection:
            *before, last = statements
            for statement in before:
                connection.execute(statement.encode())
            cursor = connection.execute(last.encode())
            return cursor.fetchall() if cursor.description else []

    def role(self, name: str, rights: str = "CREATEDB") -> str:
        """Make a role and return its connection string, which holds no secret."""
        self.ask(f"CREATE ROLE {name} LOGIN {rights} PASSWORD '{PASSWORD}'")
        return f"host=127.0.0.1 port={self.port} user={name}"

    def databases(self) -> set[str]:
        """Return the names of its databases."""
        return {str(name) for (name,) in self.ask("SELECT datname FROM pg_database WHERE NOT datistemplate")}

    def has_ours(self) -> bool:
        """Whether pgFooting's database is there."""
        return OWN_DATABASE in self.databases()


@pytest.fixture
def elsewhere(
    open_folder: Path,
    data_template: Path,
    installation: Installation,
    database_account: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Elsewhere]:
    """A server that runs, and the password of its roles where libpq looks for it."""
    data = open_folder / "elsewhere"
    subprocess.run(["cp", "-a", str(data_template), str(data)], check=True)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    found = Elsewhere(installation, database_account, data)
    found.start()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def standby(elsewhere: Elsewhere) -> Elsewhere:
    """The same as a standby, which waits for a primary that does not come; its roles were made before."""
    elsewhere.role("bench")
    elsewhere.stop(signal.SIGINT)
    (elsewhere.data / "standby.signal").touch()
    found = replace(elsewhere)
    found.start()
    elsewhere.process = found.process
    return elsewhere
