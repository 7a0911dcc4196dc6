"""Find block devices used by the kernel itself, and those named in configurations.

Sources: proc(5), btrfs(5) sysfs, zpool-status(8), md(4), loop(4), configfs of LIO and nvmet.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError
from app.domain.messages.message import say
from app.storage.inspect.snapshot import (
    DeviceUse,
    Reading,
    Reference,
    SourceKnowledge,
    absent,
    read,
    unreadable,
)
from app.storage.inspect.sources import SourceFolders, number_of, text_of
from app.storage.system.programs import run_program

_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_ZPOOL_TIMEOUT_S: Final = 15.0
_LOOP_GET_STATUS64: Final = 0x4C05
_LOOP_INFO_BYTES: Final = 232
_FILE_AWAY: Final = frozenset({errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT})
"""The kernel's errors for a file of another machine, or of a process that died."""


def unescape(text: str) -> str:
    """Decode a path of mountinfo or swaps: proc(5) writes white space as octal numbers."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def node_number(node: str) -> str:
    """Return the number of the block device that a path leads to; empty if it leads to none."""
    with suppress(OSError, ValueError):
        status = Path(node).stat()
        if stat.S_ISBLK(status.st_mode):
            return number_of(status)
    return ""


def read_swaps(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return the swap areas on devices; swap files are on filesystems that are mounted anyway."""
    return places.attempt(places.proc / "swaps", lambda: tuple(_swaps(text_of(places.proc / "swaps"))))


def _swaps(text: str) -> Iterator[DeviceUse]:
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 2:
            raise ValueError(say("swaps-line-unknown", line=line[:80]))
        area = unescape(words[0])
        number = node_number(area)
        if not number and words[1] == "partition":
            raise ValueError(say("swap-area-not-found", area=area))
        if number:
            yield DeviceUse(number, area, "/proc/swaps")


