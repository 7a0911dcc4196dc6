"""Cache values read from run files while the files are unchanged: pages read the same runs in turn."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

Signature = tuple[tuple[int, int, int], ...]
"""Changes when a file is written."""

Value = TypeVar("Value")


def signature_of(path: Path) -> Signature:
    """Return a value that changes when a file or its journal is written; empty if there is no file."""
    name = os.fspath(path)
    found = []
    with suppress(OSError):
        if os.path.islink(name):  # noqa: PTH114 - a thousand Paths would cost more than what they are asked
            name = os.path.realpath(name)
        for each in (name, name + "-wal"):
            known = os.stat(each)  # noqa: PTH116
            found.append((known.st_mtime_ns, known.st_size, known.st_ino))
    return tuple(found)


class FileCache(Generic[Value]):
    """Reads each file once while it is unchanged. Thread-safe.

    A value that is not final is read each time: the state of a running run depends on its runner, not on its
    file alone.

    Attributes:
        most: number of values kept without other references; referenced ones are always kept.
    """

    def __init__(self, read: Callable[[Path], Value], most: int, is_final: Callable[[Value], bool]) -> None:
        self.most = most
        self._read = read
        self._is_final = is_final
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[tuple[str, Signature], Value] = WeakValueDictionary()
        self._newest: OrderedDict[tuple[str, Signature], Value] = OrderedDict()

    def __call__(self, path: Path) -> Value:
        """Return the file's value; errors of reading it propagate, and are not cached."""
        key = os.fspath(path), signature_of(path)
        with self._lock:
            value = self._held.get(key)
        if value is None:
            value = self._read(path)
        if key[1] and self._is_final(value):
            with self._lock:
                self._held[key] = value
                self._newest[key] = value
                self._newest.move_to_end(key)
                while len(self._newest) > self.most:
                    self._newest.popitem(last=False)
        return value
