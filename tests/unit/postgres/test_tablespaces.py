"""Tablespaces: what makes them, what pgbench is told, and what lies elsewhere is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import DiskTarget, GroupChoice, MemoryTarget
from app.domain.campaign.disk_target import safe_without, server_options
from app.domain.errors import CampaignError, TargetError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Role
from app.postgres.configuration_text import (
    BENCH_ROLE,
    Tablespaces,
    bench_statements,
    check_places,
    roles_of,
    tablespace_options,
)
from app.postgres.pgbench.argv import Connection, PgbenchProgram, loading_argvs

SPACES = Tablespaces(((Role.TABLES, "/t/tablespace"), (Role.INDEXES, "/i/it's")))
PGBENCH = PgbenchProgram("/bin/pgbench", 15)
ON_ZFS = GroupChoice(("S1",), Level.SINGLE, "zfs", preset="recommended")
ON_EXT4 = GroupChoice(("S2",), Level.SINGLE, "ext4")
FOUR = 'name = "x"\n[target.disks]\ndata = ["S1"]\nfilesystem = "ext4"\n' + "".join(
    f'[target.disks.{name}]\ndata = ["{name}"]\nfilesystem = "xfs"\n' for name in ("wal", "tables", "indexes")
)


def parse(text: str) -> DiskTarget:
    campaign = parse_campaign(text, base_directory="/", source_name="x")
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="x") == campaign
    target = campaign.configurations[0].target
    assert isinstance(target, DiskTarget)
    return target


def test_tablespaces_made_before_database() -> None:
    texts = [each.text for each in bench_statements(tablespaces=SPACES)]
    assert texts[1:3] == [
        f"CREATE TABLESPACE pgfooting_tables OWNER {BENCH_ROLE} LOCATION '/t/tablespace'",
        f"CREATE TABLESPACE pgfooting_indexes OWNER {BENCH_ROLE} LOCATION '/i/it''s'",
    ]
    assert texts[0].startswith("CREATE ROLE")
    assert texts[3].startswith("CREATE DATABASE")
    assert not any("TABLESPACE" in each.text for each in bench_statements())


@pytest.mark.parametrize("script", [None, "/load.sql"])
def test_every_pgbench_step_names_tablespaces(script: str | None) -> None:
    argvs = loading_argvs(PGBENCH, Connection("/s"), 1, script, (Role.TABLES, Role.INDEXES))
    words = {"--tablespace=pgfooting_tables", "--index-tablespace=pgfooting_indexes"}
    assert all(words <= set(argv) for argv in argvs if "--initialize" in argv)
    assert tablespace_options(()) == ()


def test_a_file_that_lies_elsewhere_is_found(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("data", "tables", "indexes")}
    for folder in places.values():
        folder.mkdir()
        (folder / "file").write_text("")
    (places["data"] / "link").symlink_to(places["tables"])
    spaces = Tablespaces(((Role.TABLES, str(places["tables"])), (Role.INDEXES, str(places["indexes"]))))
    data = str(places["data"])
    right = [(Role.TABLES, places["data"] / "link/file"), (Role.INDEXES, places["indexes"] / "file")]
    check_places(spaces, data, right)
    check_places(Tablespaces(), data, [(Role.TABLES, places["data"] / "file")])
    for wrong in ((Role.TABLES, places["data"] / "file"), (Role.INDEXES, places["tables"] / "file")):
        with pytest.raises(TargetError, match="(Tables|Indexes): found in"):
            check_places(spaces, data, [wrong])
    with pytest.raises(TargetError, match="(Tables|Indexes): found in"):
        check_places(Tablespaces(), data, [(Role.TABLES, places["tables"] / "file")])


def test_four_groups_with_tablespaces() -> None:
    target = parse(FOUR)
    assert target.names == ("S1", "wal", "tables", "indexes")
    assert roles_of(target) == (Role.TABLES, Role.INDEXES)
    assert roles_of(MemoryTarget()) == ()


def test_a_copied_data_set_has_no_tablespaces() -> None:
    with pytest.raises(CampaignError, match="but templates cannot contain tablespaces") as refused:
        parse(FOUR + '[workload]\ndata_set = "copied"\n')
    assert refused.value.field == "workload.data_set"


def test_base_backups_go_with_tablespaces() -> None:
    """Below PostgreSQL 15 the phase refuses them: tests/postgres/test_base_backup.py."""
    phases = '[[workload.phase]]\nname = "a"\nbackground = "pg_basebackup"\n'
    (configuration,) = parse_campaign(FOUR + phases, base_directory="/", source_name="x").configurations
    assert [phase.background for phase in configuration.workload.phases] == ["pg_basebackup"]


def test_same_disk_in_two_groups() -> None:
    with pytest.raises(CampaignError, match="selected twice"):
        parse(FOUR.replace('["tables"]', '["indexes"]'))


def test_full_page_writes_with_mixed_filesystems() -> None:
    """A setting of the server counts for all tables and indexes."""
    alone, both = DiskTarget(ON_ZFS), DiskTarget(ON_ZFS, tables=ON_EXT4)
    alike = DiskTarget(ON_ZFS, tables=GroupChoice(("S2",), Level.SINGLE, "zfs", preset="recommended"))
    assert safe_without(alone, "full_page_writes")
    assert safe_without(alike, "full_page_writes")
    assert not safe_without(both, "full_page_writes")

    def applied(target: DiskTarget) -> set[str]:
        return {each.name for each in server_options(target, {}) if not each.note}

    assert "full_page_writes" in applied(alone)
    assert "full_page_writes" in applied(alike)
    assert "full_page_writes" not in applied(both)
