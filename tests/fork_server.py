"""A process that has imported most of the program and forks for every call: imports take most of a call.

Each call is a process of its own with its environment, folder and streams. What differs from a real start:
modules are imported before. Tests of the start itself (streams that are closed, the locale, what `--help`
imports) start a real one.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence

MODULES = (
    "app.cli.commands.runs.compare",
    "app.cli.commands.runs.report",
    "app.cli.commands.import_results",
    "app.cli.commands.runs.report",
    "app.cli.commands.run",
    "app.cli.commands.runs.show",
    "app.cli.main",
    "app.cli.terminal.tables",
)
LIMIT_S = 120
_REQUEST_BYTES = 1 << 20


def call(
    server: socket.socket,
    module: str,
    arguments: Sequence[object],
    *,
    environment: Mapping[str, str],
    folder: str,
    streams: Sequence[int],
) -> int:
    """Let `main` of a module be called; return its status, negative where a signal ended it."""
    request = {"environment": dict(environment), "folder": folder, "module": module, "arguments": arguments}
    socket.send_fds(server, [json.dumps(request).encode()], list(streams))
    answer = server.recv(64)
    assert answer, "the server has died"
    return int(answer)


def _serve(server: socket.socket) -> None:
    while True:
        request, streams, *_ = socket.recv_fds(server, _REQUEST_BYTES, 3)
        if not request:
            return
        pid = os.fork()
        if pid == 0:
            _become(streams, **json.loads(request))
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(pid, 0)
        server.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(
    streams: Sequence[int], *, environment: dict[str, str], folder: str, module: str, arguments: list[object]
) -> None:
    status = 70
    try:
        signal.alarm(LIMIT_S)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        status = importlib.import_module(module).main(*arguments) or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - a mistake of what is tested: the test shows it
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
