"""Reading every byte of a disk: what is read and recorded, and what ends it. A file stands for the disk."""

from __future__ import annotations

import dataclasses
import os
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.dbus.service import MethodError, load_gio, variant_of
from app.domain.disk import DiskIdentity, DiskRefusal, looked_from_wire, refusal_from_wire
from app.domain.messages.message import MESSAGE
from app.domain.storage_plan.reader import identity_to_wire
from app.domain.text import MIB
from app.helper.session import inspection
from app.helper.session.inspection import inspected, read_whole
from app.storage.inspect.records import read_whole as read_records
from app.storage.inspect.snapshot import DeviceUse, DuplicateMarks, Policy, Snapshot, read
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.content import PreviousContent, content_of
from app.storage.spare.release_ledger import record_of
from tests.unit.storage.blank_disk import DISK, IDENTITY, MACHINE, MEDIUM

SIZE = 640 * MIB
HERE = dataclasses.replace(IDENTITY, size_bytes=SIZE)
MARKS = DuplicateMarks("boot 12", 100, 5 * MIB)


class Disks:
    """Stands for `SpareDisks` and `Leftovers`: one spare disk, whose content is read as it is in truth."""

    policy = Policy()

    def __init__(self, folder: Path) -> None:
        self.places = SourceFolders(released=folder / "disks", as_root=True)
        self.image = folder / "image"
        self.image.touch()
        os.truncate(self.image, SIZE)
        self.facts = dataclasses.replace(
            DISK,
            identity=read(HERE),
            medium=read(dataclasses.replace(MEDIUM, size_bytes=SIZE)),
            marks=MARKS,
        )
        self.mounts: tuple[DeviceUse, ...] = ()
        self.left: DiskRefusal | None = None
        self.samples: tuple[int, ...] = ()

    @property
    def disks(self) -> Disks:
        return self

    def retry(self, _chosen: object) -> None:
        """Nothing is left over."""

    def refusal(self, _node: str, _disk: DiskIdentity) -> DiskRefusal | None:
        return self.left

    def look(self, _names: frozenset[str], progress: Callable[[str, int, int], None]) -> Snapshot:
        known = record_of(HERE, read_records(self.places).known(()))
        progress("sdb", 1, 2)
        with self.opened() as fd:
            before = PreviousContent(self.facts.marks, full_read=known)
            medium = self.facts.medium.value
            assert medium is not None
            dice = random.Random(1)  # noqa: S311 - the same places each time
            content = content_of(fd, medium, dice, before)
        if self.samples:
            content = dataclasses.replace(content, samples=self.samples)
        machine = dataclasses.replace(MACHINE, mounts=read(self.mounts))
        return Snapshot(machine, (dataclasses.replace(self.facts, content=read(content)),))

    @contextmanager
    def opened(self, *_: object) -> Iterator[int]:
        fd = os.open(self.image, os.O_RDONLY)
        try:
            yield fd
        finally:
            os.close(fd)

    def put(self, offset: int, data: bytes) -> None:
        with self.image.open("r+b") as file:
            file.seek(offset)
            file.write(data)


