"""A damaged journal keeps nobody from working: what cannot be understood is named, and kept as it is."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.domain.disk import DiskIdentity
from app.domain.filesystems import filesystem
from app.domain.messages.message import Message, say
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import FURTHER_ROLES, Group, Role, StoragePlan
from app.domain.storage_plan.reader import MOST_DISKS
from app.helper.storage import journal as journal_module
from app.helper.storage.journal import SCHEMA, Journal, JournalEntry, Writer
from app.helper.storage.leftovers import Leftovers
from app.helper.storage.pending_plans import PlannedLayout
from app.storage.layout.conditions import table_place
from app.storage.layout.partitions import Names, PlannedDevice
from app.storage.layout.steps import (
    Mark,
    QueueSetting,
    Wipe,
    WipeTable,
    ends_fact,
    look_fact,
    mark_fact,
    mount_fact,
    queue_fact,
    table_fact,
    undo_of,
)
from tests.unit.storage.plans import devices, disks, plan_of

pytestmark = pytest.mark.expects_log

SESSION = uuid.UUID("6f1d5a52-0a0c-4c1c-9d57-9d6a2f0e8c11")
OTHER = uuid.UUID("11111111-0a0c-4c1c-9d57-9d6a2f0e8c11")
MUTATIONS = 2000
NESTED = 100_000


def entry(session: uuid.UUID = SESSION) -> JournalEntry:
    plan = plan_of(filesystem("xfs"), Level.MIRROR, {"agcount": 8})
    return JournalEntry(session, 1000, plan, devices(plan), 3, {"pool": "4711"})


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One good entry of another session; the test writes beside it."""
    found = Journal(tmp_path / "journal")
    found.write(entry(OTHER))
    return found


def path_of(journal: Journal, session: uuid.UUID = SESSION) -> Path:
    return journal.folder / f"{session.hex}.json"


def text_of(journal: Journal) -> str:
    journal.write(entry())
    return path_of(journal).read_text()


def is_set_aside(journal: Journal, content: bytes) -> bool:
    """Whether a file is kept and named as one that nobody understands; the other entry is always there."""
    path = path_of(journal)
    path.write_bytes(content)
    found, bad = journal.entries()
    assert OTHER in {each.session for each in found}
    assert path.read_bytes() == content
    assert len(found) + len(bad) == 2
    for each in found:  # what is taken for an entry can be asked and written again
        assert all(each.holds(disk) in {True, False} for disk in disks(4))
        Writer(journal, each).begin(4)
    return bad == [path]


def changed(text: str, **values: object) -> bytes:
    return json.dumps({**json.loads(text), **values}).encode()


def test_what_is_written_is_read_again(journal: Journal) -> None:
    journal.write(entry())
    assert sorted(each.session for each in journal.entries()[0]) == sorted([SESSION, OTHER])
    assert entry() in journal.entries()[0]
    assert journal.entries()[1] == []


