"""What is freed goes back to the system, also what one thread freed of another's."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import os, sys, threading
from pathlib import Path
from app.dbus.service import give_back_memory, keep_small

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

if sys.argv[1] == "small":
    keep_small()
before = resident_bytes()
kept, all_there = [], threading.Barrier(9)
def keep(number):
    kept.extend(b"x" * (2_000 + size * 50) for size in range(number, 1_000))
    all_there.wait()
for number in range(8):
    threading.Thread(target=keep, args=(number,)).start()
all_there.wait()
most = resident_bytes()
kept.clear()
give_back_memory()
reserved = 0
for line in Path("/proc/self/maps").read_text().splitlines():
    start, _, end = line.split()[0].partition("-")
    reserved += line.split()[1] == "---p" and int(end, 16) - int(start, 16) > 32 * 1024**2
print(most - before, resident_bytes() - before, reserved)
"""


@pytest.mark.parametrize("how", ["small", "else"])
def test_threads_share_arena_and_free_memory(how: str) -> None:
    argv = [sys.executable, "-c", CODE, how]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    most, after, arenas = map(int, done.stdout.split())
    assert most > 40_000_000
    if how == "small":
        assert (arenas, after < 4_000_000) == (0, True)
    else:
        assert arenas > 0, "an arena of a thread reserves 64 MiB: so it would be without"
