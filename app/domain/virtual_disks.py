"""Which block devices are played by a hypervisor or a service on a network, by their names and makers.

What such a device does is only half of the truth: behind it requests are merged, cached and flushed once
more. A virtual machine may as well be given a real disk, which then shows its own maker.

Sources: drivers/block/virtio_blk.c, xen-blkfront.c, nbd.c and rbd.c of Linux (names); hw/scsi, hw/ide and
hw/nvme of QEMU; VirtualBox, VMware and Hyper-V as lsblk shows their disks; docs.aws.amazon.com/ebs ("Amazon
Elastic Block Store" is the model of an EBS volume), docs.cloud.google.com/compute (PersistentDisk,
nvme_card-pd).
"""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = (
    (re.compile(r"vd[a-z]+"), "virtio"),
    (re.compile(r"xvd[a-z]+"), "Xen"),
    (re.compile(r"nbd\d+"), "NBD"),
    (re.compile(r"rbd\d+"), "Ceph"),
)

_MAKERS: Final = (
    ("qemu", "QEMU"),
    ("vbox", "VirtualBox"),
    ("vmware", "VMware"),
    ("msft", "Hyper-V"),
    ("amazon elastic block store", "Amazon EBS"),
    ("persistentdisk", "Google"),
    ("nvme_card-pd", "Google"),
)


def played_by(name: str, vendor: str, model: str) -> str:
    """Return who plays a disk; empty for one that shows no sign of it.

    Args:
        name: of the kernel, such as ``vda``.
        vendor: as sysfs has it; empty where unknown.
        model: likewise.
    """
    for pattern, maker in _NAMES:
        if pattern.fullmatch(name):
            return maker
    text = f"{vendor} {model}".lower()
    return next((maker for sign, maker in _MAKERS if sign in text), "")
