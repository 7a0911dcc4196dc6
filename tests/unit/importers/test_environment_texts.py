"""Filesystem and settings beside results: known by their whole format, and not guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.main import main
from app.importers.formats.server_statistics import (
    is_configuration,
    is_settings,
    parse_configuration,
    parse_settings,
)
from app.importers.formats.storage_texts import StorageInfo, read_storage
from app.runfile.reader import RunFile
from tests.unit.importers.imports import DATA, bring_in, only, recorded_folder
from tests.unit.importers.made_logs import summary_text

FOREIGN = DATA / "import" / "foreign"
XFS = StorageInfo("xfs")


@pytest.mark.parametrize("name", ["F05-name-is-zfs/lsblk.txt", "F05b-name-is-zfs/pods.txt"])
def test_f05(tmp_path: Path, name: str) -> None:
    assert read_storage((FOREIGN / name).read_text()) is None
    imported = only(bring_in(tmp_path, (FOREIGN / name).parent))
    assert "filesystem" in dict(imported.missing)


LSBLK = (
    "NAME   FSTYPE FSVER LABEL UUID FSAVAIL FSUSE% MOUNTPOINTS\n"
    "sda                                           \n"
    "└─sda1 ext4   1.0         aa-b                \n"
    "sdb    xfs                bb-c    3.6T     1% /data\n"
)
DF = (
    "Filesystem     Type  1K-blocks  Used Available Use% Mounted on\n"
    "tmpfs          tmpfs       100     0       100   0% /run\n"
    "/dev/sdb       xfs         100    10        90  10% /srv/pg data\n"
)
FINDMNT = """TARGET    SOURCE   FSTYPE OPTIONS
/         overlay  overlay rw
└─/data   /dev/sdb xfs    rw,relatime
"""
PROC = "/dev/sdb /data xfs rw,relatime 0 0\nproc /proc proc rw 0 0\n"
MOUNT = "/dev/sdb on /data type xfs (rw,relatime)\nproc on /proc type proc (rw)\n"
ZFS = "NAME  PROPERTY    VALUE  SOURCE\np/d   recordsize  8K     local\np/d   type        filesystem  -\n"


@pytest.mark.parametrize(
    ("text", "options", "device"),
    [
        (LSBLK, (), ""),
        (DF, (), "/dev/sdb"),
        (FINDMNT, ("rw", "relatime"), "/dev/sdb"),
        (PROC, ("rw", "relatime"), "/dev/sdb"),
        (MOUNT, ("rw", "relatime"), "/dev/sdb"),
    ],
)
def test_tools_that_show_filesystems(text: str, options: tuple[str, ...], device: str) -> None:
    assert read_storage(text) == StorageInfo("xfs", options=options, device=device)


MDSTAT = "Personalities : [raid0]\nmd0 : active raid0 sdb1[0] sdc1[1]\n      4 blocks\n"
TRACE = "+ set -e\n+ sudo mount -o relatime {device} /mnt/data\n+ pg_ctl init\ndone\n"


@pytest.mark.parametrize(
    ("device", "level"),
    [
        ("/dev/md0", "stripe"),
        ("/dev/nvme0n1p1", ""),
        ("/dev/sdb", ""),
        ("/dev/mapper/vg-data", "stripe"),
        ("/dev/disk/by-label/data", "stripe"),
    ],
)
@pytest.mark.parametrize("text", [TRACE, "{device} on /mnt/data type xfs (rw,relatime)\n"])
def test_array_beside_the_data(tmp_path: Path, text: str, device: str, level: str) -> None:
    folder = tmp_path / "mdraid" / "0" / "xfs"
    recorded_folder(folder / "run-rw-1", "17", "tpcb")
    (folder / "mdstat.log").write_text(MDSTAT)
    (tmp_path / "mdraid" / "run.log").write_text(text.format(device=device))
    imported = only(bring_in(tmp_path / "library", tmp_path / "mdraid"))
    with RunFile(imported.path) as run:
        storage: Any = run.facts("before")["storage"]
    assert storage.get("raid", {}).get("level", "") == level


@pytest.mark.parametrize(
    "text", [TRACE.removeprefix("+ "), TRACE + "+ mount /dev/sdc /srv\n", "+ mount /srv\n"]
)
def test_traces_that_tell_no_device(text: str) -> None:
    assert read_storage(text.format(device="/dev/sdb")) is None


BTRFS = "Data, RAID0: total=4.00GiB, used=1.00GiB\nMetadata, RAID1: total=1.00GiB, used=1.00MiB\n"
MDADM = "/dev/md0:\n        Raid Level : raid5\n      Raid Devices : 6\n\nConsistency Policy : none\n"
ZPOOL = "  pool: t\n state: ONLINE\nconfig:\n\n\tNAME  STATE\n\tt     ONLINE\n\t  sdb ONLINE\nerrors: none\n"
ARRAYS = (BTRFS, MDADM, MDSTAT, ZPOOL)


@pytest.mark.parametrize("text", [LSBLK, DF, FINDMNT, PROC, MOUNT, ZFS, *ARRAYS])
@pytest.mark.parametrize("line", ["something else: xfs", "-- zfs?", "/dev/sdc ext4", "xfs zfs ext4 btrfs"])
def test_one_line_that_is_not_understood(text: str, line: str) -> None:
    assert read_storage(text) is not None
    assert read_storage(f"{text}{line}\n") is None
    assert read_storage(f"{line}\n{text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "NAME\n",
        "NAME  USED  AVAIL\nzfs  1  2\n",
        "NAME STATUS\ndb-0 recordsize 8K local\n",
        "We use xfs on /data type xfs (rw)\n",
        "Data: raid1 is what we chose\n",
        "Metadata, raid1 as well\n",
        "  Raid Level : raid5\n",
        "pool: zfs\n",
        "Filesystem Type\n/dev/sda xfs\n",
        "/dev/a on / type ext4 (rw)\n/dev/b on /mnt type xfs (rw)\n",
    ],
)
def test_words_that_look_like_a_tool(text: str) -> None:
    assert read_storage(text) is None


@given(st.text("zfsxNAME 01/-\n", max_size=80))
def test_any_text_about_zfs(text: str) -> None:
    assert read_storage(text) is None


def test_f23(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported = only(bring_in(tmp_path, FOREIGN / "F23-settings"))
    assert "unsafe" in imported.marks
    assert "server settings" not in dict(imported.missing)
    with RunFile(imported.path) as run:
        found = {(each.name, each.value) for each in run.metadata.settings}  # type: ignore[union-attr]
    assert found == {("fsync", "off"), ("full_page_writes", "off")}
    assert main(["show", str(imported.path)]) == 0
    assert "checksums" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "head",
    [
        b" name | setting \n",
        b"       name       | current_setting \n",
        b"name,setting,unit\n",
        b'"name";"setting"\n',
        b"name\tcurrent_setting\n",
        b"name|setting|description\n",
    ],
)
def test_headings_of_settings(head: bytes) -> None:
    assert is_settings(head)


@pytest.mark.parametrize(
    "text",
    [
        "postgres=# select name, setting from x;\n name  | setting \n-------+---\n fsync | off\n(1 row)\n",
        "+-------+---------+\n| name  | setting |\n+-------+---------+\n| fsync | off     |\n",
        "| name | setting |\n|---|---|\n| fsync | off |\n",
        "List of configuration parameters\n Parameter | Value \n-----------+-------\n fsync     | off\n",
    ],
)
def test_tables_as_psql_prints_them(text: str) -> None:
    assert is_settings(text.encode())
    assert parse_settings(text).chosen == (("fsync", "off"),)


@pytest.mark.parametrize("row", ["fsync,off\rx\n", f"fsync,{'x' * 200_000}\n", '"fsync,off\n'])
def test_damaged_table_is_no_mistake(tmp_path: Path, row: str) -> None:
    (tmp_path / "out.txt").write_text(summary_text(600, 10.0, seconds=60))
    (tmp_path / "settings.csv").write_bytes(f"name,setting\n{row}".encode())
    imported = only(bring_in(tmp_path / "library", tmp_path))
    assert "server settings" in dict(imported.missing)


@pytest.mark.parametrize("value", ["9" * 5000, "\u00b2", "-9", "0x10"])
def test_values_that_are_no_number(value: str) -> None:
    text = f"name,setting,unit\nshared_buffers,{value},8kB\n"
    assert parse_settings(text).values == {"shared_buffers": value}


@pytest.mark.parametrize(
    "head", [b"name|value\n", b"name | settings\n", b"username|setting\n", b"name setting\n"]
)
def test_headings_of_other_tables(head: bytes) -> None:
    assert not is_settings(head)


def test_long_table_without_source() -> None:
    rows = "".join(f"s{number}|{number}\n" for number in range(300))
    found = parse_settings(f"name|setting\n{rows}fsync|off\n")
    assert found.chosen == ()
    assert found.values["fsync"] == "off"


CONF = """# a comment
shared_buffers = 1GB   # half
fsync off
archive_command = 'cp %p ''/a b''/%f'
#work_mem = 4MB
fsync = 'off'
include_dir = 'conf.d'
"""


@pytest.mark.parametrize("name", ["postgresql.conf", "pg.txt"])
def test_f22(tmp_path: Path, name: str) -> None:
    assert is_configuration(CONF.encode())
    assert parse_configuration(CONF).values == {
        "shared_buffers": "1GB",
        "fsync": "off",
        "archive_command": "cp %p '/a b'/%f",
    }
    (tmp_path / "out.txt").write_text(summary_text(600, 10.0, seconds=60))
    (tmp_path / name).write_text(CONF)
    assert "unsafe" in only(bring_in(tmp_path / "library", tmp_path)).marks


def test_later_file_wins(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(summary_text(600, 10.0, seconds=60))
    (tmp_path / "postgresql.conf").write_text(CONF)
    (tmp_path / "postgresql.auto.conf").write_text("fsync = on\nwork_mem = '8MB'\n")
    assert "unsafe" not in only(bring_in(tmp_path / "library", tmp_path)).marks


def test_several_files_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(summary_text(600, 10.0, seconds=60))
    for name in ("postgresql-a.conf", "postgresql-b.conf"):
        (tmp_path / name).write_text(CONF)
    imported = only(bring_in(tmp_path / "library", tmp_path))
    assert "is unknown" in dict(imported.missing)["server settings"]
    assert "unsafe" not in imported.marks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "port = 5432\n",
        "vm.swappiness = 1\nfs.file-max = 10\n",
        "[global]\nfsync = 1\n",
        "fsync = 1\nrw=randwrite and more\n",
        "fsync\n",
        "We set fsync = off in the end.\n",
    ],
)
def test_texts_that_are_no_configuration(text: str) -> None:
    assert not is_configuration(text.encode())
