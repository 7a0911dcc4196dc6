"""Phases compared one by one: real run files of several phases, read, compared, told in every form."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, phase_note, read_run_facts
from app.cli import main as command
from app.comparison.comparison import compare_runs
from app.comparison.overall.answer import find_answer
from app.comparison.overall.phases import (
    EXPLANATION,
    ComparedPhase,
    compare_phases,
    describe_changes,
    phase_columns,
    phase_rows,
)
from app.domain.campaign.configuration import RateShare, Workload, WorkloadPhase
from app.domain.columns import texts
from app.domain.run import RunState
from app.execution.run_description import describe_whole_workload
from app.export.comparison import comparison_as_json
from app.report.blocks import Report, ReportTable, Text, TextRole
from app.report.report import read_report
from app.report.report_data import MOST_NAME, MOST_PHASES, bounded
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import BackgroundMetadata, BackgroundTurn
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.statistics.verdict import Verdict
from tests.fix_phases import (
    PhasedRun,
    PhaseShape,
    ext4_and_xfs,
    reads_and_writes,
    write_phased_campaign,
)
from tests.fix_window import write_campaign

pytestmark = pytest.mark.usefixtures("own_folders")

RECORDED = Path(__file__).resolve().parents[2] / "data" / "runfile" / "format-2-of-ce3bb2d.footing"
Capture = pytest.CaptureFixture[str]


def facts_of(folder: Path, runs: Sequence[PhasedRun]) -> list[RunFacts]:
    return [read_run_facts(path) for path in write_phased_campaign(folder, runs)]


def phases_of(folder: Path, runs: Sequence[PhasedRun]) -> tuple[ComparedPhase, ...]:
    return compare_phases(compare_runs(facts_of(folder, runs)))


def verdict_of(phase: ComparedPhase, place: int = 1) -> Verdict:
    found = phase.rows[place].comparison
    assert found is not None
    return found.verdict


def at_a_share(repeat: int, percent: float = 90, kept: float = 1.0) -> tuple[PhaseShape, ...]:
    reached = 800.0 + 7 * repeat
    rate = reached * percent / 100
    return (
        PhaseShape("most", reached),
        PhaseShape("rate", rate * kept, rate_tps=rate, share=RateShare(percent, "most")),
    )


def test_later_phases_against_the_first(tmp_path: Path) -> None:
    facts = [replace(run, question="Do reads stay fast?") for run in facts_of(tmp_path, ext4_and_xfs())]
    first, second = list(describe_changes(compare_runs(facts)))
    assert first.startswith("ext4: reads (2 of 2) ")
    assert second.startswith("xfs: reads (2 of 2) ")
    assert all(
        each.endswith(", against reads (1 of 2).") and "writes" not in each for each in (first, second)
    )
    assert find_answer(compare_runs(facts)).sentence.startswith("Do reads stay fast? ext4: reads (2 of 2) ")


# --- verdicts ---------------------------------------------------------------------------------------


def test_one_of_three_phases_differs(tmp_path: Path) -> None:
    first, second, writes = phases_of(tmp_path, ext4_and_xfs())
    assert [each.label for each in (first, second, writes)] == ["reads (1 of 2)", "reads (2 of 2)", "writes"]
    assert [verdict_of(each) for each in (first, second, writes)] == [
        Verdict.EQUAL,
        Verdict.EQUAL,
        Verdict.HIGHER,
    ]
    (sentence,) = writes.verdicts
    assert sentence.startswith("writes: xfs is 20 % faster than ext4 (95 % CI")
    assert first.verdicts[0].startswith("reads (1 of 2): ext4 and xfs are practically equal")


def test_measured_phase_matches_run_table(tmp_path: Path) -> None:
    whole = compare_runs(facts_of(tmp_path, ext4_and_xfs()), cut_s=0)
    writes = compare_phases(whole)[-1]
    assert [(row.mean, row.comparison, row.verdict) for row in writes.rows] == [
        (row.mean, row.comparison, row.verdict) for row in whole.rows
    ]


def test_geometric_means_and_stored_latencies(tmp_path: Path) -> None:
    found = phases_of(tmp_path, ext4_and_xfs())
    rows = phase_rows(found)
    cells = [texts(phase_columns(rows), row) for row in rows]
    assert [(each["phase"], each["configuration"], each["runs"]) for each in cells] == [
        ("reads (1 of 2)", "ext4", "3"),
        ("", "xfs", "3"),
        ("reads (2 of 2)", "ext4", "3"),
        ("", "xfs", "3"),
        ("writes", "ext4", "3"),
        ("", "xfs", "3"),
    ]
    assert (cells[4]["tps"], cells[5]["tps"]) == ("801", "961")
    assert float(cells[4]["p95"]) == pytest.approx(5.0, rel=0.03)
    assert float(cells[5]["p99"]) == pytest.approx(4.16, rel=0.03)
    assert (cells[4]["difference"], cells[5]["difference"]) == ("", "+20 %")
    assert "rate" not in cells[0]
    assert "marks" not in cells[0]


def test_errors_are_shared_within_a_phase(tmp_path: Path) -> None:
    runs = [
        PhasedRun(name, repeat, reads_and_writes(repeat, reads=1.5 if name == "zfs" else 1, writes=factor))
        for repeat in range(3)
        for name, factor in (("ext4", 1.0), ("xfs", 1.2), ("zfs", 0.5))
    ]
    writes = phases_of(tmp_path, runs)[-1]
    assert len(writes.verdicts) == 2
    assert all("95 %" not in each for each in writes.verdicts)


def test_below_three_runs_indicative(tmp_path: Path) -> None:
    for phase in phases_of(tmp_path, ext4_and_xfs(2)):
        assert verdict_of(phase) is Verdict.INDICATIVE
        assert "no verdict" in phase.verdicts[0]


# --- which runs take part ----------------------------------------------------------------------------


def test_failed_run_excluded_from_ended_phases(tmp_path: Path) -> None:
    runs = ext4_and_xfs()
    runs[5] = replace(runs[5], state=RunState.FAILED)
    for phase in phases_of(tmp_path, runs):
        assert [(row.runs, row.failed) for row in phase.rows] == [(3, 0), (2, 1)]
        assert verdict_of(phase) is Verdict.INDICATIVE


def test_disturbed_runs_no_phase_verdict(tmp_path: Path) -> None:
    facts = [
        replace(each, marks=((DISTURBED, "by others"),)) if each.configuration == "xfs" else each
        for each in facts_of(tmp_path, ext4_and_xfs())
    ]
    for phase in compare_phases(compare_runs(facts)):
        assert verdict_of(phase) in {Verdict.INDICATIVE, Verdict.INCONCLUSIVE}
        assert "because 3 of 6 runs were disturbed" in phase.verdicts[0]


def test_unsafe_named_not_durable_not_ranked(tmp_path: Path) -> None:
    runs = ext4_and_xfs()
    unsafe = [replace(each, marks=((UNSAFE, "x"),)) if each.configuration == "xfs" else each for each in runs]
    assert all("; UNSAFE options: xfs." in each.verdicts[0] for each in phases_of(tmp_path / "a", unsafe))
    lost = [
        replace(each, marks=((NOT_DURABLE, "x"),)) if each.configuration == "xfs" else each for each in runs
    ]
    for phase in phases_of(tmp_path / "b", lost):
        assert "but it is NOT DURABLE, so it is not ranked" in phase.verdicts[0]


def test_phase_missing_in_baseline(tmp_path: Path) -> None:
    runs = [
        replace(each, phases=each.phases[-1:]) if each.configuration == "ext4" else each
        for each in ext4_and_xfs()
    ]
    writes, reads, _ = phases_of(tmp_path, runs)
    assert (writes.reached, reads.reached) == (frozenset({"ext4", "xfs"}), frozenset({"xfs"}))
    assert verdict_of(writes) is Verdict.HIGHER
    assert reads.rows[1].comparison is None
    text = "reads (1 of 2): ext4 has no such phase and is not compared here."
    assert reads.verdicts == (text,)


def test_same_name_different_transactions_not_compared(tmp_path: Path) -> None:
    runs = [
        PhasedRun(name, repeat, (PhaseShape("one", 900, label=label), PhaseShape("two", 500 + repeat)))
        for repeat in range(3)
        for name, label in (("ext4", "select-only"), ("xfs", "tpcb-like"))
    ]
    assert [(each.name, each.transactions, sorted(each.reached)) for each in phases_of(tmp_path, runs)] == [
        ("one", "select-only", ["ext4"]),
        ("two", "tpcb-like", ["ext4", "xfs"]),
        ("one", "tpcb-like", ["xfs"]),
    ]


def test_sequential_judged_in_deciding_phase(tmp_path: Path) -> None:
    facts = [
        replace(each, design="sequential", rivals=("ext4", "xfs"))
        for each in facts_of(tmp_path, ext4_and_xfs())
    ]
    reads, _, writes = compare_phases(compare_runs(facts))
    assert "another phase determined how often each configuration ran" in reads.verdicts[0]
    assert "another phase" not in writes.verdicts[0]


# --- load at a rate -----------------------------------------------------------------------------------


def test_rate_share_kept_no_speed_verdict(tmp_path: Path) -> None:
    runs = [
        PhasedRun(name, repeat, at_a_share(repeat, kept=kept))
        for repeat in range(3)
        for name, kept in (("ext4", 1.0), ("xfs", 0.7))
    ]
    most, rate = phases_of(tmp_path, runs)
    assert verdict_of(most) is Verdict.EQUAL
    assert [row.comparison for row in rate.rows] == [None, None]
    kept, lost = rate.verdicts
    assert kept.startswith(
        "rate: ext4 kept up with its target rate (90 % of what each run reached in “most”)"
    )
    assert (
        "xfs did not keep up with its target rate (90 % of what each run reached in “most”): its capacity is"
        in lost
    )
    assert lost.endswith(
        "throughput is not compared: each target rate is a share of that configuration's own TPS."
    )
    rows = phase_rows([rate])
    assert [texts(phase_columns(rows), row)["rate"] for row in rows] == ["kept", "NOT KEPT"]


def test_rate_share_in_run_table(tmp_path: Path) -> None:
    runs = [PhasedRun("ext4", repeat, at_a_share(repeat)) for repeat in range(3)]
    row = compare_runs(facts_of(tmp_path, runs)).rows[0]
    assert row.load.kept is True
    assert row.verdict.startswith(
        "ext4 kept up with its target rate (90 % of what each run reached in “most”)"
    )


def test_other_shares_are_another_load(tmp_path: Path) -> None:
    runs = [
        PhasedRun(name, repeat, at_a_share(repeat, percent))
        for repeat in range(3)
        for name, percent in (("ext4", 90.0), ("xfs", 50.0))
    ]
    found = phases_of(tmp_path, runs)[1].verdicts[1]
    assert "the target rates differ (ext4 at 90 % of what each run reached in “most”; xfs at 50 %" in found


# --- where it is told ----------------------------------------------------------------------------------


def test_runs_without_phases_are_told_as_ever(tmp_path: Path, capsys: Capture) -> None:
    paths = write_campaign(tmp_path)
    found = compare_runs([read_run_facts(path) for path in paths])
    assert compare_phases(found) == ()
    assert "phases" not in comparison_as_json(found)
    assert command.main(["compare", *map(str, paths)]) == 0
    assert "phase separately" not in capsys.readouterr().out
    assert all("phase separately" not in text for text in headings(read_report(paths)))


def test_command_phase_table_and_sentences(tmp_path: Path, capsys: Capture) -> None:
    paths = write_phased_campaign(tmp_path, ext4_and_xfs())
    assert command.main(["compare", *map(str, paths)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert (
        output.index("Differences")
        < output.index("Each phase separately")
        < output.index("Each run separately")
    )
    assert "reads (1 of 2): ext4 and xfs are practically equal" in output
    assert "writes: xfs is 20 % faster than ext4" in output
    assert EXPLANATION in output
    assert "fill" not in output[output.index("Each phase separately") : output.index("Each run separately")]


def test_json_phases_key(tmp_path: Path, capsys: Capture) -> None:
    runs = [PhasedRun(name, repeat, at_a_share(repeat)) for repeat in range(3) for name in ("ext4", "xfs")]
    paths = write_phased_campaign(tmp_path, runs)
    assert command.main(["compare", *map(str, paths), "--json"]) == 0
    most, rate = json.loads(capsys.readouterr().out)["phases"]
    assert (most["label"], most["time"], most["transactions"]) == ("most", 1, "tpcb-like")
    first, second = most["configurations"]
    assert "verdict" not in first
    assert (second["verdict"], second["complete"], second["ratio"]) == ("practically-equal", 3, 1.0)
    assert second["latency_p95_ms"] == pytest.approx(4.95, rel=0.03)
    kept = rate["configurations"][1]["rate"]
    assert (kept["percent"], kept["of"], kept["kept"], kept["rate_tps"]) == (90, "most", True, None)


def headings(report: Report) -> list[str]:
    return [each.text for each in report.blocks if isinstance(each, Text) and each.role is TextRole.HEADING]


def test_report_phase_table_after_verdicts(tmp_path: Path) -> None:
    marks = ((UNSAFE, "fsync = off"),)
    runs = [replace(each, marks=marks) if each.configuration == "xfs" else each for each in ext4_and_xfs()]
    report = read_report(write_phased_campaign(tmp_path, runs))
    place = report.blocks.index(heading_of(report))
    answers = [
        at for at, each in enumerate(report.blocks) if isinstance(each, Text) and each.role is TextRole.ANSWER
    ]
    assert max(answers) < place
    table = next(each for each in report.blocks[place:] if isinstance(each, ReportTable))
    assert len(table.rows) == 6
    assert [row.cells["phase"] for row in table.rows[-2:]] == ["writes", ""]
    assert [bool(row.warned) for row in table.rows] == [False, True] * 3
    lines = [each.text for each in report.blocks[place:] if isinstance(each, Text)]
    assert any(each.startswith("writes: xfs is 20 % faster than ext4") for each in lines)
    assert any(each.startswith(EXPLANATION) for each in lines)


def heading_of(report: Report, title: str = "Each phase separately") -> Text:
    return next(each for each in report.blocks if isinstance(each, Text) and each.text == title)


def test_recorded_run_phase_by_phase(tmp_path: Path) -> None:
    path = shutil.copyfile(RECORDED, tmp_path / "recorded.footing")
    run = read_run_facts(path)
    other = replace(run, id="another", name="other #1", configuration="other")
    found = compare_phases(compare_runs([run, other]))
    assert [each.label for each in found] == ["writes", "half"]
    writes, half = found
    assert writes.rows[0].mean.mean == pytest.approx(278.041194)
    assert verdict_of(writes) is Verdict.INDICATIVE
    assert half.rows[1].comparison is None
    assert "its target rate (50 % of what each run reached in “writes”)" in half.verdicts[0]


# --- files of others ------------------------------------------------------------------------------------


def test_hostile_phase_names_plain_text(tmp_path: Path, capsys: Capture) -> None:
    name = "[red]x[/red]\n\x1b]0;owned\x07<b>"
    runs = [PhasedRun(each, 0, (PhaseShape(name, 900), PhaseShape("two", 800))) for each in ("ext4", "xfs")]
    paths = write_phased_campaign(tmp_path, runs)
    assert command.main(["compare", *map(str, paths)]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "[red]x[/red]" in output


@pytest.mark.parametrize("tps", [-5.0, float("inf"), float("nan"), None])
def test_impossible_phase_figure_excluded(tmp_path: Path, tps: float | None) -> None:
    facts = facts_of(tmp_path, ext4_and_xfs())
    reads = next(each for each in facts[0].phases if each.metadata.name == "reads")
    bad = replace(reads, figures={"tps": tps})
    facts[0] = replace(facts[0], phases=tuple(bad if each is reads else each for each in facts[0].phases))
    first, second, _ = compare_phases(compare_runs(facts))
    assert [row.runs for row in first.rows] == [2, 3]
    assert [row.runs for row in second.rows] == [3, 3]


def test_report_bounds_phases_and_names(tmp_path: Path) -> None:
    name = "x" * 5000
    share = RateShare(90, name)
    phases = (PhaseShape(name, 900), PhaseShape("two", 810, rate_tps=810, share=share))
    (run,) = facts_of(tmp_path, [PhasedRun("ext4", 0, phases)])
    found = bounded(replace(run, phases=run.phases * 100))
    assert len(found.phases) == MOST_PHASES
    assert found.load.share is not None
    names = (found.phases[0].metadata.name, str(found.phases[1].metadata.rate_of), found.load.share.of)
    assert all(MOST_NAME < len(each) < MOST_NAME + 50 for each in names)


# --- what is done beside a phase ----------------------------------------------------------------------

TURNS = (BackgroundTurn(started_ms=0, ended_ms=900, how="done"), BackgroundTurn(started_ms=1900, how="ended"))
SCRUB = BackgroundMetadata(name="scrub", turns=TURNS)


def beside(configuration: str, work: BackgroundMetadata) -> list[PhasedRun]:
    return [
        PhasedRun(configuration, repeat, (PhaseShape("writes", 800 + repeat, beside=work),))
        for repeat in range(3)
    ]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (BackgroundMetadata(), "tpcb-like"),
        (BackgroundMetadata(name="pg_basebackup"), "tpcb-like + pg_basebackup"),
        (
            BackgroundMetadata(name="pg_basebackup", max_rate_bytes=1 << 20),
            "tpcb-like + pg_basebackup at most 1 MiB a second",
        ),
        (BackgroundMetadata(name="snapshot", every_s=300), "tpcb-like + snapshot every 05:00"),
    ],
)
def test_different_background_work_not_compared(
    tmp_path: Path, other: BackgroundMetadata, expected: str
) -> None:
    found = phases_of(tmp_path, [*beside("a", SCRUB), *beside("b", other)])
    assert [(each.transactions, sorted(each.reached)) for each in found] == [
        ("tpcb-like + scrub", ["a"]),
        (expected, ["b"]),
    ]
    (same,) = phases_of(tmp_path / "same", [*beside("a", SCRUB), *beside("b", SCRUB)])
    assert same.reached == {"a", "b"}


def test_background_count_in_phase_note(tmp_path: Path) -> None:
    (phase,) = facts_of(tmp_path, beside("a", SCRUB))[0].phases
    assert phase.metadata.background == SCRUB
    assert phase_note(phase.metadata) == "in parallel with scrub (once, one cut off by the end of the run)"


def test_background_work_distinguishes_workloads() -> None:
    words = {
        describe_whole_workload(Workload(phases=(WorkloadPhase("a", background=name),))).phases
        for name in (None, "scrub", "pg_basebackup")
    }
    assert words == {"a", 'a: background = "scrub"', 'a: background = "pg_basebackup"'}
