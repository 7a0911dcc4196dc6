from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.campaign.configuration import BuiltinScript, DataSize, Script, Workload, WorkloadPhase
from app.domain.errors import CampaignError
from app.domain.text import GIB, MIB
from app.postgres.pgbench.scale import (
    BYTES_PER_SCALE,
    MAX_SCALE,
    ScaleChoice,
    data_bytes_of,
    resolve_scale,
    scale_for,
    uncontended_scale,
)


def test_small_is_about_200_mb() -> None:
    for ram_bytes in (GIB, 512 * GIB):
        choice = resolve_scale(Workload(size=DataSize.SMALL), ram_bytes)
        assert choice.scale == 13
        assert 190_000_000 < choice.data_bytes < 215_000_000


@pytest.mark.parametrize(("size", "share"), [(DataSize.MEDIUM, 0.5), (DataSize.LARGE, 2.0)])
def test_medium_and_large_follow_the_ram(size: DataSize, share: float) -> None:
    for ram_bytes in (8 * GIB, 64 * GIB):
        choice = resolve_scale(Workload(size=size), ram_bytes)
        assert 0 <= choice.data_bytes - share * ram_bytes < BYTES_PER_SCALE


def test_the_published_sizes_of_scales_are_met() -> None:
    # Vondra 2022: scale 250 is about 4 GB, 5000 about 75 GB.
    assert data_bytes_of(250) == pytest.approx(4 * GIB, rel=0.1)
    assert data_bytes_of(5000) == pytest.approx(75 * GIB, rel=0.1)


def test_size_raised_to_client_count() -> None:
    choice = resolve_scale(Workload(size=DataSize.SMALL, clients=64), 8 * GIB)
    assert choice.scale == 64
    assert not choice.is_contended
    assert "raised" in choice.reason


def test_stated_scale_kept_and_marked_contended() -> None:
    choice = resolve_scale(Workload(scale=10, size=None, clients=64), 8 * GIB)
    assert choice.scale == 10
    assert choice.is_contended


OWN = "/* UPDATE pgbench_branches */ SELECT 1; -- update pgbench_branches\nUPDATE mine SET a = 1;"
BRANCHES = "SELECT 1;\nUpdate\n  pgbench_branches SET bbalance = 0 WHERE bid = :bid;"
TELLERS = "SELECT * FROM pgbench_tellers WHERE tid = :tid FOR NO KEY UPDATE;"


@pytest.mark.parametrize(
    ("scripts", "least"),
    [
        ((Script(),), 64),
        ((Script(BuiltinScript.SIMPLE_UPDATE),), 0),
        ((Script(BuiltinScript.SELECT_ONLY),), 0),
        ((Script(BuiltinScript.SELECT_ONLY), Script(weight=1)), 64),
        ((Script(None, "/x/own.sql", OWN),), 0),
        ((Script(None, "/x/own.sql", "SELECT * FROM pgbench_branches; UPDATE t SET a = 1"),), 0),
        ((Script(None, "/x/own.sql", BRANCHES),), 64),
        ((Script(None, "/x/own.sql", TELLERS),), 7),
    ],
)
def test_only_shared_updates_are_contended(scripts: tuple[Script, ...], least: int) -> None:
    def choice(scale: int | None) -> ScaleChoice:
        workload = Workload(scripts=scripts, clients=64, scale=scale, size=DataSize.SMALL)
        return resolve_scale(workload, 8 * GIB)

    assert choice(None).scale == max(13, least)
    assert choice(6).is_contended is (least > 6)
    assert not choice(64).is_contended


def test_clients_without_updates_do_not_count() -> None:
    reads = WorkloadPhase("reads", scripts=(Script(BuiltinScript.SELECT_ONLY),), clients=64)
    writes = WorkloadPhase("writes", clients=8)
    assert uncontended_scale(Workload(phases=(reads, writes))) == 8


def test_stated_scale_overrides_default_size() -> None:
    assert resolve_scale(Workload(scale=77), 8 * GIB).scale == 77


def test_smallest_scale_that_reaches_bytes() -> None:
    choice = resolve_scale(Workload(size=300 * MIB, clients=1), 8 * GIB)
    assert data_bytes_of(choice.scale - 1) < 300 * MIB <= choice.data_bytes


@pytest.mark.parametrize("scale", [0, -1, MAX_SCALE + 1])
def test_refuses_a_scale_that_pgbench_cannot_count(scale: int) -> None:
    with pytest.raises(CampaignError, match="outside 1 to") as caught:
        resolve_scale(Workload(scale=scale, size=None), 8 * GIB)
    assert caught.value.field == "workload.scale"


def test_refuses_a_size_that_no_scale_reaches() -> None:
    with pytest.raises(CampaignError) as caught:
        resolve_scale(Workload(size=BYTES_PER_SCALE * (MAX_SCALE + 2)), 8 * GIB)
    assert caught.value.field == "workload.size"


def test_refuses_a_workload_without_scale_and_size() -> None:
    with pytest.raises(CampaignError, match="Neither"):
        resolve_scale(Workload(scale=None, size=None), 8 * GIB)


@given(st.integers(min_value=1, max_value=MAX_SCALE))
def test_scale_from_size_round_trip(scale: int) -> None:
    assert scale_for(data_bytes_of(scale)) == scale


@given(st.integers(min_value=0, max_value=10**15))
def test_every_size_gets_smallest_sufficient_scale(size_bytes: int) -> None:
    scale = scale_for(size_bytes)
    assert scale >= 1
    assert data_bytes_of(scale) >= size_bytes
    assert scale == 1 or data_bytes_of(scale - 1) < size_bytes
