"""Scheduler and read-ahead of loop devices: set by the helper, and put back, whatever happens meanwhile."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Scheduler, StoragePlan
from app.domain.text import GIB, KIB
from tests.disks.helper_owner import Owner, client, plan_of
from tests.disks.layout_proof import leftovers
from tests.disks.test_helper_release import release, shown
from tests.fix_helper import Running, error_of, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")
BEFORE = ("mq-deadline", "256")
"""Not what the kernel gives a loop device by itself."""


def show(node: str) -> tuple[str, str]:
    """Return scheduler and read-ahead as the kernel says them."""
    folder = Path("/sys/block", Path(node).name, "queue")
    scheduler = (folder / "scheduler").read_text().partition("[")[2].partition("]")[0]
    return scheduler, (folder / "read_ahead_kb").read_text().strip()


def give(node: str, scheduler: str, read_ahead: str) -> None:
    folder = Path("/sys/block", Path(node).name, "queue")
    (folder / "scheduler").write_text(scheduler)
    (folder / "read_ahead_kb").write_text(read_ahead)


@pytest.fixture
def disks(make_loop: Callable[..., str]) -> list[str]:
    found = [make_loop(1 * GIB, partscan=True) for _ in range(2)]
    for each in found:
        give(each, *BEFORE)
    return found


def plan(*disks: str, scheduler: Scheduler | None = Scheduler.NONE, filesystem: str = "ext4") -> StoragePlan:
    level = Level.SINGLE if len(disks) == 1 else Level.STRIPE
    group = plan_of(*disks, level=level, filesystem=filesystem).data
    return StoragePlan(replace(group, scheduler=scheduler, read_ahead_bytes=512 * KIB))


def test_settings_applied_and_restored(helper: Running, disks: list[str]) -> None:
    one, other = disks
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan(*disks, filesystem="btrfs"), plan(one, scheduler=None), plan_of(other))
        for number, shown in ((0, ("none", "512")), (1, ("mq-deadline", "512")), (2, BEFORE)):
            owner.make(number)
            assert show(one if number < 2 else other) == shown
            if number == 0:
                assert show(other) == shown
                device = f"devices/{Path(one).name}p1"
                (own,) = (each for each in Path("/sys/fs/btrfs").iterdir() if (each / device).exists())
                assert (own / "bdi/read_ahead_kb").read_text().strip() == "512"
            owner.unmake()
            assert [show(each) for each in disks] == [BEFORE, BEFORE]
            assert leftovers(disks, RUN) == ["/run/pgfooting/lock"]
        owner.make()
        owner.release()
    assert [show(each) for each in disks] == [BEFORE, BEFORE]


def test_foreign_change_kept_and_reported(helper: Running, disks: list[str]) -> None:
    disk = disks[0]
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan(disk))
        owner.make()
        give(disk, "kyber", "512")
        owner.signals.clear()
        assert owner.call("Unmake") == ()
        found = []
        while (signal := owner.wait_for("Executed", "Unmade"))[0] == "Executed":
            found += [signal[5]] if "kyber" in signal[5] else []
        assert signal[2:] == ("", "", "", [])
        words = (
            "because it was changed after pgFooting had set none. It stays as it is; the previous value was "
            "mq-deadline."
        )
        assert found == [f"{disk}: scheduler is now kyber, {words}"]
        assert show(disk) == ("kyber", "256")
        owner.release()
    assert show(disk) == ("kyber", "256")


def test_unknown_scheduler_refused_before_writing(helper: Running, disks: list[str]) -> None:
    disk = disks[0]
    offered = Path("/sys/block", Path(disk).name, "queue/scheduler")
    hidden = RUN.parent / "hidden-scheduler"
    hidden.write_text("[mq-deadline] none\n")
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan(disk, scheduler=Scheduler.BFQ))
        subprocess.run(["mount", "--bind", str(hidden), str(offered)], check=True)
        try:
            owner.call("Make", "u", 0)
            _, _, code, message, hint, left = owner.wait_for("Ready", "Unmade")
        finally:
            subprocess.run(["umount", str(offered)], check=True)
        assert (code, left) == ("refused", [])
        assert f"no I/O scheduler bfq for {disk}; it has mq-deadline, none" in message
        assert "modprobe" in hint
        assert show(disk) == BEFORE
        assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]
        owner.release()


def test_killed_helper_settings_restored(installed_helper: None, disks: list[str]) -> None:
    disk = disks[0]
    for method in ("Make", "Unmake"):
        for number in (1, 2):
            running = Running()
            with client() as connection:
                owner = Owner(connection)
                owner.execute(plan(disk))
                if method == "Unmake":
                    owner.make()
                owner.call(method, *(("u", 0) if method == "Make" else ()))
                for _ in range(number):
                    while owner.wait_for("Progress")[2] != "set-queue":
                        pass
                running.kill()
            Running().end()
            assert journaled() == []
            assert show(disk) == BEFORE, (method, number)
            assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_crash_spares_renamed_disk_settings(installed_helper: None, disks: list[str]) -> None:
    disk = disks[0]
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan(disk))
        storage = Path(owner.make())
        running.kill()
    backing = Path("/sys/block", Path(disk).name, "loop/backing_file").read_text().strip()
    for folder in (storage, storage.parent / "private"):
        subprocess.run(["umount", str(folder)], check=True)
    subprocess.run(["losetup", "--detach", disk], check=True)
    subprocess.run(["losetup", "--partscan", disk, backing], check=True)
    give(
        disk, "none", "512"
    )  # what the session had set, by chance: it came anew, so that it is somebody's choice
    successor = Running()
    with client() as connection:  # it was found unmounted: a person decides
        assert release(connection, disk, shown(connection, disk)[1]) == ("wiped", "", "")
    successor.end()
    assert journaled() == []
    assert show(disk) == ("none", "512")
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_empty_settings_not_in_plan(helper: Running, disks: list[str]) -> None:
    with client() as connection:
        owner = Owner(connection)
        for wrong, field in (
            ({"read_ahead_bytes": 5 * KIB}, "plans[1].data.read_ahead_bytes"),
            ({"read_ahead_bytes": 2 * GIB}, "plans[1].data.read_ahead_bytes"),
            ({"scheduler": "../x"}, "plans[1].data.scheduler"),
        ):
            good = plan(disks[0])
            bad = StoragePlan(replace(good.data, **wrong))
            name, text = error_of(partial(owner.describe, good, bad))
            assert name == "BadPlan"
            assert field in text
