"""Keys of `[target.disks]` in pairs on the rig's disks: what was chosen is read back from each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.disks.layout_proof import digest, fill
from tests.machine.conftest import RigBlockDevice
from tests.machine.disk_keys import declared, disk_rows, table_of, what_is_wrong
from tests.machine.rig_campaigns import (
    SCSI,
    SENTINEL,
    Campaign,
    campaign,
    campaigns,
    erase,
    inside,
    install,
    nothing_left,
    serial_of,
    start_service,
)

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]

PARTS = 4
"""Campaigns that all rows are dealt out to, so that several guests can share them."""


@pytest.fixture
def start() -> Iterator[Callable[..., Campaign]]:
    install()
    start_service()
    yield from campaigns()


@pytest.mark.parametrize("part", range(PARTS))
def test_disk_key_pairs_applied_as_chosen(
    rig_disks: list[RigBlockDevice], start: Callable[..., Campaign], part: int
) -> None:
    disks = rig_disks[: SCSI + 1]
    before = fill(rig_disks[SENTINEL].path)
    values = declared([serial_of(disk) for disk in disks])
    rows = disk_rows()[0][part::PARTS]
    tables = [
        (f"row{number:02}", f"[configuration.target.disks]\n{table_of(row, values)}")
        for number, row in enumerate(rows, start=1)
    ]
    text = campaign(*tables, duration="1s")
    running = start(text, *erase([disk for disk in disks if f'"{serial_of(disk)}"' in text]))
    running.end()
    files = running.run_files()
    assert len(files) == len(rows), running.said
    red = {}
    for (name, _), row, run in zip(tables, rows, files, strict=True):
        with run:
            red[name] = what_is_wrong(run, row, values)
    assert not any(red.values()), "\n".join(
        f"{name}: {dict(row)}: {red[name]}" for (name, _), row in zip(tables, rows, strict=True) if red[name]
    )
    assert nothing_left(disks) == []
    assert digest(rig_disks[SENTINEL].path) == before
