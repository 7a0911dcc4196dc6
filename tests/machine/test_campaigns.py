"""Campaigns of an ordinary user whom polkit lets: every filesystem and level runs pgbench through the helper.

Options are looked for where the kernel shows them while pgbench runs: in mountinfo and with `zfs get`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.disks.layout_proof import digest, fill
from tests.fix_campaign import server_settings_of
from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_campaigns import (
    SENTINEL,
    VIRTIO,
    Campaign,
    campaign,
    campaigns,
    erase,
    inside,
    install,
    mounted,
    nothing_left,
    start_service,
    target,
    zfs_properties,
)

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]

Start = Callable[..., Campaign]


@pytest.fixture
def start() -> Iterator[Start]:
    install()
    start_service()
    yield from campaigns()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One configuration, and what must be seen while it runs.

    Attributes:
        filesystem: its id.
        count: of disks.
        level: how they are combined.
        extra: further keys of the target.
        shown: words that mountinfo must have.
        properties: what `zfs get` must say.
        settings: of the server, that go with the filesystem.
    """

    filesystem: str
    count: int = 1
    level: str = "single"
    extra: str = ""
    shown: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        preset = self.extra.partition('preset = "')[2].partition('"')[0]
        return f"{self.filesystem} {self.level} {preset or 'defaults'}"


def preset(name: str) -> str:
    return f'preset = "{name}"'


NEW_WAL = {"wal_init_zero": "off", "wal_recycle": "off"}


def by_filesystem(
    filesystem: str, *shown: str, settings: dict[str, str] | None = None, **properties: str
) -> list[Wanted]:
    """Defaults, and what is recommended for PostgreSQL."""
    recommended = preset("recommended")
    return [
        Wanted(filesystem),
        Wanted(filesystem, extra=recommended, shown=shown, properties=properties, settings=settings or {}),
    ]


CAMPAIGNS = {
    "ext4": by_filesystem("ext4", "noatime"),
    "ext3": by_filesystem("ext3", "noatime"),
    "xfs": by_filesystem("xfs", "noatime"),
    "btrfs": by_filesystem("btrfs", "noatime", settings=NEW_WAL),
    "reiserfs": by_filesystem("reiserfs", "noatime"),
    "f2fs": by_filesystem("f2fs", "noatime", "fsync_mode=strict", "checkpoint_merge"),
    # Its own property keeps access times from being written, which mountinfo does not show (SB_NOATIME).
    "zfs": by_filesystem(
        "zfs",
        settings=NEW_WAL | {"full_page_writes": "off"},
        recordsize="32768",
        compression="lz4",
        logbias="latency",
        atime="off",
    ),
    "options": [
        Wanted(
            "ext4", extra=preset("2011-nobarrier"), shown=("nobarrier", "data=writeback", "noatime", "nodev")
        ),
        Wanted("ext4", extra=preset("2016-nobarrier-discard"), shown=("nobarrier", "discard")),
        Wanted("btrfs", extra=preset("2011-nodatacow"), shown=("nodatacow", "nodatasum")),
        Wanted(
            "zfs",
            extra=preset("2016-recordsize-logbias"),
            properties={"recordsize": "8192", "logbias": "throughput"},
        ),
        Wanted("btrfs", extra='options = {compress = "zstd:3"}', shown=("compress=zstd:3",)),
    ],
    "md-stripes": [Wanted("ext4", 2, "stripe"), Wanted("xfs", 4, "raid10")],
    "md-mirror": [Wanted("xfs", 2, "mirror")],
    "md-parity": [Wanted("f2fs", 3, "raid5"), Wanted("ext4", 4, "raid6")],
    "btrfs-levels": [Wanted("btrfs", 2, "mirror")],
    "zfs-levels": [Wanted("zfs", 3, "raid5"), Wanted("zfs", 5, "raidz3")],
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign_frees_real_disks(
    rig_disks: list[RigBlockDevice], start: Start, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, disks = CAMPAIGNS[name], rig_disks[VIRTIO]
    used = disks[: max(each.count for each in wanted)]
    before = fill(rig_disks[SENTINEL].path)
    tables = [
        (each.name, target(disks[: each.count], each.filesystem, level=each.level, extra=each.extra))
        for each in wanted
    ]
    running = start(campaign(*tables), *erase(used))
    for each in wanted:
        running.until_phase("measure")
        seen, properties = mounted()["storage"], zfs_properties()
        assert seen[0] == each.filesystem
        missing = {*each.shown, "nosuid", "nodev"} - set(seen[1].split(","))
        assert not missing, f"{each.name}: {missing} not in {seen}"
        assert {key: properties.get(key) for key in each.properties} == each.properties, each.name
        with capsys.disabled():
            shown = ", ".join(f"{key}={properties[key]}" for key in each.properties)
            print(f"\n{each.name}: {seen[1]} {shown}")  # noqa: T201 - the table of the machine tier
    assert running.end() == 0, running.said
    for each, run in zip(wanted, running.run_files(), strict=True):
        with run:
            run.check()
            assert run.values["state"] == "done", each.name
            assert run.summary()["tps"]
            chosen, in_effect = server_settings_of(run, "filesystem")
            assert chosen.items() >= each.settings.items()
            assert in_effect == chosen, each.name
            accounts = {command.account for command in run.commands()}
            assert accounts == {"root", "tester"}
    assert nothing_left(disks) == []
    assert digest(rig_disks[SENTINEL].path) == before
