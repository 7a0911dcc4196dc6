"""Starting programs: identity, privileges, environment, life time, output."""

from __future__ import annotations

import json
import os
import pwd
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import ProgramError
from app.domain.text import MIB
from app.hosts.folders import descriptors
from app.process import exec_as
from app.process.child_call import unpack
from app.process.starter import (
    NOT_STARTED,
    TIMED_OUT,
    Account,
    BoundedOutput,
    CommandOutcome,
    as_account,
    child_environment,
    current_account,
    named_account,
    run_command,
    spawn,
)
from tests.unit import called

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
PATIENCE_S = 60.0

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
needs_python = pytest.mark.skipif(
    not Path(SYSTEM_PYTHON).exists(), reason="the other account needs a Python that it can reach"
)

PRINT_FACTS = """
import ctypes, json, os, signal
value = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(value))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "uids": os.getresuid(), "gids": os.getresgid(), "groups": sorted(os.getgroups()), "death": value.value,
    "new_privileges": status["NoNewPrivs"].strip(), "capabilities": status["CapPrm"].strip(),
    "session": os.getsid(0) == os.getpid(), "group": os.getpgrp() == os.getpid(), "folder": os.getcwd(),
    "ignored": status["SigIgn"].strip(), "blocked": status["SigBlk"].strip(),
    "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1],
}))
"""


def someone_else() -> Account:
    return named_account("nobody")


class Records(list[CommandOutcome]):
    """A recorder that keeps everything."""

    def __call__(self, outcome: CommandOutcome) -> None:
        self.append(outcome)


@pytest.fixture
def records() -> Records:
    return Records()


def account_facts(account: Account, records: Records) -> dict[str, object]:
    python = sys.executable if account.is_current else SYSTEM_PYTHON
    outcome = run_command(
        (python, "-I", "-c", PRINT_FACTS), account=account, timeout_s=PATIENCE_S, record=records
    )
    assert outcome.succeeded, outcome.stderr
    found: dict[str, object] = json.loads(outcome.stdout)
    return found


