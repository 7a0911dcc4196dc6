"""Plans that were described wait for their own caller, once, and not for long; and few of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.dbus.service import Call, MethodError
from app.domain.disk import DiskIdentity
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import Level
from app.domain.storage_plan.reader import MOST_PLANS, plan_to_wire
from app.helper import service as describing
from app.helper.service import described
from app.helper.storage import pending_plans
from app.helper.storage.pending_plans import (
    LIFETIME_S,
    MOST,
    MOST_FOR_ONE,
    DescribedPlans,
    PendingPlans,
    describe_plans,
    digest_of,
    layout_steps,
)
from app.storage.layout.conditions import FactIs, MountIs, NotMounted
from app.storage.layout.partitions import PlannedDevice
from app.storage.layout.steps import Command, MakeFolder
from tests.hand_clock import Clock
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, plan_of

PLAN = plan_of(filesystem("xfs"), Level.MIRROR, {})
ANNA, ROOT = 1000, 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pending_plans, "time", clock)
    return clock


def plan(owner: str = ":1.1", user: int = ANNA) -> DescribedPlans:
    return describe_plans(owner, user, [(PLAN, devices(PLAN))])[0]


def code_of(book: PendingPlans, owner: str, plan_id: str, digest: str) -> str:
    with pytest.raises(MethodError) as caught:
        book.take(owner, plan_id, digest)
    return caught.value.code


def test_plan_taken_once_with_its_digest() -> None:
    book, mine = PendingPlans(), plan()
    book.keep(mine)
    assert not book.is_empty
    assert code_of(book, ":1.2", mine.id, mine.digest) == "Unknown"
    assert code_of(book, ":1.1", mine.id, digest_of([["other"]])) == "Unknown"
    assert code_of(book, ":1.1", "", mine.digest) == "Unknown"
    assert book.take(":1.1", mine.id, mine.digest) is mine
    assert code_of(book, ":1.1", mine.id, mine.digest) == "Unknown"
    assert book.is_empty


def test_plan_expires_after_fifteen_minutes(clock: Clock) -> None:
    book, mine = PendingPlans(), plan()
    book.keep(mine)
    clock.now_s += LIFETIME_S - 1
    assert not book.is_empty
    clock.now_s += 1
    assert code_of(book, ":1.1", mine.id, mine.digest) == "Unknown"
    assert book.is_empty


def test_what_has_expired_takes_no_place(clock: Clock) -> None:
    book = PendingPlans()
    for _ in range(MOST_FOR_ONE):
        book.keep(plan())
    with pytest.raises(MethodError):
        book.keep(plan())
    clock.now_s += LIFETIME_S
    book.keep(plan())


def is_full(book: PendingPlans, owner: str, user: int) -> bool:
    try:
        book.check(owner, user)
    except MethodError as refusal:
        assert refusal.code == "TooMany"  # noqa: PT017
        return True
    return False


def test_plans_limited_by_connection_user_and_total() -> None:
    book = PendingPlans()
    for _ in range(MOST_FOR_ONE):
        book.keep(plan(":1.9", ROOT))
    assert is_full(book, ":1.9", ROOT)
    assert not is_full(book, ":1.10", ROOT), "another connection of root's"
    for number in range(MOST_FOR_ONE):
        book.keep(plan(f":1.{number % 2}", ANNA))
    assert is_full(book, ":1.5", ANNA), "of all its connections together"
    for number in range(MOST - MOST_FOR_ONE):
        book.keep(plan(f":2.{number}", 2000 + number))
    assert is_full(book, ":1.7", 1007), "of all users but root together"
    assert not is_full(book, ":1.10", ROOT)
    book.forget(":2.0")
    assert not is_full(book, ":1.7", 1007)
    assert len(book._of(":1.9")) == MOST_FOR_ONE


def test_disk_names_are_one_printable_line() -> None:
    def name(identity: DiskIdentity) -> str:
        return pending_plans.name_of(identity)

    assert name(disk(1)) == "MODEL SERIAL1 (932 GiB)"
    assert name(replace(disk(1), serial="")) == f"MODEL {disk(1).wwn} (932 GiB)"
    assert name(replace(disk(1), serial="", wwn=None)) == "MODEL 8:16 (932 GiB)"
    assert name(replace(disk(1), model="")) == "SERIAL1 (932 GiB)"
    assert name(replace(disk(1), model="A\n\x1bB")) == "AB SERIAL1 (932 GiB)"


# --- what Describe answers


def describe(wires: Sequence[object], monkeypatch: pytest.MonkeyPatch) -> str | DescribedPlans:
    looked: list[str] = []

    def find(_disks: object, chosen: DiskIdentity) -> PlannedDevice:
        looked.append(chosen.serial)
        return PlannedDevice(f"/dev/sd{chosen.serial[-1]}")

    monkeypatch.setattr(describing, "find_device", find)
    call = Call(":1.1", "Describe", SimpleNamespace(unpack=lambda: (wires,)), interactive=False)
    try:
        found, texts = described(call, ANNA, cast("Any", None))
    except MethodError as refusal:
        assert looked == [], "no disk is looked at for what is no plan"
        return refusal.text
    assert len(looked) == len(set(looked)), "each disk is looked at once"
    assert (found.owner, found.user, found.digest) == (":1.1", ANNA, digest_of(texts))
    return found


def test_number_of_plans_to_describe(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = plan_to_wire(PLAN)
    found = describe([wire] * MOST_PLANS, monkeypatch)
    assert isinstance(found, DescribedPlans)
    assert len(found.layouts) == MOST_PLANS
    assert list(found.disks()) == ["/dev/sd1", "/dev/sd2"]
    for wires in ([], [wire] * (MOST_PLANS + 1)):
        assert describe(wires, monkeypatch) == f"plans: 1 to {MOST_PLANS}"


def test_invalid_plan_refused_with_number_and_field(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = plan_to_wire(PLAN)
    data, wal, log = wire
    bad = ((*data[:2], "nosuchfs", *data[3:]), wal, log)
    sentence = describe([wire, bad], monkeypatch)
    assert isinstance(sentence, str)
    assert sentence.startswith("plans[1].")
    assert len(str(describe([bad] * MOST_PLANS, monkeypatch))) <= describing._MOST_TEXT


@pytest.mark.parametrize(
    ("spec", "level"),
    [(spec, level) for spec in FILESYSTEMS for level in spec.levels],
    ids=lambda case: getattr(case, "id", str(case)),
)
def test_mounts_in_new_folders_unmounts_only_own(spec: FilesystemSpec, level: Level) -> None:
    plan = plan_of(spec, level, {})
    steps = layout_steps(plan, devices(plan), NAMES, FOLDER)
    first, *folders = [step.path for step in steps if isinstance(step, MakeFolder)]
    assert (first, {str(Path(each).parent) for each in folders}) == (FOLDER, {FOLDER})
    mounts = [step for step in steps if isinstance(step, Command) and step.argv[0] == "mount"]
    for step, folder in zip(mounts, folders, strict=True):
        flag, *words = step.argv[1:]
        said = dict(zip(words[::2], words[1::2], strict=True))
        assert (flag, said["--target"]) == ("--internal-only", folder)
        assert {"nodev", "nosuid"} <= set(said["--options"].split(","))
        assert NotMounted(folder) in step.before
        (mounted,) = step.after
        programs = [each.argv[0] for each in step.undo if isinstance(each, Command)]
        at = programs.index("umount")
        ended, unmount, left = step.undo[:at], step.undo[at], step.undo[at + 1 :]
        assert len(programs) == len(step.undo)
        assert isinstance(mounted, MountIs)
        for each in ended:  # what a helper that died left under way there
            assert isinstance(each, Command)
            assert FactIs in map(type, each.when)
            assert mounted in each.when
        assert isinstance(unmount, Command)
        assert (mounted.folder, said["--source"] in mounted.sources) == (folder, True)
        assert (unmount.argv, unmount.when) == (("umount", "--internal-only", folder), (mounted,))
        for each in left:  # root's own notes of it, of which the journal knows
            assert isinstance(each, Command)
            assert each.argv[:2] == ("rm", "--")
            assert all(path.startswith("/var/lib/btrfs/scrub.") for path in each.argv[2:])
            assert set(map(type, each.when)) == {FactIs}
