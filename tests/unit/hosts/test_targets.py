"""Whether a target can hold the data directory: each refusal names what is at fault."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from app.domain.campaign.configuration import FolderTarget, MemoryTarget
from app.domain.errors import ExitStatus, TargetError
from app.domain.text import GIB, MIB
from app.hosts.folders import own_folders as accounts
from app.hosts.folders import targets
from app.hosts.folders.targets import check_target, default_folder, lies_in_memory
from app.process.memory import Memory
from app.process.starter import Account, current_account, named_account
from tests.unit.hosts.mounts import in_own_mounts, needs_mounts

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


def refused(target: FolderTarget | MemoryTarget, account: Account, need_bytes: int = MIB) -> TargetError:
    with pytest.raises(TargetError) as caught:
        check_target(target, account, need_bytes)
    assert caught.value.exit_status == ExitStatus.USAGE
    return caught.value


# --- folders that can be used


def test_folder_of_the_account(bench: Path, account: Account) -> None:
    found = check_target(FolderTarget(str(bench)), account, MIB)
    assert found.path == str(bench)
    assert found.free_bytes > MIB
    assert list(bench.iterdir()) == []


def test_symbolic_links_resolved_original_kept(bench: Path, account: Account) -> None:
    link = bench.parent / "link"
    link.symlink_to(bench)
    found = check_target(FolderTarget(str(link)), account, MIB)
    assert (found.path, found.given) == (str(bench), str(link))


def test_a_tilde_is_this_users_home(bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bench.parent))
    assert check_target(FolderTarget("~/bench"), account, MIB).path == str(bench)


# --- folders that cannot


def test_relative_folder_suggests_absolute_one(account: Account) -> None:
    error = refused(FolderTarget("bench/disk1"), account)
    assert "bench/disk1 is not an absolute path" in error.message
    assert str(Path.cwd() / "bench/disk1") in error.hint


def test_home_of_an_unknown_user(account: Account) -> None:
    assert "no user nosuchuser" in refused(FolderTarget("~nosuchuser/bench"), account).message


def test_control_characters_are_refused_and_printed_harmlessly(account: Account) -> None:
    message = refused(FolderTarget("/tmp/a\nb\x1b[31m"), account).message
    assert "control characters" in message
    assert "\x1b" not in message


def test_missing_folder_is_not_created(bench: Path, account: Account) -> None:
    message = refused(FolderTarget(str(bench / "disk1" / "bench")), account).message
    assert f"there is no {bench / 'disk1'}." in message
    assert list(bench.iterdir()) == []


def test_file_on_the_way(bench: Path, account: Account) -> None:
    (bench / "file").write_text("", encoding="ascii")
    message = refused(FolderTarget(str(bench / "file")), account).message
    assert f"{bench / 'file'} is a file" in message


def test_circular_link(bench: Path, account: Account) -> None:
    (bench / "loop").symlink_to("loop")
    message = refused(FolderTarget(str(bench / "loop")), account).message
    assert "a dangling symbolic link" in message


@pytest.mark.parametrize("below", ["", "base"])
def test_data_directory_of_users_is_refused(bench: Path, account: Account, below: str) -> None:
    (bench / "base").mkdir()
    (bench / "base").chmod(0o755)
    (bench / "PG_VERSION").write_text("15\n", encoding="ascii")
    message = refused(FolderTarget(str(bench / below)), account).message
    assert f"{bench} is a PostgreSQL data directory" in message


def test_folder_to_be_deleted(bench: Path, account: Account) -> None:
    inside = bench / "pgfooting-0123456789abcdef"
    inside.mkdir()
    os.chown(inside, account.uid, account.gid)
    assert (
        "is in a folder that pgFooting created for one campaign and deletes afterwards"
        in refused(FolderTarget(str(inside)), account).message
    )


def test_too_little_space_with_both_sizes(bench: Path, account: Account) -> None:
    error = refused(FolderTarget(str(bench)), account, 10**18)
    assert "is too full" in error.message
    assert "TiB needed" in error.message
    assert "less data" in error.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_write_permission(bench: Path, account: Account) -> None:
    bench.chmod(0o500)
    try:
        assert "is not allowed to create files in" in refused(FolderTarget(str(bench)), account).message
    finally:
        bench.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may go everywhere")
def test_folder_without_search_permission(bench: Path, account: Account) -> None:
    (bench / "inner").mkdir()
    bench.chmod(0o600)
    try:
        assert f"{bench} denies access" in refused(FolderTarget(str(bench / "inner")), account).message
    finally:
        bench.chmod(0o700)


@needs_root
def test_component_unreachable_for_server_account(bench: Path) -> None:
    nobody = named_account("nobody")
    (bench / "inner").mkdir()
    os.chown(bench, 0, 0)
    error = refused(FolderTarget(str(bench / "inner")), nobody)
    assert f"nobody cannot reach {bench / 'inner'}: {bench} denies access" in error.message
    assert "(drwx------, owner root)" in error.message
    assert accounts.ROOT_FOLDER in error.hint


@needs_root
def test_writable_by_root_only(bench: Path) -> None:
    nobody = named_account("nobody")
    os.chown(bench, 0, 0)
    bench.chmod(0o755)
    error = refused(FolderTarget(str(bench)), nobody)
    assert f"nobody is not allowed to create files in {bench} (drwxr-xr-x, owner root)" in error.message
    assert "owned by nobody" in error.hint


def test_permissions_of_unnamed_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert targets._permissions(0o040700, 4711) == "drwx------, owner 4711"


MOUNTED = """
import subprocess, sys
from app.domain.campaign.configuration import FolderTarget
from app.domain.errors import TargetError
from app.hosts.folders.targets import check_target
from app.process.starter import current_account
folder, options = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
try:
    check_target(FolderTarget(folder), current_account(), 1024**2)
