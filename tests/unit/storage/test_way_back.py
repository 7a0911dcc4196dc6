"""What is written on the way back, and what keeps a disk: root's own code over a file in place of a disk."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.domain.disk import DiskIdentity
from app.domain.errors import StorageError
from app.domain.text import MIB
from app.storage.checks import disk_checks
from app.storage.checks.disk_checks import ConditionResult, Hooks, User, check
from app.storage.layout.conditions import ArrayRuns, Condition
from app.storage.layout.steps import (
    Mark,
    Wipe,
    WipeTable,
    ends_fact,
    look_fact,
    mark_fact,
    mark_of,
    table_fact,
)
from app.storage.system import state
from app.storage.system.device import content_digest, ends_digest, table_digest
from app.storage.system.programs import TimeBudget
from app.storage.wiping import found as offered
from app.storage.wiping import wipe
from app.storage.wiping.found import look_through
from app.storage.wiping.wipe import KeptError, Wiper
from tests.unit.storage.file_disk import BYTES, OURS, PARTITION, PARTITION_BYTES, FileDevice, made_disk
from tests.unit.storage.plans import disk

WIPE = Wipe(PARTITION.node, PARTITION.place, OURS, (PARTITION,), "ours is wiped")
TABLE = WipeTable(PARTITION, OURS, "the table is removed")
PLACES = {PARTITION.place, PARTITION.table_place}
SUPERBLOCK = MIB + 1024


@dataclass
class Root:
    """Root's code over one disk, and what it was told and told others."""

    device: FileDevice
    facts: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=lambda: set(PLACES))
    agreed: dict[str, str] = field(default_factory=dict)
    since: dict[str, str] = field(default_factory=dict)
    users: list[User] = field(default_factory=list)
    saved: dict[int, bytes] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    is_blank: bool = False

    def see(self) -> None:
        """Write down what lies there, as a session does that made or unmounted it itself."""
        part = self.device.part(PARTITION.node, MIB, PARTITION_BYTES)
        self.facts[table_fact(PARTITION.table_place)] = table_digest(self.device)
        self.facts[look_fact(PARTITION.place)] = content_digest(part)

    def know(self, facts: Mapping[str, str]) -> None:
        self.facts.update(facts)
        values = {name: "" if name.startswith("ends of ") else value for name, value in facts.items()}
        self.device.did += [f"know {name}: {value}" for name, value in values.items()]

    def save(self, _name: str, offset: int, content: bytes) -> None:
        self.saved[offset] = content
        self.device.did.append(f"save {offset} {len(content)}")

    def wiper(self) -> Wiper:
        identity = disk(1)

        def release(disks: Mapping[str, DiskIdentity]) -> None:
            self.released.extend(disks)
            self.device.did.append("release")

        hooks = Hooks(
            lambda _node: identity,
            lambda chosen: {} if self.is_blank else dict.fromkeys(chosen, ()),
            release=release,
            users=lambda *_: tuple(self.users),
            hiding=lambda: "4711 (qemu)",
            save=self.save,
            since=self.since,
            patience=TimeBudget(0.0),
        )
        return Wiper(
            {PARTITION.disk: identity},
            hooks,
            self.facts,
            self.know,
            lambda step: self.device.did.append(f"begin {type(step).__name__}"),
            self.device.run,
            lambda condition: check(condition, self.facts, self.device.run),
            self.ours,
            self.agreed,
        )

    def back(self) -> str:
        """Go the whole way back; return why it was kept, empty where it was not."""
        try:
            self.wiper().wipe(WIPE)
            self.wiper().wipe_table(TABLE)
        except KeptError as err:
            return err.message
        return ""

    @property
    def zeroed(self) -> list[str]:
        return [each for each in self.device.did if each.startswith("zero")]

    @property
    def marks(self) -> tuple[Mark | None, Mark | None]:
        return mark_of(self.facts, PARTITION.place), mark_of(self.facts, PARTITION.table_place)


