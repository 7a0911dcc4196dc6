"""One campaign at a time on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from app.domain.errors import BusyError, FootingError
from app.hosts.machine_lock import MachineLock, acquire_machine_lock, find_other_campaign
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


def test_second_campaign_names_the_first(state_folder: Path, shared: Path) -> None:
    with acquire(state_folder, shared), pytest.raises(BusyError) as caught:
        acquire(state_folder, shared, "/runs/2")
    assert "“nightly” in /runs/1 is running" in caught.value.message
    assert "Wait for the other one or stop it" in caught.value.hint


def test_after_the_first_the_second_may_begin(state_folder: Path, shared: Path) -> None:
    acquire(state_folder, shared).close()
    with acquire(state_folder, shared, "/runs/2") as lock:
        assert lock.scope_note == ""


def test_campaign_of_another_user_is_unnamed(state_folder: Path, shared: Path, tmp_path: Path) -> None:
    other = tmp_path / "state of another user"
    other.mkdir(mode=0o700)
    with acquire(other, shared), as_user(), pytest.raises(BusyError) as caught:
        acquire(state_folder, shared)
    assert f"(process {os.getpid()})" in caught.value.message
    assert "--wait" in caught.value.hint
    assert "/runs/1" not in str(caught.value)
    with acquire(state_folder, shared):  # the refusal kept nothing
        pass


def as_user() -> AbstractContextManager[object]:
    return patch("app.hosts.machine_lock.may_measure_beside", return_value=False)


def hold(shared: Path, name: str, user: int | None = None) -> subprocess.Popen[bytes]:
    """Start a process of this name, and user, that holds the lock of all users."""
    shared.touch(0o444)
    code = (
        "import fcntl, sys, time, pathlib; pathlib.Path('/proc/self/comm').write_text(sys.argv[1]); "
        "fcntl.flock(0, fcntl.LOCK_EX); print('held', flush=True); time.sleep(3600)"
    )
    with shared.open() as file:
        holder = subprocess.Popen(
            ("/usr/bin/python3", "-c", code, name), stdin=file, stdout=subprocess.PIPE, user=user
        )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


@pytest.mark.parametrize("name", ["sleep", "flock", "pgfooting"])
def test_what_is_no_campaign_stops_nobody(state_folder: Path, shared: Path, name: str) -> None:
    with ended(hold(shared, name)) as holder, as_user(), acquire(state_folder, shared) as lock:
        assert f"{holder.pid} ({name})" in lock.held_by
        assert "may be disturbed" in lock.held_by


def test_root_can_always_measure(state_folder: Path, shared: Path) -> None:
    with ended(hold(shared, "pgfooting-run")) as holder:
        with (
            patch("app.hosts.machine_lock.may_measure_beside", return_value=True),
            acquire(state_folder, shared) as lock,
        ):
            assert f"{holder.pid}" in lock.held_by
        with as_user(), pytest.raises(BusyError):
            acquire(state_folder, shared)


@needs_root
@pytest.mark.parametrize(
    ("uid", "name", "found"),
    [(65534, "pgfooting-run", True), (0, "pgfooting-run", False), (65534, "flock", False)],
)
def test_other_campaign_found(shared: Path, uid: int, name: str, *, found: bool) -> None:
    assert find_other_campaign(shared) == ""
    with ended(hold(shared, name, uid)) as holder:
        sentence = find_other_campaign(shared)
        assert bool(sentence) is found
        assert (f"user nobody is running on this machine (process {holder.pid})" in sentence) is found


@pytest.mark.parametrize("is_root", [True, False])
def test_a_campaign_is_waited_for(state_folder: Path, shared: Path, *, is_root: bool) -> None:
    reasons: list[str] = []

    def wait(reason: str) -> None:
        reasons.append(reason)
        if len(reasons) == 2:
            holder.kill()
            holder.wait()

    with (
        ended(hold(shared, "pgfooting-run")) as holder,
        patch("app.hosts.machine_lock.may_measure_beside", return_value=is_root),
        acquire_machine_lock("/runs/2", "x", wait=wait, state_folder=state_folder, shared=shared) as lock,
    ):
        assert lock.held_by == ""
    assert len(reasons) >= 2
    assert f"(process {holder.pid})" in reasons[0]


def test_own_campaign_is_waited_for(state_folder: Path, shared: Path) -> None:
    first = acquire(state_folder, shared)
    acquire_machine_lock(
        "/runs/2", "x", wait=lambda _reason: first.close(), state_folder=state_folder, shared=shared
    ).close()


def test_name_of_the_process_is_put_back(state_folder: Path, shared: Path) -> None:
    comm = Path("/proc/self/comm")
    before = comm.read_text()
    with acquire(state_folder, shared):
        assert comm.read_text() == "pgfooting-run\n"
    assert comm.read_text() == before


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_holder_without_a_name_yet(state_folder: Path, shared: Path) -> None:
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


def test_shared_file_readable_by_all_only(state_folder: Path, shared: Path) -> None:
    before = os.umask(0o077)
    try:
        acquire(state_folder, shared).close()
    finally:
        os.umask(before)
    assert shared.stat().st_mode & 0o777 == 0o444
    assert shared.read_bytes() == b""


@pytest.mark.parametrize("obstacle", ["link", "folder", "no folder", "fifo"])
def test_unusable_shared_lock_narrows_the_scope(state_folder: Path, shared: Path, obstacle: str) -> None:
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
        assert (
            "pgFooting cannot keep campaigns of other users from running at the same time" in lock.scope_note
        )
        with pytest.raises(BusyError):
            acquire(state_folder, shared)
    assert decoy.read_bytes() == b"theirs"


def test_missing_state_folder(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(FootingError):
        acquire(tmp_path / "none", shared)


@needs_root
def test_shared_file_of_another_user_locked_unwritten(state_folder: Path, shared: Path) -> None:
    shared.write_bytes(b"theirs")
    os.chown(shared, 65534, 65534)
    with acquire(state_folder, shared) as lock:
        assert lock.scope_note == ""
    assert shared.read_bytes() == b"theirs"
    assert shared.stat().st_uid == 65534
