"""A guest that is started, given jobs, and ended: what run-guest and the machine tests share.

Only the standard library: run-guest works before any environment exists.
"""

from __future__ import annotations

import fcntl
import functools
import io
import marshal
import os
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.machine.rig_disks import RigDisk, disk_options, parse_disk
from tests.machine.rig_qemu import QEMU, Monitor, escaped, machine_options

MACHINE = Path(__file__).resolve().parent
CHECKOUT = MACHINE.parent.parent
PROJECT = "/srv/pgFooting project"
SHARE = "/run/rig/share"
ACCOUNTS = ("root", "user", "seat")
BOOT_LIMIT_S = 300.0
# Debian 12's.
_GUEST_PYTHON = (3, 11)

TIMED_OUT = 124
DIED = 125


class GuestError(Exception):
    """The guest gives no answer; `status` is the exit status of run-guest for it."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def built_guest() -> Path:
    """Return the folder of the guest, which is built now if it is missing (minutes).

    packaging/test has built it before and names it in PGFOOTING_GUEST_FOLDER, because tests do not see the
    user's cache.

    Raises:
        GuestError: it cannot be built; build-guest has told why on standard error.
    """
    if named := os.environ.get("PGFOOTING_GUEST_FOLDER"):
        return Path(named)
    build = subprocess.run([str(MACHINE / "build-guest")], stdout=subprocess.PIPE, text=True, check=False)
    if build.returncode != 0:
        raise GuestError("the guest of the machine tests cannot be built", DIED)
    return Path(build.stdout.strip())


def project_files(checkout: Path) -> list[Path]:
    """Return a checkout's files, relative to it: tracked and new ones, without ignored and deleted ones."""
    git = ["git", "-c", "safe.directory=*", "-C", str(checkout)]
    listing = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE,
        check=True,
    )
    names = {os.fsdecode(name) for name in listing.stdout.split(b"\0") if name}
    return [Path(name) for name in sorted(names) if os.path.lexists(checkout / name)]


def pack_project(checkout: Path, archive: Path) -> None:
    """Write the project's files to a tar archive, with byte code where the guest's Python can use it.

    No test writes byte code in the guest: there every start of Python would compile its modules anew.
    """
    with tarfile.open(archive, "w") as tar:
        for path in project_files(checkout):
            tar.add(checkout / path, arcname=str(path), recursive=False)
            if path.suffix == ".py" and sys.version_info[:2] == _GUEST_PYTHON:
                code = _byte_code(checkout / path, f"{PROJECT}/{path}")
                entry = tarfile.TarInfo(cache_from_source(str(path)))
                entry.size = len(code)
                tar.addfile(entry, io.BytesIO(code))


@functools.cache
def _byte_code(source: Path, name: str) -> bytes:
    """Return what Python keeps in __pycache__ for a file that is called `name` there (layout: PEP 552)."""
    text, changed = source.read_bytes(), int(source.stat().st_mtime)
    code = compile(text, name, "exec", dont_inherit=True)
    return MAGIC_NUMBER + struct.pack("<LLL", 0, changed, len(text)) + marshal.dumps(code)


