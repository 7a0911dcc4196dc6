"""Programs of root get nothing of the caller, and always end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import CancelledError, ProgramError
from app.storage.system import programs
from app.storage.system.programs import (
    ENVIRONMENT,
    OUTPUT_LIMIT_BYTES,
    TIMED_OUT,
    InterruptedProgramError,
    find_program,
    run_program,
)


def test_programs_from_fixed_folders_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "mkfs.trap"
    trap.write_text("#!/bin/sh\n")
    trap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramError, match=r"mkfs\.trap"):
        find_program("mkfs.trap")
    assert find_program("true") in {"/usr/bin/true", "/bin/true"}


@pytest.mark.parametrize("name", ["/bin/true", "../bin/true", "bin/true", ""])
def test_path_is_no_program_name(name: str) -> None:
    with pytest.raises(ProgramError):
        find_program(name)


def test_program_gets_the_fixed_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBMOUNT_FORCE_MOUNT2", "always")
    monkeypatch.setenv("MKE2FS_CONFIG", "/home/evil")
    ended = run_program(("env",), timeout_s=60)
    assert dict(line.split("=", 1) for line in ended.stdout.splitlines()) == ENVIRONMENT


@pytest.fixture
def answered() -> Iterator[None]:
    """Somebody answers yes on the standard input of this process."""
    reader, writer = os.pipe()
    os.write(writer, b"yes\n")
    own = os.dup(0)
    os.dup2(reader, 0)
    yield
    os.dup2(own, 0)
    for descriptor in (reader, writer, own):
        os.close(descriptor)


def test_program_gets_no_files_folder_or_input(answered: None) -> None:
    kept = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(kept, True)  # noqa: FBT003
    try:
        ended = run_program(
            ("sh", "-c", "pwd; umask; read -r answer || echo no answer; ls /proc/self/fd"), timeout_s=60
        )
    finally:
        os.close(kept)
    folder, mask, answer, *files = ended.stdout.split("\n")
    assert (folder, mask, answer) == ("/", "0077", "no answer")
    assert set(filter(None, files)) == {"0", "1", "2", "3"}  # 3 is the folder that ls reads


def test_program_without_input_reads_nothing() -> None:
    assert run_program(("readlink", "/proc/self/fd/0"), timeout_s=60).stdout == "/dev/null\n"


def test_input_is_read_to_its_end() -> None:
    text = "line\n" * 100_000
    assert run_program(("wc", "-c"), timeout_s=60, input_text=text).stdout.strip() == str(len(text))


def test_output_beyond_the_limit_is_cut() -> None:
    ended = run_program(("sh", "-c", "yes | head -c 3000000; echo end >&2"), timeout_s=60)
    assert (ended.exit_code, len(ended.stdout), ended.stderr) == (0, OUTPUT_LIMIT_BYTES, "end\n")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The programs that were started, each with pipes of 1 MiB."""
    processes: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*arguments: Any, **named: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        processes.append(real(*arguments, pipesize=1 << 20, **named))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return processes


@pytest.mark.parametrize("timeout_s", [60.0, 0.0])
def test_pipe_read_after_end_past_its_time(started: list[subprocess.Popen[bytes]], timeout_s: float) -> None:
    def has_ended() -> bool:
        with suppress(ChildProcessError):  # it was seen already
            os.waitid(os.P_PID, started[0].pid, os.WEXITED | os.WNOWAIT)
        return False

    ended = run_program(("head", "-c", "200000", "/dev/zero"), timeout_s=timeout_s, is_cancelled=has_ended)
    assert (ended.exit_code, len(ended.stdout)) == (0, 200_000)


def test_working_program_polled_twenty_times_a_second() -> None:
    """More often would take from the CPUs that it needs."""
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return False

    ended = run_program(("sleep", "0.5"), timeout_s=60, is_cancelled=is_cancelled)
    assert 0 < len(asked) <= 20 * ended.seconds + 20


def is_asleep(pid: str) -> bool:
    with suppress(OSError):
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def test_hanging_program_ended_with_its_children() -> None:
    began_s = time.monotonic()
    ended = run_program(("sh", "-c", "sleep 4711 & echo $!; wait"), timeout_s=0.3)
    assert ended.exit_code == TIMED_OUT
    assert time.monotonic() - began_s < 60
    deadline_s = time.monotonic() + 60
    while is_asleep(ended.stdout.strip()):  # the kernel ends it soon, not at once
        assert time.monotonic() < deadline_s
    assert "it did not finish within" in ended.complaint()


def test_no_signal_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be that of another process group by then, and daemons that it leaves are its work."""
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: found.append((group, number)))
    assert run_program(("true",), timeout_s=60).exit_code == 0
    assert found == []


@pytest.mark.long
def test_program_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_KILL_AFTER_S", 0.05)
    deaf = tmp_path / "deaf"
    with pytest.raises(InterruptedProgramError) as caught:
        run_program(
            ("sh", "-c", f"trap '' TERM; touch {deaf}; sleep 4711"), timeout_s=60, is_cancelled=deaf.exists
        )
    assert caught.value.ended.exit_code == -signal.SIGKILL


@pytest.mark.long
def test_program_held_by_kernel_is_named(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_KILL_AFTER_S", 0.01)
    monkeypatch.setattr(os, "killpg", lambda _group, _number: None)
    with pytest.raises(ProgramError, match=r"sleep 4711") as caught:
        run_program(("sleep", "4711"), timeout_s=0)
    (process,) = started
    assert str(process.pid) in caught.value.message
    assert process.poll() is None
    process.kill()
    process.wait()


def test_cancelled_program_is_ended() -> None:
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(InterruptedProgramError, match="sleep") as caught:
        run_program(("sleep", "4711"), timeout_s=4711, is_cancelled=is_cancelled)
    assert isinstance(caught.value, CancelledError)
    assert caught.value.ended.exit_code == -signal.SIGTERM


def test_failure_message_is_the_last_words() -> None:
    assert run_program(("sh", "-c", "echo a; echo b >&2; exit 3"), timeout_s=60).complaint() == "b"
    assert run_program(("sh", "-c", "echo a; exit 3"), timeout_s=60).complaint() == "a"
    assert run_program(("false",), timeout_s=60).complaint() == "it printed nothing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a namespace of mounts")
def test_a_program_finds_only_its_disks() -> None:
    one = next(Path("/sys/block").iterdir())
    folder = str(one.resolve())
    listed = run_program(("ls", "/sys/block", f"{one}/queue"), timeout_s=60, only_disks=(folder,))
    assert listed.stdout.split("\n\n")[0].split()[1:] == [one.name]
    assert "rotational" in listed.stdout
    assert run_program(("cat", "/proc/partitions"), timeout_s=60, only_disks=(folder,)).stdout == ""
    assert " /sys/block " not in Path("/proc/self/mountinfo").read_text(), "nobody else notices"
