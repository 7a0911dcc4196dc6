"""Where disks are brought into every state that must be refused, and what the program says of them then."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import SpareDecision, decide

LIMIT_S = 240
_LOOP_CTL_ADD = 0x4C80
_LOOP_CTL_REMOVE = 0x4C81
_LOOKING = (": udisksd (", ": dumpe2fs (", ": blkid (", ": mdadm (", ": lvm (", ": btrfs (", ": udevadm (")
_HOLDING = """
import mmap, os, stat, sys
_, device, how, jail = sys.argv
if jail:
    number = os.stat(device).st_rdev
    os.chroot(jail)
    os.mkdir("/dev")
    os.mknod(device := "/dev/disk", stat.S_IFBLK | 0o600, number)
fd = os.open(device, os.O_RDONLY | (os.O_EXCL if how == "exclusive" else 0))
if how == "mapped":
    area = mmap.mmap(fd, 4096, prot=mmap.PROT_READ)
    os.close(fd)
print("holding", flush=True)
sys.stdin.read()
"""


@dataclass(slots=True)
class Workshop:
    """One disk, further ones, tools, and the rules.

    Attributes:
        path: device node of the disk.
        folder: for files and mount points.
        another: gives another blank disk.
        policy: what the rules get.
        stack: what is undone when the state is taken away.
        etc: folder that stands for /etc; None for the real one.
    """

    path: str
    folder: Path
    another: Callable[[], str]
    policy: Policy
    stack: ExitStack
    etc: Path | None = None
    chosen: DiskIdentity | None = field(default=None)

    @property
    def name(self) -> str:
        """Kernel name of the disk."""
        return Path(self.path).name

    def run(self, *argv: str, text: str = "") -> str:
        """Run a program of the system; what is not installed skips the test."""
        if shutil.which(argv[0]) is None:
            pytest.skip(f"{argv[0]} is not installed")
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout.strip()

    def later(self, *argv: str) -> None:
        """Run a program when the state is taken away."""
        self.stack.callback(self.run, *argv)

    def settle(self) -> None:
        """Wait until udev, where there is one, has seen what changed."""
        if Path("/run/udev/control").exists():
            self.run("udevadm", "settle")

    def write(self, offset: int, data: bytes) -> None:
        """Write into the disk, past the page cache's mind."""
        with open(self.path, "r+b", buffering=0) as file:  # noqa: PTH123 - a device
            file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
            file.write(data)
            os.fsync(file.fileno())

    @property
    def size_bytes(self) -> int:
        """Size of the disk."""
        with open(self.path, "rb") as file:  # noqa: PTH123 - a device
            return file.seek(0, os.SEEK_END)

    def mount(self, device: str, *options: str) -> Path:
        """Mount a device in a new folder until the state is taken away."""
        folder = self.folder / f"mount {len(list(self.folder.iterdir()))}"
        folder.mkdir()
        self.run("mount", *options, device, str(folder))
        self.later("umount", str(folder))
        return folder

    def hold(self, device: str, how: str, jail: Path | str = "") -> None:
        """Let another process, in a chroot or not, hold a device: ``open``, ``exclusive`` or ``mapped``."""
        self.start(sys.executable, "-c", _HOLDING, device, how, str(jail))

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """Start a process that says one line when it is ready, and ends when its input does."""
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stack.callback(_end, process)
        assert process.stdout is not None
        assert process.stdout.readline(), argv
        return process

    def decide(self) -> SpareDecision:
        """Return what the rules say of the disk now, as root.

        UDisks2 and what it and udevd start look at a disk after it changed, and nothing tells when
        they are done; they are waited for.
        """
        deadline = time.monotonic() + LIMIT_S
        while True:
            decision = self._decide()
            looking = {refusal.evidence for refusal in decision.refusals if refusal.rule == "D13"}
            if not any(name in text for text in looking for name in _LOOKING) or time.monotonic() > deadline:
                return decision
            time.sleep(0.05)

    def _decide(self) -> SpareDecision:
        self.settle()
        with readable_proc(self.folder) as proc:
            places = SourceFolders(proc=proc, etc=self.etc or Path("/etc"), as_root=True)
            snapshot = inspect_machine(self.policy, places, only=frozenset({self.name}))
        return decide(snapshot, self.name, self.policy, chosen=self.chosen)

    def make_blank(self) -> None:
        """Follow the program's own advice until nothing that can be erased is left."""
        for refusal in self.decide().refusals:
            commands = refusal.remedy.partition("for good: ")[2]
            if commands:
                for command in commands.split(" && "):
                    self.run(*command.split())
                return


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(LIMIT_S)
    process.stdout.close()


class readable_proc:  # noqa: N801 - used like a function
    """A view of /proc without the processes that even root may not look at here, such as a sandbox's init.

    The rules refuse everything where there are such processes, and rightly; the disks of a test are no
    business of theirs. Where root may look at all processes, it is /proc itself.
    """

    def __init__(self, folder: Path) -> None:
        self._view = folder / "proc"

    def __enter__(self) -> Path:
        denied = {
            folder.name for folder in Path("/proc").iterdir() if folder.name.isdigit() and _is_denied(folder)
        }
        if not denied:
            return Path("/proc")
        self._view.mkdir()
        for entry in Path("/proc").iterdir():
            if entry.name not in denied:
                (self._view / entry.name).symlink_to(entry)
        return self._view

    def __exit__(self, *_: object) -> None:
        if self._view.is_dir():
            shutil.rmtree(self._view)


def _is_denied(folder: Path) -> bool:
    try:
        (folder / "ns/mnt").readlink()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def attach(stack: ExitStack, image: Path, *options: str, device: str = "") -> str:
    """Attach a loop device to a file until the stack is closed; return its node.

    Args:
        stack: detaches it; only while its file lies in the folder of `image`, because a number that was given
            back in between may be somebody else's by then.
        image: the file.
        options: of losetup.
        device: which one; a free one without it.
    """
    where = [device] if device else ["--find", "--show"]
    argv = ["losetup", "--partscan", *options, *where, str(image)]
    device = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip() or device
    stack.callback(_detach, device, image.parent)
    return device


def _detach(device: str, folder: Path) -> None:
    backing = Path("/sys/block", Path(device).name, "loop/backing_file")
    if backing.exists() and backing.read_text().startswith(f"{folder}/"):
        subprocess.run(["losetup", "--detach", device], check=True)


def own_loop_device(stack: ExitStack) -> str:
    """Make a loop device of a number that nobody looks for; gone when the stack is closed."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    stack.callback(os.close, control)
    while True:
        number = random.randrange(5000, 16_000)  # noqa: S311 - any that is free
        with suppress(FileExistsError):
            fcntl.ioctl(control, _LOOP_CTL_ADD, number)
            break
    stack.callback(_remove, control, number)
    return f"/dev/loop{number}"


def _remove(control: int, number: int) -> None:
    """Remove a loop device as soon as nobody, such as udevd, has it open."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            fcntl.ioctl(control, _LOOP_CTL_REMOVE, number)
        except OSError as err:
            if err.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def images(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Yield sparse files."""
    number = 0
    while True:
        number += 1
        image = folder / f"image {number}"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        yield image