def test_entry_synced_before_it_is_named(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []

    def sync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        synced.append(b"" if path.is_dir() else path.read_bytes())
        assert path_of(journal).exists() is path.is_dir()

    monkeypatch.setattr("os.fsync", sync)
    journal.write(entry())
    assert synced == [path_of(journal).read_bytes(), b""], "the entry, then the folder that names it"


def test_session_journal_written_before_continuing(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(journal, replace(entry(), begun=0))
    assert journal.entry(SESSION) is None
    writer.begin(4)
    writer.begin(2)
    writer.facts({"pool": "4712"})
    writer.facts({"mark": "made"})
    writer.keep({"disk": "xfs is there"})
    expected = replace(
        entry(), begun=4, facts={"pool": "4712", "mark": "made"}, kept={"disk": "xfs is there"}
    )
    assert (journal.entry(SESSION), writer.entry) == (expected, expected)
    written: list[JournalEntry] = []
    monkeypatch.setattr(Journal, "write", lambda _self, found: written.append(found))
    writer.keep({"disk": "xfs is there"})
    assert written == [], "it says so already"
    writer.keep({})
    assert [each.kept for each in written] == [{}]


def test_long_foreign_reasons_round_trip(journal: Journal) -> None:
    writer = Writer(journal, entry())
    writer.keep({"one": "mounted here; " * 100_000})
    assert journal.entry(SESSION) == writer.entry
    writer.keep({"one": "mounted here; " * 2_000_000, "other": "short"})
    kept = journal.entry(SESSION)
    assert kept == replace(entry(), kept={"one": "", "other": ""}), "it says the reasons at the next attempt"


def test_largest_plan_round_trip(journal: Journal) -> None:
    count = len((Role.DATA, *FURTHER_ROLES)) * MOST_DISKS
    many = [
        DiskIdentity(
            f"{number:04}".ljust(200, "\U0001f5b4"), None, "\U0001f5b4" * 200, 1 << 40, f"9:{number}"
        )
        for number in range(count)
    ]
    groups = [
        Group(tuple(many[at : at + MOST_DISKS]), Level.STRIPE, "btrfs") for at in range(0, count, MOST_DISKS)
    ]
    further: dict[str, Any] = dict(zip(map(str, FURTHER_ROLES), groups[1:], strict=True))
    plan = StoragePlan(groups[0], **further)
    known = {each.key(): PlannedDevice(f"/dev/sd{number}") for number, each in enumerate(many)}
    undo = undo_of(PlannedLayout(SESSION, plan, known).steps())
    places = {each.place for each in undo if isinstance(each, Wipe)}
    places |= {each.partition.table_place for each in undo if isinstance(each, WipeTable)}
    facts = {mark_fact(place): Mark.WIPED.value for place in places}
    facts |= {name(place): "f" * 64 for place in places for name in (ends_fact, table_fact, look_fact)}
    facts |= {mount_fact(f"/run/pgfooting/{SESSION.hex}/{role}"): f"unique {1 << 63}" for role in Role}
    facts |= {
        queue_fact(setting, place): f"{'x' * 16} {'x' * 16} 9"
        for setting in QueueSetting
        for place in places
        if setting is QueueSetting.SCHEDULER
    }
    whole = JournalEntry(SESSION, 1000, plan, known, 3, facts)
    journal.write(whole)
    assert path_of(journal).stat().st_size > 1 << 20
    assert journal.entry(SESSION) == whole


def test_unreadable_entry_is_never_written(journal: Journal) -> None:
    with pytest.raises(OSError, match="too large"):
        journal.write(replace(entry(), facts={"pool": "x" * (17 << 20)}))
    assert journal.entry(SESSION) is None


def test_unknown_mark_is_set_aside(journal: Journal) -> None:
    text = text_of(journal)
    assert not is_set_aside(journal, changed(text, facts={mark_fact("x"): "made", "pool": "nonsense"}))
    assert is_set_aside(journal, changed(text, facts={mark_fact("x"): "nonsense"}))


def test_entry_of_an_older_helper(journal: Journal) -> None:
    old = {**json.loads(text_of(journal)), "schema": 1}
    assert not is_set_aside(journal, json.dumps({**old, "boot": "x", "kept": {"disk": "x"}}).encode())
    del old["boot"], old["kept"]
    assert not is_set_aside(journal, json.dumps(old).encode())
    for content in (old, {**old, "boot": "x", "kept": {"disk": "x"}}):
        path_of(journal).write_text(json.dumps(content))
        found = journal.entry(SESSION)
        assert found is not None
        assert (found.boot, found.kept) == ("", {})


def test_older_schema_stays_older(journal: Journal) -> None:
    for schema in (1, 2, SCHEMA):
        old = {**json.loads(text_of(journal)), "schema": schema}
        path_of(journal).write_text(json.dumps(old))
        found = journal.entry(SESSION)
        assert found is not None
        Writer(journal, found).facts({"x": "y"})
        assert json.loads(path_of(journal).read_text())["schema"] == schema


def test_no_journal_where_nothing_was_made(tmp_path: Path) -> None:
    assert Journal(tmp_path / "journal").entries() == ([], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0" * 4096, b"\xff\xfe", b"null", b"[]", b"{}", b"1e400", b"Infinity", b"NaN", b'"\\ud800"',
        b"[" * NESTED, b'{"a":' * NESTED, b"[" * NESTED + b"]" * NESTED,
        b"9" * 10_000, b"{} {}", b"\xef\xbb\xbf{}",
    ],
    ids=lambda content: content[:8].decode("ascii", "replace"),
)  # fmt: skip
def test_what_is_no_entry_is_set_aside(journal: Journal, content: bytes) -> None:
    assert is_set_aside(journal, content)


HOSTILE: list[Any] = [
    *(float("inf"), float("-inf"), float("nan"), 1e308, 10**30, -(10**30), -1, 1.5, True, False, None),
    *([], {}, "", "\0", "\ud800", "../../etc", "x" * 100_000, [[]], {"a": {}}, [1, 2, 3]),
]


@pytest.mark.parametrize(
    "name", ["schema", "session", "user", "plan", "devices", "begun", "facts", "boot", "kept"]
)
def test_value_of_wrong_type_or_range(journal: Journal, name: str) -> None:
    text = text_of(journal)
    for value in HOSTILE:
        is_right = value == {} if name in {"facts", "kept"} else isinstance(value, str) and name == "boot"
        if not is_right:
            assert is_set_aside(journal, changed(text, **{name: value})), (name, value)
    missing = json.loads(text)
    del missing[name]
    assert is_set_aside(journal, json.dumps(missing).encode())


@pytest.mark.parametrize("user", [0, -1, 2**32 - 1, 2**32, "1000", 1000.0, True])
def test_entry_of_invalid_user_is_set_aside(journal: Journal, user: object) -> None:
    assert is_set_aside(journal, changed(text_of(journal), user=user))


def test_entry_under_the_name_of_another(journal: Journal) -> None:
    text = text_of(journal)
    assert not is_set_aside(journal, text.encode())
    assert is_set_aside(journal, changed(text, session=OTHER.hex))


def test_entry_lacking_a_device_of_its_plan(journal: Journal) -> None:
    text = text_of(journal)
    known = json.loads(text)["devices"]
    key = next(iter(known))
    wrongs: list[object] = [["/dev/sda"], ["/dev/sda", 0], ["/dev/sda", -512], [7, 512], "ab"]
    for wrong in ({}, {key: known[key]}, *({**known, key: each} for each in wrongs)):
        assert is_set_aside(journal, changed(text, devices=wrong)), wrong


def mutations(text: str, chance: random.Random) -> Iterator[bytes]:
    """Damaged files: bytes changed, taken out and doubled; values at any depth replaced or removed."""
    original = text.encode()
    for _ in range(MUTATIONS // 2):
        data = bytearray(original)
        for _ in range(chance.randrange(1, 4)):
            at, length = chance.randrange(len(data)), chance.choice((1, 1, 2, 8, 64, 512))
            match chance.randrange(5):
                case 0:
                    data[at : at + length] = chance.randbytes(length)
                case 1:
                    data[at : at + length] = b"\0" * length
                case 2:
                    del data[at : at + length]
                case 3:
                    data[at:at] = data[at : at + length]
                case _:
                    del data[at:]
            data = data or bytearray(b" ")
        yield bytes(data)
    for _ in range(MUTATIONS // 2):
        values = json.loads(text)
        replace_somewhere(values, chance)
        yield json.dumps(values).encode()


def replace_somewhere(values: Any, chance: random.Random) -> None:  # noqa: ANN401 - JSON
    """Replace or remove a value at any depth."""
    keys: list[Any] = list(values) if isinstance(values, dict) else list(range(len(values)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(values[key], dict | list) and chance.random() < 0.7:
        replace_somewhere(values[key], chance)
    elif chance.random() < 0.2:
        del values[key]
    else:
        values[key] = chance.choice(HOSTILE)


@pytest.mark.long
def test_fuzzed_files_parsed_or_set_aside(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    text, chance = text_of(journal), random.Random(20261122)  # noqa: S311 - the same each time
    aside = sum(is_set_aside(journal, content) for content in mutations(text, chance))
    with capsys.disabled():
        print(f"\n  {MUTATIONS} damaged files: {aside} set aside")  # noqa: T201
    assert MUTATIONS * 0.6 < aside < MUTATIONS


def test_oversized_file_set_aside_unread(journal: Journal) -> None:
    large = text_of(journal)[:-1] + " " * (journal_module._MOST_BYTES + 1) + "}"
    assert is_set_aside(journal, large.encode())


def with_mark(mark: Mark | None, boot: str = "boot") -> tuple[JournalEntry, DiskIdentity]:
    """Return an entry of two disks, the first with a mark of its table, and that disk."""
    plain = entry()
    first, _ = (disk for _, disk in plain.plan.members())
    place = table_place(Names(SESSION).table(first.key()))
    facts = {mark_fact(place): mark.value} if mark else {}
    return replace(plain, begun=3, boot=boot, facts=facts), first


def test_begun_and_unreleased_disks_are_held() -> None:
    for mark in Mark:
        held, first = with_mark(mark)
        assert held.holds(first) is (mark is not Mark.RELEASED)
        assert not held.holds(disks(9)[8]), "a disk of nobody"
        second = [disk for _, disk in held.plan.members()][1]
        assert not held.holds(second), "which was never begun"
    never, first = with_mark(None)
    assert not never.holds(first)
    assert with_mark(None, boot="")[0].holds(first), "an older helper wrote no marks"
    assert not with_mark(None, boot="")[0].holds(disks(9)[8])
    assert not replace(with_mark(Mark.MADE)[0], begun=0).holds(first)


def test_entry_recovered_by_another_thread(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    unmade: list[JournalEntry] = []
    monkeypatch.setattr("app.helper.storage.leftovers._unmake", lambda found, *_: unmade.append(found))
    held, first = with_mark(Mark.MADE)
    journal.remove(OTHER)
    journal.write(held)
    leftovers = Leftovers(journal, cast("Any", None))
    stale = journal.entries()
    journal.write(replace(held, user=held.user + 1))
    monkeypatch.setattr(Journal, "entries", lambda _self: stale)
    leftovers.retry([first])
    assert [each.user for each in unmade] == [held.user + 1], "as it is now, not as it was listed"
    journal.remove(SESSION)
    leftovers.retry([first])
    assert leftovers.recover() == []
    assert len(unmade) == 1


def test_reasons_by_code_or_older_text(journal: Journal) -> None:
    reason = say("kept", node="/dev/sdb", reason=say("holds-no-table"), when="")
    journal.write(replace(entry(), kept={"new": reason, "old": "xfs is there"}))
    kept = json.loads(path_of(journal).read_text())["kept"]
    assert (kept["new"]["code"], kept["old"]) == ("kept", "xfs is there")
    found = journal.entry(SESSION)
    assert found is not None
    assert found.kept == {"new": reason, "old": "xfs is there"}
    assert isinstance(found.kept["new"], Message)
