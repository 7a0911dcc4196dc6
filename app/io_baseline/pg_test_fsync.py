"""pg_test_fsync: its arguments, and the relevant part of its output. Pure.

It runs sixteen tests of at least a second each. The first ones, one write of 8 kB by each method, correspond
to WAL writes; it is ended after them. Sources: src/bin/pg_test_fsync/pg_test_fsync.c (13 to 19); recorded
output in tests/data/io_baseline.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.io_baseline import FSYNC_METHODS, FSYNC_SECONDS, SyncMethod

PROGRAM: Final = "pg_test_fsync"
_SECTION: Final = re.compile(r"^Compare file sync methods using one [0-9]+kB write:$", re.MULTILINE)
_NEXT: Final = re.compile(r"^Compare file sync methods using two ", re.MULTILINE)
_ROW: Final = re.compile(r"^\s+(\w+)\s+([0-9]+\.[0-9]+) ops/sec\s+[0-9]+ usecs/op\s*$", re.MULTILINE)


def pg_test_fsync_argv(program: str, path: str) -> tuple[str, ...]:
    """Return the command.

    Args:
        program: absolute.
        path: of its test file of 16 MiB, which it removes again.
    """
    return (program, f"--secs-per-test={FSYNC_SECONDS}", f"--filename={path}")


def has_all_methods(text: str) -> bool:
    """Return whether the relevant tests are done, so that it may be ended."""
    return _NEXT.search(text) is not None


def parse_pg_test_fsync(text: str) -> tuple[SyncMethod, ...]:
    """Return the methods measured so far with one write."""
    begun = _SECTION.search(text)
    if begun is None:
        return ()
    following = _NEXT.search(text, begun.end())
    section = text[begun.end() : following.start() if following else len(text)]
    rates = {name: float(rate) for name, rate in _ROW.findall(section)}
    return tuple(SyncMethod(method=name, per_s=rates[name]) for name in FSYNC_METHODS if name in rates)
