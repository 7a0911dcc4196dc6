from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import CorruptRunFileError
from app.postgres.pgbench.histogram import Histogram
from app.runfile.histogram_decoding import percentiles

LATENCIES = st.lists(st.integers(0, 2**40), max_size=40)


def histogram(latency_us: list[int]) -> Histogram:
    return Histogram.of(np.array(latency_us, np.int64)) if latency_us else Histogram.empty()


@given(st.lists(LATENCIES, max_size=12), st.sampled_from([0.0, 50.0, 95.0, 99.0, 99.9, 100.0]))
def test_batch_percentiles_equal_single(seconds: list[list[int]], percent: float) -> None:
    histograms = [histogram(second) for second in seconds]
    found = percentiles([each.encode() for each in histograms], [percent])[0]
    for value, each in zip(found.tolist(), histograms, strict=True):
        if each.total:
            assert value == pytest.approx(each.percentile(percent), rel=1e-12)
        else:
            assert math.isnan(value)


def test_batches_keep_order() -> None:
    encoded = [histogram([100 * number]).encode() for number in range(1, 601)]
    assert percentiles(encoded, [50.0])[0] == pytest.approx(np.arange(1, 601) * 100.0, rel=0.004)


def test_counts_beyond_four_bytes_are_read_too() -> None:
    huge = Histogram(np.array([5, 900]), np.array([2**40, 7]))
    assert percentiles([huge.encode()], [50.0])[0, 0] == pytest.approx(huge.percentile(50))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x02" + zlib.compress(b"\x00"),
        b"\x01nonsense",
        b"\x01" + zlib.compress(b""),
        b"\x01" + zlib.compress(b"\x01\x80"),
        b"\x01" + zlib.compress(b"\x02\x00\x00"),
        b"\x01" + zlib.compress(b"\x01\xff\xff\x7f\x00"),
        b"\x01" + zlib.compress(b"\x00") + b"more",
        b"\x01" + zlib.compress(bytes(200_000)),
    ],
)
def test_damaged_histogram_in_batch_refused(damaged: bytes) -> None:
    good = histogram([1, 2, 3]).encode()
    with pytest.raises(CorruptRunFileError):
        percentiles([good, damaged, good], [50.0])


@given(st.binary(max_size=60))
def test_any_bytes_as_decoder(content: bytes) -> None:
    encoded = b"\x01" + zlib.compress(content)
    try:
        known = Histogram.decode(encoded)
    except CorruptRunFileError:
        with pytest.raises(CorruptRunFileError):
            percentiles([encoded], [99.0])
    else:
        value = float(percentiles([encoded], [99.0])[0, 0])
        assert math.isnan(value) if not known.total else value == pytest.approx(known.percentile(99))
