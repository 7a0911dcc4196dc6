"""Removing what dead campaigns left: exactly that, and nothing else."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from app.domain.errors import FootingError, RunFileError
from app.hosts.folders.descriptors import FileIdentity, remove
from app.hosts.recovery import cleanup
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent, clear, sweep
from app.hosts.recovery.resource_journal import (
    Owner,
    ResourceEntry,
    ResourceJournal,
    ResourceKind,
    ResourceRecord,
    entry_line,
    header_line,
)
from app.process.starter import Account, Recorder, as_account, named_account
from tests.unit.hosts.conftest import Records, needs_root

Left = tuple[Path, Path]
P = ParamSpec("P")
T = TypeVar("T")
NAME = "pgfooting-0123456789abcdef"


@pytest.fixture
def left(resources: ResourceJournal, bench: Path, records: Records) -> Left:
    """Root folder and data directory of a campaign that died, with files in them; decoys beside them."""
    root = bench / NAME
    resources.make_folder(str(root), ResourceKind.FOLDER, records)
    resources.make_folder(str(root / "data"), ResourceKind.DATA_DIRECTORY, records)
    (root / "data" / "base").mkdir()
    (root / "data" / "base" / "1259").write_bytes(b"x" * 10_000)
    os.chown(root / "data" / "base", resources.state.account.uid, resources.state.account.gid)
    (bench / "pgfooting-ffffffffffffffff").mkdir()
    (bench / "mine").write_bytes(b"mine")
    resources.close()
    return root, root / "data"


def deeds(events: tuple[SweepEvent, ...]) -> list[tuple[CleanupAction, str]]:
    return [(event.action, event.path) for event in events]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def change_record(resources: ResourceJournal, change: Callable[[ResourceRecord], ResourceRecord]) -> None:
    changed = change(resources.state)
    lines = (header_line(changed), *map(entry_line, changed.entries))
    resources.state.record.write_bytes(b"".join(lines))


def test_leftovers_of_dead_campaign_removed_neighbours_kept(
    left: Left, resources: ResourceJournal, bench: Path, state_folder: Path, records: Records
) -> None:
    root, data = left
    events = sweep(state_folder=state_folder, record=records)
    assert deeds(events) == [(CleanupAction.REMOVED, str(data)), (CleanupAction.REMOVED, str(root))]
    assert names(bench) == ["mine", "pgfooting-ffffffffffffffff"]
    assert names(state_folder) == []
    assert {outcome.account for outcome in records} == {resources.state.account.name}
    assert sweep(state_folder=state_folder) == ()


def test_a_live_campaign_is_not_touched(
    resources: ResourceJournal, bench: Path, state_folder: Path, records: Records
) -> None:
    resources.make_folder(str(bench / NAME), ResourceKind.FOLDER, records)

    def unexpected(_leaving: ResourceRecord) -> None:
        pytest.fail("a live campaign was called abandoned")

    assert sweep(unexpected, state_folder=state_folder) == ()
    assert (bench / NAME).is_dir()


@pytest.mark.usefixtures("left")
def test_campaign_ended_before_folders_are_removed(
    left: Left, state_folder: Path, resources: ResourceJournal
) -> None:
    seen: list[tuple[str, bool]] = []

    def finish(leaving: ResourceRecord) -> None:
        seen.append((leaving.campaign_folder, left[1].is_dir()))

    events = sweep(finish, state_folder=state_folder)
    assert seen == [(resources.state.campaign_folder, True)]
    assert events[0].action is CleanupAction.FINISHED
    assert not left[0].exists()


@pytest.mark.parametrize("error", [RunFileError("damaged"), OSError(28, "No space left on device")])
def test_unended_campaign_keeps_folders_and_record(left: Left, state_folder: Path, error: Exception) -> None:
    def fail(_leaving: ResourceRecord) -> None:
        raise error

    events = sweep(fail, state_folder=state_folder)
    assert [event.action for event in events] == [CleanupAction.KEPT]
    assert left[1].is_dir()
    assert len(names(state_folder)) == 1
    sweep(lambda _leaving: None, state_folder=state_folder)
    assert not left[0].exists()


def test_killed_sweep_loses_nothing(
    left: Left, bench: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished: list[str] = []

    def finish(leaving: ResourceRecord) -> None:
        finished.append(leaving.campaign_folder)

    def die_at_the_second(
        function: Callable[P, T], account: Account, record: Recorder, timeout_s: float = 60.0
    ) -> Callable[P, T]:
        def called(*arguments: P.args, **options: P.kwargs) -> T:
            if arguments[0] == str(left[0]):
                raise KeyboardInterrupt
            return as_account(function, account, record, timeout_s)(*arguments, **options)

        return called

    with monkeypatch.context() as patch:
        patch.setattr(cleanup, "as_account", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            sweep(finish, state_folder=state_folder)
    assert not left[1].exists()
    assert left[0].is_dir()
    assert deeds(sweep(finish, state_folder=state_folder)) == [(CleanupAction.REMOVED, str(left[0]))]
    assert len(finished) == 1
    assert names(state_folder) == []
    assert "mine" in names(bench)


def test_two_concurrent_sweeps(left: Left, state_folder: Path, bench: Path) -> None:
    inner: list[tuple[SweepEvent, ...]] = []
    events = sweep(lambda _leaving: inner.append(sweep(state_folder=state_folder)), state_folder=state_folder)
    assert inner == [()]
    assert (CleanupAction.REMOVED, str(left[0])) in deeds(events)
    assert "mine" in names(bench)


def test_link_in_place_of_recorded_folder(
    left: Left, bench: Path, state_folder: Path, resources: ResourceJournal
) -> None:
    root, data = left
    decoy = bench / "decoy"
    (decoy / "data").mkdir(parents=True)
    (decoy / "data" / "precious").write_bytes(b"x")
    root.rename(bench / "moved")
    root.symlink_to(decoy)
    events = sweep(state_folder=state_folder)
    assert deeds(events) == [(CleanupAction.KEPT, str(data)), (CleanupAction.KEPT, str(root))]
    assert "its name is now used by something else" in events[0].text
    assert str(resources.state.record) in events[0].text
    assert (decoy / "data" / "precious").exists()
    assert (bench / "moved" / "data" / "base" / "1259").exists()
    assert resources.state.record.exists()


def test_folder_in_place_of_recorded_folder(left: Left, account: Account, state_folder: Path) -> None:
    root, data = left
    data.rename(root / "moved")
    data.mkdir()
    os.chown(data, account.uid, account.gid)
    (data / "precious").write_bytes(b"x")
    events = sweep(state_folder=state_folder)
    assert deeds(events) == [(CleanupAction.KEPT, str(data)), (CleanupAction.KEPT, str(root))]
    assert "something in it was kept" in events[1].text
    assert (data / "precious").exists()


def test_device_may_change_at_reboot_inode_not(
    left: Left, resources: ResourceJournal, state_folder: Path
) -> None:
    def restarted(leaving: ResourceRecord, inode_offset: int) -> ResourceRecord:
        def moved(identity: FileIdentity | None) -> FileIdentity | None:
            return identity and replace(
                identity, device=identity.device + 1, inode=identity.inode + inode_offset
            )

        entries = tuple(replace(entry, identity=moved(entry.identity)) for entry in leaving.entries)
        return replace(leaving, boot="another boot", entries=entries)

    if os.statvfs(left[0]).f_fsid == 0:
        pytest.skip("the filesystem of the test's folder has no identity that survives a restart")
    change_record(resources, lambda leaving: restarted(leaving, 1))
    assert {event.action for event in sweep(state_folder=state_folder)} == {CleanupAction.KEPT}
    assert left[1].is_dir()
    change_record(resources, lambda leaving: restarted(leaving, 0))
    assert {event.action for event in sweep(state_folder=state_folder)} == {CleanupAction.REMOVED}


@needs_root
def test_folder_now_of_another_account(left: Left, state_folder: Path) -> None:
    os.chown(left[1], 1, 1)
    events = sweep(state_folder=state_folder)
    assert events[0].action is CleanupAction.KEPT
    assert (left[1] / "base" / "1259").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may act for everyone")
def test_a_record_about_another_account_is_kept(
    left: Left, resources: ResourceJournal, state_folder: Path
) -> None:
    change_record(resources, lambda leaving: replace(leaving, account=named_account("root")))
    events = sweep(state_folder=state_folder)
    assert "belongs to root" in events[0].text
    assert left[1].is_dir()


def test_announced_folder_that_was_never_made(
    resources: ResourceJournal, bench: Path, state_folder: Path
) -> None:
    announced = ResourceEntry(str(bench / NAME), ResourceKind.FOLDER, Owner.SERVER)
    resources.close()
    change_record(resources, lambda leaving: replace(leaving, entries=(announced,)))
    assert sweep(state_folder=state_folder) == ()
    assert names(state_folder) == []


def test_announced_folder_with_content_is_kept(
    resources: ResourceJournal, bench: Path, account: Account, state_folder: Path
) -> None:
    announced = ResourceEntry(str(bench / NAME), ResourceKind.FOLDER, Owner.SERVER)
    resources.close()
    change_record(resources, lambda leaving: replace(leaving, entries=(announced,)))
    (bench / NAME).mkdir()
    os.chown(bench / NAME, account.uid, account.gid)
    (bench / NAME / "mine").write_bytes(b"")
    assert deeds(sweep(state_folder=state_folder)) == [(CleanupAction.KEPT, str(bench / NAME))]
    assert (bench / NAME / "mine").exists()


@pytest.mark.parametrize("what", ["damaged", "link", "folder", "writable", "huge"])
def test_untrusted_record_is_reported_and_kept(
    what: str, left: Left, resources: ResourceJournal, state_folder: Path
) -> None:
    bad = state_folder / "campaign-0.jsonl"
    good = resources.state.record.read_bytes()
    match what:
        case "damaged":
            bad.write_bytes(b"{}\n")
        case "link":
            (state_folder / "elsewhere").write_bytes(good)
            bad.symlink_to(state_folder / "elsewhere")
        case "folder":
            bad.mkdir()
        case "writable":
            bad.write_bytes(good)
        case _:
            bad.write_bytes(b"\n" * (5 * 1024**2))
    if not bad.is_symlink():
        bad.chmod(0o666 if what == "writable" else 0o600)
    events = sweep(state_folder=state_folder)
    assert (events[0].action, events[0].path) == (CleanupAction.UNREADABLE, str(bad))
    assert os.path.lexists(bad)
    assert not left[0].exists()


@pytest.mark.parametrize("content", [b"", b'{"format": 1'])
def test_unwritten_record_deleted_unless_locked(content: bytes, state_folder: Path) -> None:
    record = state_folder / "campaign-1.jsonl"
    record.write_bytes(content)
    record.chmod(0o600)
    with record.open("rb") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        assert sweep(state_folder=state_folder) == ()
        assert record.exists()
    assert sweep(state_folder=state_folder) == ()
    assert names(state_folder) == []


def test_folders_of_unavailable_account_are_kept(
    left: Left, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(
        function: Callable[P, T], account: Account, record: Recorder, timeout_s: float = 60.0
    ) -> Callable[P, T]:
        if function is remove:
            raise FootingError("becoming nobody failed")
        return as_account(function, account, record, timeout_s)

    monkeypatch.setattr(cleanup, "as_account", fail)
    events = sweep(state_folder=state_folder)
    assert "becoming nobody failed" in events[0].text
    assert left[1].is_dir()


# --- within a live campaign


def test_clearing_removes_only_what_is_named(
    resources: ResourceJournal, bench: Path, records: Records
) -> None:
    first, second = str(bench / NAME), str(bench / "pgfooting-1111111111111111")
    for path in (first, second):
        resources.make_folder(path, ResourceKind.FOLDER, records)
    assert deeds(clear(resources, (second,), records)) == [(CleanupAction.REMOVED, second)]
    assert [entry.path for entry in resources.state.entries] == [first]
    assert Path(first).is_dir()


def test_clearing_what_was_replaced_keeps_it_recorded(
    resources: ResourceJournal, bench: Path, records: Records
) -> None:
    path = bench / NAME
    resources.make_folder(str(path), ResourceKind.FOLDER, records)
    path.rename(bench / "moved")
    path.mkdir()
    assert deeds(clear(resources, (str(path),), records)) == [(CleanupAction.KEPT, str(path))]
    assert [entry.path for entry in resources.state.entries] == [str(path)]


def test_clearing_with_full_disk_settled_by_sweep(
    resources: ResourceJournal,
    bench: Path,
    records: Records,
    state_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = [str(bench / NAME), str(bench / "pgfooting-1111111111111111")]
    for path in paths:
        resources.make_folder(path, ResourceKind.FOLDER, records)

    def full(_path: str) -> None:
        raise FootingError("No space left on device")

    monkeypatch.setattr(resources, "forget", full)
    assert [event.action for event in clear(resources, paths, records)] == [
        CleanupAction.REMOVED,
        CleanupAction.REMOVED,
    ]
    resources.close()
    assert sweep(state_folder=state_folder) == ()
    assert names(state_folder) == []
