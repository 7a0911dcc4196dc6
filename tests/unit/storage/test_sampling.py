"""Which places of a disk are looked at, and that what is promised to be found is found wherever it lies."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.text import GIB, KIB, MIB
from app.storage.inspect.sampling import (
    EDGE_BYTES,
    MOST_PIECES,
    PARTITION_STARTS,
    SAMPLE_BYTES,
    SamplingPlan,
    certain_bytes,
    revealing_places,
    sampling_of,
    strata_of,
)

TB = 10**12
SECTOR = 512
SIZES = st.integers(512 * MIB // SECTOR, 60 * TB // SECTOR).map(lambda sectors: sectors * SECTOR)


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    revealing_places.cache_clear()


def sampled(size: int, seed: int) -> SamplingPlan:
    return sampling_of(size, SECTOR, random.Random(seed))  # noqa: S311 - the same each time


def is_found(start: int, length: int, size: int, sampling: SamplingPlan) -> bool:
    """Whether dense data is found: it reaches 64 KiB into an end, or a piece lies in it wholly."""
    end = start + length
    if start + SAMPLE_BYTES <= EDGE_BYTES or end - SAMPLE_BYTES >= size - EDGE_BYTES:
        return True
    return any(start <= offset and offset + SAMPLE_BYTES <= end for offset in sampling.offsets)


@settings(deadline=None)
@given(size=SIZES, seed=st.integers(0, 2**32), where=st.floats(0, 1))
@example(size=TB // SECTOR * SECTOR, seed=1, where=0.0)
@example(size=TB // SECTOR * SECTOR, seed=1, where=1.0)
@example(size=2 * GIB + 2 * EDGE_BYTES, seed=1, where=0.5)
def test_dense_data_is_found(size: int, seed: int, where: float) -> None:
    sampling = sampled(size, seed)
    length = sampling.certain_bytes
    if length <= size:
        assert is_found(int((size - length) * where), length, size, sampling)


@settings(deadline=None)
@given(size=SIZES, seed=st.integers(0, 2**32), number=st.integers(0, 30_000), shift=st.integers(-2, 2))
def test_dense_data_beside_a_stratum_border(size: int, seed: int, number: int, shift: int) -> None:
    strata = strata_of(size)
    start = max(0, strata[number % len(strata)].start + shift)
    sampling = sampled(size, seed)
    if start + sampling.certain_bytes <= size:
        assert is_found(start, sampling.certain_bytes, size, sampling)


@pytest.mark.parametrize("beside", [-EDGE_BYTES, -SAMPLE_BYTES + 1, -1, 0, 1])
def test_dense_data_at_border_of_ends(beside: int) -> None:
    size, start = 40 * GIB, EDGE_BYTES + beside
    for seed in range(50):
        sampling = sampled(size, seed)
        length = sampling.certain_bytes
        assert is_found(start, length, size, sampling)
        assert is_found(size - start - length, length, size, sampling)


@settings(deadline=None)
@given(size=SIZES, seed=st.integers(0, 2**32))
def test_one_aligned_piece_per_stratum(size: int, seed: int) -> None:
    sampling, strata = sampled(size, seed), strata_of(size)
    assert strata[0].start == EDGE_BYTES
    assert strata[-1].end == size - EDGE_BYTES
    assert all(one.end == other.start for one, other in itertools.pairwise(strata))
    assert len(sampling.offsets) <= MOST_PIECES
    assert all(offset % (4 * KIB) == 0 for offset in sampling.offsets)
    remaining = iter(sampling.offsets)
    for stratum in strata:
        assert any(
            stratum.start <= offset and offset + SAMPLE_BYTES <= stratum.end for offset in remaining
        ), stratum


@pytest.mark.parametrize("size", [200 * 10**9, TB, 4 * TB, 20 * TB])
def test_two_gib_certain_up_to_20_tb(size: int) -> None:
    assert certain_bytes(strata_of(size)) <= 2 * GIB


def test_above_that_the_told_size_grows() -> None:
    assert 2 * GIB < certain_bytes(strata_of(30 * TB)) < certain_bytes(strata_of(100 * TB)) < 10 * GIB


def test_nobody_can_foresee_the_pieces() -> None:
    assert sampled(TB, 1).offsets != sampled(TB, 2).offsets


@pytest.mark.parametrize("start", [16 * MIB, 17 * MIB, 32 * MIB])
@pytest.mark.parametrize(
    "offset",
    [
        *(0, 64 * KIB, 64 * MIB, 256 * GIB),
        *(128 * MIB * group for group in (1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343, 2401, 6561)),
        *(8 * MIB * group for group in (1, 3, 5, 7, 9)),
    ],
)
def test_superblocks_behind_every_usual_start(start: int, offset: int) -> None:
    assert start + offset in revealing_places(TB)


def test_places_lie_outside_of_the_ends() -> None:
    found = revealing_places(TB)
    assert min(found) == EDGE_BYTES
    assert max(found) < TB - EDGE_BYTES
    # in front of a partition nothing of it stands: magics that count from the end are not placed there
    assert not found & {start - SAMPLE_BYTES for start in PARTITION_STARTS}


def test_disk_hardly_larger_than_its_ends() -> None:
    assert strata_of(2 * EDGE_BYTES) == ()
    assert sampled(2 * EDGE_BYTES, 1) == SamplingPlan((), 0)
    (stratum,) = strata_of(2 * EDGE_BYTES + 4 * KIB)
    assert stratum.end - stratum.start == 4 * KIB
    assert sampled(2 * EDGE_BYTES + 4 * KIB, 1).offsets == (EDGE_BYTES,)
