"""Processes, mounts and devices that use a disk or its partition."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from app.domain.text import MIB
from app.storage.system import state
from tests.disks.matrix.disks import PARTITION_START, Range, run, settle, write, zero
from tests.disks.matrix.images import FORMATS
from tests.disks.matrix.stage import Certainty, Foreign, Given, Kind, Stage

_USER: Final = """
import mmap, os, sys, time
node, how, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
flags = {"reads": os.O_RDONLY, "exclusive": os.O_RDONLY | os.O_EXCL}.get(how, os.O_RDWR)
fd = os.open(node, flags)
area = None
if how == "maps":
    area = mmap.mmap(fd, 1 << 16, offset=at)
    os.close(fd)
number = 0
print("ready", flush=True)
os.set_blocking(0, False)
while True:
    try:
        if os.read(0, 1) == b"":
            break
    except BlockingIOError:
        pass
    number += 1
    data = (b"guest %08d " % number).ljust(64, b".") * 64
    if how == "writes":
        os.pwrite(fd, data, at)
        os.fsync(fd)
    if how == "maps":
        area[: len(data)] = data
        area.flush()
    time.sleep(0.05)
print(number, flush=True)
"""
_HIDER: Final = """
import array, ctypes, os, socket, sys
node, how = sys.argv[1:3]
fd = os.open(node, os.O_RDWR)
if how == "ring":
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))  # io_uring_setup(2)
    files = (ctypes.c_int * 1)(fd)
    assert ring >= 0 and libc.syscall(427, ring, 2, files, 1) == 0  # IORING_REGISTER_FILES
else:
    mine, its = socket.socketpair()
    mine.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
