"""The phases of a workload: their order, what pgbench does in each, which one gives the run's figures."""

from __future__ import annotations

from app.domain.campaign.configuration import (
    BuiltinScript,
    RateShare,
    Script,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.phases import (
    all_scripts,
    measured_seconds,
    most_clients,
    own_workload,
    script_files,
    turns_of,
    warmed_workload,
    workload_of,
)

READS = (Script(BuiltinScript.SELECT_ONLY),)
OWN = Script(None, "/own.sql", "SELECT 1;")
LENTFER = Workload(
    clients=10,
    duration_s=None,
    transactions=1000,
    phases=(
        WorkloadPhase("first selects", times=3, counts=False, scripts=READS),
        WorkloadPhase("selects", scripts=READS),
        WorkloadPhase("TPC-B", times=3),
        WorkloadPhase("selects again", scripts=READS),
    ),
)


def test_turns_and_deciding_phase() -> None:
    turns = turns_of(LENTFER)
    assert [turn.label for turn in turns] == [
        "first selects (1 of 3)",
        "first selects (2 of 3)",
        "first selects (3 of 3)",
        "selects",
        "TPC-B (1 of 3)",
        "TPC-B (2 of 3)",
        "TPC-B (3 of 3)",
        "selects again",
    ]
    assert [turn.number for turn in turns] == list(range(1, 9))
    assert [turn.number for turn in turns if turn.is_own] == [8]
    cooling = Workload(phases=(WorkloadPhase("a", times=2), WorkloadPhase("b", counts=False)))
    assert [turn.is_own for turn in turns_of(cooling)] == [False, True, False]
    assert turns_of(Workload()) == ()


def test_phase_defaults_from_workload() -> None:
    selects = workload_of(LENTFER, LENTFER.phases[1])
    assert (selects.scripts, selects.clients, selects.transactions) == (READS, 10, 1000)
    timed = workload_of(LENTFER, WorkloadPhase("timed", duration_s=60))
    assert (timed.duration_s, timed.transactions) == (60, None)
    counted = workload_of(Workload(), WorkloadPhase("counted", transactions=5))
    assert (counted.duration_s, counted.transactions) == (None, 5)
    few = workload_of(Workload(clients=8, threads=8), WorkloadPhase("few", clients=2))
    assert (few.clients, few.threads) == (2, 2)


def test_rate_share_of_other_phase() -> None:
    phase = WorkloadPhase("half", rate=RateShare(50, "full"))
    assert workload_of(Workload(), phase).rate_tps is None
    assert workload_of(Workload(), phase, {"full": 900.0}).rate_tps == 450
    assert workload_of(Workload(rate_tps=5), WorkloadPhase("own", rate=7.0)).rate_tps == 7


def test_own_and_warmed_workload() -> None:
    workload = Workload(phases=(WorkloadPhase("reads", scripts=READS), WorkloadPhase("writes", clients=9)))
    assert own_workload(workload).clients == 9
    assert warmed_workload(workload).scripts == READS
    assert own_workload(Workload()) == warmed_workload(Workload()) == Workload()


def test_needs_of_all_phases() -> None:
    workload = Workload(
        duration_s=60,
        phases=(
            WorkloadPhase("a", times=3, clients=20, duration_s=10),
            WorkloadPhase("b", scripts=(OWN, *READS)),
            WorkloadPhase("c", scripts=(OWN,)),
        ),
    )
    assert measured_seconds(workload) == 90 + 60
    assert measured_seconds(LENTFER) is None
    assert measured_seconds(Workload(duration_s=7)) == 7
    assert most_clients(workload) == 20
    assert all_scripts(workload) == (*workload.scripts, OWN, *READS)
    assert script_files(workload) == {OWN: "script1.sql"}
