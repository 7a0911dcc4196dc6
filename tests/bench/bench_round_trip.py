"""How well the round trip to a server is told: behind proxies that delay by 5 ms and by 50 ms.

To reach: within 10 %. What the proxy itself costs is measured without delay and taken off.

    python -m tests.bench.bench_round_trip
"""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

from app.hosts.folders.account import server_account
from app.postgres.connection import ROLE
from app.postgres.existing.address import open_address
from app.postgres.existing.look import measure_round_trip
from app.postgres.installations.find import choose_installation, find_installations
from app.postgres.server import Server
from tests.delaying_proxy import delaying_proxy
from tests.fix_existing import start_server
from tests.fix_postgres import give


def main() -> None:
    """Start a server, measure it through each proxy, and print what was told."""
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
            told: dict[float, float] = {}
            for delay_ms in (0.0, 5.0, 50.0):
                with delaying_proxy(port, delay_ms / 1000) as proxy:
                    _, connection = open_address(f"host=127.0.0.1 port={proxy.port} user={ROLE}")
                    with connection:
                        told[delay_ms] = measure_round_trip(connection).median_ms
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()
    for delay_ms in (5.0, 50.0):
        net = told[delay_ms] - told[0.0]
        error = 100 * (net - delay_ms) / delay_ms
        print(f"{delay_ms:5.1f} ms added: told {told[delay_ms]:.2f} ms, {net:.2f} ms of it ({error:+.1f} %)")


if __name__ == "__main__":
    main()
