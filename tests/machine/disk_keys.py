"""The keys of `[target.disks]`, with values for each, and where what was chosen is read back from a run.

Root's own commands, what the kernel says of the mounted filesystem, the marks: a run file holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from app.campaign_file.reader import parse_campaign
from app.domain.errors import CampaignError
from app.domain.filesystems import filesystem
from app.domain.options.option_spec import capacity
from app.domain.options.raid import Level, layout
from app.domain.text import MIB
from app.runfile.reader import RunFile
from tests.fix_campaign import ORDINARY_EVENTS, server_settings_of
from tests.pairs import Pair, Row, pairwise

DATA, WAL, LOG = slice(0, 4), 4, 5
"""Which of six disks are for what."""
_COUNTS: Final = {"single": 1, "mirror": 2, "raid10": 4, "raid5": 3}
_SMALL_MIB: Final = 700
_ORDINARY: Final = ORDINARY_EVENTS | {"storage"}


@dataclass(frozen=True, slots=True)
class Back:
    """A finished run, to read back from it what acted.

    Attributes:
        run: its file.
        row: what was chosen, by key.
    """

    run: RunFile
    row: Row

    @property
    def by_root(self) -> list[tuple[str, ...]]:
        """Arguments of the commands that root executed and that succeeded."""
        done = (each for each in self.run.commands() if each.account == "root" and each.exit_code == 0)
        return [each.argv for each in done]

    def root(self, program: str) -> list[tuple[str, ...]]:
        return [argv for argv in self.by_root if argv[0].rpartition("/")[2] == program]

    @property
    def storage(self) -> dict[str, Any]:
        found: Any = self.run.facts("before")["storage"]
        return dict(found)

    @property
    def mount_options(self) -> set[str]:
        mount = self.storage["mount"]
        return {*mount["options"], *mount["super_options"]}

    @property
    def on_md(self) -> bool:
        return self.row["filesystem"] == "xfs" and self.row["level"] != "left out"


@dataclass(frozen=True, slots=True)
class Value:
    """One way to give a key.

    Attributes:
        check: raises AssertionError where what acted is something else.
        toml: what is written below the configuration: key and literal; nothing where it is left out.
    """

    check: Callable[[Back], None]
    toml: Mapping[str, str] = field(default_factory=dict)


def declared(serials: Sequence[str]) -> dict[str, dict[str, Value]]:
    """Return the values of every key, by names.

    Args:
        serials: of six disks of 1 GiB.
    """
    levels = {
        name: Value(
            _level,
            {"data": _names(serials[:count])} | ({} if name == "single" else {"level": f'"{name}"'}),
        )
        for name, count in _COUNTS.items()
    }
    wal = f'{{data = {_names(serials[WAL : WAL + 1])}, filesystem = "ext4", partition_size = "600 MiB"}}'
    return {
        "level": {"left out": levels.pop("single"), **levels},
        "filesystem": {
            name: Value(_filesystem, {"filesystem": f'"{name}"'}) for name in ("xfs", "btrfs", "zfs")
        },
        "preset": {
            "left out": Value(_defaults),
            "recommended": Value(_recommended, {"preset": '"recommended"'}),
        },
        "options": {
            "left out": Value(_no_options),
            "relatime": Value(_relatime, {"options": '{atime = "relatime"}'}),
        },
        "partition_size": {
            "small": Value(_small, {"partition_size": f'"{_SMALL_MIB} MiB"'}),
            "whole": Value(_whole, {"partition_size": '"whole"'}),
        },
        "chunk_size": {
            "left out": Value(_nothing),
            "64 KiB": Value(_created("--chunk=64K"), {"chunk_size": '"64 KiB"'}),
        },
        "bitmap": {
            "left out": Value(_default_bitmap),
            "none": Value(_created("--bitmap=none"), {"bitmap": '"none"'}),
        },
        "initial_sync": {
            "left out": Value(_waits),
            "assume-clean": Value(_created("--assume-clean"), {"initial_sync": '"assume-clean"'}),
        },
        "scheduler": {
            "left out": Value(_nothing),
            "mq-deadline": Value(_scheduled, {"scheduler": '"mq-deadline"'}),
        },
        "read_ahead": {
            "left out": Value(_nothing),
            "512 KiB": Value(_read_ahead, {"read_ahead": '"512 KiB"'}),
        },
        "wal": {"left out": Value(_no_wal), "ext4": Value(_wal, {"wal": wal})},
        "zfs_log": {
            "left out": Value(_no_log),
            "one": Value(_log, {"zfs_log": _names(serials[LOG : LOG + 1])}),
        },
        "memory_limit": {
            "left out": Value(_unlimited),
            "512 MiB": Value(_limited, {"memory_limit": '"512 MiB"'}),
        },
    }


def table_of(row: Row, values: Mapping[str, Mapping[str, Value]]) -> str:
    """Return the keys of `[configuration.target.disks]` of a row."""
    given = [item for key, name in row.items() for item in values[key][name].toml.items()]
    return "".join(f"{key} = {text}\n" for key, text in given)


def may_be(row: Row, values: Mapping[str, Mapping[str, Value]]) -> bool:
    """Whether a campaign file may say all of a row; a memory limit on ZFS needs a limit of its cache."""
    if row["memory_limit"] != "left out" and row["filesystem"] == "zfs":
        return False
    text = f'name = "x"\n[target.disks]\n{table_of(row, values)}'
    try:
        parse_campaign(text, base_directory="/", source_name="x")
    except CampaignError:
        return False
    return True


@cache
def disk_rows() -> tuple[list[Row], set[Pair]]:
    """Return the rows, and the pairs that nobody can choose."""
    values = declared([f"S{number}" for number in range(6)])
    names = {key: tuple(each) for key, each in values.items()}
    return pairwise(names, allowed=lambda row: may_be(row, values))


def what_is_wrong(run: RunFile, row: Row, values: Mapping[str, Mapping[str, Value]]) -> str:
    """Return what a run did not do as chosen, by key; empty where all is as it should be."""
    run.check()
    if run.values["state"] != "done":
        return f"{run.values['state']}: {run.values.get('error')}"
    wrong = [f"{each.kind}: {each.message}" for each in run.events() if each.kind not in _ORDINARY]
    for key, name in row.items():
        try:
            values[key][name].check(Back(run, row))
        except AssertionError as error:
            wrong.append(f"{key} = {name}: {str(error).splitlines()[:4]}")
    return "; ".join(wrong)


def _names(serials: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{serial}"' for serial in serials) + "]"


def _nothing(_: Back) -> None:
    """Read nothing back: what is left out follows from the others."""


def _level_of(back: Back) -> Level:
    name = back.row["level"]
    return Level.SINGLE if name == "left out" else Level(name)


def _level(back: Back) -> None:
    level = _level_of(back)
    spec = filesystem(back.row["filesystem"])
    word = layout(level, spec.assembler(level)).name
    count = _COUNTS[level.value]
    others = (back.row["wal"] != "left out") + (back.row["zfs_log"] != "left out")
    assert len(back.root("sfdisk")) == count + others
    if back.on_md:
        (create,) = (argv for argv in back.root("mdadm") if "--create" in argv)
        assert {f"--level={word}", f"--raid-devices={count}"} <= set(create)
    elif spec.id == "zfs":
        (create,) = (argv for argv in back.root("zpool") if "create" in argv)
        assert word == "" or word in create
    elif spec.id == "btrfs" and count > 1:
        (made,) = back.root("mkfs.btrfs")
        assert word in made


def _filesystem(back: Back) -> None:
    assert back.storage["mount"]["filesystem"] == back.row["filesystem"]


def _defaults(back: Back) -> None:
    assert server_settings_of(back.run, "filesystem") == ({}, {})
    assert "noatime" not in back.mount_options


def _recommended(back: Back) -> None:
    chosen, shown = server_settings_of(back.run, "filesystem")
    of_wal = {} if back.row["wal"] != "left out" else {"wal_init_zero": "off", "wal_recycle": "off"}
    of_data = {"full_page_writes": "off"}
    assert chosen == {"xfs": {}, "btrfs": of_wal, "zfs": of_wal | of_data}[back.row["filesystem"]]
    assert shown == chosen
    if back.row["filesystem"] == "zfs":
        dataset = back.storage["filesystem"]["dataset"]
        assert (dataset["recordsize"], dataset["compression"]) == (32768, "lz4")


def _no_options(back: Back) -> None:
    if back.row["filesystem"] != "zfs":
        assert ("noatime" in back.mount_options) == (back.row["preset"] == "recommended")


def _relatime(back: Back) -> None:
    if back.row["filesystem"] == "zfs":
        assert any("relatime=on" in argv for argv in back.root("zpool") if "create" in argv)
    else:
        assert "relatime" in back.mount_options


def _holds_mib(back: Back) -> float:
    return float(back.storage["space"]["total_bytes"]) / MIB


def _usable_mib(back: Back, partition_mib: int) -> int:
    level, spec = _level_of(back), filesystem(back.row["filesystem"])
    sizes = [partition_mib] * _COUNTS[level.value]
    if spec.id == "btrfs" and level is Level.RAID5:  # counts the parity as room (seen in statvfs)
        return sum(sizes)
    return capacity(layout(level, spec.assembler(level)), sizes)


def _small(back: Back) -> None:
    assert _holds_mib(back) <= _usable_mib(back, _SMALL_MIB)


def _whole(back: Back) -> None:
    assert _holds_mib(back) > _usable_mib(back, _SMALL_MIB)


def _created(word: str) -> Callable[[Back], None]:
    def check(back: Back) -> None:
        (create,) = (argv for argv in back.root("mdadm") if "--create" in argv)
        assert word in create

    return check


def _default_bitmap(back: Back) -> None:
    if back.on_md:
        _created("--bitmap=internal")(back)


def _waits(back: Back) -> None:
    assert not any("--assume-clean" in argv for argv in back.by_root)


def _disks(back: Back) -> list[dict[str, Any]]:
    """Return the facts of the whole disks below the data."""
    devices: dict[str, dict[str, Any]] = back.storage["devices"]
    return [each for each in devices.values() if each["is_counted"]]


def _scheduled(back: Back) -> None:
    assert {each["scheduler"] for each in _disks(back)} == {"mq-deadline"}


def _read_ahead(back: Back) -> None:
    assert {each["queue"]["read_ahead_kb"] for each in _disks(back)} == {512}


def _initdb(back: Back) -> tuple[str, ...]:
    (found,) = (each.argv for each in back.run.commands() if each.argv[0].endswith("/initdb"))
    return found


def _no_wal(back: Back) -> None:
    assert "--waldir" not in _initdb(back)


def _wal(back: Back) -> None:
    argv = _initdb(back)
    assert argv[argv.index("--waldir") + 1].endswith("/wal/pg_wal")
    assert len(back.root("mkfs.ext4")) == 1


def _no_log(back: Back) -> None:
    assert not any("log" in argv for argv in back.root("zpool"))


def _log(back: Back) -> None:
    (create,) = (argv for argv in back.root("zpool") if "create" in argv)
    assert create[-2] == "log"


def _unlimited(back: Back) -> None:
    assert "memory-limited" not in dict(back.run.marks())


def _limited(back: Back) -> None:
    assert "512 MiB" in dict(back.run.marks())["memory-limited"]
