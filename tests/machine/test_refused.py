"""Disks of the rig that must be refused, in states that only its kernel has; accepted once they are blank."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.disk import SpareAnswer
from app.storage.inspect.snapshot import Policy
from app.storage.spare.rules import SpareDecision
from tests.disks.refused_kinds import KINDS, Kind
from tests.disks.workshop import Workshop
from tests.machine.rig import SHARE, Guest

RIG = [
    "virtio:1G",
    "virtio:1G",
    "sata:1G:7200",
    "scsi:1G:1,wwn=5000c50015ea71aa",
    "nvme:1G",
    "usb:1G",
    "virtio:1G,readonly",
    "virtio:1G,serial=",
    "virtio:1G,serial=TWIN",
    "virtio:1G,serial=TWIN",
]
inside = pytest.mark.inside(*RIG)
pytestmark = pytest.mark.machine

NATIVE = {"mounted in another namespace", "swap in use", "second device of a mounted btrfs", "named by fstab"}
"""Kinds of the native layer that are made here too, on disks with identities and with udev running."""


def output(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def whole_disks() -> list[dict[str, str]]:
    output("udevadm", "settle")
    listing = output("lsblk", "--json", "--bytes", "--nodeps", "--output", "NAME,SERIAL,SIZE,TYPE,RO")
    return [disk for disk in json.loads(listing)["blockdevices"] if disk["type"] == "disk"]


def named(serial: str) -> list[str]:
    """Return the nodes of the rig's disks of a serial; the guest's own disk has another size."""
    assert os.path.ismount(SHARE), "this is no guest of the rig"
    wanted = [disk for disk in whole_disks() if (disk["serial"] or "") == serial]
    return [f"/dev/{disk['name']}" for disk in wanted if int(disk["size"]) == 1024**3]


BLANK = ["RIGVIRTIO1", "RIGVIRTIO2", "RIGSATA3", "RIGSCSI4", "RIGNVME5"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A workshop over the disks that should be spare; the first is the disk in question.

    Others that a test takes are blank again when it ends.
    """
    nodes = [node for serial in BLANK for node in named(serial)]
    assert len(nodes) == len(BLANK)
    rest, taken = iter(nodes[1:]), list[str]()

    def another() -> str:
        taken.append(next(rest))
        return taken[-1]

    with ExitStack() as state:
        shop = Workshop(nodes[0], tmp_path, another, Policy(), state)
        yield shop
    shop.settle()
    for node in taken:
        shop.run("wipefs", "--all", "--quiet", node)
        shop.run("blkdiscard", "--zeroout", node)
    shop.settle()


Note = Callable[[str, str, str], None]


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    def row(title: str, rule: str, evidence: str) -> None:
        record_property("refused", f"rig\t{title}\t{rule}\t{evidence}")

    return row


def refused_by(decision: SpareDecision, rule: str, evidence: str) -> str:
    found = [refusal.evidence for refusal in decision.refusals if refusal.rule == rule]
    assert any(evidence in text for text in found), decision.refusals
    return next(text for text in found if evidence in text)


def _array(shop: Workshop, *options: str) -> str:
    """Make a mirror of the disk and another; return the other."""
    other = shop.another()
    devices = ("--level=1", "--raid-devices=2", "--assume-clean", *options, shop.path, other)
    shop.run("mdadm", "--create", "/dev/md/refused", "--bitmap=none", *devices)
    shop.settle()
    shop.stack.callback(shop.run, "mdadm", "--zero-superblock", other)
    return other


def _running_array(shop: Workshop) -> None:
    _array(shop, "--metadata=1.2")
    shop.later("mdadm", "--stop", "/dev/md/refused")


def _stopped_array(shop: Workshop, metadata: str) -> None:
    _array(shop, f"--metadata={metadata}")
    shop.run("mdadm", "--stop", "/dev/md/refused")


