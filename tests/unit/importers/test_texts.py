"""What tools and people wrote beside a run: settings, storage, machines, results, names of folders."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.importers.files.members import BadLines
from app.importers.formats.server_statistics import (
    is_pg_config,
    is_server_log,
    is_settings,
    parse_pg_config,
    parse_settings,
    server_events,
    server_version,
    zone_of,
)
from app.importers.formats.storage_texts import (
    FolderNameFacts,
    StorageInfo,
    is_results,
    parse_results,
    read_place,
    read_storage,
)
from app.importers.runs.environment import machine_facts, parse_machines

DATA = Path(__file__).resolve().parents[2] / "data"
VONDRA = DATA / "import" / "vondra-2022"
I5 = VONDRA / "i5"


def test_psql_settings_formatted_like_show() -> None:
    text = parse_settings((I5 / "20220907-mdraid/0/xfs/settings.log").read_text())
    assert dict(text.chosen) == {
        "autovacuum_vacuum_scale_factor": "0.05",
        "checkpoint_timeout": "15min",
        "full_page_writes": "on",
        "max_wal_size": "64GB",
        "shared_buffers": "1GB",
        "work_mem": "128MB",
    }
    assert text.values["server_version"] == "16devel"
    assert text.values["log_timezone"] == "Europe/Prague"


@pytest.mark.parametrize(
    ("setting", "unit", "shown"),
    [
        ("131072", "8kB", "1GB"),
        ("1", "8kB", "8kB"),
        ("32768", "4kB", "128MB"),
        ("3", "1kB", "3kB"),
        ("512", "32kB", "16MB"),
        ("1", "64kB", "64kB"),
        ("-1", "kB", "-1"),
        ("0", "ms", "0"),
        ("90", "s", "90s"),
        ("86400", "s", "1d"),
        ("0.5", "", "0.5"),
        ("65536", "MB", "64GB"),
    ],
)
def test_largest_exact_unit(setting: str, unit: str, shown: str) -> None:
    found = parse_settings(f"name,setting,unit,source\nx,{setting},{unit},configuration file\n")
    assert found.chosen == (("x", shown),)


def test_csv_settings_with_commas_and_short_rows() -> None:
    found = parse_settings('name,setting,unit,source\nsearch_path,"a, b",,user\nshort,1\n')
    assert found.values == {"search_path": "a, b"}
    assert parse_settings("other,header\n1,2\n").values == {}
    assert is_settings(b" name | setting | unit\n")
    assert not is_settings(b"nothing\n")


def test_pg_config_is_read() -> None:
    head = (I5 / "20220907-mdraid/0/xfs/pg_config.log").read_bytes()
    assert is_pg_config(head)
    assert parse_pg_config(head.decode())["VERSION"] == "PostgreSQL 16devel"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "20220903-zfs/stripe/default/zpool.log",
            StorageInfo("zfs", level="stripe", assembler="zfs", devices=6),
        ),
        (
            "20220903-zfs/stripe/default/1000/run-rw-1/zpool.status.log",  # before and after, in one file
            StorageInfo("zfs", level="stripe", assembler="zfs", devices=6),
        ),
        (
            "20220906-btrfs/raid0/default/btrfs.create.log",
            StorageInfo(
                "btrfs", level="stripe", assembler="btrfs", devices=6, detail="data raid0, metadata raid1"
            ),
        ),
        (
            "20220906-btrfs/raid0/default/1000/run-ro-1/btrfs.fs.df.log",
            StorageInfo("btrfs", level="stripe", assembler="btrfs", detail="data raid0, metadata raid1"),
        ),
        ("20220907-mdraid/0/xfs/initdb.log", None),
    ],
)
def test_recorded_texts_of_storage_tools_are_understood(path: str, expected: StorageInfo | None) -> None:
    assert read_storage((I5 / path).read_text()) == expected


def test_dataset_local_properties_kept() -> None:
    storage = read_storage((I5 / "20220903-zfs/stripe/default/zfs.log").read_text())
    assert storage is not None
    assert dict(storage.properties) == {
        "recordsize": "8K",
        "compression": "lz4",
        "atime": "off",
        "relatime": "on",
        "logbias": "latency",
        "redundant_metadata": "most",
    }


ZPOOL = "  pool: p\n state: ONLINE\nconfig:\n\n\tNAME  STATE\n\tp  ONLINE\n"


@pytest.mark.parametrize(
    ("tree", "level", "devices"),
    [
        ("\t  sda  ONLINE\n", "single", 1),
        ("\t  mirror-0  ONLINE\n\t    sda  ONLINE\n\t    sdb  ONLINE\n", "mirror", 2),
        (
            (
                "\t  mirror-0  ONLINE\n\t    a  ONLINE\n\t    b  ONLINE\n"
                "\t  mirror-1  ONLINE\n\t    c  ONLINE\n\t    d  ONLINE\n"
            ),
            "raid10",
            4,
        ),
        (
            "\t  raidz2-0  ONLINE\n\t    a  ONLINE\n\t    b  ONLINE\n\t    c  ONLINE\n\t    d  ONLINE\n",
            "raidz2",
            4,
        ),
        ("\t  a  ONLINE\n\t  b  ONLINE\n\tlogs\n\t  n  ONLINE\n", "stripe", 2),
        ("\t  a  ONLINE\n\t  mirror-1  ONLINE\n\t    b  ONLINE\n\t    c  ONLINE\n", "", 3),
    ],
)
def test_levels_of_pools(tree: str, level: str, devices: int) -> None:
    storage = read_storage(ZPOOL + tree)
    assert storage is not None
    assert (storage.level, storage.devices) == (level, devices)


@pytest.mark.parametrize("name", ["sections.txt", "stripe.txt"])
def test_recorded_pools_of_another_machine_are_understood(name: str) -> None:
    storage = read_storage((DATA / "zpool_status" / name).read_text())
    assert storage is not None
    assert storage.level == {"sections.txt": "raidz1", "stripe.txt": "stripe"}[name]


def test_mounts_and_arrays_are_understood() -> None:
    mounted = read_storage("/dev/md0 on /mnt/data type xfs (rw,relatime,attr2,logbsize=32k)\n")
    assert mounted == StorageInfo(
        "xfs", options=("rw", "relatime", "attr2", "logbsize=32k"), device="/dev/md0"
    )
    two = "/dev/a on / type ext4 (rw)\n/dev/b on /mnt type xfs (rw)\n"
    assert read_storage(two) is None  # which of them held the data is not said
    mdstat = "Personalities : [raid10]\nmd0 : active raid10 sda1[0] sdb1[1] sdc1[2] sdd1[3]\n      4 blocks\n"
    assert read_storage(mdstat) == StorageInfo(level="raid10", assembler="md", devices=4)
    mdadm = "/dev/md0:\n        Raid Level : raid5\n      Raid Devices : 6\n"
    assert read_storage(mdadm) == StorageInfo(level="raid5", assembler="md", devices=6)


def test_readme_machines_by_heading() -> None:
    machines = parse_machines((VONDRA / "README.md").read_text())
    assert machines["i5"] == {
        "processor": "i5-2500K",
        "memory": "8GB RAM",
        "storage": "6 x 100GB Intel S3700 SSD (SATA)",
        "kernel": "5.17.11",
    }
    assert set(machines) == {"i5", "xeon"}
    facts = machine_facts("xeon", machines["xeon"])
    assert facts["memory"] == {"info": {"MemTotal": 64 * 1024**3}}


def test_result_tables_with_bad_rows() -> None:
    path = I5 / "20220907-mdraid/results.csv"
    assert is_results(path.read_bytes())
    rows = parse_results(path.read_text(), "results.csv", BadLines())
    assert (rows[4].labels, rows[4].scale, rows[4].mode, rows[4].tps) == (
        ("0", "default", "xfs"),
        1000,
        "rw",
        7649.905238,
    )
    bad = BadLines()
    text = (
        "1662542438;1662546039;0;x;50;rw;1.5;2.5;7\nbroken;row\n1662542438;1662546039;0;x;50;rw;nan;2.5;7\n"
    )
    assert len(parse_results(text, "results.csv", bad)) == 1
    assert [texts.split(":")[0] for texts in bad.messages] == ["results.csv, line 2", "results.csv, line 3"]


@pytest.mark.parametrize(
    ("campaign", "inner", "expected"),
    [
        (
            ["data", "i5", "20220907-mdraid"],
            ["0", "xfs", "1000", "run-rw-2"],
            FolderNameFacts("xfs", "stripe", "md", "i5", (), "rw", 1),
        ),
        (
            ["20220906-btrfs"],
            ["raid10", "default", "1000", "run-ro-1"],
            FolderNameFacts("btrfs", "raid10", configuration=("default",), mode="ro"),
        ),
        (
            ["20220903-zfs"],
            ["raidz2", "no-fpw", "rw"],
            FolderNameFacts("zfs", "raidz2", configuration=("no-fpw",), mode="rw"),
        ),
        (
            ["results"],
            ["0", "fast"],
            FolderNameFacts(configuration=("0", "fast")),
        ),  # a number is no level by itself
        (["xfs-or-ext4"], ["run1"], FolderNameFacts()),  # two filesystems in one name tell nothing
    ],
)
def test_folder_names_with_unambiguous_meaning(
    campaign: list[str], inner: list[str], expected: FolderNameFacts
) -> None:
    assert read_place(campaign, inner, machines={"i5", "xeon"}, scale=1000) == expected


def test_server_log_events_on_statistics_clock() -> None:
    path = I5 / "20220907-mdraid/0/xfs/pg.log"
    assert is_server_log(path.read_bytes())
    assert server_version(path.read_text()) == "16devel"
    with path.open("rb") as file:
        by_offset = list(server_events(file, zone_of(7200.0, "")))
    with path.open("rb") as file:
        by_name = list(server_events(file, zone_of(None, "Europe/Prague")))
    assert by_offset == by_name
    assert by_offset[0].kind.value == "checkpoint-start"
    assert by_offset[0].epoch_s == 1662551842.358  # 2022-09-07 13:57:22.358 CEST
    with path.open("rb") as file:
        assert list(server_events(file, zone_of(None, ""))) == []  # whose CEST it is nobody knows
    with path.open("rb") as file:
        assert list(server_events(file, zone_of(None, "No/Such_Zone"))) == []


def test_utc_and_offset_times() -> None:
    lines = [
        b"2022-09-07 11:57:22.358 UTC [7] LOG:  checkpoint starting: time",
        b"2022-09-07 13:57:23 +02 [7] LOG:  checkpoint starting: xlog",
    ]
    found = list(server_events(lines, zone_of(None, "")))
    assert [event.epoch_s for event in found] == [1662551842.358, 1662551843.0]
    assert zone_of(None, "Europe/Prague")("CEST") == ZoneInfo("Europe/Prague")
