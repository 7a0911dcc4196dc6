"""Between campaigns a configuration that ran in both, unchanged, allows a verdict; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import MACHINE, TARGET, WORKLOAD, Property
from app.cli.main import main
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.figures import compare_figure
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn, columns_for
from app.comparison.warnings import comparison_warnings
from app.domain.columns import texts
from app.domain.disturbances import Disturbance, DisturbanceKind, Disturbances
from app.export.comparison import comparison_as_json
from app.report.blocks import ReportTable, Text
from app.report.report import read_report
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.statistics.verdict import Verdict
from tests.known_runs import write_two_campaigns

EXAMPLE = Path(__file__).parents[3] / "resources" / "examples" / "folder-against-memory"

EXT4 = (1000.0, 1004.0, 998.0, 1001.0, 1003.0)
XFS = (1100.0, 1105.0, 1097.0, 1101.0, 1102.0)
BTRFS = (800.0, 805.0, 797.0, 801.0, 802.0)

Speeds = dict[str, Sequence[float]]


@pytest.fixture(scope="module")
def recorded() -> RunFacts:
    """What a run of this program told of itself: everything that was chosen is known."""
    facts = read_run_facts(EXAMPLE / "04-folder-on-a-virtual-disk-r2.footing")
    return replace(facts, marks=(), disturbances=Disturbances(), shape=None)


def slower(speeds: Sequence[float], factor: float = 0.9) -> tuple[float, ...]:
    return tuple(factor * speed for speed in speeds)


def put(run: RunFacts, item: Property) -> RunFacts:
    """Return a run that has this property instead of the one of its name."""
    others = tuple(each for each in run.others if each.key != item.key)
    kept = tuple(each for each in run.properties if each.key != item.key)
    return replace(run, properties=(*kept, item), others=others)


def campaign(recorded: RunFacts, key: str, **speeds: Sequence[float]) -> list[RunFacts]:
    """Return the runs of a campaign: filesystems with the TPS of their runs."""
    return [
        put(
            replace(
                recorded,
                id=f"{key}{name}{repeat}",
                name=f"{name} #{repeat + 1}",
                campaign=key,
                campaign_key=key,
                configuration=name,
                repeat=repeat,
                summary={"tps": tps, "latency_p99_ms": 1e4 / tps},
            ),
            Property(TARGET, "filesystem", name),
        )
        for name, values in speeds.items()
        for repeat, tps in enumerate(values)
    ]


def verdict_of(comparison: RunComparison, name: str) -> Verdict:
    found = {row.name: row.comparison for row in comparison.rows}[name]
    assert found is not None
    return found.verdict


def reference_text(comparison: RunComparison) -> str:
    return " ".join((*comparison.verdicts, *comparison_warnings(comparison)))


def sentence_of(comparison: RunComparison, name: str) -> str:
    return {row.name: row.verdict for row in comparison.rows}[name]


@pytest.fixture
def anchored(recorded: RunFacts) -> RunComparison:
    """ext4 in the first campaign, btrfs in a second one that is 10 % slower, xfs in both."""
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS))
    return compare_runs([*one, *two])


# --- what is said ------------------------------------------------------------------------------------


def test_machine_change_removed_from_difference(anchored: RunComparison) -> None:
    found = {row.name: row for row in anchored.rows}["btrfs"]
    assert found.comparison is not None
    assert found.comparison.ratio == pytest.approx(801.0 / 1001.2, abs=5e-4)
    assert found.mean.mean == pytest.approx(0.9 * 801.0, rel=1e-4)
    assert (found.comparison.runs, found.comparison.reference_runs) == ((5, 5), (5, 5))
    assert found.verdict.startswith("btrfs is 20 % slower than ext4 (19 to 21 %")
    assert found.verdict.endswith(
        "5 runs each, each against the same reference in its own campaign: xfs (one) and xfs (two))"
    )


def test_what_the_machine_changed_by_is_told(anchored: RunComparison) -> None:
    (warning,) = [each for each in comparison_warnings(anchored) if "campaign" in each]
    assert warning.startswith(
        "The machine changed between campaigns: xfs (two), the same configuration, is 10 % slower than"
        " xfs (one) (95 % CI 10 %"
    )
    assert warning.endswith(
        "Differences between campaigns are corrected for this change, as if it affected all alike."
    )


def test_no_visible_machine_change_warning(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=XFS[::-1], btrfs=BTRFS)
    (warning,) = [each for each in comparison_warnings(compare_runs([*one, *two])) if "campaign" in each]
    assert "No change of the machine was found between the campaigns" in warning
    assert "differs by 0.00 % (95 % CI" in warning


def test_repeated_baseline_compared_within_campaign(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", ext4=slower(EXT4, 1.3), btrfs=slower(BTRFS, 1.3))
    found = compare_runs([*one, *two])
    comparison = {row.name: row.comparison for row in found.rows}["btrfs"]
    assert comparison is not None
    assert comparison.paired  # the two are of one campaign
    assert comparison.ratio == pytest.approx(801.0 / 1001.2, abs=5e-4)
    assert sentence_of(found, "btrfs").endswith(
        "5 runs each, against ext4 (two), which is ext4 (one) in the campaign of btrfs)"
    )
    assert "Configurations of its campaign are compared with ext4 (two)." in reference_text(found)
    alone = compare_runs(two).rows[1].comparison
    assert alone is not None
    assert comparison.ratio == alone.ratio


def test_the_reference_itself_stays_indicative_only(anchored: RunComparison) -> None:
    assert verdict_of(anchored, "xfs (two)") is Verdict.INDICATIVE
    assert verdict_of(anchored, "xfs (one)") is Verdict.HIGHER


def test_table_reference_column(anchored: RunComparison, recorded: RunFacts) -> None:
    cells = {row.name: texts(COMPARISON_COLUMNS, row)[ComparisonColumn.REFERENCE] for row in anchored.rows}
    assert cells == {"ext4": "", "xfs (one)": "", "xfs (two)": "", "btrfs": "xfs (one), xfs (two)"}
    shown = [column.id for column in columns_for(COMPARISON_COLUMNS, anchored.rows)]
    assert ComparisonColumn.REFERENCE in shown
    plain = compare_runs(campaign(recorded, "one", ext4=EXT4, xfs=XFS))
    shown = [column.id for column in columns_for(COMPARISON_COLUMNS, plain.rows)]
    assert ComparisonColumn.REFERENCE not in shown


def test_json_reference(anchored: RunComparison) -> None:
    configurations = comparison_as_json(anchored)["configurations"]
    assert isinstance(configurations, list)
    found = {each["name"]: each for each in configurations if isinstance(each, dict)}
    reference = found["btrfs"]["reference"]
    assert isinstance(reference, dict)
    assert (reference["groups"], reference["runs"]) == ([1, 2], [5, 5])
    assert reference["ratio"] == pytest.approx(0.9)
    assert reference["interval"] == {
        "low": pytest.approx(0.9, abs=0.01),
        "high": pytest.approx(0.9, abs=0.01),
        "confidence": pytest.approx(0.95),
    }
    assert found["xfs (one)"]["reference"] is None


def test_reference_of_later_condition(recorded: RunFacts) -> None:
    runs = [
        *campaign(recorded, "one", ext4=EXT4, xfs=XFS),
        *campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS)),
    ]
    other = Property(WORKLOAD, "transactions", "select-only")
    found = compare_runs([*runs, *(replace(put(run, other), id=f"{run.id}o") for run in runs)])
    document = comparison_as_json(found)["configurations"]
    assert isinstance(document, list)
    references = [each["reference"] for each in document if isinstance(each, dict) and each.get("reference")]
    assert [each["groups"] for each in references if isinstance(each, dict)] == [[1, 2], [5, 6]]


def test_every_figure_uses_reference(anchored: RunComparison) -> None:
    found = compare_figure(anchored, "latency_p99_ms")
    comparison = found.comparisons[3]
    assert comparison is not None
    assert comparison.verdict is Verdict.HIGHER
    assert comparison.ratio == pytest.approx(1001.2 / 801.0, abs=1e-3)
    assert "each against the same reference in its own campaign: xfs (one) and xfs (two)" in found.verdicts[3]


@pytest.mark.parametrize("p99_ms", [None, 0.0])
def test_figure_missing_in_reference_indicative(recorded: RunFacts, p99_ms: float | None) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS))
    lacking = [
        replace(run, summary={**run.summary, "latency_p99_ms": p99_ms}) if run.configuration == "xfs" else run
        for run in two
    ]
    found = compare_runs([*one, *lacking])
    assert verdict_of(found, "btrfs") is Verdict.LOWER
    figure = compare_figure(found, "latency_p99_ms")
    comparison = figure.comparisons[3]
    assert comparison is not None
    assert comparison.verdict is Verdict.INDICATIVE
    assert "not interleaved" in figure.verdicts[3]


# --- what is no reference ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        Property(MACHINE, "kernel", "7.1"),
        Property(WORKLOAD, "clients", "99"),
        Property(WORKLOAD, "protocol", "", is_shown=False, is_known=False),
        Property(MACHINE, "processor", "", is_shown=False, is_known=False),
    ],
    ids=["kernel", "clients", "protocol not known", "processor not known"],
)
def test_unknown_or_changed_property_no_reference(recorded: RunFacts, item: Property) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS))
    changed = [put(run, item) if run.configuration == "xfs" else run for run in two]
    found = compare_runs([*one, *changed])
    assert verdict_of(found, "btrfs") is Verdict.INDICATIVE
    way_out = "A configuration with 3 or more runs in both campaigns would allow one."
    assert any(
        each.endswith(f"there is no verdict between them. {way_out}") for each in comparison_warnings(found)
    )


def test_reference_needs_three_runs(recorded: RunFacts) -> None:
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS))
    for runs, verdict in ((2, Verdict.INDICATIVE), (3, Verdict.LOWER)):
        one = campaign(recorded, "one", ext4=EXT4, xfs=XFS[:runs])
        assert verdict_of(compare_runs([*one, *two]), "btrfs") is verdict


def test_two_runs_indicative_despite_reference(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS)[:2])
    assert verdict_of(compare_runs([*one, *two]), "btrfs") is Verdict.INDICATIVE


def test_reference_at_rate_refused(recorded: RunFacts) -> None:
    """Its TPS are the rate, whatever the machine can do."""
    load = OfferedLoad(LoadKind.RATE, 900.0, None, limit_is_known=True)
    rate = Property(WORKLOAD, "target rate", "900")
    runs = [
        *campaign(recorded, "one", ext4=EXT4, xfs=XFS),
        *campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS)),
    ]
    offered = [put(replace(run, load=load), rate) if run.configuration == "xfs" else run for run in runs]
    assert verdict_of(compare_runs(offered), "btrfs") is Verdict.INDICATIVE


def test_reference_of_another_condition_is_none(recorded: RunFacts) -> None:
    """What changed for reads need not have changed for writes."""
    other = Property(WORKLOAD, "transactions", "select-only")
    runs = [
        *campaign(recorded, "one", ext4=EXT4, xfs=XFS),
        *campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS)),
    ]
    found = compare_runs([put(run, other) if run.configuration == "xfs" else run for run in runs])
    assert verdict_of(found, "btrfs") is Verdict.INDICATIVE
    assert [len(part.anchors.by_group) for part in found.parts] == [0, 0]


def test_disagreeing_references_no_verdict(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS, zfs=BTRFS)
    two = campaign(recorded, "two", xfs=slower(XFS), zfs=BTRFS, btrfs=slower(BTRFS))
    found = compare_runs([*one, *two])
    assert verdict_of(found, "btrfs") is Verdict.INDICATIVE
    assert "did not affect all configurations alike, so neither is used as a reference" in reference_text(
        found
    )
    assert "allows one" not in reference_text(found)


def test_agreeing_references_most_runs_chosen(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS[:3], zfs=BTRFS)
    two = campaign(recorded, "two", xfs=slower(XFS), zfs=slower(BTRFS), btrfs=slower(BTRFS))
    found = compare_runs([*one, *two])
    assert "zfs (one) and zfs (two)" in sentence_of(found, "btrfs")
    assert len(found.anchors.references) == 1


def test_each_other_campaign_has_its_own_reference(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS))
    three = campaign(recorded, "three", ext4=slower(EXT4, 0.5), zfs=slower(BTRFS, 0.5))
    four = campaign(recorded, "four", f2fs=BTRFS)
    found = compare_runs([*one, *two, *three, *four])
    assert verdict_of(found, "btrfs") is verdict_of(found, "zfs") is Verdict.LOWER
    assert verdict_of(found, "f2fs") is Verdict.INDICATIVE
    assert "There is no verdict on f2fs" in reference_text(found)
    assert "50 % slower" in reference_text(found)


# --- disturbed references -------------------------------------------------------------------------------


def disturb(runs: Sequence[RunFacts], name: str, percent: float, *, marked: bool = True) -> list[RunFacts]:
    judged = Disturbances((Disturbance(DisturbanceKind.OTHERS_CPU, percent),))
    mark = ((DISTURBED, judged.reason),) if marked else ()
    return [
        replace(run, marks=(*run.marks, *mark), disturbances=judged) if run.configuration == name else run
        for run in runs
    ]


def test_disturbed_reference_no_verdict(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS)
    two = disturb(campaign(recorded, "two", xfs=slower(XFS), btrfs=slower(BTRFS)), "xfs", 42.0)
    found = compare_runs([*one, *two])
    assert verdict_of(found, "btrfs") is Verdict.INDICATIVE
    assert sentence_of(found, "btrfs").startswith(
        "no verdict, because 5 of 20 runs were disturbed: "
        "btrfs measured 20 % slower than ext4 (5 runs each, each against the same reference"
    )


def test_a_reference_that_nobody_disturbed_is_preferred(recorded: RunFacts) -> None:
    one = campaign(recorded, "one", ext4=EXT4, xfs=XFS, zfs=BTRFS[:3])
    two = campaign(recorded, "two", xfs=slower(XFS), zfs=slower(BTRFS), btrfs=slower(BTRFS))
    found = compare_runs([*one, *disturb(two, "xfs", 42.0)])
    assert verdict_of(found, "btrfs") is Verdict.LOWER
    assert "zfs (one) and zfs (two)" in sentence_of(found, "btrfs")


# --- on paper and in a terminal ---------------------------------------------------------------------------


def test_report_and_command_line_name_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_two_campaigns(tmp_path)
    assert main(["compare", *map(str, paths)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    blocks = read_report(paths).blocks
    paper = " ".join(block.text for block in blocks if isinstance(block, Text))
    for shown in (printed, paper):
        assert "btrfs is 20 % slower than ext4 (19 to 21 %" in shown
        assert "each against the same reference in its own campaign: xfs (one) and xfs (two)" in shown
        assert "The machine changed between campaigns: xfs (two), the same configuration, is 10 % s" in shown
    table = next(block for block in blocks if isinstance(block, ReportTable))
    cells = {row.cells["configuration"]: row.cells["reference"] for row in table.rows}
    assert cells == {"xfs (one)": "", "ext4": "", "xfs (two)": "", "btrfs": "xfs (one), xfs (two)"}
