"""A gate over run files: which runs take part, what changed is told, and the exit status says the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts
from app.analysis.properties import MACHINE, TARGET, WORKLOAD, Property
from app.cli.main import main
from app.comparison.comparison import compare_runs
from app.comparison.overall.gate import UpgradeGate, describe_gate, judge_sides
from app.domain.campaign.matrix import Design
from app.domain.disturbances import Disturbance, DisturbanceKind, Disturbances
from app.domain.errors import ExitStatus, UsageError
from app.statistics.gate import GateVerdict
from tests.known_runs import FACTS, WHOLE, write_known
from tests.unit.comparison.test_anchor import campaign, put, recorded
from tests.unit.comparison.test_disturbed_runs import disturbed, unknown

__all__ = ["recorded"]

SPEEDS = (1000.0, 1004.0, 998.0)
BOOTS = (1.0, 1.006, 0.995)


def side(
    recorded: RunFacts, name: str, kernel: str, factor: float, boots: Sequence[float] = BOOTS
) -> list[RunFacts]:
    """Return the runs of a side: one campaign a boot, ext4 and xfs in each."""
    found = []
    for number, boot in enumerate(boots):
        speeds = tuple(factor * boot * speed for speed in SPEEDS)
        runs = campaign(recorded, f"{name}{number}", ext4=speeds, xfs=[1.1 * each for each in speeds])
        found += [
            replace(put(run, Property(MACHINE, "kernel", kernel)), path=f"/{name}/{run.id}") for run in runs
        ]
    return found


def judge(base: Sequence[RunFacts], new: Sequence[RunFacts], worse_by: float = 0.03) -> UpgradeGate:
    return judge_sides(compare_runs([*base, *new]), {run.path for run in base}, worse_by)


def gate_text(gate: UpgradeGate) -> str:
    return " ".join(describe_gate(gate))


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, GateVerdict.NOT_WORSE),
        (0.9, GateVerdict.WORSE),
        (0.975, GateVerdict.INCONCLUSIVE),
        (1.2, GateVerdict.NOT_WORSE),
    ],
)
def test_configuration_and_overall_verdict(recorded: RunFacts, factor: float, verdict: GateVerdict) -> None:
    gate = judge(side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.12", factor))
    assert gate.verdict is verdict
    assert [each.name for each in gate.configurations] == ["ext4", "xfs"]
    assert {each.estimate.verdict for each in gate.configurations} == {verdict}
    assert {each.estimate.campaigns for each in gate.configurations} == {(3, 3)}
    assert {each.runs for each in gate.configurations} == {(9, 9)}


def test_overall_worse_or_untold(recorded: RunFacts) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.12", 1.0)
    for factor, verdict in ((0.8, GateVerdict.WORSE), (0.975, GateVerdict.INCONCLUSIVE)):
        changed = [
            replace(run, summary=run.summary | {"tps": factor * (run.summary["tps"] or 0)})
            if run.configuration == "xfs"
            else run
            for run in new
        ]
        gate = judge(old, changed)
        assert [each.estimate.verdict for each in gate.configurations] == [GateVerdict.NOT_WORSE, verdict]
        assert gate.verdict is verdict


@pytest.mark.parametrize("factor", [0.8, 1.0])
@pytest.mark.parametrize("side_of", ["old", "new"])
@pytest.mark.parametrize("how", [partial(disturbed, percent=52.0), unknown])
def test_disturbed_or_unknown_runs_are_untold(
    recorded: RunFacts, factor: float, side_of: str, how: Callable[[RunFacts], RunFacts]
) -> None:
    sides = {"old": side(recorded, "old", "6.1", 1.0), "new": side(recorded, "new", "6.1", factor)}
    sides[side_of] = [how(run) for run in sides[side_of]]
    gate = judge(sides["old"], sides["new"])
    assert {each.estimate.verdict for each in gate.configurations} == {GateVerdict.INCONCLUSIVE}
    assert all(each.weak for each in gate.configurations)
    assert "disturbed" in gate_text(gate)


@pytest.mark.parametrize(("percent", "verdict"), [(4.9, GateVerdict.INCONCLUSIVE), (0.5, GateVerdict.WORSE)])
def test_others_below_threshold_may_explain(recorded: RunFacts, percent: float, verdict: GateVerdict) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.1", 0.965)
    base, changed = ([used(run, share) for run in runs] for runs, share in ((old, 0.1), (new, percent)))
    assert judge(base, changed, 0.01).verdict is verdict


@pytest.mark.parametrize(
    ("factor", "beside", "verdict"),
    [
        (0.93, (0.1, 4.9), GateVerdict.INCONCLUSIVE),  # 4.8 % of the 7 may be others': the limit is 3 %
        (0.93, (0.1, 0.2), GateVerdict.WORSE),
        (1.0, (4.9, 0.1), GateVerdict.INCONCLUSIVE),  # the base was held back
        (1.0, (0.2, 0.1), GateVerdict.NOT_WORSE),
    ],
)
def test_others_are_asked_against_limit(
    recorded: RunFacts, factor: float, beside: tuple[float, float], verdict: GateVerdict
) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.1", factor)
    base, changed = (
        [used(run, share) for run in runs] for runs, share in zip((old, new), beside, strict=True)
    )
    assert judge(base, changed).verdict is verdict


def used(run: RunFacts, percent: float) -> RunFacts:
    """Return a run beside which others used so much of the CPUs, below the threshold."""
    return replace(
        run, disturbances=Disturbances(measured=(Disturbance(DisturbanceKind.OTHERS_CPU, percent),))
    )


def test_changes_between_and_within_sides(recorded: RunFacts) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.12", 1.0)
    old, moved = (
        [put(run, Property(MACHINE, "governor", str(number % 2))) for number, run in enumerate(runs)]
        for runs in (old, new)
    )
    words = gate_text(judge(old, moved))
    assert "Changed between the sides: Machine: kernel 6.1 → 6.12." in words
    assert "These differ within a side and add to the variation: Machine: governor." in words
    assert "No known difference." in gate_text(
        judge(side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.1", 1.0))
    )


def test_too_few_campaigns_untold(recorded: RunFacts) -> None:
    gate = judge(side(recorded, "old", "6.1", 1.0, BOOTS[:2]), side(recorded, "new", "6.12", 0.5))
    assert gate.verdict is GateVerdict.INCONCLUSIVE
    assert (
        "ext4: inconclusive. There are 2 baseline and 3 new campaigns, but a verdict needs 3 of each."
        in gate_text(gate)
    )


def test_excluded_runs_and_one_sided_configurations(recorded: RunFacts) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.12", 1.0)
    new[0] = replace(new[0], state="failed")
    new[1] = replace(new[1], summary=new[1].summary | {"tps": 0.0})
    old += [replace(old[0], id="z", path="/old/z", configuration="zfs", name="zfs #1")]
    gate = judge(old, new)
    words = " ".join(gate.left_out)
    assert "it is failed" in words
    assert "it has no transactions" in words
    assert "zfs ran on one side only and is excluded." in words
    assert [each.name for each in gate.configurations] == ["ext4", "xfs"]


def test_sequential_campaigns_excluded(recorded: RunFacts) -> None:
    old = [
        replace(run, design=Design.SEQUENTIAL.value, rivals=("ext4", "xfs"))
        for run in side(recorded, "old", "6.1", 1.0)
    ]
    with pytest.raises(UsageError, match="No configuration has usable runs on both sides"):
        judge(old, side(recorded, "new", "6.12", 1.0))


def test_different_workload_or_shared_campaign_refused(recorded: RunFacts) -> None:
    old, new = side(recorded, "old", "6.1", 1.0), side(recorded, "new", "6.12", 1.0)
    with pytest.raises(UsageError, match="ext4: the conditions differ in “clients” \\(7, 8\\)"):
        judge(
            [put(run, Property(WORKLOAD, "clients", "7")) for run in old],
            [put(run, Property(WORKLOAD, "clients", "8")) for run in new],
        )
    unknown_scale = [
        replace(run, properties=tuple(item for item in run.properties if item.name != "scale")) for run in new
    ]
    with pytest.raises(UsageError, match="the conditions differ in “scale”"):
        judge(old, unknown_scale)
    limited = [put(run, Property(TARGET, "memory limit", "2 GiB")) for run in new]
    with pytest.raises(UsageError, match="the conditions differ in “memory limit”"):
        judge(old, limited)
    with pytest.raises(UsageError, match="“old0” is on both sides"):
        judge(old[:3], old[3:])


# --- the command --------------------------------------------------------------------------------------


def write_side(folder: Path, kernel: str, factor: float, boots: Sequence[float] = BOOTS) -> Path:
    closed = replace(WHOLE.workload, rate_tps=None, latency_limit_ms=None)
    for number, boot in enumerate(boots):
        for repeat, tps in enumerate(SPEEDS):
            key = f"{folder.name}{number}"
            run = replace(
                WHOLE,
                id=f"{key}{repeat}".encode().hex().rjust(16, "0"),
                name=f"xfs #{repeat + 1}",
                configuration="xfs",
                repeat=repeat,
                campaign=key,
                campaign_folder=key,
                workload=closed,
            )
            path = folder / key / f"{repeat}.footing"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_known(path, run, FACTS | {"kernel": {"release": kernel}}, tps=factor * boot * tps)
    return folder


@pytest.mark.parametrize(
    ("factor", "status", "word"),
    [
        (1.0, ExitStatus.DONE, "not worse"),
        (0.9, ExitStatus.WORSE, "worse"),
        (0.975, ExitStatus.INCONCLUSIVE, "inconclusive"),
    ],
)
def test_the_exit_status_says_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], factor: float, status: int, word: str
) -> None:
    base, new = write_side(tmp_path / "base", "6.1", 1.0), write_side(tmp_path / "new", "6.12", factor)
    assert main(["compare", str(base), str(new), "--worse-than", "3%"]) == status
    printed = capsys.readouterr().out
    assert f"Overall: {word}." in " ".join(printed.split())
    assert "3 / 3" in printed
    assert main(["compare", str(base), str(new), "--worse-than", "3", "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["worse_by"] == 0.03
    (configuration,) = found["configurations"]
    assert configuration["verdict"] == found["verdict"]
    assert configuration["campaigns"] == [3, 3]
    assert configuration["runs"] == [9, 9]
    assert configuration["ratio"] == pytest.approx(factor)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["BASE", "--worse-than", "3"], "needs two folders"),
        (["BASE", "NEW", "BASE", "--worse-than", "3"], "needs two folders"),
        (["BASE", "BASE", "--worse-than", "3"], "is on both sides"),
        (
            ["BASE", "NEW", "--worse-than", "3", "--baseline", "xfs"],
            "--baseline cannot be used with --worse-than",
        ),
        (
            ["BASE", "NEW", "--worse-than", "3", "--again", "x.toml"],
            "--again cannot be used with --worse-than",
        ),
        (["BASE", "NEW", "--worse-than", "0"], "above 0"),
    ],
)
def test_invalid_gate_arguments_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    base, new = write_side(tmp_path / "base", "6.1", 1.0), write_side(tmp_path / "new", "6.12", 1.0)
    names = {"BASE": str(base), "NEW": str(new)}
    assert main(["compare", *(names.get(each, each) for each in arguments)]) == ExitStatus.USAGE
    assert sentence in " ".join(capsys.readouterr().err.split())
