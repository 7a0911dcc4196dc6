"""The control group of the processes on a storage: counted separately, limited together, ended for certain.

With systemd, which then owns the hierarchy: transient scopes ``pgfooting-ID-PART.scope`` in a transient slice
``pgfooting-ID.slice``. Without: our own folders ``pgfooting-ID/PART``. The kernel ends the processes either
way. Sources: Linux Documentation/admin-guide/cgroup-v2.rst; org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.dbus.service import MethodError
from app.domain.errors import ProgramError
from app.storage.system.programs import run_program

PARTS: Final = ("server", "pgbench")
LIMIT_S: Final = 10.0
_JOIN_S: Final = 3.0
KILL: Final = "cgroup.kill"
"""File that kills all processes of a group at once, since Linux 5.14."""
_SYSTEMD: Final = Path("/run/systemd/system")
_SLICE: Final = "pgfooting.slice"
_CONTROLLERS: Final = ("memory", "io")
"""Without cpu: usage is counted anyway, and shares among groups would change the measurement."""
_MANAGER: Final = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
)
_ACCOUNTING: Final = tuple(
    word for name in ("CPU", "Memory", "IO") for word in (f"{name}Accounting", "b", "true")
)
_NO_LIMIT: Final = 2**64 - 1


def hierarchy(mountinfo: Path = Path("/proc/self/mountinfo")) -> Path | None:
    """Return the mount point of control groups version 2."""
    for line in mountinfo.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.partition(" - ")[2].startswith("cgroup2 "):
            return Path(line.split(" ")[4])
    return None


@dataclass(slots=True)
class ControlGroup:
    """The group of one storage; it is created when it is needed.

    Attributes:
        id: of the storage.
        user: owner of the processes that may join it.
    """

    id: str
    user: int

    @property
    def name(self) -> str:
        """Name of the group."""
        return f"pgfooting-{self.id}"

    @property
    def _with_systemd(self) -> bool:
        return _SYSTEMD.is_dir()

    def _root(self) -> Path:
        root = hierarchy()
        if root is None:
            raise MethodError("Unavailable", "no-cgroup2")
        return root

    def _folder(self) -> Path:
        root = self._root()
        return root / _SLICE / f"{self.name}.slice" if self._with_systemd else root / self.name

    # --- requests

    def adopt(self, part: str, pid: int) -> str:
        """Move a process of the user into a part of the group; return the folder of that part.

        Raises:
            MethodError: Unknown, NotAuthorized, Unavailable.
        """
        if part not in PARTS:
            raise MethodError("Unknown")
        with _opened(pid) as process:
            _check_process(pid, self.user)
            # SECURITY: the check applied to the descriptor's process only if that still lives after it.
            if not _lives(process):
                raise MethodError("Unknown", "process")
            folder = self._join_scope(part, pid) if self._with_systemd else self._join_folder(part, pid)
            # SECURITY: if it died, its number may have been another's when it was written.
            if not _lives(process):
                _put_back(pid, folder, self._root())
                raise MethodError("Unknown", "process")
        return str(folder)

    def limit(self, memory_bytes: int) -> None:
        """Limit the memory of all parts together; 0 for no limit.

        Raises:
            MethodError: Unavailable.
        """
        if self._with_systemd:
            self._start_slice()
            arguments = (f"{self.name}.slice", "true", "1", "MemoryMax", "t", str(memory_bytes or _NO_LIMIT))
            _ask_systemd("SetUnitProperties", "sba(sv)", *arguments)
        else:
            _make(self._folder())
        file = self._folder() / "memory.max"
        if not _await(file.exists, 1.0 if self._with_systemd else 0.0):
            raise MethodError("Unavailable", "no-controller")
        if not self._with_systemd:
            file.write_text(str(memory_bytes or "max"), encoding="ascii")

    def end(self) -> bool:
        """Kill every process of the group and remove it; return whether it is gone. May be repeated."""
        try:
            folder = self._folder()
        except MethodError:
            return True
        if not folder.exists():
            return True  # systemd is not called either: at boot the bus does not run yet
        gone = _kill(folder)
        if self._with_systemd:
            with suppress(MethodError):
                _ask_systemd("StopUnit", "ss", f"{self.name}.slice", "replace")
                _ask_systemd("StopUnit", "ss", _SLICE, "replace")
            return gone and _await(lambda: not folder.exists())
        return gone and _await(lambda: _remove(folder))

    # --- without systemd

    def _join_folder(self, part: str, pid: int) -> Path:
        _make(self._folder())
        folder = self._folder() / part
        try:
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)  # regardless of the umask: the user reads the counters
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except ProcessLookupError:
            raise MethodError("Unknown", "process") from None
        except OSError:
            raise MethodError("Unavailable", "read-only") from None
        return folder

    # --- with systemd

    def _start_slice(self) -> None:
        if not self._folder().exists():
            _ask_systemd("StartTransientUnit", "ssa(sv)a(sa(sv))", f"{self.name}.slice", "fail",
                         "3", *_ACCOUNTING, "0")  # fmt: skip
            _await(self._folder().exists, 1.0)

    def _join_scope(self, part: str, pid: int) -> Path:
        self._start_slice()
        scope = f"{self.name}-{part}.scope"
        folder = self._folder() / scope

        def join() -> bool:
            # The scope of an ended pgbench still exists for a moment: it accepts no process any more, and
            # another one with its name cannot be started before it is gone.
            with suppress(MethodError):
                if folder.exists():
                    _ask_systemd("AttachProcessesToUnit", "ssau", scope, "", "1", str(pid))
                else:
                    _ask_systemd("StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail",
                                 "7", "PIDs", "au", "1", str(pid), "Slice", "s", f"{self.name}.slice",
                                 # Without it systemd moves no process into a unit that exists.
                                 "Delegate", "b", "true",
                                 "CollectMode", "s", "inactive-or-failed", *_ACCOUNTING, "0")  # fmt: skip
                return _await(lambda: _is_in(pid, folder, self._root()), 1.0)
            return False

        if not _await(join, _JOIN_S):
            raise MethodError("Unavailable", "systemd")
        return folder


def _ask_systemd(method: str, signature: str, *arguments: str) -> None:
    """Call a method of systemd's manager.

    Raises:
        MethodError: Unavailable: it refuses or does not answer.
    """
    command = ("busctl", "--system", "--quiet", f"--timeout={LIMIT_S:.0f}", "call")
    try:
        ended = run_program((*command, *_MANAGER, method, signature, *arguments), timeout_s=2 * LIMIT_S)
    except ProgramError:
        raise MethodError("Unavailable", "systemd") from None
    if ended.exit_code != 0:
        raise MethodError("Unavailable", "systemd")


@contextmanager
def _opened(pid: int) -> Iterator[int]:
    if pid <= 1:
        raise MethodError("NotAuthorized", "process")
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, OverflowError):
        raise MethodError("Unknown", "process") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lives(process: int) -> bool:
    return not select.select([process], [], [], 0)[0]


def _check_process(pid: int, user: int) -> None:
    """Make sure that a process is the user's, by all four of its ids, and can gain no privileges.

    Raises:
        MethodError: NotAuthorized: it is another user's; Unknown: it is gone.
    """
    # SECURITY: everything in the group is killed in the end: nothing in it may ever be another user's. Each
    # thread has its own no_new_privs (prctl(2)); the kernel prints that of the first one, after it has
    # counted them: a process that creates another one in between has two at the second look.
    for _ in range(2):
        try:
            status = Path("/proc", str(pid), "status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise MethodError("Unknown", "process") from None
        found = dict(re.findall(r"^(Uid|NoNewPrivs|Threads):\t(.*)$", status, re.MULTILINE))
        can_gain_none = (found.get("NoNewPrivs"), found.get("Threads")) == ("1", "1")
        if found.get("Uid", "").split() != [str(user)] * 4 or user == 0 or not can_gain_none:
            raise MethodError("NotAuthorized", "process")


def _is_in(pid: int, folder: Path, root: Path) -> bool:
    with suppress(OSError):
        text = Path("/proc", str(pid), "cgroup").read_text(encoding="utf-8", errors="replace")
        return f"0::/{folder.relative_to(root)}" in text.splitlines()
    return False


def _put_back(pid: int, folder: Path, root: Path) -> None:
    """Move the process that now has the number out of our group again, if it is in there."""
    if _is_in(pid, folder, root):
        with suppress(OSError):
            (root / "cgroup.procs").write_text(str(pid), encoding="ascii")


def _make(folder: Path) -> None:
    """Make the folder of the whole group with the available controllers.

    Raises:
        MethodError: Unavailable.
    """
    try:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    except OSError:
        raise MethodError("Unavailable", "read-only") from None
    for parent in (folder.parent, folder):
        for name in _CONTROLLERS:
            with suppress(OSError):  # a kernel or container without it: counted less, limits unavailable
                (parent / "cgroup.subtree_control").write_text(f"+{name}", encoding="ascii")


def _kill(folder: Path) -> bool:
    """Kill every process in a group and below it; return whether all are gone."""
    with suppress(OSError):
        (folder / KILL).write_text("1", encoding="ascii")
        return _await(lambda: not _populated(folder))
    return _await(lambda: _kill_each(folder))


def _kill_each(folder: Path) -> bool:
    for file in (folder / "cgroup.procs", *folder.glob("**/cgroup.procs")):
        with suppress(OSError):
            for word in file.read_text(encoding="ascii").split():
                with suppress(OSError, MethodError), _opened(int(word)) as process:
                    if word in file.read_text(encoding="ascii").split():  # still that process
                        signal.pidfd_send_signal(process, signal.SIGKILL)
    return not _populated(folder)


def _populated(folder: Path) -> bool:
    try:
        return "populated 1" in (folder / "cgroup.events").read_text(encoding="ascii")
    except OSError:
        return False


def _remove(folder: Path) -> bool:
    for path in (*(folder / part for part in PARTS), folder):
        with suppress(OSError):
            path.rmdir()
    return not folder.exists()


def _await(true: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
    deadline_s = time.monotonic() + limit_s
    while not true():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(0.005)
    return True