def read_btrfs(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return all devices of mounted btrfs filesystems; mountinfo shows only one of several."""
    root = places.sys / "fs/btrfs"

    def devices() -> tuple[DeviceUse, ...]:
        return tuple(
            DeviceUse(text_of(link / "dev"), say("btrfs-uuid", uuid=folder.name), str(link))
            for folder in sorted(root.iterdir())
            if (folder / "devices").is_dir()
            for link in sorted((folder / "devices").iterdir())
        )

    return places.attempt(root, devices)


def read_pools(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return the devices of imported pools, with spares, caches and logs; holders/ stays empty for them."""
    if not (places.sys / "module/zfs").exists() and not (places.proc / "spl/kstat/zfs").exists():
        return absent(say("zfs-not-loaded"))
    try:
        ended = run_program(("zpool", "status", "-LP"), timeout_s=_ZPOOL_TIMEOUT_S)
    except FootingError as err:
        return unreadable(say("zfs-error", error=err.message))
    if ended.exit_code != 0:
        return unreadable(say("zpool-status-error", error=ended.complaint()))
    return read(tuple(parse_pools(ended.stdout)))


def parse_pools(text: str) -> Iterator[DeviceUse]:
    """Yield the devices in the output of ``zpool status -LP`` (zpool-status(8), OpenZFS 2.1 to 2.4)."""
    pool = ""
    for line in text.splitlines():
        first, _, rest = line.strip().partition(" ")
        if first == "pool:":
            pool = rest
        elif first.startswith("/") and (number := node_number(first)):
            yield DeviceUse(number, pool, f"zpool status: {first}")


def read_arrays(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return the members of md arrays, including inactive ones."""

    def members() -> tuple[DeviceUse, ...]:
        return tuple(
            DeviceUse(text_of(places.sys / "class/block" / name / "dev"), array, "/proc/mdstat")
            for array, name in parse_mdstat(text_of(places.proc / "mdstat"))
        )

    return places.attempt(places.proc / "mdstat", members)


def parse_mdstat(text: str) -> Iterator[tuple[str, str]]:
    """Yield (array, member) for every member in /proc/mdstat (md(4))."""
    for line in text.splitlines():
        array, _, rest = line.partition(" : ")
        for match in re.finditer(r"(\S+)\[\d+\]", rest):
            yield array, match[1]


@dataclass(frozen=True, slots=True)
class LoopBacking:
    """Backing of a loop device: the device that holds its file, or the device that is its file."""

    name: str
    below: str
    is_device: bool


def read_loop_backings(places: SourceFolders) -> Reading[tuple[LoopBacking, ...]]:
    """Return the backing of each attached loop device, also for files that this namespace does not show."""

    def backings() -> tuple[LoopBacking, ...]:
        folders = sorted((places.sys / "block").glob("loop*"))
        found = (_backing(places, each) for each in folders if (each / "loop/backing_file").exists())
        return tuple(backing for backing in found if backing is not None)

    return places.attempt(places.sys / "block", backings)


def _backing(places: SourceFolders, folder: Path) -> LoopBacking | None:
    """Return the backing of a loop device; None if it was detached in between."""
    # O_NONBLOCK: a FIFO in the place of the node would keep root waiting for ever.
    fd = os.open(places.dev / folder.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_LOOP_INFO_BYTES))
    except OSError as err:
        if err.errno == errno.ENXIO:
            return None
        if err.errno in _FILE_AWAY:  # it is on no disk of this machine
            return LoopBacking(folder.name, "", is_device=False)
        raise
    finally:
        os.close(fd)
    holding, _, own = struct.unpack_from("<QQQ", data)
    # Kernels before 5.8 repeat the holding device if the file is not a device.
    is_device = own not in {0, holding}
    number = own if is_device else holding
    return LoopBacking(folder.name, f"{os.major(number)}:{os.minor(number)}", is_device)


def loop_uses(backings: Reading[tuple[LoopBacking, ...]]) -> Reading[tuple[DeviceUse, ...]]:
    """Return the devices that loop devices read from directly: the kernel has them open, no process does."""
    uses = tuple(
        DeviceUse(each.below, f"/dev/{each.name}", f"/sys/block/{each.name}/loop")
        for each in backings.known(())
        if each.is_device
    )
    return Reading(backings.state, uses, backings.reason)


def read_targets(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return devices that LIO (iSCSI, FC, vhost) or nvmet serve; nvmet does not claim them exclusively."""
    root = places.sys / "kernel/config"

    def served() -> tuple[DeviceUse, ...]:
        paths = [
            *root.glob("target/core/*/*/udev_path"),
            *root.glob("nvmet/subsystems/*/namespaces/*/device_path"),
        ]
        uses = ((path, node_number(text_of(path).strip())) for path in paths)
        return tuple(DeviceUse(number, text_of(path).strip(), str(path)) for path, number in uses if number)

    return places.attempt(root, served)


def read_stacking(
    places: SourceFolders, backings: Reading[tuple[LoopBacking, ...]]
) -> Reading[Mapping[str, tuple[str, ...]]]:
    """Return the devices directly below every block device."""

    def layers() -> Mapping[str, tuple[str, ...]]:
        below: dict[str, tuple[str, ...]] = {}
        for folder in (places.sys / "class/block").iterdir():
            try:
                place = folder.resolve(strict=True)
                parts = [text_of(place.parent / "dev")] if (place / "partition").exists() else []
                with suppress(FileNotFoundError):
                    parts += [text_of(slave / "dev") for slave in (place / "slaves").iterdir()]
                parts += [each.below for each in backings.known(()) if each.name == folder.name]
                below[text_of(place / "dev")] = tuple(parts)
            except FileNotFoundError:
                if folder.exists():
                    raise
                continue  # it went away in between, as partitions of other disks do
        return below

    found = places.attempt(places.sys / "class/block", layers)
    if found.state is SourceKnowledge.READ:
        return Reading(backings.state, found.value, backings.reason)
    return found


def read_hibernation(places: SourceFolders) -> Reading[str]:
    """Return the device of the hibernation image; 0:0, which no device has, if none is set."""
    file = places.sys / "power/resume"
    return places.attempt(file, lambda: text_of(file).strip())


# Find devices named in configurations: fstab, crypttab, mdadm, LVM, ZFS, systemd, kernel command line.


_DEVICE: Final = re.compile(
    r"/dev/[^\s,;\"'()\x00-\x1f]+"
    r"|\b(?:PART)?(?:UUID|LABEL)=\"?[^\s,;\"']+"
    r"|\bIDNAME=[^\s\"']+"
)
_GLOB: Final = re.compile(r"[*?\[]")
_UNITS: Final = ("*.mount", "*.swap", "*.automount", "*.mount.d/*.conf", "*.swap.d/*.conf")
_STRINGS: Final = re.compile(rb"/dev/[\x21-\x7e]+")


def devices_in(text: str) -> Iterator[str]:
    """Yield the devices named in a configuration outside of comments.

    Skips patterns such as ``DEVICE /dev/sd*`` of mdadm.conf, which only say where to look.
    """
    for line in text.splitlines():
        if line.lstrip().startswith(("#", ";")):
            continue
        for match in _DEVICE.finditer(line):
            found = match[0].replace('"', "")
            if not _GLOB.search(found):
                yield found


def _references(file: str, texts: Iterable[str]) -> Iterator[Reference]:
    for text in dict.fromkeys(texts):
        yield Reference(file, text, node_number(_path(text)))


def _path(text: str) -> str:
    """Return the path of a device; udev's links for UUIDs and labels."""
    name, _, value = text.partition("=")
    if name in {"UUID", "LABEL", "PARTUUID", "PARTLABEL"}:
        return f"/dev/disk/by-{name.lower()}/{value}"
    return text


def _read_file(places: SourceFolders, file: Path) -> Reading[tuple[Reference, ...]]:
    return places.attempt(file, lambda: tuple(_references(str(file), devices_in(text_of(file)))))


def _read_files(places: SourceFolders, files: Callable[[], Iterable[Path]]) -> Reading[tuple[Reference, ...]]:
    """Read all files of one source; a dangling link names nothing."""

    def references() -> tuple[Reference, ...]:
        return tuple(
            reference
            for file in files()
            if file.exists()
            for reference in _references(str(file), devices_in(text_of(file)))
        )

    return places.attempt(places.etc, references)


def read_fstab(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in fstab(5)."""
    return _read_file(places, places.etc / "fstab")


def read_crypttab(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in crypttab(5): encrypted devices, and devices with keys."""
    return _read_file(places, places.etc / "crypttab")


def read_mdadm(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in mdadm.conf(5), in both of its places and their folders."""
    names = ("mdadm/mdadm.conf", "mdadm.conf")
    return _read_files(
        places,
        lambda: (
            *(places.etc / name for name in names),
            *sorted(places.etc.glob("mdadm/mdadm.conf.d/*.conf")),
            *sorted(places.etc.glob("mdadm.conf.d/*.conf")),
        ),
    )


def read_lvm(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in LVM's devices files (lvmdevices(8))."""
    return _read_files(places, lambda: sorted(places.etc.glob("lvm/devices/*.devices")))


def read_zpool_cache(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the device paths in zpool.cache: pools that will be imported at the next start."""
    file = places.etc / "zfs/zpool.cache"

    def paths() -> tuple[Reference, ...]:
        found = (match[0].decode("ascii") for match in _STRINGS.finditer(file.read_bytes()))
        return tuple(_references(str(file), found))

    return places.attempt(file, paths)


def read_units(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in mount and swap units of systemd, including generated ones."""

    def files() -> Iterator[Path]:
        for root in (places.etc, places.run, places.lib):
            for folder in ("system", "generator", "generator.early", "generator.late", "transient"):
                for pattern in _UNITS:
                    yield from sorted((root / "systemd" / folder).glob(pattern))

    return _read_files(places, files)


def read_cmdline(places: SourceFolders) -> Reading[tuple[Reference, ...]]:
    """Return the devices in the kernel's command line: root=, resume= and similar."""
    return _read_file(places, places.proc / "cmdline")
