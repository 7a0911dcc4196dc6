"""Plans become commands: nothing is forced, everything is said, and all of it is undone in reverse."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Level, layout
from app.domain.storage_plan.plan import PARTITION_TYPE, Bitmap, Group, InitialSync, Role, StoragePlan
from app.domain.text import MIB
from app.storage.layout.commands import build_steps
from app.storage.layout.conditions import ArrayRuns, FactIs, NoSignature
from app.storage.layout.partitions import HOST, Names, PlannedDevice
from app.storage.layout.steps import (
    ClaimDisks,
    Command,
    ReadBack,
    Settle,
    Step,
    Wipe,
    WipeTable,
    describe,
    undo_of,
)
from tests.unit.storage.golden_files import GOLDEN
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks, plan_of, walk

FORCED = {"-f", "-F", "-ff", "-FF", "-y", "-R", "--force", "--run", "--yes", "--no-reread"}
CASES = [(spec, level) for spec in FILESYSTEMS for level in spec.levels]


def steps_of(plan: StoragePlan) -> tuple[Step, ...]:
    return build_steps(plan, devices(plan), NAMES, FOLDER)


def commands(plan: StoragePlan) -> list[Command]:
    return [step for step in walk(steps_of(plan)) if isinstance(step, Command)]


def argv_of(plan: StoragePlan, program: str) -> tuple[str, ...]:
    return next(step.argv for step in commands(plan) if step.argv[0] == program)


def test_array_names_leave_room_for_homehost() -> None:
    """From 32 characters on mdadm leaves the home host out (its super1.c)."""
    names = {NAMES.array(role) for role in Role}
    assert len(names) == len(Role)
    assert all(len(f"{HOST}:{name}") < 32 for name in names)


def test_no_golden_command_forces_anything() -> None:
    lines = [line for path in sorted(GOLDEN.iterdir()) for line in path.read_text().splitlines()]
    assert len(lines) > 5000
    for line in lines:
        words = set(line.split()) if not line.startswith("#") else set()
        assert not words & FORCED, line


@pytest.mark.parametrize("spec", FILESYSTEMS, ids=lambda spec: spec.id)
def test_signatures_marked_and_wiped(spec: FilesystemSpec) -> None:
    for level in spec.levels:
        steps = steps_of(plan_of(spec, level, {}))
        signed = [place.name for step in steps if isinstance(step, Command) for place in step.signs]
        assert len(signed) == len(set(signed))
        undo = undo_of(steps)
        wiped = {step.place for step in undo if isinstance(step, Wipe)}
        wiped |= {step.partition.table_place for step in undo if isinstance(step, WipeTable)}
        assert set(signed) == wiped, level
        for step in steps:
            if isinstance(step, Command) and step.argv[0] in {"sfdisk", "mdadm", "zpool", spec.mkfs}:
                assert step.signs, step.argv


def values_of(option: OptionSpec) -> st.SearchStrategy[OptionValue]:
    kind = option.kind
    if isinstance(kind, Toggle):
        return st.booleans()
    if isinstance(kind, Choice):
        return st.sampled_from(kind.ids)
    assert isinstance(kind, Integer)
    return st.sampled_from([kind.minimum, kind.maximum, *kind.also])


@st.composite
def plans(draw: st.DrawFn) -> StoragePlan:
    spec, level = draw(st.sampled_from(CASES))
    made = layout(level, spec.assembler(level))
    count = draw(st.integers(made.minimum_disks, made.maximum_disks or 9))
    count -= count % made.multiple_of
    chosen = draw(st.lists(st.sampled_from(spec.options), unique_by=lambda option: option.id, max_size=5))
    options = tuple((option.id, draw(values_of(option))) for option in chosen)
    group = Group(disks(count), level, spec.id, options, draw(st.sampled_from([None, 512 * MIB])))
    wal = Group((disk(10),), Level.SINGLE, draw(st.sampled_from(["ext4", "zfs"])))
    spaces = [Group((disk(at),), Level.SINGLE, draw(st.sampled_from(["xfs", "zfs"]))) for at in (12, 13)]
    return StoragePlan(
        group,
        draw(st.sampled_from([None, wal])),
        (disk(11),) if spec.id == "zfs" else (),
        draw(st.sampled_from([None, spaces[0]])),
        draw(st.sampled_from([None, spaces[1]])),
    )


@given(plans())
def test_every_plan_unforced_and_undone(plan: StoragePlan) -> None:
    steps = steps_of(plan)
    for step in walk(steps):
        if isinstance(step, Command):
            assert not FORCED & set(step.argv)
            assert "/" not in step.argv[0]
            assert all(word and "\n" not in word and "\0" not in word for word in step.argv)
    found = devices(plan)
    partitioned = [step.argv[-1] for step in steps if isinstance(step, Command) and step.argv[0] == "sfdisk"]
    assert sorted(partitioned) == sorted(device.node for device in found.values())
    nodes = {
        word for step in walk(steps) if isinstance(step, Command) for word in step.argv if "/dev/" in word
    }
    allowed = {device.node for device in found.values()} | {device.partition for device in found.values()}
    allowed |= {f"device={partition}" for partition in allowed}
    for word in nodes:
        for part in word.split(","):
            assert part in allowed or part.startswith("/dev/md/pgf-") or "/dev/" not in part


@given(plans())
def test_reverse_ends_with_table_and_release(plan: StoragePlan) -> None:
    undo = undo_of(steps_of(plan))
    tables = [step for step in undo if isinstance(step, WipeTable)]
    assert {step.partition.disk for step in tables} == {device.node for device in devices(plan).values()}
    for step in tables:
        at = undo.index(step)
        later = [each for each in undo[at + 1 :] if isinstance(each, Command | Wipe)]
        assert not any(step.partition.disk in describe(each).split() for each in later)
        before = [each for each in undo[:at] if isinstance(each, Wipe) and step.partition in each.partitions]
        assert before[-1].node == step.partition.node


@given(plans())
def test_writing_commands_name_their_disks(plan: StoragePlan) -> None:
    for step in walk(steps_of(plan)):
        if isinstance(step, Command) and step.argv[0] not in {"mount", "umount", "chattr", "btrfs", "partx"}:
            ends_only = any(isinstance(each, FactIs) for each in step.when)  # what is under way on a pool
            assert step.writes or step.claims or ends_only, step.argv


@given(plans())
def test_disks_claimed_first_results_read_back(plan: StoragePlan) -> None:
    steps = steps_of(plan)
    claim = next(step for step in steps if not isinstance(step, Settle))
    assert isinstance(claim, ClaimDisks)
    assert set(claim.disks) == {device.node for device in devices(plan).values()}
    assert isinstance(steps[-1], ReadBack)
    assert len([step for step in steps if isinstance(step, ReadBack)]) == len(plan.groups)


@pytest.mark.parametrize(("spec", "level"), CASES, ids=lambda case: getattr(case, "id", str(case)))
def test_the_same_plan_gives_the_same_commands(spec: object, level: Level) -> None:
    plan = plan_of(spec, level, {})  # type: ignore[arg-type]
    assert steps_of(plan) == steps_of(plan)
    other = Names(uuid.uuid4())
    assert build_steps(plan, devices(plan), other, FOLDER) != steps_of(plan)


def test_partitions_of_a_group_fit_smallest_disk() -> None:
    small = disk(2, 3000 * MIB + 77 * 512)
    plan = StoragePlan(Group((disk(1), small, disk(3)), Level.RAID5, "ext4"))
    scripts = [step.input for step in commands(plan) if step.argv[0] == "sfdisk"]
    assert all("start=1MiB, size=2998MiB, " in script for script in scripts)
    assert all(f"type={PARTITION_TYPE}" in script for script in scripts)


@pytest.mark.parametrize(
    ("level", "count", "expected"),
    [
        (Level.STRIPE, 2, "stride=128,stripe_width=256"),
        (Level.RAID10, 4, "stride=128,stripe_width=256"),
        (Level.RAID5, 4, "stride=128,stripe_width=384"),
        (Level.RAID6, 6, "stride=128,stripe_width=512"),
    ],
)
def test_ext4_stripes_as_in_the_reference(level: Level, count: int, expected: str) -> None:
    plan = plan_of(filesystem("ext4"), level, {}, count)
    assert expected in argv_of(plan, "mkfs.ext4")[argv_of(plan, "mkfs.ext4").index("-E") + 1]


def test_xfs_stripes_in_bytes_and_disks() -> None:
    argv = argv_of(plan_of(filesystem("xfs"), Level.RAID5, {}, 4), "mkfs.xfs")
    assert argv[argv.index("-d") + 1] == "su=524288,sw=3"


@pytest.mark.parametrize(("level", "count"), [(Level.MIRROR, 2), (Level.RAID10, 5), (Level.SINGLE, 1)])
def test_uneven_stripes_are_not_passed(level: Level, count: int) -> None:
    assert "-d" not in argv_of(plan_of(filesystem("xfs"), level, {}, count), "mkfs.xfs")


def test_md_stripe_without_bitmap_or_sync() -> None:
    plan = plan_of(filesystem("ext4"), Level.STRIPE, {})
    assert not any(word.startswith("--bitmap") for word in argv_of(plan, "mdadm"))
    assert not any("synchronise" in describe(step) for step in steps_of(plan))


def test_assume_clean_only_where_chosen() -> None:
    for level in (Level.MIRROR, Level.RAID5, Level.RAID6, Level.RAID10, Level.STRIPE):
        assert "--assume-clean" not in argv_of(plan_of(filesystem("ext4"), level, {}), "mdadm")
    plan = plan_of(filesystem("ext4"), Level.MIRROR, {})
    chosen = replace(plan.data, initial_sync=InitialSync.ASSUME_CLEAN, bitmap=Bitmap.NONE)
    argv = argv_of(StoragePlan(chosen), "mdadm")
    assert "--assume-clean" in argv
    assert "--bitmap=none" in argv


def test_disks_of_a_mirror_are_equalised() -> None:
    plan = plan_of(filesystem("ext4"), Level.MIRROR, {})
    clean = StoragePlan(replace(plan.data, initial_sync=InitialSync.ASSUME_CLEAN))
    for each, expected in ((plan, 0), (clean, 1)):
        found = [step for step in steps_of(each) if isinstance(step, Command) and step.equalises]
        assert len(found) == expected
        for step in found:
            assert step.equalises == step.signs
            assert any(isinstance(condition, ArrayRuns) for condition in step.before)


def test_array_names_with_homehost_length() -> None:
    argv = argv_of(plan_of(filesystem("ext4"), Level.MIRROR, {}), "mdadm")
    words = dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    assert len(f"{words['--homehost']}:{words['--name']}") <= 32


def test_nothing_made_over_a_signature() -> None:
    for spec, level in CASES:
        for step in steps_of(plan_of(spec, level, {})):
            if isinstance(step, Command) and (step.argv[0].startswith("mkfs") or "create" in step.argv):
                assert any(isinstance(each, NoSignature) for each in step.before), step.argv


def test_mkfs_discards_left_out_when_preconditioned() -> None:
    expected = {"ext4": "nodiscard", "xfs": "-K", "btrfs": "-K", "f2fs": "0"}
    for name, word in expected.items():
        argv = argv_of(plan_of(filesystem(name), Level.SINGLE, {"mkfs_discard": False}), f"mkfs.{name}")
        assert any(word in part.split(",") for part in argv), argv
        argv = argv_of(plan_of(filesystem(name), Level.SINGLE, {}), f"mkfs.{name}")
        assert not any(word in part.split(",") for part in argv), argv


def mounts() -> Iterator[tuple[str, ...]]:
    for spec, level in CASES:
        yield argv_of(plan_of(spec, level, {}), "mount")


def test_mount_options_nodev_nosuid_no_fstab() -> None:
    for argv in mounts():
        assert {"nodev", "nosuid"} <= set(argv[argv.index("--options") + 1].split(","))
        assert {"--internal-only", "--types", "--source", "--target"} <= set(argv)


@pytest.mark.parametrize(
    ("node", "partition"),
    [("/dev/sda", "/dev/sda1"), ("/dev/nvme0n1", "/dev/nvme0n1p1"), ("/dev/loop7", "/dev/loop7p1")],
)
def test_partition_names(node: str, partition: str) -> None:
    assert PlannedDevice(node).partition == partition
