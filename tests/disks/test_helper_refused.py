"""Every kind of disk that must be refused is refused by the helper itself, whatever a client says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import GIB, MIB
from app.storage.inspect.snapshot import Policy
from tests.bus.client import RemoteError
from tests.disks.helper_owner import NAME, NOBODY, SPARE, Owner, client, plan_of
from tests.disks.refused_kinds import KINDS, Kind
from tests.disks.workshop import Workshop
from tests.fix_helper import Running, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

SIZE_BYTES = 640 * MIB
NOT_STILL = ("mounted", "swap in use", "journal of a mounted")
"""Kinds of which the kernel itself may write to the disk at any time."""


@pytest.fixture(scope="module")
def served(installed_helper: None) -> Iterator[Running]:
    running = Running()
    yield running
    running.end()


@pytest.fixture
def shop(make_loop: Callable[..., str], tmp_path: Path) -> Iterator[Workshop]:
    with ExitStack() as state:
        yield Workshop(
            path=make_loop(SIZE_BYTES, partscan=True),
            folder=tmp_path,
            another=lambda: make_loop(SIZE_BYTES, partscan=True),
            policy=Policy(accept_loop_devices=True),
            stack=state,
        )


def put_into_etc(shop: Workshop) -> None:
    """What stands in a folder of the test's is put into /etc, which is the namespace's own."""
    if shop.etc is None:
        return
    for file in [path for path in shop.etc.rglob("*") if path.is_file()]:
        real = Path("/etc") / file.relative_to(shop.etc)
        saved = real.read_bytes() if real.exists() else None
        real.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, real)
        if saved is None:
            shop.stack.callback(real.unlink)
        else:
            shop.stack.callback(real.write_bytes, saved)


def sectors_written(node: str) -> int:
    os.sync()
    return int(Path("/sys/class/block", Path(node).name, "stat").read_text().split()[6])


def refusal(action: Callable[[], object]) -> str:
    """What is refused with DiskRefused; udevd and UDisks2 look at a disk for a moment after a change."""
    with pytest.raises(RemoteError) as refused:
        action()
    assert refused.value.name == f"{NAME}.Error.DiskRefused", refused.value
    return refused.value.text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_client_claim_of_spare_refused(served: Running, shop: Workshop, kind: Kind) -> None:
    plan = plan_of(shop.path)
    with client() as connection:
        owner = Owner(connection)
        described = owner.describe(plan)  # when it was still blank
        kind.make(shop)
        put_into_etc(shop)
        shop.settle()
        before = sectors_written(shop.path)
        now = current(plan, shop.path)
        for plan_id, _, texts in (described, owner.describe(now)):
            text = refusal(lambda: connection.call("Execute", "(ssu)", plan_id, texts, NOBODY))  # noqa: B023
            number = SPARE.identify(shop.path).device_number
            assert f"{number} {kind.rule} " in text or " D15 " in text, text
            if now == plan:
                assert f"{number} {kind.rule} " in text, text
        if not kind.title.startswith(NOT_STILL) and "mounted" not in kind.title:
            assert sectors_written(shop.path) == before
    assert journaled() == []


def current(plan: StoragePlan, node: str) -> StoragePlan:
    """The plan with the identity that the disk has now."""
    now = plan_of(node)
    return plan if now == plan else now


def fstab(shop: Workshop) -> None:
    text = Path("/etc/fstab").read_text() if Path("/etc/fstab").exists() else ""
    Path("/etc/fstab").write_text(f"{text}{shop.path} /srv ext4 defaults 0 2\n")
    shop.stack.callback(Path("/etc/fstab").write_text, text)


CHANGES: dict[str, Callable[[Workshop], object]] = {
    "a byte at the beginning": lambda shop: shop.write(5_000_001, b"\1"),
    "a byte at the end": lambda shop: shop.write(-1, b"\1"),
    "open": lambda shop: shop.hold(shop.path, "open"),
    "mapped": lambda shop: shop.hold(shop.path, "mapped"),
    "named by fstab": fstab,
    "read-only": lambda shop: shop.run("blockdev", "--setro", shop.path),
}


@pytest.mark.parametrize("change", CHANGES)
def test_disk_changed_after_claim_not_written(served: Running, shop: Workshop, change: str) -> None:
    record = Path("/var/lib/pgfooting/disks", f"{SPARE.identify(shop.path).key()}.json")
    record.unlink(missing_ok=True)  # of another test's disk that had the same number of a file
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(shop.path))
        CHANGES[change](shop)
        before = sectors_written(shop.path)
        owner.call("Make", "u", 0)
        name, _, code, _message, _hint, left = owner.wait_for("Ready", "Unmade")
        assert (name, code, left) == ("Unmade", "refused", [])
        assert sectors_written(shop.path) == before
        shop.run("blockdev", "--setrw", shop.path)
        assert owner.release()[2] == ""
    assert not record.exists()


def test_disk_changed_between_plans_not_written(served: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk), plan_of(disk, filesystem="xfs"))
        owner.make(0)
        owner.unmake()
        with Path(disk).open("r+b") as file:
            file.write(b"somebody's only copy")
        owner.call("Make", "u", 1)
        assert owner.wait_for("Ready", "Unmade")[:3] == ("Unmade", owner.session, "refused")
        with Path(disk).open("rb") as file:
            assert file.read(20) == b"somebody's only copy"
        owner.release()


def test_swapped_disk_under_number_refused(
    served: Running, make_loop: Callable[..., str], tmp_path: Path
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    plan = plan_of(disk)
    image = tmp_path / "other"
    with image.open("wb") as file:
        file.truncate(2 * GIB)
    mine = Path("/sys/class/block", Path(disk).name, "loop/backing_file").read_text().strip()
    with client() as connection:
        owner = Owner(connection)
        plan_id, _, described = owner.describe(plan)
        swap(disk, str(image))
        try:
            text = refusal(lambda: connection.call("Execute", "(ssu)", plan_id, described, NOBODY))
            assert " D15 " in text
            assert refusal(lambda: owner.describe(plan))
        finally:
            swap(disk, mine)


def swap(device: str, file: str) -> None:
    subprocess.run(["losetup", "--detach", device], check=True)
    deadline = time.monotonic() + 60
    while subprocess.run(["losetup", device, file], check=False, capture_output=True).returncode:
        assert time.monotonic() < deadline
        time.sleep(0.05)
