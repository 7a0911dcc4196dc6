"""Maintenance by the helper on loop devices: fstrim, balance, scrub, snapshots, ended before unmaking."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from app.domain.options.raid import Level
from app.domain.text import GIB, MIB
from tests.bus.client import RemoteError
from tests.disks.helper_owner import Owner, client, plan_of
from tests.disks.layout_proof import leftovers
from tests.fix_helper import Running, as_user, error_of, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")
NOTHING_LEFT = ["/run/pgfooting/lock"]
LEFT_BY_SCRUB = Path("/var/lib/btrfs")


def fill(storage: str) -> None:
    """Write as the user, so that there is something to move and to read."""
    write = f"import os, pathlib, sys; pathlib.Path(sys.argv[1], 'x').write_bytes(os.urandom({64 * MIB}))"
    assert as_user(write, storage).returncode == 0


def is_refused_as_second(owner: Owner) -> bool:
    """Whether another maintenance is refused, or done, for the first may have ended meanwhile."""
    try:
        return bool(owner.call("Maintain", "s", "fstrim")[0] == "done")
    except RemoteError as error:
        return error.text == "maintained"


def executed(owner: Owner) -> list[str]:
    return [content[1] for name, content in owner.signals if name == "Executed"]


def test_btrfs_maintenance_leaves_nothing(helper: Running, make_loop: Callable[..., str]) -> None:
    disks = [make_loop(1 * GIB, partscan=True) for _ in range(2)]
    before = sorted(LEFT_BY_SCRUB.glob("*"))
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(*disks, level=Level.STRIPE, filesystem="btrfs"))
        storage = owner.make()
        fill(storage)
        owner.signals.clear()
        for name in ("fstrim", "btrfs-balance", "btrfs-scrub", "snapshot", "snapshot"):
            how, message, seconds = owner.call("Maintain", "s", name)
            assert (how, message[0]) == ("done", ""), (name, message)
            assert seconds > 0
        assert [line.partition(f" {storage}")[0] for line in executed(owner)] == [
            "fstrim --verbose",
            "btrfs balance start --full-balance",
            "btrfs scrub start -B",
            *(["btrfs subvolume snapshot -r"] * 2),
        ]
        first, second = sorted(Path(storage).glob("pgfooting-snapshot-*"))
        assert first.joinpath("x").stat().st_size == second.joinpath("x").stat().st_size == 64 * MIB
        with pytest.raises(OSError, match="Read-only"):
            first.joinpath("y").touch()
        Path(storage, "pgfooting-snapshot-link").touch()
        assert owner.call("Maintain", "s", "remove-snapshots")[0] == "done"
        assert [path.name for path in Path(storage).glob("pgfooting-*")] == ["pgfooting-snapshot-link"]
        for wrong in ("zpool-scrub", "zpool-trim"):
            assert error_of(partial(owner.call, "Maintain", "s", wrong)) == ("Unavailable", "no-maintenance")
        for wrong in ("checkpoint", "base-backup", "rm", f"fstrim {storage}", ""):
            assert error_of(partial(owner.call, "Maintain", "s", wrong))[0] == "Unknown"
        owner.call("EndMaintenance")  # of nothing
        assert owner.unmake()[2:] == ("", "", "", [])
        assert leftovers(disks, RUN) == NOTHING_LEFT
        assert sorted(LEFT_BY_SCRUB.glob("*")) == before
        owner.release()


@pytest.mark.parametrize("how", ["Unmake", "Release", "leaves", "dies"])
def test_running_balance_ended_before_unmake(
    installed_helper: None, make_loop: Callable[..., str], how: str
) -> None:
    disks = [make_loop(1 * GIB, partscan=True) for _ in range(2)]
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(*disks, level=Level.STRIPE, filesystem="btrfs"))
        storage = owner.make()
        fill(storage)
        answer = connection.begin("Maintain", "(ss)", owner.session, "btrfs-balance")
        owner.call("KernelLog")  # all else is answered meanwhile
        assert is_refused_as_second(owner)
        if how == "Unmake":
            assert owner.unmake()[2:] == ("", "", "", [])
            assert answer()[0] in {"ended", "done"}
            assert leftovers(disks, RUN) == NOTHING_LEFT
        elif how == "Release":
            assert owner.release()[2:] == ("", "", "", [])
        elif how == "dies":
            running.kill()
    if how == "dies":
        running = Running()
    running.end()
    assert journaled() == []
    assert leftovers(disks, RUN) == NOTHING_LEFT
    balancing = subprocess.run(["pgrep", "-f", "btrfs balance"], capture_output=True, text=True, check=False)
    assert balancing.stdout == ""


def test_free_blocks_trimmed(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(1 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk, filesystem="xfs"))
        owner.make()
        owner.signals.clear()
        assert owner.call("Maintain", "s", "fstrim")[0] == "done"
        ((_, content),) = [each for each in owner.signals if each[0] == "Executed"]
        trimmed = int(content[4].partition("(")[2].partition(" bytes")[0])
        assert 100 * MIB < trimmed <= 512 * MIB
        assert error_of(partial(owner.call, "Maintain", "s", "snapshot")) == ("Unavailable", "no-maintenance")
        owner.release()


def test_link_instead_of_snapshot_not_followed(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(1 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk, filesystem="btrfs"))
        storage = Path(owner.make())
        fill(str(storage))
        assert owner.call("Maintain", "s", "snapshot")[0] == "done"
        (snapshot,) = storage.glob("pgfooting-snapshot-*")
        kept = storage / "kept"
        make = subprocess.run(["btrfs", "subvolume", "create", str(kept)], capture_output=True, check=False)
        assert make.returncode == 0
        snapshot.rename(storage / "moved")
        snapshot.symlink_to(kept)
        assert owner.call("Maintain", "s", "remove-snapshots")[0] == "done"
        assert kept.is_dir(), "what the link names is another's"
        assert snapshot.is_symlink()
        owner.release()
