"""The folders of one run: made, looked after, removed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.campaign.configuration import DiskTarget, FolderTarget, GroupChoice, MemoryTarget
from app.domain.errors import TargetError, TargetLostError
from app.domain.options.raid import Level
from app.domain.text import GIB, MIB
from app.hosts.folders import run_folders, targets
from app.hosts.folders.private_folder import open_private, write_private
from app.hosts.folders.targets import MEMORY_FOLDER
from app.hosts.local import LocalHost, RunFolders
from app.hosts.recovery.cleanup import CleanupAction
from app.hosts.recovery.resource_journal import ResourceJournal
from app.process.starter import Account, spawn
from tests.unit.hosts.conftest import Records
from tests.unit.hosts.mounts import in_own_mounts, needs_mounts

pytestmark = pytest.mark.slow  # each starts ten processes or so


@pytest.fixture
def host(account: Account, resources: ResourceJournal, records: Records) -> LocalHost:
    return LocalHost(account, resources, records)


@pytest.fixture
def ready(host: LocalHost, bench: Path) -> Iterator[RunFolders]:
    made = host.prepare(FolderTarget(str(bench)), MIB)
    yield made
    host.release(made)


# --- preparing


def test_every_folder_is_private_and_the_accounts(ready: RunFolders, account: Account, bench: Path) -> None:
    folders = (ready.root, ready.data_directory, ready.socket_directory, ready.private.path)
    for path in map(Path, folders):
        assert path.stat().st_mode & 0o7777 == 0o700
        assert (path.stat().st_uid, path.stat().st_gid) == (account.uid, account.gid)
        assert str(path) == os.path.realpath(path)
    assert Path(ready.root).parent == bench
    assert list(Path(ready.data_directory).iterdir()) == []


def test_every_folder_is_recorded(ready: RunFolders, resources: ResourceJournal) -> None:
    recorded = {entry.path: entry.identity for entry in resources.state.entries}
    assert set(recorded) == {
        ready.root,
        ready.data_directory,
        ready.socket_directory,
        ready.private.path,
    }
    assert None not in recorded.values()


def test_private_folder_in_memory_if_possible(ready: RunFolders) -> None:
    if not targets.is_in_memory(MEMORY_FOLDER):
        pytest.skip("no tmpfs here")
    assert targets.is_in_memory(ready.private.path)
    assert ready.notes == ()


def test_socket_path_is_short(host: LocalHost, bench: Path, account: Account) -> None:
    deep = bench
    for _ in range(12):
        deep /= "a folder with a long name"
        deep.mkdir()
        os.chown(deep, account.uid, account.gid)
    made = host.prepare(FolderTarget(str(deep)), MIB)
    assert len(os.fsencode(f"{made.socket_directory}/.s.PGSQL.65535")) < 100
    host.release(made)


def test_a_memory_target_lies_in_memory(host: LocalHost) -> None:
    if not targets.is_in_memory(MEMORY_FOLDER):
        pytest.skip("no tmpfs here")
    made = host.prepare(MemoryTarget(GIB), MIB)
    assert Path(made.root).parent == Path(MEMORY_FOLDER)
    assert made.limit_bytes == GIB
    assert made.root != made.private.path
    host.release(made)
    assert not Path(made.root).exists()


def test_disks_are_never_mistaken_for_a_folder(host: LocalHost, resources: ResourceJournal) -> None:
    with pytest.raises(TargetError, match="no disk was touched"):
        host.prepare(DiskTarget(GroupChoice(("S1",), Level.SINGLE, "ext4")), MIB)
    assert list(resources.state.entries) == []


def test_failed_folder_removes_the_others(
    host: LocalHost, bench: Path, resources: ResourceJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.hosts.local.private_places", lambda: ("/proc",))
    with pytest.raises(TargetError, match="cannot create the folder /proc"):
        host.prepare(FolderTarget(str(bench)), MIB)
    assert list(bench.iterdir()) == []
    assert resources.state.entries == ()


def test_no_place_for_folders(host: LocalHost, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.hosts.local.private_places", lambda: ())
    with pytest.raises(TargetError, match=os.strerror(errno.ENOSPC)):
        host.prepare(FolderTarget(str(bench)), MIB)
    assert list(bench.iterdir()) == []


def test_the_first_place_that_works_is_taken(
    host: LocalHost, bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.hosts.local.private_places", lambda: ("/proc", "/nonexistent", str(bench)))
    made = host.prepare(FolderTarget(str(bench)), MIB)
    assert Path(made.private.path).parent == bench
    if not targets.is_in_memory(str(bench)):
        assert "cost the device of" in made.notes[0]
    host.release(made)


# --- places


def test_logs_go_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_free_bytes", lambda place: MIB if place == MEMORY_FOLDER else GIB)
    assert os.path.realpath(MEMORY_FOLDER) not in targets.private_places()


# --- the private folder


def test_script_written_as_account_and_read_back(
    host: LocalHost, ready: RunFolders, account: Account
) -> None:
    path = write_private(ready.private, "script1", "SELECT 'ä';\n", lambda _outcome: None)
    assert path == f"{ready.private.path}/script1"
    assert Path(path).stat().st_uid == account.uid
    assert Path(path).stat().st_mode & 0o777 == 0o600
    with open_private(ready.private, "script1") as file:
        assert file.read() == "SELECT 'ä';\n".encode()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/b"])
def test_names_that_lead_elsewhere_are_refused(host: LocalHost, ready: RunFolders, name: str) -> None:
    with pytest.raises(ValueError, match=name or "^$"):
        write_private(ready.private, name, "", lambda _outcome: None)
    if name not in {".", ".."}:
        with pytest.raises(ValueError, match=name or "^$"):
            open_private(ready.private, name)


def test_second_file_of_same_name(host: LocalHost, ready: RunFolders) -> None:
    write_private(ready.private, "script1", "", lambda _outcome: None)
    with pytest.raises(TargetLostError, match="File exists"):
        write_private(ready.private, "script1", "", lambda _outcome: None)


def test_reading_skips_links_and_fifos(host: LocalHost, ready: RunFolders, tmp_path: Path) -> None:
    decoy = tmp_path / "secret"
    decoy.write_bytes(b"secret")
    Path(ready.private.path, "link").symlink_to(decoy)
    os.mkfifo(Path(ready.private.path, "fifo"))
    with pytest.raises(OSError, match="symbolic links"):
        open_private(ready.private, "link")
    with pytest.raises(TargetLostError, match="replaced"):
        open_private(ready.private, "fifo")
    with pytest.raises(TargetLostError, match="replaced"):
        open_private(ready.private, "..")
    with pytest.raises(FileNotFoundError):
        open_private(ready.private, "none")


def test_no_read_from_a_replaced_folder(
    host: LocalHost, bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.hosts.local.private_places", lambda: (str(bench),))
    made = host.prepare(FolderTarget(str(bench)), MIB)
    private = Path(made.private.path)
    private.rename(bench / "moved")
    private.mkdir()
    (private / "server.log").write_bytes(b"LOG")
    with pytest.raises(TargetLostError, match="replaced"):
        open_private(made.private, "server.log")
    with pytest.raises(TargetLostError, match="replaced"):
        host.check_alive(made, 0)
    with pytest.raises(TargetLostError, match="replaced"):
        write_private(made.private, "script1", "", lambda _outcome: None)
    host.release(made)
    assert (private / "server.log").exists()


# --- looking after it


def test_a_target_with_room_is_alive(host: LocalHost, ready: RunFolders) -> None:
    host.check_alive(ready, MIB)


def test_nearly_full_target_is_lost(host: LocalHost, ready: RunFolders) -> None:
    with pytest.raises(TargetLostError, match="nearly full") as caught:
        host.check_alive(ready, 10**18)
    assert "less data" in caught.value.hint


def test_nearly_full_private_folder_ends_run(
    host: LocalHost, ready: RunFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folders, "_LOG_RESERVE_BYTES", 10**18)
    with pytest.raises(TargetLostError, match="is nearly full"):
        host.check_alive(ready, 0)


@pytest.mark.parametrize("what", ["root", "data_directory"])
def test_a_target_that_vanished_is_lost(host: LocalHost, ready: RunFolders, what: str) -> None:
    shutil.rmtree(getattr(ready, what))
    with pytest.raises(TargetLostError, match="has vanished: No such file"):
        host.check_alive(ready, 0)


def test_replaced_target_is_lost_and_untouched(host: LocalHost, ready: RunFolders, bench: Path) -> None:
    Path(ready.root).rename(bench / "moved")
    Path(ready.root).mkdir()
    with pytest.raises(TargetLostError, match="was replaced") as caught:
        host.check_alive(ready, 0)
    assert "not touched" in caught.value.hint


def test_memory_target_over_limit_is_lost(host: LocalHost) -> None:
    if not targets.is_in_memory(MEMORY_FOLDER):
        pytest.skip("no tmpfs here")
    made = host.prepare(MemoryTarget(8 * MIB), MIB)
    host.check_alive(made, MIB)
    base = Path(made.data_directory, "base")
    base.mkdir()
    os.chown(base, made.private.account.uid, made.private.account.gid)
    (base / "1259").write_bytes(b"x" * (7 * MIB + 4096))
    with pytest.raises(TargetLostError, match="nearly full"):
        host.check_alive(made, MIB)
    host.release(made)


READ_ONLY = """
import subprocess, sys
from pathlib import Path
from app.domain.campaign.configuration import FolderTarget
from app.domain.errors import TargetLostError
from app.hosts.recovery.resource_journal import ResourceJournal
from app.hosts.local import LocalHost
from app.process.starter import current_account
state, folder = sys.argv[1:]
mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", folder]
subprocess.run(mount, check=True)
with ResourceJournal.create("/runs", "x", current_account(), state_folder=Path(state)) as resources:
    host = LocalHost(current_account(), resources, lambda outcome: None)
    site = host.prepare(FolderTarget(folder), 1024**2)
    host.check_alive(site, 1024**2)
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    try:
        host.check_alive(site, 1024**2)
    except TargetLostError as err:
        print(err.message)
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    try:
        host.check_alive(site, 1024**2)
    except TargetLostError as err:
        print(err.message)
    subprocess.run(["umount", folder], check=True)
    print(*[event.action for event in host.release(site)])
