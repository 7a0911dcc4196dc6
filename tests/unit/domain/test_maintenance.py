"""What is done between phases is a name of a registry: each says who does it, where, and for how long."""

from __future__ import annotations

import pytest

from app.domain.campaign.phases import background
from app.domain.filesystems import FILESYSTEMS
from app.domain.maintenance import MAINTENANCE, DoneBy, Maintenance, maintenance


@pytest.mark.parametrize("each", MAINTENANCE, ids=lambda each: each.name)
def test_maintenance_by_name_with_limit(each: Maintenance) -> None:
    assert maintenance(each.name) is each
    assert 0 < each.limit_s <= 86_400
    assert each.label
    assert not each.label.endswith(".")
    assert bool(each.statement) == (each.done_by is DoneBy.SERVER)


def test_names_are_words_of_their_own() -> None:
    names = [each.name for each in MAINTENANCE]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalpha() and name.islower() for name in names)


@pytest.mark.parametrize("name", ["", "CHECKPOINT", "fstrim ", "fstrim /", "scrub", "rm"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        maintenance(name)


def test_root_does_only_what_its_filesystem_has() -> None:
    known = {each.id for each in FILESYSTEMS}
    for each in MAINTENANCE:
        assert set(each.filesystems) <= known
        assert bool(each.filesystems) == (each.done_by is DoneBy.ROOT)
    on = {
        name: {each.name for each in MAINTENANCE if each.filesystems and each.is_on(name)} for name in known
    }
    assert on["xfs"] == {"fstrim"}
    assert on["btrfs"] == {"fstrim", "btrfs-balance", "btrfs-scrub", "snapshot", "remove-snapshots"}
    assert on["zfs"] == {"zpool-trim", "zpool-scrub", "snapshot", "remove-snapshots"}
    assert on["tmpfs"] == on["reiserfs"] == set()


@pytest.mark.parametrize(
    ("name", "filesystems", "found"),
    [
        ("pg_basebackup", [], "base-backup"),
        ("scrub", ["btrfs"], "btrfs-scrub"),
        ("scrub", ["xfs", "zfs"], "zpool-scrub"),
        ("snapshot", ["zfs"], "snapshot"),
        ("scrub", ["ext4"], "“scrub” exists only on btrfs, zfs; this target has ext4."),
        ("snapshot", [], "“snapshot” needs root and spare disks, which this target does not have."),
    ],
)
def test_background_work_by_filesystem(name: str, filesystems: list[str], found: str) -> None:
    work = background(name)
    kind = work.kind_on(filesystems)
    assert (work.obstacle(filesystems) if kind is None else kind.name) == found


def test_nothing_else_is_done_beside_a_phase() -> None:
    with pytest.raises(KeyError):
        background("fstrim")
