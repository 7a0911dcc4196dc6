"""Disks as `disks` tells of them, for tests of the wizard: spare ones and one of each kind."""

from __future__ import annotations

from dataclasses import replace

from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.option_spec import KERNEL, MDADM_VERSION, Component
from app.storage.layout.disk_target import Support, needed_programs
from app.storage.spare.disks import Listing

SPARE_BYTES = 2_000_398_934_016


def spare_disk(number: int, *, size_bytes: int = SPARE_BYTES, model: str = "Samsung SSD 990 PRO 2TB") -> Disk:
    """A blank NVMe disk."""
    identity = DiskIdentity(f"S6Z2NJ0W{number:06}X", None, model, size_bytes, f"259:{number}", number)
    return Disk(
        identity,
        f"nvme{number}n1",
        "nvme",
        rotational=False,
        removable=False,
        read_only=False,
        logical_block_bytes=512,
        physical_block_bytes=4096,
        answer=SpareAnswer.SPARE,
    )


SPARE = tuple(spare_disk(number) for number in range(1, 7))
SYSTEM = replace(
    spare_disk(0, model="INTEL SSDSC2KB480G8"),
    name="sda",
    bus="sata",
    answer=SpareAnswer.NOT_SPARE,
    held_by=("mounted at /",),
    refusals=(
        DiskRefusal("D04", "A filesystem on it is mounted.", "8:2 mounted at /", "Unmount it."),
        DiskRefusal("D08", "It holds a filesystem.", "ext4 on sda2"),
    ),
)
OPEN = replace(
    spare_disk(9, model="WDC WD4003FZEX"),
    name="sdb",
    bus="sata",
    rotational=True,
    rotation_rpm=7200,
    answer=SpareAnswer.LOOKS_SPARE,
    questions=(DiskRefusal("D13", "Only root may read its middle.", "/dev/sdb: Permission denied"),),
)
NAMELESS = replace(spare_disk(10), identity=replace(spare_disk(10).identity, serial="", wwn=None))
USUAL = (SYSTEM, OPEN, *SPARE)


def listing(*disks: Disk) -> Listing:
    """What the disks of a machine look like."""
    return Listing(disks or USUAL, (), as_root=False)


def everything_works() -> Support:
    """A machine with every program, module and a recent kernel."""
    filesystems = (name for spec in FILESYSTEMS for name in spec.kernel_modules)
    modules = frozenset((*filesystems, "md_mod", "raid0", "raid1", "raid10", "raid456"))
    programs = {item.name: f"/usr/sbin/{item.name}" for item in needed_programs()}
    versions = {
        KERNEL: (6, 1, 0),
        Component("OpenZFS"): (2, 2, 2),
        MDADM_VERSION: (4, 2),
    }
    return Support("6.1.0-amd64", modules, modules, modules, programs=programs, versions=versions)
