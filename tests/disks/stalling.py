"""A disk that hangs: a loop device over a file of a FUSE filesystem of ours, whose answers can stop.

``python -m tests.disks.stalling FILE PLACE`` serves FILE as the file PLACE, which is the whole filesystem.
SIGUSR1 stops the answers about its content, SIGUSR2 gives those that wait, and all others again. A process
that waits for the disk is in state D. When the server ends, the kernel answers with errors: nothing hangs for
longer than the test. Source: Linux include/uapi/linux/fuse.h.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_GETATTR, _OPEN, _READ, _WRITE, _RELEASE, _FSYNC, _FLUSH, _INIT = 3, 14, 15, 16, 18, 20, 25, 26
_UNANSWERED: Final = frozenset({2, 36, 42})
"""FORGET, INTERRUPT, BATCH_FORGET."""
_HEADER: Final = struct.Struct("<IIQQIIII")
_MOST_BYTES: Final = 128 * 1024
_DIRECT_IO: Final = 1
_ENOSYS: Final = 38
_LIMIT_S: Final = 60.0


@dataclass
class _Server:
    """Answers the kernel, one request after the other."""

    device: int
    file: int
    is_stalled: bool = False
    waiting: list[bytes] = field(default_factory=list)

    def serve(self) -> None:
        while True:
            request = os.read(self.device, 2 * _MOST_BYTES)
            if self.is_stalled and _HEADER.unpack_from(request)[1] in {_READ, _WRITE, _FSYNC}:
                self.waiting.append(request)
            else:
                self.answer(request)

    def stall(self, *_: object) -> None:
        self.is_stalled = True
        os.write(sys.stdout.fileno(), b"stalled\n")

    def go_on(self, *_: object) -> None:
        self.is_stalled = False
        while self.waiting:
            self.answer(self.waiting.pop(0))

    def answer(self, request: bytes) -> None:
        _, code, unique, *_ = _HEADER.unpack_from(request)
        if code in _UNANSWERED:
            return
        error, body = 0, b""
        try:
            body = self._body(code, request[_HEADER.size :])
        except OSError as err:
            error = -(err.errno or _ENOSYS)
        with suppress(FileNotFoundError):  # who asked was killed
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

    def _body(self, code: int, content: bytes) -> bytes:
        if code == _INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, _MOST_BYTES, 0, 64, 48, _MOST_BYTES, 1, 0, 0, 0)
        if code == _GETATTR:
            size = os.fstat(self.file).st_size
            whose = (0, 0, 0, stat.S_IFREG | 0o600, 1, 0, 0, 0, 4096, 0)
            return struct.pack("<QII6Q10I", 1, 0, 0, 1, size, size // 512, 0, 0, 0, *whose)
        if code == _OPEN:
            return struct.pack("<QII", 0, _DIRECT_IO, 0)
        if code in {_READ, _WRITE}:
            _, offset, size = struct.unpack_from("<QQI", content)
            if code == _READ:
                return os.pread(self.file, size, offset)
            return struct.pack("<II", os.pwrite(self.file, content[40 : 40 + size], offset), 0)
        if code in {_RELEASE, _FSYNC, _FLUSH}:
            return b""
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))


def _mount(place: str) -> int:
    """Mount a filesystem that is one file over a file; return the descriptor of its requests."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=100000,user_id=0,group_id=0,allow_other".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"stalling", place.encode(), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), "mount", place)
    return device


def main(file: str, place: str) -> None:
    """Serve until killed."""
    server = _Server(_mount(place), os.open(file, os.O_RDWR))
    signal.signal(signal.SIGUSR1, server.stall)
    signal.signal(signal.SIGUSR2, server.go_on)
    server.serve()


@dataclass
class StallingDisk:
    """A loop device whose answers can stop.

    Attributes:
        node: of the device.
        server: answers for it.
    """

    node: str
    server: subprocess.Popen[bytes]

    def stall(self) -> None:
        """Answer nothing any more."""
        self.server.send_signal(signal.SIGUSR1)
        assert self.server.stdout is not None
        assert self.server.stdout.readline() == b"stalled\n"

    def go_on(self) -> None:
        """Answer again, first what waits."""
        self.server.send_signal(signal.SIGUSR2)

    @staticmethod
    def _until(true: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + _LIMIT_S
        while not true():
            assert time.monotonic() < deadline_s
            time.sleep(0.02)


def is_waiting(pid: int) -> bool:
    """Whether a process, or a thread of it, waits for the kernel in state D."""
    states = [
        each.read_text().rpartition(")")[2].split()[0] for each in Path(f"/proc/{pid}/task").glob("*/stat")
    ]
    return "D" in states


@contextmanager
def stalling_disk(folder: Path, size_bytes: int, *options: str) -> Iterator[StallingDisk]:
    """Make a disk of zeros that can hang; gone, with everything that hangs on it, at the end."""
    own = Path(tempfile.mkdtemp(prefix="stalling-", dir=folder))
    file, place = own / "disk.img", own / "disk"
    file.touch()
    os.truncate(file, size_bytes)
    place.touch()
    serve = [sys.executable, "-m", "tests.disks.stalling", str(file), str(place)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE)
    node = ""
    try:
        StallingDisk._until(lambda: place.stat().st_size == size_bytes)
        attach = ["losetup", "--find", "--show", *options, str(place)]
        node = subprocess.run(attach, capture_output=True, text=True, check=True).stdout.strip()
        yield StallingDisk(node, server)
    finally:
        server.kill()
        server.communicate()
        if node:
            subprocess.run(["losetup", "--detach", node], check=False)
        subprocess.run(["umount", "--lazy", str(place)], check=False)
        shutil.rmtree(own)


if __name__ == "__main__":
    main(*sys.argv[1:])
