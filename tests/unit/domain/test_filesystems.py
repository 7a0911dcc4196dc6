from __future__ import annotations

import re

import pytest

from app.domain import option_texts
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.formats.btrfs import profiles
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.format_spec import Creation, StripeGeometry
from app.domain.options.kinds import Choice, Integer, OptionValue, ShownBy, Stage, Toggle
from app.domain.options.option_spec import OptionSpec, Safety
from app.domain.options.raid import Assembler, Level, layout
from tests.cases import each_case

FILESYSTEM = each_case("spec", FILESYSTEMS)
OPTIONS = [(spec, option) for spec in FILESYSTEMS for option in spec.options]
OPTION = each_case("spec option", OPTIONS)
PRESETS = [(spec, preset) for spec in FILESYSTEMS for preset in spec.presets]
PRESET = each_case("spec preset", PRESETS)

_SAID_ELSEWHERE = {"mirror_copies", "metadata_profile"}
"""btrfs: the profiles are always said, by `profiles`."""
_NEVER_OFFERED = re.compile(
    r"degraded|norecovery|nouuid|checkpoint=disable|fragment|dedup|crc=0|lazy-count|attr2|ikeep"
)


def some_values(option: OptionSpec) -> tuple[OptionValue, ...]:
    """Return every value of a toggle or choice, and the borders of a number."""
    if isinstance(option.kind, Toggle):
        return (True, False)
    if isinstance(option.kind, Choice):
        return option.kind.ids
    assert isinstance(option.kind, Integer)
    return (option.kind.minimum, option.kind.maximum, *option.kind.also)


def test_found_by_id() -> None:
    assert set("ext4 ext3 xfs btrfs zfs f2fs tmpfs".split()) <= {spec.id for spec in FILESYSTEMS}  # noqa: SIM905
    assert len({spec.id for spec in FILESYSTEMS}) == len(FILESYSTEMS)
    assert all(filesystem(spec.id) is spec for spec in FILESYSTEMS)
    with pytest.raises(KeyError):
        filesystem("bogus")


@FILESYSTEM
def test_filesystem_purpose_and_programs(spec: FilesystemSpec) -> None:
    assert spec.good_for.endswith(".")
    assert spec.programs
    assert all(program.package for program in spec.programs)
    assert spec.kernel_modules
    assert spec.mkfs is None or spec.mkfs == spec.programs[0].name
    for level in spec.levels:
        assert layout(level, spec.assembler(level)).level is level


@FILESYSTEM
def test_mkfs_arguments_and_superblock(spec: FilesystemSpec) -> None:
    assert (spec.mkfs is None) is (spec.mkfs_arguments is None)
    assert (spec.mkfs is None) is (spec.superblock is None)
    if spec.superblock:
        area = spec.superblock.superblock
        assert area.holds(spec.superblock.uuid_offset)
        assert area.holds(spec.superblock.uuid_offset + 15)
        assert spec.superblock.explained.holds(area.offset)
    shown_by = {option.stage.shown_by for option in spec.options if option.shown}
    if spec.expected:
        for level in spec.levels:
            made = Creation({}, (), "uuid", layout(level, spec.assembler(level)), StripeGeometry(65536, 2))
            shown_by |= {each.shown_by for each in spec.expected(made)}
    readers = {reader.shown_by for reader in spec.readers}
    assert shown_by - {ShownBy.MOUNTINFO} <= readers


def test_no_text_without_option() -> None:
    ids = {option.id for spec in FILESYSTEMS for option in spec.options}
    always = {item.item for spec in FILESYSTEMS for item in spec.always}
    tables = [each for name, each in vars(option_texts).items() if name.isupper() and isinstance(each, dict)]
    assert {name for table in tables for name in table} == ids | always


@FILESYSTEM
def test_option_ids_unique_or_lacking(spec: FilesystemSpec) -> None:
    ids = [option.id for option in spec.options] + [lack.option for lack in spec.lacks]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", option) for option in ids)
    for option in spec.options:
        assert spec.option(option.id) is option
    with pytest.raises(KeyError):
        spec.option("bogus")


@FILESYSTEM
def test_lacking_options_exist_elsewhere(spec: FilesystemSpec) -> None:
    elsewhere = {option.id for other in FILESYSTEMS if other is not spec for option in other.options}
    for lack in spec.lacks:
        assert lack.option in elsewhere
        assert lack.why.endswith(".")
        assert lack.source


