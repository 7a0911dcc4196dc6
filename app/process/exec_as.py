"""Launcher process of `starter`: switch to an account, tie this process to its parent, execute a program.

``python -I -S -B exec_as.py ORDER [ARGUMENT...]``; ORDER is JSON (see `Order`). Standard library only, and
all imports happen before the account changes, because the account may not be able to read this interpreter's
folder (a virtual environment below /root).

The order of the steps matters:

1. groups, group, user: needs root; the kernel clears the parent-death signal when the effective user or group
changes (prctl(2), PR_SET_PDEATHSIG);
2. no_new_privs, so that step 3 cannot be undone by a set-uid program (same page);
3. the parent-death signal, then a check that the parent is still there: if it died before, the signal will
never come;
4. standard output, working folder: opened as the account, never as root;
5. if it is held: wait until the starter has moved this process (into a control group), which so accounts for
everything from the program's first page on;
6. execve, which keeps process id and parent-death signal.

util-linux's ``setpriv --pdeathsig`` does 1 to 3 in the same order (setpriv.c of 2.38 and of master), but
leaves the race of step 3 open, opens nothing as the account, and cannot report which step failed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG: Final = 1
PR_SET_NO_NEW_PRIVS: Final = 38
"""Numbers of linux/prctl.h."""

STARTED: Final = b"+"
"""Written to the report just before the program starts; a failure after it follows as JSON."""

HELD: Final = b"?"
"""Written to the report before that, to wait for the starter's permission."""

MOST_OPEN_FILES: Final = 65_536
"""Higher limits are slow: some programs close every descriptor up to the limit."""

ORPHANED: Final = 125
FAILED: Final = 127


class Identity(TypedDict):
    """The account to switch to."""

    uid: int
    gid: int
    groups: list[int]


class Order(TypedDict):
    """Request of `app.process.starter`.

    Attributes:
        report: file descriptor of a pipe; closed by execve, so end of file means success.
        gate: file descriptor of a pipe that yields a byte when the program may start; end of file means
            never. None not to wait.
        parent: process id that must still be the parent.
        death_signal: sent by the kernel when the parent's thread ends.
        identity: None to keep the current account.
        folder: working folder.
        output: file for standard output, or None to inherit it.
        errors: file for standard error, or None.
        memory: limit of private memory in bytes; None for no limit.
        module: name of the Python module with the function that is called instead of a program, or None.
    """

    report: int
    gate: int | None
    parent: int
    death_signal: int
    identity: Identity | None
    folder: str
    output: str | None
    errors: str | None
    memory: int | None
    module: str | None


def become(identity: Identity) -> None:
    """Switch to `identity` permanently, and check that there is no way back.

    Raises:
        OSError: not allowed, or the change did not take effect.
    """
    uid, gid = identity["uid"], identity["gid"]
    os.setgroups(identity["groups"])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # SECURITY: securebits such as SECBIT_NO_SETUID_FIXUP would leave root's capabilities in place.
    if uid != 0:
        try:
            os.setresuid(0, 0, 0)
        except PermissionError:
            return
        raise PermissionError(1, "still able to become root")


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    if libc.prctl(ctypes.c_int(option), *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _redirect(path: str, descriptor: int) -> None:
    """Redirect `descriptor` to append to `path`, which must be a regular file or not exist."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    opened = os.open(path, flags, 0o600)
    os.set_blocking(opened, True)
    os.dup2(opened, descriptor, inheritable=True)
    os.close(opened)


def _load(module: str) -> Callable[[str, str], int]:
    """Return `app.process.child_call.call` for a module of this tree that needs only the standard library."""
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    return partial(import_module("app.process.child_call").call, import_module(module))


def _restore_signals() -> None:
    """Restore default signals: execve keeps those that Python or the starter ignored or blocked."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _raise_open_files() -> None:
    """Raise the soft limit of open files as far as allowed: it limits pgbench's number of clients.

    A soft limit of 1024 is for programs that use select(2); none of those started here does.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _run(order: Order, arguments: list[str]) -> int:
    call = _load(order["module"]) if order["module"] is not None else None
    step = "account"
    try:
        if order["identity"] is not None:
            become(order["identity"])
        step = "tie"
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_PDEATHSIG, order["death_signal"])
        if os.getppid() != order["parent"]:
            return ORPHANED
        step = "output"
        for path, descriptor in ((order["output"], 1), (order["errors"], 2)):
            if path is not None:
                _redirect(path, descriptor)
        step = "folder"
        os.chdir(order["folder"])
        if order["gate"] is not None:
            os.write(order["report"], HELD)
            if not os.read(order["gate"], 1):
                return ORPHANED
            os.close(order["gate"])
        step = "execute"
        if order["memory"] is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
        _raise_open_files()
        _restore_signals()
        os.write(order["report"], STARTED)
        if call is None:
            os.execvp(arguments[0], arguments)  # noqa: S606 - no shell is meant
    except OSError as err:
        failure = {"step": step, "errno": err.errno, "text": err.strerror, "path": err.filename}
        os.write(order["report"], json.dumps(failure).encode())
        return FAILED
    os.close(order["report"])
    return call(*arguments)


def main(arguments: list[str]) -> int:
    """Execute the order in ``arguments[0]``; returns only without execve."""
    order: Order = json.loads(arguments[0])
    for descriptor in (order["report"], order["gate"]):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)  # noqa: FBT003
    return _run(order, arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