"""


@needs_mounts
def test_read_only_or_overmounted_target_is_lost(state_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    became, vanished, released = in_own_mounts(READ_ONLY, str(state_folder), str(folder)).splitlines()
    assert "has become read-only" in became
    assert "has vanished" in vanished
    assert released == "removed removed removed removed"


# --- releasing


def test_release_removes_data_directory_first(
    host: LocalHost, bench: Path, resources: ResourceJournal, records: Records
) -> None:
    made = host.prepare(FolderTarget(str(bench)), MIB)
    (bench / "mine").write_bytes(b"")
    Path(made.data_directory, "PG_VERSION").write_bytes(b"15\n")
    events = host.release(made)
    assert [(event.action, event.path) for event in events] == [
        (CleanupAction.REMOVED, made.data_directory),
        (CleanupAction.REMOVED, made.root),
        (CleanupAction.REMOVED, made.private.path),
        (CleanupAction.REMOVED, made.socket_directory),
    ]
    assert [path.name for path in bench.iterdir()] == ["mine"]
    assert resources.state.entries == ()
    assert {outcome.account for outcome in records} == {made.private.account.name}


def test_releasing_twice_is_harmless(host: LocalHost, bench: Path) -> None:
    made = host.prepare(FolderTarget(str(bench)), MIB)
    host.release(made)
    assert host.release(made) == ()


def test_releasing_ends_a_server_that_still_runs(host: LocalHost, bench: Path, account: Account) -> None:
    made = host.prepare(FolderTarget(str(bench)), MIB)
    program = bench.parent / "postgres"
    shutil.copy(shutil.which("sleep") or "", program)
    program.chmod(0o755)
    server = spawn(
        (str(program), "1000"), account=account, death_signal=signal.SIGKILL, cwd=made.data_directory
    )
    events = host.release(made)
    assert events[0].action is CleanupAction.ENDED
    assert not Path(made.root).exists()
    assert server.wait(60) == -signal.SIGQUIT


def test_what_was_replaced_is_kept_and_told(host: LocalHost, bench: Path, resources: ResourceJournal) -> None:
    made = host.prepare(FolderTarget(str(bench)), MIB)
    Path(made.data_directory).rename(bench / "moved")
    Path(made.data_directory).mkdir()
    events = host.release(made)
    assert [event.action for event in events[:2]] == [CleanupAction.KEPT, CleanupAction.KEPT]
    assert [entry.path for entry in resources.state.entries] == [made.root, made.data_directory]