@pytest.fixture(autouse=True)
def _keep_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the priority as it is where the tests run as an ordinary user, who could not raise it again."""
    if os.geteuid() != 0:
        monkeypatch.setattr(os, "setpriority", lambda *_: None)


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disks:
    made = Disks(tmp_path)
    monkeypatch.setattr(inspection, "node_of", lambda _number: "/dev/sdb")
    monkeypatch.setattr(inspection, "opened_disk", made.opened)
    monkeypatch.setattr(inspection, "read_disk", lambda _places, _name: made.facts)
    return made


def reason_words(reasons: list[Any]) -> list[tuple[str, ...]]:
    """Return reasons as who asked reads them."""
    _, glib = load_gio()
    wire = variant_of(glib, f"a(s{3 * MESSAGE})", reasons).unpack()
    return [dataclasses.astuple(refusal_from_wire(each)) for each in wire]


def reading(
    disks: Any,  # noqa: ANN401
    *,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[str, list[Any], Any]:
    _, answer, reasons, looked = read_whole(identity_to_wire(HERE), disks, progress, is_cancelled)
    return answer, reason_words(reasons), looked_from_wire(looked)


def looking(disks: Any) -> tuple[str, list[Any], Any]:  # noqa: ANN401
    number, answer, reasons, looked = inspected(identity_to_wire(HERE), disks, lambda *_: None)
    assert number == HERE.device_number
    return answer, reason_words(reasons), looked_from_wire(looked)


def records(disks: Disks) -> Mapping[str, int | None]:
    known = read_records(disks.places).known(())
    return {record.serial: record.first_data for record in known}


def test_zeros_recorded_until_a_counted_write(disks: Disks) -> None:
    assert looking(disks)[2].read_s == 0
    answer, reasons, looked = reading(disks)
    assert (answer, reasons) == ("spare", [])
    assert looked.read_s > 0
    assert looking(disks)[2].read_s == looked.read_s
    disks.facts = dataclasses.replace(disks.facts, marks=dataclasses.replace(MARKS, requests=101))
    assert looking(disks)[2].read_s == 0
    disks.facts = dataclasses.replace(disks.facts, marks=dataclasses.replace(MARKS, appearance="boot 13"))
    assert looking(disks)[2].read_s == 0


def test_byte_between_places_is_found(disks: Disks) -> None:
    disks.put(300 * MIB + 5, b"x")
    assert looking(disks)[0] == "spare"
    answer, reasons, _ = reading(disks)
    assert answer == "not spare"
    assert f"byte {300 * MIB + 5} is not zero" in reasons[0][2]
    assert looking(disks)[0] == "not spare"
    assert records(disks) == {HERE.serial: 300 * MIB + 5}


@pytest.mark.parametrize("why", ["data at the beginning", "data in a sample", "mounted", "left over"])
def test_disk_refused_otherwise_is_not_read(disks: Disks, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    match why:
        case "mounted":
            disks.mounts = (DeviceUse(HERE.device_number, "/srv", "ext4"),)
        case "data in a sample":
            disks.samples = (200 * MIB,)
        case "left over":
            disks.left = DiskRefusal("D18", "pgFooting used it.", "xfs", "")
        case _:
            disks.put(MIB, b"x")

    def never(*_: object) -> int | None:
        raise AssertionError("it is read")

    monkeypatch.setattr(inspection, "read_every_byte", never)
    assert reading(disks)[0] == "not spare"
    assert records(disks) == {}


def test_disk_with_known_data_is_read_again(disks: Disks) -> None:
    disks.put(300 * MIB + 5, b"x")
    assert reading(disks)[0] == "not spare"
    disks.put(300 * MIB + 5, b"\0")
    assert looking(disks)[0] == "not spare", "what was read counts as long as nobody writes"
    assert reading(disks)[0] == "spare"
    assert records(disks) == {HERE.serial: None}


def test_progress_at_most_four_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("app.helper.session.inspection.time.monotonic", lambda: now_s)
    found: list[tuple[str, int, int]] = []
    pace = inspection._Pace("8:16", lambda *values: found.append(values))
    for done in range(11):
        pace(done, 11)
        now_s += 0.125
    assert found == [("8:16", done, 11) for done in (0, 2, 4, 6, 8, 10)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise its priority again")
def test_every_byte_read_at_lowest_priority(disks: Disks) -> None:
    thread, seen = threading.get_native_id(), set()

    def progress(_number: str, _done: int, whole: int) -> None:
        if whole == SIZE:
            seen.add(os.getpriority(os.PRIO_PROCESS, thread))

    before = os.getpriority(os.PRIO_PROCESS, thread)
    assert reading(disks, progress=progress)[0] == "spare"
    assert seen == {19}
    assert os.getpriority(os.PRIO_PROCESS, thread) == before


def test_write_while_reading_leaves_no_record(disks: Disks) -> None:
    def progress(_number: str, done: int, whole: int) -> None:
        if whole == SIZE and done:
            disks.facts = dataclasses.replace(disks.facts, marks=dataclasses.replace(MARKS, requests=101))

    answer, reasons, _ = reading(disks, progress=progress)
    assert answer == "not spare"
    assert reasons[0][1] == "It was written to while it was read."
    assert records(disks) == {}


def test_disk_swapped_while_reading_leaves_no_record(disks: Disks) -> None:
    def progress(_number: str, done: int, whole: int) -> None:
        if whole == SIZE and done:
            other = dataclasses.replace(HERE, serial="OTHER")
            disks.facts = dataclasses.replace(disks.facts, identity=read(other))

    answer, reasons, _ = reading(disks, progress=progress)
    assert (answer, reasons[0][0]) == ("not spare", "D08b")
    assert records(disks) == {}


def test_cancelled_read_leaves_no_record(disks: Disks) -> None:
    asked: list[bool] = []

    def is_cancelled() -> bool:
        asked.append(True)
        return len(asked) == 100

    with pytest.raises(MethodError) as refused:
        reading(disks, is_cancelled=is_cancelled)
    assert (refused.value.code, refused.value.text) == ("Busy", "called-off")
    assert len(asked) == 100
    assert records(disks) == {}


def test_no_read_without_a_write_count(disks: Disks) -> None:
    disks.facts = dataclasses.replace(disks.facts, marks=DuplicateMarks())
    with pytest.raises(MethodError) as refused:
        reading(disks)
    assert (refused.value.code, refused.value.text) == ("Unavailable", "not-counted")


def test_disk_unreadable_to_its_end(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int | None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(inspection, "read_every_byte", broken)
    answer, reasons, _ = reading(disks)
    assert (answer, reasons[0][1]) == ("not spare", "It cannot be read completely.")


def test_a_disk_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch, disks: Disks) -> None:
    def gone(_number: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(inspection, "node_of", gone)
    for ask in (looking, reading):
        answer, reasons, looked = ask(disks)
        assert (answer, reasons[0][0], looked) == ("not spare", "D15", None)