class Guest:
    """One virtual machine; a context manager: booted when entered, gone with all its disks when left.

    A guest keeps its disks and its root over `cut_power` and `boot`.
    """

    def __init__(
        self,
        disks: Sequence[str] = (),
        *,
        folder: Path,
        checkout: Path | None = CHECKOUT,
        memory_mib: int = 2048,
        processors: int = 1,
    ) -> None:
        """Describe a guest; nothing is started.

        Args:
            disks: as `rig_disks.parse_disk` reads them.
            folder: of the built guest (`built_guest`).
            checkout: the project to copy in; None for none.
            memory_mib: memory of the guest in MiB.
            processors: its number of CPUs; more than one is slower where they are emulated.

        Raises:
            ValueError: a disk that `parse_disk` does not know.
        """
        self.disks: list[RigDisk] = [parse_disk(text, number) for number, text in enumerate(disks, start=1)]
        self.image = folder
        self._checkout = checkout
        self._memory_mib = memory_mib
        self._processors = processors
        self._jobs = 0
        self._held: list[IO[str]] = []
        self.processor_s = 0.0
        """Processor time of QEMU until power was cut: what a guest costs on a machine without load."""
        self._abandoned = False
        self._qemu: subprocess.Popen[bytes] | None = None
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        lock = (self.image / "complete").open()
        fcntl.flock(lock, fcntl.LOCK_SH)  # build-guest deletes no guest that is in use
        self._held.append(lock)
        os.utime(self.image / "complete")  # and keeps those that were used last
        self.folder = _run_folder(self.image.parent, self._held)
        self.share = self.folder / "share"
        (self.share / "jobs").mkdir(parents=True)
        shutil.copy(MACHINE / "agent", self.share / "agent")
        if self._checkout is not None:
            pack_project(self._checkout, self.share / "project.tar")
        self._files = [self.folder / f"disk{number}.img" for number in range(1, len(self.disks) + 1)]
        for file, disk in zip(self._files, self.disks, strict=True):
            with file.open("wb") as made:
                made.truncate(disk.size_bytes)
        overlay = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image / "root.img")]
        subprocess.run([*overlay, str(self.folder / "root.qcow2")], check=True)
        try:
            self.boot()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cut_power()
        shutil.rmtree(self.folder, ignore_errors=True)
        while self._held:
            self._held.pop().close()

    def boot(self, *, limit_s: float = BOOT_LIMIT_S) -> None:
        """Switch the guest on and wait until it takes jobs.

        Raises:
            GuestError: it died or did not get there in time.
        """
        if self._abandoned:
            raise GuestError("the guest is no longer wanted", DIED)
        self._port, guest_port = socket.socketpair()
        monitor, guest_monitor = socket.socketpair()
        self._connections = [self._port, monitor]
        ends = (guest_port, guest_monitor)
        options = self._options(*(end.fileno() for end in ends))
        command = ["setpriv", "--pdeathsig", "KILL", "--", QEMU, *options]
        with (self.folder / "qemu.log").open("ab") as log:
            self._qemu = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[end.fileno() for end in ends],
            )
        for end in ends:
            end.close()
        self._unread = b""
        self._read_until("ready", time.monotonic() + limit_s, lambda _: None)
        self.monitor = Monitor(monitor)

    def run(
        self,
        command: Sequence[str],
        *,
        account: str = "root",
        limit_s: float = 600.0,
        output: Callable[[bytes], object] | None = None,
    ) -> int:
        """Run `command` in the copy of the project and return its exit status.

        Args:
            command: program and arguments.
            account: root, user (logged in remotely) or seat (logged in on the machine's own screen).
            limit_s: after this many seconds GuestError with status 124 is raised; the guest is lost then.
            output: called with what the command prints, as it comes; None: this process' standard output.

        Raises:
            GuestError: the guest died, or time is over.
        """
        assert account in ACCOUNTS
        self._jobs += 1
        job = self.share / "jobs" / str(self._jobs)
        job.mkdir()
        mark = uuid.uuid4().hex
        (job / "command").write_text(f"exec {shlex.join(command)}\n")
        (job / "account").write_text(account)
        (job / "mark").write_text(mark)
        try:
            self._port.sendall(f"run {self._jobs}\n".encode())
        except OSError as error:
            raise GuestError(f"the guest is off: {error}", DIED) from error
        return int(self._read_until(mark, time.monotonic() + limit_s, output or _print))

    def output_of(self, *command: str, account: str = "root", limit_s: float = 600.0) -> str:
        """Return what a command prints; AssertionError with that text where its status is not 0."""
        printed = bytearray()
        status = self.run(command, account=account, limit_s=limit_s, output=printed.extend)
        assert status == 0, f"{shlex.join(command)}: status {status}\n{printed.decode(errors='replace')}"
        return printed.decode()

    def cut_power(self) -> None:
        """Switch the guest off like a pulled plug; disks keep what they were sent. `boot` switches it on."""
        if self._qemu is None:
            return
        self.processor_s += _processor_seconds(self._qemu.pid)
        self._qemu.kill()
        self._qemu.wait()
        self._qemu = None
        while self._connections:
            self._connections.pop().close()

    def reboot(self, *, limit_s: float = BOOT_LIMIT_S) -> None:
        """Let systemd shut the guest down, as `systemctl reboot` does, and boot it again.

        Raises:
            GuestError: it did not shut down, or did not get up again, in time.
        """
        with suppress(GuestError):  # it may be down before it has answered
            self.run(["systemctl", "reboot", "--no-block"])
        if self._qemu is not None:
            try:
                self._qemu.wait(limit_s)  # QEMU ends where a guest reboots (-no-reboot)
            except subprocess.TimeoutExpired as error:
                raise GuestError("the guest did not shut down in time", TIMED_OUT) from error
        self.cut_power()
        self.boot(limit_s=limit_s)

    def abandon(self) -> None:
        """Let whoever waits for this guest get GuestError soon; may be called from another thread."""
        self._abandoned = True
        if (qemu := self._qemu) is not None:
            qemu.kill()

    def remove_disk(self, number: int) -> None:
        """Pull disk `number` (from 1) out of the running guest and wait until it is gone.

        Virtio, NVMe, SCSI and USB disks; QEMU's SATA disks cannot be pulled (RuntimeError). At the next
        boot a blank one is in its place.
        """
        self.monitor.execute("device_del", id=f"disk{number}")
        while self.monitor.wait_for_event("DEVICE_DELETED").get("device") != f"disk{number}":
            pass
        file = self._files[number - 1]
        for size_bytes in (0, self.disks[number - 1].size_bytes):
            os.truncate(file, size_bytes)

    def console(self) -> str:
        """Return what kernel and QEMU have said."""
        files = (self.folder / "console.log", self.folder / "qemu.log")
        return "\n".join(file.read_text(errors="replace") for file in files if file.exists())

    def _options(self, port: int, monitor: int) -> list[str]:
        return [
            *machine_options(self.image, memory_mib=self._memory_mib, processors=self._processors),
            *("-serial", f"file:{self.folder}/console.log"),
            *("-drive", f"if=none,id=root,file={escaped(self.folder)}/root.qcow2,format=qcow2,cache=unsafe"),
            *("-device", "virtio-blk-pci,drive=root,serial=RIGROOT"),
            *("-fsdev", f"local,id=share,path={escaped(self.share)},security_model=none"),
            *("-device", "virtio-9p-pci,fsdev=share,mount_tag=rig"),
            *("-device", "virtio-serial-pci", "-chardev", f"socket,id=port,fd={port}"),
            *("-device", "virtserialport,chardev=port,name=rig"),
            *("-chardev", f"socket,id=monitor,fd={monitor}", "-mon", "chardev=monitor,mode=control"),
            *disk_options(self.disks, self._files),
        ]

    def _read_until(self, mark: str, deadline: float, output: Callable[[bytes], object]) -> str:
        """Hand on what the guest prints until its line with `mark`, and return the rest of that line."""
        wanted = b"\x1e" + mark.encode()
        while True:
            before, found, after = self._unread.partition(wanted)
            line, end, rest = after.partition(b"\n")
            if found and end:
                if before:
                    output(before)
                self._unread = rest
                return line.decode().strip()
            held = self._unread.rfind(b"\x1e")
            held = len(self._unread) if held < 0 or len(self._unread) - held > 100 else held
            if held:
                output(self._unread[:held])
                self._unread = self._unread[held:]
            self._unread += self._receive(deadline)

    def _receive(self, deadline: float) -> bytes:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not select.select([self._port], [], [], remaining)[0]:
            raise GuestError("the guest did not end in time", TIMED_OUT)
        received = self._port.recv(65536)
        if not received:
            raise GuestError(f"the guest died. Its last words:\n{self.console()[-3000:]}", DIED)
        return received


def _processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _run_folder(cache: Path, held: list[IO[str]]) -> Path:
    """Make a folder for one guest's files and delete those that killed starts left (their lock is free)."""
    for leftover in cache.glob("guest-run.*"):
        try:
            with (leftover / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(leftover, ignore_errors=True)
        except OSError:  # in use, or being made this moment
            continue
    folder = Path(tempfile.mkdtemp(prefix="guest-run.", dir=cache))
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    held.append(lock)
    return folder
