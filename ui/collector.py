"""Collect Python's cyclic garbage in the GUI thread only.

By default Python collects in whichever thread allocates. Garbage of the window includes widgets and graphics
items, which may only be destroyed in the GUI thread (Qt, "Threads and QObjects"): collected in a thread of
background work, of the disks' watch or of a probe, they would be destroyed while they are drawn.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Final

from PySide6.QtCore import QTimer

_PERIOD_MS: Final = 1000


def collect_in_gui_thread() -> None:
    """Collect now, and then every second if garbage is due, in this thread, the GUI's."""
    gc.disable()
    _collect_what_is_due()
    _timer().start()


@cache
def _timer() -> QTimer:
    timer = QTimer(interval=_PERIOD_MS)
    timer.timeout.connect(_collect_what_is_due)
    return timer


def _collect_what_is_due() -> None:
    """Collect what Python would: the oldest generation above its threshold."""
    due = [count > limit > 0 for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