@OPTION
def test_option_texts_and_legal_default(spec: FilesystemSpec, option: OptionSpec) -> None:
    assert option.label
    assert option.source
    assert option.effect.endswith(".")
    assert "\n" not in option.effect
    assert option.default is None or option.kind.accepts(option.default)
    assert option.kind.allowed
    if isinstance(option.kind, Choice):
        assert len(set(option.kind.ids)) == len(option.kind.ids) > 1
    assert tuple(item.id for item in option.values) == getattr(option.kind, "ids", ())


@OPTION
def test_risks_for_legal_values_not_default(spec: FilesystemSpec, option: OptionSpec) -> None:
    for value, classes in option.risks:
        assert option.kind.accepts(value)
        assert classes
        assert Safety.SAFE not in classes
        assert option.safety_of(value) == classes
        assert set(classes) <= set(option.safety)
    if option.default is not None and (spec.id, option.id) != ("f2fs", "errors"):
        assert option.safety_of(option.default) == (Safety.SAFE,)


@OPTION
def test_flag_only_for_mkfs_options(spec: FilesystemSpec, option: OptionSpec) -> None:
    if option.id in _SAID_ELSEWHERE:
        assert option.flag == ""
    else:
        assert bool(option.flag) is (option.stage is Stage.MKFS)
    assert option.stage is not Stage.MKFS or spec.mkfs


@OPTION
def test_written_values_distinct_plain_words(spec: FilesystemSpec, option: OptionSpec) -> None:
    written = [option.written(value) for value in some_values(option)]
    if option.id in _SAID_ELSEWHERE:
        assert written == [None] * len(written)
        return
    assert any(item is not None for item in written)
    assert len(set(written)) == len(written)
    for item in written:
        assert item is None or re.fullmatch(r"[a-zA-Z0-9_=:^+,-]*", item.item)
        assert item is None or not item.item.startswith("-")
        commas = 2 if option.id == "metadata_checksums" else 0
        assert item is None or item.item.count(",") == commas


@OPTION
def test_shown_values_distinguishable(spec: FilesystemSpec, option: OptionSpec) -> None:
    if option.shown is None:
        return
    values = some_values(option)
    for value in values:
        seen = option.seen(value)
        assert seen is not None
        assert not seen.contradictions([token.split("|")[-1] for token in seen.present])
        for other in values:
            shown = option.shown.token(other)
            tokens = [shown.split("|")[0]] if shown else []
            if option.stage.shown_by is ShownBy.PROPERTIES:
                tokens = [word for token in tokens for word in token.split()]
            assert bool(seen.contradictions(tokens)) is (other != value), (value, other)


def _expected_listed(spec: FilesystemSpec, option: OptionSpec) -> bool:
    """Return whether what a filesystem is expected to show depends on the value of an option."""
    if not spec.expected:
        return False
    others: dict[str, OptionValue] = {"su": 64 * 1024, "sw": 2} if option.id in {"su", "sw"} else {}
    found = set()
    for value in some_values(option):
        for level in spec.levels:
            made = layout(level, spec.assembler(level))
            options: dict[str, OptionValue] = others | {option.id: value}
            found.add((level, spec.expected(Creation(options, (), "uuid", made))))
    return len(found) > len(spec.levels)


@OPTION
def test_option_read_back_once_or_unseen(spec: FilesystemSpec, option: OptionSpec) -> None:
    read_by = [
        option.shown is not None,
        option.stage is Stage.SERVER,  # pg_settings: `app.postgres.facts.check_in_effect`
        option.shown is None and _expected_listed(spec, option),
    ]
    assert sum(read_by) == (0 if option.unseen else 1), "read back in one place, or said why in none"
    assert not option.unseen.endswith("."), "a clause"


@OPTION
def test_what_must_never_be_offered_is_not(spec: FilesystemSpec, option: OptionSpec) -> None:
    for value in some_values(option):
        written = option.written(value)
        assert written is None or not _NEVER_OFFERED.search(written.item)
    assert (spec.id, option.id) != ("zfs", "dedup")


