"""The keys of campaign files that are tried in pairs: none is forgotten, and every row is a campaign."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from app import TOP
from app.campaign_file.reader import parse_campaign
from app.postgres.installations.installation import Installation
from tests import campaign_keys
from tests.campaign_keys import Places, campaign_of
from tests.machine import disk_keys
from tests.pairs import every_pair, pairs_of, pairwise
from tests.unit.campaign_file.test_recipes import EXAMPLE, given_keys

SERIALS = [f"S{number}" for number in range(6)]
PLACES = Places(Path("/home/x/y"), Path("/home/x"), Installation("/bin", "15.1", 15))
IN_EVERY_ROW = {"name", "configuration.name"}
OF_TABLESPACES = ("target.disks.tables", "target.disks.indexes")
"""Measured and read back where they lie: tests/disks/test_tablespaces.py."""
OF_SERVERS = {"target.server.connection", "target.server.room", "target.server.ssh"}
"""Of a server that already runs: tests/postgres/test_existing_server.py."""
OF_RUNNERS = {"precision"}
"""When a sequential campaign ends, no run tells: tests/unit/execution/test_sequential_campaign.py."""


def test_example_keys_are_in_pairs_table() -> None:
    declared = {
        key
        for values in campaign_keys.declared(PLACES).values()
        for value in values.values()
        for key in value.toml
    }
    declared |= {
        f"target.disks.{key}"
        for values in disk_keys.declared(SERIALS).values()
        for value in values.values()
        for key in value.toml
    }
    tables = {key[:at] for key in declared for at, letter in enumerate(key) if letter == "."}
    free = ("postgresql.settings.", "target.disks.options.", "target.disks.wal.")
    measured = {key: value for key, value in tomllib.loads(EXAMPLE).items() if key != "recipe"}
    given = {key for key in given_keys(measured) if not key.startswith((*free, *OF_TABLESPACES))}
    assert given - declared - tables - {"target.server"} - OF_SERVERS - IN_EVERY_ROW - OF_RUNNERS == set()
    assert declared | tables >= {prefix.rstrip(".") for prefix in free}


def test_combinable_keys_make_a_campaign(tmp_path: Path) -> None:
    values = campaign_keys.declared(PLACES)
    names = {key: tuple(each) for key, each in values.items()}
    rows, impossible = pairwise(names, allowed=campaign_keys.may_be)
    assert {dict(pair)["caches"] for pair in impossible} == {"cold"}
    (tmp_path / "own.sql").write_text("SELECT 1;\n")
    for row in rows:
        campaign = parse_campaign(campaign_of({"x": row}, values), base_directory=tmp_path, source_name="x")
        assert campaign.repeats == int(row["repeats"])


@pytest.mark.long
def test_disk_key_pairs_covered_or_impossible() -> None:
    values = disk_keys.declared(SERIALS)
    rows, impossible = disk_keys.disk_rows()
    names = {key: tuple(each) for key, each in values.items()}
    assert {pair for row in rows for pair in pairs_of(row)} | impossible == every_pair(names)
    assert all(disk_keys.may_be(row, values) for row in rows)
    assert len(rows) <= 24, "each takes about 20 s on the virtual machine"
    only_md = {"chunk_size", "bitmap", "initial_sync"}
    for first, second in impossible:
        keys = {first[0], second[0]}
        found = {name for _, name in (first, second)}
        on_zfs = {"zfs", "512 MiB"} <= found or {"zfs", "512 KiB"} <= found
        assert keys & only_md or "zfs_log" in keys or on_zfs, (first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("chunk_size", "64 KiB"), ("level", "raid5")),
        (("initial_sync", "assume-clean"), ("wal", "ext4")),
        (("preset", "recommended"), ("wal", "ext4")),
        (("filesystem", "zfs"), ("zfs_log", "one")),
        (("filesystem", "btrfs"), ("memory_limit", "512 MiB")),
    ],
)
@pytest.mark.long
def test_possible_pairs_have_a_row(first: tuple[str, str], second: tuple[str, str]) -> None:
    rows, _ = disk_keys.disk_rows()
    assert any(row[first[0]] == first[1] and row[second[0]] == second[1] for row in rows)


def test_workload_key_is_in_these_files() -> None:
    """Whoever adds one adds a line to each: reader, wizard, differences and search follow from them."""
    word = re.compile(r"\blatency_limit(_ms)?\b")
    having = {path for path in (TOP / "app").rglob("*.py") if word.search(path.read_text())}
    assert {str(path.relative_to(TOP / "app")) for path in having} == {
        "domain/campaign/configuration.py",
        "campaign_file/fields.py",
        "runfile/metadata/run_metadata.py",
        "analysis/properties.py",  # which only calls it more nicely than its name
        "comparison/overall/conditions.py",  # which has a short form of its value for headings
        # what is late depends on it: it is read of what pgbench printed, and figures are made with it
        "postgres/pgbench/summary.py",
        "importers/runs/assemble.py",  # which tells configurations of others apart by it
        "runfile/metadata/offered_load.py",
        "runfile/figures.py",
        "runfile/summary.py",
    }
