"""The registry of what a campaign would leave."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import FootingError, RefusedError
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.recovery import resource_journal
from app.hosts.recovery.resource_journal import (
    Owner,
    ResourceEntry,
    ResourceJournal,
    ResourceKind,
    ResourceRecord,
    UnreadableRecordError,
    entry_line,
    finished_line,
    gone_line,
    header_line,
    list_live,
    parse_record,
)
from app.process.starter import Account, current_account
from tests.unit.hosts.conftest import Records

TREE = Path(__file__).resolve().parents[3]
NAME = "pgfooting-0123456789abcdef"
LEAVING = ResourceRecord(
    record=Path("/state/campaign-1.jsonl"),
    campaign_folder="/home/joe/runs/1",
    campaign_name="Füße auf “SSD”",
    started="2025-11-20T10:00:00+01:00",
    boot="0f0e",
    account=Account("postgres", 101, 104, (104, 105), "/var/lib/postgresql"),
    runner=Account("root", 0, 0, (0,), "/root"),
)

OURS = ResourceEntry(f"/srv/{NAME}", ResourceKind.FOLDER, Owner.SERVER, FileIdentity(1, 2, 3))

entries = st.builds(
    ResourceEntry,
    path=st.from_regex(r"/[a-z \n]{1,5}/pgfooting-[0-9a-f]{16}(/[a-z]{1,3})?", fullmatch=True),
    kind=st.sampled_from(ResourceKind),
    owner=st.sampled_from(Owner),
    identity=st.none() | st.builds(FileIdentity, *[st.integers(0, 2**64 - 1)] * 3),
    volatile=st.booleans(),
)


def parsed(*lines: bytes) -> ResourceRecord:
    return parse_record(LEAVING.record, b"".join(lines))


# --- the record's text


def test_header_round_trip() -> None:
    assert parsed(header_line(LEAVING)) == LEAVING


@given(written=st.lists(entries, unique_by=lambda entry: entry.path))
def test_entries_are_read_back_in_their_order(written: list[ResourceEntry]) -> None:
    assert parsed(header_line(LEAVING), *map(entry_line, written)).entries == tuple(written)


@given(written=st.lists(entries, min_size=1, unique_by=lambda entry: entry.path), data=st.data())
def test_truncated_record_keeps_complete_lines(written: list[ResourceEntry], data: st.DataObject) -> None:
    lines = [entry_line(entry) for entry in written]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    complete = whole[:cut].count(b"\n")
    assert parsed(header_line(LEAVING), whole[:cut]).entries == tuple(written[:complete])


def test_removed_resource_is_no_entry() -> None:
    entry = ResourceEntry(f"/srv/{NAME}", ResourceKind.FOLDER, Owner.SERVER)
    assert parsed(header_line(LEAVING), entry_line(entry), gone_line(entry.path)).entries == ()


def test_a_finished_campaign_is_told() -> None:
    assert parsed(header_line(LEAVING), finished_line()).finished
    assert not parsed(header_line(LEAVING)).finished


@pytest.mark.parametrize(
    "path",
    [
        "/home/joe",
        "/",
        "relative/pgfooting-0123456789abcdef",
        f"/srv/../home/{NAME}",
        f"/srv/{NAME}/../joe",
        f"//srv/{NAME}",
        f"/srv/{NAME}/",
        f"/srv/x{NAME}",
        "/srv/pgfooting-",
        "",
    ],
)
def test_record_of_a_forbidden_folder_is_rejected(path: str) -> None:
    line = entry_line(ResourceEntry(path, ResourceKind.FOLDER, Owner.SERVER, FileIdentity(1, 2, 3)))
    with pytest.raises(UnreadableRecordError):
        parsed(header_line(LEAVING), line)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"{}\n",
        b"[]\n",
        b"1\n",
        b"null\n",
        b"not json\n",
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        header_line(LEAVING).replace(b'"format": 1', b'"format": 2'),
        header_line(LEAVING).replace(b'"uid": 101', b'"uid": "101"'),
        header_line(LEAVING).replace(b'"uid": 101', b'"uid": -1'),
        header_line(LEAVING).replace(b'"uid": 101', b'"uid": true'),
        header_line(LEAVING) + b"{}\n",
        header_line(LEAVING) + b"torn{" + gone_line("/x"),
        header_line(LEAVING) + entry_line(OURS).replace(b'"folder"', b'"file"'),
    ],
)
def test_damaged_record_is_unreadable(content: bytes) -> None:
    with pytest.raises(UnreadableRecordError):
        parse_record(LEAVING.record, content)


@given(content=st.binary(max_size=300))
def test_no_content_breaks_the_reader(content: bytes) -> None:
    with suppress(UnreadableRecordError):
        found = parse_record(LEAVING.record, header_line(LEAVING) + content)
        assert found.campaign_folder == LEAVING.campaign_folder


# --- the record's life


def on_disk(resources: ResourceJournal) -> ResourceRecord:
    return parse_record(resources.state.record, resources.state.record.read_bytes())


def test_made_folder_recorded_with_its_identity(
    resources: ResourceJournal, bench: Path, records: Records
) -> None:
    path = str(bench / NAME)
    identity = resources.make_folder(path, ResourceKind.FOLDER, records)
    found = on_disk(resources).entries
    assert found == resources.state.entries
    assert [(entry.path, entry.identity) for entry in found] == [(path, identity)]
    assert Path(path).stat().st_ino == identity.inode
    assert Path(path).stat().st_uid == resources.state.account.uid


def test_failed_creation_is_not_recorded(resources: ResourceJournal, bench: Path, records: Records) -> None:
    with pytest.raises(FileNotFoundError):
        resources.make_folder(str(bench / "missing" / NAME), ResourceKind.FOLDER, records)
    assert on_disk(resources).entries == ()


def test_announcement_synced_before_the_folder(
    resources: ResourceJournal, bench: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[ResourceEntry, ...]] = []

    def make_folder(path: str) -> FileIdentity:
        assert not Path(path).exists()
        seen.append(on_disk(resources).entries)
        return FileIdentity(1, 2, 3)

    monkeypatch.setattr("app.hosts.recovery.resource_journal.as_account", lambda *_: make_folder)
    resources.make_folder(str(bench / NAME), ResourceKind.FOLDER, records)
    assert seen == [(ResourceEntry(str(bench / NAME), ResourceKind.FOLDER, Owner.SERVER),)]


def test_empty_record_ends_with_its_campaign(resources: ResourceJournal) -> None:
    resources.close()
    assert not resources.state.record.exists()
    resources.close()


def test_a_record_with_something_left_stays(
    resources: ResourceJournal, bench: Path, records: Records
) -> None:
    resources.make_folder(str(bench / NAME), ResourceKind.FOLDER, records)
    resources.close()
    assert len(on_disk(resources).entries) == 1


def test_state_folder_writable_by_others_is_refused(state_folder: Path) -> None:
    state_folder.chmod(0o770)
    with pytest.raises(RefusedError, match="Other users could change"):
        ResourceJournal.create("/runs", "x", current_account(), state_folder=state_folder)
    assert list(state_folder.iterdir()) == []


def test_missing_state_folder(tmp_path: Path) -> None:
    with pytest.raises(FootingError, match="cannot be written"):
        ResourceJournal.create("/runs", "x", current_account(), state_folder=tmp_path / "none")


FULL_DISK = """
import json, resource, signal, sys
from pathlib import Path
from app.domain.errors import FootingError
from app.hosts.recovery.resource_journal import ResourceKind
from app.hosts.recovery.resource_journal import ResourceJournal
from app.process.starter import current_account
state, bench = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with ResourceJournal.create("/runs", "x", current_account(), state_folder=Path(state)) as resources:
    size = resources.state.record.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
    try:
        resources.make_folder(bench, ResourceKind.FOLDER, lambda outcome: None)
    except FootingError as err:
        print(json.dumps([err.message, resources.state.record.stat().st_size == size]))
