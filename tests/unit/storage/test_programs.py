"""Programs of root get nothing of the caller, and always end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.errors import CancelledError, ProgramError
from app.storage.system.programs import (
    ENVIRONMENT,
    OUTPUT_LIMIT_BYTES,
    TIMED_OUT,
    InterruptedProgramError,
    find_program,
    run_program,
)


def test_programs_are_found_in_the_fixed_folders_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "mkfs.trap"
    trap.write_text("#!/bin/sh\n")
    trap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramError, match=r"mkfs\.trap"):
        find_program("mkfs.trap")
    assert find_program("true") in {"/usr/bin/true", "/bin/true"}


@pytest.mark.parametrize("name", ["/bin/true", "../bin/true", "bin/true", ""])
def test_a_path_is_no_name_of_a_program(name: str) -> None:
    with pytest.raises(ProgramError):
        find_program(name)


def test_a_program_gets_the_fixed_environment_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_program_gets_no_open_files_no_folder_and_no_answers(answered: None) -> None:
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


def test_input_is_read_to_its_end() -> None:
    text = "line\n" * 100_000
    assert run_program(("wc", "-c"), timeout_s=60, input_text=text).stdout.strip() == str(len(text))


def test_output_beyond_the_limit_is_cut_and_does_not_stop_the_program() -> None:
    ended = run_program(("sh", "-c", "yes | head -c 3000000; echo end >&2"), timeout_s=60)
    assert (ended.exit_code, len(ended.stdout), ended.stderr) == (0, OUTPUT_LIMIT_BYTES, "end\n")


def is_asleep(pid: str) -> bool:
    with suppress(OSError):
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def test_a_program_that_does_not_end_is_ended_with_all_that_it_started() -> None:
    began_s = time.monotonic()
    ended = run_program(("sh", "-c", "sleep 4711 & echo $!; wait"), timeout_s=0.3)
    assert ended.exit_code == TIMED_OUT
    assert time.monotonic() - began_s < 60
    deadline_s = time.monotonic() + 60
    while is_asleep(ended.stdout.strip()):  # the kernel ends it soon, not at once
        assert time.monotonic() < deadline_s
    assert "its time was up" in ended.complaint()


def test_a_program_is_ended_when_it_is_cancelled() -> None:
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(InterruptedProgramError, match="sleep") as caught:
        run_program(("sleep", "4711"), timeout_s=4711, is_cancelled=is_cancelled)
    assert isinstance(caught.value, CancelledError)
    assert caught.value.ended.exit_code == -signal.SIGTERM


def test_what_a_program_says_of_its_failure_is_its_last_words() -> None:
    assert run_program(("sh", "-c", "echo a; echo b >&2; exit 3"), timeout_s=60).complaint() == "b"
    assert run_program(("sh", "-c", "echo a; exit 3"), timeout_s=60).complaint() == "a"
    assert run_program(("false",), timeout_s=60).complaint() == "it said nothing"
