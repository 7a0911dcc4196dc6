"""A server on a port of the loopback interface for benches, as one elsewhere is reached."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.hosts.folders.account import server_account
from app.postgres.installations.find import choose_installation, find_installations
from app.postgres.server import Server
from tests.fix_existing import start_server
from tests.fix_postgres import give


@contextmanager
def server_elsewhere() -> Iterator[int]:
    """Yield the port of a server, which ends afterwards."""
    account = server_account(lambda _outcome: None)
    installation = choose_installation("newest", find_installations(account))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        data = give(folder / "data", account)
        made = Server(installation, account, str(data), "/unused", "/unused", (), lambda _outcome: None)
        made.initdb(checksums=True)
        process, port = start_server(installation, account, data)
        try:
            yield port
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()
