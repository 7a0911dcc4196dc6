"""Who has something on a filesystem is read from procfs alone: nobody's files are ever looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.helper.storage import ownership
from app.helper.storage.ownership import WatchedFilesystems, may_hide

MOUNTS = (
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "40 22 0:50 / /run/pgfooting/1/storage rw - btrfs /dev/sdb1 rw\n"
    "41 22 0:51 / /mnt/with\\040space rw - nfs server:/x rw\n"
)


class Machine:
    """A procfs of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "self").mkdir()
        (folder / "self/mountinfo").write_text(MOUNTS)

    def add(
        self,
        pid: int,
        thread: int = 0,
        *,
        cwd: str = "/",
        root: str = "/",
        mounts: str = MOUNTS,
        open_on: int = 22,
        mapped: str = "08:01",
        path: str = "/usr/lib/x",
        more: str = "",
    ) -> None:
        """Add a thread; the first is that of the process itself."""
        process = self.folder / str(pid) / "task" / str(thread or pid)
        (process / "ns").mkdir(parents=True)
        (process / "ns/mnt").symlink_to(f"mnt:[{hash(mounts)}]")
        (process / "mountinfo").write_text(mounts)
        for name, target in (("cwd", cwd), ("root", root), ("exe", "/usr/bin/x")):
            (process / name).symlink_to(target)
        (process / "fdinfo").mkdir()
        (process / "fdinfo/3").write_text(f"pos:\t0\nflags:\t02\nmnt_id:\t{open_on}\nino:\t1\n{more}")
        (process / "maps").write_text(f"7f1000-7f2000 r-xp 00000000 {mapped} 12 {path}\n")

    def watched(self) -> WatchedFilesystems:
        return WatchedFilesystems.over(["/run/pgfooting/1/storage", "/nothing"])

    def used(self, *pids: int) -> list[int]:
        return [pid for pid in pids if self.watched().is_used_by(pid)]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(ownership, "_PROC", tmp_path)
    monkeypatch.setattr(ownership, "share_files", lambda _one, _other: False)
    return Machine(tmp_path)


def test_open_files_working_folders_and_roots_count(machine: Machine) -> None:
    machine.add(1)
    machine.add(2, open_on=40)
    machine.add(3, cwd="/run/pgfooting/1/storage/data (deleted)")
    machine.add(4, root="/run/pgfooting/1/storage")
    machine.add(5, cwd="/run/pgfooting/1/storage2")
    machine.add(6, open_on=41)
    assert machine.used(*range(1, 7)) == [2, 3, 4]


def test_mapped_files_by_device_number(machine: Machine) -> None:
    machine.add(1, mapped="00:32")
    machine.add(2, mapped="00:33")
    machine.add(3, path="/home/x/a 00:32 b\\012 7f1000-7f2000 r-xp 00000000 00:32 12 c")
    machine.add(4, mapped="00:320")
    assert machine.used(1, 2, 3, 4) == [1]


@pytest.mark.parametrize(
    "own", [{"open_on": 40}, {"cwd": "/run/pgfooting/1/storage/a"}, {"root": "/run/pgfooting/1/storage"}]
)
def test_what_only_one_thread_has_counts(machine: Machine, own: dict[str, int]) -> None:
    machine.add(10)
    machine.add(10, 11)
    machine.add(10, 12, **own)  # type: ignore[arg-type]
    machine.add(20)
    machine.add(20, 21)
    assert machine.used(10, 20) == [10]


def test_process_with_ended_first_thread(machine: Machine) -> None:
    for pid, own in (
        (10, {"mapped": "00:32"}),
        (20, {"cwd": "/run/pgfooting/1/storage"}),
        (30, {"open_on": 40}),
    ):
        dead = machine.folder / str(pid) / "task" / str(pid)
        dead.mkdir(parents=True)
        (dead / "maps").write_text("")
        machine.add(pid, pid + 1, **own)
    assert machine.used(10, 20, 30) == [10, 20, 30]


def test_descriptors_that_threads_share_are_read_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def share(one: int, other: int) -> bool:
        asked.append((one, other))
        return other != 13

    monkeypatch.setattr(ownership, "share_files", share)
    for thread in (10, 11, 12, 13, 14):
        machine.add(10, thread, open_on=40 if thread in {11, 14} else 22)
    assert machine.used(10) == [], "11 and 14 have what 10 and 13 have, says the kernel"
    assert asked == [(10, 11), (10, 12), (10, 13), (13, 14)]


def test_other_namespaces_have_other_numbers_and_places(machine: Machine) -> None:
    theirs = "140 22 0:50 / /elsewhere rw - btrfs /dev/sdb1 rw\n40 22 8:9 / /data rw - ext4 /dev/sdz rw\n"
    machine.add(1, mounts=theirs, open_on=140)
    machine.add(2, mounts=theirs, open_on=40)
    machine.add(3, mounts=theirs, cwd="/elsewhere/x")
    assert machine.used(1, 2, 3) == [1, 3]


def test_descriptor_from_another_namespace(machine: Machine) -> None:
    machine.add(1, mounts="7 1 8:9 / / rw - ext4 /dev/sdz rw\n", open_on=40)
    assert machine.used(1) == [1]


def test_descriptors_in_flight_or_in_rings(machine: Machine) -> None:
    machine.add(1, more="scm_fds: 0\n")
    machine.add(2, more="scm_fds: 2\n")
    machine.add(3, more="UserFiles:\t1\n")
    machine.add(4, 5, more="scm_fds: 1\n")
    assert [pid for pid in range(1, 6) if may_hide(pid)] == [2, 3, 4]
    assert machine.used(1, 2, 3, 4) == []


def test_a_process_that_ended_meanwhile_uses_nothing(machine: Machine) -> None:
    assert machine.used(99) == []
    assert not may_hide(99)


def test_descriptor_closed_meanwhile(machine: Machine) -> None:
    machine.add(1)
    machine.add(2, open_on=40)
    for pid in (1, 2):
        (machine.folder / f"{pid}/task/{pid}/fdinfo/2").write_text("")
    assert machine.used(1, 2) == [2]


def test_where_nothing_is_mounted_nobody_is_asked(machine: Machine) -> None:
    machine.add(2, open_on=40, more="scm_fds: 2\n")
    nothing = WatchedFilesystems.over(["/nothing"])
    assert not nothing.is_used_by(2)


def test_links_are_read_and_never_followed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.add(1, cwd="/run/pgfooting/1/storage")

    def hang(*_arguments: object, **_options: object) -> None:
        raise AssertionError("this would hang on a filesystem that answers nobody")

    monkeypatch.setattr("os.stat", hang)
    monkeypatch.setattr("pathlib.Path.stat", hang)
    monkeypatch.setattr("pathlib.Path.resolve", hang)
    assert machine.used(1) == [1]
