"""Which disk a plan means, what an administrator allows, and which disks the journal keeps from everybody."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.helper.base.audit import read_policy
from app.helper.storage import devices, leftovers
from app.helper.storage.devices import find_again, find_device, node_of
from app.helper.storage.journal import JournalEntry
from app.helper.storage.leftovers import Leftovers
from app.storage.inspect.snapshot import Policy
from app.storage.layout.partitions import PlannedDevice
from tests.unit.storage.plans import devices as devices_of
from tests.unit.storage.plans import disk, plan_of

NOBODY = 65534
LIMIT_S = 60.0
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of root's")


# --- what an administrator allows


@needs_root
@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("accept_loop_devices = true\n", True),
        ("accept_loop_devices = false\n", False),
        ("", False),
        ("accept_loop_devices = 1\n", False),
        ('accept_loop_devices = "true"\n', False),
        ("accept_loop_devices = true\nminimum_bytes = 0\n", False),
        ("accept_loop_devices = true\naccept_loop_devices = true\n", False),
        ("\xff", False),
    ],
)
@pytest.mark.expects_log
def test_only_the_one_key_allows(tmp_path: Path, text: str, *, allowed: bool) -> None:
    path = tmp_path / "helper.conf"
    path.write_text(text, encoding="latin-1")
    assert read_policy(path) == Policy(accept_loop_devices=allowed)


@needs_root
@pytest.mark.expects_log
@pytest.mark.parametrize("how", ["absent", "a link", "of somebody else", "writable by a group", "a folder"])
def test_insecure_configuration_allows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def opened(*_: object, **_options: object) -> str:
        raise AssertionError("it may be a pipe, which waits for ever")

    path, other = tmp_path / "helper.conf", tmp_path / "other"
    other.write_text("accept_loop_devices = true\n")
    match how:
        case "a link":
            path.symlink_to(other)
        case "a folder":
            path.mkdir()
        case "absent":
            pass
        case _:
            path.write_bytes(other.read_bytes())
            if how == "of somebody else":
                os.chown(path, NOBODY, -1)
            else:
                path.chmod(0o664)
    monkeypatch.setattr(Path, "read_text", opened)
    assert read_policy(path) == Policy()


# --- which disk is meant


@pytest.mark.parametrize(
    "number",
    [
        "",
        "8",
        "8:16/../../../etc",
        "../8:16",
        "8:16\n",
        " 8:16",
        "99999:1",
        "8:99999999",
        "4095:1048575",
        "\N{ARABIC-INDIC DIGIT EIGHT}:1",
    ],
)
def test_unknown_device_number_has_no_node(number: str) -> None:
    with pytest.raises(FileNotFoundError):
        node_of(number)


def test_known_device_number_has_its_node() -> None:
    for entry in Path("/sys/dev/block").iterdir():
        assert node_of(entry.name) == f"/dev/{entry.resolve().name}"


class Disks:
    """Stands for `SpareDisks`: who lies behind each node."""

    def __init__(self, here: Mapping[str, DiskIdentity], *, loops: bool = False) -> None:
        self.here = here
        self.policy = Policy(accept_loop_devices=loops)
        self.said: Mapping[str, tuple[DiskRefusal, ...]] = {}

    def identify(self, node: str) -> DiskIdentity:
        if node not in self.here:
            raise FileNotFoundError(2, "gone", node)
        return self.here[node]

    def refusals(self, _chosen: object) -> Mapping[str, tuple[DiskRefusal, ...]]:
        return self.said


def found(disks: Disks, chosen: DiskIdentity) -> PlannedDevice | str:
    try:
        return find_device(cast("Any", disks), chosen)
    except MethodError as refusal:
        return refusal.text


def test_disk_is_the_chosen_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_block_bytes", lambda _node: 4096)
    nodes = {disk(1).device_number: "/dev/sda", disk(2).device_number: "/dev/loop7"}

    def node_here(number: str) -> str:
        if number not in nodes:
            raise FileNotFoundError
        return nodes[number]

    monkeypatch.setattr(devices, "node_of", node_here)
    here = {"/dev/sda": disk(1), "/dev/loop7": disk(2)}
    assert found(Disks(here), disk(1)) == PlannedDevice("/dev/sda", 4096)
    assert found(Disks(here), replace(disk(1), serial="other")) == "8:16 D15 serial"
    assert found(Disks({}), disk(1)) == "8:16 D15 not here"
    assert found(Disks(here), disk(3)) == "8:48 D15 not here"
    assert found(Disks(here), disk(2)) == "8:32 D01 loop device"
    assert found(Disks(here, loops=True), disk(2)) == PlannedDevice("/dev/loop7", 4096)
    hostile = replace(disk(1), device_number="8:3 <b>\n" + "9" * 50)
    assert found(Disks(here), hostile) == "8:3??b??999999999999 D15 not here"


PLAN = plan_of(filesystem("xfs"), Level.MIRROR, {})
ENTRY = JournalEntry(uuid.UUID(int=7), 1000, PLAN, devices_of(PLAN), 3, {}, boot="boot")


KNOWN = (disk(1), disk(2))


def again(monkeypatch: pytest.MonkeyPatch, here: Mapping[str, DiskIdentity]) -> Mapping[str, DiskIdentity]:
    monkeypatch.setattr(devices, "_nodes", lambda: ["/dev/ram0", *here])
    found_now = find_again(ENTRY, cast("Any", Disks(here)))
    assert [each.node for each in found_now.devices.values()] == list(found_now.chosen)
    changed = {node for node, each in found_now.chosen.items() if node in here and here[node] not in KNOWN}
    assert found_now.since == changed
    return found_now.chosen


def test_disks_of_entry_by_maker_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = replace(disk(1), device_number="8:160", diskseq=99)
    assert again(monkeypatch, {"/dev/sdk": moved, "/dev/sdb": disk(2)}) == {
        "/dev/sdk": moved,
        "/dev/sdb": disk(2),
    }
    assert again(monkeypatch, {"/dev/sdb": disk(2)}) == {"/dev/gone0": disk(1), "/dev/sdb": disk(2)}
    for field in ("serial", "wwn", "model"):
        other = replace(disk(1), **{field: "other"})  # type: ignore[arg-type]
        assert "/dev/gone0" in again(monkeypatch, {"/dev/sda": other, "/dev/sdb": disk(2)})


def test_indistinguishable_disks_are_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = {"/dev/sda": disk(1), "/dev/sdz": replace(disk(1), device_number="8:400"), "/dev/sdb": disk(2)}
    assert again(monkeypatch, copies) == {"/dev/gone0": disk(1), "/dev/sdb": disk(2)}


def test_grown_disk_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = replace(disk(1), size_bytes=disk(1).size_bytes * 2)
    chosen = again(monkeypatch, {"/dev/sda": grown, "/dev/sdb": disk(2)})
    assert chosen["/dev/sda"].differs_from(grown)


# --- which disks the journal keeps


class Journal:
    """Stands for the journal: these entries, and these files that nobody understands."""

    def __init__(self, *entries: JournalEntry, bad: tuple[Path, ...] = ()) -> None:
        self.found, self.bad = list(entries), list(bad)

    def entries(self) -> tuple[list[JournalEntry], list[Path]]:
        return self.found, self.bad

    def entry(self, session: uuid.UUID) -> JournalEntry | None:
        return next((each for each in self.found if each.session == session), None)


def left(journal: Journal, disks: Disks | None = None) -> Leftovers:
    return Leftovers(cast("Any", journal), cast("Any", disks or Disks({})))


HELD = replace(ENTRY, boot="")
"""Of an older helper, which wrote no marks: everything of it counts as begun."""


def test_journaled_disk_refused_with_known_reason() -> None:
    refusal = left(Journal(HELD)).refusal("/dev/sda", disk(1))
    assert refusal is not None
    assert (refusal.rule, refusal.evidence) == ("D18", f"session {HELD.session}")
    known = replace(HELD, kept={disk(1).key(): "xfs is there"})
    refusal = left(Journal(known)).refusal("/dev/sda", disk(1))
    assert refusal is not None
    assert refusal.evidence == "xfs is there"
    assert left(Journal(HELD)).refusal("/dev/sdc", disk(3)) is None
    assert left(Journal(replace(HELD, begun=0))).refusal("/dev/sda", disk(1)) is None


def test_live_session_keeps_disks_by_locks() -> None:
    found = left(Journal(HELD))
    found.live.add(HELD.session)
    assert found.refusal("/dev/sda", disk(1)) is None


def test_table_beside_a_damaged_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, dict[str, str]] = {
        "/dev/sda": {"PTTYPE": "gpt"},
        "/dev/sdb": {"TYPE": "unknown"},
        "/dev/sdc": {},
    }
    monkeypatch.setattr(leftovers, "probe", lambda node, _run: found[node])
    damaged = left(Journal(bad=(Path("/var/x.json"),)))
    refusals = {node: damaged.refusal(node, disk(1)) for node in found}
    assert [node for node, each in refusals.items() if each] == ["/dev/sda", "/dev/sdb"]
    assert "/var/x.json" in str(refusals["/dev/sda"])
    assert left(Journal()).refusal("/dev/sda", disk(1)) is None


def test_rules_come_after_the_journal() -> None:
    disks = Disks({})
    mounted = DiskRefusal("D05", "It is mounted.", "/srv")
    disks.said = {"/dev/sda": (mounted,), "/dev/sdc": (mounted,)}
    chosen = {"/dev/sda": disk(1), "/dev/sdb": disk(2), "/dev/sdc": disk(3), "/dev/sdd": disk(4)}
    refusals = left(Journal(HELD), disks).refusals(chosen)
    assert {node: [each.rule for each in reasons] for node, reasons in refusals.items()} == {
        "/dev/sda": ["D18", "D05"],
        "/dev/sdb": ["D18"],
        "/dev/sdc": ["D05"],
    }


@pytest.mark.expects_log
def test_recovery_continues_and_names_leftovers(monkeypatch: pytest.MonkeyPatch) -> None:
    unmade: list[int] = []

    def unmake(entry: JournalEntry, *_: object) -> None:
        unmade.append(entry.session.int)
        if entry.session.int == 7:
            raise StorageError("xfs is there")

    monkeypatch.setattr(leftovers, "_unmake", unmake)
    entries = [replace(HELD, session=uuid.UUID(int=number)) for number in (6, 7, 8, 9)]
    found = left(Journal(*entries, bad=(Path("/var/x.json"),)))
    found.live.add(uuid.UUID(int=8))
    assert found.recover() == ["/var/x.json: not understood", f"session {uuid.UUID(int=7)}: xfs is there"]
    assert sorted(unmade) == [6, 7, 9], "but for the one that is alive"


def test_recovery_beside_one_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, unmade = threading.Event(), []

    def unmake(entry: JournalEntry, *rest: object) -> None:
        unmade.append(entry.session.int)
        if entry.session.int == 7:
            cast("Any", rest[-2]).step = "umount /x"
            answers.wait()

    monkeypatch.setattr(leftovers, "_unmake", unmake)
    other = StoragePlan(Group((disk(3),), Level.SINGLE, "xfs"))
    single = replace(HELD, session=uuid.UUID(int=8), plan=other, devices=devices_of(other))
    found = left(Journal(HELD, single))
    hangs, *more = found.recover(limit_s=0.2)
    assert "00000007" in hangs
    assert "umount /x" in hangs
    assert (more, sorted(unmade), found.is_at_work) == ([], [7, 8], True)
    monkeypatch.setattr(leftovers, "ANSWERED_S", 0.1)
    found.retry([disk(1)])
    assert unmade.count(7) == 1, "one at a time"
    assert "umount /x" in found.refusals({"/dev/sda": disk(1)})["/dev/sda"][0].evidence
    answers.set()
    assert found.recover(limit_s=LIMIT_S) == []
    assert not found.is_at_work


def test_only_holding_entries_recovered_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    unmade: list[int] = []
    monkeypatch.setattr(leftovers, "_unmake", lambda entry, *_: unmade.append(entry.session.int))
    other = plan_of(filesystem("xfs"), Level.SINGLE, {})
    single = replace(HELD, session=uuid.UUID(int=8), plan=other, devices=devices_of(other))
    never = replace(HELD, session=uuid.UUID(int=9), begun=0)
    found = left(Journal(HELD, single, never))
    found.retry([disk(2)])
    assert unmade == [7]
    found.retry([disk(3)])
    assert unmade == [7]
    found.retry([disk(3), disk(1)])
    assert sorted(unmade) == [7, 7, 8]
