"""What was chosen for a target, read back where it acts: on the server's process and on the files it made.

What root makes root reads back itself (`app.storage.checks.readback`). What is here can be seen only once the
server runs, or once there are files; the runner sees it without root.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import GroupChoice
from app.domain.campaign.disk_target import chosen_options
from app.domain.errors import TargetError
from app.domain.filesystems import filesystem
from app.domain.options.tokens import ReadbackToken
from app.domain.text import tr
from app.domain.units import format_size
from app.postgres.machine import memory_limit
from app.postgres.relation_files import WAL_FOLDER
from app.probes.facts.file_attributes import attributes_of

_NAMED: Final = 3


def check_memory_limit(limit_bytes: int, pid: int, root: Path = Path("/")) -> None:
    """Make sure that a process may use as much memory as was chosen, and no more.

    The kernel counts in pages: it cuts a limit to whole ones (cgroup-v2.rst, memory.max).

    Args:
        limit_bytes: chosen.
        pid: of the postmaster.
        root: where proc and sys are found; another folder in tests.

    Raises:
        TargetError: its control groups say something else; names both.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    found = memory_limit(root, str(pid))
    if found == limit_bytes // page * page:
        return
    message = tr("The server may use {found} of memory instead of {chosen}. Nothing was measured.")
    has = (
        tr("any amount")
        if found is None
        else tr("{size} ({bytes} bytes)").format(size=format_size(found), bytes=found)
    )
    chosen = tr("{size} ({bytes} bytes)").format(size=format_size(limit_bytes), bytes=limit_bytes)
    hint = tr("Another limit of this machine is lower, or the server is not in the control group of its run.")
    raise TargetError(message.format(found=has, chosen=chosen), hint=hint)


def check_wal_directory(data_directory: str, wal_directory: str) -> None:
    """Make sure that a server writes its WAL where it was to.

    Args:
        data_directory: of the server.
        wal_directory: that initdb was told; empty for none.

    Raises:
        TargetError: it lies elsewhere; names both.
        OSError: it cannot be looked for.
    """
    data = Path(data_directory).resolve(strict=True)
    found = (data / WAL_FOLDER).resolve(strict=True)
    chosen = Path(wal_directory).resolve(strict=True) if wal_directory else data / WAL_FOLDER
    if found != chosen:
        message = tr("The WAL lies in {found} instead of {chosen}. Nothing was measured.")
        raise TargetError(message.format(found=found, chosen=chosen))


def check_file_attributes(group: GroupChoice, files: Iterable[Path]) -> tuple[str, ...]:
    """Make sure that files that were made on a filesystem have the attributes of its options.

    Args:
        group: what was chosen.
        files: of the server, on that filesystem.

    Returns:
        A sentence where nothing tells the attributes.

    Raises:
        TargetError: some have others; names what they have, and what was chosen.
    """
    options = chosen_options(group)
    wanted = filesystem(group.filesystem).attributes_of_files(options)
    if wanted is None:
        return ()
    told = tr("The attributes of the files on {label} cannot be read back ({reason}).")
    label = filesystem(group.filesystem).label
    try:
        wrong = dict(_wrong(wanted, files))
    except OSError as error:
        return (told.format(label=label, reason=error.strerror),)
    if not wrong:
        return ()
    message = tr(
        "{count} files on {label} have the attributes “{found}” instead of “{wanted}”, such as {names}. "
        "Nothing was measured."
    )
    raise TargetError(
        message.format(
            count=len(wrong),
            label=label,
            found=next(iter(wrong.values())) or "-",
            wanted="".join(wanted.present) or "-",
            names=", ".join(path.name for path in list(wrong)[:_NAMED]),
        ),
        hint=tr("This kernel takes the option and does not apply it to new files: leave it out."),
    )


def _wrong(wanted: ReadbackToken, files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for path in files:
        found = attributes_of(path)
        if wanted.contradictions(found):
            yield path, "".join(sorted(found))