def root_over(device: FileDevice, monkeypatch: pytest.MonkeyPatch) -> Root:
    made = Root(device)
    made.facts |= {mark_fact(place): Mark.MADE.value for place in PLACES}
    made.see()
    sizes = {PARTITION.disk: device.size_bytes}
    monkeypatch.setattr(state, "size_bytes", lambda node: sizes.get(node, 0))
    monkeypatch.setattr(state, "device_number", lambda _node: "8:16")
    monkeypatch.setattr(wipe, "locked", lambda *_: nullcontext())
    monkeypatch.setattr(wipe, "exclusive", device.opened)
    for module in (disk_checks, offered):
        monkeypatch.setattr(module, "reading", device.opened)
    return made


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    return root_over(made_disk(tmp_path), monkeypatch)


LAST = BYTES - 33 * 512
CONTENT_WIPED = [
    *("forget 1", "begin Wipe", f"know mark of {PARTITION.place}: wiping"),
    *("save 1024 1024", f"zero {SUPERBLOCK} 1024", "flush", f"know mark of {PARTITION.place}: wiped"),
]
ENDS = f"know ends of {PARTITION.table_place}: "
TABLE_WIPED = [
    *("forget 1", "begin WipeTable", f"know mark of {PARTITION.table_place}: wiping", ENDS),
    *(
        f"save {LAST} {33 * 512}",
        f"save 0 {34 * 512}",
        f"zero {LAST} {33 * 512}",
        f"zero 0 {34 * 512}",
        "flush",
    ),
    *(f"know mark of {PARTITION.table_place}: wiped", "release"),
    f"know mark of {PARTITION.table_place}: released",
]
"""The journal first, then a copy, then zeros, then the journal: in this order."""


def test_ours(root: Root) -> None:
    before = root.device.file.read_bytes()
    assert root.back() == ""
    assert root.device.did == [*CONTENT_WIPED, *TABLE_WIPED]
    # what was there is kept, and not the zeros that came in its place
    assert root.saved == {
        1024: before[SUPERBLOCK : SUPERBLOCK + 1024],
        0: before[: 34 * 512],
        LAST: before[LAST:],
    }
    assert all(any(each) for each in root.saved.values())
    assert root.released == [PARTITION.disk]
    assert root.marks == (Mark.WIPED, Mark.RELEASED)
    after = bytearray(before)
    after[: 34 * 512] = bytes(34 * 512)
    after[LAST:] = bytes(33 * 512)
    after[SUPERBLOCK : SUPERBLOCK + 1024] = bytes(1024)
    assert root.device.file.read_bytes() == bytes(after), "and nothing else"


def sgdisk(*options: str) -> Callable[[FileDevice], object]:
    def change(device: FileDevice) -> None:
        if shutil.which("sgdisk") is None:
            pytest.skip("sgdisk is not installed")
        subprocess.run(("sgdisk", *options, str(device.file)), check=True, capture_output=True)

    return change


def put(offset: int, content: bytes = b"x") -> Callable[[FileDevice], object]:
    return lambda device: device.put(offset if offset >= 0 else device.size_bytes + offset, content)


TABLES: dict[str, Callable[[FileDevice], object]] = {
    "256 entries": sgdisk("-S", "256"),
    "partition 150": sgdisk("-S", "256", "-n", "150:140000:+4M", "-c", "150:customers"),
    "56 entries": sgdisk("-S", "56"),
    "moved": sgdisk("-j", "512"),
    "renamed": sgdisk("-c", "1:customer-data"),
    "attribute": sgdisk("-A", "1:set:0"),
    "other type": sgdisk("-t", "1:8300"),
    "second partition": sgdisk("-n", "2:140000:+4M"),
    "first byte": put(0),
    "boot signature": put(440, b"\1\2\3\4"),
    "behind the header": put(512 + 92),
    "last byte of the entries": put(34 * 512 - 1),
    "copy of the entries": put(-33 * 512),
    "copy of the header": put(-1),
    "copy alone": put(0, bytes(34 * 512)),
    "first alone": put(-33 * 512, bytes(33 * 512)),
}


@pytest.mark.parametrize("name", TABLES)
def test_changed_table(root: Root, name: str) -> None:
    TABLES[name](root.device)
    changed = root.device.file.read_bytes()
    found = root.back()
    assert "byte for byte" in found
    assert found.endswith("Nothing was written to it.")
    assert root.device.file.read_bytes() == changed
    assert (root.zeroed, root.saved, root.released) == ([], {}, [])


