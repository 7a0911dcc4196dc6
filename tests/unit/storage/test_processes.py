"""What processes use devices for: their mounts, what they have open and what they have mapped."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.storage.inspect import processes
from app.storage.inspect.processes import only_reads
from app.storage.inspect.snapshot import DeviceUse, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from tests.unit.storage.fake_machine import MOUNTINFO, add_process, block_nodes

OTHER = "mnt:[4026532999]"
DEV = "25 28 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=4096k\n"
SEVERAL = """\
50 28 0:40 / /pool rw - btrfs /dev/sdb rw
51 28 0:41 / /several rw - bcachefs /dev/sdc:/dev/sdd rw
52 28 0:42 / /gone rw - btrfs /dev/gone rw
"""

_LOW = 0x100000  # in front of any program, behind vm.mmap_min_addr
_NOT_OVER = 0x100000  # MAP_FIXED_NOREPLACE (mman.h)


def test_filesystems_without_device_number_by_source(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {"/dev/sdb": "8:16", "/dev/sdc": "8:32", "/dev/sdd": "8:48", "/export": "8:64"}
    asked = block_nodes(monkeypatch, nodes)
    add_process(places.proc, "8", OTHER, MOUNTINFO + SEVERAL)
    found = {(use.number, use.user) for use in processes.read_mounts(places).known(())}
    assert found == {("8:1", "/"), ("8:16", "/pool"), ("8:32", "/several"), ("8:48", "/several")}
    assert "/export" not in asked, "what a server exports is no path of this machine"


def test_other_roots_may_show_other_mounts(places: SourceFolders) -> None:
    """In a chroot(2) mountinfo shows what is mounted below it; that one may be met first."""
    for pid, root, number in (("8", "/", "8:16"), ("9", "/srv/jail", "8:32"), ("10", "/", "8:48")):
        mount = f"50 28 {number} / /data rw - xfs /dev/data rw\n"
        process = add_process(places.proc, pid, OTHER, mount)
        (process / "root").unlink()
        (process / "root").symlink_to(root)
    found = {use.number for use in processes.read_mounts(places).known(()) if use.user == "/data"}
    assert found in ({"8:16", "8:32"}, {"8:48", "8:32"}), "of one root one process is read"


@pytest.mark.parametrize("line", ["1 2 8:16 / /data - xfs /dev/sdb rw", "1 2 8:16 / /data rw - xfs"])
def test_short_mountinfo_line_is_unreadable(places: SourceFolders, line: str) -> None:
    add_process(places.proc, "8", OTHER, MOUNTINFO + line)
    assert processes.read_mounts(places).state is SourceKnowledge.UNREADABLE


def test_denied_is_named_seen_is_kept(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    add_process(places.proc, "8", OTHER)
    real_text, real_bytes = Path.read_text, Path.read_bytes

    def deny(path: Path) -> None:
        if path.parent == places.proc / "8":
            raise PermissionError(13, "Permission denied", str(path))

    def read_text(self: Path, encoding: str, errors: str) -> str:
        deny(self)
        return real_text(self, encoding, errors)

    def read_bytes(self: Path) -> bytes:
        deny(self)
        return real_bytes(self)

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    for reading, file in (
        (processes.read_mounts(places), "mountinfo"),
        (processes.read_openers(places), "maps"),
    ):
        assert reading.state is SourceKnowledge.UNREADABLE
        assert reading.reason == f"{places.proc}/8/{file}: Permission denied"
    assert [use.user for use in processes.read_mounts(places).known(())] == ["/"]


def test_process_that_ends_is_no_denied_one(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = add_process(places.proc, "8", OTHER)
    (folder / "fd/3").symlink_to("/dev/sdb")
    real = os.readlink

    def end(path: str | Path) -> str:
        if str(path).startswith(f"{folder}/"):
            shutil.rmtree(folder)
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "readlink", end)
    assert processes.read_openers(places).state is SourceKnowledge.READ
    add_process(places.proc, "8", OTHER)
    assert processes.read_mounts(places).state is SourceKnowledge.READ


def test_mounts_that_no_process_shows_are_unknown(places: SourceFolders) -> None:
    for pid in ("self", "1", "7"):
        (places.proc / pid / "ns/mnt").unlink()
    assert processes.read_mounts(places).state is SourceKnowledge.UNREADABLE


def test_openers_except_this_process(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    (places.proc / "self/mountinfo").write_text(MOUNTINFO + DEV)
    add_process(places.proc, str(os.getpid()))
    links = [places.proc / pid / "fd/3" for pid in ("7", str(os.getpid()))]
    for link in links:
        link.symlink_to("/dev/sdb")
    block_nodes(monkeypatch, {str(link): "8:16" for link in links})
    reading = processes.read_openers(places)
    assert reading.state is SourceKnowledge.READ
    assert reading.value == (DeviceUse("8:16", "program7 (process 7)", str(links[0])),)


_OWN_DESCRIPTORS = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
def work():
    libc.unshare(0x400)  # CLONE_FILES
    print(threading.get_native_id(), os.open("/dev/null", os.O_RDONLY), flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=work).start()
if sys.argv[1] == "ended":
    libc.syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)  # exit(2): of this thread alone
"""


