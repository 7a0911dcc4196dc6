"""What the kernel says of md arrays (recorded by data/readback/record-arrays.sh), held to what was asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import StorageError
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.raid import Assembler, Level
from app.domain.storage_plan.plan import Bitmap, Group, StoragePlan
from app.domain.text import KIB
from app.storage.checks.readback import ReadBackError, read_back_array
from app.storage.layout.commands import build_steps
from app.storage.layout.steps import AwaitSync, Command, ReadBack, ReadBackArray
from app.storage.system import state
from tests.unit.storage.plans import FOLDER, NAMES, devices, disks

RECORDED = Path(__file__).parents[2] / "data" / "readback"

GROUPS = {
    "stripe": Group(disks(2), Level.STRIPE, "ext4", chunk_bytes=64 * KIB),
    "mirror": Group(disks(2), Level.MIRROR, "ext4"),
    "mirror-none": Group(disks(2), Level.MIRROR, "xfs", bitmap=Bitmap.NONE),
    "raid10": Group(disks(4), Level.RAID10, "xfs"),
    "raid5": Group(disks(3), Level.RAID5, "f2fs", chunk_bytes=64 * KIB, bitmap=Bitmap.NONE),
    "raid6": Group(disks(4), Level.RAID6, "ext4", chunk_bytes=1024 * KIB, bitmap=Bitmap.INTERNAL),
}
"""What each recording was asked to be."""


@pytest.fixture
def sysfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of an array; of the node that is asked for."""
    asked: list[str] = []

    def folder(node: str) -> Path:
        asked.append(node)
        return tmp_path

    monkeypatch.setattr(state, "sysfs_folder", folder)
    return tmp_path


def show(sysfs: Path, name: str) -> Path:
    for line in (RECORDED / f"md-{name}-6.1.txt").read_text().splitlines():
        attribute, _, value = line.partition("=")
        path = sysfs / "md" / attribute
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return sysfs / "md"


def step_of(group: Group) -> ReadBackArray:
    plan = StoragePlan(group)
    (found,) = (
        each for each in build_steps(plan, devices(plan), NAMES, FOLDER) if isinstance(each, ReadBackArray)
    )
    return found


def differences(group: Group) -> dict[str, tuple[str, str]]:
    try:
        read_back_array(step_of(group))
    except ReadBackError as error:
        return {each.option: (each.asked, each.found) for each in error.differences}
    return {}


@pytest.mark.parametrize("name", GROUPS)
def test_array_as_requested_is_silent(sysfs: Path, name: str) -> None:
    show(sysfs, name)
    assert differences(GROUPS[name]) == {}


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("stripe", {"chunk_bytes": 512 * KIB}, {"chunk_size": ("chunk_size=524288", "chunk_size=65536")}),
        ("mirror", {"bitmap": Bitmap.NONE}, {"bitmap": ("bitmap=none", "bitmap=internal")}),
        ("mirror-none", {"bitmap": None}, {"bitmap": ("bitmap=internal", "bitmap=none")}),
        ("raid5", {"bitmap": Bitmap.INTERNAL}, {"bitmap": ("bitmap=internal", "bitmap=none")}),
        ("raid5", {"disks": disks(4)}, {"disks": ("raid_disks=4", "raid_disks=3")}),
        ("raid6", {"level": Level.RAID5}, {"level": ("level=raid5", "level=raid6")}),
        ("raid6", {"chunk_bytes": None}, {"chunk_size": ("chunk_size=524288", "chunk_size=1048576")}),
        (
            "raid6",
            {"level": Level.RAID10, "chunk_bytes": 1024 * KIB},
            {"level": ("level=raid10", "level=raid6"), "layout": ("layout=258", "layout=2")},
        ),
    ],
)
def test_what_differs_is_named_with_both_values(
    sysfs: Path, name: str, change: dict[str, object], found: dict[str, tuple[str, str]]
) -> None:
    show(sysfs, name)
    assert differences(replace(GROUPS[name], **change)) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("location", "bitmap"),
    [
        ("+8", "internal"),
        ("-16", "internal"),
        ("none", "none"),
        (None, "none"),
        ("file", "file"),
        ("", ""),
        ("+", "+"),
        ("8", "8"),
        ("+x", "+x"),
        ("18", "18"),
        ("+8x", "+8x"),
    ],
)
def test_bitmap_location_from_kernel(sysfs: Path, location: str | None, bitmap: str) -> None:
    folder = show(sysfs, "mirror")
    if location is None:
        (folder / "bitmap/location").unlink()
    else:
        (folder / "bitmap/location").write_text(f"{location}\n")
    internal = differences(GROUPS["mirror"])
    assert internal == ({} if bitmap == "internal" else {"bitmap": ("bitmap=internal", f"bitmap={bitmap}")})
    none = differences(replace(GROUPS["mirror"], bitmap=Bitmap.NONE))
    assert none == ({} if bitmap == "none" else {"bitmap": ("bitmap=none", f"bitmap={bitmap}")})


@pytest.mark.parametrize("text", ["", "\n", "0\n", "524288 (65536)\n", "\xff\n"])
def test_kernel_difference_is_reported(sysfs: Path, text: str) -> None:
    folder = show(sysfs, "stripe")
    (folder / "chunk_size").write_text(text, encoding="latin-1")
    assert set(differences(GROUPS["stripe"])) == {"chunk_size"}


def test_pending_change_counts(sysfs: Path) -> None:
    (show(sysfs, "raid5") / "raid_disks").write_text("3 (2)\n")
    assert differences(GROUPS["raid5"]) == {}


@pytest.mark.parametrize("name", ["level", "raid_disks", "chunk_size", "layout"])
def test_missing_kernel_attribute_proves_nothing(sysfs: Path, name: str) -> None:
    (show(sysfs, "stripe") / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_back_array(step_of(GROUPS["stripe"]))


def test_unreadable_bitmap_is_not_no_bitmap(sysfs: Path) -> None:
    place = show(sysfs, "mirror-none") / "bitmap/location"
    place.unlink()
    place.mkdir()
    with pytest.raises(IsADirectoryError):
        read_back_array(step_of(GROUPS["mirror-none"]))


def test_node_that_is_no_array(sysfs: Path) -> None:
    assert sysfs.is_dir()
    with pytest.raises(StorageError, match="/dev/md/.* is not an md array, so nothing could be verified"):
        read_back_array(step_of(GROUPS["mirror"]))


@pytest.mark.parametrize("name", [each.id for each in FILESYSTEMS if each.several is Assembler.MD])
@pytest.mark.parametrize("level", [Level.STRIPE, Level.MIRROR, Level.RAID10, Level.RAID5, Level.RAID6])
def test_array_read_back_before_sync_and_use(name: str, level: Level) -> None:
    plan = StoragePlan(Group(disks(4), level, name))
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    kinds = [type(each) for each in steps]
    at = kinds.index(ReadBackArray)
    made = next(
        number for number, each in enumerate(steps) if isinstance(each, Command) and "mdadm" in each.argv
    )
    mkfs = filesystem(name).mkfs
    filled = next(
        number for number, each in enumerate(steps) if isinstance(each, Command) and mkfs in each.argv
    )
    assert made < at < filled < kinds.index(ReadBack)
    if AwaitSync in kinds:
        assert at < kinds.index(AwaitSync)
