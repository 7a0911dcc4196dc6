"""Tasks with templates as the account that owns them: run by `app.process.exec_as`.

Standard library only. Answers as `app.hosts.folders.as_owner_child` does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from app.hosts.folders.as_owner_child import answer_with
from app.hosts.folders.descriptors import READ, opened, strictly
from app.hosts.templates.tree import (
    TreeDigest,
    UnreadableTemplateError,
    WrongCopyError,
    copy_tree,
    digest_tree,
    empty_copy,
)

_LEFT_BY_SERVERS: Final = ("postmaster.opts", "postmaster.pid")
"""Files that name the place of a server."""


def _copy(source: str, target: str, wal_directory: str) -> dict[str, Any]:
    started_s = time.monotonic()
    try:
        found = copy_tree(source, target, wal_directory)
    except UnreadableTemplateError as err:
        return {"damaged": str(err)}
    except WrongCopyError as err:
        return {"wrong": str(err)}
    return {**_values(found), "seconds": time.monotonic() - started_s}


def _digest(data_directory: str) -> dict[str, Any]:
    for name in _LEFT_BY_SERVERS:
        with suppress(FileNotFoundError):
            Path(data_directory, name).unlink()
    try:
        return _values(digest_tree(data_directory))
    except UnreadableTemplateError as err:
        return {"damaged": str(err)}


def _values(found: TreeDigest) -> dict[str, Any]:
    return {"sha256": found.sha256, "files": found.files, "size_bytes": found.size_bytes}


def _publish(folder: str, made: str, name: str) -> None:
    """Give a template that is on disk its final name; atomic."""
    with strictly(folder) as parent, opened(".", READ, parent) as place:
        with opened(made, READ, place) as inner:
            os.fsync(inner)
        os.rename(made, name, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)


TASKS: Final[Mapping[str, Callable[..., Any]]] = {
    "copy": _copy,
    "digest": _digest,
    "empty": empty_copy,
    "publish": _publish,
}


def main(arguments: list[str]) -> int:
    """Do the task ``arguments[0]`` with the keyword arguments in the JSON of ``arguments[1]``."""
    return answer_with(TASKS, arguments)
