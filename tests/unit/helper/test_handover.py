"""Who works on a filesystem is read from procfs alone: no file of another process is ever looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.helper import handover
from app.helper.handover import Process

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
        self, pid: int, *, cwd: str = "/", root: str = "/", mounts: str = MOUNTS, open_on: int = 22
    ) -> None:
        process = self.folder / str(pid)
        (process / "ns").mkdir(parents=True)
        (process / "ns/mnt").symlink_to(f"mnt:[{hash(mounts)}]")
        (process / "mountinfo").write_text(mounts)
        for name, target in (("cwd", cwd), ("root", root), ("exe", "/usr/bin/x")):
            (process / name).symlink_to(target)
        (process / "fdinfo").mkdir()
        (process / "fdinfo/3").write_text(f"pos:\t0\nflags:\t02\nmnt_id:\t{open_on}\nino:\t1\n")

    def used(self, pid: int) -> bool:
        return handover._Watched.over(["/run/pgfooting/1/storage", "/nothing"]).is_used_by(pid)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(handover, "_PROC", tmp_path)
    return Machine(tmp_path)


def test_open_files_working_folders_and_roots_count(machine: Machine) -> None:
    machine.add(1)
    machine.add(2, open_on=40)
    machine.add(3, cwd="/run/pgfooting/1/storage/data (deleted)")
    machine.add(4, root="/run/pgfooting/1/storage")
    machine.add(5, cwd="/run/pgfooting/1/storage2")
    machine.add(6, open_on=41)
    assert [pid for pid in range(1, 7) if machine.used(pid)] == [2, 3, 4]


def test_other_namespaces_have_other_numbers_and_places(machine: Machine) -> None:
    theirs = "140 22 0:50 / /elsewhere rw - btrfs /dev/sdb1 rw\n40 22 8:9 / /data rw - ext4 /dev/sdz rw\n"
    machine.add(1, mounts=theirs, open_on=140)
    machine.add(2, mounts=theirs, open_on=40)
    machine.add(3, mounts=theirs, cwd="/elsewhere/x")
    assert [pid for pid in range(1, 4) if machine.used(pid)] == [1, 3]


def test_a_process_that_ended_meanwhile_uses_nothing(machine: Machine) -> None:
    assert not machine.used(99)


def test_a_process_is_known_by_number_and_start_whatever_it_is_called(machine: Machine) -> None:
    process = machine.folder / "7"
    process.mkdir()
    for name in ("x", "a) b (c) R 1"):
        fields = " ".join(map(str, range(3, 53)))
        (process / "stat").write_text(f"7 ({name}) {fields}\n")
        assert Process.of(7) == Process(7, "22")
    assert Process.of(8) is None


def test_links_are_read_and_never_followed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.add(1, cwd="/run/pgfooting/1/storage")

    def hang(*_arguments: object, **_options: object) -> None:
        raise AssertionError("this would hang on a filesystem that answers nobody")

    monkeypatch.setattr("os.stat", hang)
    monkeypatch.setattr("pathlib.Path.stat", hang)
    monkeypatch.setattr("pathlib.Path.resolve", hang)
    assert machine.used(1)
