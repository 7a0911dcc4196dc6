from __future__ import annotations

from pathlib import Path

import pytest

from app.probes.base.backing_devices import Backing, BackingDevice, Mount
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sources.block_devices import BlockDevicesProbe, parse_device_stat
from tests.unit.probes.fakes import CONTEXT, HandClock, values, write

# recorded on Linux 6.18, a virtio disk
RECORDED = (
    "    88070    25876  3315306    17289     7959    18550  1556256     2449        0    11832    20020"
    "     3511       70   219064      261      570       20\n"
)
MOUNT = Mount(1, "8:1", "/", "/data", (), "ext4", "/dev/sda1", ())
ZEROS = (0,) * 17


def backing(*devices: BackingDevice) -> Backing:
    return Backing("/data", MOUNT, devices)


def set_stat(sys: Path, name: str, counters: tuple[int, ...]) -> None:
    write(sys / "block" / name / "stat", " ".join(map(str, counters)))


def counters(**named: int) -> tuple[int, ...]:
    """Return the 17 fields with some of them set."""
    first = "reads _ read_sectors read_ms writes _ write_sectors write_ms _ busy_ms queue_ms discards"
    order = [*first.split(), *"___", "flushes", "flush_ms"]
    return tuple(named.get(name, 0) for name in order)


def open_probe(sys: Path, clock: HandClock, *devices: BackingDevice) -> BlockDevicesProbe:
    probe = BlockDevicesProbe(lambda _path: backing(*devices), str(sys), clock)
    probe.open(CONTEXT)
    return probe


DISK = BackingDevice("sda", "disk", is_leaf=True)


def test_the_requests_in_flight_are_no_counter() -> None:
    fields = parse_device_stat(RECORDED.replace("        0    11832", "        7    11832").encode())
    assert len(fields) == 17
    assert fields[8] == 0
    assert fields[15:] == (570, 20)


def test_a_cut_text_is_an_error() -> None:
    with pytest.raises(ValueError, match=".*"):
        parse_device_stat(b"1 2 3")


def test_wal_on_own_disks_counts(tmp_path: Path) -> None:
    clock = HandClock()
    for name in ("sda", "sdb"):
        set_stat(tmp_path, name, ZEROS)
    other = BackingDevice("sdb", "disk", is_leaf=True)
    found = {"/data": backing(DISK), "/wal/pg_wal": backing(DISK, other)}
    probe = BlockDevicesProbe(found.__getitem__, str(tmp_path), clock)
    probe.open(ProbeContext(ServerSources(data_directory="/data", wal_directory="/wal/pg_wal")))
    probe.read()
    clock.advance(1)
    for name in ("sda", "sdb"):
        set_stat(tmp_path, name, counters(writes=10, write_sectors=80))
    read = values(probe.read())
    assert read["storage.writes"] == 20
    assert (read["device.writes sda"], read["device.writes sdb"]) == (10, 10)


def test_rates_over_true_interval(tmp_path: Path) -> None:
    clock = HandClock()
    set_stat(tmp_path, "sda", ZEROS)
    probe = open_probe(tmp_path, clock, DISK)
    assert probe.read() == []
    clock.advance(2)
    gained = counters(
        reads=200, read_sectors=3200, read_ms=50, writes=400, write_sectors=6400, write_ms=400,
        busy_ms=500, queue_ms=470, discards=4, flushes=100, flush_ms=300,
    )  # fmt: skip
    set_stat(tmp_path, "sda", gained)
    device = {
        "reads": 100, "writes": 200, "read_bytes": 819200, "write_bytes": 1638400, "queue": 0.235,
        "flushes": 50, "read_await": 0.25, "write_await": 1, "flush_await": 3,
    }  # fmt: skip
    expected = {f"device.{name} sda": value for name, value in device.items()}
    expected |= {f"storage.{name}": value for name, value in device.items()}
    expected |= {"device.utilisation sda": 25, "device.discards sda": 2}
    assert values(probe.read()) == expected
    probe.close()


def test_mean_time_without_requests(tmp_path: Path) -> None:
    clock = HandClock()
    set_stat(tmp_path, "sda", ZEROS)
    probe = open_probe(tmp_path, clock, DISK)
    probe.read()
    clock.advance(1)
    found = values(probe.read())
    assert found["device.reads sda"] == 0
    assert not [name for name in found if "await" in name]
    probe.close()


