"""What systemd is asked for as root: five fixed calls, with a checked process and a number in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from app.dbus.service import MethodError
from app.helper.storage import control_groups
from app.helper.storage.control_groups import ControlGroup
from app.storage.system.programs import CompletedProgram
from tests.launched import IDS

FIXED = (
    "busctl", "--system", "--quiet", "--timeout=10", "call",
    "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
)  # fmt: skip
UNIT = "pgfooting-0123456789abcdef"
USER = os.getuid() or 65534
CHECK = control_groups._check_process
THREADS = """
import ctypes, sys, threading
PR_SET_NO_NEW_PRIVS = 38
for _ in sys.argv[1:]:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
print("ready", flush=True)
sys.stdin.read()
"""
"""Its first thread takes no new privileges; one that was there before still can."""
COUNTED = ("CPUAccounting", "b", "true", "MemoryAccounting", "b", "true", "IOAccounting", "b", "true")


def at_once(true: Callable[[], bool], _limit_s: float = 0.0) -> bool:
    return true()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What systemd is asked; it runs, and does nothing."""
    calls: list[tuple[str, ...]] = []

    def run(argv: tuple[str, ...], *, timeout_s: float) -> CompletedProgram:
        assert argv[: len(FIXED)] == FIXED
        calls.append(argv[len(FIXED) :])
        return CompletedProgram(argv, 0, "", "", timeout_s)

    monkeypatch.setattr(control_groups, "_SYSTEMD", tmp_path)
    monkeypatch.setattr(control_groups, "hierarchy", lambda: tmp_path)
    monkeypatch.setattr(control_groups, "run_program", run)
    monkeypatch.setattr(control_groups, "_await", at_once)
    monkeypatch.setattr(control_groups, "_check_process", lambda _pid, _user: None)
    monkeypatch.setattr(control_groups, "_is_in", lambda *_: True)
    return calls


def test_five_fixed_systemd_calls(asked: list[tuple[str, ...]], tmp_path: Path) -> None:
    group, pid = ControlGroup("0123456789abcdef", 1000), str(os.getpid())
    group.adopt("server", os.getpid())
    folder = tmp_path / "pgfooting.slice" / f"{UNIT}.slice"
    (folder / f"{UNIT}-server.scope").mkdir(parents=True)
    group.adopt("server", os.getpid())
    (folder / "memory.max").write_text("")
    group.limit(123)
    group.end()
    transient, stop = ("StartTransientUnit", "ssa(sv)a(sa(sv))"), ("StopUnit", "ss")
    assert asked == [
        (*transient, f"{UNIT}.slice", "fail", "3", *COUNTED, "0"),
        (*transient, f"{UNIT}-server.scope", "fail", "7", "PIDs", "au", "1", pid,
         "Slice", "s", f"{UNIT}.slice", "Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed",
         *COUNTED, "0"),
        ("AttachProcessesToUnit", "ssau", f"{UNIT}-server.scope", "", "1", pid),
        ("SetUnitProperties", "sba(sv)", f"{UNIT}.slice", "true", "1", "MemoryMax", "t", "123"),
        (*stop, f"{UNIT}.slice", "replace"),
        (*stop, "pgfooting.slice", "replace"),
    ]  # fmt: skip


@pytest.mark.parametrize("part", ["", "Server", "server.scope", "../x", "pgbench -", "x" * 1000])
def test_a_part_is_one_of_two_words(asked: list[tuple[str, ...]], part: str) -> None:
    with pytest.raises(MethodError) as refused:
        ControlGroup("0123456789abcdef", 1000).adopt(part, os.getpid())
    assert refused.value.code == "Unknown"
    assert asked == []


@pytest.mark.parametrize(("others", "refused"), [((), ""), (("another",), "NotAuthorized")])
def test_process_with_a_privileged_thread_not_adopted(
    asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...], refused: str
) -> None:
    monkeypatch.setattr(control_groups, "_check_process", CHECK)
    with subprocess.Popen(
        ["/usr/bin/python3", "-I", "-c", THREADS, *others],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        user=None if os.getuid() else USER,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        found = ""
        try:
            ControlGroup("0123456789abcdef", USER).adopt("server", process.pid)
        except MethodError as err:
            found = err.code
        process.kill()
    assert (found, bool(asked)) == (refused, not refused)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes processes of several users")
@pytest.mark.parametrize(
    ("ids", "user", "refused"),
    [
        ((USER,) * 4, USER, ""),
        ((1, USER, USER, USER), USER, "NotAuthorized"),
        ((USER, 1, USER, USER), USER, "NotAuthorized"),
        ((USER, USER, 1, USER), USER, "NotAuthorized"),
        ((USER, USER, USER, 1), USER, "NotAuthorized"),
        ((USER,) * 4, 1, "NotAuthorized"),
        ((0,) * 4, 0, "NotAuthorized"),
    ],
)
def test_adoption_needs_all_four_user_ids(
    asked: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    ids: tuple[int, ...],
    user: int,
    refused: str,
) -> None:
    monkeypatch.setattr(control_groups, "_check_process", CHECK)
    with subprocess.Popen(
        ["/usr/bin/python3", "-I", "-c", IDS, *map(str, ids)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "\t".join(["\nUid:", *map(str, ids)]) + "\n" in status
        found = ""
        try:
            ControlGroup("0123456789abcdef", user).adopt("server", process.pid)
        except MethodError as err:
            found = err.code
        process.kill()
    assert (found, bool(asked)) == (refused, not refused)


def test_systemd_refusal_is_reported(asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(argv: tuple[str, ...], *, timeout_s: float) -> CompletedProgram:
        return CompletedProgram(argv, 1, "", "Call failed: Access denied", timeout_s)

    monkeypatch.setattr(control_groups, "run_program", refuse)
    group = ControlGroup("0123456789abcdef", 1000)
    for call in (partial(group.adopt, "server", os.getpid()), partial(group.limit, 123)):
        with pytest.raises(MethodError) as refused:
            call()
        assert (refused.value.code, refused.value.text) == ("Unavailable", "systemd")
    assert asked == []
