"""One campaign at a time on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import BusyError, FootingError
from app.hosts.machine_lock import MachineLock, acquire_machine_lock
from tests.unit.hosts.conftest import needs_root

TREE = Path(__file__).resolve().parents[3]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "lock"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder / "pgfooting.lock"


def acquire(state_folder: Path, shared: Path, folder: str = "/runs/1") -> MachineLock:
    return acquire_machine_lock(folder, "nightly", state_folder=state_folder, shared=shared)


def test_the_second_campaign_is_told_which_is_the_first(state_folder: Path, shared: Path) -> None:
    with acquire(state_folder, shared), pytest.raises(BusyError) as caught:
        acquire(state_folder, shared, "/runs/2")
    assert "“nightly” in /runs/1 is running" in caught.value.message
    assert "wait for its end" in caught.value.hint


def test_after_the_first_the_second_may_begin(state_folder: Path, shared: Path) -> None:
    acquire(state_folder, shared).close()
    with acquire(state_folder, shared, "/runs/2") as lock:
        assert lock.scope_note == ""


def test_the_campaign_of_another_user_is_told_without_its_name(
    state_folder: Path, shared: Path, tmp_path: Path
) -> None:
    other = tmp_path / "state of another user"
    other.mkdir(mode=0o700)
    with acquire(other, shared), pytest.raises(BusyError) as caught:
        acquire(state_folder, shared)
    assert "Another user's campaign" in caught.value.message
    assert "/runs/1" not in str(caught.value)
    with acquire(state_folder, shared):  # the refusal kept nothing
        pass


def test_a_holder_that_has_not_told_its_name_yet_is_still_a_holder(state_folder: Path, shared: Path) -> None:
    with acquire(state_folder, shared):
        (state_folder / "machine.lock").write_bytes(b"")
        with pytest.raises(BusyError, match="Another campaign of yours"):
            acquire(state_folder, shared)


def test_a_lock_ends_with_its_process(state_folder: Path, shared: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom app.hosts.machine_lock import acquire_machine_lock\n"
        "state, shared = map(Path, sys.argv[1:])\n"
        "lock = acquire_machine_lock('/runs/1', 'x', state_folder=state, shared=shared)\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    holder = subprocess.Popen(
        (sys.executable, "-c", code, str(state_folder), str(shared)),
        cwd=TREE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder.stdin, holder.stdout:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError):
            acquire(state_folder, shared)
        holder.kill()
        holder.wait()
    acquire(state_folder, shared).close()


def test_the_shared_file_can_be_opened_by_all_and_written_by_none(state_folder: Path, shared: Path) -> None:
    before = os.umask(0o077)
    try:
        acquire(state_folder, shared).close()
    finally:
        os.umask(before)
    assert shared.stat().st_mode & 0o777 == 0o444
    assert shared.read_bytes() == b""


@pytest.mark.parametrize("obstacle", ["link", "folder", "no folder", "fifo"])
def test_a_shared_lock_that_cannot_be_used_narrows_the_scope_and_says_so(
    state_folder: Path, shared: Path, obstacle: str
) -> None:
    decoy = shared.with_name("decoy")
    decoy.write_bytes(b"theirs")
    match obstacle:
        case "link":
            shared.symlink_to(decoy)
        case "folder":
            shared.mkdir()
        case "no folder":
            shared = shared.with_name("missing") / "lock"
        case _:
            os.mkfifo(shared)
    with acquire(state_folder, shared) as lock:
        assert "other users are not excluded" in lock.scope_note
        with pytest.raises(BusyError):
            acquire(state_folder, shared)
    assert decoy.read_bytes() == b"theirs"


def test_a_state_folder_that_does_not_exist_is_a_clear_error(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(FootingError):
        acquire(tmp_path / "none", shared)


@needs_root
def test_a_shared_file_of_another_user_is_locked_without_writing_to_it(
    state_folder: Path, shared: Path
) -> None:
    shared.write_bytes(b"theirs")
    os.chown(shared, 65534, 65534)
    with acquire(state_folder, shared) as lock:
        assert lock.scope_note == ""
    assert shared.read_bytes() == b"theirs"
    assert shared.stat().st_uid == 65534