def await_end(descriptor: int) -> bool:
    """Wait for the process behind a pidfd."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    try:
        return bool(poller.poll(PATIENCE_S * 1000))
    finally:
        os.close(descriptor)


def ends(pid: int) -> bool:
    """Wait for a process that is not ours to reap: a killed one is gone a moment later."""
    try:
        return await_end(os.pidfd_open(pid))
    except ProcessLookupError:
        return True


# --- who it is


def test_child_cannot_gain_privileges(records: Records) -> None:
    found = account_facts(current_account(), records)
    assert found["uids"] == [os.geteuid()] * 3
    assert found["death"] == signal.SIGKILL
    assert found["new_privileges"] == "1"
    assert found["session"] is True
    assert found["group"] is True
    assert found["folder"] == "/"
    assert found["descriptors"] == [0, 1, 2]


ACCOUNTS = [current_account, pytest.param(someone_else, marks=[needs_root, needs_python])]


@pytest.mark.parametrize("whom", ACCOUNTS)
def test_program_held_as_its_account(whom: Callable[[], Account]) -> None:
    account = whom()
    seen: dict[str, str] = {}

    def hold(pid: int) -> None:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            seen[name] = value
        seen["program"] = Path(f"/proc/{pid}/cmdline").read_text()

    child = spawn(("sleep", "1000"), account=account, death_signal=signal.SIGKILL, hold=hold)
    try:
        assert int(seen["Pid"]) == child.pid
        assert seen["Uid"].split() == [str(account.uid)] * 4
        assert seen["NoNewPrivs"].strip() == "1"
        assert "exec_as.py" in seen["program"]
        assert Path(f"/proc/{child.pid}/cmdline").read_text() == "sleep\0" + "1000\0"
    finally:
        child.kill()
        child.wait()


def test_refused_program_never_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    held: list[int] = []

    def refuse(pid: int) -> None:
        held.append(pid)
        raise LookupError(pid)

    argv = ("touch", str(touched))
    with pytest.raises(LookupError):
        spawn(argv, account=current_account(), death_signal=signal.SIGKILL, hold=refuse)
    assert not Path(f"/proc/{held[0]}").exists()
    assert not touched.exists()


def test_killed_held_program_not_started() -> None:
    def kill(pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    with pytest.raises(ProgramError, match="ended with status -9"):
        spawn(("sleep", "1000"), account=current_account(), death_signal=signal.SIGKILL, hold=kill)


def test_hold_skipped_after_early_failure(tmp_path: Path) -> None:
    held: list[int] = []
    with pytest.raises(ProgramError, match="cannot use"):
        spawn(
            ("sleep", "1000"),
            account=current_account(),
            death_signal=signal.SIGKILL,
            cwd=str(tmp_path / "not here"),
            hold=held.append,
        )
    assert held == []


@needs_root
@needs_python
def test_child_of_account_keeps_no_root(records: Records) -> None:
    account = someone_else()
    found = account_facts(account, records)
    assert found["uids"] == [account.uid] * 3
    assert found["gids"] == [account.gid] * 3
    assert found["groups"] == sorted(account.groups)
    assert found["capabilities"] == "0" * 16
    assert found["death"] == signal.SIGKILL
    assert found["new_privileges"] == "1"
    assert found["descriptors"] == [0, 1, 2]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may become anyone")
def test_user_cannot_start_as_other_account(records: Records) -> None:
    root = Account("root", 0, 0, (0,), "/root")
    with pytest.raises(ProgramError, match="root"):
        run_command(("true",), account=root, timeout_s=PATIENCE_S, record=records)


def test_child_has_default_signals(records: Records) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        outcome = run_command(
            ("cat", "/proc/self/status"), account=current_account(), timeout_s=PATIENCE_S, record=records
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGUSR1, before)
    status = dict(line.split(":\t", 1) for line in outcome.stdout.splitlines() if ":\t" in line)
    assert status["SigIgn"] == "0" * 16
    assert status["SigBlk"] == "0" * 16


def test_environment_not_inherited(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "production.example.org")
    monkeypatch.setenv("LD_PRELOAD", "")
    account = current_account()
    extra = {"PGAPPNAME": "pgfooting"}
    outcome = run_command(("env", "-0"), account=account, timeout_s=PATIENCE_S, record=records, env=extra)
    found = dict(item.split("=", 1) for item in outcome.stdout.split("\0") if item)
    assert found == child_environment(account, extra)
    assert found["LC_ALL"] == "C"
    assert found["TZ"] == "UTC"
    assert found["HOME"] == account.home


def test_nameless_account_uses_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME", raising=False)
    assert current_account().name == str(os.geteuid())
    assert current_account().home == "/"


# --- how it ends


def run_python(code: str, records: Records) -> CommandOutcome:
    command = (sys.executable, "-c", code)
    return run_command(command, account=current_account(), timeout_s=PATIENCE_S, record=records)


def test_exit_status_and_outputs_recorded(records: Records) -> None:
    code = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(3)"
    outcome = run_python(code, records)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, "to out\n", "to err\n")
    assert records == [outcome]
    assert not outcome.succeeded
    assert "failed with exit status 3" in outcome.describe()
    assert outcome.describe().endswith("to err")


def test_signal_is_negative_exit_code(records: Records) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    outcome = run_python(code, records)
    assert outcome.exit_code == -signal.SIGSEGV
    assert "SIGSEGV" in outcome.describe()


def test_timeout_kills_process_group(records: Records, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"""import subprocess
child = subprocess.Popen(["sleep", "1000"])
open({str(note)!r}, "w").write(str(child.pid))
child.wait()"""
    for timeout_s in (0.5, 2.0, 8.0, 32.0):  # until the machine was fast enough to start the grandchild
        outcome = run_command(
            (sys.executable, "-c", code), account=current_account(), timeout_s=timeout_s, record=records
        )
        assert outcome.exit_code == TIMED_OUT
        assert "did not finish" in outcome.describe()
        if note.exists() and note.read_text(encoding="ascii"):
            break
    grandchild = int(note.read_text(encoding="ascii"))
    assert ends(grandchild)


def test_grandchild_with_open_pipes_is_killed(records: Records) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid, flush=True)"
    outcome = run_python(code, records)
    assert outcome.succeeded
    assert ends(int(outcome.stdout))


def test_unkillable_program_does_not_block_command(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write to a hung device cannot be interrupted: here a stopped wait stands for it."""
    waited: list[subprocess.Popen[bytes]] = []

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        assert timeout is not None
        waited.append(process)
        raise subprocess.TimeoutExpired("dd", timeout)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess.Popen, "wait", wait)
        outcome = run_command(("sleep", "1000"), account=current_account(), timeout_s=0.1, record=records)
    assert outcome.exit_code == TIMED_OUT
    assert waited[0].wait(PATIENCE_S) == -signal.SIGKILL