"""


def test_full_disk_leaves_no_half_line(state_folder: Path, tmp_path: Path) -> None:
    """A limit on the file's size fails a write in the middle, as a full disk does."""
    made = tmp_path / NAME
    done = subprocess.run(
        (sys.executable, "-c", FULL_DISK, str(state_folder), str(made)),
        cwd=TREE,
        capture_output=True,
        text=True,
        check=True,
    )
    message, is_whole = json.loads(done.stdout)
    assert "Nothing was created" in message
    assert is_whole
    assert not made.exists()


# --- restarts


def test_restarted_container_is_another_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fields = "1 (a) b) S " + " ".join(str(number) for number in range(4, 53))
    first = tmp_path / "stat"
    monkeypatch.setattr(resource_journal, "_FIRST", first)
    first.write_text(fields, encoding="ascii")
    before = resource_journal.boot_id()
    assert before.endswith("/22")
    first.write_text(fields.replace(" 22 ", " 77 "), encoding="ascii")
    assert resource_journal.boot_id() != before
    first.unlink()
    assert resource_journal.boot_id().endswith("/")


# --- who lives


def test_only_locked_records_are_live(
    resources: ResourceJournal, state_folder: Path, bench: Path, records: Records
) -> None:
    assert [live.campaign_folder for live in list_live(state_folder)] == [resources.state.campaign_folder]
    resources.make_folder(str(bench / NAME), ResourceKind.FOLDER, records)
    resources.close()
    assert list_live(state_folder) == ()


def test_listing_living_skips_non_records(resources: ResourceJournal, state_folder: Path) -> None:
    (state_folder / "campaign-link.jsonl").symlink_to("/etc/passwd")
    (state_folder / "campaign-dir.jsonl").mkdir()
    (state_folder / "campaign-torn.jsonl").write_bytes(b"{")
    (state_folder / "campaign-torn.jsonl").chmod(0o600)
    assert len(list_live(state_folder)) == 1
