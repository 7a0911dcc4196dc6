"""Memory that was freed stays with a process that asked for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_COUNT_FAULTS = """
import ctypes, resource, sys
import numpy as np
from app.cli.commands.run import keep_freed_memory
if "keep" in sys.argv and not keep_freed_memory():
    sys.exit(3)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use():
    return [np.ones(4 * 2**20, np.uint8) for _ in range(4)]
use()
before = faults()
for _ in range(10):
    use()
print(faults() - before)
"""


def page_faults(*arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_FAULTS, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 3:
        pytest.skip("this C library has no mallopt")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.long
def test_freed_memory_reused_without_page_faults() -> None:
    without = page_faults()
    assert page_faults("keep") < without / 10
