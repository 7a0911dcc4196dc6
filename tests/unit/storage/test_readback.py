"""What was made is read back from recordings of the real tools (tests/data/readback/record.sh)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.domain.errors import StorageError
from app.domain.filesystems import filesystem
from app.domain.formats.btrfs import parse_df, parse_dump_super
from app.domain.formats.common import parse_dumpe2fs
from app.domain.formats.f2fs import parse_dump_f2fs
from app.domain.formats.xfs import parse_xfs_info
from app.domain.formats.zfs import parse_properties
from app.domain.options.format_spec import Creation, StripeGeometry
from app.domain.options.kinds import ExpectedToken
from app.domain.options.raid import Level, layout
from app.storage.checks.readback import ReadBackError, read_back
from app.storage.layout.steps import ReadBack
from app.storage.system import state
from app.storage.system.programs import CompletedProgram

RECORDED = Path(__file__).parents[2] / "data" / "readback"
FOLDER = "/run/pgfooting/session/storage"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def test_ext4_features_are_words() -> None:
    tokens = set(parse_dumpe2fs(recorded("dumpe2fs-1.47.0.txt")))
    assert {"has_journal", "fast_commit", "metadata_csum"} <= tokens
    assert {"Block size: 4096", "RAID stride: 128", "RAID stripe width: 384", "Inode size: 256"} <= tokens


def test_xfs_sections_continue_over_lines() -> None:
    tokens = set(parse_xfs_info(recorded("xfs_info-6.1.0.txt")))
    assert {"meta-data.reflink=0", "meta-data.crc=1", "meta-data.agcount=8", "data.bsize=4096"} <= tokens
    assert {"data.sunit=128", "data.swidth=384", "log.sunit=8", "log.lazy-count=1"} <= tokens


def test_values_and_flags_of_btrfs_are_told() -> None:
    tokens = set(parse_dump_super(recorded("btrfs-dump-super-6.2.txt")))
    assert {"nodesize=16384", "csum_type=xxhash64", "NO_HOLES", "FREE_SPACE_TREE", "num_devices=2"} <= tokens


def test_btrfs_profiles_of_every_kind() -> None:
    assert {"Data=raid1", "Metadata=raid1"} <= set(parse_df(recorded("btrfs-df-6.2.txt")))
    mixed = "Data, RAID5: total=1, used=0\nData, single: total=2, used=0\n"
    assert list(parse_df(mixed)) == ["Data=raid5+single"]


def test_features_of_f2fs_are_words() -> None:
    found = list(parse_dump_f2fs(recorded("dump.f2fs-1.15.0.txt")))
    assert found == ["extra_attr", "inode_checksum", "sb_checksum"]


def test_properties_are_names_and_values() -> None:
    assert list(parse_properties("recordsize\t8192\natime\toff\nno tab\n")) == [
        "recordsize=8192",
        "atime=off",
    ]


class Machine:
    """Answers of the tools as they were recorded, and a mountinfo of the test's own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mountinfo: str) -> None:
        folder = tmp_path / "self"
        folder.mkdir()
        (folder / "mountinfo").write_text(mountinfo)
        monkeypatch.setattr(state, "PROC", tmp_path)
        self.asked: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str]) -> CompletedProgram:
        self.asked.append(tuple(argv))
        names = {
            "dumpe2fs": "dumpe2fs-1.47.0.txt",
            "xfs_info": "xfs_info-6.1.0.txt",
            "dump-super": "btrfs-dump-super-6.2.txt",
            "df": "btrfs-df-6.2.txt",
            "dump.f2fs": "dump.f2fs-1.15.0.txt",
            "lsattr": "lsattr-1.47.0.txt",
        }
        name = next(names[word] for word in (argv[0], *argv[1:]) if word in names)
        return CompletedProgram(tuple(argv), 0, recorded(name), "", 0.0)


def mounted(filesystem: str, options: str) -> str:
    return f"43 27 7:0 / {FOLDER} rw,nosuid,nodev,noatime - {filesystem} /dev/sda1 rw,{options}\n"


def step(
    name: str,
    options: dict[str, bool | int | str],
    level: Level | None = None,
    geometry: StripeGeometry | None = None,
) -> ReadBack:
    """Reading back options and, where a level is told, what follows from how the disks are combined."""
    spec = filesystem(name)
    expected: tuple[ExpectedToken, ...] = ()
    if level and spec.expected:
        expected = spec.expected(Creation(options, (), "", layout(level, spec.assembler(level)), geometry))
    return ReadBack(name, FOLDER, "/dev/sda1", tuple(options.items()), "why", expected)


EXT4 = mounted("ext4", "errors=remount-ro,data=writeback,commit=999")


def differences(machine: Machine, asked: ReadBack) -> dict[str, str]:
    try:
        read_back(asked, machine.run)
    except ReadBackError as err:
        return {each.option: each.found for each in err.differences}
    return {}


def test_as_requested_is_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, EXT4)
    chosen: dict[str, bool | int | str] = {
        "atime": "noatime",
        "data": "writeback",
        "commit": 999,
        "fast_commit": True,
        "block_size": 4096,
    }
    read_back(step("ext4", chosen, Level.RAID5, StripeGeometry(512 * 1024, 3)), machine.run)
    assert machine.asked == [("dumpe2fs", "-h", "/dev/sda1")]


def test_only_needed_tools_by_node_or_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = recorded("mountinfo-btrfs-6.18.txt").replace("/tmp/rec/m", FOLDER)
    machine = Machine(monkeypatch, tmp_path, text)
    assert differences(machine, step("btrfs", {"checksum": "xxhash"})) == {}
    assert [(argv[2], argv[-1]) for argv in machine.asked] == [("dump-super", "/dev/sda1")]
    machine.asked.clear()
    differences(machine, step("btrfs", {"nocow_attribute": True}))
    assert [(argv[0], argv[-1]) for argv in machine.asked] == [("lsattr", FOLDER)]


