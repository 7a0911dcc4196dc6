"""What the kernel uses devices for: each source as Linux writes it, and every line of it that counts."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import struct
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.domain.errors import ProgramError
from app.storage.inspect import uses
from app.storage.inspect.snapshot import DeviceUse, Reading, SourceKnowledge, needs_root, unreadable
from app.storage.inspect.sources import SourceFolders
from app.storage.inspect.uses import LoopBacking
from app.storage.system.programs import CompletedProgram
from tests.unit.storage.fake_machine import add_partition, add_scsi_disk, block_nodes, write

SWAPS = """\
Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority
/dev/sda2                               partition\t999420\t\t0\t\t-2
/var/swap\\040file                       file\t\t999420\t\t0\t\t-3
/dev/dm\\0401                            partition\t999420\t\t0\t\t-4
"""
STATUS = """\
  pool: tank of two words
 state: ONLINE
config:

\tNAME           STATE     READ WRITE CKSUM
\ttank           ONLINE       0     0     0
\t  mirror-0     ONLINE       0     0     0
\t    /dev/sdb1  ONLINE       0     0     0
\t    /dev/sdc1  ONLINE       0     0     0
\tlogs
\t  /dev/nvme0n1p1  ONLINE    0     0     0
\tspares
\t  /srv/file    AVAIL

errors: No known data errors

  pool: sdd
 state: ONLINE
config:

\tNAME           STATE     READ WRITE CKSUM
\tsdd            ONLINE       0     0     0
\t  /dev/sde     ONLINE       0     0     0

