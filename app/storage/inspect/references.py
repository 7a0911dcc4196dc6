"""Find devices named in configurations: fstab, crypttab, mdadm, LVM, ZFS, systemd, kernel command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from app.storage.inspect.snapshot import Reading, Reference
from app.storage.inspect.sources import SourceFolders, text_of
from app.storage.inspect.uses import node_number

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
