"""Write the guest's ``vmlinux`` and ``initramfs`` from a Debian root that has the kernel's package.

Usage: ``initramfs.py BUILDER RELEASE FOLDER``.

Debian's own tools would need minutes and a root made for it; a guest whose hardware is known needs a static
busybox, a dozen modules in the right order, and twenty lines of shell. The archive is a "newc" cpio
(https://docs.kernel.org/driver-api/early-userspace/buffer-format.html).
"""

from __future__ import annotations

import lzma
import stat
import sys
from pathlib import Path

MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
XZ_MAGIC = b"\xfd7zXZ\0"

# The root is found by its serial, because names of disks follow the order of their discovery.
INIT = """#!/bin/busybox sh
busybox() {{ /bin/busybox "$@"; }}
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
for module in {modules}; do busybox insmod "/modules/$module"; done
tries=0 root=
while [ -z "$root" ] && [ "$tries" -lt 500 ]; do
  for disk in /sys/block/vd*; do
    [ "$(busybox cat "$disk/serial" 2>/dev/null)" != RIGROOT ] || root=/dev/${{disk##*/}}
  done
  tries=$((tries + 1))
  [ -n "$root" ] || busybox usleep 20000
done
if ! busybox mount -t ext4 -o noatime "$root" /root; then
  echo "the guest found no root disk"
  busybox poweroff -f
fi
for folder in proc sys dev; do busybox mount -o move "/$folder" "/root/$folder"; done
exec /bin/busybox switch_root /root /sbin/init
"""


def load_order(modules: Path) -> list[Path]:
    """Return the files of MODULES and of all they need, each after what it needs (from modules.dep)."""
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    paths = {Path(path).stem.replace("-", "_"): path for path in needs}
    order: list[str] = []

    def add(path: str) -> None:
        for needed in needs[path]:
            add(needed)
        if path not in order:
            order.append(path)

    for name in MODULES:
        if name in paths:  # otherwise it is built in
            add(paths[name])
    return [modules / path for path in order]


def archive(entries: list[tuple[str, int, bytes]]) -> bytes:
    """Return a newc archive of (name, mode, content)."""
    parts = []
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08X" % each for each in fields) + name.encode() + b"\0"
        parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]
    return b"".join(parts)


def initramfs(builder: Path, modules: Path) -> bytes:
    """Return the initramfs that mounts the guest's root and starts its init."""
    files = load_order(modules)
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "proc", "sys", "dev", "root", "modules")]
    entries.append(("bin/busybox", stat.S_IFREG | 0o755, (builder / "bin/busybox").read_bytes()))
    script = INIT.format(modules=" ".join(file.name for file in files))
    entries.append(("init", stat.S_IFREG | 0o755, script.encode()))
    entries += [(f"modules/{file.name}", stat.S_IFREG | 0o644, file.read_bytes()) for file in files]
    return archive(entries)


def vmlinux(bzimage: bytes) -> bytes:
    """Return the ELF file inside of a bzImage.

    Raises:
        ValueError: the image is not compressed with xz, as Debian's is.
    """
    start = bzimage.find(XZ_MAGIC)
    found = lzma.LZMADecompressor().decompress(bzimage[start:]) if start >= 0 else b""
    if not found.startswith(b"\x7fELF"):
        raise ValueError("the kernel's image holds no ELF file compressed with xz")
    return found


def main(builder: Path, release: str, folder: Path) -> None:
    """Write both files to `folder`."""
    (folder / "vmlinux").write_bytes(vmlinux((builder / f"boot/vmlinuz-{release}").read_bytes()))
    (folder / "initramfs").write_bytes(initramfs(builder, folder / "lib/modules" / release))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