os.close(fd)
print("ready", flush=True)
sys.stdin.read()
"""
_SWAP: Final = next(form for form in FORMATS if form.name == "swap")
_EXT4: Final = next(form for form in FORMATS if form.name == "ext4")
_PLACE: Final = 300 * MIB


class _Process:
    """A process that uses a device until it is told to end."""

    def __init__(self, stage: Stage, *argv: str) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stage.stack.callback(self.end)
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"{argv} did not begin")

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def fault(self) -> str:
        """Return what became of it where it does not live any more."""
        return "" if self._process.poll() is None else "the process was ended"

    def end(self) -> str:
        """End it and return what it said last."""
        if self._process.stdin is None or self._process.stdin.closed:
            return ""
        self._process.stdin.close()
        assert self._process.stdout is not None
        said = self._process.stdout.read()
        self._process.wait(60)
        self._process.stdout.close()
        return said.strip()


def _used(stage: Stage, how: str, *, whole: bool = False) -> Foreign:
    """A process has the partition, or the disk, open."""
    node = stage.subject.node if whole else stage.target()
    at = 600 * MIB if whole else _PLACE
    if how in {"writes", "maps"} and not whole:
        stage.free()
    if how == "exclusive" and stage.is_live():
        stage.free()
    process = _Process(stage, sys.executable, "-S", "-c", _USER, node, how, str(at))
    start = at if whole else at + PARTITION_START
    # what it writes changes all the time: the rest must not
    ranges: tuple[Range, ...] = ((0, start), (start + MIB, stage.subject.size_bytes))
    if stage.is_live():
        ranges = stage.outside() if not whole else ((0, PARTITION_START),)
    return Foreign(
        Certainty.ALWAYS,
        stage.subject,
        ranges,
        (str(process.pid), "python"),
        process.end,
        fault=process.fault,
        comes_back=True,
    )


def _hidden(stage: Stage, how: str) -> Foreign | None:
    """A process has our partition for writing where nobody outside the kernel can see it."""
    node = stage.target()
    if not stage.subject.has_partition():
        return None
    before = stage.signature()
    process = _Process(stage, sys.executable, "-S", "-c", _HIDER, node, how)

    def fault() -> str:
        now = stage.signature()
        return process.fault() or ("" if now == before else f"{before!r} was wiped under an open writer")

    ranges = stage.outside() if stage.is_live() else ()
    return Foreign(Certainty.ALWAYS, stage.subject, ranges, (), process.end, fault=fault, comes_back=True)


def _copied_mount(stage: Stage) -> Foreign:
    """A container has a copy of all mounts, and nothing open: what it sees mounted stays."""
    process = _Process(
        stage,
        *("unshare", "--mount", "--propagation", "private", "bash", "-c", "echo ready && read -r _; true"),
    )
    place = stage.mounts()[0].folder

    def fault() -> str:
        lines = Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()
        return "" if any(line.split()[4] == place for line in lines) else "the container has lost its mount"

    return Foreign(
        Certainty.ALWAYS,
        stage.subject,
        ((0, PARTITION_START),),
        (str(process.pid), "mount"),
        process.end,
        fault=fault,
        comes_back=True,
    )


def _foreign_in_use(
    stage: Stage, begin: Callable[[Stage, str], Callable[[], object]], words: tuple[str, ...]
) -> Foreign:
    """Another filesystem in the place of ours, and used; not where the session has the disk exclusively."""
    stage.free()
    node = stage.target()
    start, end = stage.target_range()
    zero(node, 0, end - start)
    form = _SWAP if "swap" in words else _EXT4
    write(node, *stage.images.of(form, end - start))
    finish = begin(stage, node)

    def over() -> None:
        finish()
        zero(stage.subject.node, start, end - start)

    # a mounted filesystem writes into itself
    table = ((0, PARTITION_START), (end, stage.subject.size_bytes)) if start else None
    return Foreign(Certainty.ALWAYS, stage.subject, table, words, over)


def _folder(stage: Stage) -> Path:
    folder = stage.folder / f"place-{len(list(stage.folder.iterdir()))}"
    folder.mkdir()
    return folder


def _once(stage: Stage, action: Callable[[], object]) -> Callable[[], object]:
    """Return what does it at most once, and at the latest when the test ends."""
    done: list[bool] = []

    def do() -> None:
        if not done:
            done.append(True)
            action()

    stage.stack.callback(do)
    return do


def _mount(stage: Stage, node: str) -> Callable[[], object]:
    folder = _folder(stage)
    run("mount", *_how(node), node, str(folder))
    (folder / "precious").write_text("precious")
    return _once(stage, lambda: run("umount", str(folder)))


def _mount_elsewhere(stage: Stage, node: str) -> Callable[[], object]:
    script = 'mount "$@" && echo ready && read -r _; true'
    process = _Process(
        stage,
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "bash",
        "-c",
        script,
        "-",
        *_how(node),
        node,
        str(_folder(stage)),
    )
    return process.end


def _how(node: str) -> tuple[str, ...]:
    """Return options of ``mount``: what is no device is a mounted dataset of a pool."""
    return ("--bind",) if Path(node).is_dir() else ()


def _swapon(stage: Stage, node: str) -> Callable[[], object]:
    run("swapon", node)
    return _once(stage, lambda: run("swapoff", node))


def _loop(stage: Stage, node: str) -> Callable[[], object]:
    device = run("losetup", "--find", "--show", node)

    def end() -> None:
        settle()
        if array := state.array_on([device]):  # udevd assembles what lies on it
            run("mdadm", "--stop", array)
        run("losetup", "--detach", device)

    return _once(stage, end)


def _mapped_device(stage: Stage, node: str) -> Callable[[], object]:
    size = state.size_bytes(node) // 512
    run("dmsetup", "create", "matrix", text=f"0 {size} linear {node} 0\n")
    return _once(stage, lambda: run("dmsetup", "remove", "--retry", "matrix"))


def _over(
    stage: Stage, begin: Callable[[Stage, str], Callable[[], object]], words: tuple[str, ...]
) -> Foreign:
    """Something lies over our own partition, whose content is as it was."""
    stage.free()
    return Foreign(Certainty.ALWAYS, stage.subject, (), words, begin(stage, stage.target()), comes_back=True)


def _ours_mounted(stage: Stage, begin: Callable[[Stage, str], Callable[[], object]]) -> Foreign:
    """Our own filesystem is mounted at another place, too."""
    (ours,) = stage.mounts()
    return Foreign(
        Certainty.ALWAYS,
        stage.subject,
        ((0, PARTITION_START),),
        end=begin(stage, ours.folder if ours.filesystem == "zfs" else ours.source),
        comes_back=True,
    )


def _has_mapper() -> bool:
    return Path("/sys/class/misc/device-mapper").exists()


_PROCESSES: Final = (
    Kind("process: reads the partition", "processes", partial(_used, how="reads"), Given.TABLE),
    Kind("process: reads the disk", "processes", partial(_used, how="reads", whole=True), Given.TABLE),
    Kind("process: writes into the partition", "processes", partial(_used, how="writes"), Given.TABLE),
    Kind(
        "process: writes behind the partition",
        "processes",
        partial(_used, how="writes", whole=True),
        Given.TABLE,
    ),
    Kind("process: has the partition mapped", "processes", partial(_used, how="maps"), Given.TABLE),
    Kind("process: has the partition in an io_uring", "processes", partial(_hidden, how="ring"), Given.TABLE),
    Kind("process: has the partition in a socket", "processes", partial(_hidden, how="socket"), Given.TABLE),
    Kind("use: a container has a copy of the mount", "processes", _copied_mount, Given.MOUNTED),
    Kind("process: has the partition exclusively", "processes", partial(_used, how="exclusive"), Given.TABLE),
    Kind(
        "use: another ext4, mounted",
        "processes",
        partial(_foreign_in_use, begin=_mount, words=("ext4", "mount")),
        Given.PLACE,
    ),
    Kind(
        "use: another ext4, mounted in a namespace",
        "processes",
        partial(_foreign_in_use, begin=_mount_elsewhere, words=("ext4", "mount")),
        Given.PLACE,
    ),
    Kind(
        "use: swap, in use",
        "processes",
        partial(_foreign_in_use, begin=_swapon, words=("swap",)),
        Given.PLACE,
    ),
    Kind(
        "use: loop device over an ext4",
        "processes",
        partial(_foreign_in_use, begin=_loop, words=("ext4", "loop")),
        Given.PLACE,
    ),
    Kind(
        "use: loop device over ours", "processes", partial(_over, begin=_loop, words=("loop",)), Given.TABLE
    ),
    Kind(
        "use: ours is mounted elsewhere, too",
        "processes",
        partial(_ours_mounted, begin=_mount),
        Given.MOUNTED,
    ),
    Kind(
        "use: ours is mounted in a namespace, too",
        "processes",
        partial(_ours_mounted, begin=_mount_elsewhere),
        Given.MOUNTED,
    ),
)
MAPPED: Final = Kind(
    "use: device mapper over ours",
    "processes",
    partial(_over, begin=_mapped_device, words=("dm", "holder")),
    Given.TABLE,
)
"""Where the kernel has the device mapper."""
PROCESSES: Final[tuple[Kind, ...]] = (*_PROCESSES, MAPPED) if _has_mapper() else _PROCESSES