except TargetError as err:
    print(err.message)
"""


@needs_mounts
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("ro", "mounted read-only"),
        ("size=64k", "64 KiB free, 1 MiB needed"),
        ("nr_inodes=100", "99 inodes free"),
    ],
)
def test_filesystem_that_cannot_hold_it(tmp_path: Path, options: str, text: str) -> None:
    assert text in in_own_mounts(MOUNTED, str(tmp_path), options)


# --- the default folder


@pytest.fixture
def root_folder(bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let /var/lib/pgfooting, or the user's cache, be below a test's folder."""
    if os.geteuid() != 0:
        monkeypatch.setenv("XDG_CACHE_HOME", str(bench))
        return bench / "pgfooting"
    monkeypatch.setattr(accounts, "ROOT_FOLDER", str(bench.parent / "lib"))
    return bench.parent / "lib"


def test_default_folder_is_private_and_reachable(root_folder: Path, account: Account) -> None:
    before = os.umask(0o077)
    try:
        found = check_target(FolderTarget(), account, MIB)
        again = check_target(FolderTarget(), account, MIB)
    finally:
        os.umask(before)
    created = Path(found.path)
    assert again.path == found.path == default_folder(account) == str(root_folder / "bench")
    assert found.given == ""
    assert created.stat().st_mode & 0o777 == 0o700
    assert created.stat().st_uid == account.uid


@needs_root
def test_default_folder_of_root_follows_account(root_folder: Path) -> None:
    nobody = named_account("nobody")
    check_target(FolderTarget(), current_account(), MIB)
    assert Path(check_target(FolderTarget(), nobody, MIB).path).stat().st_uid == nobody.uid


@needs_root
def test_default_folder_of_root_changeable_by_others(root_folder: Path) -> None:
    root_folder.mkdir()
    root_folder.chmod(0o777)
    error = refused(FolderTarget(), named_account("nobody"))
    assert "Other users could change" in error.message


@needs_root
def test_default_folder_of_root_is_no_link(root_folder: Path) -> None:
    decoy = root_folder.with_name("decoy")
    decoy.mkdir()
    root_folder.mkdir(mode=0o755)
    (root_folder / "bench").symlink_to(decoy)
    assert "cannot be created" in refused(FolderTarget(), named_account("nobody")).message
    assert decoy.stat().st_uid == 0


def test_default_folder_that_cannot_be_created(root_folder: Path, account: Account) -> None:
    root_folder.write_text("in the way", encoding="ascii")
    error = refused(FolderTarget(), account)
    assert "cannot be created" in error.message
    assert ("XDG_CACHE_HOME" in error.hint) == (os.geteuid() != 0)


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    account = Account("joe", 4711, 4711, (), "/home/joe")
    assert default_folder(account) == "/home/joe/.cache/pgfooting/bench"


# --- memory

MACHINE = Memory(total_bytes=16 * GIB, available_bytes=8 * GIB)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "read_memory", lambda: MACHINE)


def test_proc_does_not_count_as_memory() -> None:
    assert not lies_in_memory(Path("/proc").stat().st_dev)


@pytest.mark.usefixtures("machine")
def test_memory_beyond_machine(account: Account) -> None:
    message = refused(MemoryTarget(17 * GIB), account).message
    assert "may use 17 GiB, but this machine has only 16 GiB" in message


@pytest.mark.usefixtures("machine")
def test_memory_below_data_size(account: Account) -> None:
    message = refused(MemoryTarget(2 * GIB), account, 3 * GIB).message
    assert "may use 2 GiB, but needs 3 GiB" in message


@pytest.mark.usefixtures("machine")
def test_memory_not_available_now(account: Account) -> None:
    message = refused(MemoryTarget(), account, 9 * GIB).message
    assert "9 GiB of memory is needed, but this machine has only 8 GiB available" in message


def test_memory_withheld_by_control_group(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Memory(2 * GIB, GIB, "/sys/fs/cgroup/memory.max")
    monkeypatch.setattr(targets, "read_memory", lambda: limited)
    assert "(/sys/fs/cgroup/memory.max) has only 2 GiB" in refused(MemoryTarget(4 * GIB), account).message


@pytest.mark.usefixtures("machine")
def test_memory_on_something_else_than_tmpfs(
    bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "MEMORY_FOLDER", str(bench))
    monkeypatch.setattr(targets, "lies_in_memory", lambda _device: False)
    assert ("is not a tmpfs on this machine, so a data directory there would not be in memory") in refused(
        MemoryTarget(), account
    ).message


@pytest.mark.usefixtures("machine")
def test_memory_in_small_tmpfs(bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = Memory(10**18, 10**18)
    monkeypatch.setattr(targets, "read_memory", lambda: huge)
    monkeypatch.setattr(targets, "MEMORY_FOLDER", str(bench))
    monkeypatch.setattr(targets, "lies_in_memory", lambda _device: True)
    error = refused(MemoryTarget(), account, 10**17)
    assert "is too full" in error.message
    assert "remount,size=" in error.hint


@pytest.mark.usefixtures("machine")
def test_memory_within_its_limit(account: Account) -> None:
    found = check_target(MemoryTarget(GIB), account, MIB)
    assert found.path == os.path.realpath(targets.MEMORY_FOLDER)
    assert found.limit_bytes == GIB
