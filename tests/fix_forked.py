"""The command `pgfooting`, and other programs of tests, for tests that start them often."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from tests import fork_server

Finished = subprocess.CompletedProcess[str]
Forked = Callable[..., Finished]
"""Calls `main` of a module in a process of its own: ``forked("tests.x", "argument", environment={...})``."""
Command = Callable[..., Finished]
"""Calls `pgfooting`: ``command("list", "--json", environment={...}, folder=path)``."""

_TOP = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """Modules' `main`, each call a process of its own; warnings are errors there."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.fork_server", str(there.fileno())],
        env={**os.environ, "PYTHONPATH": str(_TOP), "PYTHONWARNINGS": "error", "OPENBLAS_NUM_THREADS": "1"},
        cwd=_TOP,
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
    )
    there.close()

    def call(
        module: str, *arguments: object, environment: Mapping[str, str] = os.environ, folder: Path = _TOP
    ) -> Finished:
        with (
            TemporaryFile("w+", encoding="utf-8") as output,
            TemporaryFile("w+", encoding="utf-8") as errors,
            Path(os.devnull).open() as nothing,
        ):
            status = fork_server.call(
                here,
                module,
                arguments,
                environment=environment,
                folder=str(folder),
                streams=[nothing.fileno(), output.fileno(), errors.fileno()],
            )
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(module, status, output.read(), errors.read())

    with here:
        yield call
    server.wait()


@pytest.fixture(scope="session")
def command(forked: Forked) -> Command:
    """The command, each call a process of its own."""

    def call(*argv: str, environment: Mapping[str, str] = os.environ, folder: Path = _TOP) -> Finished:
        return forked("app.cli.main", argv, environment=environment, folder=folder)

    return call
