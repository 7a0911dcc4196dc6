"""Every kind of disk that must be refused and can be made wherever there is root and a blank disk.

Each is made for real, by the tools that people make it with, and taken away again as the program advises.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.disks.workshop import Workshop

MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Kind:
    """A state in which a disk must be refused.

    Attributes:
        title: what it is; the name of the test.
        rule: the rule that must refuse it.
        evidence: what its evidence must contain; ``{name}`` is the disk.
        make: brings the disk into that state.
    """

    title: str
    rule: str
    evidence: str
    make: Callable[[Workshop], object]


def _ext4(shop: Workshop) -> None:
    shop.run("mkfs.ext4", "-q", "-F", shop.path)


def _mounted(shop: Workshop) -> None:
    _ext4(shop)
    shop.mount(shop.path)


def _mounted_elsewhere(shop: Workshop) -> None:
    """Mount in a namespace of its own, which this process does not see."""
    _ext4(shop)
    folder = shop.folder / "elsewhere"
    folder.mkdir()
    script = 'mount "$1" "$2" && echo ready && read -r _; true'
    shop.start("unshare", "--mount", "bash", "-c", script, "-", shop.path, str(folder))


_KEEPING = """
import os, subprocess, sys
script = 'mount "$1" "$2" && echo ready && read -r _'
argv = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "-", *sys.argv[1:]]
child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline()
kept = os.open(f"/proc/{child.pid}/ns/mnt", os.O_RDONLY)
child.communicate("end")
print("holding", flush=True)
sys.stdin.read()
"""


def _mounted_nowhere(shop: Workshop) -> None:
    """Mount in a namespace that no process is in; only an open file keeps it."""
    _ext4(shop)
    folder = shop.folder / "nowhere"
    folder.mkdir()
    shop.start(sys.executable, "-c", _KEEPING, shop.path, str(folder))


def _partition_mounted(shop: Workshop) -> None:
    shop.run("sfdisk", "--quiet", shop.path, text="label: gpt\nsize=300MiB\n")
    part = _partition(shop)
    shop.run("mkfs.ext4", "-q", part)
    shop.mount(part)


def _partition(shop: Workshop) -> str:
    shop.settle()
    part = f"{shop.name}p1" if shop.name[-1].isdigit() else f"{shop.name}1"
    if not Path("/sys/class/block", part).exists():  # without udev nobody else tells the kernel
        shop.run("partx", "--add", shop.path)
    return f"/dev/{part}"


def _swap(shop: Workshop) -> None:
    shop.run("mkswap", shop.path)
    shop.run("swapon", shop.path)
    shop.later("swapoff", shop.path)


def _btrfs_pair(shop: Workshop) -> str:
    """Make a btrfs whose second device is the disk; return the first."""
    first = shop.another()
    shop.run("mkfs.btrfs", "--quiet", first, shop.path)
    shop.stack.callback(shop.run, "wipefs", "--all", "--quiet", first)
    return first


def _btrfs_second_mounted(shop: Workshop) -> None:
    first = _btrfs_pair(shop)
    shop.run("btrfs", "device", "scan", first, shop.path)
    shop.mount(first)


def _gpt(shop: Workshop) -> None:
    shop.run("sfdisk", "--quiet", shop.path, text="label: gpt\nsize=300MiB\n")


def _gpt_backup_only(shop: Workshop) -> None:
    """Overwrite the beginning, as a hasty dd does: the copy of the table at the end is left."""
    _gpt(shop)
    shop.write(0, bytes(4 * MIB))
    shop.run("blockdev", "--rereadpt", shop.path)


def _luks(shop: Workshop) -> None:
    key = shop.folder / "key"
    key.write_bytes(b"x" * 64)
    options = ("--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
    shop.run("cryptsetup", "luksFormat", *options, shop.path, str(key))


def _lvm(shop: Workshop) -> None:
    options = ("--config", "devices { use_devicesfile=0 }", "--yes")
    shop.run("pvcreate", *options, shop.path)


def _old_data_in_the_middle(shop: Workshop) -> None:
    """A quarter of the disk around its half is foreign; no place is told to the rules."""
    half = shop.size_bytes // 2 // MIB
    for piece in range(half - half // 4, half + half // 4):
        shop.write(piece * MIB, b"\x5a" * MIB)


def _etc(shop: Workshop, name: str, text: str | bytes) -> None:
    """Write a configuration into a folder that stands for /etc."""
    shop.etc = shop.folder / "etc"
    file = shop.etc / name
    file.parent.mkdir(parents=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    shop.stack.callback(setattr, shop, "etc", None)
    shop.stack.callback(shutil.rmtree, shop.etc)


def _zpool_cache(shop: Workshop) -> None:
    path = shop.path.encode()
    # As in a cache file of OpenZFS 2.1: nvlist in XDR; name and value of a string pair
    pair = b"\0\0\0\x04path\0\0\0\x09\0\0\0\x01" + len(path).to_bytes(4, "big") + path + bytes(-len(path) % 4)
    _etc(shop, "zfs/zpool.cache", b"\x01\x01\0\0" + pair + bytes(8))


def _external_journal(shop: Workshop) -> None:
    first = shop.another()
    shop.run("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096", shop.path)
    shop.run("mkfs.ext4", "-q", "-F", "-b", "4096", "-J", f"device={shop.path}", first)
    shop.stack.callback(shop.run, "wipefs", "--all", "--quiet", first)
    shop.mount(first)


def _loop_over(shop: Workshop) -> None:
    device = shop.run("losetup", "--find", "--show", shop.path)
    shop.later("losetup", "--detach", device)


def _optical_image(shop: Workshop) -> None:
    source = shop.folder / "source"
    source.mkdir()
    (source / "file").write_text("x")
    shop.run("genisoimage", "-quiet", "-o", shop.path, str(source))


def _squashfs(shop: Workshop) -> None:
    source = shop.folder / "source"
    source.mkdir()
    (source / "file").write_text("x")
    image = shop.folder / "squashed"
    shop.run("mksquashfs", str(source), str(image), "-quiet", "-no-progress")
    shop.write(0, image.read_bytes())


def _mkfs(title: str, name: str, *argv: str, rule: str = "D08") -> Kind:
    """A foreign signature, made by the tool of its format; the disk is the last argument."""
    return Kind(title, rule, f"{name}, at byte", lambda shop: shop.run(*argv, shop.path))


def _file(title: str, name: str, text: str) -> Kind:
    """A configuration in /etc that names the disk."""
    return Kind(
        title,
        "D11",
        f"etc/{name} names {{path}}",
        lambda shop: _etc(shop, name, text.format(path=shop.path, name=shop.name)),
    )


def _mapped_in_chroot(shop: Workshop) -> None:
    shop.hold(shop.path, "mapped", Path(tempfile.mkdtemp(dir=shop.folder)))


KINDS: tuple[Kind, ...] = (
    Kind("mounted", "D05", "mount ", _mounted),
    Kind("mounted in another namespace", "D05", "elsewhere", _mounted_elsewhere),
    Kind("mounted in a namespace without processes", "D14", "O_EXCL", _mounted_nowhere),
    Kind("a partition is mounted", "D05", "mount ", _partition_mounted),
    Kind("swap in use", "D04", "/proc/swaps", _swap),
    Kind("second device of a mounted btrfs", "D06", "/sys/fs/btrfs", _btrfs_second_mounted),
    Kind("journal of a mounted ext4", "D14", "O_EXCL", _external_journal),
    Kind("open by another process", "D13", "/fd/", lambda shop: shop.hold(shop.path, "open")),
    Kind("mapped by another process", "D13", "/map_files/", lambda shop: shop.hold(shop.path, "mapped")),
    Kind("mapped in a chroot", "D13", "/map_files/", _mapped_in_chroot),
    Kind("held exclusively", "D14", "O_EXCL", lambda shop: shop.hold(shop.path, "exclusive")),
    Kind("below a loop device", "D13", "/dev/loop", _loop_over),
    _mkfs("swap not in use", "swap", "mkswap", rule="D09"),
    Kind("LVM physical volume", "D09", "LVM2_member, at byte 512", _lvm),
    Kind("LUKS", "D09", "crypto_LUKS, at byte 0", _luks),
    Kind(
        "second device of a btrfs",
        "D08",
        "btrfs, at byte 65600",
        _btrfs_pair,
    ),
    Kind("partition table: GPT", "D08", "gpt, at byte 512", _gpt),
    Kind("partition table: GPT, only its copy left", "D08", "gpt, at byte", _gpt_backup_only),
    Kind(
        "partition table: MBR",
        "D08",
        "dos, at byte 510",
        lambda shop: shop.run("sfdisk", "--quiet", shop.path, text="label: dos\nsize=100MiB\n"),
    ),
    Kind(
        "partition table without partitions",
        "D08",
        "dos, at byte 510",
        lambda shop: shop.run("sfdisk", "--quiet", shop.path, text="label: dos\n"),
    ),
    _mkfs("ext2", "ext2", "mke2fs", "-q", "-F", "-t", "ext2"),
    _mkfs("ext3", "ext3", "mke2fs", "-q", "-F", "-t", "ext3"),
    _mkfs("ext4", "ext4", "mke2fs", "-q", "-F", "-t", "ext4"),
    _mkfs("journal of ext4", "jbd", "mke2fs", "-q", "-F", "-O", "journal_dev"),
    _mkfs("xfs", "xfs", "mkfs.xfs", "-q"),
    _mkfs("btrfs", "btrfs", "mkfs.btrfs", "--quiet"),
    _mkfs("f2fs", "f2fs", "mkfs.f2fs", "-q"),
    _mkfs("FAT", "vfat", "mkfs.vfat", "-I"),
    _mkfs("NTFS", "ntfs", "mkfs.ntfs", "--quick", "--quiet", "--force"),
    _mkfs("exFAT", "exfat", "mkfs.exfat"),
    _mkfs("reiserfs", "reiserfs", "mkreiserfs", "-q", "-f", "-f"),
    _mkfs("JFS", "jfs", "mkfs.jfs", "-q"),
    _mkfs("NILFS2", "nilfs2", "mkfs.nilfs2", "-q", "-f"),
    _mkfs("minix", "minix", "mkfs.minix"),
    _mkfs("UDF", "udf", "mkudffs"),
    _mkfs("bcache", "bcache", "make-bcache", "-B", rule="D09"),
    Kind("ISO 9660", "D08", "iso9660, at byte", _optical_image),
    Kind("squashfs", "D08", "squashfs, at byte 0", _squashfs),
    Kind(
        "one unknown byte at the beginning",
        "D08b",
        "byte 5000001 ",
        lambda shop: shop.write(5_000_001, b"\1"),
    ),
    Kind("one unknown byte at the end", "D08b", "is not zero", lambda shop: shop.write(-1, b"\1")),
    Kind("unknown data in the middle", "D08b", "samples are not zero", _old_data_in_the_middle),
    _file("named by fstab", "fstab", "# comment\n{path} /srv ext4 defaults 0 2\n"),
    _file("named by crypttab", "crypttab", "secret {path} none luks\n"),
    _file("named by mdadm.conf", "mdadm/mdadm.conf", "ARRAY /dev/md0 devices=/dev/none,{path}\n"),
    _file(
        "named by LVM's devices file", "lvm/devices/system.devices", "IDTYPE=devname DEVNAME={path} PVID=x\n"
    ),
    _file("named by a systemd unit", "systemd/system/srv.mount", "[Mount]\nWhat={path}\nWhere=/srv\n"),
    Kind("named by zpool.cache", "D11", "zpool.cache names {path}", _zpool_cache),
)
