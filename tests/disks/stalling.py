"""A disk that hangs, fails or lies: a loop device over a file of a FUSE filesystem of ours.

``python -m tests.disks.stalling FILE PLACE`` serves FILE as the file PLACE, which is the whole filesystem. A
signal for each `Answers` changes how it answers about its content. A process that waits for a disk that hangs
is in state D. When the server ends, the kernel answers with errors: nothing hangs for longer than the test.
Source: Linux include/uapi/linux/fuse.h.
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
from enum import IntEnum
from pathlib import Path
from typing import Final

_GETATTR, _OPEN, _READ, _WRITE, _RELEASE, _FSYNC, _FLUSH, _INIT = 3, 14, 15, 16, 18, 20, 25, 26
_STATFS: Final = 17
_FALLOCATE: Final = 43
_CHANGING: Final = frozenset({_WRITE, _FSYNC, _FALLOCATE})
_ABOUT_CONTENT: Final = _CHANGING | {_READ}
_UNANSWERED: Final = frozenset({2, 36, 42})
"""FORGET, INTERRUPT, BATCH_FORGET."""
_HEADER: Final = struct.Struct("<IIQQIIII")
_PLACE: Final = struct.Struct("<QQI")
"""Of a read or a write: handle, offset, size."""
_MOST_BYTES: Final = 128 * 1024
_DIRECT_IO: Final = 1
_ENOSYS: Final = 38
_EIO: Final = 5
_LIMIT_S: Final = 60.0
_SECTOR: Final = 512


class Answers(IntEnum):
    """How a disk answers; each is the number of the signal that asks for it."""

    WELL = signal.SIGRTMIN
    NEVER = signal.SIGRTMIN + 1
    """It hangs, until it answers in another way again."""
    ERRORS = signal.SIGRTMIN + 2
    """EIO to whatever is read and written."""
    ERRORS_TO_WRITES = signal.SIGRTMIN + 3
    LOSES_WRITES = signal.SIGRTMIN + 4
    """It says that it wrote, and did not."""
    CHANGES_READS = signal.SIGRTMIN + 5
    """The last byte of each sector is another."""
    LATE = signal.SIGRTMIN + 6
    """It hangs for `LATE_S`, and is well then."""


LATE_S: Final = 1.0
_HANGING: Final = frozenset({Answers.NEVER, Answers.LATE})
_FAILING: Final = {Answers.ERRORS: _ABOUT_CONTENT, Answers.ERRORS_TO_WRITES: _CHANGING}


@dataclass
class _Server:
    """Answers the kernel, one request after the other."""

    device: int
    file: int
    how: Answers = Answers.WELL
    waiting: list[bytes] = field(default_factory=list)

    def serve(self) -> None:
        while True:
            request = os.read(self.device, 2 * _MOST_BYTES)
            if self.how in _HANGING and _HEADER.unpack_from(request)[1] in _ABOUT_CONTENT:
                self.waiting.append(request)
            else:
                self.answer(request)

    def become(self, number: int, _frame: object) -> None:
        self.how = Answers(number)
        signal.setitimer(signal.ITIMER_REAL, LATE_S if self.how is Answers.LATE else 0)
        self.go_on()
        os.write(sys.stdout.fileno(), f"{self.how.name}\n".encode())

    def end_late(self, *_: object) -> None:
        self.how = Answers.WELL
        self.go_on()

    def go_on(self) -> None:
        while self.waiting and self.how not in _HANGING:
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
        if code in _ABOUT_CONTENT:
            return self._content_body(code, content)
        if code == _INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, _MOST_BYTES, 0, 64, 48, _MOST_BYTES, 1, 0, 0, 0)
        if code == _GETATTR:
            size = os.fstat(self.file).st_size
            whose = (0, 0, 0, stat.S_IFREG | 0o600, 1, 0, 0, 0, 4096, 0)
            return struct.pack("<QII6Q10I", 1, 0, 0, 1, size, size // 512, 0, 0, 0, *whose)
        if code == _OPEN:
            return struct.pack("<QII", 0, _DIRECT_IO, 0)
        if code == _STATFS:  # a loop device over a filesystem without one does not discard
            return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
        if code in {_RELEASE, _FLUSH}:
            return b""
        raise OSError(_ENOSYS, os.strerror(_ENOSYS))

    def _content_body(self, code: int, content: bytes) -> bytes:
        if code in _FAILING.get(self.how, ()):
            raise OSError(_EIO, os.strerror(_EIO))
        if code == _READ:
            return self._read(*_PLACE.unpack_from(content)[1:])
        if code == _WRITE:
            return self._write(content)
        if code == _FALLOCATE:
            return self._allocate(*struct.unpack_from("<QQQI", content)[1:])
        return b""

    def _read(self, offset: int, size: int) -> bytes:
        data = os.pread(self.file, size, offset)
        if self.how is not Answers.CHANGES_READS:
            return data
        changed = bytearray(data)
        changed[_SECTOR - 1 :: _SECTOR] = bytes(each ^ 1 for each in changed[_SECTOR - 1 :: _SECTOR])
        return bytes(changed)

    def _write(self, content: bytes) -> bytes:
        _, offset, size = _PLACE.unpack_from(content)
        if self.how is not Answers.LOSES_WRITES:
            size = os.pwrite(self.file, content[40 : 40 + size], offset)
        return struct.pack("<II", size, 0)

    def _allocate(self, offset: int, length: int, mode: int) -> bytes:
        """Make a hole, or zeros: a loop device discards so."""
        places = ctypes.c_int64(offset), ctypes.c_int64(length)
        allocate = ctypes.CDLL(None, use_errno=True).fallocate
        if self.how is not Answers.LOSES_WRITES and allocate(self.file, mode, *places):
            raise OSError(ctypes.get_errno(), "fallocate")
        return b""


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
    for each in Answers:
        signal.signal(each, server.become)
    signal.signal(signal.SIGALRM, server.end_late)
    server.serve()


@dataclass
class StallingFile:
    """A file for a loop device, whose answers can change.

    Attributes:
        place: of the file.
        content: what is really in it.
        server: answers for it.
    """

    place: Path
    content: Path
    server: subprocess.Popen[bytes]

    def become(self, how: Answers) -> None:
        """Answer in another way from now on; what waits is answered so, too."""
        self.server.send_signal(how)
        assert self.server.stdout is not None
        assert self.server.stdout.readline() == f"{how.name}\n".encode()


@dataclass
class StallingDisk:
    """A loop device whose answers can stop.

    Attributes:
        node: of the device.
        file: below it.
    """

    node: str
    file: StallingFile

    def stall(self) -> None:
        """Answer nothing any more."""
        self.file.become(Answers.NEVER)

    def go_on(self) -> None:
        """Answer again, first what waits."""
        self.file.become(Answers.WELL)


def _wait_until(true: Callable[[], bool]) -> None:
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
def stalling_file(folder: Path, size_bytes: int) -> Iterator[StallingFile]:
    """Make a file of zeros that can hang; it is gone at the end, and errors are all that is left of it."""
    own = Path(tempfile.mkdtemp(prefix="stalling-", dir=folder))
    content, place = own / "disk.img", own / "disk"
    content.touch()
    os.truncate(content, size_bytes)
    place.touch()
    serve = [sys.executable, "-m", "tests.disks.stalling", str(content), str(place)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE)
    try:
        _wait_until(lambda: place.stat().st_size == size_bytes)
        yield StallingFile(place, content, server)
    finally:
        server.kill()
        server.communicate()
        subprocess.run(["umount", "--lazy", str(place)], check=False)
        shutil.rmtree(own)


@contextmanager
def stalling_disk(folder: Path, size_bytes: int, *options: str) -> Iterator[StallingDisk]:
    """Make a disk of zeros that can hang; gone, with everything that hangs on it, at the end."""
    node = ""
    try:
        with stalling_file(folder, size_bytes) as file:
            attach = ["losetup", "--find", "--show", *options, str(file.place)]
            node = subprocess.run(attach, capture_output=True, text=True, check=True).stdout.strip()
            yield StallingDisk(node, file)
    finally:
        if node:
            subprocess.run(["losetup", "--detach", node], check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
