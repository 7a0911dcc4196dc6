from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from app.postgres.pgbench.histogram import Histogram
from app.runfile.series import LatencySeries
from app.runfile.writer import LatencySecond

SECONDS = 1500


@pytest.fixture
def _eager_switching() -> Iterator[None]:
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_eager_switching")
def test_concurrent_reader_sees_whole_seconds() -> None:
    """The window reads percentiles under the pointer while a look at the growing file adds seconds."""
    buckets = Histogram.of(np.array([100, 200, 300])).encode()
    series = LatencySeries()
    ended = threading.Event()
    lengths: list[int] = []
    problems: list[BaseException] = []

    def read() -> None:
        try:
            while not ended.is_set():
                t_ms, values = series.percentile(99.0)
                assert len(t_ms) == len(values)
                series.partial_ends_ms()
                lengths.append(len(t_ms))
        except BaseException as error:  # noqa: BLE001 - told in the other thread
            problems.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(SECONDS):
        series.update([LatencySecond(1000 * number, 3, 600, 0, 0, partial=True, buckets=buckets)])
        series.update([LatencySecond(1000 * number, 3, 600, 0, 0, partial=False, buckets=buckets)])
        assert series.unsettled_ms == 1000 * number
    ended.set()
    reader.join(60)
    assert problems == []
    assert lengths == sorted(lengths)
    assert len(series.percentile(99.0)[0]) == SECONDS
