"""The answer of a comparison: of how many runs and configurations it says what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import MACHINE
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.overall.answer import MOST_CONDITIONS, by_speed, find_answer, question_of
from app.comparison.table import COMPARISON_COLUMNS, columns_for
from app.comparison.warnings import comparison_warnings
from app.domain.json_value import Json
from app.domain.run import RunState
from app.export.comparison import comparison_as_json
from app.runfile.metadata.safety import NOT_DURABLE
from tests.fix_window import Trial, write_trial
from tests.made_matrix import made_run


def compared(folder: Path, *trials: Trial) -> RunComparison:
    paths = (write_trial(folder / f"{at:02}.footing", trial) for at, trial in enumerate(trials))
    return compare_runs([read_run_facts(path) for path in paths])


def several(name: str, tps: float, count: int = 3, **more: object) -> list[Trial]:
    spread = (0.998, 1.0, 1.002)
    return [
        Trial(f"{name} #{at + 1}", name, at, tps=tps * spread[at % 3], **more)  # type: ignore[arg-type]
        for at in range(count)
    ]


def test_three_configurations_fastest(tmp_path: Path) -> None:
    found = compared(tmp_path, *several("ext4", 1000), *several("xfs", 1200), *several("btrfs", 700))
    assert find_answer(found).sentence.startswith("Fastest: xfs. Each of the other 2 is significantly slower")
    assert [row.name for row in by_speed(found)] == ["xfs", "ext4", "btrfs"]
    assert len(find_answer(found).verdicts) == 2


def test_two_configurations_verdict_not_repeated(tmp_path: Path) -> None:
    answer = find_answer(compared(tmp_path, *several("ext4", 1000), *several("xfs", 1200)))
    assert answer.sentence.startswith("xfs is 20 % faster than ext4")
    assert answer.verdicts == ()


def test_two_configurations_too_few_runs(tmp_path: Path) -> None:
    answer = find_answer(compared(tmp_path, *several("ext4", 1000, 2), *several("xfs", 1200, 2)))
    assert answer.sentence.startswith("No verdict: xfs measured 20 % faster than ext4 (2 runs each; ")
    assert answer.verdicts == ()


def test_single_runs_highest_mean_proves_nothing(tmp_path: Path) -> None:
    trials = (Trial(name, name, tps=tps) for name, tps in (("ext4", 1000), ("xfs", 1200), ("zfs", 900)))
    answer = find_answer(compared(tmp_path, *trials))
    text = "xfs has the highest mean, 1,200 transactions per second. These runs do not show"
    assert answer.sentence.startswith(text)


def test_mean_says_which_part_it_covers(tmp_path: Path) -> None:
    paths = [
        write_trial(tmp_path / f"{name}.footing", Trial(name, name, seconds=130, tps=tps))
        for name, tps in (("ext4", 1000), ("xfs", 1200), ("zfs", 900))
    ]
    facts = [read_run_facts(path) for path in paths]
    for cut_s, part in ((0.0, ""), (61.0, " after 1:01")):
        found = compare_runs(facts, cut_s=cut_s)
        assert f"1,200 transactions per second{part}." in find_answer(found).sentence
        headings = [column.heading for column in columns_for(COMPARISON_COLUMNS, found.rows)]
        assert f"TPS{part}" in headings


def test_one_configuration_is_told_with_its_mean(tmp_path: Path) -> None:
    assert find_answer(compared(tmp_path, *several("ext4", 1000))).sentence == (
        "ext4: 1,000 transactions per second, mean of 3 runs."
    )
    assert find_answer(compared(tmp_path / "one", *several("ext4", 1000, 1))).sentence == (
        "ext4: 998 transactions per second, mean of 1 run."
    )


def test_no_completed_run(tmp_path: Path) -> None:
    found = compared(tmp_path, Trial(state=RunState.STOPPED), Trial("xfs", "xfs", state=RunState.FAILED))
    assert find_answer(found).sentence == "No run was completed, so there is nothing to compare."


def test_not_durable_listed_last(tmp_path: Path) -> None:
    lost = several("nobarrier", 5000, marks=((NOT_DURABLE, "barrier=0"),))
    found = compared(tmp_path, *several("ext4", 1000), *several("xfs", 1200), *lost)
    assert [row.name for row in by_speed(found)] == ["xfs", "ext4", "nobarrier"]
    assert find_answer(found).sentence.startswith("xfs is 20 % faster than ext4 (20 %, 3 runs each)")
    (result,) = find_answer(found).verdicts
    assert result.startswith("nobarrier is 5.0 times as fast as ext4")
    assert "but it is NOT DURABLE, so it is not ranked. This is the cost of durability" in result


LOST = ((NOT_DURABLE, "the data is in memory"),)
IN_MEMORY = {"target": {"kind": "memory"}}


def test_memory_is_what_the_storage_costs(tmp_path: Path) -> None:
    memory = several("memory", 1820, marks=LOST, more=IN_MEMORY)
    found = compared(tmp_path, *several("folder", 1000), *memory)
    sentence = find_answer(found).sentence
    assert sentence.startswith("memory is 82 % faster than folder (95 % CI")
    assert sentence.endswith("but it is NOT DURABLE, so it is not ranked. This is the cost of the storage.")
    assert find_answer(found).verdicts == ()


def test_unranked_without_a_verdict_says_why(tmp_path: Path) -> None:
    memory = several("memory", 1820, 2, marks=LOST, more=IN_MEMORY)
    sentence = find_answer(compared(tmp_path, *several("folder", 1000, 2), *memory)).sentence
    assert sentence.startswith("memory measured 82 % faster than folder (2 runs each), but it is NOT DURABLE")
    assert sentence.endswith("This is the cost of the storage. No verdict: a verdict needs 3 runs of each.")


def test_slower_unranked_claims_no_cost(tmp_path: Path) -> None:
    memory = several("memory", 500, marks=LOST, more=IN_MEMORY)
    sentence = find_answer(compared(tmp_path, *several("folder", 1000), *memory)).sentence
    assert sentence.endswith("but it is NOT DURABLE, so it is not ranked.")


def kernels_of(scale: str, *kernels: str) -> list[RunFacts]:
    return [
        made_run({"filesystem": name, "scale": scale, "kernel": kernel}, 1000, topics={"kernel": MACHINE})
        for name, kernel in zip(("ext4", "xfs"), kernels, strict=True)
    ]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ((), "Not the same for all runs: Machine, kernel (6.1, 6.12)."),
        (("6.1", "6.12"), "Not the same for all runs: Machine, kernel (6.1, 6.12)."),
        (("6.1", "6.1"), "scale 2: Not the same for all runs: Machine, kernel (6.1, 6.12)."),
    ],
)
def test_warning_of_one_condition_names_it(second: tuple[str, ...], expected: str) -> None:
    others = kernels_of("10", *second) if second else []
    found = compare_runs([*kernels_of("2", "6.1", "6.12"), *others])
    assert expected in comparison_warnings(found)


def test_headline_is_bounded() -> None:
    runs = [
        made_run({"filesystem": name, "scale": str(scale)}, 1000.0 + scale, repeat=repeat)
        for scale in range(1, 10)
        for name in ("ext4", "xfs")
        for repeat in range(3)
    ]
    found = find_answer(compare_runs(runs))
    assert found.sentence.endswith("5 more conditions are listed with the verdicts.")
    assert found.sentence.count("scale ") == MOST_CONDITIONS
    assert sum(each.startswith("scale 9: ") for each in found.verdicts) == 1


def test_names_below_a_condition_leave_it_out() -> None:
    runs = [
        replace(
            made_run({"filesystem": filesystem, "scale": scale}, 1000.0),
            configuration=f"filesystem {filesystem}, scale {scale}",
        )
        for scale in ("1", "2")
        for filesystem in ("ext4", "xfs")
    ]
    found = compare_runs(runs, shorten=True)
    assert len({group.name for group in found.groups}) == len(found.groups)
    for part in found.parts:
        assert [row.name for row in part.rows] == ["filesystem ext4", "filesystem xfs"]
        assert not [row.verdict for row in part.rows if "scale" in row.verdict]
    assert "scale" not in find_answer(found).sentence.replace("scale 1: ", "").replace("scale 2: ", "")


def asked(question: str, *figures: str) -> dict[str, Json]:
    return {"question": question, "figures": list(figures)}


def with_values(found: RunComparison, figure: str, values: Mapping[str, Sequence[float]]) -> RunComparison:
    return compare_runs(
        [
            replace(
                run.facts,
                summary=run.facts.summary | {figure: values[run.facts.configuration][run.facts.repeat]},
            )
            for run in found.runs
        ]
    )


def test_question_answered_by_its_figures(tmp_path: Path) -> None:
    more = asked("Does compressing the WAL pay off?", "wal_bytes", "tps")
    found = compared(tmp_path, *several("off", 1000, more=more), *several("lz4", 1001, more=more))
    bytes_per = {"off": (5000.0, 5010.0, 4990.0), "lz4": (1800.0, 1805.0, 1796.0)}
    found = with_values(found, "wal_bytes", bytes_per)
    first, second = find_answer(found).sentences
    said = comparison_as_json(found)
    assert (said["question"], said["answered_by"]) == (more["question"], more["figures"])
    assert said["answers"] == [first, second]
    assert first.startswith("Does compressing the WAL pay off? WAL / tx: off 4.88 KiB; lz4 1.76")
    assert " KiB (-64 %, " in first
    assert second.startswith("lz4 is 0.10 % faster than off")


def test_price_of_durability_in_each_figure(tmp_path: Path) -> None:
    more = asked("What does durability cost?", "tps", "device_flushes")
    lost = (several(name, tps, more=more, marks=LOST) for name, tps in (("async", 3000), ("no fsync", 4000)))
    found = compared(tmp_path, *several("durable", 1000, more=more), *(run for runs in lost for run in runs))
    flushes = {"durable": (0.98, 0.99, 1.0), "async": (0.03, 0.03, 0.031), "no fsync": (0.0, 0.0, 0.0)}
    speed, flushed = find_answer(with_values(found, "device_flushes", flushes)).sentences
    assert speed.startswith(
        "What does durability cost? Transactions per second: durable 1,000; async 3,000 ("
    )
    assert "async 3,000 (NOT DURABLE; 3.0 times, " in speed
    assert flushed.startswith("Flushes / tx: durable 0.990; async 0.0303")


def test_many_configurations_extremes_of_a_figure(tmp_path: Path) -> None:
    more = asked("Which record size?", "device_write_bytes")
    names = [f"{size} KiB" for size in (8, 16, 32, 64, 128)]
    found = compared(tmp_path, *(run for name in names for run in several(name, 1000, more=more)))
    written = {name: [1024.0 * (at + 1)] * 3 for at, name in enumerate(names)}
    (sentence,) = find_answer(with_values(found, "device_write_bytes", written)).sentences
    assert sentence == ("Which record size? Written / tx: from 1 KiB (8 KiB) to 5 KiB (128 KiB).")


def test_different_questions_are_none(tmp_path: Path) -> None:
    runs = [*several("ext4", 1000, more=asked("One?")), *several("xfs", 1200, more=asked("Two?"))]
    assert question_of(compared(tmp_path, *runs)) == ("", ("tps",))


def test_unknown_figures_are_left_out(tmp_path: Path) -> None:
    more = asked("Why?", "nonsense", "tps")
    runs = [*several("ext4", 1000, more=more), *several("xfs", 1200, more=more)]
    assert question_of(compared(tmp_path, *runs)) == ("Why?", ("tps",))


def clients(tps: Mapping[int, float], count: int = 3) -> list[Trial]:
    more = asked("How many connections?")
    return [
        replace(run, more={**more, "workload": {"label": "tpcb-like", "clients": number, "threads": 1}})
        for number, mean in tps.items()
        for run in several(f"{number} clients", mean, count)
    ]


def test_knee_of_clients(tmp_path: Path) -> None:
    (sentence,) = find_answer(compared(tmp_path, *clients({1: 1000, 4: 3000, 64: 4000, 16: 5200}))).sentences
    assert sentence.startswith("How many connections? 16 clients: 5,200 TPS; 5.2 times (")
    assert ") against 1 clients; 64 clients -23 % (" in sentence


def test_fewest_clients_of_those_as_fast(tmp_path: Path) -> None:
    (sentence,) = find_answer(compared(tmp_path, *clients({1: 1000, 16: 5195, 64: 5200}))).sentences
    assert sentence.startswith("How many connections? 16 clients: 5,195 TPS")


def test_single_runs_have_no_interval_at_the_knee(tmp_path: Path) -> None:
    (sentence,) = find_answer(compared(tmp_path, *clients({1: 1000, 4: 3000, 16: 5200}, 1))).sentences
    assert sentence.endswith("5.2 times (no verdict) against 1 clients.")


def test_largest_step_of_scales(tmp_path: Path) -> None:
    runs = [
        replace(run, more={"scale": scale})
        for scale, mean in ((10, 9000), (100, 8000), (1000, 1000))
        for run in several(f"scale {scale}", mean)
    ]
    (sentence,) = find_answer(compared(tmp_path, *runs)).sentences
    assert sentence.startswith("TPS go from 9,000 (scale 10) to 1,000 (scale 1000). The largest step is f")
    assert "from scale 100 to scale 1000: -88 % (" in sentence


def test_outlying_run_is_named(tmp_path: Path) -> None:
    runs = several("ext4", 1000, 5)
    slow = [*runs[:3], replace(runs[3], tps=250.0), runs[4]]
    for trials, count in ((runs, 0), (slow, 1)):
        warnings = comparison_warnings(compared(tmp_path / str(count), *trials, *several("xfs", 1200, 5)))
        assert (
            sum("ext4 #4 is an outlier: it measured 250 TPS, the other 4 runs" in each for each in warnings)
            == count
        )


def test_differences_of_few_runs_said_once(tmp_path: Path) -> None:
    trials = (Trial(name, name, tps=tps) for name, tps in (("ext4", 1000), ("xfs", 1200), ("zfs", 900)))
    found = compared(tmp_path, *trials)
    (sentence,) = find_answer(found).verdicts
    assert sentence.startswith("2 differences have no verdict, which needs 3 runs of each.")
    column = next(each for each in columns_for(COMPARISON_COLUMNS, found.rows) if each.id == "chance")
    assert [column.cell(row) != "" for row in found.rows] == [False, True, True]
