"""One look at the whole machine: which devices are disks, which are read, and what is not read again."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.storage.inspect import uses
from app.storage.inspect.sampling import Progress
from app.storage.inspect.snapshot import (
    Content,
    DiskFacts,
    Geometry,
    Policy,
    Reading,
    ReleaseRecord,
    Snapshot,
    SourceKnowledge,
    read,
    unreadable,
)
from app.storage.inspect.sources import SourceFolders
from app.storage.spare import disks as listing
from app.storage.spare import inspect
from app.storage.spare.content import PreviousContent
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.release_ledger import record_release
from tests.unit.storage.fake_machine import (
    MOUNTINFO,
    add_partition,
    add_process,
    add_scsi_disk,
    as_user,
    fake_machine,
    write,
)

POLICY = Policy()
WITH_LOOPS = Policy(accept_loop_devices=True)
FOUND = Content(samples=(4711,), sampled=99)


class Looked:
    """What was read of disks, by name: the kernel gives every disk exclusively, and each has some data."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before: dict[str, PreviousContent] = {}
        self.then: Callable[[str], None] = lambda _name: None
        monkeypatch.setattr(inspect, "read_exclusive", self._exclusive)
        monkeypatch.setattr(inspect, "read_content", self._content)
        monkeypatch.setattr(inspect, "read_health", lambda *_: read(("warm",)))

    @property
    def names(self) -> Collection[str]:
        return self.before.keys()

    def _exclusive(self, _places: SourceFolders, name: str, _number: str) -> Reading[str]:
        self.then(name)
        return read("")

    def _content(
        self,
        _places: SourceFolders,
        name: str,
        _number: str,
        _medium: Geometry,
        before: PreviousContent,
        progress: Progress,
    ) -> Reading[Content]:
        self.before[name] = before
        progress(1, 2)
        return read(FOUND)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(monkeypatch)


# --- which devices are disks


def names_of(snapshot: Snapshot) -> tuple[list[str], tuple[str, ...]]:
    return [facts.name for facts in snapshot.disks], snapshot.others