@pytest.mark.parametrize("name", ["copy of the header", "last byte of the entries", "partition 150"])
def test_table_changed_after_content_was_wiped(root: Root, name: str) -> None:
    root.wiper().wipe(WIPE)
    TABLES[name](root.device)
    with pytest.raises(KeptError, match="byte for byte") as caught:
        root.wiper().wipe_table(TABLE)
    assert "Nothing was written" not in caught.value.message
    assert "Nothing more is written" in caught.value.message
    assert len(root.zeroed) == 1


def tune(*options: str) -> Callable[[FileDevice], object]:
    def change(device: FileDevice) -> None:
        argv = ("tune2fs", *options, f"{device.file}?offset={MIB}")
        subprocess.run(argv, check=True, capture_output=True)

    return change


USED: dict[str, tuple[Callable[[FileDevice], object], str]] = {
    "labelled": (tune("-L", "CUSTOMERS"), "CUSTOMERS"),
    "mounted once more": (tune("-C", "7"), "changed"),
    "mounted elsewhere": (tune("-M", "/srv"), "changed"),
    "free blocks": (put(SUPERBLOCK + 12, b"\1\2\3"), "changed"),
    "bitmap": (put(MIB + 3 * MIB), "changed"),
    "at the end": (put(MIB + PARTITION_BYTES - 5), "changed"),
    "other identifier": (tune("-U", "random"), "which this session did not create"),
}


@pytest.mark.parametrize("name", USED)
def test_used_filesystem(root: Root, name: str) -> None:
    change, reason = USED[name]
    change(root.device)
    changed = root.device.file.read_bytes()
    said = root.back()
    assert reason in said
    assert said.endswith("Nothing was written to it.")
    assert root.device.file.read_bytes() == changed
    assert (root.zeroed, root.saved, root.released) == ([], {}, [])


def test_seen_but_never_made(root: Root) -> None:
    del root.facts[look_fact(PARTITION.place)]
    assert "changed" in root.back()
    assert root.zeroed == []


