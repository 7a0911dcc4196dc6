"""The first page of a report: the answer, the table, one chart, and reservations. One minute to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from app.analysis.labels import format_tps, mark_words, one_line
from app.comparison.disturbed_runs import is_disturbed
from app.comparison.limits import describe_limits
from app.comparison.overall.answer import MOST_CONDITIONS
from app.comparison.overall.factor_verdicts import EXPLANATION, describe_factor
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn, ComparisonRow, columns_for
from app.domain.columns import column_of, texts, with_cells
from app.domain.text import tr, trn
from app.report.blocks import (
    Bar,
    BarFigure,
    Block,
    ReportTable,
    TableRow,
    TableSize,
    Text,
    TextRole,
    TimeFigure,
    Trace,
)
from app.report.figures import charts_of, sources
from app.report.findings import Findings, ReportedCondition, short
from app.report.options import DEFAULT_OPTIONS, ReportOptions, Section
from app.report.report_data import ReportedConfiguration
from app.report.run_tables import speed_table, table_size
from app.report.words import common, days
from app.runfile.disturbance import DISTURBED
from app.statistics.verdict import Verdict

MOST_VERDICTS: Final = 5
MOST_WARNINGS: Final = 3
MOST_ROWS: Final = 24
"""Configurations with a row and a bar: as many as fit with the answer."""

_FEW: Final = 12
_FEWEST_ROWS: Final = 3
_MOST_WITH_BARS: Final = 4
_MUCH_DRIFT: Final = 0.2
_BRIEF: Final = 24
_MOST_LETTERS: Final = 600
_MOST_FACTORS: Final = 2
_UNDECIDED: Final = frozenset({Verdict.INDICATIVE, Verdict.INCONCLUSIVE, Verdict.IMPOSSIBLE})


def first_page(found: Findings, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[Block]:
    """Yield the blocks of the first page: the author's words, marked as such, then the results."""
    verdicts = Section.VERDICTS in options.sections
    yield Text(TextRole.TITLE, options.title or found.title, bookmark=tr("Summary"))
    if options.author:
        yield Text(TextRole.BODY, options.author)
    yield Text(TextRole.SUBTITLE, _about(found))
    yield from _own_words(options)
    yield from _answer(found, verdicts=verdicts)
    yield from _unsafe(found.configurations)
    if len(found.configurations) > 1:
        left = len(found.configurations)
        for condition in conditions_first(found):
            yield from _condition(found, condition)
            left -= len(rows_first(found, condition))
        if more := len(found.conditions) - len(conditions_first(found)):
            sentence = tr("{count} more conditions follow on the next pages.")
            yield Text(TextRole.NOTE, sentence.format(count=more))
        if left:
            yield Text(TextRole.NOTE, _left_out(left, verdicts=verdicts))
        yield from _seconds(found.configurations)
    else:
        yield from _only_configuration(found.configurations[0])
    yield from _limits(found, verdicts=verdicts)


def conditions_first(found: Findings) -> tuple[ReportedCondition, ...]:
    """Return the conditions on the first page; if only one would be omitted, that too."""
    count = len(found.conditions)
    return found.conditions[: count if count <= MOST_CONDITIONS + 1 else MOST_CONDITIONS]


