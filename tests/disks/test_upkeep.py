"""Work between and beside phases of a campaign on loop devices: done, stored, told, nothing left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from app.domain.text import GIB
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
    text = "".join(f"{name} = {value}\n" for name, value in keys.items())
    return f'[[workload.phase]]\nname = "after"\n{text}'


@pytest.mark.parametrize(
    ("filesystem", "names"),
    [
        ("btrfs", ("checkpoint", "btrfs-balance", "btrfs-scrub", "snapshot", "fstrim")),
        ("ext4", ("fstrim",)),
        ("xfs", ("fstrim", "vacuum")),
    ],
)
def test_upkeep_before_phase_stored_and_reported(
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


@pytest.mark.parametrize(
    ("keys", "program"),
    [
        ({"background": '"snapshot"', "every": "1"}, ("btrfs", "subvolume", "snapshot")),
        ({"background": '"scrub"'}, ("btrfs", "scrub", "start")),
        ({"background": '"pg_basebackup"'}, ()),
    ],
)
def test_upkeep_beside_phase_ends_with_it(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    keys: dict[str, str],
    program: tuple[str, ...],
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    last = '[[workload.phase]]\nname = "last"\nduration = "1s"\n'
    workload = HEAD + phase(duration='"5s"', **keys) + last
    text = campaign(("x", disks_table(disk, filesystem="btrfs")), workload=workload)
    ended = campaign_bench.run(text, *erase(disk))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        before, after, last_phase = known(run.metadata.phases, ())
        assert before.background.name == last_phase.background.name == ""
        assert f'"{after.background.name}"' == keys["background"]
        assert after.background.done >= 2
        by_root = [each.argv for each in run.commands() if each.account == "root"]
        begun = [argv for argv in by_root if program and argv[: len(program)] == program]
        assert len(begun) == (len(after.background.turns) if program else 0)
        removed = [argv for argv in by_root if argv[:3] == ("btrfs", "subvolume", "delete")]
        assert len(removed) == (len(begun) if "every" in keys else 0)
        (times,) = (each for each in run.phases() if each.name.text == "phase:2")
        assert after.background.turns[0].started_ms <= times.started_ms + 1000
        assert [event.kind for event in run.events()].count("background") == len(after.background.turns) + 1
    assert nothing_left(disk)


def test_run_killed_during_upkeep_leaves_nothing(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    workload = HEAD + phase(duration='"60s"', background='"snapshot"', every="1")
    text = campaign(("x", disks_table(disk, filesystem="btrfs")), workload=workload)
    running = campaign_bench.start(text, *erase(disk))
    running.until_second(3)
    running.process.kill()
    running.process.wait()
    deadline_s = time.monotonic() + 60
    while not nothing_left(disk) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    assert nothing_left(disk)
