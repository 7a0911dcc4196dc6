"""Options of filesystems that are server settings: all that are declared, and what overrules what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.campaign.configuration import DiskTarget, GroupChoice, PostgresChoice, Workload
from app.domain.campaign.disk_target import (
    SettingStatus,
    contradiction,
    refused_with,
    safe_without,
    server_options,
    target_problems,
)
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec, parse_switch
from app.domain.options.kinds import Choice, OptionValue, Stage
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Level
from app.postgres.facts import ALWAYS_REPORTED
from app.postgres.settings import Origin, server_settings
from tests.fix_postgres import SMALL_MACHINE

ON_DISKS = [spec for spec in FILESYSTEMS if spec.levels]
DECLARED = [(spec, option) for spec in ON_DISKS for option in spec.options if option.stage is Stage.SERVER]
PRESETS = [(spec.id, preset.id) for spec in ON_DISKS for preset in spec.presets]
EACH = pytest.mark.parametrize(
    ("spec", "option"), DECLARED, ids=[f"{spec.id}-{option.id}" for spec, option in DECLARED]
)
ZFS_PRESET = GroupChoice(("A",), Level.SINGLE, "zfs", preset="recommended")
EXT4 = GroupChoice(("B",), Level.SINGLE, "ext4")


def values_of(option: OptionSpec) -> tuple[OptionValue, ...]:
    return option.kind.ids if isinstance(option.kind, Choice) else (True, False)


def text_of(value: OptionValue) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def settings_of(target: DiskTarget, **own: str) -> dict[str, tuple[str, str]]:
    """Return value and origin of the settings that a server gets for a target."""
    choice = PostgresChoice(preset="defaults", settings=tuple(own.items()))
    found = server_settings(choice, SMALL_MACHINE, Workload(), filesystem=server_options(target, own))
    return {setting.name: (setting.value, setting.origin) for setting in found}


def fates(target: DiskTarget, own: Mapping[str, str] | None = None) -> dict[str, SettingStatus]:
    return {option.key: option.fate for option in server_options(target, own or {})}


def test_server_stage_options_and_presets() -> None:
    assert {spec.id for spec, _ in DECLARED} == {"zfs", "btrfs"}
    chosen = {
        each
        for each in PRESETS
        if server_options(DiskTarget(replace(EXT4, filesystem=each[0], preset=each[1])), {})
    }
    assert {("zfs", "recommended"), ("zfs", "2022-tuned"), ("btrfs", "recommended")} <= chosen


@EACH
def test_server_option_written_by_id(spec: FilesystemSpec, option: OptionSpec) -> None:
    spelled = [option.written(value) for value in values_of(option)]
    words = [text_of(value) for value in values_of(option)]
    assert [each.item for each in spelled if each is not None] == [f"{option.id}={word}" for word in words]
    assert spec.option(option.id) is option
    assert option.id in ALWAYS_REPORTED, "what the server has stands in every run"
    assert option.of_wal is option.id.startswith("wal_")


@EACH
def test_server_option_becomes_setting(spec: FilesystemSpec, option: OptionSpec) -> None:
    for value in values_of(option):
        group = replace(EXT4, filesystem=spec.id, options=((option.id, value),))
        assert settings_of(DiskTarget(group))[option.id] == (text_of(value), Origin.FILESYSTEM)


def test_word_option_overruled() -> None:
    group = replace(EXT4, filesystem="btrfs", options=(("file_extend_method", "write_zeros"),))
    key, name = "options.file_extend_method", "file_extend_method"
    assert fates(DiskTarget(group), {name: " Write_Zeros "}) == {key: SettingStatus.APPLIED}
    assert fates(DiskTarget(group)) == {key: SettingStatus.APPLIED}
    assert fates(DiskTarget(group), {name: "posix_fallocate"}) == {key: SettingStatus.OVERRULED}
    found = contradiction(DiskTarget(group), {name: "posix_fallocate"})
    assert found is not None
    assert (found.text, found.instead) == ("write_zeros", "posix_fallocate")


@pytest.mark.parametrize(("filesystem", "preset"), PRESETS)
def test_preset_reaches_server_settings(filesystem: str, preset: str) -> None:
    (spec,) = (each for each in FILESYSTEMS if each.id == filesystem)
    of_server = {option.id for option in spec.options if option.stage is Stage.SERVER}
    chosen = {
        name: "on" if value else "off"
        for name, value in spec.preset(preset).options.items()
        if name in of_server
    }
    found = settings_of(DiskTarget(replace(EXT4, filesystem=filesystem, preset=preset)))
    given = {name: value for name, (value, origin) in found.items() if origin is Origin.FILESYSTEM}
    if filesystem == "btrfs" and "datacow" in spec.preset(preset).options:
        chosen["full_page_writes"] = "on"  # rule C04: what is overwritten in place can be half written
    assert given == chosen


def test_precedence_preset_options_settings() -> None:
    own_option = replace(ZFS_PRESET, options=(("wal_recycle", True),))
    assert settings_of(DiskTarget(own_option))["wal_recycle"] == ("on", Origin.FILESYSTEM)
    found = settings_of(DiskTarget(ZFS_PRESET), wal_recycle="yes", wal_init_zero="off")
    assert found["wal_recycle"] == ("yes", Origin.USER)
    assert found["wal_init_zero"] == ("off", Origin.USER)
    assert found["full_page_writes"] == ("off", Origin.FILESYSTEM)


def test_overruled_preset_noted() -> None:
    options = server_options(DiskTarget(ZFS_PRESET), {"wal_recycle": "TRUE", "wal_init_zero": "f"})
    notes = {option.name: option.note for option in options if option.note}
    assert list(notes) == ["wal_recycle"]
    assert "TRUE" in notes["wal_recycle"]
    assert "ZFS" in notes["wal_recycle"]
    assert contradiction(DiskTarget(ZFS_PRESET), {"wal_recycle": "on"}) is None


def test_contradicting_option_and_setting() -> None:
    target = DiskTarget(replace(ZFS_PRESET, options=(("full_page_writes", False),)))
    found = contradiction(target, {"full_page_writes": "on"})
    assert found is not None
    assert (found.key, found.text, found.instead) == ("options.full_page_writes", "off", "on")
    assert contradiction(target, {"full_page_writes": "off"}) is None
    assert contradiction(target, {"full_page_writes": "perhaps"}) is None, "the server refuses that itself"


def test_wal_options_follow_wal_disks() -> None:
    apart = DiskTarget(ZFS_PRESET, EXT4)
    assert fates(apart) == {
        "options.full_page_writes": SettingStatus.APPLIED,
        "options.wal_init_zero": SettingStatus.ELSEWHERE,
        "options.wal_recycle": SettingStatus.ELSEWHERE,
    }
    assert "wal_recycle" not in settings_of(apart)
    assert all(option.note for option in server_options(apart, {}) if option.fate is SettingStatus.ELSEWHERE)
    reverse = DiskTarget(EXT4, ZFS_PRESET)
    assert fates(reverse) == {
        "wal.options.full_page_writes": SettingStatus.ELSEWHERE,
        "wal.options.wal_init_zero": SettingStatus.APPLIED,
        "wal.options.wal_recycle": SettingStatus.APPLIED,
    }
    assert "full_page_writes" not in settings_of(reverse)


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (DiskTarget(replace(ZFS_PRESET, options=(("wal_recycle", True),)), EXT4), "options.wal_recycle"),
        (
            DiskTarget(EXT4, replace(ZFS_PRESET, options=(("full_page_writes", True),))),
            "wal.options.full_page_writes",
        ),
    ],
)
def test_own_option_without_effect_refused(target: DiskTarget, key: str) -> None:
    (problem,) = target_problems(target)
    assert problem.path == key
    assert "has no effect here" in problem.message
    alone = target.data if key.startswith("options") else target.wal
    assert alone is not None
    assert target_problems(DiskTarget(alone)) == ()


def test_full_page_writes_off_safe() -> None:
    name = "full_page_writes"
    assert safe_without(DiskTarget(ZFS_PRESET), name)
    assert not safe_without(DiskTarget(replace(ZFS_PRESET, options=(("recordsize", 4096),))), name)
    assert not safe_without(DiskTarget(replace(ZFS_PRESET, filesystem="btrfs")), name)
    assert not safe_without(DiskTarget(EXT4), name)
    assert not safe_without(DiskTarget(ZFS_PRESET), "fsync")


SMALL_RECORDS = DiskTarget(replace(ZFS_PRESET, options=(("recordsize", 4096),)))


@pytest.mark.parametrize(
    ("target", "own", "rules"),
    [
        (DiskTarget(EXT4), {"full_page_writes": "off"}, ["C07"]),
        (DiskTarget(EXT4), {"full_page_writes": "on"}, []),
        (DiskTarget(EXT4), {}, []),
        (DiskTarget(ZFS_PRESET), {"full_page_writes": "off"}, []),
        (SMALL_RECORDS, {}, ["C08"]),
        (SMALL_RECORDS, {"full_page_writes": "off"}, ["C08"]),
        (SMALL_RECORDS, {"full_page_writes": "on"}, []),
        (DiskTarget(replace(ZFS_PRESET, options=(("sync", "disabled"),))), {"fsync": "off"}, ["C25"]),
        (DiskTarget(ZFS_PRESET, zfs_log=("LOG",)), {"fsync": "off"}, ["C25"]),
        (DiskTarget(ZFS_PRESET), {"fsync": "off"}, []),
    ],
)
def test_effective_settings_checked_by_rules(
    target: DiskTarget, own: dict[str, str], rules: list[str]
) -> None:
    assert [finding.rule for finding in refused_with(target, own)] == rules
    assert target_problems(target) == (), "where the settings are not known nothing is said of them"


@pytest.mark.parametrize("text", ["on", "TRUE", "t", "yes", "y", "1", " On "])
def test_words_for_on(text: str) -> None:
    assert parse_switch(text) is True


@pytest.mark.parametrize("text", ["off", "of", "FALSE", "f", "no", "n", "0"])
def test_words_for_off(text: str) -> None:
    assert parse_switch(text) is False


@pytest.mark.parametrize("text", ["", "o", "2", "maybe", "offf", "trueish"])
def test_other_words_are_neither(text: str) -> None:
    assert parse_switch(text) is None
