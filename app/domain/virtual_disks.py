"""Recognise block devices that are emulated by a hypervisor or a network service, by names and makers.

Measurements of such a device are only half of the truth: behind it requests are merged, cached and flushed
once more. A virtual machine may also have a real disk, which shows its own maker.

Some cloud volumes have burst credit: they are faster until it is used up, and then as fast as paid for, so
that a short run does not show the later speed. No device reports which kind it is.

Sources: drivers/block/virtio_blk.c, xen-blkfront.c, nbd.c and rbd.c of Linux (names); hw/scsi, hw/ide and
hw/nvme of QEMU; VirtualBox, VMware and Hyper-V as lsblk shows their disks; docs.aws.amazon.com/ebs ("Amazon
Elastic Block Store" is the model of an EBS volume; gp2, st1 and sc1 burst, gp3 does not) and /AWSEC2 ("Amazon
EC2 NVMe Instance Storage"; smaller instances burst for 30 minutes a day); docs.cloud.google.com/compute
(PersistentDisk, nvme_card-pd; EphemeralDisk and nvme_card are Local SSD);
learn.microsoft.com/azure/virtual-machines ("Managed disk bursting": Premium SSD up to 512 GiB and Standard
SSD by credit, virtual machines too; "Msft Virtual Disk", "MSFT NVMe Accelerator" and, for its own disks,
"Microsoft NVMe Direct Disk"); docs.digitalocean.com/products/volumes ("DO Volume", which bursts for 60
seconds); www.alibabacloud.com/help/ecs ("Alibaba Cloud Elastic Block Storage"; ESSD AutoPL bursts);
docs.oracle.com ("ORACLE BlockVolume"); docs.hetzner.com ("HC Volume").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAMES: Final = (
    (re.compile(r"vd[a-z]+"), "virtio"),
    (re.compile(r"xvd[a-z]+"), "Xen"),
    (re.compile(r"nbd\d+"), "NBD"),
    (re.compile(r"rbd\d+"), "Ceph"),
)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Attributes: sign: part of maker and model; name: of the maker; bursts: it may have burst credit."""

    sign: str
    name: str
    bursts: bool = False


_MAKERS: Final = (
    _Maker("amazon elastic block store", "Amazon EBS", bursts=True),
    _Maker("amazon ec2 nvme instance storage", "Amazon EC2 instance storage"),
    _Maker("persistentdisk", "Google Persistent Disk"),
    _Maker("nvme_card-pd", "Google Persistent Disk"),
    _Maker("ephemeraldisk", "Google Local SSD"),
    _Maker("nvme_card", "Google Local SSD"),
    _Maker("msft nvme accelerator", "Azure managed disk", bursts=True),
    _Maker("microsoft nvme direct disk", "Azure local disk"),
    _Maker("do volume", "DigitalOcean Volume", bursts=True),
    _Maker("alibaba cloud elastic block storage", "Alibaba Cloud EBS", bursts=True),
    _Maker("oracle blockvolume", "Oracle Block Volume"),
    _Maker("hc volume", "Hetzner Cloud Volume"),
    _Maker("qemu", "QEMU"),
    _Maker("vbox", "VirtualBox"),
    _Maker("vmware", "VMware"),
    _Maker("msft", "Hyper-V", bursts=True),  # on Azure, of which the disk itself says no more
)

_CLOUDS: Final = (
    ("amazon", "Amazon EC2"),
    ("google", "Google Cloud"),
    ("alibaba", "Alibaba Cloud"),
    ("digitalocean", "DigitalOcean"),
    ("hetzner", "Hetzner Cloud"),
    ("oraclecloud", "Oracle Cloud"),
    ("openstack", "OpenStack"),
)
"""Clouds by the firmware of their machines (DMI: sys_vendor, product_name)."""


def played_by(name: str, vendor: str, model: str) -> str:
    """Return what emulates a disk; empty if there is no sign of emulation.

    Args:
        name: of the kernel, such as ``vda``.
        vendor: as in sysfs; empty if unknown.
        model: as in sysfs; empty if unknown.
    """
    maker = _maker(vendor, model)
    if maker is not None and maker.sign != "qemu":
        return maker.name
    for pattern, driver in _NAMES:
        if pattern.fullmatch(name):
            return driver
    return maker.name if maker is not None else ""


def may_have_burst_credit(name: str, vendor: str, model: str, cloud: str) -> bool:
    """Return whether a disk may have burst credit; `cloud` is the result of `cloud_of`.

    A cloud disk that only names the driver may be any of its volumes.
    """
    maker = _maker(vendor, model)
    if maker is not None and maker.sign != "qemu":
        return maker.bursts
    return bool(cloud) and bool(played_by(name, vendor, model))


def cloud_of(vendor: str, product: str) -> str:
    """Return the cloud of this virtual machine by its firmware; empty for no known cloud."""
    text = f"{vendor} {product}".lower()
    return next((cloud for sign, cloud in _CLOUDS if sign in text), "")


def _maker(vendor: str, model: str) -> _Maker | None:
    text = " ".join(f"{vendor} {model}".lower().split())
    return next((maker for maker in _MAKERS if maker.sign in text), None)
