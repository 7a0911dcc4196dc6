"""The wizard's pages about spare disks without their window: what is chosen, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.campaign_file.reader import parse_campaign
from app.domain.campaign.configuration import Campaign, Configuration, DiskTarget, GroupChoice
from app.domain.disk import DiskRefusal, InspectionReport, SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.errors import CampaignError, Problem
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Bitmap, InitialSync, Role
from app.domain.storage_plan.reader import PlanError
from app.domain.text import GIB
from app.draft.disks.filesystems import (
    OptionGroup,
    choose_filesystem,
    choose_preset,
    circumstances,
    explain_no_match,
    filesystem_cards,
    options_page,
    preset_choices,
    set_option,
    shared_obstacles,
    tried_values,
)
from app.draft.disks.layout import level_choices
from app.draft.disks.problems import group_warnings
from app.draft.disks.table import (
    FIELD,
    InspectionResult,
    StorageFacts,
    assign,
    confirm,
    confirmations,
    disk_rows,
    looking_words,
    move,
    reasons,
)
from app.draft.disks.target import read_option, read_target, write_option
from app.draft.draft import CampaignDraft, DraftFlow, Inquiry
from app.draft.fields.state import ConfigurationDraft, DisksDraft, DraftEnvironment, MadeDraft, Place, Step
from app.draft.from_campaign import parts_of
from app.draft.machine_answers import CampaignQuestion, DescribeQuestion, SupportQuestion, TargetQuestion
from app.draft.machine_answers import MachineAnswer as Answered
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.postgres.settings import Machine
from app.process.starter import current_account
from app.storage.layout.disk_target import Support
from tests.made_disks import NAMELESS, OPEN, SPARE, SYSTEM, everything_works, listing, spare_disk

MACHINE = Machine(8 << 30, None, 4)
CHECKED = CheckedTarget("/x", "", 1 << 40)
ENVIRONMENT = DraftEnvironment(
    MACHINE,
    current_account(),
    "",
    (Installation("/opt/new/bin", "17.2", 17, origin="package"),),
    folder=CHECKED,
    memory=CHECKED,
)


def keys(*disks: Disk) -> tuple[str, ...]:
    return tuple(disk.identity.key() for disk in disks)


def draft_on(count: int = 4, *, wal: int = 0, support: Support | None = None) -> CampaignDraft:
    """A draft whose only configuration lies on so many spare disks."""
    draft = CampaignDraft(environment=ENVIRONMENT)
    draft.see_disks(listing())
    draft.take(Answered(SupportQuestion(), support or everything_works()))
    for place in (Place.FOLDER, Place.MEMORY):
        draft.configuration_of(place).chosen = False
    draft.configuration_of(Place.DISKS).chosen = True
    for disk in SPARE[:count]:
        assign(draft.parts.disks, disk.identity.key(), Role.DATA)
    for disk in SPARE[count : count + wal]:
        assign(draft.parts.disks, disk.identity.key(), Role.WAL)
    return draft


def target_of(draft: CampaignDraft) -> DiskTarget:
    found = draft.built.targets[0]
    assert isinstance(found, DiskTarget)
    return found


def problem_texts(draft: CampaignDraft, step: Step) -> list[tuple[str, str]]:
    return [(each.path, each.message) for each in draft.problems_for(step) if not each.pending]


# --- the pages come and go


def test_disk_pages_only_with_spare_disks() -> None:
    draft = CampaignDraft(environment=ENVIRONMENT)
    flow = DraftFlow(draft)
    assert Step.DISKS not in flow.steps
    assert not flow.may_jump(Step.DISKS)
    draft.configuration_of(Place.DISKS).chosen = True
    assert flow.steps == tuple(Step)
    assert flow.number(Step.POSTGRESQL) == 4
    draft.configuration_of(Place.DISKS).chosen = False
    assert flow.number(Step.POSTGRESQL) == 2


def test_missing_helper_on_first_page() -> None:
    draft = draft_on()
    hint = "sudo packaging/helper install"
    draft.environment = replace(
        ENVIRONMENT, disks=Problem("target.disks", "The root helper is not installed.", hint)
    )
    (problem,) = [each for each in draft.problems_for(Step.WHERE) if not each.pending]
    assert problem == Problem("target.disks", "The root helper is not installed.", hint)
    draft.configuration_of(Place.DISKS).chosen = False
    draft.configuration_of(Place.FOLDER).chosen = True
    assert problem_texts(draft, Step.WHERE) == []


def test_capacity_not_asked_before_workload() -> None:
    draft = draft_on()
    assert not any(isinstance(each, TargetQuestion) for each in draft.questions_for(Step.FILESYSTEM))


# --- the table


def test_usable_disks_first_others_with_reason() -> None:
    rows = disk_rows(DisksDraft(), StorageFacts(listing(SYSTEM, NAMELESS, OPEN, *SPARE)))
    assert [row.disk for row in rows] == [OPEN, *SPARE, SYSTEM, NAMELESS]
    assert [row.obstacle for row in rows[:-2]] == [""] * 7
    assert rows[-2].obstacle == "mounted at /; A filesystem on it is mounted; It holds a filesystem"
    assert re.search("serial number .*WWN", rows[-1].obstacle)
    assert "8:2 mounted at /" in reasons(rows[-2])
    assert "→ Unmount it." in reasons(rows[-2])
    assert rows[0].answer == "looks spare"


def test_spare_looking_disk_not_buried() -> None:
    denied = "/dev/sdb: Permission denied"
    questions = tuple(
        DiskRefusal(
            rule, f"It cannot be told {what}.", f"disk.content: {denied}", "Only root can check this."
        )
        for rule, what in (("D08", "what lies on it"), ("D08b", "whether it is blank"))
    )
    (row,) = disk_rows(DisksDraft(), StorageFacts(listing(replace(OPEN, questions=questions))))
    assert reasons(row).splitlines()[1:] == [
        "No problem found; the root helper checks again before anything is written.",
        "Click “Ask root” for the checks that only root can do.",
    ]


def test_duplicate_reasons_merged() -> None:
    seen = ("udev: ext4", "UDisks2: ext4")
    twice = tuple(DiskRefusal("D08", "It carries a filesystem.", evidence, "Wipe it.") for evidence in seen)
    (row,) = disk_rows(DisksDraft(), StorageFacts(listing(replace(SYSTEM, refusals=twice))))
    assert reasons(row).splitlines()[1:] == [
        "D08: It carries a filesystem. udev: ext4; UDisks2: ext4",
        "    → Wipe it.",
    ]


def test_indistinguishable_disks_not_offered() -> None:
    twin = replace(SPARE[1], identity=replace(SPARE[1].identity, serial=SPARE[0].identity.serial))
    rows = disk_rows(DisksDraft(), StorageFacts(listing(SPARE[0], twin)))
    assert ["same serial number" in row.obstacle for row in rows] == [True, True]


def test_disk_numbers_and_reordering() -> None:
    disks = DisksDraft()
    for key in keys(*SPARE[:3]):
        assign(disks, key, Role.DATA)
    assign(disks, SPARE[3].identity.key(), Role.WAL)
    uses = {row.key: row.use for row in disk_rows(disks, StorageFacts(listing()))}
    assert [uses[key] for key in keys(*SPARE[:5])] == ["data 1", "data 2", "data 3", "WAL 1", ""]
    assert move(disks, SPARE[2].identity.key(), -1)
    assert disks.data.disks == list(keys(SPARE[0], SPARE[2], SPARE[1]))
    assert not move(disks, SPARE[0].identity.key(), -1)
    assert not move(disks, "nobody", 1)
    assign(disks, SPARE[0].identity.key(), Role.ZFS_LOG)
    assert (disks.data.disks, disks.zfs_log) == (list(keys(SPARE[2], SPARE[1])), list(keys(SPARE[0])))
    assign(disks, SPARE[0].identity.key(), None)
    assert disks.zfs_log == []


def test_pulled_disk_stays_and_blocks() -> None:
    draft = draft_on(2)
    assert problem_texts(draft, Step.DISKS) == []
    draft.see_disks(listing(SYSTEM, SPARE[0]))
    (problem,) = problem_texts(draft, Step.DISKS)
    assert problem[0] == "target.disks.data"
    assert SPARE[1].identity.key() in problem[1]
    assert "missing" in problem[1]
    first = disk_rows(draft.parts.disks, draft.storage)[0]
    assert (first.disk, first.use, first.answer) == (None, "data 2", "gone")
    draft.see_disks(listing())
    assert problem_texts(draft, Step.DISKS) == []


def test_disk_mounted_meanwhile_blocks_with_reason() -> None:
    draft = draft_on(1)
    used = replace(SPARE[0], answer=SpareAnswer.NOT_SPARE, held_by=("mounted at /mnt",))
    draft.see_disks(listing(used, *SPARE[1:]))
    assert "mounted at /mnt" in problem_texts(draft, Step.DISKS)[0][1]


def test_root_answer_valid_until_disk_changes() -> None:
    facts = StorageFacts(listing(OPEN))
    refusal = DiskRefusal("D13", "Old data lies in its middle.", "at 1 TiB")
    asked = replace(facts, inspected={OPEN.name: InspectionResult(OPEN, SpareAnswer.NOT_SPARE, (refusal,))})
    assert asked.disks[0].answer is SpareAnswer.NOT_SPARE
    assert asked.disks[0].refusals == (refusal,)
    changed = replace(OPEN, read_only=True)
    assert replace(asked, listing=listing(changed)).disks[0].answer is SpareAnswer.LOOKS_SPARE


READ = InspectionReport(16 << 20, 4000, 65536, 2 << 30, read_s=1.8e9)
LEFT = InspectionReport(16 << 20, 0, 65536, 2 << 30, released_s=1.8e9)
SAMPLED = InspectionReport(16 << 20, 4000, 65536, 2 << 30)


@pytest.mark.parametrize(
    ("looked", "reason", "words", "can_be_read"),
    [
        (SAMPLED, "all samples are zero", "Smaller or sparser data may go undetected", True),
        (READ, "every byte was read and is zero", "Every byte was read on", False),
        (LEFT, "unchanged since pgFooting released it", "the kernel has counted no write", False),
    ],
    ids=["sampled", "read", "left"],
)
def test_spare_disk_names_checks(
    looked: InspectionReport, reason: str, words: str, *, can_be_read: bool
) -> None:
    facts = StorageFacts(
        listing(OPEN), inspected={OPEN.name: InspectionResult(OPEN, SpareAnswer.SPARE, (), looked)}
    )
    (row,) = disk_rows(DisksDraft(), facts)
    assert (row.reason, row.can_be_read) == (reason, can_be_read)
    assert words in reasons(row)
    assert "blank" not in reasons(row)


def test_review_names_checks_per_disk() -> None:
    draft = draft_on(2)
    sentence = looking_words(draft.parts, draft.storage)
    assert "Before writing, the root helper checks both ends" in sentence
    assert "\n" not in sentence, "the disks are alike"
    known = replace(SPARE[1], looked=READ)
    draft.see_disks(listing(SPARE[0], known))
    first, second = looking_words(draft.parts, draft.storage).splitlines()
    assert first.startswith(f"{SPARE[0].identity.serial}: Before")
    assert second.startswith(f"{SPARE[1].identity.serial}: Every byte was read")


def test_mismatched_disks_refused_or_warned() -> None:
    draft = draft_on(2)
    large, coarse = spare_disk(2, size_bytes=4 * 10**12), replace(SPARE[1], logical_block_bytes=4096)
    draft.see_disks(listing(SPARE[0], large))
    assert "differ in size" in group_warnings(draft.parts.disks, draft.storage, Role.DATA)[0]
    assert problem_texts(draft, Step.DISKS) == []
    draft.see_disks(listing(SPARE[0], coarse))
    assert "The disks have different block sizes" in problem_texts(draft, Step.DISKS)[0][1]


# --- levels


def test_level_follows_disk_count_until_chosen() -> None:
    levels = [target_of(draft_on(count)).data.level for count in (1, 2, 3, 4, 5)]
    assert levels == [Level.SINGLE, Level.MIRROR, Level.MIRROR, Level.RAID10, Level.RAID10]
    draft = draft_on(4)
    draft.parts.disks.data.made.level = Level.RAID5
    assert target_of(draft).data.level is Level.RAID5


def test_level_requirements_capacity_and_redundancy() -> None:
    draft = draft_on(4)
    choices = {each.level: each for each in level_choices(draft.parts.disks.data, MadeDraft(), draft.storage)}
    assert choices[Level.RAID10].label == "Striped mirrors (RAID 10): 3.64 TiB usable"
    assert "any 1 disk" in choices[Level.RAID10].facts
    assert "any 2 disks" in choices[Level.RAID6].facts
    assert "takes one disk, not 4" in choices[Level.SINGLE].obstacle
    assert "at least 5 disks" in choices[Level.RAIDZ3].obstacle
    assert choices[Level.RAIDZ3].words == "Only ZFS."


def test_unsupported_level_points_to_filesystem_page() -> None:
    draft = draft_on(6)
    draft.parts.disks.data.made.level = Level.RAIDZ3
    assert problem_texts(draft, Step.DISKS) == []
    assert [field for field, _ in problem_texts(draft, Step.FILESYSTEM)] == ["target.disks.filesystem"]
    choose_filesystem(draft.parts.disks.data.made, "zfs")
    assert problem_texts(draft, Step.FILESYSTEM) == []
    assert target_of(draft).data.level is Level.RAIDZ3


def test_too_few_disks_on_disk_page() -> None:
    draft = draft_on(2)
    draft.parts.disks.data.made.level = Level.RAID5
    (problem,) = problem_texts(draft, Step.DISKS)
    assert problem[0] == "target.disks.data"
    assert "at least 3 disks" in problem[1]


def test_log_devices_without_zfs_on_filesystem_page() -> None:
    draft = draft_on(2)
    assign(draft.parts.disks, SPARE[5].identity.key(), Role.ZFS_LOG)
    assert "log devices" in problem_texts(draft, Step.FILESYSTEM)[0][1]
    choose_filesystem(draft.parts.disks.data.made, "zfs")
    assert target_of(draft).zfs_log == keys(SPARE[5])


# --- the drawing


def test_drawing_has_text_alternative() -> None:
    data, wal = draft_on(4, wal=1).drawing()
    assert data.words == (
        "Data directory on data 1 Samsung SSD 990 PRO 2TB …001X · 1.82 TiB, data 2 Samsung SSD 990 PRO 2TB "
        "…002X · 1.82 TiB, data 3 Samsung SSD 990 PRO 2TB …003X · 1.82 TiB, data 4 Samsung SSD 990 PRO 2TB "
        "…004X · 1.82 TiB: md array, raid10; ext4; 32 GiB usable, survives the loss of any 1 disk; "
        "partitions of 16 GiB each, not whole disks."
    )
    assert wal.partitions == "partition of 16 GiB, not the whole disk"
    assert data.pairs
    assert (data.disks[0].partition, wal.title, wal.array) == ("16 GiB", "WAL (pg_wal)", "")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_disk_choices_drawn_and_built_or_explained(data: st.DataObject) -> None:
    draft = draft_on(0)
    disks = draft.parts.disks
    for disk in (*SPARE, OPEN, SYSTEM):
        assign(disks, disk.identity.key(), data.draw(st.sampled_from((None, *Role))))
    names = [each.id for each in FILESYSTEMS if each.levels]
    for group in (disks.data, disks.tables):
        group.made.level = data.draw(st.sampled_from((None, *Level)))
        group.made.filesystem = data.draw(st.sampled_from(names))
    sizes = st.sampled_from(("", "32 GiB", "1 byte", "99 TiB", "whole"))
    disks.data.texts["partition_size"] = data.draw(sizes)
    if data.draw(st.booleans()):
        draft.see_disks(listing(*data.draw(st.lists(st.sampled_from((*SPARE, OPEN, SYSTEM)), unique=True))))
    drawn = draft.drawing()
    assert len(drawn) == sum(bool(each.disks) for each in disks.groups.values()) + bool(disks.zfs_log)
    assert all(group.words for group in drawn)
    built = read_target(disks)
    assert (built.target is None) == bool(built.problems)
    if built.target is None:
        assert problem_texts(draft, Step.DISKS) or problem_texts(draft, Step.FILESYSTEM)
    else:
        assert DiskTarget is type(built.target)


# --- filesystem and options


def test_unavailable_filesystem_reason_and_packages() -> None:
    bare = Support("6.1.0-cloud", frozenset({"ext4"}), programs={"mkfs.ext4": "/usr/sbin/mkfs.ext4"})
    draft = draft_on(1, support=bare)
    group = draft.parts.disks.data
    cards = {each.id: each for each in filesystem_cards(group, group.made, draft.storage)}
    assert any("zfsutils-linux" in obstacle for obstacle in cards["zfs"].obstacles)
    assert "tmpfs" not in cards
    choose_filesystem(group.made, "zfs")
    assert all(field == "target.disks.filesystem" for field, _ in problem_texts(draft, Step.FILESYSTEM))
    assert any("zfsutils-linux" in message for _, message in problem_texts(draft, Step.FILESYSTEM))
    several = [each for each in shared_obstacles(tuple(cards.values())) if "XFS" in each and "ZFS" in each]
    assert several  # what speaks against many is told once


def test_waits_for_machine_capabilities() -> None:
    draft = CampaignDraft(environment=ENVIRONMENT)
    draft.configuration_of(Place.DISKS).chosen = True
    pending = [each.pending for each in draft.problems_for(Step.FILESYSTEM)]
    assert True in pending
    assert draft.questions_for(Step.FILESYSTEM)


@pytest.mark.parametrize("spec", [each for each in FILESYSTEMS if each.levels], ids=lambda spec: spec.id)
def test_every_filesystem_option_described(spec: FilesystemSpec) -> None:
    made = MadeDraft(filesystem=spec.id)
    draft = draft_on(4)
    page = options_page(made, circumstances(draft.parts.disks, draft.storage, {}, made=made))
    declared = filesystem(made.filesystem).options
    assert [row.option for row in page.rows] == list(declared)
    for row in page.rows:
        assert (row.text, row.is_own, row.wrong) == ("", False, ())
        if isinstance(row.option.kind, Toggle | Choice):
            assert len(row.values) > 1
        assert row.default
    in_presets = {item.option for preset in filesystem(made.filesystem).presets for item in preset.choices}
    for row in page.rows:
        if row.option.id in in_presets and row.part is not OptionGroup.SERVER:
            assert row.part is OptionGroup.MATTERS


@pytest.mark.parametrize("spec", [each for each in FILESYSTEMS if each.levels], ids=lambda spec: spec.id)
def test_option_values_round_trip_as_text(spec: FilesystemSpec) -> None:
    for option in spec.options:
        values: tuple[OptionValue, ...]
        match option.kind:
            case Toggle():
                values = (True, False)
            case Choice():
                values = option.kind.ids
            case Integer() as kind:
                middle = kind.minimum * (2 if kind.power_of_two else 1)
                values = tuple(v for v in (kind.minimum, kind.maximum, middle, *kind.also) if kind.accepts(v))
        for value in values:
            assert read_option(option, write_option(option, value)) == value


def test_defaults_omitted_preset_resets_options() -> None:
    made = MadeDraft(filesystem="ext4")
    option = filesystem("ext4").option("barrier")
    set_option(made, option, "true")
    assert made.typed == {}
    set_option(made, option, "false")
    assert made.typed == {"barrier": "false"}
    choose_preset(made, "2011-nobarrier")
    assert made.typed == {}
    set_option(made, option, "true")  # against the preset
    assert made.typed == {"barrier": "true"}
    choose_filesystem(made, "xfs")
    assert (made.preset, made.typed) == ("defaults", {})
    choose_filesystem(made, "ext4")
    assert (made.preset, made.typed) == ("2011-nobarrier", {"barrier": "true"})


def test_options_override_preset_with_types() -> None:
    draft = draft_on(4)
    made = draft.parts.disks.data.made
    choose_filesystem(made, "zfs")
    choose_preset(made, "2022")
    made.typed.update(recordsize="8 KiB", logbias="throughput", autotrim="on")
    data = target_of(draft).data
    assert (data.filesystem, data.preset) == ("zfs", "2022")
    assert dict(data.options) == {"recordsize": 8192, "logbias": "throughput", "autotrim": True}


def typed_in(lines: str) -> dict[str, str]:
    """Return what is typed for each option, from lines such as ``commit = 5``."""
    return {name: text for name, _, text in (line.partition(" = ") for line in lines.splitlines())}


@pytest.mark.parametrize(
    ("filesystem_id", "lines", "field", "says"),
    [
        ("ext4", "commit = soon", "options.commit", "“soon” is not allowed. Allowed: 1 s to 3600 s"),
        ("ext4", "commit = ", "options.commit", "An empty text"),
        ("ext4", "nobarrier = true", "options.nobarrier", "barrier = false"),
        ("ext4", "bariers = true", "options.bariers", "Did you mean “barrier”?"),
        ("ext4", "journal = false\ndata = writeback", "options.data", "Without a journal"),
        ("xfs", "barrier = false", "options.barrier", "nobarrier” was removed in Linux 4.19"),
        ("zfs", "recordsize = 3 KiB", "options.recordsize", "power of two"),
    ],
)
def test_option_errors_at_the_option(filesystem_id: str, lines: str, field: str, says: str) -> None:
    draft = draft_on(4)
    choose_filesystem(draft.parts.disks.data.made, filesystem_id)
    draft.parts.disks.data.made.typed.update(typed_in(lines))
    found = [each for each in problem_texts(draft, Step.FILESYSTEM) if says in each[1]]
    assert [where for where, _ in found] == [f"target.disks.{field}"]
    assert draft.problems_for(Step.DISKS) == ()


def test_conflict_and_risk_at_the_option() -> None:
    draft = draft_on(4)
    made = draft.parts.disks.data.made
    made.typed.update(journal="false", data="writeback", barrier="false")
    page = options_page(made, circumstances(draft.parts.disks, draft.storage, {}, made=made))
    rows = {row.option.id: row for row in page.rows}
    assert "Without a journal" in rows["data"].wrong[0]
    assert rows["barrier"].badges == ("NEEDS PLP",)
    assert "power cut" in rows["barrier"].costs[0]
    assert {what for what, _, _ in page.unsafe} == {"journal", "data", "barrier"}
    assert any("NOT DURABLE" in message for message, _ in page.general)


def test_unusable_presets_named() -> None:
    draft = draft_on(1)
    made = MadeDraft(filesystem="xfs")
    choices = {each.id: each for each in preset_choices(made, draft.storage)}
    assert "4.19" in choices["2011-nobarrier"].obstacle
    assert choices["recommended"].obstacle == ""
    assert "Source:" in choices["recommended"].words


def test_server_settings_checked_against_options() -> None:
    draft = draft_on(4)
    draft.parts.values["postgresql.settings"] = "full_page_writes = off"
    ((_, sentence),) = problem_texts(draft, Step.FILESYSTEM)
    assert "torn pages" in sentence
    text = (
        '[target.disks]\ndata = ["S1"]\nfilesystem = "ext4"\n[postgresql.settings]\nfull_page_writes = "off"'
    )
    with pytest.raises(CampaignError) as refused:
        parse_campaign(f'name = "x"\n{text}', base_directory="/", source_name="x")
    assert sentence in refused.value.message, "a campaign file is told the same"
    choose_filesystem(draft.parts.disks.data.made, "zfs")
    assert problem_texts(draft, Step.FILESYSTEM) == []


def test_small_records_need_full_page_writes() -> None:
    draft = draft_on(1)
    made = draft.parts.disks.data.made
    choose_filesystem(made, "zfs")
    choose_preset(made, "recommended")
    made.typed.update(recordsize="4 KiB")
    assert any(
        (
            "Records smaller than a PostgreSQL page (normally 8 KiB) are written one by "
            "one. Full page writes must stay on"
        )
        in message
        for _, message in problem_texts(draft, Step.FILESYSTEM)
    )
    draft.parts.values["postgresql.settings"] = "full_page_writes = on"
    assert problem_texts(draft, Step.FILESYSTEM) == []


def test_option_setting_conflict_on_page() -> None:
    draft = draft_on(1)
    made = draft.parts.disks.data.made
    choose_filesystem(made, "zfs")
    choose_preset(made, "recommended")
    draft.parts.values["postgresql.settings"] = "wal_recycle = on"
    assert problem_texts(draft, Step.FILESYSTEM) == [], "an own setting counts over a preset"
    made.typed.update(wal_recycle="off")
    ((field, message),) = problem_texts(draft, Step.FILESYSTEM)
    assert field == "target.disks.options.wal_recycle"
    assert "wal_recycle is on" in message
    draft.parts.values["postgresql.settings"] = "wal_recycle = off"
    assert problem_texts(draft, Step.FILESYSTEM) == []


def test_array_fields_only_with_array() -> None:
    draft = draft_on(4)
    group = draft.parts.disks.data
    group.texts = {"chunk_size": "64 KiB", "bitmap": "none", "initial_sync": "assume-clean"}
    data = target_of(draft).data
    assert (data.chunk_bytes, data.bitmap, data.initial_sync) == (
        65536,
        Bitmap.NONE,
        InitialSync.ASSUME_CLEAN,
    )
    choose_filesystem(group.made, "zfs")
    data = target_of(draft).data
    assert (data.chunk_bytes, data.bitmap, data.initial_sync) == (None, None, None)
    choose_filesystem(group.made, "ext4")
    group.texts["chunk_size"] = "65 KiB"
    assert [field for field, _ in problem_texts(draft, Step.FILESYSTEM)] == ["target.disks.chunk_size"]


def test_wal_has_own_filesystem() -> None:
    draft = draft_on(2, wal=2)
    disks = draft.parts.disks
    choose_filesystem(disks.wal.made, "xfs")
    disks.wal.texts["partition_size"] = "whole"
    wal = target_of(draft).wal
    assert wal == GroupChoice(keys(*SPARE[2:4]), Level.MIRROR, "xfs", whole_disk=True)
    disks.wal.made.typed.update(logbufs="99")
    assert [field for field, _ in problem_texts(draft, Step.FILESYSTEM)] == [
        "target.disks.wal.options.logbufs"
    ]


def test_commands_grow_with_choices() -> None:
    draft = draft_on(4, wal=1)
    choose_filesystem(draft.parts.disks.data.made, "xfs")
    lines = draft.making_lines()
    assert [line.split(maxsplit=1)[0] for line in lines] == [
        "mdadm",
        "mkfs.xfs",
        "mount",
        "mkfs.ext4",
        "mount",
    ]
    assert "--level=raid10 --raid-devices=4" in lines[0]
    assert "su=524288,sw=2" in lines[1]
    draft.parts.disks.data.made.typed.update(atime="noatime")
    assert "noatime" in draft.making_lines()[2]
    draft.see_disks(listing(SPARE[0]))
    assert draft.making_lines() == ()


# --- more configurations


def copy_of(draft: CampaignDraft) -> ConfigurationDraft:
    """Return a copy of the configuration on disks with a layout of its own, as the editor makes it."""
    copy = draft.copy_configuration(draft.configuration_of(Place.DISKS))
    copy.made = draft.parts.disks.data.made.copy()
    return copy


def test_copies_vary_same_disks() -> None:
    draft = draft_on(4, wal=1)
    zfs, apart, stripe = (copy_of(draft) for _ in range(3))
    assert zfs.made is not None
    assert stripe.made is not None
    zfs.made.filesystem, apart.wal_apart, stripe.made.level = "zfs", False, Level.STRIPE
    found = {each.name: each.target for each in draft.built.configurations.values()}
    targets = [found[each.name] for each in (zfs, apart, stripe)]
    first, second, third = (cast("DiskTarget", each) for each in targets)
    assert (first.data.filesystem, second.wal, third.data.level) == ("zfs", None, Level.STRIPE)
    assert first.names == third.names == target_of(draft).names
    assign(draft.parts.disks, SPARE[3].identity.key(), None)
    draft.parts.disks.data.made.level = Level.MIRROR
    again = {each.name: each.target for each in draft.built.configurations.values()}
    assert cast("DiskTarget", again[stripe.name]).data.disks == keys(*SPARE[:3])


def test_copy_errors_at_the_copy() -> None:
    draft = draft_on(4)
    copy = copy_of(draft)
    assert copy.made is not None
    choose_filesystem(copy.made, "xfs")
    copy.made.typed.update(barrier="false")
    assert problem_texts(draft, Step.FILESYSTEM) == []
    assert [field for field, _ in problem_texts(draft, Step.MORE)] == ["configuration[2].target"]


def test_different_disks_round_trip() -> None:
    def on(name: str, *numbers: int) -> Configuration:
        group = GroupChoice(
            keys(*(SPARE[number] for number in numbers)), Level.STRIPE, "xfs", preset="recommended"
        )
        return Configuration(name, DiskTarget(group, memory_limit_bytes=4 * GIB))

    campaign = Campaign("Disks", (on("a", 0, 1), on("b", 2, 3), on("c", 0, 1)), 3)
    draft = CampaignDraft(parts_of(campaign), ENVIRONMENT)
    draft.see_disks(listing())
    assert draft.built.campaign == campaign
    assert [each.serial for each in confirmations(draft.parts, draft.storage)] == list(keys(*SPARE[:4]))


# --- confirming


def test_start_requires_all_serial_endings() -> None:
    draft = draft_on(2, wal=1)

    def missing() -> list[str]:
        return [each.message for each in draft.problems_for(Step.REVIEW) if each.path == FIELD]

    assert "(0 of 3)" in missing()[0]
    for number, disk in enumerate(SPARE[:3], start=1):
        confirm(draft.parts.disks, disk.identity.key(), "0000")
        assert f"({number - 1} of 3)" in missing()[0]
        confirm(draft.parts.disks, disk.identity.key(), f" {disk.identity.tail().lower()} ")
    assert missing() == []
    draft.see_disks(listing(*SPARE[:2]))  # one is pulled
    assert "(2 of 3)" in missing()[0]


def test_empty_field_never_confirms_disk() -> None:
    odd = replace(SPARE[0], identity=replace(SPARE[0].identity, serial="  ", wwn="eui.1"))
    draft = draft_on(0)
    assign(draft.parts.disks, odd.identity.key(), Role.DATA)
    draft.see_disks(listing(odd))
    confirm(draft.parts.disks, odd.identity.key(), "")
    assert [each.matches for each in confirmations(draft.parts, draft.storage)] == [False]


def test_resolved_campaigns_without_disks_ask_no_helper() -> None:
    draft = CampaignDraft(environment=ENVIRONMENT)
    assert draft.described() == {}
    assert not any(isinstance(each, DescribeQuestion) for each in draft.questions_for(Step.REVIEW))


def test_many_values_offer_useful_ones() -> None:
    option = filesystem("zfs").option("recordsize")
    assert set(tried_values(option)) - {option.default} == {8192, 16384, 32768}


@pytest.mark.parametrize(
    ("filesystem_id", "text", "says"),
    [
        ("ext4", "nodatacow", "ext4 has no such option. btrfs has it: Copy on write (nodatacow)."),
        ("zfs", "no such thing", "ZFS has no such option."),
    ],
)
def test_option_search_without_match_names_owner(filesystem_id: str, text: str, says: str) -> None:
    assert explain_no_match(filesystem(filesystem_id), text) == says


def test_impossible_plan_without_file_keys() -> None:
    draft = draft_on(2)
    built = draft.built
    assert built.campaign is not None
    inquiry = Inquiry(draft.parts, built, ENVIRONMENT)
    problems = [
        Problem("target.disks.filesystem", "Not installed: mdadm."),
        Problem("target.disks.level", "Too few.", "at least 4 disks"),
    ]
    found = inquiry.refusal(Step.REVIEW, CampaignQuestion(built.campaign), PlanError(problems))
    assert found.message == "Not installed: mdadm.\nToo few. Allowed: at least 4 disks."
    assert found.path == "target.disks.filesystem"


def test_tablespace_disks_round_trip() -> None:
    draft = draft_on(2, wal=1)
    disks = draft.parts.disks
    for disk, role in zip(SPARE[3:6], (Role.TABLES, Role.TABLES, Role.INDEXES), strict=True):
        assign(disks, disk.identity.key(), role)
    choose_filesystem(disks.tables.made, "xfs")
    disks.tables.made.typed.update(logbsize="256 KiB")
    disks.indexes.texts["partition_size"] = "32 GiB"
    target = read_target(disks).target
    assert isinstance(target, DiskTarget)
    assert target.tables is not None
    assert target.indexes is not None
    assert (target.tables.disks, target.tables.level) == (keys(*SPARE[3:5]), Level.MIRROR)
    assert (target.tables.filesystem, target.tables.options) == ("xfs", (("logbsize", 256 << 10),))
    assert target.indexes.partition_bytes == 32 * GIB
    assert target.wal is not None
    again = parts_of(draft.to_campaign()).disks
    assert read_target(again).target == target
    assert again.tables.disks == list(keys(*SPARE[3:5]))
    rows = {row.key: row.use for row in disk_rows(again, draft.storage)}
    assert [rows[key] for key in keys(*SPARE[:6])] == [
        "data 1",
        "data 2",
        "WAL 1",
        "tables 1",
        "tables 2",
        "indexes 1",
    ]
    drawn = [group.title for group in draft.drawing()]
    assert drawn == ["Data directory", "WAL (pg_wal)", "Tables (a tablespace)", "Indexes (a tablespace)"]


@pytest.mark.parametrize(
    ("role", "lines", "field", "says"),
    [
        (Role.TABLES, "journal = false\ndata = writeback", "tables.options.data", "Without a journal"),
        (Role.INDEXES, "commit = soon", "indexes.options.commit", "“soon” is not allowed"),
    ],
)
def test_tablespace_filesystem_errors_at_option(role: Role, lines: str, field: str, says: str) -> None:
    draft = draft_on(1)
    assign(draft.parts.disks, SPARE[4].identity.key(), role)
    draft.parts.disks.groups[role].made.typed.update(typed_in(lines))
    found = [where for where, message in problem_texts(draft, Step.FILESYSTEM) if says in message]
    assert found == [f"target.disks.{field}"]
    assert draft.problems_for(Step.DISKS) == ()


def test_missing_tablespace_disk_on_disk_page() -> None:
    draft = draft_on(1)
    assign(draft.parts.disks, "wwn-that-is-gone", Role.TABLES)
    ((where, message),) = problem_texts(draft, Step.DISKS)
    assert where == "target.disks.tables.data"
    assert "tables 1: the disk wwn-that-is-gone is missing" in message
