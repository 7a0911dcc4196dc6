"""Dimensions of a campaign file: what they come to, what is written of them, and what is refused."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.campaign_file.dimensions import doubling
from app.campaign_file.fields import MOST_CONFIGURATIONS
from app.campaign_file.matrix import MOST_COMBINATIONS
from app.campaign_file.reader import parse_campaign, parse_stored_campaign
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DiskTarget,
    FolderTarget,
    GroupChoice,
    MemoryTarget,
    Workload,
)
from app.domain.campaign.matrix import LONGEST_NAME, describe_matrix
from app.domain.errors import CampaignError
from app.domain.options.raid import Level

FOLDER = 'name = "trial"\n[target.folder]\n'
DISKS = 'name = "trial"\n[target.disks]\ndata = ["S1", "S2", "S3", "S4"]\nlevel = "raid10"\n'
FILESYSTEMS = '[[dimension]]\nkey = "target.disks.filesystem"\nvalues = ["ext4", "xfs", "zfs"]\n'
CLIENTS = '[[dimension]]\nkey = "workload.clients"\nvalues = [1, 4]\n'
PRESETS = '[[dimension]]\nkey = "target.disks.preset"\nvalues = [{}]\n'
RECORDS = '[[dimension]]\nkey = "target.disks.options.recordsize"\nvalues = ["8 KiB", "128 KiB"]\n'


def parse(text: str, folder: Path | str = "/nowhere") -> Campaign:
    return parse_campaign(text, base_directory=folder, source_name="trial.toml")


def refusal(text: str) -> CampaignError:
    with pytest.raises(CampaignError) as caught:
        parse(text)
    return caught.value


def names(campaign: Campaign) -> list[str]:
    return [each.name for each in campaign.configurations]


def disks(each: Configuration) -> DiskTarget:
    assert isinstance(each.target, DiskTarget)
    return each.target


# --- meaning


def test_combinations_last_dimension_fastest() -> None:
    campaign = parse(DISKS + FILESYSTEMS + CLIENTS)
    assert names(campaign) == [
        *("ext4, clients 1", "ext4, clients 4", "xfs, clients 1"),
        *("xfs, clients 4", "zfs, clients 1", "zfs, clients 4"),
    ]
    assert [disks(each).data.filesystem for each in campaign.configurations] == [
        *("ext4", "ext4", "xfs", "xfs", "zfs", "zfs"),
    ]
    assert [each.workload.clients for each in campaign.configurations] == [1, 4] * 3
    assert campaign.repeats == 5


def test_target_dimension_merges_key_by_key() -> None:
    campaign = parse(DISKS + 'partition_size = "20 GiB"\n' + FILESYSTEMS)
    for each in campaign.configurations:
        assert disks(each).data.partition_bytes == 20 * 2**30
        assert disks(each).data.level is Level.RAID10
        assert disks(each).data.disks == ("S1", "S2", "S3", "S4")


def test_value_changes_several_keys_or_none() -> None:
    campaign = parse(
        DISKS
        + 'filesystem = "xfs"\n'
        + '[[dimension]]\nname = "layout"\n'
        + '[[dimension.value]]\nname = "as above"\n'
        + '[[dimension.value]]\nname = "one disk, noatime"\n'
        + 'target.disks = { level = "single", data = ["S1"] }\n'
        + '[dimension.value.postgresql.settings]\nwork_mem = "8MB"\n'
    )
    first, second = campaign.configurations
    assert names(campaign) == ["as above", "one disk, noatime"]
    assert disks(first).data.level is Level.RAID10
    assert disks(second).data.level is Level.SINGLE
    assert disks(second).data.disks == ("S1",)
    assert second.postgresql.settings == (("work_mem", "8MB"),)
    assert disks(second).data.filesystem == "xfs"


def test_option_only_where_filesystem_has_it() -> None:
    campaign = parse(DISKS + FILESYSTEMS + RECORDS)
    assert names(campaign) == ["ext4", "xfs", "zfs, recordsize 8 KiB", "zfs, recordsize 128 KiB"]
    assert [disks(each).data.options for each in campaign.configurations] == [
        *((), (), (("recordsize", 8192),), (("recordsize", 131072),)),
    ]
    assert campaign.matrix is not None
    first, second = describe_matrix(campaign.matrix)
    assert re.findall(r"\d+", first)[-2:] == ["6", "4"], first
    assert second.startswith("recordsize ")
    assert "2 of 4 configurations" in second


def options_dimension(name: str, *values: str) -> str:
    return f'[[dimension]]\nkey = "target.disks.options.{name}"\nvalues = [{", ".join(values)}]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FILESYSTEMS + options_dimension("barrier", "true", "false"),
            ["ext4, barrier on", "ext4, barrier off", "xfs", "zfs"],
        ),
        (
            "options = { barrier = false }\n" + FILESYSTEMS,
            ["ext4", "xfs", "zfs"],
        ),
        (
            FILESYSTEMS + PRESETS.format('"defaults", "2011-nobarrier"'),
            [
                *("ext4, preset defaults", "ext4, preset 2011-nobarrier"),
                *("xfs, preset defaults", "zfs, preset defaults"),
            ],
        ),
        (
            options_dimension("journal", "true", "false") + options_dimension("commit", "5", "30"),
            ["journal on, commit 5", "journal on, commit 30", "journal off"],
        ),
        (
            "options = { commit = 30 }\n" + options_dimension("journal", "true", "false"),
            ["journal on", "journal off"],
        ),
        (
            options_dimension("bigalloc", "false", "true") + options_dimension("cluster_bytes", '"64 KiB"'),
            ["bigalloc off", "bigalloc on, cluster_bytes 64 KiB"],
        ),
    ],
)
def test_option_without_possible_value_dropped(text: str, expected: list[str]) -> None:
    filesystem = "" if FILESYSTEMS in text else 'filesystem = "ext4"\n'
    campaign = parse(DISKS + filesystem + text)
    assert names(campaign) == expected
    for each in campaign.configurations:
        data = disks(each).data
        chosen = dict(data.options)
        assert data.filesystem != "xfs" or "barrier" not in chosen
        assert chosen.get("journal") is not False or "commit" not in chosen
        assert chosen.get("bigalloc") is not False or "cluster_bytes" not in chosen


def test_stripes_without_array() -> None:
    text = DISKS.replace('["S1", "S2", "S3", "S4"]\nlevel = "raid10"', '["S1"]')
    array = 'name = "array"\n[dimension.value.target.disks]\ndata = ["S1", "S2"]\nlevel = "mirror"\n'
    text += 'filesystem = "ext4"\n[[dimension]]\nname = "disks"\n[[dimension.value]]\nname = "one"\n'
    text += f"[[dimension.value]]\n{array}" + options_dimension("stride", "4", "8")
    assert names(parse(text)) == ["one, stride 4", "one, stride 8", "array"]


def test_dimension_order_irrelevant_for_options() -> None:
    assert set(names(parse(DISKS + RECORDS + FILESYSTEMS))) == {
        *("ext4", "xfs", "recordsize 8 KiB, zfs", "recordsize 128 KiB, zfs"),
    }


def test_value_with_options_of_several_filesystems() -> None:
    campaign = parse(
        DISKS
        + FILESYSTEMS
        + '[[dimension]]\nname = "times"\n[[dimension.value]]\nname = "usual"\n'
        + '[[dimension.value]]\nname = "small"\n[dimension.value.target.disks.options]\n'
        + 'recordsize = "8 KiB"\natime = "noatime"\n'
    )
    by_name = {each.name: dict(disks(each).data.options) for each in campaign.configurations}
    assert by_name["xfs, small"] == {"atime": "noatime"}
    assert by_name["zfs, small"]["recordsize"] == 8192


def test_unavailable_preset_left_out() -> None:
    campaign = parse(
        DISKS
        + FILESYSTEMS
        + '[[dimension]]\nkey = "target.disks.preset"\nvalues = ["defaults", "2016-recordsize"]\n'
    )
    presets: dict[str, set[str]] = {disks(each).data.filesystem: set() for each in campaign.configurations}
    for each in campaign.configurations:
        presets[disks(each).data.filesystem].add(disks(each).data.preset)
    assert all("defaults" in found for found in presets.values())
    assert len(names(campaign)) == len({(each.target, each.workload) for each in campaign.configurations})


def test_target_dimension_takes_disk_dimension_along() -> None:
    campaign = parse(
        'name = "trial"\n'
        '[[dimension]]\nname = "where"\n'
        '[[dimension.value]]\nname = "memory"\ntarget.memory = {}\n'
        '[[dimension.value]]\nname = "folder"\ntarget.folder.path = "/srv"\n'
        '[[dimension.value]]\nname = "disks"\ntarget.disks = { data = ["S1"] }\n' + FILESYSTEMS
    )
    assert names(campaign) == ["memory", "folder", "disks, ext4", "disks, xfs", "disks, zfs"]
    assert campaign.configurations[0].target == MemoryTarget()
    assert campaign.configurations[1].target == FolderTarget("/srv")


WAL = (
    DISKS
    + 'filesystem = "zfs"\nwal = { data = ["S5"], filesystem = "zfs", options = { recordsize = "8 KiB" } }\n'
)


def wal_of(each: Configuration) -> GroupChoice:
    wal = disks(each).wal
    assert wal is not None
    return wal


def test_wal_disk_keys_as_dimensions() -> None:
    campaign = parse(
        WAL.replace('options = { recordsize = "8 KiB" }', 'level = "single"')
        + '[[dimension]]\nkey = "target.disks.wal.filesystem"\nvalues = ["ext4", "zfs"]\n'
        + '[[dimension]]\nkey = "target.disks.wal.options.recordsize"\nvalues = ["8 KiB", "128 KiB"]\n'
    )
    assert [(wal_of(each).filesystem, wal_of(each).options) for each in campaign.configurations] == [
        ("ext4", ()),
        ("zfs", (("recordsize", 8192),)),
        ("zfs", (("recordsize", 131072),)),
    ]
    assert {wal_of(each).disks for each in campaign.configurations} == {("S5",)}
    assert names(campaign) == ["ext4", "zfs, wal recordsize 8 KiB", "zfs, wal recordsize 128 KiB"]
    assert {disks(each).data.options for each in campaign.configurations} == {()}
    assert campaign.matrix is not None
    assert parse(format_campaign(campaign)) == campaign


def test_wal_options_merged_individually() -> None:
    campaign = parse(
        WAL + '[[dimension]]\nkey = "target.disks.wal.options.compression"\nvalues = ["off", "lz4"]\n'
    )
    assert [dict(wal_of(each).options) for each in campaign.configurations] == [
        {"recordsize": 8192, "compression": "off"},
        {"recordsize": 8192, "compression": "lz4"},
    ]
    assert parse(format_campaign(campaign)) == campaign


def test_wal_level_and_disks_as_dimensions() -> None:
    campaign = parse(
        DISKS
        + 'filesystem = "xfs"\nwal = { data = ["S5", "S6"], filesystem = "xfs" }\n'
        + '[[dimension]]\nkey = "target.disks.wal.level"\nvalues = ["mirror", "stripe"]\n'
    )
    assert [wal_of(each).level for each in campaign.configurations] == [Level.MIRROR, Level.STRIPE]


def test_wal_keys_need_separate_disks() -> None:
    campaign = parse(
        DISKS
        + 'filesystem = "xfs"\n'
        + '[[dimension]]\nname = "WAL"\n[[dimension.value]]\nname = "among the data"\n'
        + '[[dimension.value]]\nname = "apart"\ntarget.disks.wal = { data = ["S5"] }\n'
        + '[[dimension]]\nkey = "target.disks.wal.filesystem"\nvalues = ["ext4", "xfs"]\n'
    )
    assert names(campaign) == ["among the data", "apart, ext4", "apart, xfs"]
    first, *others = campaign.configurations
    assert disks(first).wal is None
    assert [wal_of(each).filesystem for each in others] == ["ext4", "xfs"]
    assert parse(format_campaign(campaign)) == campaign


def test_whole_wal_disks_as_dimension() -> None:
    campaign = parse(
        DISKS
        + 'filesystem = "xfs"\n'
        + '[[dimension]]\nkey = "target.disks.wal"\nname = "WAL"\n'
        + 'values = [{ data = ["S5"], filesystem = "ext4" }, { data = ["S5"], filesystem = "xfs" }]\n'
    )
    assert [wal_of(each).filesystem for each in campaign.configurations] == ["ext4", "xfs"]
    assert parse(format_campaign(campaign)) == campaign


def test_scale_replaces_size_booleans_are_on_off() -> None:
    campaign = parse(
        FOLDER
        + '[[dimension]]\nkey = "workload.scale"\nvalues = [1, 10]\n'
        + '[[dimension]]\nkey = "postgresql.checksums"\nvalues = [true, false]\n'
    )
    assert names(campaign)[1] == "scale 1, checksums off"
    assert campaign.configurations[0].workload == Workload(scale=1, size=None)


def test_shared_words_shown_with_keys() -> None:
    campaign = parse(
        DISKS
        + 'filesystem = "xfs"\n'
        + '[[dimension]]\nname = "fs preset"\nkey = "target.disks.preset"\n'
        + 'values = ["defaults", "recommended"]\n'
        + '[[dimension]]\nname = "pg preset"\nkey = "postgresql.preset"\nvalues = ["defaults", "machine"]\n'
    )
    assert names(campaign)[0] == "fs preset defaults, pg preset defaults"


def test_names_unique_and_short() -> None:
    long = ", ".join(f'"/srv/{"x" * 70}/{number}"' for number in range(3))
    campaign = parse(
        'name = "trial"\n' + f'[[dimension]]\nkey = "target.folder.path"\nvalues = [{long}]\n' + CLIENTS
    )
    assert len(set(names(campaign))) == 6
    assert max(map(len, names(campaign))) <= LONGEST_NAME


def test_single_value_dimension_not_in_name() -> None:
    campaign = parse(FOLDER + '[[dimension]]\nkey = "workload.scale"\nvalues = [3]\n')
    assert names(campaign) == ["trial"]
    assert campaign.configurations[0].workload.scale == 3


def test_clients_are_swept_with_one_key() -> None:
    campaign = parse(FOLDER + '[[dimension]]\nkey = "workload.clients"\ndoubling = [1, 20]\n')
    assert [each.workload.clients for each in campaign.configurations] == [1, 2, 4, 8, 16, 20]
    assert doubling(4, 4) == [4]
    assert doubling(3, 12) == [3, 6, 12]


def test_exclude_by_name_key_and_values() -> None:
    layout = '[[dimension]]\nkey = "postgresql.checksums"\nvalues = [true, false]\n'
    text = DISKS + FILESYSTEMS + CLIENTS + layout
    campaign = parse(
        text
        + '[[exclude]]\nfilesystem = ["xfs", "zfs"]\nclients = 1\n'
        + '[[exclude]]\ntarget.disks.filesystem = "ext4"\npostgresql.checksums = false\n'
    )
    assert len(parse(text).configurations) == 12
    assert names(campaign) == [
        "ext4, clients 1, checksums on",
        "ext4, clients 4, checksums on",
        "xfs, clients 4, checksums on",
        "xfs, clients 4, checksums off",
        "zfs, clients 4, checksums on",
        "zfs, clients 4, checksums off",
    ]
    assert campaign.matrix is not None
    assert campaign.matrix.left_out == 6
    assert "removes 6 of them" in " ".join(describe_matrix(campaign.matrix))


# --- written and read again


def again(campaign: Campaign) -> Campaign:
    return parse(format_campaign(campaign))


def test_matrix_identity_by_dimensions_and_scripts(tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text("SELECT 1;\n")
    text = FOLDER + '[[dimension]]\nkey = "workload.script"\nvalues = ["select-only", { file = "own.sql" }]\n'
    campaign = parse(text, tmp_path)
    stated = state_campaign(campaign)
    assert parse(stated) == campaign
    assert changed_scripts(stated, campaign) == ()
    assert changed_scripts(stated, parse(text.replace('"select-only"', '"tpcb-like"'), tmp_path)) is None
    script.write_text("SELECT 2;\n")
    assert changed_scripts(stated, parse(text, tmp_path)) == (str(script),)
    script.unlink()
    assert names(parse_stored_campaign(stated)) == names(campaign)


def test_written_length_follows_dimensions() -> None:
    campaign = parse(
        FOLDER
        + "".join(
            f'[[dimension]]\nkey = "{key}"\nvalues = {values}\n'
            for key, values in (
                ("workload.clients", list(range(1, 11))),
                ("workload.scale", list(range(1, 11))),
                ("workload.rate", list(range(1, 11))),
            )
        )
    )
    assert len(campaign.configurations) == 1000
    assert len(format_campaign(campaign)) < 2000


def test_defaults_written_explicitly() -> None:
    text = format_campaign(parse(FOLDER + CLIENTS))
    assert 'protocol = "prepared"' in text
    assert "warmup = " in text
    cold = format_campaign(
        parse(FOLDER + '[[dimension]]\nkey = "workload.caches"\nvalues = ["warm", "cold"]\n')
    )
    assert "warmup" not in cold
    assert [each.workload.warmup_s for each in parse(cold).configurations] == [10, 0]


KEYS = {
    "workload.clients": ["1", "4", "7"],
    "workload.scale": ["1", "20", "300"],
    "workload.rate": ["0.5", "10", "1e3"],
    "workload.warmup": ["0", '"5s"', '"1 min"'],
    "workload.script": ['"select-only"', '[{builtin = "tpcb-like", weight = 2}]', '"simple-update"'],
    "postgresql.checksums": ["true", "false"],
    "postgresql.settings.work_mem": ['"1MB"', '"a \\" b"', "64"],
    "postgresql.settings.auto_explain.log_analyze": ["true", "false"],
    "target.disks.filesystem": ['"ext4"', '"zfs"', '"btrfs"'],
    "target.disks.level": ['"mirror"', '"stripe"'],
    "target.disks.options.recordsize": ['"8 KiB"', '"128 KiB"'],
    "target.disks.options.noatime": ["true"],
    "target.disks.partition_size": ['"20 GiB"', '"whole"'],
    "target.disks.preset": ['"defaults"', '"recommended"'],
}


@st.composite
def matrices(draw: st.DrawFn) -> str:
    """Draw a file on two disks with dimensions, some of which are tables."""
    chosen = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=4, unique=True))
    lines = [
        'name = "trial"',
        "[target.disks]",
        'data = ["S1", "S2"]',
        'level = "mirror"',
        'filesystem = "zfs"',
    ]
    listed = []
    for number, key in enumerate(chosen):
        values = draw(st.lists(st.sampled_from(KEYS[key]), min_size=1, max_size=3, unique=True))
        listed.append((f"d {number}", values))
        lines += ["[[dimension]]", f'name = "d {number}"']
        if draw(st.booleans()):
            lines += [f'key = "{key}"', f"values = [{', '.join(values)}]"]
            continue
        for place, value in enumerate(values):
            lines += ["[[dimension.value]]", f'name = "v{place}"', f"{quoted(key)} = {value}"]
    return "\n".join(lines) + "\n"


def quoted(key: str) -> str:
    settings_of = "postgresql.settings."
    return f'{settings_of}"{key.removeprefix(settings_of)}"' if key.startswith(settings_of) else key


def accepted(text: str) -> Campaign | None:
    """Return a campaign; None for options that none of the drawn filesystems has, say."""
    try:
        return parse(text)
    except CampaignError:
        return None


@settings(deadline=None, max_examples=60)
@given(matrices())
def test_matrix_write_read_round_trip(text: str) -> None:
    campaign = accepted(text)
    assume(campaign is not None)
    assert campaign is not None
    read = again(campaign)
    assert read == campaign
    assert format_campaign(read) == format_campaign(campaign)
    assert len(set(names(campaign))) == len(campaign.configurations)
    parts = [(each.target, each.postgresql, each.workload) for each in campaign.configurations]
    assert all(one != other for one, other in itertools.combinations(parts, 2))


# --- bad input


def test_million_cells_refused_before_building(monkeypatch: pytest.MonkeyPatch) -> None:
    text = FOLDER + "".join(
        f'[[dimension]]\nkey = "workload.{key}"\nvalues = {list(range(1, 101))}\n'
        for key in ("clients", "scale", "rate")
    )
    monkeypatch.setattr("app.campaign_file.matrix.itertools", None)  # nothing goes through them
    error = refusal(text)
    assert error.field == "dimension"
    assert re.search("100 x 100 x 100 .* 1,000,000 ", error.message)
    assert f"{MOST_COMBINATIONS:,}" in error.message


def test_configuration_limit_applies_after_exclusion() -> None:
    text = FOLDER + "".join(
        f'[[dimension]]\nkey = "workload.{key}"\nvalues = {list(range(1, most))}\n'
        for key, most in (("clients", 41), ("scale", 31))
    )
    assert f"1,200 configurations are too many; at most {MOST_CONFIGURATIONS:,}" in refusal(text).message
    fewer = parse(text + f"[[exclude]]\nclients = {list(range(1, 11))}\n")
    assert len(fewer.configurations) == 900


def test_so_many_runs_are_refused() -> None:
    text = (
        "repeats = 11\n"
        + FOLDER
        + "".join(
            f'[[dimension]]\nkey = "workload.{key}"\nvalues = {list(range(1, most))}\n'
            for key, most in (("clients", 41), ("scale", 26))
        )
    )
    error = refusal(text)
    assert error.field == "repeats"
    assert re.findall(r"\d+", error.message) == ["11000", "10000"]