@pytest.mark.parametrize("leader", ["works", "ended"])
def test_device_open_in_one_thread(monkeypatch: pytest.MonkeyPatch, leader: str) -> None:
    with subprocess.Popen(
        (sys.executable, "-c", _OWN_DESCRIPTORS, leader),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        thread, descriptor = process.stdout.readline().split()
        state = Path(f"/proc/{process.pid}/stat")
        while leader == "ended" and ") Z " not in state.read_text():
            time.sleep(0.001)
        link = f"/proc/{thread}/fd/{descriptor}"
        block_nodes(monkeypatch, {link: "8:16"})
        found = processes.read_openers(SourceFolders.of_this_machine()).known(())
        monkeypatch.undo()
        process.communicate("")
    assert [use.number for use in found if use.detail == link] == ["8:16"]


def test_descriptors_that_threads_share_are_read_once(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = {(7, 9), (9, 10)}
    for thread in (6, 7, 8, 9, 10):
        (places.proc / f"7/task/{thread}").mkdir(parents=True)
        if thread != 7:
            add_process(places.proc, str(thread))
    monkeypatch.setattr(processes, "share_files", lambda one, other: (one, other) not in apart)
    monkeypatch.setattr(processes, "_processes", lambda _places: iter([places.proc / "7"]))
    links = {str(places.proc / f"{thread}/fd/3"): f"8:{thread}" for thread in (6, 7, 8, 9, 10)}
    for link in links:
        Path(link).symlink_to("/dev/sdb")
    block_nodes(monkeypatch, links)
    assert [use.number for use in processes.read_openers(places).known(())] == ["8:7", "8:9", "8:10"]
    monkeypatch.setattr(processes, "share_files", lambda _one, _other: False)
    found = [use.number for use in processes.read_openers(places).known(())]
    assert found == ["8:7", "8:6", "8:8", "8:9", "8:10"], "each once where the kernel does not tell"


MAPS = """\
00400000-00401000 rw-s 00000000 00:05 305                                /dev/sdb
7f1000000000-7f1000001000 rw-s 00000000 00:05 306                        /dev/sdc (deleted)
7f1100000000-7f1100001000 rw-s 00000000 08:01 311                        /srv/jail/dev/sdd
7f2000000000-7f2000001000 rw-s 00000000 00:05 307                        /dev/null
7f3000000000-7f3000001000 rw-s 00000000 00:01 308                        /dev/zero (deleted)
7f4000000000-7f4000001000 rw-s 00000000 00:19 309                        /dev/shm/PostgreSQL.1
7f5000000000-7f5000001000 r-xp 00000000 08:01 310                        /usr/lib/libc.so.6
7f6000000000-7f6000001000 rw-p 00000000 00:00 0
"""


def test_mapped_device_is_used(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not look behind mappings of others may all the same have memory of its own in /dev."""
    (places.proc / "7/maps").write_text(MAPS)
    folder = places.proc / "7/map_files"
    folder.mkdir()
    (folder / "7f2000000000-7f2000001000").symlink_to("/dev/null")
    mapped = {
        str(folder / area): number
        for area, number in (
            ("400000-401000", "8:16"),
            ("7f1000000000-7f1000001000", "8:32"),
            ("7f1100000000-7f1100001000", "8:48"),  # in a chroot
        )
    }
    asked = block_nodes(monkeypatch, mapped)
    assert processes.read_openers(places).value == tuple(
        DeviceUse(number, "program7 (process 7)", area) for area, number in mapped.items()
    )
    assert {path for path in asked if "/map_files/" in path} == {
        *mapped,
        str(folder / "7f2000000000-7f2000001000"),
    }


def test_map_files_without_leading_zeros() -> None:
    """Mapped where maps pads the address to eight digits: such a mapping was once overlooked."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    with Path("/etc/passwd").open("rb") as file:
        place = libc.mmap(_LOW, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED | _NOT_OVER, file.fileno(), 0)
    assert place == _LOW, os.strerror(ctypes.get_errno())
    try:
        names = {path.name for path in Path("/proc/self/map_files").iterdir()}
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    finally:
        libc.munmap(ctypes.c_void_p(_LOW), ctypes.c_size_t(mmap.PAGESIZE))
    end = _LOW + mmap.PAGESIZE
    assert f"{_LOW:08x}-{end:08x} r--s" in maps
    assert f"{_LOW:x}-{end:x}" in names
    assert f"{_LOW:08x}-{end:08x}" not in names


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """The link to a descriptor of a process that is open for reading."""
    folder = tmp_path / "7"
    (folder / "fd").mkdir(parents=True)
    (folder / "fdinfo").mkdir()
    (folder / "fd/3").symlink_to("/dev/sdb")
    (folder / "fdinfo/3").write_text("pos:\t0\nflags:\t0100000\nmnt_id:\t26\n")
    return folder / "fd/3"


def test_reader_is_told_from_writer(reader: Path) -> None:
    information = reader.parent.parent / "fdinfo/3"
    assert only_reads(str(reader))
    for flags in ("0100001", "0100002", "none"):
        information.write_text(f"pos:\t0\nflags:\t{flags}\n")
        assert not only_reads(str(reader))
    information.unlink()
    assert not only_reads(str(reader)), "it is open, and how cannot be told"
    reader.unlink()
    assert only_reads(str(reader)), "it was closed"


def test_what_is_mapped_may_be_written(reader: Path) -> None:
    folder = reader.parent
    mapped = folder.rename(folder.with_name("map_files")) / reader.name
    assert not only_reads(str(mapped))
