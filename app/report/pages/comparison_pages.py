"""Pages about all configurations: conditions, differences, pairs; and the method of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from app.analysis.labels import format_tps, one_line
from app.comparison.comparison import RunComparison
from app.comparison.differences import PropertyDifference, describe_sameness, describe_values, what_differs
from app.comparison.matrix import NOT_RANKED, Cell, Matrix, block_columns
from app.comparison.matrix import Block as MatrixBlock
from app.comparison.overall.phases import EXPLANATION, compare_phases, phase_columns, phase_rows
from app.comparison.table import ComparisonColumn
from app.domain.campaign.matrix import RunOrder
from app.domain.columns import CellKind, Column, choose, texts
from app.domain.text import CALLED, format_duration, titled, tr, trn
from app.report.blocks import Block, ReportTable, TableRow, TableSize, Text, TextRole, Together, plain_table
from app.report.findings import Findings, ReportedCondition
from app.report.pages.first_page import (
    bar_figure,
    bars_of,
    configuration_table,
    has_disturbed,
    reservations,
    rows_first,
)
from app.report.report_data import ReportedConfiguration
from app.report.run_tables import (
    MOST_DRAWN,
    MOST_LINES,
    charts_of,
    key_of,
    longest_s,
    more_under,
    overlay,
    table_size,
    telling_figures,
)
from app.report.take_with_you import TITLE, take_with_you
from app.runfile.series import mean_width
from app.statistics.sample_size import RUNS_FOR_A_VERDICT

MANY: Final = 40
"""With more configurations than this the appendix is brief."""

_OVERLAYS: Final = ("tps", "latency", "iops", "cpu")
_DISTURBED: Final = "*"
_MOST_COLUMNS: Final = 10
_MOST_BARS: Final = 60
_MOST_ROWS: Final = 60
_MOST_PAIRS: Final = 6
_MOST_RESERVATIONS: Final = 6
_MOST_TABLES: Final = 30
"""Most conditions with tables: a report is no database."""


def condition_pages(found: Findings) -> Iterator[Block]:
    """Yield each condition: its table, bars, and the runs over time; nothing for a single configuration."""
    if len(found.configurations) < 2:
        return
    first = {each.group for each in rows_first(found)}
    tables = [each for each in found.conditions if each.block is not None]
    lists = [each for each in found.conditions if each.block is None]
    for place, condition in enumerate(tables[:_MOST_TABLES]):
        if condition.block is not None and found.matrix is not None:
            yield _table(found, found.matrix, condition, condition.block, is_first=not place)
    if tables and lists:
        yield from _others(lists)
        return
    for condition in lists[:_MOST_TABLES]:
        yield from _list(
            condition, is_shown=first.issuperset(each.group for each in condition.configurations)
        )
    if more := max(0, len(tables) - _MOST_TABLES) + max(0, len(lists) - _MOST_TABLES):
        yield Text(TextRole.NOTE, tr("{count} more conditions are in the run files.").format(count=more))


def _table(
    found: Findings, matrix: Matrix, condition: ReportedCondition, block: MatrixBlock, *, is_first: bool
) -> Block:
    """Return the page of a condition in which two factors are crossed; the first one explains all."""
    title = condition.name or tr("{first} and {second}").format(first=matrix.down, second=matrix.across)
    by_name = {each.full_name: each for each in condition.configurations}
    bold = tr("TPS. Bold: may be the fastest (without verdicts: within {effect:g} % of the best in the row).")
    notes = [bold.format(effect=100 * found.comparison.effect)] if is_first else []
    if any(not cell.is_ranked for cell in block.cells.values()):
        notes.append(tr("{mark} NOT DURABLE: not ranked.").format(mark=NOT_RANKED))
    disturbed = {each.full_name for each in condition.configurations if has_disturbed(each)}
    if disturbed:
        notes.append(tr("{mark} Disturbed by other programs.").format(mark=_DISTURBED))
    named = [
        (
            row if len(block.rows) > 1 else "",
            f"{column} #{at}" if at > 1 else column,
            by_name[each.group.name],
        )
        for row in block.rows
        for column in block.columns
        for at, each in enumerate(block.cells.get((row, column), Cell(())).rows, 1)
    ]
    bars = [bars_of(named)] if len(named) <= _MOST_BARS else []
    source = tr("Source: the runs listed under “Runs”.")
    pieces: list[Block] = [
        Text(TextRole.HEADING, title, bookmark=title),
        *_cells(matrix, block, disturbed),
        *(replace(each, caption="") for each in bars),
        *telling_figures(condition.configurations, condition.places),
        Text(TextRole.NOTE, " ".join((*notes, source if not (is_first and bars) else bars[0].caption))),
    ]
    return Together(tuple(pieces))


def _cells(matrix: Matrix, block: MatrixBlock, disturbed: set[str]) -> Iterator[ReportTable]:
    """Yield the table of a condition, in parts if it is wide."""
    label, *columns = block_columns(block)
    label = replace(label, heading=f"{matrix.down} / {matrix.across}")
    rows = block.rows[:_MOST_ROWS]
    for start in range(0, len(columns), _MOST_COLUMNS):
        part = (label, *columns[start : start + _MOST_COLUMNS])
        shown = []
        for row in rows:
            cells = texts(part, row)
            marked = {
                each.id: f"{cells[each.id]} {_DISTURBED}"
                for each in part[1:]
                if any(one.group.name in disturbed for one in block.cells.get((row, each.id), Cell(())).rows)
            }
            best = frozenset(each.id for each in part if each.is_best is not None and each.is_best(row))
            shown.append(TableRow(cells | marked, best=best))
        yield ReportTable(part, tuple(shown), size=table_size(len(shown)))


def _others(conditions: Sequence[ReportedCondition]) -> Iterator[Block]:
    """Yield the conditions without a table of their own in one list."""
    title = tr("Other conditions")
    yield Text(TextRole.HEADING, title, bookmark=title)
    rows = [each for condition in conditions for each in condition.configurations]
    table = configuration_table(rows[:MANY])
    known = {column.id for column in table.columns}
    wanted = [each for each in _OF_OTHERS if each in known]
    lines = tuple(replace(row, look=None) for row in table.rows)
    yield ReportTable(choose(table.columns, wanted), lines, lines=2, size=TableSize.SMALL)
    if len(rows) > MANY:
        yield Text(TextRole.NOTE, more_under(len(rows) - MANY, titled(tr("runs"))))


_OF_OTHERS: Final = (
    *(ComparisonColumn.CONDITION, ComparisonColumn.CONFIGURATION, ComparisonColumn.RUNS),
    *(ComparisonColumn.TPS, ComparisonColumn.P99, ComparisonColumn.RATE, ComparisonColumn.SHARES),
)


def _list(condition: ReportedCondition, *, is_shown: bool) -> Iterator[Block]:
    """Yield the page of a condition with a list of configurations.

    Args:
        condition: the condition.
        is_shown: whether the first page shows its table.
    """
    title = condition.name or tr("All runs over time")
    configurations = condition.configurations
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    if condition.name and condition.fastest:
        yield Text(TextRole.BODY, condition.fastest)
    if not is_shown:
        yield configuration_table(configurations[:_MOST_ROWS])
    if condition.name or (not is_shown and len(configurations) <= _MOST_BARS):
        yield bar_figure(configurations[:_MOST_BARS])
    if len(configurations) > _MOST_ROWS:
        yield Text(TextRole.NOTE, more_under(len(configurations) - _MOST_ROWS, titled(tr("runs"))))
    if len(configurations) > MOST_DRAWN:
        yield from telling_figures(configurations, {})
        return
    yield from _over_time(configurations)


def _over_time(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """Yield the runs of a few configurations in common charts, one per metric."""
    runs = [run for each in configurations for run in each.runs]
    charts = charts_of(runs, _OVERLAYS, one_line=True)
    if not charts:
        return
    if 1 < len(configurations) <= MOST_LINES:
        yield key_of(configurations)
    height = 42.0 if len(charts) > 3 else 66.0
    for chart in charts:
        yield from overlay(configurations, chart, height)
    sentence = tr(
        "Lines are means over {seconds:g} s around each second, for display only; no figure uses them."
    )
    source = tr("Source: the runs listed under “Runs”.")
    yield Text(TextRole.NOTE, f"{sentence.format(seconds=mean_width(longest_s(runs)))} {source}")


def verdict_pages(found: Findings) -> Iterator[Block]:
    """Yield the sentences about pairs, and the reservations in full; an appendix."""
    verdicts, warnings = found.verdicts, reservations(found)
    if not verdicts and not warnings:
        return
    title = tr("Pairs and caveats")
    is_brief = len(found.configurations) > MANY
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=not is_brief)
    most = _MOST_PAIRS if is_brief else MANY
    for verdict in verdicts[:most]:
        yield Text(TextRole.SMALL, verdict)
    if len(verdicts) > most:
        sentence = trn(
            "{count} more sentence: {command}.", "{count} more sentences: {command}.", len(verdicts) - most
        )
        text = sentence.format(count=len(verdicts) - most, command=f"`{CALLED} compare --details`")
        yield Text(TextRole.SMALL, text)
    if warnings:
        yield Text(TextRole.SUBHEADING, tr("Caveats"))
    for warning in warnings[: _MOST_RESERVATIONS if is_brief else None]:
        yield Text(TextRole.SMALL, warning)


def difference_pages(found: Findings) -> Iterator[Block]:
    """Yield the properties that differ between runs: values, and how many runs have each."""
    if len(found.runs) < 2:
        return
    comparability = what_differs([run.facts for run in found.runs])
    title = tr("Differences")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=len(found.configurations) <= MANY)
    if not comparability.differences:
        yield Text(TextRole.BODY, describe_sameness(comparability))
        return
    yield plain_table(_DIFFERENCES, comparability.differences, size=TableSize.SMALL)


_DIFFERENCES: Final[tuple[Column[PropertyDifference], ...]] = (
    Column("name", tr("Property"), lambda each: f"{each.topic}: {one_line(each.name)}", CellKind.WORDS),
    Column("values", tr("Values and number of runs"), describe_values, CellKind.WORDS),
)


# The phases of runs that measured several: a separate table, and the verdicts in each phase.


_WARNED: Final = frozenset({ComparisonColumn.MARKS})
_MOST_VERDICTS: Final = 12


def phase_pages(found: Findings) -> Iterator[Block]:
    """Yield the phases that count, each with all configurations; nothing if no run has several."""
    phases = compare_phases(found.comparison)
    rows = phase_rows(phases)
    if not rows:
        return
    title = tr("Each phase separately")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    warned = {each.full_name for each in found.configurations if each.warning}
    columns = phase_columns(rows)
    marks = _WARNED & {column.id for column in columns}
    lines = tuple(
        TableRow(texts(columns, row), warned=marks if row.row.group.name in warned else frozenset())
        for row in rows
    )
    yield ReportTable(columns, lines, lines=2, size=TableSize.SMALL)
    for verdict in [verdict for phase in phases for verdict in phase.verdicts][:_MOST_VERDICTS]:
        yield Text(TextRole.SMALL, verdict)
    yield Text(TextRole.NOTE, " ".join((EXPLANATION, tr("Source: the runs listed under “Runs”."))))


# The page with the winning configuration, as commands to type.


def take_with_you_page(found: Findings) -> Iterator[Block]:
    """Yield the winning configuration, or that of each of a few conditions; nothing if there is none."""
    for place, taken in enumerate(take_with_you(found)):
        if not place:
            yield Text(TextRole.HEADING, TITLE, bookmark=TITLE, new_page=True)
        yield Text(TextRole.BODY, taken.name)
        for warning in taken.warnings:
            yield Text(
                TextRole.WARNING,
                tr("A power failure can lose data: {reason}").format(reason=warning),
            )
        for sentence in taken.sentences:
            yield Text(TextRole.BODY, sentence)
        for part in taken.parts:
            yield Text(TextRole.SUBHEADING, part.heading)
            for line in part.lines:
                yield Text(TextRole.CODE, line)


# Describe the order of compared runs of one campaign. Pure.


def describe_order(comparison: RunComparison) -> str:
    """Return how the runs were interleaved; empty for a single configuration, or several campaigns."""
    if len(comparison.groups) < 2 or len({group.campaign for group in comparison.groups}) != 1:
        return ""
    found = {(run.facts.order, run.facts.order_seed) for run in comparison.runs}
    order, seed = found.pop() if len(found) == 1 else ("", None)
    if order == RunOrder.RANDOM:
        sentence = tr(
            "The runs were interleaved: each round ran its configurations once, in random order (seed "
            "{seed}). So slow drift and periodic events favour no configuration systematically."
        )
        return sentence.format(seed=tr("not known") if seed is None else seed)
    if order == RunOrder.ALTERNATING:
        return tr(
            "The runs were interleaved, every second round in reverse, so slow drift affects all "
            "configurations alike. The order was fixed: periodic events may affect some more than others."
        )
    return tr("The runs were interleaved in rounds. The method of ordering within a round is not known.")


# The method of a report: three rules in plain words, with an example; the manual has the rest. Pure.


_FEWEST: Final = 2


def method(found: Findings) -> Iterator[Block]:
    """Yield how runs were measured, and the three rules by which they are compared."""
    title = tr("Method")
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=True)
    for sentence in (*_measuring(found), *found.notes):
        yield Text(TextRole.BODY, sentence)
    for heading, text in _rules(found):
        yield Text(TextRole.SUBHEADING, heading)
        yield Text(TextRole.BODY, text)
    yield Text(
        TextRole.NOTE,
        tr(
            "For formulas, simulation results and a glossary, see the chapters “method”, “verdicts” and "
            "“words” of the manual."
        ),
    )


def _measuring(found: Findings) -> Iterator[str]:
    shapes = [run.facts.shape for run in found.comparison.runs if run.facts.shape is not None]
    if shapes:
        lengths = sorted(shape.duration_s for shape in shapes)
        sentence = format_duration(lengths[0])
        if round(lengths[0]) != round(lengths[-1]):
            sentence = tr("{low} to {high}").format(low=sentence, high=format_duration(lengths[-1]))
        yield tr("The load is pgbench. The measured phase lasted {time}; warm-up does not count.").format(
            time=sentence
        )
    if order := describe_order(found.comparison):
        yield order


def _rules(found: Findings) -> Iterator[tuple[str, str]]:
    text = tr(
        "Neighbouring seconds are correlated, so thousands of them prove little. Only whole runs are "
        "compared: their mean is the result, and their variation its uncertainty."
    )
    yield tr("1. The unit is the run"), " ".join(filter(None, (text, _example(found))))
    yield (
        tr("2. A difference counts if chance does not explain it"),
        " ".join(
            (
                tr(
                    "“26 % faster (95 % CI 17 to 35 %)”: with that confidence the true difference is "
                    "between 17 and 35 %."
                ),
                tr(
                    "An interval that includes zero is inconclusive; one within ±{effect:g} % is practically "
                    "equal. On average, at most 5 of 100 campaigns contain a wrong statement."
                ).format(effect=100 * found.comparison.effect),
                titled(tr("a verdict needs {runs} runs of each").format(runs=RUNS_FOR_A_VERDICT) + "."),
            )
        ),
    )
    yield (
        tr("3. Only like is compared with like"),
        tr(
            "Configurations are compared under the same transactions, scale, clients, rate and machine. If "
            "only one of them varies (except transactions), its levels are compared."
        )
        + " "
        + tr(
            "Disturbed runs are excluded if enough others remain. A configuration that may lose commits is "
            "not ranked."
        ),
    )


def _example(found: Findings) -> str:
    """Return the runs of a configuration with several as an example; empty if there is none."""
    for each in found.configurations:
        values = [tps for run in each.runs if (tps := run.compared.tps) is not None]
        if len(values) >= _FEWEST:
            sentence = tr("Here {name} ran {count} times, with {tps} TPS.")
            listed = ", ".join(map(format_tps, values[:5]))
            return sentence.format(name=each.full_name, count=len(values), tps=listed)
    return ""