def test_long_output_keeps_beginning_and_end(records: Records) -> None:
    code = "import sys; sys.stdout.write('first' + 'x' * 3_000_000 + 'last')"
    outcome = run_python(code, records)
    assert outcome.succeeded
    assert outcome.stdout.startswith("firstx")
    assert outcome.stdout.endswith("xlast")
    assert f"[{3_000_009 - 2**20} bytes omitted]" in outcome.stdout
    assert len(outcome.stdout) < 2**20 + 100


def test_non_utf8_output_replaced(records: Records) -> None:
    code = "import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb')"
    outcome = run_python(code, records)
    assert outcome.stdout == "a\ufffd\ufffdb"


def test_input_reaches_the_command(records: Records) -> None:
    content = b"x" * 300_000
    outcome = run_command(
        ("wc", "-c"),
        account=current_account(),
        timeout_s=PATIENCE_S,
        record=records,
        input_bytes=content,
    )
    assert outcome.stdout.strip() == "300000"


def test_arguments_arrive_unchanged_whatever_they_hold(records: Records) -> None:
    words = ("a b", "$HOME", "`id`", "*", "é", "", "\udcff", "--", "\n")
    outcome = run_command(
        ("printf", r"%s\0", *words), account=current_account(), timeout_s=PATIENCE_S, record=records
    )
    expected = "".join(f"{word}\0" for word in words).encode(errors="surrogateescape")
    assert outcome.stdout == expected.decode(errors="replace")


