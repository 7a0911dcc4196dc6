"""Our own filesystem is used by others: mounted, filled, labelled, on this machine or on another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from app.domain.text import MIB
from tests.disks.matrix.disks import Disk, run, settle
from tests.disks.matrix.stage import Certainty, Foreign, Given, Kind, Stage

_LABEL: Final[dict[str, tuple[str, ...]]] = {
    "ext4": ("tune2fs", "-L", "CUSTOMERS"),
    "xfs": ("xfs_admin", "-L", "CUSTOMERS"),
    "btrfs": ("btrfs", "filesystem", "label"),
    "f2fs": ("f2fslabel",),
}
"""Programs that give a filesystem a label; those of btrfs and f2fs want the device first."""
_FULL: Final = 20 * MIB


def _type(node: str) -> str:
    return run("blkid", "-p", "-c", "/dev/null", "-o", "value", "-s", "TYPE", node, check=False)


def _fill(stage: Stage, disk: Disk) -> bool:
    """Mount what lies in the partition and put a database there; return whether that can be."""
    kind = _type(disk.partition)
    if kind not in _LABEL:
        return False
    folder = stage.folder / f"theirs-{len(list(stage.folder.iterdir()))}"
    folder.mkdir()
    others = [each.partition for each in stage.disks if each is not disk and each.has_partition()]
    if kind == "btrfs":
        run("btrfs", "device", "scan", *[each for each in others if _type(each) == "btrfs"], disk.partition)
    run("mount", "-t", kind, disk.partition, str(folder), check=False)
    if not Path(folder).is_mount():  # half made, or another disk of it is away
        return False
    (folder / "customers.db").write_bytes(b"customer" * (_FULL // 8))
    run("umount", str(folder))
    return True


def _label(disk: Disk) -> None:
    kind = _type(disk.partition)
    if kind in {"btrfs", "f2fs"}:
        run(*_LABEL[kind], disk.partition, "CUSTOMERS")
    else:
        run(*_LABEL[kind], disk.partition)


def _is_ready(stage: Stage) -> bool:
    if not stage.has_table():
        return False
    stage.free()
    stage.target()
    return stage.subject.has_partition()


def _used(stage: Stage, *, filled: bool, labelled: bool) -> Foreign | None:
    """Somebody who found an empty filesystem mounts it and keeps a database there, or names it."""
    if not _is_ready(stage):
        return None
    if filled and not _fill(stage, stage.subject):
        return None
    if labelled:
        _label(stage.subject)
    return Foreign(Certainty.USED, stage.subject, comes_back=True)


def _brought_back(stage: Stage, elsewhere: Callable[[Stage], object]) -> Foreign | None:
    """The disk was at another machine meanwhile, which used it, and comes back under another name."""
    if not _is_ready(stage):
        return None
    disk = stage.subject
    disk.detach()
    placeholder = Disk.blank(stage.folder / f"first {len(list(stage.folder.iterdir()))}", 16 * MIB)
    stage.stack.callback(placeholder.detach)
    disk.attach()
    settle()
    if not _fill(stage, disk):
        return None
    elsewhere(stage)
    disk.detach()
    disk.attach()
    settle()
    return Foreign(Certainty.USED, disk, comes_back=True, others=(placeholder,))


USED: Final = (
    Kind(
        "used: ours mounted by others and filled",
        "used",
        partial(_used, filled=True, labelled=False),
        Given.FILESYSTEM,
    ),
    Kind(
        "used: ours filled and labelled", "used", partial(_used, filled=True, labelled=True), Given.FILESYSTEM
    ),
    Kind("used: ours labelled", "used", partial(_used, filled=False, labelled=True), Given.FILESYSTEM),
    Kind(
        "used: ours filled at another machine, labelled, brought back",
        "used",
        partial(_brought_back, elsewhere=lambda stage: _label(stage.subject)),
        Given.FILESYSTEM | Given.DEAD,
    ),
    Kind(
        "used: ours filled at another machine, brought back",
        "used",
        partial(_brought_back, elsewhere=lambda _stage: None),
        Given.FILESYSTEM | Given.DEAD,
    ),
)
