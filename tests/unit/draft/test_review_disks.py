"""What the review says of spare disks: places, commands of root, wear, time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    DiskTarget,
    FolderTarget,
    GroupChoice,
    Script,
    Workload,
    interleaved_order,
)
from app.domain.campaign.matrix import RunOrder
from app.domain.disk_answers import DriveWear
from app.domain.io_baseline import PLANNED_SECONDS
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import InitialSync, StoragePlan
from app.domain.storage_plan.words import place_words
from app.domain.text import GIB, KIB
from app.draft.commands import LineAction
from app.draft.review import (
    WrittenVolume,
    baseline_seconds,
    make_review,
    making_seconds,
    storage_commands,
    transaction_bytes,
    wear_sentences,
    written_sentences,
)
from app.execution.baseline.measurement import storages_to_ask
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.scale import ScaleChoice
from app.postgres.settings import Machine
from app.storage.layout.disk_target import storage_plan
from tests.made_disks import SPARE

MACHINE = Machine(8 << 30, None, 4)
KEYS = tuple(disk.identity.key() for disk in SPARE)
DATA = GroupChoice(KEYS[:4], Level.RAID10, "xfs", options=(("atime", "noatime"),), partition_bytes=16 * GIB)
WAL = GroupChoice(KEYS[4:5], Level.SINGLE, "ext4", options=(("barrier", False),), partition_bytes=2 * GIB)


def plan_of(target: DiskTarget) -> StoragePlan:
    return storage_plan(target, SPARE, GIB)


def resolved(target: DiskTarget, workload: Workload | None = None, repeats: int = 3) -> ResolvedCampaign:
    configuration = Configuration("on disks", target, workload=workload or Workload())
    plan = plan_of(target)
    return ResolvedCampaign(
        Campaign("Disks", (configuration,), repeats),
        MACHINE,
        {
            "on disks": ResolvedConfiguration(
                configuration,
                CheckedTarget("", "", 32 * GIB, plan=plan),
                Installation("/opt/bin", "17.2", 17, origin="package"),
                (),
                ScaleChoice(10, 160 << 20, "small", is_contended=False),
                2,
                1 << 30,
                (),
            )
        },
    )


def test_place_names_filesystem_level_and_wal() -> None:
    words = place_words(plan_of(DiskTarget(DATA, WAL)))
    assert words == "XFS, raid10 of 4 disks\nWAL: ext4 on one disk"
    log = DiskTarget(replace(DATA, filesystem="zfs", options=()), zfs_log=KEYS[5:])
    assert place_words(plan_of(log)) == "ZFS, raid10 of 4 disks\nlog devices: 1"


def test_helper_commands_shown_ours_labelled() -> None:
    plan = plan_of(DiskTarget(DATA))
    (found,) = storage_commands(plan, {plan: ("mdadm --create", "# waits")}, SPARE)
    assert (found.action, found.text) == (LineAction.ROOT, "mdadm --create\n# waits")
    assert "by the helper" in found.comment
    (ours,) = storage_commands(plan, {}, SPARE)
    assert "(commands by pgFooting; the helper has not answered yet)" in ours.comment
    assert "mkfs.xfs" in ours.text
    assert "00000000" not in ours.text
    (gone,) = storage_commands(plan, {}, SPARE[:2])
    assert gone.text == "(a disk is missing)"


def test_root_actions_before_and_after_run() -> None:
    review = make_review(resolved(DiskTarget(DATA, WAL)), None, SPARE)
    (row,) = review.rows
    actions = [command.action for command in row.commands]
    assert actions[0] is LineAction.ROOT
    assert actions[-1] is LineAction.REMOVE
    assert "Remove the storage as root and release the disks, without zeroing" in row.commands[-1].comment
    initdb = next(command.text for command in row.commands if "initdb" in command.text)
    assert "--waldir /run/pgfooting/SESSION/wal/pg_wal" in initdb
    assert [what for what, _, _ in row.unsafe] == ["barrier"]
    assert row.removed[0].startswith("/run/pgfooting/SESSION/storage")


def test_one_run_is_told_in_the_singular() -> None:
    target = DiskTarget(DATA)
    assert make_review(resolved(target, repeats=1), None, SPARE).time.startswith("1 run, ")
    endless = Workload(duration_s=None, transactions=1000)
    texts = make_review(resolved(target, endless, repeats=1), None, SPARE).time
    assert texts == ("1 run; the time depends on TPS, because each run ends after a number of transactions.")


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0001, "less than 0.1\u00a0%"), (0.074, "7.4\u00a0%"), (1.0, "100\u00a0%"), (12.5, "1,250\u00a0%")],
)
def test_disk_share_in_words(share: float, words: str) -> None:
    """A small test disk is written more than once in a campaign."""
    written = int(share * SPARE[0].identity.size_bytes)
    target = DiskTarget(GroupChoice(KEYS[:1], Level.SINGLE, "xfs", partition_bytes=16 * GIB))
    sentences = wear_sentences(resolved(target), {"on disks": WrittenVolume(written)})
    assert any(f"{words} of its size" in sentence for sentence in sentences), sentences


def amounts(sentences: Iterable[str]) -> list[str]:
    """Return the amount and the share in the sentence on each data disk."""
    (sentence,) = [each for each in sentences if "each data disk," in each]
    return re.findall("about [\\d.]+ .iB| [\\d,.]+\u00a0%", sentence)


def test_wear_counts_copies_and_resync() -> None:
    fixed = Workload(duration_s=None, transactions=1_000_000, clients=4)
    sentences = make_review(resolved(DiskTarget(DATA), fixed), None, SPARE).written
    assert any("synchronisation" in each and "about 48 GiB" in each for each in sentences)
    # 4 million transactions of 16 kB three times, twice on four disks: half of 192 GB on each
    assert {"about 138 GiB", " 7.4\u00a0%"} <= set(amounts(sentences))
    apart = DiskTarget(
        replace(DATA, filesystem="zfs", options=()),
        replace(WAL, disks=KEYS[4:6], level=Level.MIRROR, options=()),
    )
    of_wal = " ".join(make_review(resolved(apart, fixed), None, SPARE).written)
    assert "writes about 6 GiB to each array disk" in of_wal  # 2 GiB three times, of the WAL's alone
    assert "about 89.9 GiB" in of_wal
    clean = replace(DATA, initial_sync=InitialSync.ASSUME_CLEAN)
    without = " ".join(make_review(resolved(DiskTarget(clean)), None, SPARE).written)
    assert "synchronisation" not in without
    # 160 MiB loaded with their WAL, three times, on two of four disks; the speed decides what else
    assert "parity, at least about 480 MiB" in without


def test_loading_bytes_when_speed_decides() -> None:
    """A disk is written by the load alone; 0 is never true, and the wrong direction for its wear."""
    target = DiskTarget(GroupChoice(KEYS[:1], Level.SINGLE, "xfs", partition_bytes=16 * GIB))
    for workload in (
        Workload(),
        Workload(duration_s=None, transactions=1),
        Workload(scripts=(Script(BuiltinScript.SELECT_ONLY),)),
    ):
        written = make_review(resolved(target, workload), None, SPARE).written
        assert "Loading writes about 960 MiB" in " ".join(written)
        assert "about 0 B" not in " ".join(written)
        assert "about 960 MiB" in amounts(written)


def test_tablespace_disks_counted_with_writes() -> None:
    """One of TBW tells how large a share it is: on one disk of three it must not be a third."""
    single = GroupChoice(KEYS[:1], Level.SINGLE, "xfs")
    apart = DiskTarget(
        single, tables=replace(single, disks=KEYS[1:2]), indexes=replace(single, disks=KEYS[2:3])
    )
    on_one, on_three = (
        wear_sentences(resolved(target), {"on disks": WrittenVolume(10**12)})
        for target in (DiskTarget(single), apart)
    )
    assert on_three[0] == on_one[0]
    assert (
        "The split between tables and indexes is not known beforehand. If they have "
        "separate disks, the full amount is counted for each disk"
    ) in on_three[1]
    assert not any("indexes" in sentence for sentence in on_one)
    found = replace(resolved(apart), wear={SPARE[2].identity.device_number: DriveWear(10**12, 5)})
    assert "2 of the drives do not report their wear" in " ".join(
        wear_sentences(found, {"on disks": WrittenVolume(10**12)})
    )


def wear_text(*wear: DriveWear) -> str:
    level = Level.SINGLE if len(wear) < 2 else Level.STRIPE
    target = DiskTarget(GroupChoice(KEYS[: len(wear) or 1], level, "xfs"))
    numbers = [each.identity.device_number for each in SPARE]
    found = replace(resolved(target), wear=dict(zip(numbers, wear, strict=False)))
    return " ".join(wear_sentences(found, {"on disks": WrittenVolume(10**12)}))


def test_life_share_is_an_estimate() -> None:
    found = wear_text(DriveWear(12 * 10**12, 4))
    assert "That is 0.3\u00a0% of the estimated life of" in found
    assert "The drive reports 10.9 TiB written so far" in found
    assert re.search(" 4\u00a0% .*[^t] 273 TiB", found)
    assert "data sheet" not in found


def test_little_used_drive_gives_bound() -> None:
    found = wear_text(DriveWear(10**12, 0))
    assert "That is at most 1.0\u00a0% of the estimated life of" in found
    assert re.search("less than 1\u00a0% .*(?<!about) at least 90.9 TiB", found)


def test_silent_drives_use_data_sheet() -> None:
    assert "The drive's data sheet gives its rated life (TBW)" in wear_text()
    assert "1 of the drives do not report their wear" in wear_text(DriveWear(10**12, 5), DriveWear(0, 0))


@pytest.mark.parametrize(
    ("wear", "endurance_bytes"),
    [
        (DriveWear(10**12, 1), 10**14),
        (DriveWear(10**12, 100), 10**12),
        (DriveWear(10**12, 101), None),
        (DriveWear(0, 3), None),
        (DriveWear(10**12, 0), 10**14),
    ],
)
def test_endurance_from_written_and_used(wear: DriveWear, endurance_bytes: int | None) -> None:
    assert wear.endurance_bytes == endurance_bytes
    assert wear.is_least == (wear.used_percent == 0)


@pytest.mark.parametrize(
    ("group", "seconds"),
    [
        (DATA, 5 + 16 * GIB / 200e6),
        (replace(DATA, level=Level.STRIPE), 5),
        (replace(DATA, filesystem="zfs", options=()), 5),
    ],
)
def test_time_includes_making_storage(group: GroupChoice, seconds: float) -> None:
    assert making_seconds(plan_of(DiskTarget(group))) == pytest.approx(seconds)
    assert making_seconds(None) == 0
    three = make_review(resolved(DiskTarget(group)), None, SPARE)
    one = make_review(resolved(DiskTarget(group), repeats=1), None, SPARE)
    once_s = PLANNED_SECONDS + seconds  # the storage is asked what it can do once, not for each run
    assert (three.about_s or 0) - once_s == pytest.approx(3 * ((one.about_s or 0) - once_s))


def turns(campaign: Campaign) -> str:
    measured = resolved(DiskTarget(DATA))
    (of_one,) = measured.configurations.values()
    configurations = {each.name: of_one for each in campaign.configurations}
    whole = replace(measured, campaign=campaign, configurations=configurations)
    return make_review(whole, None, SPARE).turns


def test_order_or_drawn_at_start() -> None:
    first = resolved(DiskTarget(DATA)).campaign
    one = first.configurations[0]
    both = replace(first, configurations=(one, replace(one, name="other")), repeats=2)
    assert turns(both) == (
        "Each round contains every configuration once, in a random order that is drawn "
        "at the start and recorded."
    )
    assert turns(replace(both, order=RunOrder.ALTERNATING)) == (
        f"Order: {one.name}, other, other, {one.name}"
    )
    drawn = replace(both, order_seed=3)
    names = ", ".join(run.configuration.name for run in interleaved_order(drawn))
    assert turns(drawn) == f"Random order (seed 3): {names}"
    assert turns(replace(drawn, repeats=20)).endswith(" …")
    assert turns(first) == ""


def test_storage_baseline_duration() -> None:
    target = DiskTarget(GroupChoice(KEYS[:1], Level.SINGLE, "xfs", partition_bytes=16 * GIB))
    asked = resolved(target)
    assert baseline_seconds(asked) == PLANNED_SECONDS + 5
    review = make_review(asked, None, SPARE)
    assert review.baseline == "Takes about 30 s once and writes a few GiB to each storage."
    silent = replace(asked, campaign=replace(asked.campaign, io_baseline=False))
    assert make_review(silent, None, SPARE).baseline == ""
    assert baseline_seconds(silent) == 0
    folder = ResolvedCampaign(
        Campaign("Folder", (Configuration("folder", FolderTarget()),)),
        MACHINE,
        {
            "folder": replace(
                asked.configurations["on disks"], configuration=Configuration("f", FolderTarget())
            )
        },
    )
    assert baseline_seconds(folder) == 0
    wanted = replace(folder, campaign=replace(folder.campaign, io_baseline=True))
    assert baseline_seconds(wanted) > 0


def test_configurations_on_one_storage_are_asked_once() -> None:
    target = DiskTarget(GroupChoice(KEYS[:1], Level.SINGLE, "xfs", partition_bytes=16 * GIB))
    one = resolved(target)
    both = replace(one, configurations={**one.configurations, "again": one.configurations["on disks"]})
    other = replace(target, data=replace(target.data, filesystem="ext4"))
    another = {"ext4": resolved(other).configurations["on disks"]}
    assert len(storages_to_ask(both)) == 1
    three = replace(both, configurations=both.configurations | another)
    assert len(storages_to_ask(three)) == 2


def test_rerun_limit() -> None:
    asked = resolved(DiskTarget(DATA), repeats=1)
    assert "At most" not in make_review(asked, None, SPARE).time
    asked = replace(asked, campaign=replace(asked.campaign, repeat_disturbed=4))
    texts = make_review(asked, None, SPARE).time
    assert texts.startswith("1 run, ")
    assert texts.endswith(" Up to 4 disturbed runs are repeated.")


@pytest.mark.parametrize(("page_kb", "measured_kb"), [(4, 14.4), (8, 18.9), (16, 25.9), (32, 35.1)])
def test_transaction_bytes_grow_with_page_size(page_kb: int, measured_kb: float) -> None:
    assert transaction_bytes(page_kb * KIB) == pytest.approx(measured_kb * KIB, rel=0.2)


def test_written_bytes_use_server_page_size() -> None:
    kinds = {}
    for page_kb in (8, 32):
        found = resolved(DiskTarget(DATA), Workload(transactions=1_000_000, duration_s=None, clients=10))
        (name, one), *_ = found.configurations.items()
        one = replace(one, installation=replace(one.installation, block_size=page_kb * KIB))
        kinds[page_kb] = written_sentences(replace(found, configurations={name: one}))[1]
    assert kinds == {
        8: "The transactions write about 447 GiB more.",
        32: "The transactions write about 962 GiB more.",
    }
