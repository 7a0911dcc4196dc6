"""Tasks in folders as their owner: the child of `as_owner`, run by `exec_as`.

Reads a task and its arguments, prints one line of JSON: ``{"result": ...}`` or ``{"errno": ..., ...}``.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from app.hosts.folders import delete_tree, descriptors, folder_access, leftover_servers
from app.hosts.folders.descriptors import FileIdentity


def _identity(value: list[int] | None) -> FileIdentity | None:
    return None if value is None else FileIdentity(*value)


def _examine(path: str) -> dict[str, Any]:
    found = folder_access.examine(path)
    return {"kind": type(found).__name__, "value": dataclasses.asdict(found)}


def _make(path: str) -> tuple[int, ...]:
    return dataclasses.astuple(descriptors.make_folder(path))


def _write(folder: str, identity: list[int], name: str) -> None:
    descriptors.write_file(folder, FileIdentity(*identity), name, sys.stdin.buffer.read())


def _remove(path: str, identity: list[int] | None, *, same_boot: bool, volatile: bool) -> str:
    return delete_tree.remove(path, _identity(identity), same_boot=same_boot, volatile=volatile).value


def _end(data_directory: str, identity: list[int], *, patience_s: float) -> tuple[list[int], list[int]]:
    folder = FileIdentity(*identity)
    ended, left = leftover_servers.end_servers(data_directory, folder, patience_s=patience_s)
    if not left:
        leftover_servers.remove_shared_memory(data_directory, folder)
    return ended, left


TASKS: Final[Mapping[str, Callable[..., Any]]] = {
    "examine": _examine,
    "make": _make,
    "write": _write,
    "remove": _remove,
    "end": _end,
}


def main(arguments: list[str]) -> int:
    """Do the task ``arguments[0]`` with the keyword arguments in the JSON of ``arguments[1]``."""
    return answer_with(TASKS, arguments)


def answer_with(tasks: Mapping[str, Callable[..., Any]], arguments: list[str]) -> int:
    """Do one of these tasks and print its answer."""
    try:
        answer = {"result": tasks[arguments[0]](**json.loads(arguments[1]))}
    except OSError as err:
        answer = {"errno": err.errno, "text": err.strerror, "path": err.filename}
    print(json.dumps(answer), flush=True)  # noqa: T201 - this is the answer
    return 0
