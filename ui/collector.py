"""Python's cyclic garbage is collected in the GUI thread alone.

By itself Python collects in whichever thread allocates. Garbage of the window holds widgets and graphics
items, which may only be destroyed in the GUI thread (Qt, "Threads and QObjects"): collected in a thread of
background work, of the disks' watch or of a probe, they go while they are drawn.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Final

from PySide6.QtCore import QTimer

_PERIOD_MS: Final = 1000


def collect_in_gui_thread() -> None:
    """From now on collect here, once a second where garbage is due, and now; called in the GUI thread."""
    gc.disable()
    _collect_what_is_due()
    _timer().start()


@cache
def _timer() -> QTimer:
    timer = QTimer(interval=_PERIOD_MS)
    timer.timeout.connect(_collect_what_is_due)
    return timer


def _collect_what_is_due() -> None:
    """Do what Python would have done: the oldest generation of which more was made than its threshold."""
    due = [count > limit > 0 for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