def test_open_partition(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {PARTITION.disk: root.device.size_bytes, PARTITION.node: PARTITION_BYTES}
    monkeypatch.setattr(state, "size_bytes", lambda node: sizes.get(node, 0))
    monkeypatch.setattr(state, "partition_place", lambda _node: (MIB, PARTITION_BYTES))
    monkeypatch.setattr("app.storage.wiping.found._is_known", lambda _part: False)  # there is no such node
    root.device.openers = 1
    before = root.device.file.read_bytes()
    said = root.back()
    assert "4711 (qemu)" in said
    assert said.endswith("Nothing was written to it.")
    assert root.device.file.read_bytes() == before
    root.device.openers = 0
    tune("-C", "9")(root.device)
    root.device.did.clear()
    assert "changed" in root.back()
    assert root.device.did == ["forget 1", f"tell 1 {MIB} {PARTITION_BYTES}"], "the kernel knows it again"
    monkeypatch.setattr(state, "partition_place", lambda _node: (2 * MIB, PARTITION_BYTES))
    assert "is not where pgFooting created it" in root.back()


@pytest.mark.parametrize("is_changed", [False, True])
def test_array_beside_a_changed_table(
    root: Root,
    monkeypatch: pytest.MonkeyPatch,
    is_changed: bool,  # noqa: FBT001
) -> None:
    """What it holds has to be as it was seen last, or no disk of it is freed; nothing is written into it."""
    array = root.device.part(PARTITION.disk, MIB, PARTITION_BYTES)
    monkeypatch.setattr(wipe, "exclusive", lambda *_: nullcontext(array))
    runs = ArrayRuns(PARTITION.disk, "uuid", (PARTITION.node,))
    step = replace(WIPE, node=PARTITION.disk, array=runs)
    root.device.put(0, b"x")
    if is_changed:
        tune("-C", "9")(root.device)
    before = root.device.file.read_bytes()
    wiper = root.wiper()
    own = wiper.check

    def seen(condition: Condition) -> ConditionResult:
        return ConditionResult(holds=True, evidence="") if condition is runs else own(condition)

    object.__setattr__(wiper, "check", seen)
    if is_changed:
        with pytest.raises(KeptError, match="changed since"):
            wiper.wipe(step)
    else:
        assert "no partition table that pgFooting wrote" in wiper.wipe(step)
    assert root.device.file.read_bytes() == before
    assert root.device.did == []


def test_table_changed_while_the_partition_is_forgotten(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.wiper().wipe(WIPE)
    forget = root.device.forget_partition

    def late(number: int) -> bool:
        root.device.put(440, b"\1")
        return forget(number)

    monkeypatch.setattr(root.device, "forget_partition", late)
    with pytest.raises(KeptError, match="byte for byte"):
        root.wiper().wipe_table(TABLE)
    assert len(root.zeroed) == 1


@pytest.mark.parametrize("step", [WIPE, TABLE])
def test_told_again_after_any_failure(
    root: Root, monkeypatch: pytest.MonkeyPatch, step: Wipe | WipeTable
) -> None:
    if step is TABLE:
        root.wiper().wipe(WIPE)
    root.device.did.clear()
    known = {PARTITION.disk: root.device.size_bytes, PARTITION.node: PARTITION_BYTES}
    monkeypatch.setattr(state, "size_bytes", lambda node: known.get(node, 0))
    monkeypatch.setattr(state, "partition_place", lambda _node: (MIB, PARTITION_BYTES))
    monkeypatch.setattr("app.storage.wiping.found._is_known", lambda _part: False)
    wiper = root.wiper()

    def full(_step: object) -> None:
        raise OSError(28, "the journal is full")

    def progress(*where: int) -> None:
        root.device.did.append(f"tell {where}")
        raise OSError(5, "told in vain")

    object.__setattr__(wiper, "begin", full)
    monkeypatch.setattr(root.device, "add_partition", progress)
    with pytest.raises(OSError, match="the journal is full"):
        wiper.wipe(step) if isinstance(step, Wipe) else wiper.wipe_table(step)
    assert root.device.did == ["forget 1", f"tell {(1, MIB, PARTITION_BYTES)}"]
    root.device.did.clear()
    monkeypatch.setattr(root.device, "flush", lambda: full(None))
    with pytest.raises(OSError, match="the journal is full"):
        root.wiper().wipe(step) if isinstance(step, Wipe) else root.wiper().wipe_table(step)
    assert not [each for each in root.device.did if each.startswith("tell")], "wiping had begun"


def test_found_unmounted(root: Root) -> None:
    root.ours.clear()
    before = root.device.file.read_bytes()
    said = root.back()
    assert "did not unmount it itself" in said
    assert OURS.uuid in said
    assert root.device.file.read_bytes() == before
    root.since = {PARTITION.disk: "the machine was started anew"}
    assert "the machine was started anew" in root.back()
    root.users = [User("a program reads", "pid 8")]
    assert "pid 8" in root.back()
    assert root.device.did == []


def test_blanked_by_its_owner(root: Root) -> None:
    root.ours.clear()
    root.is_blank = True
    assert root.back() == ""
    assert root.device.did == [f"know mark of {PARTITION.table_place}: released"]
    assert root.released == []
    assert root.marks[1] is Mark.RELEASED


def agreed(root: Root) -> None:
    found = look_through(root.device, PARTITION, OURS, root.facts, root.device.run)
    root.agreed = {PARTITION.disk: found.digest}


def test_released_by_a_person(root: Root) -> None:
    root.ours.clear()
    tune("-L", "CUSTOMERS")(root.device)
    before = root.device.file.read_bytes()
    agreed(root)
    assert root.back() == ""
    assert root.device.did == [
        *("forget 1", "begin WipeTable", f"know mark of {PARTITION.place}: wiping", "save 1024 1024"),
        *(f"zero {SUPERBLOCK} 1024", "flush", f"know mark of {PARTITION.place}: wiped"),
        *TABLE_WIPED[1:],
    ]
    assert root.saved[1024] == before[SUPERBLOCK : SUPERBLOCK + 1024]
    assert root.released == [PARTITION.disk]
    assert root.marks == (Mark.WIPED, Mark.RELEASED)


CHANGED_MEANWHILE = {
    "label": tune("-L", "OTHERS"),
    "table": sgdisk("-c", "1:mine"),
    "content": put(MIB + 4 * MIB),
}


@pytest.mark.parametrize("name", CHANGED_MEANWHILE)
def test_changed_between_question_and_answer(root: Root, name: str) -> None:
    root.ours.clear()
    agreed(root)
    CHANGED_MEANWHILE[name](root.device)
    changed = root.device.file.read_bytes()
    assert "since it was shown" in root.back()
    assert root.device.file.read_bytes() == changed
    assert root.released == []


NOT_OURS = {
    "table": TABLES["renamed"],
    "partition 150": TABLES["partition 150"],
    "content": USED["other identifier"][0],
    "second signature": put(MIB + 64 * 1024 + 64, b"_BHRfS_M"),
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_agreed_but_not_ours(root: Root, name: str) -> None:
    """The journal forgets the disk, and nothing is written."""
    root.ours.clear()
    NOT_OURS[name](root.device)
    changed = root.device.file.read_bytes()
    agreed(root)
    assert root.back() == ""
    assert root.device.file.read_bytes() == changed
    assert (root.released, root.zeroed, root.saved) == ([], [], {})
    assert root.marks[1] is Mark.RELEASED


def test_agreed_while_open(root: Root) -> None:
    root.ours.clear()
    agreed(root)
    root.device.openers = 1
    assert "4711 (qemu)" in root.back()
    assert root.zeroed == []
    root.device.openers, root.users = 0, [User("a program writes", "pid 9")]
    assert "pid 9" in root.back()
    assert root.zeroed == []


def test_killed_after_the_table_was_wiped(root: Root) -> None:
    root.back()
    root.facts[mark_fact(PARTITION.table_place)] = Mark.WIPED.value
    root.released.clear()
    assert root.back() == ""
    assert root.released == [PARTITION.disk], "by the same process"
    for ours in (PLACES, set[str]()):
        root.facts[mark_fact(PARTITION.table_place)] = Mark.WIPED.value
        root.ours, root.agreed = set(ours), {}
        root.device.put(7 * MIB, b"somebody else's")
        assert root.back() != ""
        root.device.put(7 * MIB, bytes(15))
    agreed(root)
    assert root.back() == ""


def test_table_that_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sfdisk failed: what was seen then is ours only by the identifier of the table."""
    root = root_over(made_disk(tmp_path, filesystem=False), monkeypatch)
    root.facts |= {
        mark_fact(PARTITION.table_place): Mark.BEGUN.value,
        mark_fact(PARTITION.place): Mark.WIPED.value,
    }
    sgdisk("-U", "R")(root.device)
    root.see()
    assert "byte for byte" in root.back()
    assert root.zeroed == []
    sgdisk("-U", PARTITION.table_uuid)(root.device)
    root.see()
    assert root.back() == ""
    assert len(root.zeroed) == 2


def test_table_that_came_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = root_over(made_disk(tmp_path, filesystem=False), monkeypatch)
    root.device.file.write_bytes(bytes(root.device.size_bytes))
    root.facts = {mark_fact(PARTITION.table_place): Mark.BEGUN.value}
    root.see()
    assert root.back() == ""
    assert (root.zeroed, root.released, root.marks[1]) == ([], [], Mark.RELEASED)


def test_content_that_was_not_looked_at(root: Root) -> None:
    with pytest.raises(KeptError, match="not wiped"):
        root.wiper().wipe_table(TABLE)
    assert root.zeroed == []


def test_wipefs_that_fails(root: Root) -> None:
    wiper = root.wiper()
    run = root.device.run
    failing = cast("Any", lambda argv: run(("false",) if argv[0] in {"wipefs", "blkid"} else argv))
    object.__setattr__(wiper, "run", failing)
    with pytest.raises(StorageError, match="is not known"):
        wiper.wipe(WIPE)
    with pytest.raises(StorageError, match="is not known"):
        wiper.wipe_table(TABLE)
    assert root.zeroed == []


def test_ends(root: Root) -> None:
    before = ends_digest(root.device)
    for place in (0, 16 * MIB - 1, root.device.size_bytes - 16 * MIB, root.device.size_bytes - 1):
        byte = root.device.read(place, 1)
        root.device.put(place, b"\xff" if byte != b"\xff" else b"\0")
        assert ends_digest(root.device) != before, place
        root.device.put(place, byte)
    root.device.put(20 * MIB, b"x")
    assert ends_digest(root.device) == before
    assert ends_fact("x") == "ends of x"
