"""The largest size of ZFS's cache that a campaign needs: read, compared, never set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign, state_campaign
from app.domain.campaign.configuration import Campaign, Configuration, DiskTarget, FolderTarget, GroupChoice
from app.domain.errors import CampaignError
from app.domain.options.raid import Level
from app.domain.text import GIB
from app.execution import resolve
from app.execution.resolve import arc_max_sentence, check_arc_max

GROUP = GroupChoice(("S1",), Level.SINGLE, "zfs", (), None)
ON_ZFS = Campaign("x", (Configuration("x", DiskTarget(GROUP)),), zfs_arc_max_bytes=4 * GIB)
ON_XFS = replace(ON_ZFS, configurations=(Configuration("x", DiskTarget(replace(GROUP, filesystem="xfs"))),))
IN_FOLDER = replace(ON_ZFS, configurations=(Configuration("x", FolderTarget("/srv")),))


def machine(root: Path, value: str) -> Path:
    parameter = root / "sys/module/zfs/parameters/zfs_arc_max"
    parameter.parent.mkdir(parents=True)
    parameter.write_text(value)
    return root


def test_matching_value_is_accepted_unwritten(tmp_path: Path) -> None:
    parameter = machine(tmp_path, f"{4 * GIB}\n") / "sys/module/zfs/parameters/zfs_arc_max"
    before = parameter.stat()
    check_arc_max(ON_ZFS, (), tmp_path)
    check_arc_max(replace(ON_ZFS, zfs_arc_max_bytes=None), (), tmp_path)
    assert parameter.stat().st_mtime_ns == before.st_mtime_ns


def test_other_value_refused_with_command(tmp_path: Path) -> None:
    machine(tmp_path, "0\n")
    with pytest.raises(CampaignError) as caught:
        check_arc_max(ON_ZFS, (), tmp_path)
    assert caught.value.field == "zfs_arc_max"
    assert "needs zfs_arc_max = 4294967296 (4 GiB)" in caught.value.message
    assert "has 0 (ZFS chooses)" in caught.value.message
    parameter = tmp_path / "sys/module/zfs/parameters/zfs_arc_max"
    assert f"echo 4294967296 > {parameter}\n" in caught.value.hint
    assert "options zfs zfs_arc_max=4294967296\n" in caught.value.hint


def test_zfs_not_loaded_suggests_loading(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="cannot be read") as caught:
        check_arc_max(ON_ZFS, (), tmp_path)
    assert "modprobe zfs" in caught.value.hint


def test_resumed_campaign_is_asked_again(tmp_path: Path) -> None:
    """Its folder states what it needs: the machine may have started anew since."""
    stated = parse_campaign(state_campaign(ON_ZFS), base_directory="/", source_name="x")
    check_arc_max(stated, (), machine(tmp_path / "before", f"{4 * GIB}\n"))
    with pytest.raises(CampaignError, match="needs zfs_arc_max = 4294967296"):
        check_arc_max(stated, (), machine(tmp_path / "after", "0\n"))


def test_no_return_to_zero_while_loaded(tmp_path: Path) -> None:
    machine(tmp_path, f"{GIB}\n")
    with pytest.raises(CampaignError) as caught:
        check_arc_max(replace(ON_ZFS, zfs_arc_max_bytes=0), (), tmp_path)
    assert "echo" not in caught.value.hint
    assert "/etc/modprobe.d" in caught.value.hint


def test_wal_alone_on_zfs(tmp_path: Path) -> None:
    wal = DiskTarget(replace(GROUP, filesystem="xfs"), replace(GROUP, disks=("S2",)))
    with pytest.raises(CampaignError):
        check_arc_max(replace(ON_ZFS, configurations=(Configuration("x", wal),)), (), tmp_path)


def test_key_without_zfs_changes_nothing(tmp_path: Path) -> None:
    check_arc_max(ON_XFS, (), tmp_path / "none")
    assert "no configuration is on ZFS" in arc_max_sentence(ON_XFS, ())
    check_arc_max(IN_FOLDER, [str(tmp_path)], tmp_path / "none")
    assert "as the campaign needs it" in arc_max_sentence(ON_ZFS, ())
    assert arc_max_sentence(replace(ON_XFS, zfs_arc_max_bytes=None), ()) == ""


def test_a_folder_on_zfs_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnZfs:
        filesystem = "zfs"

    monkeypatch.setattr(resolve, "mount_of", lambda _: OnZfs())
    with pytest.raises(CampaignError):
        check_arc_max(IN_FOLDER, ["/srv"], tmp_path)


@pytest.mark.parametrize(
    ("text", "size_bytes"), [('"4 GiB"', 4 * GIB), (str(4 * GIB), 4 * GIB), ("0", 0), ('"0"', 0)]
)
def test_value_as_size_or_in_bytes(text: str, size_bytes: int) -> None:
    campaign = parse_campaign(
        f'name = "x"\nzfs_arc_max = {text}\n[target.memory]\n', base_directory="/", source_name="x"
    )
    assert campaign.zfs_arc_max_bytes == size_bytes
    assert (
        parse_campaign(format_campaign(campaign), base_directory="/", source_name="x").zfs_arc_max_bytes
        == size_bytes
    )


@pytest.mark.parametrize("text", ["1", '"1 MiB"', "-1", "true", '"many"', "1.5", '"20 TiB"', '""'])
def test_what_zfs_would_not_take_is_refused(text: str) -> None:
    with pytest.raises(CampaignError) as caught:
        parse_campaign(
            f'name = "x"\nzfs_arc_max = {text}\n[target.memory]\n', base_directory="/", source_name="x"
        )
    assert caught.value.field == "zfs_arc_max"
    assert "64 MiB" in caught.value.message
