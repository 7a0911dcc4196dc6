"""Memory read back from swap, from pswpin of /proc/vmstat (pages, proc(5))."""

from __future__ import annotations

import os
import time
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Clock, Counters, FileProbe, ProbeContext, ProbeUnavailable

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_FIELD: Final = b"\npswpin "


def parse_swapped_in(text: bytes) -> int:
    """Return the pages read back from swap since boot.

    Raises:
        ValueError: the text has no such line, as with a kernel built without swap.
    """
    begin = (b"\n" + text).find(_FIELD)
    if begin < 0:
        raise ValueError(tr("there is no line pswpin"))
    return int(text[begin + len(_FIELD) - 1 :].split(b"\n", 1)[0])


class SwapInProbe(FileProbe):
    """Bytes per second read back from swap, for which processes waited."""

    id = "swap-in"
    label = tr("Swap")

    def __init__(self, path: str = "/proc/vmstat", clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._path = path
        self._counters = Counters(clock)

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            parse_swapped_in(self._keep_open(self._path).read())
        except FileNotFoundError as err:
            message = tr("{path} does not exist, so swapping is unknown")
            raise ProbeUnavailable(message.format(path=self._path)) from err
        except ValueError as err:
            self.close()
            raise ProbeUnavailable(tr("this kernel does not count what is swapped in")) from err
        self._counters.forget()

    @override
    def read(self) -> list[Sample]:
        if not self._opened:
            return []
        difference = self._counters.step((parse_swapped_in(self._opened[0].read()),))
        if difference is None:
            return []
        return [Sample("memory.swap_in", round(difference.deltas[0] * PAGE_BYTES / difference.interval_s))]
