"""Whether others disturbed a run is told from what they did while it was measured, never from its TPS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.analysis.facts import read_run_facts
from app.analysis.stability import describe_disturbances
from app.comparison.comparison import compare_runs
from app.domain.disturbances import (
    DISTURBING_METRICS,
    THRESHOLDS,
    AmountUnit,
    DisturbanceKind,
    MeasuredActivity,
    describe_thresholds,
    format_amounts,
    judge_disturbances,
)
from app.domain.json_value import Json
from app.domain.metrics import METRICS, Sample
from app.domain.run import Phase, RunState
from app.library.entries import read_entry
from app.probes.preflight.checks import FOREIGN_SHARE, PRESSURE_SHARE, STEAL_SHARE
from app.runfile.disturbance import DISTURBED, marks_of, read_disturbances, totals_of_whole_phase
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.writer import RunFileWriter
from tests.quiet_machine import write_quiet

HERE = Path(__file__).parents[3]
EXAMPLES = sorted((HERE / "resources/examples/folder-against-memory").glob("*.footing"))
FORMAT_1 = HERE / "tests/data/runfile/format-1-of-db72dd2.footing"

QUIET = {
    ("cpu.user", ""): 1.2,
    ("cpu.system", ""): 0.5,
    ("cpu.steal", ""): 0.0,
    ("process.cpu_user", "postgres"): 0.8,
    ("process.cpu_system", "postgres"): 0.2,
    ("process.cpu_user", "pgbench"): 0.35,
    ("process.cpu_system", "pgbench"): 0.2,
    ("process.cpu_user", "pgfooting"): 0.01,
    ("process.cpu_system", "pgfooting"): 0.01,
    ("kernel.cpu", "jbd2"): 0.08,
    ("pressure.memory_some", ""): 0.0,
    ("memory.swap_in", ""): 0.0,
    ("cpu.throttled", ""): 0.0,
    ("cpu.frequency_limit", ""): 3600.0,
    ("others.read_bytes", ""): 0.0,
    ("others.write_bytes", ""): 2e5,
    ("others.maintenance", ""): 0.0,
    ("storage.read_bytes", ""): 1e6,
    ("storage.write_bytes", ""): 5e7,
}
"""Means of a run on two CPUs in which others did next to nothing."""

Means = Mapping[tuple[str, str], float]


def activity(
    means: Means,
    *,
    seconds: int = 60,
    cpus: int | None = 2,
    needs_memory: bool | None = False,
    sees_kernel_threads: bool = True,
) -> MeasuredActivity:
    """Return what the machine did, each series with a sample a second."""
    totals = {key: (mean * seconds, mean, seconds) for key, mean in means.items()}
    return MeasuredActivity(totals, cpus, needs_memory, sees_kernel_threads, ("performance", "performance"))


def kinds(means: Means, *, sees_kernel_threads: bool = True) -> list[DisturbanceKind]:
    judged = judge_disturbances(activity(means, sees_kernel_threads=sees_kernel_threads))
    return [each.kind for each in judged.found]


def test_thresholds_complete_for_every_kind() -> None:
    assert list(THRESHOLDS) == list(DisturbanceKind)
    for threshold in THRESHOLDS.values():
        assert threshold.least > 0
        assert ("{amount}" in threshold.sentence) is (threshold.unit is not AmountUnit.TIMES)
    assert set(DISTURBING_METRICS) <= set(METRICS)


def test_preflight_uses_same_thresholds() -> None:
    assert pytest.approx(0.05) == FOREIGN_SHARE
    assert pytest.approx(0.01) == STEAL_SHARE
    assert pytest.approx(0.05) == PRESSURE_SHARE


def test_undisturbed_run() -> None:
    judged = judge_disturbances(activity(QUIET))
    assert (judged.found, judged.unknown, judged.not_known, judged.reason) == ((), (), "", "")


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({("cpu.user", ""): 1.99}, DisturbanceKind.OTHERS_CPU, "other programs used 42 % of the CPUs"),
        ({("cpu.system", ""): 0.61}, DisturbanceKind.OTHERS_CPU, "other programs used 8.0 % of the CPUs"),
        ({("cpu.steal", ""): 0.02}, DisturbanceKind.STEAL, "took 1.0 % of the CPU time (steal)"),
        (
            {("pressure.memory_some", ""): 12.3},
            DisturbanceKind.MEMORY_PRESSURE,
            "programs waited for memory 12 % of the time",
        ),
        (
            {("array.sync_remaining", "md0"): 1e9},
            DisturbanceKind.ARRAY_SYNC,
            "an array was checked or rebuilt 100 % of the time",
        ),
        ({("memory.swap_in", ""): 4e6}, DisturbanceKind.SWAP_IN, "read back from swap at 3.81 MiB/s"),
        (
            {("cpu.throttled", ""): 8.0},
            DisturbanceKind.THROTTLED,
            "throttled because of heat 8.0 % of the time",
        ),
        (
            {("others.write_bytes", ""): 3.0e7},
            DisturbanceKind.OTHERS_IO,
            "other processes read and wrote 28.6 MiB/s on the disks under test",
        ),
        (
            {("others.maintenance", ""): 1.0, ("others.maintaining", "fstrim"): 1.0},
            DisturbanceKind.MAINTENANCE,
            "a program trimmed, checked or moved a filesystem 100 % of the time",
        ),
    ],
)
def test_each_disturbance_alone_with_amount(change: Means, kind: DisturbanceKind, words: str) -> None:
    judged = judge_disturbances(activity({**QUIET, **change}))
    assert [each.kind for each in judged.found] == [kind]
    assert words in judged.reason


@pytest.mark.parametrize("kind", [DisturbanceKind.OTHERS_CPU, DisturbanceKind.STEAL])
def test_disturbed_from_threshold(kind: DisturbanceKind) -> None:
    least = THRESHOLDS[kind].least * 2 / 100
    for cores, disturbed in ((least * 0.99, False), (least * 1.01, True)):
        found = (
            {**QUIET, ("cpu.steal", ""): cores}
            if kind is DisturbanceKind.STEAL
            else {**QUIET, ("cpu.user", ""): 1.2 + cores - 0.05}
        )
        assert (kind in kinds(found)) is disturbed


def test_moving_frequency_limit() -> None:
    totals = dict(activity({**QUIET, ("cpu.frequency_limit", ""): 1800.0}).totals)
    assert not judge_disturbances(MeasuredActivity(totals, 2, needs_memory=False)).found
    totals["cpu.frequency_limit", ""] = (3600.0 * 6 + 1800.0 * 6, 3600.0, 12)
    (found,) = judge_disturbances(MeasuredActivity(totals, 2, needs_memory=False)).found
    assert found.kind is DisturbanceKind.FREQUENCY_LIMIT
    assert found.amount == pytest.approx(25)


def test_changed_governor() -> None:
    totals = activity(QUIET).totals
    for after, count in (("performance", 0), ("powersave", 1), ("", 0)):
        judged = judge_disturbances(MeasuredActivity(totals, 2, governors=("performance", after)))
        assert len(judged.found) == count
        assert (DisturbanceKind.GOVERNOR in dict(judged.unknown)) is (after == "")
        if count:
            assert judged.reason == "the CPU frequency governor was changed"


def test_other_io_by_rate_and_share() -> None:
    busy = {**QUIET, ("storage.write_bytes", ""): 9e8}
    assert kinds({**busy, ("others.write_bytes", ""): 3e7}) == []  # a thirtieth of what the disks did
    assert kinds({**QUIET, ("others.write_bytes", ""): 1e6, ("storage.write_bytes", ""): 0.0}) == []
    assert kinds({**busy, ("others.write_bytes", ""): 6e7}) == [DisturbanceKind.OTHERS_IO]


def test_older_files_without_new_series() -> None:
    families = {"cpu.user", "cpu.system", "cpu.steal", "process.cpu_user", "process.cpu_system"}
    before = {key: mean for key, mean in QUIET.items() if key[0] in families}
    judged = judge_disturbances(activity({**before, ("cpu.user", ""): 1.6}))
    assert [each.kind for each in judged.found] == [DisturbanceKind.OTHERS_CPU]
    assert {DisturbanceKind.SWAP_IN, DisturbanceKind.OTHERS_IO, DisturbanceKind.MAINTENANCE} <= {
        kind for kind, _ in judged.unknown
    }


def test_kernel_threads_not_others() -> None:
    writing = {**QUIET, ("cpu.system", ""): 1.3, ("kernel.cpu", "kworker"): 0.8}
    assert kinds(writing) == []


def test_hidden_kernel_threads_user_time_only() -> None:
    writing = {**QUIET, ("cpu.system", ""): 1.3}
    assert kinds(writing, sees_kernel_threads=False) == []
    assert kinds({**writing, ("cpu.user", ""): 1.6}, sees_kernel_threads=False) == [
        DisturbanceKind.OTHERS_CPU
    ]


def test_array_check_below_threshold() -> None:
    totals = dict(activity(QUIET, seconds=300).totals)
    for seconds, disturbed in ((2, False), (3, True)):
        totals["array.sync_remaining", "md0"] = (5e9, 3e9, seconds)
        found = judge_disturbances(MeasuredActivity(totals, 2, needs_memory=False)).found
        assert bool(found) is disturbed


def test_own_memory_pressure_not_judged() -> None:
    pressed = {**QUIET, ("pressure.memory_some", ""): 40.0}
    for needs_memory, why in (
        (True, "needed more memory"),
        (None, "the file does not record how much memory the run needed"),
    ):
        judged = judge_disturbances(activity(pressed, needs_memory=needs_memory))
        assert judged.found == ()
        values = dict(judged.unknown)
        assert why in values[DisturbanceKind.MEMORY_PRESSURE]
        assert (DisturbanceKind.SWAP_IN in values) is (needs_memory is True)
        assert judged.not_known == ""


@pytest.mark.parametrize(
    "missing", [key for key in QUIET if key[0].startswith(("cpu.user", "cpu.sys", "cpu.steal", "process"))]
)
def test_missing_series_not_known(missing: tuple[str, str]) -> None:
    if missing == ("process.cpu_user", "pgfooting"):
        return  # formats of before did not count the runner itself
    judged = judge_disturbances(activity({key: mean for key, mean in QUIET.items() if key != missing}))
    assert not judged.found
    assert METRICS[missing[0]].label in judged.not_known


def test_unknown_cpu_count() -> None:
    for cpus in (None, 0, -3):
        judged = judge_disturbances(activity({**QUIET, ("cpu.user", ""): 2.0}, cpus=cpus))
        assert not judged.found
        assert "the file does not record the number of CPUs" in judged.not_known


def test_two_second_run_too_short() -> None:
    judged = judge_disturbances(activity({**QUIET, ("cpu.user", ""): 2.0}, seconds=2))
    assert not judged.found
    assert "fewer than 3 measured seconds" in judged.not_known
    assert len(judged.unknown) == len(THRESHOLDS)


def test_no_series_not_known() -> None:
    assert "no samples" in judge_disturbances(MeasuredActivity({}, 2)).not_known


@example(
    totals={
        **dict.fromkeys((("cpu.user", ""), ("cpu.system", ""), ("cpu.steal", "")), (0.0, 0.0, 0)),
        ("cpu.frequency_limit", ""): (-1.0, 2e-309, 3),  # a share beyond all numbers
    },
    cpus=None,
)
@given(
    st.dictionaries(
        st.sampled_from([*QUIET, ("array.sync_remaining", "md0"), ("kernel.cpu", "md")]),
        st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.floats(), st.integers(-(2**40), 2**40)),
    ),
    st.none() | st.integers(),
)
def test_any_numbers_judged_without_error(
    totals: dict[tuple[str, str], tuple[float, float, int]], cpus: int | None
) -> None:
    judged = judge_disturbances(MeasuredActivity(totals, cpus, needs_memory=False))
    for each in judged.found:
        assert math.isfinite(each.amount)
        assert each.sentence


def test_the_thresholds_are_told_in_one_clause() -> None:
    sentence = describe_thresholds()
    assert sentence.startswith("other programs used 5 % or more of the CPUs; the hypervisor took 1 % or more")
    assert "other processes read and wrote 1 MiB/s or more on the disks under test" in sentence
    assert sentence.count("; ") == len(THRESHOLDS) - 1


def test_amounts_as_range() -> None:
    assert format_amounts(DisturbanceKind.OTHERS_CPU, (42.3, 70.4, 55.0)) == "42 to 70 %"
    assert format_amounts(DisturbanceKind.OTHERS_CPU, (9.96, 9.97)) == "10 %"
    assert format_amounts(DisturbanceKind.STEAL, (1.04, 3.2)) == "1.0 to 3.2 %"
    assert AmountUnit.PERCENT.value == "%"


# --- Files.


def written(
    path: Path,
    *,
    others: tuple[float, ...],
    tps: tuple[float, ...],
    stored: tuple[tuple[str, str], ...] = (),
    cpus: int | None = 2,
) -> Path:
    """Write a finished run with a warm-up of 5 s; `others`: cores that others used in each second of it."""
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    with writer.transaction():
        writer.set_run({"id": "1", "state": "done", "data_bytes": 1000})
        if cpus is not None:
            writer.add_facts(
                "before", {"processor": {"online": cpus}, "memory": {"info": {"MemTotal": 2**33}}}
            )
        writer.begin_phase(Phase.WARM_UP, 0)
        for second, (used, speed) in enumerate(zip(others, tps, strict=True)):
            if second == 5:
                writer.begin_phase(Phase.MEASURE, 5000)
            means = {**QUIET, ("cpu.user", ""): 1.15 + used, ("pgbench.tps", ""): speed}
            t_ms = 1000 * (second + 1)
            samples = [(t_ms, Sample(metric, value, instance)) for (metric, instance), value in means.items()]
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=samples)
        writer.end_phase(1000 * len(others))
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": sum(tps[5:]) / len(tps[5:])}, stored, is_durable=False)
    return path


def test_only_the_measured_phase_counts(tmp_path: Path) -> None:
    run = written(tmp_path / "a.footing", others=(2.0,) * 6 + (0.0,) * 20, tps=(100.0,) * 26)
    with RunFile(run) as file:
        # The second in which the measurement began is half of the warm-up: it does not count either.
        assert not read_disturbances(file).found
    run = written(tmp_path / "b.footing", others=(0.0,) * 6 + (0.3,) * 20, tps=(100.0,) * 26)
    with RunFile(run) as file:
        assert read_disturbances(file).reason == "other programs used 15 % of the CPUs"


@pytest.mark.parametrize(
    ("seconds", "others", "reason", "is_known"),
    [
        (3.02, 0.0, "", True),
        (3.02, 0.3, "other programs used 15 % of the CPUs", True),
        (2.02, 2.0, "", False),
    ],
)
def test_short_run_is_judged_by_whole_counters(
    tmp_path: Path, seconds: float, others: float, reason: str, *, is_known: bool
) -> None:
    path = tmp_path / "short.footing"
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    with writer.transaction():
        writer.begin_phase(Phase.MEASURE, 0)
        write_quiet(writer, others, seconds)
        writer.end_phase(round(1000 * seconds))
    writer.close()
    with RunFile(path) as file:
        judged = read_disturbances(file)
    assert judged.reason == reason
    assert (judged.not_known == "") is is_known


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"seconds": "3", "means": {"cpu.user": 1}},
        {"seconds": 3, "means": [1]},
        {"seconds": float("nan"), "means": {"cpu.user": 1}},
        {"seconds": 1e300, "means": {"cpu.user": 1}},
        {"seconds": 3, "means": {"cpu.user": "1", "pgbench.tps": 9.0}},
    ],
)
def test_foreign_whole_counters_tell_nothing(facts: dict[str, Json]) -> None:
    assert totals_of_whole_phase(facts) == {}


@given(st.lists(st.floats(0, 1e6), min_size=20, max_size=20))
def test_the_transactions_of_a_run_never_decide(seconds: list[float]) -> None:
    """The judgement gets no series of pgbench: slow runs cannot be thrown out for being slow."""
    slow = activity({**QUIET, **{("pgbench.tps", str(at)): tps for at, tps in enumerate(seconds)}})
    assert judge_disturbances(slow) == judge_disturbances(activity(QUIET))
    assert not any(
        metric.startswith(("pgbench", "latency", "server", "wal")) for metric in DISTURBING_METRICS
    )


def test_stored_mark_follows_current_thresholds(tmp_path: Path) -> None:
    quiet = written(
        tmp_path / "q.footing", others=(0.0,) * 20, tps=(9.0,) * 20, stored=((DISTURBED, "older thresholds"),)
    )
    with RunFile(quiet) as file:
        assert marks_of(file) == ()
    unknown = written(
        tmp_path / "u.footing",
        others=(0.0,) * 20,
        tps=(9.0,) * 20,
        stored=((DISTURBED, "who wrote it knew"),),
        cpus=None,
    )
    with RunFile(unknown) as file:
        assert marks_of(file) == ((DISTURBED, "who wrote it knew"),)


def test_older_files_judged_by_series() -> None:
    values = {path.name[:2]: read_run_facts(path).marks for path in EXAMPLES}
    disturbed = {number for number, marks in values.items() if DISTURBED in dict(marks)}
    assert disturbed == {"01", "02", "03"}
    assert dict(values["02"])[DISTURBED] == "other programs used 42 % of the CPUs"
    assert DISTURBED in read_entry(FORMAT_1).marks


def test_not_known_sentence(tmp_path: Path) -> None:
    run = written(tmp_path / "u.footing", others=(0.0,) * 20, tps=(9.0,) * 20, cpus=None)
    facts = read_run_facts(run)
    assert facts.marks == ()
    text = "Whether the run was disturbed is not known (the file does not record the number of CPUs)."
    assert describe_disturbances(facts.disturbances) == text
    assert text in compare_runs([facts]).runs[0].sentences


def test_gaps_neither_quiet_nor_busy() -> None:
    whole = activity({**QUIET, ("cpu.user", ""): 1.6})
    totals = {key: (total / 3, maximum, count // 3) for key, (total, maximum, count) in whole.totals.items()}
    gaps = judge_disturbances(MeasuredActivity(totals, 2, needs_memory=False))
    assert gaps.found[0].amount == pytest.approx(judge_disturbances(whole).found[0].amount)


def test_old_and_current_format_together(tmp_path: Path) -> None:
    today = written(tmp_path / "a.footing", others=(0.0,) * 20, tps=(400.0,) * 20)
    found = compare_runs([read_run_facts(path) for path in (FORMAT_1, today)])
    assert len(found.groups) == 2
    sentences = [[each for each in run.sentences if each.startswith("Disturbed:")] for run in found.runs]
    assert sentences == [["Disturbed: other programs used 94 % of the CPUs."], []]


def test_disturbed_sentence(tmp_path: Path) -> None:
    run = written(tmp_path / "a.footing", others=(0.4,) * 20, tps=(9.0,) * 20)
    text = "Disturbed: other programs used 20 % of the CPUs."
    assert text in compare_runs([read_run_facts(run)]).runs[0].sentences
    quiet = written(tmp_path / "b.footing", others=(0.0,) * 20, tps=(9.0,) * 20)
    assert "isturbed" not in " ".join(compare_runs([read_run_facts(quiet)]).runs[0].sentences)
