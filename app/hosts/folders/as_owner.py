"""Work in folders as the account that owns them: in a child, because root must not.

The account may replace any component of its own path by a symbolic link at any time; anything that root does
there would happen wherever the link points.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.hosts.folders.delete_tree import Removal
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.folder_access import FolderFacts, Obstacle
from app.process.starter import Account, CommandOutcome, Recorder, run_module

_ERRAND: Final = Path(__file__).with_name("as_owner_child.py")
_SHORT_S: Final = 60.0
_LONG_S: Final = 900.0
"""Deleting a data directory of a terabyte on a slow disk takes minutes."""


def unrecorded(_outcome: CommandOutcome) -> None:
    """Record nothing: for tasks that change nothing."""


def examine(path: str, account: Account) -> FolderFacts | Obstacle:
    """Return the facts that `account` finds at a folder; see `app.hosts.folders.folder_access.examine`."""
    answer = run_errand("examine", {"path": path}, account, unrecorded)
    value = answer["value"]
    if answer["kind"] == Obstacle.__name__:
        return Obstacle(**value)
    return FolderFacts(**{**value, "identity": FileIdentity(**value["identity"])})


def make_folder(path: str, account: Account, record: Recorder) -> FileIdentity:
    """Create a folder as `account`; see `app.hosts.folders.descriptors.make_folder`.

    Raises:
        OSError: it could not be created.
    """
    return FileIdentity(*run_errand("make", {"path": path}, account, record))


def write_file(
    folder: str, identity: FileIdentity, name: str, content: bytes, *, account: Account, record: Recorder
) -> None:
    """Write a new file as `account`; see `app.hosts.folders.descriptors.write_file`.

    Raises:
        OSError: it could not be written.
    """
    arguments = {"folder": folder, "identity": dataclasses.astuple(identity), "name": name}
    run_errand("write", arguments, account, record, content)


def remove(
    path: str,
    identity: FileIdentity | None,
    *,
    same_boot: bool,
    volatile: bool,
    account: Account,
    record: Recorder,
) -> Removal:
    """Remove a folder as `account`; see `app.hosts.folders.delete_tree.remove`.

    Raises:
        OSError: some of it could not be removed.
    """
    known = None if identity is None else dataclasses.astuple(identity)
    arguments = {"path": path, "identity": known, "same_boot": same_boot, "volatile": volatile}
    return Removal(run_errand("remove", arguments, account, record, timeout_s=_LONG_S))


def end_servers(
    data_directory: str,
    identity: FileIdentity,
    *,
    account: Account,
    record: Recorder,
    patience_s: float = 15.0,
) -> tuple[list[int], list[int]]:
    """End processes that still work in a recorded data directory, and remove their shared memory.

    See `app.hosts.folders.leftover_servers`.

    Returns:
        Ids of ended processes, and of those that are still there.
    """
    known = dataclasses.astuple(identity)
    arguments = {"data_directory": data_directory, "identity": known, "patience_s": patience_s}
    ended, left = run_errand("end", arguments, account, record)
    return ended, left


def run_errand(  # noqa: PLR0913 - what every errand needs, and what some do
    task: str,
    arguments: Mapping[str, object],
    account: Account,
    record: Recorder,
    content: bytes = b"",
    *,
    timeout_s: float = _SHORT_S,
    child: Path = _ERRAND,
) -> Any:  # noqa: ANN401 - JSON, typed by the callers
    """Do a task as an account and return its result.

    Args:
        task: a name in the tasks of the child.
        arguments: of the task, by name.
        account: that does it.
        record: called with the command.
        content: the child's input.
        timeout_s: for the whole task.
        child: a module whose ``main`` answers as `app.hosts.folders.as_owner_child` does.

    Raises:
        OSError: of the task.
        ProgramError: the child could not do it.
    """
    outcome = run_module(
        child,
        (task, json.dumps(arguments)),
        account=account,
        timeout_s=timeout_s,
        record=record,
        input_bytes=content,
    )
    if not outcome.succeeded:
        raise ProgramError(
            tr("Working in a folder as {account} failed. {outcome}").format(
                account=account.name, outcome=outcome.describe()
            )
        )
    answer = json.loads(outcome.stdout)
    if "result" in answer:
        return answer["result"]
    raise OSError(answer["errno"], answer["text"], _whole(answer["path"], arguments))


def _whole(found: str | None, arguments: Mapping[str, object]) -> str:
    """Return the path of an error; within a folder the child knows only names."""
    if found is not None and found.startswith("/"):
        return found
    return str(arguments.get("path", arguments.get("folder")))