@given(parts=st.lists(st.binary(max_size=40)), limit=st.integers(2, 60).map(lambda half: half * 2))
def test_bounded_output_stays_within_limit(parts: list[bytes], limit: int) -> None:
    kept = BoundedOutput(limit)
    for part in parts:
        kept.add(part)
    whole = b"".join(parts)
    if len(whole) <= limit:
        assert kept.text() == whole.decode(errors="replace")
    else:
        head, tail = whole[: limit // 2], whole[-limit // 2 :]
        gap = f"\n[{len(whole) - limit} bytes omitted]\n"
        assert kept.text() == head.decode(errors="replace") + gap + tail.decode(errors="replace")


# --- what cannot be started


@pytest.mark.parametrize("program", ["/nonexistent/initdb", "pgfooting-no-such-program"])
def test_missing_program_error_recorded(program: str, records: Records) -> None:
    with pytest.raises(ProgramError, match="No such file or directory") as caught:
        run_command((program, "-V"), account=current_account(), timeout_s=PATIENCE_S, record=records)
    assert program in caught.value.message
    assert [outcome.exit_code for outcome in records] == [NOT_STARTED]


def test_relative_program_path_refused(records: Records) -> None:
    with pytest.raises(ProgramError, match="not an absolute path"):
        run_command(("bin/initdb",), account=current_account(), timeout_s=PATIENCE_S, record=records)


def test_nul_in_argument(records: Records) -> None:
    with pytest.raises(ProgramError, match="could not be started"):
        run_command(("echo", "a\0b"), account=current_account(), timeout_s=PATIENCE_S, record=records)


def test_missing_working_folder_named(records: Records) -> None:
    with pytest.raises(ProgramError, match="cannot use /nonexistent/folder"):
        run_command(
            ("true",),
            account=current_account(),
            timeout_s=PATIENCE_S,
            record=records,
            cwd="/nonexistent/folder",
        )


@needs_root
def test_working_folder_entered_as_account(records: Records, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(ProgramError, match=f"nobody cannot use {tmp_path}: Permission denied"):
        run_command(
            ("true",), account=someone_else(), timeout_s=PATIENCE_S, record=records, cwd=str(tmp_path)
        )


# --- long-lived children


def test_spawn_keeps_process_id() -> None:
    process = spawn(
        ("sleep", "1000"), account=current_account(), death_signal=signal.SIGKILL, stdout=subprocess.DEVNULL
    )
    try:
        # spawn returns after execve: the name is the program's already.
        assert Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii") == "sleep\n"
        assert os.getpgid(process.pid) == process.pid != os.getpgrp()
    finally:
        process.kill()
        process.wait()


def test_program_memory_limit(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    for memory_bytes in (256 * MIB, None):
        with path.open("wb") as output:
            child = spawn(
                ("cat", "/proc/self/limits"),
                account=current_account(),
                death_signal=signal.SIGKILL,
                stdout=output,
                memory_bytes=memory_bytes,
            )
            assert child.wait(PATIENCE_S) == 0
        (line,) = (each for each in path.read_text().splitlines() if each.startswith("Max data size"))
        limited = line.split()[3:5] == [str(256 * MIB)] * 2
        assert limited is (memory_bytes is not None)


def test_output_file_appended(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    for _ in range(2):
        process = spawn(
            (sys.executable, "-c", "import os; os.write(1, b'out '); os.write(2, b'err ')"),
            account=current_account(),
            death_signal=signal.SIGKILL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        assert process.wait(PATIENCE_S) == 0
    assert log.read_text(encoding="ascii") == "out err out err "
    assert log.stat().st_mode & 0o777 == 0o600


def test_symlinked_output_file_refused(tmp_path: Path) -> None:
    decoy = tmp_path / "decoy"
    decoy.write_text("mine", encoding="ascii")
    (tmp_path / "server.log").symlink_to(decoy)
    with pytest.raises(ProgramError, match="cannot use"):
        spawn(
            ("echo", "x"),
            account=current_account(),
            death_signal=signal.SIGKILL,
            stdout=tmp_path / "server.log",
        )
    assert decoy.read_text(encoding="ascii") == "mine"


@needs_root
def test_output_file_opened_as_account(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(ProgramError, match="nobody cannot use"):
        spawn(
            ("echo", "x"), account=someone_else(), death_signal=signal.SIGKILL, stdout=tmp_path / "server.log"
        )
    assert list(tmp_path.iterdir()) == []


DRIVER = """
import signal, sys
from app.process.starter import Account, current_account, named_account, spawn
account = current_account() if sys.argv[1] == "self" else named_account(sys.argv[1])
children = [spawn(("sleep", "1000"), account=account, death_signal=signal.SIGKILL),
            spawn(("sleep", "1000"), account=account, death_signal=signal.SIGQUIT)]
print(*[child.pid for child in children], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("account", ["self", pytest.param("nobody", marks=needs_root)])
def test_children_die_with_killed_parent(account: str) -> None:
    driver = subprocess.Popen(
        (sys.executable, "-c", DRIVER, account), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert driver.stdout is not None
    assert driver.stdin is not None
    with driver.stdout, driver.stdin:
        children = [os.pidfd_open(int(pid)) for pid in driver.stdout.readline().split()]
        assert len(children) == 2
        driver.kill()
        driver.wait()
    assert [await_end(child) for child in children] == [True, True]


def test_starting_thread_end_signals_child() -> None:
    """Why callers spawn from a thread that lives as long as the child: the signal follows the thread."""
    found: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(
        target=lambda: found.append(
            spawn(("sleep", "1000"), account=current_account(), death_signal=signal.SIGTERM)
        )
    )
    thread.start()
    thread.join()
    assert found[0].wait(PATIENCE_S) == -signal.SIGTERM


def test_launcher_exits_without_parent(tmp_path: Path) -> None:
    """The window between fork and PR_SET_PDEATHSIG: a parent that died in it sends no signal any more."""
    reading, report = os.pipe()
    touched = tmp_path / "touched"
    order = {
        "report": report,
        "gate": None,
        "parent": os.getppid(),  # not this process: as if it had been replaced by another parent
        "death_signal": int(signal.SIGKILL),
        "identity": None,
        "folder": "/",
        "output": None,
        "errors": None,
        "memory": None,
        "module": None,
    }
    launcher = (sys.executable, "-I", "-S", exec_as.__file__ or "", json.dumps(order), "touch", str(touched))
    done = subprocess.run(launcher, pass_fds=(report,), check=False)
    os.close(report)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""
    assert done.returncode == exec_as.ORPHANED
    assert not touched.exists()


@needs_root
def test_launcher_refuses_regaining_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("setgroups", "setresgid", "setresuid"):
        monkeypatch.setattr(os, name, lambda *_: None)
    with pytest.raises(PermissionError, match="still able to become root"):
        exec_as.become({"uid": 65534, "gid": 65534, "groups": []})


# --- Python modules as another account


@pytest.mark.parametrize("whom", ACCOUNTS)
def test_call_arguments_content_and_result(whom: Callable[[], Account], records: Records) -> None:
    account = whom()
    pair = called.Pair(called.Side.LEFT, None)
    found = as_account(called.turn, account, records)(pair, b"\x00\xff", times=2)
    assert found == (called.Pair(called.Side.RIGHT, None), "00ff00ff", account.uid)
    assert records[0].argv[:2] == ("called", "turn")
    assert "00ff" not in records[0].argv[2]


@pytest.mark.parametrize(
    ("kind", "error", "values"),
    [("own", called.WrongSideError, ("left", 2)), ("file", FileNotFoundError, (2, os.strerror(2)))],
)
def test_call_raises_what_was_raised(
    kind: str, error: type[Exception], values: tuple[object, ...], records: Records
) -> None:
    with pytest.raises(error) as caught:
        as_account(called.fail, current_account(), records)(kind)
    assert type(caught.value) is error
    assert caught.value.args == values


def test_call_that_fails_otherwise(records: Records) -> None:
    with pytest.raises(ProgramError, match="not of this module"):
        as_account(called.fail, current_account(), records)("value")


@needs_root
def test_module_unreadable_for_account_is_called(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    for name in ("app/process/exec_as.py", "app/process/child_call.py", "tests/unit/called.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr("app.process.spawn._EXEC_AS", tmp_path / "app/process/exec_as.py")
    account = someone_else()
    found = as_account(called.turn, account, records)(called.Pair(called.Side.LEFT, None), b"")
    assert found[2] == account.uid


@pytest.mark.parametrize("name", ["make_folder", "PurePosixPath", "content", "print"])
def test_an_answer_names_only_data(name: str, tmp_path: Path) -> None:
    answer = json.dumps({"result": {"class": name, "arguments": [str(tmp_path / "new")]}})
    with pytest.raises(KeyError, match=name):
        unpack(answer, descriptors)
    assert not (tmp_path / "new").exists()


def test_f19_soft_limit_of_open_files(records: Records) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    command = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        argv = (sys.executable, "-I", "-c", command)
        outcome = run_command(argv, account=current_account(), timeout_s=PATIENCE_S, record=records)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    most = exec_as.MOST_OPEN_FILES
    assert int(outcome.stdout) == (most if before[1] == resource.RLIM_INFINITY else min(before[1], most))
