from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from app.domain.errors import ProgramError
from app.domain.json_value import Json
from app.probes.base.backing_devices import BackingDevice, Mount, Resolver
from app.probes.base.probe import Facts, ServerSources, attempt, file_fact, parse_value, selected
from app.probes.facts.environment import (
    FactSources,
    device_facts,
    on_battery,
    processor_facts,
    read_changing_facts,
    read_facts,
    storage_facts,
    thermal_facts,
)
from tests.unit.probes.fakes import write


def no_program(argv: Sequence[str]) -> str:
    raise ProgramError(f"{argv[0]} is not installed")


def reasons(fact: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and reason of everything that could not be read."""
    if isinstance(fact, dict):
        if fact.keys() == {"unreadable"}:
            yield path, str(fact["unreadable"])
        else:
            for name, value in fact.items():
                yield from reasons(value, f"{path}/{name}")


def at(facts: Json, path: str) -> Json:
    for name in path.split("/"):
        assert isinstance(facts, dict)
        facts = facts[name]
    return facts


def test_local_facts_in_all_parts(tmp_path: Path) -> None:
    facts = read_facts(ServerSources(data_directory=str(tmp_path)))
    first = ["format", "kernel", "processor", "memory", "power"]
    assert list(facts) == [*first, "virtualisation", "thermal", "storage", "load", "identity"]
    assert json.loads(json.dumps(facts)) == facts
    assert at(facts, "kernel/release") == os.uname().release
    assert isinstance(at(facts, "memory/info/MemTotal"), int)
    assert at(facts, "storage/mount/filesystem")


def test_whatever_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    assert all(reason for _, reason in reasons(read_facts(ServerSources(data_directory=str(tmp_path)))))


def test_bare_machine_has_reasons(tmp_path: Path) -> None:
    resolver = Resolver(str(tmp_path / "proc"), str(tmp_path / "sys"), no_program, find_mount=_no_mount)
    facts = read_facts(
        ServerSources(data_directory="/data"), FactSources(tmp_path / "proc", tmp_path / "sys", resolver)
    )
    assert list(facts) == list(read_facts(ServerSources(data_directory=str(tmp_path))))
    found = dict(reasons(facts))
    assert found["/kernel/command_line"] == "does not exist on this machine"
    assert found["/virtualisation/machine"] == "systemd-detect-virt is not installed"
    assert "cannot be found" in found["/storage/devices"]
    assert found["/processor/governor"]


def _no_mount(path: str) -> Mount:
    raise FileNotFoundError(2, "No such file or directory", path)


def test_changing_facts_are_few() -> None:
    facts = read_changing_facts()
    assert list(facts) == ["format", "processor", "thermal", "power", "memory", "load"]
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1", -1),
        ("0x1f", "0x1f"),
        ("", ""),
        ("write back", "write back"),
        ("²", "²"),
        ("-", "-"),
    ],
)
def test_whole_numbers_are_numbers(text: str, value: Json) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("none [mq-deadline] kyber bfq", "mq-deadline"),
        ("always [madvise] never", "madvise"),
        ("none", "none"),
    ],
)
def test_the_choice_in_brackets_is_what_counts(text: str, choice: str) -> None:
    assert selected(text) == choice


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_only_root_may_read_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "secret", "1")
    path.chmod(0)
    assert file_fact(path) == {"unreadable": "cannot be read without root"}


def test_what_is_not_understood_is_a_reason() -> None:
    assert "cannot parse" in str(attempt(lambda: int("x")))


def test_shared_governor_is_one_value(tmp_path: Path) -> None:
    for number in (0, 1):
        write(tmp_path / f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor", "powersave\n")
    facts = processor_facts(tmp_path / "proc", tmp_path / "sys")
    assert facts["governor"] == "powersave"
    write(tmp_path / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n")
    facts = processor_facts(tmp_path / "proc", tmp_path / "sys")
    assert facts["governor"] == ["performance", "powersave"]


def test_temperatures_and_throttling(tmp_path: Path) -> None:
    write(tmp_path / "class/thermal/thermal_zone0/type", "x86_pkg_temp\n")
    write(tmp_path / "class/thermal/thermal_zone0/temp", "45500\n")
    write(tmp_path / "class/hwmon/hwmon1/name", "nvme\n")
    write(tmp_path / "class/hwmon/hwmon1/temp1_input", "38850\n")
    for number, count in ((0, 3), (1, 5)):
        folder = tmp_path / f"devices/system/cpu/cpu{number}/thermal_throttle"
        write(folder / "package_throttle_count", f"{count}\n")
    assert thermal_facts(tmp_path) == {
        "zones": {"thermal_zone0 x86_pkg_temp": 45.5},
        "sensors": {"nvme temp1": 38.85},
        "package_throttle_count": 5,
    }


def supply(sys: Path, name: str, **values: str) -> None:
    for key, value in values.items():
        write(sys / "class" / "power_supply" / name / key, f"{value}\n")


def test_battery_and_mains_are_told_apart(tmp_path: Path) -> None:
    assert on_battery(tmp_path) is None
    supply(tmp_path, "hidpp_battery_0", type="Battery", scope="Device", status="Discharging")
    assert on_battery(tmp_path) is None
    supply(tmp_path, "BAT0", type="Battery", status="Discharging", capacity="80")
    assert on_battery(tmp_path) is True
    supply(tmp_path, "AC", type="Mains", online="1")
    assert on_battery(tmp_path) is False


def test_a_disk_has_identity_and_queue(tmp_path: Path) -> None:
    block = tmp_path / "block" / "nvme0n1"
    write(block / "size", "1000215216\n")
    write(block / "device/model", "Samsung SSD 980 PRO 1TB\n")
    write(block / "device/serial", "S5GXNX0T123456\n")
    write(block / "device/firmware_rev", "5B2QGXA7\n")
    write(block / "queue/scheduler", "[none] mq-deadline\n")
    write(block / "queue/write_cache", "write back\n")
    write(block / "device/hwmon1/temp1_input", "41850\n")
    facts = device_facts(BackingDevice("nvme0n1", "disk", is_leaf=True), tmp_path)
    assert at(facts, "size_bytes") == 1000215216 * 512
    assert at(facts, "identity/model") == "Samsung SSD 980 PRO 1TB"
    assert at(facts, "identity/serial") == "S5GXNX0T123456"
    assert at(facts, "identity/firmware_rev") == "5B2QGXA7"
    assert at(facts, "scheduler") == "none"
    assert at(facts, "queue/write_cache") == "write back"
    assert at(facts, "temperatures_celsius/temp1") == 41.85
    assert "needs root" in str(at(facts, "smart"))


def test_an_array_has_level_and_chunk(tmp_path: Path) -> None:
    write(tmp_path / "block/md0/md/level", "raid10\n")
    write(tmp_path / "block/md0/md/chunk_size", "524288\n")
    facts = device_facts(BackingDevice("md0", "md", is_leaf=False), tmp_path)
    assert at(facts, "array/level") == "raid10"
    assert at(facts, "array/chunk_size") == 524288
    assert "identity" not in facts


def filesystem_facts(tmp_path: Path, mount: Mount, answers: dict[str, str]) -> Facts:
    def ask(argv: Sequence[str]) -> str:
        if argv[0] not in answers:
            return no_program(argv)
        return answers[argv[0]]

    resolver = Resolver(str(tmp_path / "proc"), str(tmp_path / "sys"), ask, find_mount=lambda _path: mount)
    facts = storage_facts(str(tmp_path), resolver)["filesystem"]
    assert isinstance(facts, dict)
    return facts


def test_btrfs_tells_its_profiles_and_features(tmp_path: Path) -> None:
    folder = tmp_path / "sys/fs/btrfs/aa-bb"
    write(folder / "devices/sda1/dev", "8:1\n")
    write(folder / "nodesize", "16384\n")
    write(folder / "features/no_holes", "1\n")
    for kind, profile in (("data", "raid1"), ("metadata", "raid1"), ("system", "raid1")):
        (folder / "allocation" / kind / profile).mkdir(parents=True)
    mount = Mount(1, "0:44", "/", "/data", (), "btrfs", "/dev/sda1", ())
    facts = filesystem_facts(tmp_path, mount, {})
    assert facts["nodesize"] == 16384
    assert facts["features"] == ["no_holes"]
    assert facts["profiles"] == {"data": ["raid1"], "metadata": ["raid1"], "system": ["raid1"]}


def test_zfs_tells_version_parameters_and_properties(tmp_path: Path) -> None:
    write(tmp_path / "sys/module/zfs/version", "2.2.7-1\n")
    write(tmp_path / "sys/module/zfs/parameters/zfs_arc_max", "0\n")
    rows = "tank/pg\trecordsize\t8192\tlocal\ntank/pg\tcompression\tlz4\tinherited from tank\n"
    mount = Mount(1, "0:50", "/", "/data", (), "zfs", "tank/pg", ())
    facts = filesystem_facts(tmp_path, mount, {"zfs": rows})
    assert facts == {
        "version": "2.2.7-1",
        "parameters": {"zfs_arc_max": 0},
        "dataset": {"recordsize": 8192, "compression": "lz4"},
    }


def test_xfs_info_or_reason(tmp_path: Path) -> None:
    mount = Mount(1, "8:1", "/", "/data", (), "xfs", "/dev/sda1", ())
    resolver = Resolver(str(tmp_path), str(tmp_path), no_program, find_mount=lambda _path: mount)
    facts = storage_facts(str(tmp_path), resolver)
    assert facts["filesystem"] == {"unreadable": "xfs_info is not installed"}
    assert "does not report" in str(facts["devices"])


def test_wal_devices_are_facts(tmp_path: Path) -> None:
    asked: list[str] = []

    def find_mount(path: str) -> Mount:
        asked.append(path)
        raise FileNotFoundError(2, "No such file or directory", path)

    resolver = Resolver(str(tmp_path), str(tmp_path), no_program, find_mount=find_mount)
    places = FactSources(tmp_path, tmp_path, resolver)
    facts = read_facts(ServerSources(data_directory="/data"), places)
    assert "wal_storage" not in facts
    made, unmade = tmp_path / "made", tmp_path / "unmade" / "pg_wal"
    made.mkdir()
    for folder in (made, unmade):
        facts = read_facts(ServerSources(data_directory="/data", wal_directory=str(folder)), places)
        assert "cannot be found" in str(facts["wal_storage"])
    # What initdb will make lies where the folder around it lies.
    assert set(asked) == {"/data", str(made), str(unmade.parent)}
