"""Maintenance by root between phases of a campaign on loop devices: done, stored, told."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from app.domain.units import GIB
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from tests.disks.test_campaign import campaign, disks_table, erase, nothing_left, programs_of_root
from tests.fix_campaign import CampaignBench
from tests.fix_helper import Running

pytestmark = [
    pytest.mark.disks,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

HEAD = (
    '[workload]\nscale = 1\nclients = 2\nwarmup = 0\nduration = "2s"\n[[workload.phase]]\nname = "before"\n'
)


def phase(**keys: str) -> str:
    told = "".join(f"{name} = {value}\n" for name, value in keys.items())
    return f'[[workload.phase]]\nname = "after"\n{told}'


@pytest.mark.parametrize(
    ("filesystem", "names"),
    [
        ("btrfs", ("checkpoint", "btrfs-balance", "btrfs-scrub", "snapshot", "fstrim")),
        ("ext4", ("fstrim",)),
        ("xfs", ("fstrim", "vacuum")),
    ],
)
def test_what_root_does_before_a_phase_is_done_stored_and_told(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    filesystem: str,
    names: tuple[str, ...],
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    workload = HEAD + phase(maintenance=str(list(names)).replace("'", '"'))
    text = campaign(("x", disks_table(disk, filesystem=filesystem)), workload=workload)
    ended = campaign_bench.run(text, *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        _, after = known(run.metadata.phases, ())
        assert [(done.name, done.how) for done in after.maintenance] == [(name, "done") for name in names]
        assert all(done.duration_s > 0 for done in after.maintenance)
        assert [event.kind for event in run.events()].count("maintenance") == len(names)
        by_root = [command.argv[:2] for command in run.commands() if command.account == "root"]
        assert ("fstrim", "--verbose") in by_root
        assert ("btrfs", "balance") in by_root or filesystem != "btrfs"
        assert "fstrim" in programs_of_root(run)
    shown = campaign_bench.command("show", str(path)).stdout
    assert "after fstrim (" in " ".join(shown.split())
    assert nothing_left(disk)