@OPTION
def test_untestable_new_option_says_so(spec: FilesystemSpec, option: OptionSpec) -> None:
    newest = {"Linux": (6, 18), "OpenZFS": (2, 1, 11)}
    for need in option.since:
        if need.version > newest.get(need.component, (99,)):
            assert option.untested
    for value in option.values:
        for need in value.since:
            if need.version > newest.get(need.component, (99,)):
                assert value.untested or option.untested
    if option.untested:
        assert not re.search(r"tested$", option.source)


@FILESYSTEM
def test_every_mount_refuses_devices_and_setuid_programs(spec: FilesystemSpec) -> None:
    said = {item.item for item in spec.always if item.stage is Stage.MOUNT}
    assert {"nodev", "nosuid"} <= said
    for item in spec.always:
        assert all(option_texts.ALWAYS[item.item])
        assert bool(item.flag) is (item.stage is Stage.MKFS)


@FILESYSTEM
def test_no_option_allows_dev_or_suid(spec: FilesystemSpec) -> None:
    allowing = {"dev", "suid", "defaults", "user", "users", "owner", "group"}  # mount(8)
    for option in spec.options:
        for value in some_values(option):
            written = option.written(value)
            if option.stage is Stage.MOUNT and written is not None:
                assert not allowing & set(written.item.split(",")), (option.id, value)


@FILESYSTEM
def test_presets_start_with_defaults(spec: FilesystemSpec) -> None:
    ids = [preset.id for preset in spec.presets]
    assert len(set(ids)) == len(ids)
    assert ids[:2] == ["defaults", "recommended"]
    assert spec.presets[0].options == {}
    assert spec.presets[1].options
    assert all(spec.preset(preset.id) is preset for preset in spec.presets)
    with pytest.raises(KeyError):
        spec.preset("bogus")


@PRESET
def test_preset_choices_legal_with_reason(spec: FilesystemSpec, preset: FilesystemPreset) -> None:
    assert preset.label
    assert preset.source
    assert len(preset.options) == len(preset.choices)
    for choice in preset.choices:
        assert spec.option(choice.option).kind.accepts(choice.value)
        assert choice.why
        assert choice.source


@FILESYSTEM
def test_nothing_that_is_recommended_loses_commits(spec: FilesystemSpec) -> None:
    for choice in spec.preset("recommended").choices:
        lost = {Safety.LOSES_COMMITS, Safety.LOSES_COMMITS_WITHOUT_PLP, Safety.NO_CHECKSUMS}
        assert not lost & set(spec.option(choice.option).safety_of(choice.value))


@pytest.mark.parametrize(
    ("filesystem_id", "published"),
    [
        ("ext4", "barrier=False data=writeback atime=noatime"),  # 2011: 2392 tps
        ("ext4", "data=writeback atime=noatime commit=999"),
        ("xfs", "atime=noatime quota=noquota barrier=False"),
        ("btrfs", "datacow=False atime=noatime"),
        ("ext4", "barrier=False discard=True"),  # FOSDEM 2016
        ("f2fs", "barrier=False discard=True"),
        ("reiserfs", "barrier=False"),
        ("btrfs", "ssd=ssd barrier=False discard=sync datacow=False"),
        ("zfs", "recordsize=8192 logbias=throughput"),
        (  # EDB 2022, run-pgbench-zfs.sh
            "zfs",
            (
                "ashift=12 recordsize=8192 compression=lz4 atime=noatime logbias=latency "
                "redundant_metadata=most "
                "full_page_writes=False wal_init_zero=False wal_recycle=False"
            ),
        ),
        ("btrfs", "ssd=ssd atime=relatime"),
    ],
)
def test_published_settings_are_presets(filesystem_id: str, published: str) -> None:
    wanted = set(published.split())
    sets = [
        {f"{name}={value}" for name, value in preset.options.items()}
        for preset in filesystem(filesystem_id).presets
    ]
    assert wanted in sets


def test_btrfs_profiles() -> None:
    mirror = layout(Level.MIRROR, Assembler.BTRFS)
    assert profiles(mirror, {}) == ("raid1", "raid1")
    assert profiles(mirror, {"mirror_copies": "3"}) == ("raid1c3", "raid1c3")
    assert profiles(mirror, {"mirror_copies": "3", "metadata_profile": "raid1"}) == ("raid1c3", "raid1")
    assert profiles(layout(Level.SINGLE, Assembler.BTRFS), {}) == ("single", "dup")
    assert profiles(layout(Level.STRIPE, Assembler.BTRFS), {"mirror_copies": "3"}) == ("raid0", "raid0")
