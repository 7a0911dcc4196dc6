"""Spare disks with rows that compress as stated, pages of any size, cold caches beside a WAL apart."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.analysis.data_set import (
    COMPRESSED_NOTHING,
    LEAST_SHARE,
    MOST_CACHED,
    OTHER_COMPRESSIBILITY,
    RATIO_TOLERANCE,
    compressed_share,
)
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.text import GIB, MIB
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.scale import data_bytes_of
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.disks.test_campaign import campaign, disks_table, erase, nothing_left, serial_of
from tests.fix_campaign import CampaignBench, campaign_text
from tests.fix_helper import Running

pytestmark = [
    pytest.mark.disks,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RATIO = 2.0


def test_rows_compress_as_stated(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    options = (
        "compress = 'off'",
        "compress = 'zstd:3'",
        "compress_force = 'zstd:3'",
        "compress_force = 'lzo'",
    )
    workload = (
        f'[workload]\nscale = 4\nclients = 2\ncompressibility = {RATIO}\nwarmup = "0s"\nduration = "2s"\n'
    )
    tables = [
        (name, disks_table(disk, filesystem="btrfs", extra=f"options = {{ {name} }}")) for name in options
    ]
    ended = campaign_bench.run(campaign(*tables, workload=workload), *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    reached: dict[str, float] = {}
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            name = str(run.values["name"])
            metadata = run.metadata
            sampled = or_none(metadata.sampled)
            assert sampled is not None
            assert sampled.ratio == pytest.approx(RATIO, rel=RATIO_TOLERANCE)
            marks = dict(run.marks())
            assert OTHER_COMPRESSIBILITY not in marks
            stored = or_none(metadata.stored)
            assert (stored is None) == (name == options[0])
            if stored is not None:
                share = compressed_share(stored)
                assert share is not None
                reached[name] = share
                assert (COMPRESSED_NOTHING in marks) == (share < LEAST_SHARE), marks
    print(f"compressed on btrfs: {reached}")  # noqa: T201 - shown with -s
    # Without force btrfs guesses from a sample whether it is worth it, and may leave such rows.
    assert reached[options[2]] > 0.9
    assert reached[options[3]] > 0.9
    assert nothing_left(disk)


def test_page_sizes_on_spare_disks(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    every_installation: tuple[Installation, ...],
) -> None:
    built = [one for one in every_installation if one.page_bytes != USUAL_PAGE_BYTES]
    if not built:
        pytest.skip("no server with other pages: python -m tests.servers builds them")
    disk = make_loop(GIB, partscan=True)
    tables = [
        (
            f"{one.page_bytes}",
            f'[configuration.postgresql]\ninstallation = "{one.bin_directory}"\n'
            + disks_table(disk, filesystem="xfs", extra='preset = "recommended"'),
        )
        for one in built
    ]
    ended = campaign_bench.run(campaign(*tables), *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    sizes = set()
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            page_bytes = int(str(run.values["name"]))
            sizes.add(page_bytes)
            facts = read_environment_facts(run.facts("before"))
            assert facts.page_bytes == page_bytes
            assert run.values["data_bytes"] == data_bytes_of(1, page_bytes)
    assert sizes == {one.page_bytes for one in built}
    assert nothing_left(disk)


def test_cold_caches_with_separate_wal(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    data, wal = (make_loop(GIB, partscan=True) for _ in range(2))
    apart = f'wal = {{data = ["{serial_of(wal)}"], filesystem = "ext4", partition_size = "600 MiB"}}'
    workload = (
        '[workload]\nscale = 4\nclients = 2\ncaches = "cold"\nduration = "2s"\nscript = "select-only"\n'
    )
    text = campaign(("cold", disks_table(data, filesystem="xfs", extra=apart)), workload=workload)
    ended = campaign_bench.run(text, *erase(data, wal))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        cached = or_none(run.metadata.cached)
        assert cached is not None
        assert cached.cached_bytes <= MOST_CACHED * cached.data_bytes
        counted = {
            device.name for device in read_environment_facts(run.facts("before")).devices if device.is_counted
        }
        assert counted == {Path(data).name, Path(wal).name}
        read = [
            instance for metric, instance in run.totals(0, 1 << 40, metrics=("device.reads",)) if instance
        ]
        assert Path(data).name in read
    assert nothing_left(data, wal)


@pytest.fixture
def small_templates(make_loop: Callable[..., str], campaign_bench: CampaignBench) -> Iterator[Path]:
    """The folder of templates, on a disk that has hardly more room than making one asks for."""
    disk = make_loop(700 * MIB)
    folder = Path(campaign_bench.environment["PGFOOTING_TEMPLATES"])
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", disk], check=True)
    subprocess.run(["mount", disk, str(folder)], check=True)
    owner = campaign_bench.target.stat()
    (folder / "lost+found").rmdir()
    os.chown(folder, owner.st_uid, owner.st_gid)
    folder.chmod(0o700)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_template_disk_reloads_with_reason(small_templates: Path, campaign_bench: CampaignBench) -> None:
    workload = 'scale = 1\nclients = 1\nwarmup = "0s"\nduration = "1s"\ndata_set = "copied"'
    running = campaign_bench.start(campaign_text(memory=True, repeats=2, workload=workload))
    running.until_phase("initdb")
    while not any(small_templates.glob("pgfooting-*/data/PG_VERSION")):
        assert running.process.poll() is None
    filling = small_templates / "of somebody else"
    with filling.open("wb") as file:
        room = os.statvfs(small_templates)
        os.posix_fallocate(file.fileno(), 0, (room.f_bavail - 64) * room.f_frsize)
    assert running.end() == 0
    assert list(small_templates.iterdir()) == [filling], "nothing is left of what could not be made"
    for path in campaign_bench.run_files():
        with RunFile(path) as run:
            data_set = or_none(run.metadata.data_set)
            assert data_set is not None
            assert data_set.state == "loaded"
            assert "Could not create a template in" in data_set.reason
            assert str(small_templates) in data_set.reason
    shown = campaign_bench.command("show", str(campaign_bench.run_files()[1])).stdout
    assert "Could not create a template in" in shown
