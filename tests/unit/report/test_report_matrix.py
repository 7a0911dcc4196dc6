"""Reports of many configurations and of odd ones: tables by condition, limits, runs that vanish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts
from app.analysis.properties import LABELS, SETTING, WORKLOAD, Property
from app.domain.errors import FootingError, RunFileError, UsageError
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.report.blocks import BarFigure, Grid, Report, ReportTable, Text, TextRole
from app.report.findings import Findings, find
from app.report.options import ReportOptions
from app.report.report import compose, read_findings, read_report
from app.report.report_data import RunSeries, read_runs
from app.report.take_with_you import recommend
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.unit.report.test_report_content import single_blocks, words

KINDS = ("simple-update", "select-only")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFacts, RunSeries]:
    paths = write_cases(tmp_path_factory.mktemp("one"), [Case("ext4", 0, Shape(12, 5000))])
    [facts], [series] = read_runs(paths, Anonymizer.none())
    return facts, series


def found_of(
    one: tuple[RunFacts, RunSeries], cells: Iterable[tuple[dict[str, str], float]], baseline: str = ""
) -> Findings:
    """Return the findings of runs with these settings, workload label among them, and TPS."""
    facts, series = one
    runs = []
    for number, (values, tps) in enumerate(cells):
        kept = [item for item in facts.properties if item.topic != SETTING]
        kept = [item for item in kept if item.key != (WORKLOAD, LABELS["label"])]
        settings = {name: value for name, value in values.items() if name != "label"}
        items = [Property(SETTING, name, value) for name, value in settings.items()]
        items.append(Property(WORKLOAD, LABELS["label"], values.get("label", KINDS[0])))
        runs.append(
            replace(
                facts,
                id=f"{number:08}",
                configuration=" ".join(values.values()),
                name=" ".join(values.values()),
                properties=(*kept, *items),
                summary={**facts.summary, "tps": tps},
                shape=None,
            )
        )
    return find(runs, [series] * len(runs), baseline)


def crossed(across: int, down: int, kinds: Iterable[str] = KINDS) -> list[tuple[dict[str, str], float]]:
    return [
        ({"work_mem": f"{a}MB", "max_wal_size": f"{d}GB", "label": kind}, 1000.0 + 100 * a + 10 * d)
        for kind in kinds
        for a in range(across)
        for d in range(down)
    ]


def headings(report: Report) -> list[str]:
    return [each.bookmark for each in single_blocks(report) if isinstance(each, Text) and each.bookmark]


def test_each_condition_has_table_bars_and_charts(one: tuple[RunFacts, RunSeries]) -> None:
    found = found_of(one, crossed(4, 3))
    report = compose(found, ReportOptions())
    assert headings(report)[:3] == ["Summary", *sorted(KINDS)]
    blocks = list(single_blocks(report))
    start, end = (
        next(n for n, b in enumerate(blocks) if getattr(b, "text", "") == kind) for kind in sorted(KINDS)
    )
    of_first = blocks[start:end]
    [table] = [each for each in of_first if isinstance(each, ReportTable)]
    assert len(table.rows) == 3
    assert all(len(row.best) == 1 for row in table.rows), "the best of each row is bold"
    [bars] = [each for each in of_first if isinstance(each, BarFigure)]
    assert len(bars.bars) == 12
    assert len({bar.colour_index for bar in bars.bars}) == 4, "a colour for each level across"
    assert sum(isinstance(each, Grid) for each in of_first) == 1
    assert sum("indicative only" in text.casefold() for text in first_texts(report)) <= 1


def first_texts(report: Report) -> list[str]:
    """Return the texts of the first page."""
    blocks = list(single_blocks(report))
    end = next(
        n for n, block in enumerate(blocks) if isinstance(block, Text) and block.role is TextRole.HEADING
    )
    return [block.text for block in blocks[:end] if isinstance(block, Text)]


def test_holes_leave_cells_empty(one: tuple[RunFacts, RunSeries]) -> None:
    found = found_of(one, crossed(4, 3, KINDS[:1])[::2])
    report = compose(found, ReportOptions())
    tables = [block for block in single_blocks(report) if isinstance(block, ReportTable)]
    assert any("" in row.cells.values() for row in tables[1].rows)


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 110, 1000])
def test_report_of_any_number_is_short(one: tuple[RunFacts, RunSeries], count: int) -> None:
    cells = crossed(max(1, count // 20), 10)[:count]
    report = compose(found_of(one, cells), ReportOptions())
    shown = " ".join(words(replace(report, attachments=())))
    assert len(shown) < 40_000 + 60 * count
    rows = sum(len(block.rows) for block in single_blocks(report) if isinstance(block, ReportTable))
    assert rows < 120 + count // 2


def test_no_run_is_refused() -> None:
    with pytest.raises(FootingError, match="no run"):
        read_report([])


def test_seven_factors_are_reported(one: tuple[RunFacts, RunSeries]) -> None:
    cells = [
        ({f"factor_{place}": str(number >> place & 1) for place in range(7)}, 1000.0 + number)
        for number in range(64)
    ]
    report = compose(found_of(one, cells), ReportOptions())
    assert "Runs" in headings(report)


def test_long_names_stay_unique(one: tuple[RunFacts, RunSeries]) -> None:
    cells = [({"a": "x" * 150 + str(number) + "y" * 150}, 1000.0) for number in range(3)]
    names = [each.name for each in found_of(one, cells).configurations]
    assert len(set(names)) == 3
    assert all(len(name) < 60 for name in names)


def test_vanished_run_is_told_when_drawn(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case(name, 0, Shape(12, 5000)) for name in ("a", "b")])
    found = read_findings(paths)
    paths[1].unlink()
    with pytest.raises(RunFileError):
        compose(found, ReportOptions())


def test_draft_compares_with_chosen_level(one: tuple[RunFacts, RunSeries]) -> None:
    cells = crossed(4, 3, KINDS[:1])
    draft = recommend(found_of(one, cells, "0MB"))
    assert draft.startswith(("Use 3MB: 30 % faster than 0MB (", "Use 3MB: 29 % faster than 0MB ("))
    assert draft.endswith(" %) (simple-update). No unsafe option is used.")
    assert (
        recommend(found_of(one, cells, "3MB"))
        == "Keep 3MB: none of the others is significantly faster. No unsafe option is used."
    )
    assert recommend(found_of(one, cells)) == "Use 3MB: the best in every table. No unsafe option is used."
    with pytest.raises(
        UsageError, match=tr("None of these runs has the configuration “{name}”.").split("“")[0]
    ):
        found_of(one, cells, "5MB")
