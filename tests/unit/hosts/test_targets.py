"""Whether a target can hold the data directory: each refusal names what is at fault."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from app.domain.campaign.configuration import FolderTarget, MemoryTarget
from app.domain.errors import ExitStatus, TargetError
from app.domain.units import GIB, MIB
from app.hosts.folders import account as accounts
from app.hosts.folders import targets
from app.hosts.folders.targets import Memory, check_target, default_folder
from app.process.starter import Account, current_account, named_account
from tests.unit.hosts.mounts import in_own_mounts, needs_mounts

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


def refused(target: FolderTarget | MemoryTarget, account: Account, need_bytes: int = MIB) -> TargetError:
    with pytest.raises(TargetError) as caught:
        check_target(target, account, need_bytes)
    assert caught.value.exit_status == ExitStatus.USAGE
    return caught.value


# --- folders that can be used


def test_a_folder_of_the_account_can_be_used(bench: Path, account: Account) -> None:
    found = check_target(FolderTarget(str(bench)), account, MIB)
    assert found.path == str(bench)
    assert found.free_bytes > MIB
    assert list(bench.iterdir()) == []


def test_symbolic_links_are_resolved_and_what_was_written_is_kept(bench: Path, account: Account) -> None:
    link = bench.parent / "link"
    link.symlink_to(bench)
    found = check_target(FolderTarget(str(link)), account, MIB)
    assert (found.path, found.given) == (str(bench), str(link))


def test_a_tilde_is_this_users_home(bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bench.parent))
    assert check_target(FolderTarget("~/bench"), account, MIB).path == str(bench)


# --- folders that cannot


def test_a_relative_folder_is_refused_with_the_absolute_one(account: Account) -> None:
    error = refused(FolderTarget("bench/disk1"), account)
    assert "“bench/disk1” is relative" in error.message
    assert str(Path.cwd() / "bench/disk1") in error.hint


def test_the_home_of_a_user_who_does_not_exist_is_refused(account: Account) -> None:
    assert "no user nosuchuser" in refused(FolderTarget("~nosuchuser/bench"), account).message


def test_control_characters_are_refused_and_printed_harmlessly(account: Account) -> None:
    message = refused(FolderTarget("/tmp/a\nb\x1b[31m"), account).message
    assert "control characters" in message
    assert "\x1b" not in message


def test_a_missing_folder_is_refused_with_the_component_and_is_not_created(
    bench: Path, account: Account
) -> None:
    message = refused(FolderTarget(str(bench / "disk1" / "bench")), account).message
    assert f"there is no {bench / 'disk1'}." in message
    assert list(bench.iterdir()) == []


def test_a_file_on_the_way_is_refused_by_name(bench: Path, account: Account) -> None:
    (bench / "file").write_text("", encoding="ascii")
    message = refused(FolderTarget(str(bench / "file")), account).message
    assert f"{bench / 'file'} is a file" in message


def test_a_link_that_leads_in_circles_is_refused(bench: Path, account: Account) -> None:
    (bench / "loop").symlink_to("loop")
    message = refused(FolderTarget(str(bench / "loop")), account).message
    assert "symbolic link that leads nowhere" in message


@pytest.mark.parametrize("below", ["", "base"])
def test_a_data_directory_of_the_users_is_never_used(bench: Path, account: Account, below: str) -> None:
    (bench / "base").mkdir()
    (bench / "base").chmod(0o755)
    (bench / "PG_VERSION").write_text("15\n", encoding="ascii")
    message = refused(FolderTarget(str(bench / below)), account).message
    assert f"{bench} is a data directory of PostgreSQL" in message


def test_a_folder_that_will_be_deleted_is_refused(bench: Path, account: Account) -> None:
    inside = bench / "pgfooting-0123456789abcdef"
    inside.mkdir()
    os.chown(inside, account.uid, account.gid)
    assert "deletes after it" in refused(FolderTarget(str(inside)), account).message


def test_a_folder_without_enough_space_is_refused_with_both_sizes(bench: Path, account: Account) -> None:
    error = refused(FolderTarget(str(bench)), account, 10**18)
    assert "is too full" in error.message
    assert "TiB are needed" in error.message
    assert "smaller data size" in error.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(bench: Path, account: Account) -> None:
    bench.chmod(0o500)
    try:
        assert "may not create anything" in refused(FolderTarget(str(bench)), account).message
    finally:
        bench.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may go everywhere")
def test_a_folder_that_may_not_be_entered_is_refused_by_name(bench: Path, account: Account) -> None:
    (bench / "inner").mkdir()
    bench.chmod(0o600)
    try:
        assert (
            f"{bench} does not let it through" in refused(FolderTarget(str(bench / "inner")), account).message
        )
    finally:
        bench.chmod(0o700)


@needs_root
def test_what_root_reaches_and_the_servers_account_does_not_is_refused_by_component(bench: Path) -> None:
    nobody = named_account("nobody")
    (bench / "inner").mkdir()
    os.chown(bench, 0, 0)
    error = refused(FolderTarget(str(bench / "inner")), nobody)
    assert f"nobody cannot reach {bench / 'inner'}: {bench} does not let it through" in error.message
    assert "(drwx------, owner root)" in error.message
    assert accounts.ROOT_FOLDER in error.hint


@needs_root
def test_what_only_root_may_write_is_refused_with_its_permissions(bench: Path) -> None:
    nobody = named_account("nobody")
    os.chown(bench, 0, 0)
    bench.chmod(0o755)
    error = refused(FolderTarget(str(bench)), nobody)
    assert f"nobody may not create anything in {bench} (drwxr-xr-x, owner root)" in error.message
    assert "belongs to nobody" in error.hint


def test_permissions_of_an_owner_without_a_name_show_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("size=64k", "64 KiB are free, 1 MiB are needed"),
        ("nr_inodes=100", "room for 99 more files"),
    ],
)
def test_a_filesystem_that_cannot_hold_it_is_refused(tmp_path: Path, options: str, text: str) -> None:
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


def test_the_default_folder_is_created_private_and_reachable(root_folder: Path, account: Account) -> None:
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
def test_roots_default_folder_is_given_to_the_account_of_today(root_folder: Path) -> None:
    nobody = named_account("nobody")
    check_target(FolderTarget(), current_account(), MIB)
    assert Path(check_target(FolderTarget(), nobody, MIB).path).stat().st_uid == nobody.uid


@needs_root
def test_roots_default_folder_is_refused_where_others_could_change_it(root_folder: Path) -> None:
    root_folder.mkdir()
    root_folder.chmod(0o777)
    error = refused(FolderTarget(), named_account("nobody"))
    assert "could be changed by others" in error.message


@needs_root
def test_roots_default_folder_is_never_a_link_to_somewhere(root_folder: Path) -> None:
    decoy = root_folder.with_name("decoy")
    decoy.mkdir()
    root_folder.mkdir(mode=0o755)
    (root_folder / "bench").symlink_to(decoy)
    assert "cannot be created" in refused(FolderTarget(), named_account("nobody")).message
    assert decoy.stat().st_uid == 0


def test_a_default_folder_that_cannot_be_created_is_refused_with_the_way_out(
    root_folder: Path, account: Account
) -> None:
    root_folder.write_text("in the way", encoding="ascii")
    error = refused(FolderTarget(), account)
    assert "cannot be created" in error.message
    assert ("XDG_CACHE_HOME" in error.hint) == (os.geteuid() != 0)


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_a_relative_cache_folder_is_ignored_as_its_specification_says(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    account = Account("joe", 4711, 4711, (), "/home/joe")
    assert default_folder(account) == "/home/joe/.cache/pgfooting/bench"


# --- memory

MACHINE = Memory(total_bytes=16 * GIB, available_bytes=8 * GIB)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "read_memory", lambda: MACHINE)


@pytest.mark.usefixtures("machine")
def test_memory_for_more_than_the_machine_has_is_refused(account: Account) -> None:
    message = refused(MemoryTarget(17 * GIB), account).message
    assert "may use 17 GiB, but this machine has only 16 GiB" in message


@pytest.mark.usefixtures("machine")
def test_memory_for_less_than_the_data_is_refused(account: Account) -> None:
    message = refused(MemoryTarget(2 * GIB), account, 3 * GIB).message
    assert "may use 2 GiB, but 3 GiB are needed" in message


@pytest.mark.usefixtures("machine")
def test_memory_that_is_not_available_now_is_refused(account: Account) -> None:
    message = refused(MemoryTarget(), account, 9 * GIB).message
    assert "9 GiB of memory are needed, but this machine has only 8 GiB available" in message


def test_memory_that_the_control_group_withholds_is_refused_by_its_file(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = Memory(2 * GIB, GIB, "/sys/fs/cgroup/memory.max")
    monkeypatch.setattr(targets, "read_memory", lambda: limited)
    assert "(/sys/fs/cgroup/memory.max) has only 2 GiB" in refused(MemoryTarget(4 * GIB), account).message


@pytest.mark.usefixtures("machine")
def test_memory_on_something_that_is_no_tmpfs_is_refused(
    bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "MEMORY_FOLDER", str(bench))
    monkeypatch.setattr(targets, "lies_in_memory", lambda _device: False)
    assert "is no tmpfs" in refused(MemoryTarget(), account).message


@pytest.mark.usefixtures("machine")
def test_memory_in_a_tmpfs_that_is_too_small_is_refused_with_the_way_out(
    bench: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = Memory(10**18, 10**18)
    monkeypatch.setattr(targets, "read_memory", lambda: huge)
    monkeypatch.setattr(targets, "MEMORY_FOLDER", str(bench))
    monkeypatch.setattr(targets, "lies_in_memory", lambda _device: True)
    error = refused(MemoryTarget(), account, 10**17)
    assert "is too small" in error.message
    assert "remount,size=" in error.hint


@pytest.mark.usefixtures("machine")
def test_memory_that_fits_can_be_used_up_to_its_limit(account: Account) -> None:
    found = check_target(MemoryTarget(GIB), account, MIB)
    assert found.path == os.path.realpath(targets.MEMORY_FOLDER)
    assert found.limit_bytes == GIB