def test_every_difference_with_what_was_requested(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, EXT4)
    with pytest.raises(
        ReadBackError, match=r"commit: .*found commit=999; block_size: .*1024.*4096"
    ) as caught:
        read_back(step("ext4", {"commit": 5, "block_size": 1024}), machine.run)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"commit": 5}, {"commit": "commit=999"}),
        ({"barrier": False}, {"barrier": "nothing"}),
        ({"atime": "relatime"}, {"atime": "noatime"}),
        ({"data": "journal"}, {"data": "data=writeback"}),
        (
            {"journal": False, "block_size": 1024},
            {"journal": "has_journal", "block_size": "Block size: 4096"},
        ),
    ],
)
def test_difference_names_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, bool | int | str],
    found: dict[str, str],
) -> None:
    assert differences(Machine(monkeypatch, tmp_path, EXT4), step("ext4", options)).items() >= found.items()


def test_zfs_access_times_of_two_properties() -> None:
    """Where atime is off relatime has no effect, whatever it is: the recommended preset on ZFS 2.1."""
    option = filesystem("zfs").option("atime")

    def shown_as(value: str, *tokens: str) -> bool:
        seen = option.seen(value)
        assert seen is not None
        return seen.contradictions(tokens) == ()

    for relatime in ("relatime=on", "relatime=off"):
        assert shown_as("noatime", "atime=off", relatime)
        assert not shown_as("relatime", "atime=off", relatime)
        assert not shown_as("strictatime", "atime=off", relatime)
        assert not shown_as("noatime", "atime=on", relatime)
    assert shown_as("relatime", "atime=on", "relatime=on")
    assert shown_as("strictatime", "atime=on", "relatime=off")
    assert not shown_as("relatime", "atime=on", "relatime=off")


def test_a_lost_protection_is_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, EXT4.replace("nosuid,", "").replace("errors=remount-ro,", ""))
    assert set(differences(machine, step("ext4", {}))) == {"nosuid", "errors=remount-ro"}


def test_another_alignment_is_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, mounted("xfs", "attr2"))
    good = step("xfs", {"reflink": False}, Level.RAID5, StripeGeometry(512 * 1024, 3))
    assert differences(machine, good) == {}
    bad = step("xfs", {"reflink": True}, Level.RAID5, StripeGeometry(64 * 1024, 3))
    assert set(differences(machine, bad)) == {"alignment", "reflink"}


def test_another_profile_is_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(
        monkeypatch, tmp_path, recorded("mountinfo-btrfs-6.18.txt").replace("/tmp/rec/m", FOLDER)
    )
    good = step("btrfs", {"datacow": False, "checksum": "xxhash"}, Level.MIRROR)
    assert differences(machine, good) == {}
    chosen: dict[str, bool | int | str] = {
        "nocow_attribute": True,
        "compress": "lzo",
        "metadata_profile": "raid1c3",
    }
    bad = step("btrfs", chosen, Level.MIRROR)
    assert differences(machine, bad) == {"metadata profile": "Metadata=raid1", "compress": "nothing"}


def test_another_filesystem_or_none_is_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, EXT4)
    assert differences(machine, step("ext3", {})) == {"type": "ext4"}
    (tmp_path / "self" / "mountinfo").write_text("")
    assert differences(machine, step("ext4", {})) == {"type": "nothing mounted"}


@pytest.mark.parametrize("said", ["", "\n", "Usage\n", "\x00\x00"])
@pytest.mark.parametrize("options", [{"journal": False}, {"block_size": 4096}])
def test_tool_without_output_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, options: dict[str, bool | int | str]
) -> None:
    Machine(monkeypatch, tmp_path, EXT4)
    with pytest.raises(StorageError, match="cannot parse the output of dumpe2fs -h /dev/sda1"):
        read_back(step("ext4", options), lambda argv: CompletedProgram(tuple(argv), 0, said, "", 0.0))


def test_a_tool_that_lies_is_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, mounted("xfs", "attr2"))
    lie = "data     =                 bsize=4096\n         =                       sunit=0 swidth=0 blks\n"
    asked = step("xfs", {"su": 65536, "sw": 2}, Level.SINGLE)
    with pytest.raises(ReadBackError) as caught:
        read_back(asked, lambda argv: CompletedProgram(tuple(argv), 0, lie, "", 0.0))
    ((name, wanted, found),) = [(each.option, each.asked, each.found) for each in caught.value.differences]
    assert name == "alignment"
    assert wanted == "data.sunit=16, data.swidth=32"
    assert found == "data.sunit=0, data.swidth=0"


def test_folder_attributes_by_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = recorded("mountinfo-btrfs-6.18.txt").replace("/tmp/rec/m", FOLDER)
    Machine(monkeypatch, tmp_path, text)

    def saying(said: str) -> Callable[[Sequence[str]], CompletedProgram]:
        return lambda argv: CompletedProgram(tuple(argv), 0, said, "", 0.0)

    asked = step("btrfs", {"nocow_attribute": False})
    read_back(asked, saying("---------------------- /m\n"))
    with pytest.raises(ReadBackError):
        read_back(asked, saying("---------------C------ /m\n"))
    with pytest.raises(StorageError, match="cannot parse the output"):
        read_back(asked, saying(""))


def test_a_tool_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Machine(monkeypatch, tmp_path, EXT4)
    with pytest.raises(StorageError, match=r"dumpe2fs.*status 1.*bad magic"):
        read_back(
            step("ext4", {"block_size": 4096}),
            lambda argv: CompletedProgram(tuple(argv), 1, "", "bad magic", 0.0),
        )