def _half_an_array(shop: Workshop) -> None:
    """Assembled from one of two members, as at a boot without the other: it does not run."""
    other = _array(shop, "--metadata=1.2")
    shop.run("mdadm", "--stop", "/dev/md/refused")
    shop.run("wipefs", "--all", "--quiet", other)
    shop.settle()
    subprocess.run(["mdadm", "--stop", "--scan"], capture_output=True, check=False)
    subprocess.run(["mdadm", "--incremental", shop.path], capture_output=True, check=False)
    shop.stack.callback(subprocess.run, ["mdadm", "--stop", "--scan"], capture_output=True, check=False)


def _volume_group(shop: Workshop) -> None:
    shop.run("pvcreate", "--yes", shop.path)
    shop.run("vgcreate", "refused", shop.path)


def _logical_volume(shop: Workshop) -> None:
    _volume_group(shop)
    shop.run("lvcreate", "--yes", "--name", "volume", "--size", "100M", "refused")
    shop.stack.callback(shop.run, "pvremove", "--yes", shop.path)
    shop.later("vgremove", "--yes", "--force", "refused")


def _inactive_volume_group(shop: Workshop) -> None:
    _volume_group(shop)
    shop.later("vgremove", "--yes", "refused")


def _encrypted_and_open(shop: Workshop) -> None:
    key = shop.folder / "key"
    key.write_bytes(b"x" * 64)
    options = ("--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
    shop.run("cryptsetup", "luksFormat", *options, shop.path, str(key))
    shop.run("cryptsetup", "open", "--key-file", str(key), shop.path, "refused")
    shop.later("cryptsetup", "close", "refused")


def _mapping(shop: Workshop) -> None:
    shop.run("dmsetup", "create", "refused", "--table", f"0 2048 linear {shop.path} 0")
    shop.later("dmsetup", "remove", "--retry", "refused")


def _pool(shop: Workshop, *devices: str) -> None:
    shop.run("modprobe", "zfs")
    shop.run("zpool", "create", "-O", "mountpoint=none", "refused", *devices)


def _imported_pool(shop: Workshop) -> None:
    _pool(shop, shop.path)
    shop.later("zpool", "destroy", "refused")


def _pool_with(shop: Workshop, role: str) -> None:
    other = shop.another()
    _pool(shop, other, role, shop.path)
    shop.stack.callback(shop.run, "wipefs", "--all", "--quiet", other)
    shop.later("zpool", "destroy", "refused")


def _exported_pool(shop: Workshop) -> None:
    _pool(shop, shop.path)
    shop.run("zpool", "export", "refused")


def _destroyed_pool(shop: Workshop) -> None:
    _pool(shop, shop.path)
    shop.run("zpool", "destroy", "refused")


def _second_of_f2fs(shop: Workshop) -> None:
    first = shop.another()
    shop.run("mkfs.f2fs", "-q", "-c", shop.path, first)
    shop.stack.callback(shop.run, "wipefs", "--all", "--quiet", first)
    shop.mount(first)


def _hibernation(shop: Workshop) -> None:
    number = Path(f"/sys/block/{shop.name}/dev").read_text().strip()
    Path("/sys/power/resume").write_text(number)
    # The kernel takes no "none" back: from then on it is a loop device without a file.
    shop.stack.callback(Path("/sys/power/resume").write_text, "7:7")


def _served(shop: Workshop) -> None:
    """Serve it by NVMe over fabrics: the target opens it without claiming it."""
    shop.run("modprobe", "nvmet")
    subsystem = Path("/sys/kernel/config/nvmet/subsystems/refused")
    subsystem.mkdir()
    shop.stack.callback(subsystem.rmdir)
    namespace = subsystem / "namespaces/1"
    namespace.mkdir()
    shop.stack.callback(namespace.rmdir)
    (namespace / "device_path").write_text(shop.path)
    (namespace / "enable").write_text("1")
    shop.stack.callback((namespace / "enable").write_text, "0")


def _rule_of_udev(shop: Workshop, name: str, value: str) -> None:
    """Let a rule of udev set a property, as those of multipath and of distributions do."""
    rule = Path("/run/udev/rules.d/90-refused.rules")
    rule.parent.mkdir(exist_ok=True)
    rule.write_text(f'KERNEL=="{shop.name}", ENV{{{name}}}="{value}"\n')

    def look_again() -> None:
        shop.run("udevadm", "control", "--reload")
        shop.run("udevadm", "trigger", "--settle", f"/sys/block/{shop.name}")

    shop.stack.callback(look_again)
    shop.stack.callback(rule.unlink)
    look_again()


def _in_fstab(shop: Workshop, text: str) -> None:
    file = Path("/etc/fstab")
    before = file.read_text()
    shop.stack.callback(file.write_text, before)
    file.write_text(f"{before}\n{text} /srv/none ext4 noauto 0 0\n")


def _by_id_that_is_gone(shop: Workshop) -> None:
    """A partition that the disk had once: its link does not exist, but its name says which disk it was."""
    _in_fstab(shop, "/dev/disk/by-id/virtio-RIGVIRTIO1-part7")


def _by_path(shop: Workshop) -> None:
    links = output("udevadm", "info", "--query=symlink", shop.path).split()
    _in_fstab(shop, f"/dev/{next(link for link in links if 'by-path' in link)}")


def _stopped(metadata: str) -> Kind:
    title = f"member of a stopped md array {metadata}"
    return Kind(title, "D09", "linux_raid_member", lambda shop: _stopped_array(shop, metadata))


KINDS_HERE: tuple[Kind, ...] = (
    *(kind for kind in KINDS if kind.title in NATIVE),
    Kind("member of a running md array", "D03", "held by md", _running_array),
    Kind(
        "member of a stopped md array 1.2",
        "D09",
        "linux_raid_member",
        lambda shop: _stopped_array(shop, "1.2"),
    ),
    Kind(
        "member of a stopped md array 1.0",
        "D09",
        "linux_raid_member",
        lambda shop: _stopped_array(shop, "1.0"),
    ),
    Kind(
        "member of a stopped md array 0.90",
        "D09",
        "linux_raid_member",
        lambda shop: _stopped_array(shop, "0.90"),
    ),
    Kind("member of half an md array", "D13", "/proc/mdstat", _half_an_array),
    Kind("below a logical volume", "D03", "held by dm-", _logical_volume),
    Kind("in a volume group that is not active", "D09", "LVM2_member", _inactive_volume_group),
    Kind("encrypted and open", "D03", "held by dm-", _encrypted_and_open),
    Kind("below a device-mapper mapping", "D03", "held by dm-", _mapping),
    Kind("in an imported ZFS pool", "D07", "refused", _imported_pool),
    Kind("log of an imported ZFS pool", "D07", "refused", lambda shop: _pool_with(shop, "log")),
    Kind("cache of an imported ZFS pool", "D07", "refused", lambda shop: _pool_with(shop, "cache")),
    Kind("spare of an imported ZFS pool", "D07", "refused", lambda shop: _pool_with(shop, "spare")),
    Kind("in an exported ZFS pool", "D08", "gpt", _exported_pool),
    Kind("in a destroyed ZFS pool", "D08", "gpt", _destroyed_pool),
    Kind("second device of a mounted f2fs", "D14", "O_EXCL", _second_of_f2fs),
    Kind("for hibernation", "D12", "/sys/power/resume", _hibernation),
    Kind("served by NVMe over fabrics", "D13", "nvmet/subsystems/refused", _served),
    Kind(
        "one path of a multipath disk",
        "D10",
        "DM_MULTIPATH_DEVICE_PATH",
        lambda shop: _rule_of_udev(shop, "DM_MULTIPATH_DEVICE_PATH", "1"),
    ),
    Kind("marked by udev", "D17", "UDISKS_IGNORE", lambda shop: _rule_of_udev(shop, "UDISKS_IGNORE", "1")),
    Kind("named by fstab by its path", "D11", "by-path", _by_path),
    Kind("named by fstab by a link that is gone", "D11", "RIGVIRTIO1-part7", _by_id_that_is_gone),
)


@inside
@pytest.mark.parametrize("kind", KINDS_HERE, ids=lambda kind: kind.title)
def test_refused_until_blank(shop: Workshop, kind: Kind, note: Note) -> None:
    kind.make(shop)
    decision = shop.decide()
    assert decision.answer is SpareAnswer.NOT_SPARE
    evidence = kind.evidence.format(path=shop.path, name=shop.name)
    note(kind.title, kind.rule, refused_by(decision, kind.rule, evidence))
    shop.stack.close()
    shop.settle()
    shop.make_blank()
    accepted = shop.decide()
    assert (accepted.answer, accepted.refusals) == (SpareAnswer.SPARE, ())


@inside
@pytest.mark.parametrize("serial", BLANK)
def test_blank_disk_on_every_bus_spare(shop: Workshop, serial: str) -> None:
    (shop.path,) = named(serial)
    decision = shop.decide()
    assert (decision.answer, decision.refusals, decision.questions) == (SpareAnswer.SPARE, (), ())


@dataclass(frozen=True, slots=True)
class Born:
    """A disk that is refused for what it is: serial, rule, evidence."""

    title: str
    serial: str
    rule: str
    evidence: str


@inside
@pytest.mark.parametrize(
    "born",
    [
        Born("removable", "RIGUSB6", "D02", "removable is 1"),
        Born("read-only", "RIGVIRTIO7", "D02", "ro is 1"),
        Born("no identity", "", "D15", "no WWN"),
        Born("the same serial as another", "TWIN", "D10", "TWIN"),
    ],
    ids=lambda born: born.title,
)
def test_disk_refused_by_nature(shop: Workshop, born: Born, note: Note) -> None:
    for shop.path in named(born.serial):
        note(born.title, born.rule, refused_by(shop.decide(), born.rule, born.evidence))
    assert named(born.serial)


@inside
def test_the_disk_of_the_system_is_refused(shop: Workshop, note: Note) -> None:
    number = output("findmnt", "--noheadings", "--output", "MAJ:MIN", "--target", "/").strip()
    device = Path("/sys/dev/block", number).resolve()
    shop.path = f"/dev/{device.parent.name if (device / 'partition').exists() else device.name}"
    note("the system's own disk", "D12", refused_by(shop.decide(), "D12", "/ lies on"))


@inside
@pytest.mark.parametrize(
    ("title", "options", "rule", "evidence"),
    [
        ("zoned, managed by the host", ("zbc=managed", "zone_size_mb=64"), "D01", "type 20"),
        (
            "SCSI disk with a medium that can be taken out",
            ("ptype=0", "removable=1"),
            "D02",
            "removable is 1",
        ),
    ],
)
def test_foreign_scsi_device_refused(
    shop: Workshop, note: Note, title: str, options: tuple[str, ...], rule: str, evidence: str
) -> None:
    before = {disk["name"] for disk in whole_disks()}
    shop.run("modprobe", "scsi_debug", "dev_size_mb=1024", "num_tgts=1", *options)
    shop.later("modprobe", "--remove", "scsi_debug")
    shop.stack.callback(shop.settle)
    (name,) = {disk["name"] for disk in whole_disks()} - before
    shop.path = f"/dev/{name}"
    note(title, rule, refused_by(shop.decide(), rule, evidence))


ASK = """
import sys
from app.storage.spare.disks import list_disks
from app.storage.inspect.snapshot import Policy
for disk in list_disks(Policy()).disks:
    for refusal in disk.refusals:
        print(disk.identity.serial, refusal.rule, refusal.evidence, sep="|")
    if not disk.refusals:
        print(disk.identity.serial, disk.answer, sep="|")
"""


def refusal_rules(guest: Guest, serial: str) -> list[str]:
    lines = guest.output_of("python3", "-c", ASK).splitlines()
    return [line.partition("|")[2] for line in lines if line.startswith(f"{serial}|")]


def test_failing_disk_refused(start_guest: Callable[..., Guest], note: Note) -> None:
    guest = start_guest("nvme:1G")
    assert refusal_rules(guest, "RIGNVME1") == ["spare"]
    disk = {"path": "/machine/peripheral/disk1", "property": "smart_critical_warning"}
    guest.monitor.execute("qom-set", **disk, value=4)
    (refusal,) = refusal_rules(guest, "RIGNVME1")
    assert refusal.startswith("D16|reliability is degraded")
    note("NVMe critical warning", "D16", refusal.partition("|")[2])
    guest.monitor.execute("qom-set", **disk, value=0)
    assert refusal_rules(guest, "RIGNVME1") == ["spare"]
