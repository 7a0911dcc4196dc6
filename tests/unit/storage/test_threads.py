"""Whether threads have the same descriptors is asked of the kernel, or not believed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from app.storage.system import state
from app.storage.system.state import share_files


def in_another_thread(action: Callable[[int], None]) -> None:
    thread = threading.Thread(target=lambda: action(threading.get_native_id()))
    thread.start()
    thread.join()


def test_kernel_compares_descriptor_tables() -> None:
    shared: list[bool] = []
    in_another_thread(lambda thread: shared.append(share_files(os.getpid(), thread)))
    assert share_files(os.getpid(), os.getppid()) is False
    number = state._KCMP.get(os.uname().machine)
    assert shared == [number is not None]


@pytest.mark.parametrize("unknown", ["machine", "words of 32 bits"])
def test_threads_read_one_by_one_without_kcmp(monkeypatch: pytest.MonkeyPatch, unknown: str) -> None:
    if unknown == "machine":
        monkeypatch.setattr(state, "_KCMP", {})
    else:
        monkeypatch.setattr("sys.maxsize", 2**31 - 1)

    def called(_name: None) -> None:
        raise AssertionError("the number may be that of any call here")

    monkeypatch.setattr("ctypes.CDLL", called)
    assert share_files(1, 2) is False
