"""Whoever of the session's user holds the storage is found and ended, however; who is not is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.text import GIB
from tests.disks.helper_owner import NOBODY, Owner, client, plan_of
from tests.fix_helper import LIMIT_S, PROJECT, Running, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

BEGIN = """
import array, ctypes, mmap, os, platform, socket, sys, threading, time
folder = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
CLONE_FS, CLONE_FILES = 0x200, 0x400

def ready():
    print("ready", flush=True)
    time.sleep(600)

def file():
    return os.open(f"{folder}/x", os.O_RDWR | os.O_CREAT)

def in_thread(action):
    threading.Thread(target=lambda: (action(), ready())).start()

def unshare(what):
    assert libc.unshare(what) == 0, ctypes.get_errno()
"""
FOUND = {
    "an open file": "kept = file(); ready()",
    "a mapped file whose descriptor is closed": (
        "fd = file(); os.truncate(fd, 4096); area = libc.mmap(None, 4096, 3, 1, fd, 0); os.close(fd); "
        "assert area not in (None, 2**64 - 1); ready()"
    ),
    "a thread with a folder of its own": "in_thread(lambda: (unshare(CLONE_FS), os.chdir(folder)))",
    "a thread with descriptors of its own": "in_thread(lambda: (unshare(CLONE_FILES), file()))",
    "a process whose first thread has ended": (
        "in_thread(lambda: os.chdir(folder)); time.sleep(0.5); "
        "libc.syscall({'x86_64': 60}.get(platform.machine(), 93), 0)"
    ),
    "a mount namespace of its own": "libc.unshare(0x10000000 | 0x20000); os.chdir(folder); ready()",
}
HIDDEN = (
    "left, right = socket.socketpair(); fd = file(); "
    "socket.send_fds(left, [b'x'], [fd]); os.close(fd); ready()"
)


@pytest.fixture
def owner(helper: Running, make_loop: Callable[..., str]) -> Iterator[Owner]:
    """The owner of a session in which nothing is made yet."""
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(make_loop(1 * GIB, partscan=True)))
        yield owner


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A function that starts a process of the session's user and waits until it holds something."""
    started: list[subprocess.Popen[str]] = []

    def begin(*command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", FOUND)
def test_storage_holders_found_and_ended(
    owner: Owner, start: Callable[..., subprocess.Popen[str]], how: str
) -> None:
    storage = owner.make()
    process = start(sys.executable, "-c", f"{BEGIN}{FOUND[how]}", storage)
    assert owner.unmake()[2:] == ("", "", "", [])
    assert process.wait(LIMIT_S) in {-signal.SIGQUIT, -signal.SIGKILL}
    assert owner.release()[2:] == ("", "", "", [])


def test_descriptor_in_flight_suspects_named(
    owner: Owner, start: Callable[..., subprocess.Popen[str]]
) -> None:
    storage = owner.make()
    process = start(sys.executable, "-c", f"{BEGIN}{HIDDEN}", storage)
    _, _, code, _, hint, left = owner.unmake()
    assert code == "storage"
    assert left
    assert "user nobody has something open there that is not visible" in hint
    assert f"{process.pid} (python" in hint
    assert process.poll() is None, "it may be innocent"
    process.kill()
    process.wait()
    assert owner.unmake()[2:] == ("", "", "", [])


def test_privileged_holder_named_not_ended(owner: Owner, start: Callable[..., subprocess.Popen[str]]) -> None:
    storage = owner.make()
    process = start("sh", "-c", f"cd {storage} && echo ready && exec su root")
    wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "su\n")
    hint = owner.unmake()[4]
    assert f"{process.pid} (su)" in hint
    assert process.poll() is None
    process.kill()
    process.wait()
    assert owner.unmake()[2:] == ("", "", "", [])
