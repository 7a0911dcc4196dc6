"""Whether templates may lie where they do: on another disk than the one under test, and with room."""

from __future__ import annotations

import os
from typing import Final

from app.domain.text import tr
from app.domain.units import MIB, format_size
from app.hosts.folders.targets import CheckedTarget
from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import ProbeUnavailable

WORKING_BYTES: Final = 512 * MIB
"""What making a template needs beside its data: WAL, and what sorting the keys of an index takes."""


def why_not_beside(folder: str, target: CheckedTarget, resolver: Resolver | None = None) -> str:
    """Return why templates must not lie in a folder while a target is measured; empty where they may.

    Reading and writing a template would wear and warm the very disk that is measured. Spare disks are used by
    nobody else.

    Args:
        folder: of the templates, which is there.
        target: a folder or memory; or spare disks.
        resolver: tells what folders lie on; None for this machine's.
    """
    if target.plan is not None:
        return ""
    try:
        if not _share_storage(folder, target.path, resolver or Resolver()):
            return ""
    except (OSError, LookupError, ProbeUnavailable) as err:
        return tr("It cannot be told on which disks templates and target lie: {reason}.").format(reason=err)
    same = tr("{folder}, where templates are kept, lies on the storage under test ({path}).")
    return same.format(folder=folder, path=target.path)


def _share_storage(folder: str, path: str, resolver: Resolver) -> bool:
    """Return whether two folders lie on a disk that both use, or both in memory.

    Raises:
        OSError: one is not there.
        LookupError: the mount of one cannot be found.
        ProbeUnavailable: nobody tells the disks of one.
    """
    own, other = resolver.find_mount(folder), resolver.find_mount(path)
    if own.device == other.device:
        return True
    if own.in_memory or other.in_memory:
        return own.in_memory and other.in_memory
    if own.on_network is not other.on_network:
        return False
    mine, theirs = ({device.name for device in resolver.resolve(each).leaves} for each in (folder, path))
    return not mine.isdisjoint(theirs)


def why_no_room(folder: str, data_bytes: int) -> str:
    """Return why a template does not fit into a folder; empty where it does."""
    volume = os.statvfs(folder)
    free_bytes = volume.f_bavail * volume.f_frsize
    need_bytes = data_bytes + WORKING_BYTES
    if free_bytes >= need_bytes:
        return ""
    sentence = tr("{folder}, where templates are kept, has {free} free; making one needs {need}.")
    return sentence.format(folder=folder, free=format_size(free_bytes), need=format_size(need_bytes))