errors: No known data errors
"""


def test_node_number_of_block_devices_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block_nodes(monkeypatch, {"/dev/sdq": "65:0"})
    for path in (str(tmp_path), "/dev/null", "/nowhere", "/dev/\0"):
        assert not uses.node_number(path)
    assert uses.node_number("/dev/sdq") == "65:0"


def test_swap_devices_and_swap_files(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    block_nodes(monkeypatch, {"/dev/sda2": "8:2", "/dev/dm 1": "253:1"})
    (places.proc / "swaps").write_text(SWAPS)
    reading = uses.read_swaps(places)
    assert (reading.state, reading.value) == (
        SourceKnowledge.READ,
        (DeviceUse("8:2", "/dev/sda2", "/proc/swaps"), DeviceUse("253:1", "/dev/dm 1", "/proc/swaps")),
    )


@pytest.mark.parametrize("line", ["/dev/sda2", "", "/dev/gone partition 1 0 -2"])
def test_malformed_swaps_line_is_unreadable(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    block_nodes(monkeypatch, {"/dev/sda2": "8:2"})
    (places.proc / "swaps").write_text(f"{SWAPS.splitlines()[0]}\n{line}\n/var/swap file 1 0 -3\n")
    assert uses.read_swaps(places).state is SourceKnowledge.UNREADABLE


def test_all_devices_of_mounted_btrfs(places: SourceFolders) -> None:
    write(places.sys, {"fs/btrfs/0a-1b/devices/sdb/dev": "8:16", "fs/btrfs/0a-1b/devices/sdc/dev": "8:32"})
    found = uses.read_btrfs(places).known(())
    assert [use.number for use in found] == ["8:16", "8:32"]
    assert all("0a-1b" in use.user for use in found)


def answering(monkeypatch: pytest.MonkeyPatch, exit_code: int, stdout: str) -> None:
    """Let there be a zpool that answers so."""

    def run(argv: tuple[str, ...], *, timeout_s: float) -> CompletedProgram:
        return CompletedProgram(argv, exit_code, stdout, "", timeout_s)

    monkeypatch.setattr(uses, "run_program", run)


@pytest.mark.parametrize("sign", ["sys/module/zfs", "proc/spl/kstat/zfs"])
def test_pools_queried_wherever_zfs_is_loaded(
    places: SourceFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    (tmp_path / sign).mkdir(parents=True)
    nodes = {"/dev/sdb1": "8:17", "/dev/sdc1": "8:33", "/dev/nvme0n1p1": "259:1", "/dev/sde": "8:64"}
    # a pool may have the name of a disk: its own line names no device, wherever this process is
    block_nodes(monkeypatch, {**nodes, "sdd": "8:48", "tank": "8:80"})
    answering(monkeypatch, 0, STATUS)
    reading = uses.read_pools(places)
    assert reading.state is SourceKnowledge.READ
    assert {use.number: use.user for use in reading.known(())} == {
        "8:17": "tank of two words",
        "8:33": "tank of two words",
        "259:1": "tank of two words",
        "8:64": "sdd",
    }
    answering(monkeypatch, 1, STATUS)
    assert uses.read_pools(places).state is SourceKnowledge.UNREADABLE


def test_pools_unreadable_without_their_program(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> CompletedProgram:
        raise ProgramError("no zpool")

    monkeypatch.setattr(uses, "run_program", missing)
    (places.sys / "module/zfs").mkdir()
    assert uses.read_pools(places).state is SourceKnowledge.UNREADABLE


def test_array_member_by_number(places: SourceFolders) -> None:
    (places.proc / "mdstat").write_text("md127 : inactive sdb[1](S)\n      1046528 blocks super 1.2\n")
    assert uses.read_arrays(places).value == (DeviceUse("8:16", "md127", "/proc/mdstat"),)


# --- loop devices


def add_loops(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, tuple[int, int] | OSError]
) -> None:
    """Add attached loop devices with what LOOP_GET_STATUS64 answers: (lo_device, lo_rdevice), or an error."""
    by_fd: dict[int, tuple[int, int] | OSError] = {}
    real = os.open
    for number, name in enumerate(answers):
        add_scsi_disk(places.sys, name, f"7:{number}", "", "")
        write(places.sys, {f"block/{name}/loop/backing_file": "/srv/image"})

    def opened(path: Path, flags: int) -> int:
        if path.parent != places.dev or path.name not in answers:
            return real(path, flags)
        by_fd[fd := real("/dev/null", flags)] = answers[path.name]
        return fd

    def ioctl(fd: int, request: int, data: bytes) -> bytes:
        assert (request, len(data)) == (0x4C05, 232)  # linux/loop.h: struct loop_info64
        answer = by_fd[fd]
        if isinstance(answer, OSError):
            raise answer
        holding, own = answer
        return struct.pack("<QQQ", holding, 4711, own).ljust(232, b"\0")

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(fcntl, "ioctl", ioctl)


SDB = os.makedev(8, 16)
SDB1 = os.makedev(8, 17)


def test_loop_device_lies_on_its_file(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    add_loops(
        places,
        monkeypatch,
        {
            "loop1": (SDB1, 0),
            "loop2": (SDB1, SDB1),  # before Linux 5.8
            "loop3": (os.makedev(0, 6), SDB),
            "loop4": OSError(errno.ENXIO, "detached meanwhile"),
        },
    )
    add_scsi_disk(places.sys, "loop7", "7:7", "", "")  # without a file, and without a node, as in a container
    backings = uses.read_loop_backings(places)
    assert backings.value == (
        LoopBacking("loop1", "8:17", is_device=False),
        LoopBacking("loop2", "8:17", is_device=False),
        LoopBacking("loop3", "8:16", is_device=True),
    )
    found = uses.loop_uses(backings)
    assert (found.state, found.value) == (
        SourceKnowledge.READ,
        (DeviceUse("8:16", "/dev/loop3", "/sys/block/loop3/loop"),),
    )


def test_unreadable_loop_device(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    add_loops(places, monkeypatch, {"loop1": (SDB1, 0), "loop2": OSError(errno.EIO, "Input/output error")})
    backings = uses.read_loop_backings(places)
    assert backings.state is SourceKnowledge.UNREADABLE
    assert uses.loop_uses(backings).state is SourceKnowledge.UNREADABLE


def test_fifo_instead_of_loop_device(places: SourceFolders) -> None:
    add_scsi_disk(places.sys, "loop0", "7:0", "", "")
    write(places.sys, {"block/loop0/loop/backing_file": "/srv/image"})
    fifo = places.dev / "loop0"
    os.mkfifo(fifo)
    found: list[Reading[tuple[LoopBacking, ...]]] = []
    look = threading.Thread(target=lambda: found.append(uses.read_loop_backings(places)))
    look.start()
    look.join(30)
    if is_stuck := look.is_alive():
        os.close(os.open(fifo, os.O_RDWR))  # whoever waits for a writer goes on
        look.join()
    assert not is_stuck
    assert [reading.state for reading in found] == [SourceKnowledge.UNREADABLE]


# --- what is served to others, and what lies below what


def test_exported_devices_are_used(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    block_nodes(monkeypatch, {"/dev/sdb": "8:16", "/dev/sdc": "8:32"})
    write(
        places.sys / "kernel/config",
        {
            "target/core/iblock_0/spare/udev_path": "/dev/sdb",
            "target/core/fileio_0/image/udev_path": "/srv/image",
            "target/core/rd_mcp_0/memory/udev_path": "",
            "nvmet/subsystems/nqn/namespaces/1/device_path": "/dev/sdc",
        },
    )
    found = uses.read_targets(places).known(())
    assert [(use.number, use.user) for use in found] == [("8:16", "/dev/sdb"), ("8:32", "/dev/sdc")]


def test_layers_below_partition_array_and_loop(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_partition(places.sys, "sdb", "sdb1", "8:17")
    add_scsi_disk(places.sys, "md0", "9:0", "", "")
    (places.sys / "block/md0/slaves/sda1").symlink_to(places.sys / "block/sda/sda1")
    (places.sys / "block/md0/slaves/sdb1").symlink_to(places.sys / "block/sdb/sdb1")
    add_loops(places, monkeypatch, {"loop0": (os.makedev(9, 0), 0), "loop1": (SDB, 0)})
    reading = uses.read_stacking(places, uses.read_loop_backings(places))
    assert reading.state is SourceKnowledge.READ
    assert {number: set(below) for number, below in reading.known({}).items()} == {
        "8:0": set(),
        "8:1": {"8:0"},
        "8:16": set(),
        "8:17": {"8:16"},
        "9:0": {"8:1", "8:17"},
        "7:0": {"9:0"},
        "7:1": {"8:16"},
    }


def test_vanished_layer_lies_on_nothing(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    backings = uses.read_loop_backings(places)
    (places.sys / "class/block/sdz").symlink_to(places.sys / "block/sdz")
    reading = uses.read_stacking(places, backings)
    assert reading.state is SourceKnowledge.READ
    assert set(reading.known({})) == {"8:0", "8:1", "8:16"}
    (places.sys / "block/sdb/dev").unlink()
    assert uses.read_stacking(places, backings).state is SourceKnowledge.UNREADABLE


def test_layers_as_known_as_loop_devices(places: SourceFolders) -> None:
    unknown: tuple[Reading[tuple[LoopBacking, ...]], ...] = (needs_root("denied"), unreadable("an error"))
    for backings in unknown:
        reading = uses.read_stacking(places, backings)
        assert (reading.state, reading.reason) == (backings.state, backings.reason)
        assert set(reading.known({})) == {"8:0", "8:1", "8:16"}
    (places.sys / "block/sdb/dev").unlink()
    assert uses.read_stacking(places, needs_root("denied")).state is SourceKnowledge.UNREADABLE
    shutil.rmtree(places.sys / "class")
    assert uses.read_stacking(places, uses.read_loop_backings(places)).state is SourceKnowledge.ABSENT


def test_hibernation_device_by_number(places: SourceFolders) -> None:
    assert uses.read_hibernation(places).value == "0:0"
    (places.sys / "power/resume").write_text("8:16\n")
    assert uses.read_hibernation(places).value == "8:16"
