"""Where servers for tests are kept, and how programs are run that make them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


class ServerNotHadError(Exception):
    """A server cannot be had; says why."""


def servers_folder() -> Path:
    """Return the folder of servers for tests, outside the tree; it may not exist.

    No server runs as root: root's lie where other accounts can enter, which its home is not.
    """
    usual = "/var/cache/pgfooting-tests" if os.geteuid() == 0 else "~/.cache/pgfooting"
    return Path(os.environ.get("PGFOOTING_TEST_CACHE") or usual).expanduser() / "servers"


def made_servers() -> list[str]:
    """Return the folders of programs of every server that was made."""
    return [str(path.parent) for path in sorted(servers_folder().glob("*/bin/pgbench"))]


def run(argv: Sequence[str | Path], *, cwd: Path | None = None, config: Path | None = None) -> str:
    """Run a program and return what it prints.

    Args:
        argv: program and arguments.
        cwd: where.
        config: for apt: the file with its settings.

    Raises:
        ServerNotHadError: it is absent or failed.
    """
    environment = os.environ | {"LC_ALL": "C"} | ({"APT_CONFIG": str(config)} if config else {})
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise ServerNotHadError(f"{argv[0]}: {error.strerror}") from error
    if done.returncode:
        raise ServerNotHadError(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
