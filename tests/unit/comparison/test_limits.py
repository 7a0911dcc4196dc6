"""What limited configurations and what they cannot show: in the report, `show`, `compare` and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.bottleneck import Bottleneck, Cause
from app.analysis.cannot_show import Limit, Limitation
from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import WORKLOAD, Property
from app.cli.main import main
from app.comparison.comparison import compare_runs
from app.comparison.overall.answer import find_answer
from app.comparison.warnings import (
    bottlenecks,
    describe_bottlenecks,
    describe_limits,
    describe_part_limitations,
)
from app.export.comparison import comparison_as_json
from app.export.runs import JSON_KEYS, describe_run
from app.report.blocks import Text
from app.report.report import read_report
from app.runfile.reader import RunFile
from tests.fix_runs import Shape, write_run
from tests.fix_window import write_campaign


def runs_with(folder: Path, *causes: Cause) -> list[RunFacts]:
    """Return a campaign of ext4 and xfs, interleaved, whose runs have these causes in turn."""
    found = [read_run_facts(path) for path in write_campaign(folder)]
    return [
        replace(run, bottleneck=Bottleneck(causes[place % len(causes)], (f"evidence {place}",)))
        for place, run in enumerate(found)
    ]


def test_one_cause_for_all_is_said_once(tmp_path: Path) -> None:
    found = compare_runs(runs_with(tmp_path, Cause.WAL))
    assert describe_bottlenecks(found) == "Common bottleneck: writing and flushing WAL."


def test_different_causes_are_said_by_configuration(tmp_path: Path) -> None:
    found = compare_runs(runs_with(tmp_path, Cause.WAL, Cause.CPU))
    assert describe_bottlenecks(found) == ("Bottlenecks: xfs: the CPUs; ext4: writing and flushing WAL.")
    assert [each.cause for each in bottlenecks(found)] == [Cause.WAL, Cause.CPU]


def test_majority_cause_with_median_evidence(tmp_path: Path) -> None:
    runs = runs_with(tmp_path, Cause.WAL)
    runs[0] = replace(runs[0], bottleneck=Bottleneck(Cause.LOCKS))
    [ext4, xfs] = bottlenecks(compare_runs(runs))
    assert ext4 == Bottleneck(Cause.WAL, ("evidence 2",))  # of the two others the one with fewer TPS
    assert xfs == Bottleneck(Cause.WAL, ("evidence 3",))


def test_different_causes_not_known(tmp_path: Path) -> None:
    runs = runs_with(tmp_path, Cause.WAL)
    for place, cause in zip((0, 2, 4), (Cause.LOCKS, Cause.CPU, Cause.WAL), strict=True):
        runs[place] = replace(runs[place], bottleneck=Bottleneck(cause))
    [ext4, xfs] = bottlenecks(compare_runs(runs))
    assert (ext4.cause, xfs.cause) == (Cause.NOT_KNOWN, Cause.WAL)


def test_unknown_bottleneck_sentence(tmp_path: Path) -> None:
    found = compare_runs(runs_with(tmp_path, Cause.NOT_KNOWN))
    assert describe_bottlenecks(found) == "Common bottleneck: not known."


def test_of_one_configuration_the_evidence_is_told(tmp_path: Path) -> None:
    found = compare_runs(runs_with(tmp_path, Cause.WAL)[::2])
    assert describe_bottlenecks(found) == "Limited by writing and flushing WAL: evidence 2."


def test_unshown_limits_once_for_all(tmp_path: Path) -> None:
    runs = [
        replace(
            run,
            unshown=(Limitation(Limit.ONE_WORKLOAD, "other workloads"), Limitation(Limit.MEMORY, "reads")),
        )
        for run in runs_with(tmp_path, Cause.WAL)
    ]
    assert describe_part_limitations(compare_runs(runs)) == (
        "These figures cannot show: reads; other workloads."
    )


def test_limits_of_one_condition_name_it(tmp_path: Path) -> None:
    runs = [
        replace(
            run,
            id=f"{label}{run.id}",
            properties=(*run.properties, Property(WORKLOAD, "script 1", label)),
            unshown=(Limitation(Limit.ONE_WORKLOAD, f"other workloads than {label}"),),
        )
        for label in ("reads", "writes")
        for run in runs_with(tmp_path / label, Cause.WAL)
    ]
    found = compare_runs(runs)
    assert describe_limits(found) == (
        "Common bottleneck: writing and flushing WAL.",
        "reads: These figures cannot show: other workloads than reads.",
        "writes: These figures cannot show: other workloads than writes.",
    )
    assert find_answer(found).limits == describe_limits(found)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "one.footing", Shape(seconds=30))


LIMITED = "Limited by writing and flushing WAL: sessions spent"
UNSHOWN = "These figures cannot show: "


def test_report_first_page_limits(run: Path) -> None:
    blocks = list(read_report([run]).blocks)
    end = next((place for place, each in enumerate(blocks[1:], 1) if getattr(each, "new_page", False)), None)
    first = [block.text for block in blocks[:end] if isinstance(block, Text)]
    assert [text for text in first if text.startswith(LIMITED)]
    [found] = [text for text in first if UNSHOWN in text]
    assert "other workloads than tpcb-like" in found
    assert "their start times are not known" in found  # the run holds no checkpoint, not even of the settling


def test_show_and_its_json_say_both(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert LIMITED in output
    assert UNSHOWN in output
    assert main(["show", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bottleneck"]["cause"] == "wal"
    assert found["bottleneck"]["sentence"].startswith(LIMITED)
    assert {each["kind"] for each in found["cannot_show"]} >= {"short", "one-workload"}


def test_json_bottleneck_and_cannot_show(run: Path) -> None:
    with RunFile(run) as opened:
        metadata = describe_run(opened)
    assert {"bottleneck", "cannot_show", "devices"} <= metadata.keys()
    assert {"runs[].bottleneck", "runs[].cannot_show", "runs[].devices"} <= JSON_KEYS
    found = comparison_as_json(compare_runs([read_run_facts(run)]))
    assert '"cause": "wal"' in json.dumps(found["configurations"])
    assert str(found["cannot_show"]).startswith(UNSHOWN)


def test_compare_prints_both_below_the_verdict(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_run(run.with_name("two.footing"), Shape(seconds=30, seed=2))
    assert main(["compare", str(run), str(other)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert output.index("Configuration") < output.index("imited by") < output.index(UNSHOWN)
