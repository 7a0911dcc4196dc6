"""Data, WAL, tables and indexes on disks of their own: real helper, disks and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.text import GIB, MIB
from app.postgres.base_backup import TARGETS_MAJOR
from app.postgres.installations.installation import Installation
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from tests.disks.test_campaign import WORKLOAD, campaign, disks_table, erase, nothing_left, serial_of
from tests.fix_campaign import CampaignBench, kill
from tests.fix_helper import Running, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]


def four_groups(data: str, wal: str, tables: str, indexes: str) -> str:
    groups = {"wal": (wal, "xfs"), "tables": (tables, "xfs"), "indexes": (indexes, "btrfs")}
    return disks_table(data) + "".join(
        f'[configuration.target.disks.{name}]\ndata = ["{serial_of(disk)}"]\nfilesystem = "{filesystem}"\n'
        'partition_size = "900 MiB"\n'
        for name, (disk, filesystem) in groups.items()
    )


def written(run: RunFile, disk: str) -> float:
    """Return bytes written to a disk while it was measured."""
    return float(run.samples("device.write_bytes", Path(disk).name)[1].sum())


def test_four_filesystems_used_and_freed(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disks = [make_loop(GIB, partscan=True) for _ in range(4)]
    ended = campaign_bench.run(campaign(("four", four_groups(*disks))), *erase(*disks))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        facts = run.facts("before")
        for name in ("wal", "tables", "indexes"):
            assert f"{name}_storage" in facts
        environment = read_environment_facts(facts)
        assert {each.name for each in environment.devices if each.is_counted} == {
            Path(disk).name for disk in disks
        }
        (load,) = (each.argv for each in run.commands() if "--initialize" in each.argv)
        assert {"--tablespace=pgfooting_tables", "--index-tablespace=pgfooting_indexes"} <= set(load)
        assert all(written(run, disk) > 0 for disk in disks), {disk: written(run, disk) for disk in disks}
        made = {each.argv[0].rpartition("/")[2] for each in run.commands() if each.account == "root"}
        assert {"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"} <= made
    assert nothing_left(*disks)


PHASES = """[workload]
scale = 1
clients = 2
warmup = 0
duration = "3s"
[[workload.phase]]
name = "backed up"
maintenance = ["fstrim"]
background = "pg_basebackup"
[[workload.phase]]
name = "with snapshots"
background = "snapshot"
every = "1"
"""


def test_maintenance_covers_all_filesystems(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    installation: Installation,
) -> None:
    if installation.major < TARGETS_MAJOR:
        pytest.skip("before PostgreSQL 15 there are no base backups of tablespaces")
    disks = [make_loop(2 * GIB, partscan=True) for _ in range(3)]
    text = disks_table(disks[0], filesystem="btrfs")
    for name, disk, filesystem in zip(("tables", "indexes"), disks[1:], ("btrfs", "xfs"), strict=True):
        text += f'[configuration.target.disks.{name}]\ndata = ["{serial_of(disk)}"]\n'
        text += f'filesystem = "{filesystem}"\npartition_size = "900 MiB"\n'
    ended = campaign_bench.run(campaign(("three", text), workload=PHASES), *erase(*disks))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        backed_up, snapped = known(run.metadata.phases, ())
        assert backed_up.background.done >= 1
        (whole,) = {each.argv for each in run.commands() if each.argv[0].endswith("pg_basebackup")}
        assert "--target=blackhole" in whole
        by_root = [each.argv for each in run.commands() if each.account == "root"]
        trimmed = [argv[-1].rpartition("/")[2] for argv in by_root if argv[0] == "fstrim"]
        assert trimmed == ["storage", "tables", "indexes"]
        made = [argv for argv in by_root if argv[:3] == ("btrfs", "subvolume", "snapshot")]
        removed = [argv for argv in by_root if argv[:3] == ("btrfs", "subvolume", "delete")]
        assert len(made) == len(removed) >= 2 * snapped.background.done >= 2
    assert nothing_left(*disks)


def bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("victim", ["runner", "helper"])
def test_relation_placement_and_recovery_after_kill(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, victim: str
) -> None:
    disks = [make_loop(GIB, partscan=True) for _ in range(4)]
    workload = WORKLOAD.replace('"5s"', '"60s"')
    running = campaign_bench.start(campaign(("four", four_groups(*disks)), workload=workload), *erase(*disks))
    running.until_phase("measure")
    running.until_second(1)
    (session,) = (path for path in Path("/run/pgfooting").iterdir() if path.is_dir())
    devices = {(session / name).stat().st_dev for name in ("storage", "wal", "tables", "indexes")}
    assert len(devices) == 4, "four filesystems"
    assert bytes_below(session / "tables/tablespace") > 12 * MIB, "100,000 accounts"
    assert 2 * MIB < bytes_below(session / "indexes/tablespace") < 6 * MIB, "their primary keys"
    assert bytes_below(session / "wal/pg_wal") >= 16 * MIB
    links = {path.resolve() for path in (session / "storage/data/pg_tblspc").iterdir()}
    assert links == {session / "tables/tablespace", session / "indexes/tablespace"}
    if victim == "runner":
        kill(running.process)
        wait_until(lambda: nothing_left(*disks))
        return
    helper.kill()
    assert running.end() == 1
    successor = Running()
    assert nothing_left(*disks)
    successor.end()