def test_storage_sums_only_disks(tmp_path: Path) -> None:
    clock = HandClock()
    array = BackingDevice("md0", "md", is_leaf=False)
    disks = [BackingDevice(name, "disk", is_leaf=True) for name in ("sda", "sdb")]
    for name in ("md0", "sda", "sdb"):
        set_stat(tmp_path, name, ZEROS)
    probe = open_probe(tmp_path, clock, array, *disks)
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "md0", counters(writes=1000))
    set_stat(tmp_path, "sda", counters(writes=100, write_ms=100, flushes=5))
    set_stat(tmp_path, "sdb", counters(writes=300, write_ms=900, flushes=7))
    found = values(probe.read())
    assert found["storage.writes"] == 400
    assert found["storage.write_await"] == 2.5
    assert found["storage.flushes"] == 12
    assert found["device.writes md0"] == 1000
    assert "device.flushes md0" not in found
    assert [(each.metric, each.instance) for each in probe.omissions] == [("device.flushes", "md0")]
    probe.close()


def test_disk_below_loop_not_summed(tmp_path: Path) -> None:
    clock = HandClock()
    loop = BackingDevice("loop0", "loop", is_leaf=False)
    below = BackingDevice("sda", "disk", is_leaf=True, beneath_loop=True)
    for name in ("loop0", "sda"):
        set_stat(tmp_path, name, ZEROS)
    probe = open_probe(tmp_path, clock, loop, below)
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "loop0", counters(writes=6000, write_sectors=96000, flushes=50))
    set_stat(tmp_path, "sda", counters(writes=20, write_sectors=64000))
    found = values(probe.read())
    assert (found["storage.writes"], found["storage.flushes"]) == (6000, 50)
    assert found["storage.write_bytes"] == 96000 * 512
    assert found["device.writes sda"] == 20
    probe.close()


@pytest.mark.parametrize(
    ("fields", "omitted"), [(11, {"device.flushes", "device.discards"}), (15, {"device.flushes"})]
)
def test_older_kernel_fields_omitted(tmp_path: Path, fields: int, omitted: set[str]) -> None:
    clock = HandClock()
    set_stat(tmp_path, "sda", ZEROS[:fields])
    probe = open_probe(tmp_path, clock, DISK)
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "sda", (9,) * fields)
    found = values(probe.read())
    assert {each.metric for each in probe.omissions} == omitted
    assert all("Linux" in each.reason for each in probe.omissions)
    assert "storage.flushes" not in found
    assert found["storage.reads"] == 9
    probe.close()


def test_recreated_device(tmp_path: Path) -> None:
    clock = HandClock()
    set_stat(tmp_path, "sda", counters(writes=10**9))
    probe = open_probe(tmp_path, clock, DISK)
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "sda", counters(writes=5))
    assert probe.read() == []
    clock.advance(1)
    set_stat(tmp_path, "sda", counters(writes=8))
    assert values(probe.read())["storage.writes"] == 3
    probe.close()


def test_sum_needs_every_disk(tmp_path: Path) -> None:
    clock = HandClock()
    for name in ("sda", "sdb"):
        set_stat(tmp_path, name, counters(writes=100))
    probe = open_probe(tmp_path, clock, DISK, BackingDevice("sdb", "disk", is_leaf=True))
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "sdb", counters(writes=1))
    found = values(probe.read())
    assert "device.writes sda" in found
    assert "storage.writes" not in found
    probe.close()


def test_disabled_counters_are_a_reason(tmp_path: Path) -> None:
    set_stat(tmp_path, "sda", ZEROS)
    write(tmp_path / "block" / "sda" / "queue" / "iostats", "0\n")
    with pytest.raises(ProbeUnavailable, match="iostats is 0"):
        open_probe(tmp_path, HandClock(), DISK)


def test_utilisation_is_never_more_than_the_whole(tmp_path: Path) -> None:
    clock = HandClock()
    set_stat(tmp_path, "sda", ZEROS)
    probe = open_probe(tmp_path, clock, DISK)
    probe.read()
    clock.advance(1)
    set_stat(tmp_path, "sda", counters(busy_ms=1004))
    assert values(probe.read())["device.utilisation sda"] == 100
    probe.close()