def test_candidate_disks_among_block_devices(
    places: SourceFolders, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is not even named; loop devices are disks where the policy says so and they have a file."""
    monkeypatch.setattr(uses, "read_loop_backings", lambda _places: read(()))
    for number, name in enumerate(("dm-0", "loop0", "loop1", "md0", "ram0", "sr0", "zram0")):
        add_scsi_disk(places.sys, name, f"7:{number}", f"S{number}", "")
    write(places.sys, {"block/loop1/loop/backing_file": "/srv/image"})
    (places.sys / "block/sdz").mkdir()  # it went away: its folder is empty
    claimed: list[str] = []
    looked.then = claimed.append
    assert names_of(inspect_machine(POLICY, places)) == (["sda", "sdb"], ("md0", "sr0", "dm-0", "loop1"))
    assert names_of(inspect_machine(WITH_LOOPS, places)) == (
        ["sda", "sdb", "loop1"],
        ("md0", "sr0", "dm-0"),
    )
    assert looked.names == {"sdb", "loop1"}
    assert "loop0" not in claimed, "somebody may attach a file to it right now"


def test_disappearing_disk_is_not_offered(
    places: SourceFolders, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "read_loop_backings", lambda _places: read(()))
    add_scsi_disk(places.sys, "loop1", "7:1", "", "")
    write(places.sys, {"block/loop1/loop/backing_file": "/srv/image"})
    add_scsi_disk(places.sys, "sdc", "8:32", "QM00003", "naa.5000000000000003")

    def go(name: str) -> None:
        folder = {"loop1": "loop1/loop", "sdc": "sdc"}.get(name)
        if folder is not None:
            shutil.rmtree(places.sys / "block" / folder)

    looked.then = go
    assert names_of(inspect_machine(WITH_LOOPS, places))[0] == ["sda", "sdb"]


# --- which are read


def test_only_requested_unused_disks_are_read(places: SourceFolders, looked: Looked) -> None:
    found: list[tuple[str, int, int]] = []
    add_scsi_disk(places.sys, "sdc", "8:32", "QM00003", "naa.5000000000000003")
    snapshot = inspect_machine(POLICY, places, progress=lambda *far: found.append(far))
    assert looked.names == {"sdb", "sdc"}, "the system lies on sda"
    assert sorted(found) == [("sdb", 1, 2), ("sdc", 1, 2)]
    assert snapshot.disk("sda").content.state is SourceKnowledge.PASSED_OVER
    assert (snapshot.disk("sdb").content.value, snapshot.disk("sdb").health.value) == (FOUND, ("warm",))
    looked.before.clear()
    snapshot = inspect_machine(POLICY, places, only=frozenset({"sda", "sdc"}))
    assert looked.names == {"sdc"}
    assert snapshot.disk("sdb").content.state is SourceKnowledge.PASSED_OVER
    assert snapshot.machine.identities.state is SourceKnowledge.READ, "doubles are looked for among all"


def denying(monkeypatch: pytest.MonkeyPatch, denied: Path) -> None:
    """Let nobody read a file."""
    real = Path.read_text

    def read_text(self: Path, encoding: str, errors: str) -> str:
        if self == denied:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, encoding, errors)

    monkeypatch.setattr(Path, "read_text", read_text)


def test_disk_of_unknown_size_is_unread(
    places: SourceFolders, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    denying(monkeypatch, places.sys / "block/sdb/size")
    snapshot = inspect_machine(POLICY, as_user(places))
    assert looked.names == set()
    assert snapshot.disk("sdb").medium.state is SourceKnowledge.NEEDS_ROOT
    assert snapshot.disk("sdb").content.state is SourceKnowledge.PASSED_OVER


# --- what is not read again


def written_to(places: SourceFolders) -> None:
    write(places.sys / "block/sdb", {"stat": "5 0 40 1 1 0 8 0 0 1 1 0 0 0 0 0 0"})


def replugged(places: SourceFolders) -> None:
    write(places.sys / "block/sdb", {"diskseq": "17"})


def test_listing_rereads_only_changed_disks(places: SourceFolders, looked: Looked) -> None:
    seen = inspect_machine(POLICY, places)
    changed = dataclasses.replace(seen.disk("sdb"), content=read(Content()), health=read(("hot",)))
    previous = dataclasses.replace(seen, disks=(seen.disk("sda"), changed))
    looked.before.clear()
    now = inspect_machine(POLICY, places, previous=previous).disk("sdb")
    assert looked.names == set()
    assert (now.content, now.health) == (changed.content, changed.health)
    unread = dataclasses.replace(changed, content=unreadable("an error"))
    inspect_machine(POLICY, places, previous=dataclasses.replace(previous, disks=(unread,)))
    assert looked.names == {"sdb"}, "what could not be read is tried again"
    for change in (written_to, replugged):
        looked.before.clear()
        change(places)
        inspect_machine(POLICY, places, previous=previous)
        assert looked.names == {"sdb"}


def counting(places: SourceFolders) -> None:
    """Let the kernel count what is written to sdb."""
    write(places.proc, {"sys/kernel/random/boot_id": "0b5c2b1e"})
    write(places.sys / "block/sdb", {"queue/iostats": "1"})


def content_before(places: SourceFolders, looked: Looked, before: DiskFacts) -> Content | None:
    inspect_machine(POLICY, places, looked={"sdb": before})
    return looked.before["sdb"].content


def test_cached_look_needs_unchanged_write_count(places: SourceFolders, looked: Looked) -> None:
    before = inspect_machine(POLICY, places).disk("sdb")
    assert content_before(places, looked, before) is None, "the kernel does not count"
    counting(places)
    before = inspect_machine(POLICY, places).disk("sdb")
    assert looked.before["sdb"].content is None, "nothing was seen before"
    assert content_before(places, looked, before) == FOUND
    for other in (
        dataclasses.replace(before, marks=dataclasses.replace(before.marks, requests=7)),
        dataclasses.replace(before, identity=unreadable("of another disk")),
        dataclasses.replace(before, content=unreadable("an error")),
    ):
        assert content_before(places, looked, other) is None


def test_release_record_found_for_the_disk(places: SourceFolders, looked: Looked) -> None:
    before = inspect_machine(POLICY, places).disk("sdb")
    assert looked.before["sdb"].released is None
    assert before.identity.value is not None
    record = ReleaseRecord("", None, 0, "digest", 7.0)
    record_release(before.identity.value, record, places.released)
    inspect_machine(POLICY, places)
    known = looked.before["sdb"]
    assert known.released is not None
    assert (known.released.serial, known.released.digest) == ("QM00002", "digest")
    assert known.marks == before.marks


# --- doubles, and the list


def test_identities_as_known_as_the_least(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspect_machine(POLICY, places).machine.identities.state is SourceKnowledge.READ
    denying(monkeypatch, places.sys / "block/sda/device/wwid")
    for where, state in ((places, SourceKnowledge.UNREADABLE), (as_user(places), SourceKnowledge.NEEDS_ROOT)):
        identities = inspect_machine(POLICY, where).machine.identities
        assert (identities.state, "sda" in identities.reason) == (state, True)
        assert [known.name for known in identities.known(())] == ["sdb"]


def test_listing_defaults_to_this_machine(
    places: SourceFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fake_machine(tmp_path / "other")
    add_scsi_disk(other.sys, "sdc", "8:32", "QM00003", "naa.5000000000000003")
    monkeypatch.setattr(SourceFolders, "of_this_machine", lambda: other)
    assert [disk.name for disk in listing.list_disks(POLICY).disks] == ["sda", "sdb", "sdc"]
    assert [disk.name for disk in listing.list_disks(POLICY, places).disks] == ["sda", "sdb"]


def test_leftover_by_partition_or_helper_mount(places: SourceFolders) -> None:
    def left_over() -> list[str]:
        return [disk.name for disk in listing.list_disks(POLICY, places).disks if disk.is_left_over]

    add_partition(places.sys, "sdb", "sdb1", "8:17")
    assert left_over() == []
    mount = "99 28 8:17 / /run/pgfooting/1/data rw - xfs /dev/sdb1 rw\n"
    container = add_process(places.proc, "8", "mnt:[4026532999]", MOUNTINFO + mount)
    assert left_over() == ["sdb"]
    shutil.rmtree(container)
    write(places.run, {"udev/data/b8:17": f"E:ID_PART_ENTRY_TYPE={PARTITION_TYPE}"})
    assert left_over() == ["sdb"]