def rows_first(found: Findings, condition: ReportedCondition) -> tuple[ReportedConfiguration, ...]:
    """Return the configurations of a condition with a row and a bar on the first page."""
    return condition.configurations[: max(_FEWEST_ROWS, MOST_ROWS // len(conditions_first(found)))]


def _condition(found: Findings, condition: ReportedCondition) -> Iterator[Block]:
    """Yield table and bars of a condition, with its name and fastest configuration if there are several."""
    shown = rows_first(found, condition)
    if condition.name:
        yield Text(TextRole.SUBHEADING, condition.name)
        if condition.fastest:
            yield Text(TextRole.ANSWER, condition.fastest)
    yield configuration_table(condition.configurations, len(shown))
    if len(found.conditions) <= _MOST_WITH_BARS:
        yield bar_figure(shown)


def _own_words(options: ReportOptions) -> Iterator[Block]:
    """Yield purpose and conclusion in the author's words, and where those end."""
    for heading, text, role in (
        (tr("Purpose"), options.purpose, TextRole.BODY),
        (tr("Conclusion of the author"), options.conclusion, TextRole.ANSWER),
    ):
        paragraphs = [paragraph for line in text.splitlines() if (paragraph := one_line(line))]
        if paragraphs:
            yield Text(TextRole.SUBHEADING, heading)
        for paragraph in paragraphs:
            yield Text(role, paragraph)
    if options.purpose or options.conclusion:
        yield Text(TextRole.SUBHEADING, tr("What was measured"))


def _left_out(count: int, *, verdicts: bool) -> str:
    """Return how many configurations the first page omits."""
    sentence = trn(
        "{count} more configuration, slower or not ranked, stands under “Verdicts”.",
        "{count} more configurations, slower or not ranked, stand under “Verdicts”.",
        count,
    )
    if not verdicts:
        sentence = trn(
            "{count} more configuration, slower or not ranked, is not shown here.",
            "{count} more configurations, slower or not ranked, are not shown here.",
            count,
        )
    return sentence.format(count=count)


def _about(found: Findings) -> str:
    """Return amount, date, software and machine of the measurement, in one line."""
    facts = [run.facts for run in found.comparison.runs]
    version = common(facts, tr("PostgreSQL"), tr("version"))
    cpus, memory = (common(facts, tr("Machine"), name) for name in (tr("CPUs"), tr("memory")))
    runs = trn("{count} run", "{count} runs", len(facts)).format(count=len(facts))
    groups = len(found.configurations)
    parts = [
        runs if groups < 2 else tr("{runs} of {count} configurations").format(runs=runs, count=groups),
        days(facts),
        f"PostgreSQL {version}" if version else "",
        common(facts, tr("Workload"), tr("transactions")),
        common(facts, tr("Machine"), tr("processor")),
        tr("{count} CPUs").format(count=cpus) if cpus else "",
        tr("{size} of memory").format(size=memory) if memory else "",
        tr("all “{words}”").format(words=found.ending) if found.ending else "",
    ]
    return " · ".join(part for part in parts if part)


def _answer(found: Findings, *, verdicts: bool) -> Iterator[Block]:
    if len(found.configurations) == 1:
        yield from _single_answer(found.configurations[0])
        return
    most = shown_first(found)
    for sentence in (*overall_first(found), *found.verdicts[:most]):
        yield Text(TextRole.ANSWER, sentence)
    if found.factors.verdicts:
        yield Text(TextRole.NOTE, EXPLANATION)
    more, factors = len(found.verdicts) - most, len(found.factors.verdicts) - _MOST_FACTORS
    sentences = []
    if more > 0:
        sentence = trn(
            "{count} more comparison stands in the table, and in words under “Verdicts”.",
            "{count} more comparisons stand in the table, and in words under “Verdicts”.",
            more,
        )
        if not verdicts:
            sentence = trn(
                "{count} more comparison stands in the table.",
                "{count} more comparisons stand in the table.",
                more,
            )
        sentences.append(sentence.format(count=more))
    if factors > 0 and verdicts:
        sentence = trn(
            "{count} more over all cells stands under “Verdicts”.",
            "{count} more over all cells stand under “Verdicts”.",
            factors,
        )
        sentences.append(sentence.format(count=factors))
    if sentences:
        yield Text(TextRole.NOTE, " ".join(sentences))


def overall_first(found: Findings) -> tuple[str, ...]:
    """Return the results over all configurations for the first page: the fastest, and factors.

    Factors with a verdict come first.
    """
    ordered = sorted(found.factors.verdicts, key=lambda each: each.found.comparison.verdict in _UNDECIDED)
    sentences = (f"{describe_factor(each)}." for each in ordered[:_MOST_FACTORS])
    fastest = (each.fastest for each in found.conditions if not each.name)
    return tuple(filter(None, (*fastest, *sentences)))


def shown_first(found: Findings) -> int:
    """Return how many verdicts are on the first page: half a minute of reading, at least one.

    With one verdict for each condition that of each condition there: they may contradict each other.
    """
    if len(found.verdicts) <= len(found.conditions):
        return min(len(found.verdicts), len(conditions_first(found)))
    most = MOST_VERDICTS if len(found.configurations) <= _FEW and len(found.conditions) == 1 else 1
    letters = sum(map(len, overall_first(found)))
    for count, verdict in enumerate(found.verdicts):
        letters += len(verdict)
        if count and (letters > _MOST_LETTERS or count == most):
            return count
    return len(found.verdicts)


def _single_answer(configuration: ReportedConfiguration) -> Iterator[Block]:
    mean = configuration.row.mean
    unit = tr("transactions per second")
    if configuration.verdict:
        yield Text(TextRole.ANSWER, configuration.verdict)
    if mean.mean is None:
        yield Text(TextRole.ANSWER, tr("No complete run: there is no result."))
    elif mean.low is not None and mean.high is not None:
        sentence = tr("{tps} {unit} (95 % interval {low} to {high}, {runs} runs).")
        message = sentence.format(
            tps=format_tps(mean.mean),
            unit=unit,
            low=format_tps(mean.low),
            high=format_tps(mean.high),
            runs=mean.runs,
        )
        yield Text(TextRole.ANSWER, message)
    else:
        sentence = tr("{tps} {unit}: indicative only, a mean with an interval takes 3 runs.")
        yield Text(TextRole.ANSWER, sentence.format(tps=format_tps(mean.mean), unit=unit))
    if len(configuration.runs) == 1:
        yield Text(TextRole.BODY, " ".join(configuration.runs[0].compared.sentences))


def _unsafe(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """State which configurations trade safety for speed, grouped by reasons."""
    reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    alone = len(configurations) == 1
    for configuration in configurations:
        if configuration.warning:
            name = "" if alone else short(configuration.name, configuration.tag)
            tagged = name if name.startswith(f"{configuration.tag} ") else f"{configuration.tag} {name}"
            why = tuple(dict.fromkeys((*configuration.not_durable, *configuration.unsafe)))
            reasons.setdefault((configuration.warning, why), []).append(tagged.strip())
    for number, ((warning, why), names) in enumerate(reasons.items()):
        if number == MOST_WARNINGS:
            yield Text(TextRole.WARNING, tr("UNSAFE are also others: see the table and their pages."))
            return
        words = ", ".join(names if len(names) < 3 else [name.partition(" ")[0] for name in names])
        sentence = tr("{warning}: {names}. Safety was traded for speed: {reasons}.")
        given = "; ".join(one_line(each).rstrip(".") for each in why)  # some are whole sentences
        text = sentence.format(warning=warning, names=words, reasons=given)
        yield Text(TextRole.WARNING, text)


def configuration_table(configurations: Sequence[ReportedConfiguration], most: int) -> ReportTable:
    """Return the comparison as a table.

    Args:
        configurations: of the report.
        most: number of them with a row.
    """
    compared = [each.row for each in configurations]
    tags = {each.full_name: each.tag for each in configurations}
    shown = tuple(column.of(_row_of) for column in columns_for(COMPARISON_COLUMNS, compared))
    cells: dict[str, Callable[[ReportedConfiguration], str]] = {
        ComparisonColumn.CONFIGURATION: lambda each: each.name,
        ComparisonColumn.DIFFERENCE: _difference,
        ComparisonColumn.REFERENCE: lambda each: ", ".join(tags[name] for name in each.row.references),
        ComparisonColumn.MARKS: lambda each: ", ".join(map(mark_words, each.row.marks)),
    }
    columns = with_cells(shown, {each.id: cells[each.id] for each in shown if each.id in cells})
    warned = frozenset({ComparisonColumn.MARKS})
    rows = tuple(
        TableRow(texts(columns, each), each.look, warned if each.warning else frozenset())
        for each in configurations[:most]
    )
    size = table_size(len(rows))
    return ReportTable(columns, rows, lines=2 if size is TableSize.NORMAL else 1, size=size)


def _row_of(configuration: ReportedConfiguration) -> ComparisonRow:
    return configuration.row


def _difference(configuration: ReportedConfiguration) -> str:
    row = configuration.row
    if configuration.is_baseline:
        return tr("baseline")
    return column_of(COMPARISON_COLUMNS, ComparisonColumn.DIFFERENCE).cell(row)


def bar_figure(configurations: Sequence[ReportedConfiguration]) -> BarFigure:
    """Return the means with their intervals; for one run the interval within it, labelled as such."""
    bars = tuple(map(_bar, configurations))
    sentences = [tr("Bars: mean TPS from zero.")]
    if any(configuration.row.mean.low is not None for configuration in configurations):
        sentences.append(tr("Lines: 95 % interval of the mean over runs."))
    if any(_own(configuration) for configuration in configurations):
        sentences.append(
            tr("Of a single run the line is the interval within it, blind to what differs between runs.")
        )
    if any(bar.points for bar in bars):
        sentences.append(tr("Rings: single runs."))
    sentences.append(tr("Source: the runs listed under “Runs”."))
    label = tr("Transactions per second")
    return BarFigure(label, tr("more is better"), bars, " ".join(sentences))


def _seconds(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """State which runs stalled and which drifted from start to end: a mean hides both."""
    stalls, changes = [], []
    for configuration in configurations:
        shape = configuration.shown.compared.shape
        if shape is None or configuration.shown.compared.tps is None:
            continue
        name = configuration.name if len(configuration.name) <= _BRIEF else configuration.tag
        found = shape.jitter
        if found.stall_seconds:
            sentence = tr("{name} in {stalled} of {seconds} s, at most {longest} in a row")
            text = sentence.format(
                name=name,
                stalled=found.stall_seconds,
                seconds=found.seconds,
                longest=found.longest_stall_s,
            )
            stalls.append((-found.stall_seconds, text))
        change = shape.drift.change
        if change is not None and abs(change) >= _MUCH_DRIFT:
            text = tr("{name} by {percent:+.0f} %").format(name=name, percent=100 * change)
            changes.append((-abs(change), text))
    for sentence, found_of in (
        (tr("Stalled, below 10 % of what was reached near those seconds: {runs}."), stalls),
        (tr("From its first to its last tenth a run changed: {runs}."), changes),
    ):
        if found_of:
            worst = [result for _, result in sorted(found_of)[:MOST_WARNINGS]]
            yield Text(TextRole.NOTE, sentence.format(runs="; ".join(worst)))


def _own(configuration: ReportedConfiguration) -> tuple[float, float] | None:
    """Return the interval within the only run of a configuration."""
    runs = [run for run in configuration.runs if run.compared.tps is not None]
    interval = runs[0].compared.own_interval if len(runs) == 1 else None
    return None if interval is None else (interval.low, interval.high)


def _bar(configuration: ReportedConfiguration) -> Bar:
    mean = configuration.row.mean
    values = tuple(tps for run in configuration.runs if (tps := run.compared.tps) is not None)
    return Bar(
        label=configuration.name,
        value=mean.mean,
        interval=_own(configuration) or mean.ends,
        points=values if len(values) > 1 else (),
        colour_index=configuration.look,
        tag=configuration.tag,
        value_text=_value_text(configuration),
        warning=configuration.warning,
    )


def _value_text(configuration: ReportedConfiguration) -> str:
    """Return the figure after a bar, marked if it is of disturbed runs."""
    mean = configuration.row.mean.mean
    if mean is None:
        return tr("no result")
    used = [run.facts for run in configuration.runs if run.compared.tps is not None]
    if any(map(is_disturbed, used)):
        return tr("{tps}, {mark}").format(tps=format_tps(mean), mark=mark_words(DISTURBED))
    return format_tps(mean)


def _only_configuration(configuration: ReportedConfiguration) -> Iterator[Block]:
    shown = configuration.shown
    if len(configuration.runs) > 1:
        yield speed_table(configuration.runs)
    if charts_of([shown], ("tps",)):
        several = len(configuration.runs) > 1
        traces = tuple(
            Trace(run.number, configuration.look, run.tag if several else "", seconds=not several)
            for run in configuration.runs
        )
        yield TimeFigure(
            "tps",
            traces,
            caption=sources(configuration.runs),
            height_mm=80.0,
            marks_of=shown.number if len(traces) == 1 else None,
        )


def _limits(found: Findings, *, verdicts: bool) -> Iterator[Block]:
    """State bottlenecks, limits of the figures, unusual methods of comparison, and reservations."""
    if limits := describe_limits(found.comparison):
        yield Text(TextRole.NOTE, " ".join(limits))
    for note in found.notes:
        yield Text(TextRole.NOTE, note)
    count = warned_first(found) if verdicts else len(found.warnings)
    for warning in found.warnings[:count]:
        yield Text(TextRole.NOTE, warning)
    if len(found.warnings) > count:
        sentence = tr("{count} more reservations stand under “Verdicts”.")
        yield Text(TextRole.NOTE, sentence.format(count=len(found.warnings) - count))


def warned_first(found: Findings) -> int:
    """Return how many reservations are on the first page; if only one would be omitted, that too."""
    count = len(found.warnings)
    return count if count <= MOST_WARNINGS + 1 else MOST_WARNINGS
