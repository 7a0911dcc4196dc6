"""What limited a run is told from evidence: recorded runs whose bottleneck was made, and made-up ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.analysis.bottleneck import (
    BUSY,
    CAUSES,
    DOMINANT,
    FEWEST_SAMPLES,
    FEWEST_SECONDS,
    MEMORY,
    METRICS_READ,
    PGBENCH_SHARE,
    PRESSURE,
    QUEUEING,
    SATURATED,
    Bottleneck,
    Cause,
    DeviceEvidence,
    Evidence,
    evidence_of,
    find_bottleneck,
    limit_elsewhere,
    read_bottleneck,
)
from app.analysis.io_baseline import UsedShare
from app.domain.metrics import METRICS, SESSION_GROUPS
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.runfile.reader import RunFile
from tests.fix_runs import Shape, begin_run, write_run

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "bottlenecks" / "recorded.json").read_text()
)
"""Of runs on two CPUs whose bottleneck was made on purpose: what was made, and sums of the measured phase."""

ALONE = Evidence(
    seconds=60,
    clients=8,
    sessions=dict.fromkeys(SESSION_GROUPS, 0.0),
    cpus=4,
    busy=0.5,
    server=0.3,
    pgbench=0.1,
    queueing=0.0,
    pgbench_queueing=0.0,
    pgbench_share=5.0,
    memory_some=0.0,
)
"""A run whose sessions are nowhere yet."""


def of_sessions(evidence: Evidence = ALONE, **sessions: float) -> Evidence:
    return replace(evidence, sessions={**evidence.sessions, **sessions})


def cause(evidence: Evidence) -> Cause:
    return find_bottleneck(evidence).cause


def totals_of(recorded: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float, int]]:
    return {(metric, instance): (total, 0.0, count) for metric, instance, total, count in recorded["totals"]}


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["made"])
def test_the_bottleneck_that_was_made_is_named(recorded: dict[str, Any]) -> None:
    evidence = evidence_of(totals_of(recorded), read_environment_facts(recorded["facts"]))
    found = find_bottleneck(evidence)
    assert found.cause.value in recorded["causes"], found.sentence
    assert found.evidence


def test_recorded_runs_cover_provoked_causes() -> None:
    made = {Cause(value) for recorded in RECORDED for value in recorded["causes"]}
    assert made >= {Cause.CPU, Cause.WAL, Cause.LOCKS, Cause.PGBENCH, Cause.DEVICE, Cause.MEMORY}
    assert len(RECORDED) >= 10


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("for_wal", Cause.WAL),
        ("for_data", Cause.DEVICE),
        ("for_locks", Cause.LOCKS),
        ("for_internals", Cause.INTERNALS),
        ("for_client", Cause.PGBENCH),
        ("for_others", Cause.NOT_KNOWN),
    ],
)
def test_dominant_wait_is_cause(group: str, expected: Cause) -> None:
    half = DOMINANT * 8
    found = find_bottleneck(of_sessions(ALONE, **{group: half, "running": 0.3}))
    assert found.cause is expected
    assert "50 %" in found.sentence
    assert cause(of_sessions(ALONE, **{group: half - 0.1, "running": 0.3})) is Cause.SEVERAL


def test_wal_and_data_waits_are_device() -> None:
    assert cause(of_sessions(for_wal=3, for_data=2, for_client=3)) is Cause.DEVICE


def test_several_causes_largest_first() -> None:
    found = find_bottleneck(of_sessions(for_wal=3.2, for_locks=2.4, for_client=2))
    assert found.cause is Cause.SEVERAL
    [result] = found.evidence
    wal, locks, client = (result.index(words) for words in ("40 % waiting for WAL", "30 %", "21 % waiting"))
    assert wal < locks < client  # of the 25 % some 4 % were on a CPU


def test_queueing_for_cpu_counts_as_cpu() -> None:
    evidence = of_sessions(replace(ALONE, server=1.0, queueing=6.0), for_client=7.8, running=0.2)
    assert cause(evidence) is Cause.CPU
    assert cause(replace(evidence, queueing=0.1)) is Cause.PGBENCH
    # Others use what these leave idle: nobody waits for it, so it is no cause.
    assert cause(replace(evidence, queueing=0.1, busy=4.0)) is Cause.PGBENCH
    # Nobody knows who waited: all CPUs busy are the cause, idle ones are not.
    assert cause(replace(evidence, queueing=None, busy=4.0)) is Cause.OTHERS_CPU
    assert cause(replace(evidence, queueing=None, busy=4.0, server=2.5)) is Cause.CPU
    assert cause(replace(evidence, queueing=None, busy=1.0)) is Cause.PGBENCH


def test_server_filling_cpus_starves_pgbench() -> None:
    # Select-only on two idle CPUs, as measured: pgbench's two threads waited 64 % of their time for one.
    full = replace(ALONE, cpus=2, busy=1.99, server=1.45, pgbench=0.46, pgbench_share=23.0)
    evidence = of_sessions(replace(full, queueing=2.2, pgbench_queueing=1.28), for_client=7.6, running=0.4)
    assert 100 * evidence.for_pgbench == pytest.approx(54, abs=1)
    assert cause(evidence) is Cause.CPU
    # A quota keeps pgbench, while CPUs are idle; or pgbench and others use most of them.
    assert cause(replace(evidence, busy=0.6)) is Cause.PGBENCH
    assert cause(replace(evidence, server=0.7, pgbench=1.2, queueing=2.9)) is Cause.PGBENCH
    assert cause(replace(evidence, pgbench_queueing=0.0)) is Cause.PGBENCH


def test_session_cpu_without_queue() -> None:
    evidence = of_sessions(replace(ALONE, clients=1, server=0.8, pgbench=0.1), running=0.8, for_client=0.2)
    assert cause(replace(evidence, seconds=60)) is Cause.SESSION_CPU
    assert "more clients" in find_bottleneck(evidence).sentence


def test_busy_pgbench_despite_saturated_cpus() -> None:
    evidence = of_sessions(replace(ALONE, pgbench=1.0, pgbench_share=97.0), for_client=7.0, running=1.0)
    assert cause(evidence) is Cause.PGBENCH
    assert "97 %" in find_bottleneck(evidence).sentence


def test_io_baseline_as_evidence() -> None:
    used = {
        share.metric: share
        for share in (UsedShare("wal.syncs", 200.0, 140.0), UsedShare("storage.reads", 900, 9))
    }
    assert "can do" not in find_bottleneck(of_sessions(for_wal=7)).sentence
    found = find_bottleneck(of_sessions(replace(ALONE, used=used), for_wal=7))
    assert found.evidence[-1] == "the storage can do 200 durable writes/s; the run used 70 %"
    found = find_bottleneck(of_sessions(replace(ALONE, used=used), for_data=7))
    assert found.evidence[-1] == "the storage can do 900 reads/s; the run used 1 %"


def test_memory_before_reads_after_locks() -> None:
    evidence = of_sessions(replace(ALONE, memory_some=30.0), for_data=6)
    assert cause(evidence) is Cause.MEMORY
    assert cause(of_sessions(replace(ALONE, memory_some=30.0), for_locks=6)) is Cause.LOCKS


def test_kept_rate_is_cause() -> None:
    evidence = of_sessions(replace(ALONE, rate=1000.0, tps=995.0, is_kept=True), for_wal=6)
    assert cause(evidence) is Cause.RATE
    assert cause(replace(evidence, seconds=0)) is Cause.RATE
    assert cause(replace(evidence, is_kept=False)) is Cause.WAL
    assert cause(replace(evidence, is_kept=None)) is Cause.WAL


@pytest.mark.parametrize(
    ("rate", "transactions", "skipped", "kept"),
    [
        (50.0, 313, None, None),  # of 350 that were offered: Poisson's scatter is 19
        (50.0, 280, None, False),
        (3000.0, 20_700, None, True),
        (3000.0, 20_000, None, False),
        (50.0, 313, 20, False),
        (None, 313, None, None),
    ],
)
def test_kept_rate_allows_for_chance(
    rate: float | None, transactions: int, skipped: int | None, *, kept: bool | None
) -> None:
    load = OfferedLoad(LoadKind.CLOSED if rate is None else LoadKind.RATE, rate)
    printed = {"tps": transactions / 7, "transactions": float(transactions), "skipped": skipped}
    evidence = evidence_of({}, read_environment_facts({}), load=load, printed=printed)
    assert evidence.is_kept is kept
    if transactions == 313 and rate and not skipped:
        found = find_bottleneck(replace(evidence, seconds=60, clients=8, sessions={"for_client": 8.0}))
        assert found.cause is Cause.NOT_KNOWN
    assert (cause(evidence) is Cause.RATE) is (kept is True)


@pytest.mark.parametrize(
    ("clients", "seconds", "share", "expected"),
    [
        (4, 4, 0.9, Cause.WAL),  # a quick run of 5 s
        (4, 4, 0.6, Cause.NOT_KNOWN),
        (4, 6, 0.6, Cause.WAL),
        (1, 7, 1.0, Cause.NOT_KNOWN),
        (1, 8, 1.0, Cause.WAL),
        (1, 8, 0.5, Cause.NOT_KNOWN),
    ],
)
def test_clear_share_needs_fewer_samples(clients: int, seconds: int, share: float, expected: Cause) -> None:
    evidence = of_sessions(replace(ALONE, clients=clients, seconds=seconds), for_wal=share * clients)
    found = find_bottleneck(evidence)
    assert found.cause is expected
    if expected is Cause.NOT_KNOWN:
        assert "no wait events" not in found.sentence
        assert f" {1 + math.ceil(20 / clients)} s)" in found.sentence


def test_cpus_of_other_programs_are_named() -> None:
    full = of_sessions(replace(ALONE, busy=4.0, server=0.4, pgbench=0.2, queueing=6.0), running=7.0)
    assert cause(full) is Cause.OTHERS_CPU
    assert "other programs" in find_bottleneck(full).sentence
    assert cause(replace(full, kernel=3.0)) is Cause.CPU  # kernel threads work for whoever writes
    assert cause(replace(full, server=2.5)) is Cause.CPU


def test_pgbench_without_a_cpu_of_others() -> None:
    # As measured beside two busy programs: one thread of pgbench used 17 % and waited 68 % of the time.
    beside = replace(ALONE, cpus=2, busy=2.01, server=0.61, pgbench=0.17, pgbench_share=16.7, queueing=3.31)
    evidence = of_sessions(replace(beside, pgbench_queueing=0.68), for_client=7.36, running=0.64)
    assert cause(evidence) is Cause.OTHERS_CPU
    assert cause(replace(evidence, pgbench_queueing=0.2)) is Cause.PGBENCH
    assert cause(replace(evidence, kernel=1.0)) is Cause.PGBENCH
    assert cause(replace(evidence, queueing=1.5)) is Cause.PGBENCH  # more than the server waits: a quota


WITHOUT = Evidence(seconds=60, cpus=4, busy=1.0, io_some=80.0, memory_some=0.0, pgbench_share=10.0)
"""A run of before wait events were sampled."""


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (WITHOUT, Cause.NOT_KNOWN),
        (replace(WITHOUT, busy=3.7), Cause.CPU),
        (replace(WITHOUT, pgbench_share=92.0), Cause.PGBENCH),
        (replace(WITHOUT, memory_some=20.0), Cause.MEMORY),
        (replace(WITHOUT, devices=(DeviceEvidence("sda", utilisation=97.0),)), Cause.DEVICE),
        (replace(WITHOUT, io_some=5.0, devices=(DeviceEvidence("sda", utilisation=97.0),)), Cause.NOT_KNOWN),
        (replace(WITHOUT, io_some=None, devices=(DeviceEvidence("sda", utilisation=97.0),)), Cause.NOT_KNOWN),
        (replace(WITHOUT, devices=(DeviceEvidence("sda", flushes=100.0, flush_ms=8.0),)), Cause.WAL),
        (replace(WITHOUT, devices=(DeviceEvidence("sda", flushes=100.0),)), Cause.NOT_KNOWN),
        (Evidence(seconds=60), Cause.NOT_KNOWN),
    ],
)
def test_saturation_without_wait_events(evidence: Evidence, expected: Cause) -> None:
    found = find_bottleneck(evidence)
    assert found.cause is expected
    if expected is Cause.NOT_KNOWN:
        assert found.sentence.startswith("The bottleneck is not known: the file has no wait events")


def test_too_few_seconds_or_samples_prove_nothing() -> None:
    sure = of_sessions(for_wal=8)
    assert cause(replace(sure, seconds=1)) is Cause.NOT_KNOWN
    assert f"than {FEWEST_SECONDS} measured seconds" in find_bottleneck(replace(sure, seconds=1)).sentence
    assert "no samples" in find_bottleneck(replace(sure, seconds=0)).sentence
    alone = replace(sure, clients=1, seconds=10, sessions={**sure.sessions, "for_wal": 0.6})
    assert cause(alone) is Cause.NOT_KNOWN
    assert cause(replace(alone, seconds=30)) is Cause.WAL


LEVEL = st.one_of(st.none(), st.floats(0, 1e6))


@example(dict.fromkeys(SESSION_GROUPS, 0.0), (5e-324, None, None, None, None, None), None)
@given(
    st.fixed_dictionaries({group: st.floats(0, 1e6) for group in SESSION_GROUPS}),
    st.tuples(LEVEL, LEVEL, LEVEL, LEVEL, LEVEL, LEVEL),
    st.one_of(st.none(), st.integers(0, 1024)),
)
def test_any_evidence_gives_sentence(
    sessions: Mapping[str, float], levels: tuple[float | None, ...], cpus: int | None
) -> None:
    clients, busy, server, pgbench, queueing, share = levels
    evidence = Evidence(
        seconds=60, clients=clients, sessions=sessions, cpus=cpus, busy=busy, server=server, pgbench=pgbench,
        queueing=queueing, pgbench_share=share, devices=(DeviceEvidence("sda", share, busy),),
    )  # fmt: skip
    for each in (evidence, replace(evidence, sessions={})):
        found = find_bottleneck(each)
        assert CAUSES[found.cause] in found.sentence
        assert found.sentence.endswith(".")
        assert "nan" not in found.sentence


def test_method_states_used_thresholds() -> None:
    manual = Path(__file__).parents[3] / "resources/manual/method.md"
    text = " ".join(manual.read_text(encoding="utf-8").split())
    for words in (
        f"What took {100 * DOMINANT:.0f} % of the clients' time",
        f"running process {QUEUEING:g} waited",
        f"for it {MEMORY:g} % of the time",
        f"Below {FEWEST_SAMPLES} samples",
        f"threads {100 * SATURATED:.0f} % busy",
        f"a disk {BUSY:.0f} % while programs waited for I/O {PRESSURE:.0f} %",
    ):
        assert words in text
    assert PGBENCH_SHARE == 100 * SATURATED  # one word for both


# --- from run files


def test_series_that_are_read_exist() -> None:
    assert set(METRICS_READ) <= METRICS.keys()


def test_impossible_numbers_no_evidence() -> None:
    facts = read_environment_facts({})
    totals = {
        ("cpu.user", ""): (math.inf, 0.0, 60),
        ("process.cpu_user", "postgres"): (math.nan, 0.0, 60),
        ("pressure.memory_some", ""): (-5.0, 0.0, 60),
        ("sessions.clients", ""): (480.0, 0.0, 60),
    }
    evidence = evidence_of(totals, facts)
    assert (evidence.busy, evidence.server, evidence.memory_some) == (None, None, None)
    assert find_bottleneck(evidence).cause is Cause.NOT_KNOWN


def test_read_bottleneck_from_file(tmp_path: Path) -> None:
    with RunFile(write_run(tmp_path / "one.footing", Shape(seconds=30))) as run:
        found = read_bottleneck(run)
    assert found.cause is Cause.WAL
    assert "WAL" in found.sentence
    writer = begin_run(tmp_path / "two.footing", Shape(), "ext4 #1")
    writer.close()
    with RunFile(tmp_path / "two.footing") as run:
        assert read_bottleneck(run) == Bottleneck(Cause.NOT_KNOWN, ("the run was not measured completely",))


EXAMPLES = sorted((Path(__file__).parents[2] / "data" / "runfile").glob("*.footing"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_older_recorded_files_have_sentence(path: Path) -> None:
    with RunFile(path) as run:
        assert read_bottleneck(run).sentence


def test_local_cpus_never_limit_remote_server() -> None:
    busy = replace(ALONE, busy=4.0, queueing=10.0, sessions={**ALONE.sessions, "running": 8.0})
    assert find_bottleneck(busy).cause is Cause.OTHERS_CPU
    assert limit_elsewhere(busy).cause not in {Cause.CPU, Cause.OTHERS_CPU}


def test_remote_server_waiting_for_network() -> None:
    waiting = replace(ALONE, sessions={**ALONE.sessions, "for_client": 8.0})
    assert find_bottleneck(waiting).cause is Cause.PGBENCH
    found = limit_elsewhere(waiting)
    assert found.cause is Cause.NOT_KNOWN
    assert "network round trips" in found.evidence[0]
    assert limit_elsewhere(replace(waiting, pgbench_share=100.0)).cause is Cause.PGBENCH
