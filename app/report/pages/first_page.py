"""The first page of a report: answer, ranking, what weakens it, recommendation. One minute to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Final

from app.analysis.labels import format_tps, mark_words, one_line, some
from app.analysis.properties import LABELS
from app.comparison.groups import is_disturbed
from app.comparison.matrix import standing_columns
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn, ComparisonRow, columns_for
from app.domain.columns import column_of, texts, with_cells
from app.domain.text import titled, tr, trn
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
    plain_table,
)
from app.report.findings import Findings, ReportedCondition
from app.report.options import DEFAULT_OPTIONS, ReportOptions, Section
from app.report.report_data import ReportedConfiguration
from app.report.run_tables import (
    MOST_DRAWN,
    charts_of,
    common,
    days,
    mean_words,
    more_under,
    sources,
    speed_table,
    table_size,
)
from app.report.take_with_you import recommend
from app.runfile.disturbance import DISTURBED
from app.statistics.sample_size import RUNS_FOR_A_VERDICT

MOST_WARNINGS: Final = 4
_MOST_NAMES: Final = 3
MOST_ROWS: Final = 24
"""Configurations with a row: as many as fit with the answer."""

_MUCH_DRIFT: Final = 0.2
_LONGEST: Final = 300
"""Most letters of a sentence on what weakens the answer."""


def first_page(found: Findings, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[Block]:
    """Yield the blocks of the first page."""
    yield Text(TextRole.TITLE, options.title or found.title, bookmark=tr("Summary"))
    if options.author:
        yield Text(TextRole.BODY, options.author)
    yield Text(TextRole.SUBTITLE, _about(found))
    yield from _own_words(tr("Purpose"), options.purpose)
    if len(found.configurations) > 1:
        yield from (Text(TextRole.ANSWER, sentence) for sentence in found.answers if sentence)
        yield from _ranking(found)
    else:
        yield from _single_answer(found.configurations[0])
    yield from _unsafe(found.configurations)
    if len(found.configurations) == 1:
        yield from _only_configuration(found.configurations[0])
    yield from _weakened(found, options)
    if options.conclusion:
        yield from _own_words(tr("Author's recommendation"), options.conclusion)
    else:
        yield from _own_words(tr("Recommendation drafted by pgFooting"), recommend(found))


def _own_words(heading: str, text: str) -> Iterator[Block]:
    """Yield a heading and paragraphs; nothing without a text."""
    paragraphs = [paragraph for line in text.splitlines() if (paragraph := one_line(line))]
    if paragraphs:
        yield Text(TextRole.SUBHEADING, heading)
    for paragraph in paragraphs:
        yield Text(TextRole.BODY, paragraph)


def _ranking(found: Findings) -> Iterator[Block]:
    """Yield the ranking of the levels across the tables, else of configurations."""
    if found.matrix is not None:
        levels = found.matrix.compared[:MOST_ROWS]
        if levels:
            yield plain_table(standing_columns(found.matrix), levels, size=table_size(len(levels)))
        return
    shown = rows_first(found)
    yield configuration_table(shown)
    left = len(found.configurations) - len(shown)
    if left:
        sentence = trn(
            "{count} more configuration is in the tables of the next pages.",
            "{count} more configurations are in the tables of the next pages.",
            left,
        )
        yield Text(TextRole.NOTE, sentence.format(count=left))
    if len(found.conditions) == 1 and len(shown) <= MOST_DRAWN:
        yield bar_figure(shown)


def rows_first(found: Findings) -> tuple[ReportedConfiguration, ...]:
    """Return the configurations with a row on the first page: of each condition the fastest."""
    if found.matrix is not None:
        return ()
    ranks = zip_longest(*(each.configurations for each in found.conditions))
    measured = (each.group for each in chain.from_iterable(ranks) if each is not None)
    chosen = set(islice(measured, MOST_ROWS))
    return tuple(each for each in found.configurations if each.group in chosen)


def _about(found: Findings) -> str:
    """Return amount, date, software and machine of the measurement, in one line."""
    facts = [run.facts for run in found.comparison.runs]
    version = common(facts, "PostgreSQL", LABELS["version"])
    cpus, memory = (common(facts, titled(tr("machine")), name) for name in ("CPUs", tr("memory")))
    runs = trn("{count} run", "{count} runs", len(facts)).format(count=len(facts))
    groups = len(found.configurations)
    parts = [
        runs if groups < 2 else tr("{runs} of {count} configurations").format(runs=runs, count=groups),
        days(facts),
        f"PostgreSQL {version}" if version else "",
        common(facts, tr("Workload"), tr("transactions")),
        common(facts, titled(tr("machine")), tr("processor")),
        f"{cpus} CPUs" if cpus else "",
        tr("{size} of memory").format(size=memory) if memory else "",
    ]
    return " · ".join(part for part in parts if part)


def _single_answer(configuration: ReportedConfiguration) -> Iterator[Block]:
    mean = configuration.row.mean
    if configuration.row.verdict:
        yield Text(TextRole.ANSWER, configuration.verdict)
    if mean.mean is None:
        yield Text(TextRole.ANSWER, tr("No run was completed, so there is no result."))
    else:
        yield Text(TextRole.ANSWER, mean_words(mean))
    if len(configuration.runs) == 1:
        yield Text(TextRole.BODY, " ".join(configuration.runs[0].compared.sentences))


def _unsafe(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """State which configurations trade safety for speed, grouped by reasons."""
    reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    alone = len(configurations) == 1
    for configuration in configurations:
        if configuration.warning:
            why = tuple(dict.fromkeys((*configuration.not_durable, *configuration.unsafe)))
            names = reasons.setdefault((configuration.warning, why), [])
            names += [] if alone or configuration.name in names else [configuration.name]
    for number, ((warning, why), names) in enumerate(reasons.items()):
        if number == MOST_WARNINGS:
            yield Text(TextRole.WARNING, tr("Others are UNSAFE, too: see the tables."))
            return
        sentence = tr("{warning}: {names}. A crash or power failure can lose data: {reasons}.")
        given = "; ".join(one_line(each).rstrip(".") for each in why)  # some are whole sentences
        text = sentence.format(warning=warning, names=some(names, _MOST_NAMES), reasons=given)
        yield Text(TextRole.WARNING, text)


def configuration_table(configurations: Sequence[ReportedConfiguration]) -> ReportTable:
    """Return configurations as the table of a comparison; how few runs there are is said once elsewhere."""
    compared = [each.row for each in configurations]
    names = {each.full_name: each.name for each in configurations}
    shown = tuple(column.of(_row_of) for column in columns_for(COMPARISON_COLUMNS, compared))
    cells: dict[str, Callable[[ReportedConfiguration], str]] = {
        ComparisonColumn.INTERVAL: _interval,
        ComparisonColumn.DIFFERENCE: _difference,
        ComparisonColumn.REFERENCE: lambda each: ", ".join(
            names.get(name, name) for name in each.row.references
        ),
    }
    columns = with_cells(shown, {each.id: cells[each.id] for each in shown if each.id in cells})
    warned = frozenset({ComparisonColumn.MARKS})
    rows = tuple(
        TableRow(texts(columns, each), each.look, warned if each.warning else frozenset())
        for each in configurations
    )
    size = table_size(len(rows))
    return ReportTable(columns, rows, lines=2 if size is TableSize.NORMAL else 1, size=size)


def _row_of(configuration: ReportedConfiguration) -> ComparisonRow:
    return configuration.row


def _interval(configuration: ReportedConfiguration) -> str:
    if configuration.row.mean.low is None:
        return ""
    return column_of(COMPARISON_COLUMNS, ComparisonColumn.INTERVAL).cell(configuration.row)


def _difference(configuration: ReportedConfiguration) -> str:
    if configuration.is_baseline:
        return tr("baseline")
    return column_of(COMPARISON_COLUMNS, ComparisonColumn.DIFFERENCE).cell(configuration.row)


def bar_figure(configurations: Sequence[ReportedConfiguration]) -> BarFigure:
    """Return the means with their intervals; for one run the interval within it, labelled as such."""
    return bars_of([("", each.name, each) for each in configurations])


def bars_of(named: Sequence[tuple[str, str, ReportedConfiguration]]) -> BarFigure:
    """Return means as bars.

    Args:
        named: heading, name and configuration of each.
    """
    bars = tuple(_bar(name, configuration) for _, name, configuration in named)
    sentences = [tr("Bars: mean TPS from zero.")]
    if any(each.row.mean.low is not None for *_, each in named):
        sentences.append(tr("Lines: 95 % CI of the mean over runs."))
    if any(_own(each) for *_, each in named):
        sentences.append(
            tr("For a single run, the line is the interval within it, without run-to-run variation.")
        )
    if any(bar.points for bar in bars):
        sentences.append(tr("Rings: individual runs."))
    sentences.append(tr("Source: the runs listed under “Runs”."))
    headings = tuple(heading for heading, *_ in named)
    label = titled(tr("transactions per second"))
    return BarFigure(label, tr("higher is better"), bars, " ".join(sentences), headings)


def _own(configuration: ReportedConfiguration) -> tuple[float, float] | None:
    """Return the interval within the only run of a configuration."""
    runs = [run for run in configuration.runs if run.compared.tps is not None]
    interval = runs[0].compared.own_interval if len(runs) == 1 else None
    return None if interval is None else (interval.low, interval.high)


def _bar(name: str, configuration: ReportedConfiguration) -> Bar:
    mean = configuration.row.mean
    values = tuple(tps for run in configuration.runs if (tps := run.compared.tps) is not None)
    own = _own(configuration)
    return Bar(
        label=name,
        value=mean.mean,
        interval=own or mean.ends,
        within=own is not None,
        points=values if len(values) > 1 else (),
        colour_index=configuration.look,
        value_text=_value_text(configuration),
        warning=configuration.warning,
    )


def _value_text(configuration: ReportedConfiguration) -> str:
    """Return the figure after a bar, marked if it is of disturbed runs."""
    mean = configuration.row.mean.mean
    if mean is None:
        return tr("no result")
    if has_disturbed(configuration):
        return f"{format_tps(mean)}, {mark_words(DISTURBED)}"
    return format_tps(mean)


def has_disturbed(configuration: ReportedConfiguration) -> bool:
    """Return whether a run that counts was disturbed."""
    used = (run.facts for run in configuration.runs if run.compared.tps is not None)
    return any(map(is_disturbed, used))


def _only_configuration(configuration: ReportedConfiguration) -> Iterator[Block]:
    shown = configuration.shown
    several = len(configuration.runs) > 1
    if several:
        yield speed_table(configuration.runs)
    if charts_of([shown], ("tps",)):
        traces = tuple(
            Trace(run.number, configuration.look, str(place) if several else "", seconds=not several)
            for place, run in enumerate(configuration.runs, 1)
        )
        yield TimeFigure(
            "tps",
            traces,
            caption=sources(configuration.runs),
            height_mm=80.0,
            marks_of=shown.number if len(traces) == 1 else None,
        )


def _weakened(found: Findings, options: ReportOptions) -> Iterator[Block]:
    """State reservations, each once and short; stalls, bottlenecks and what the figures cannot show."""
    whole = Section.VERDICTS in options.sections
    sentences = [*_few(found.conditions), *found.warnings, *_seconds(found.configurations), *found.limits]
    most = MOST_WARNINGS + 1 if whole and len(sentences) > MOST_WARNINGS + 2 else len(sentences)
    if sentences:
        yield Text(TextRole.SUBHEADING, tr("Caveats"))
    for sentence in sentences[:most]:
        yield Text(TextRole.SMALL, _cut(sentence) if whole else sentence)
    if len(sentences) > most:
        yield Text(TextRole.SMALL, more_under(len(sentences) - most, tr("Pairs and caveats")))


def reservations(found: Findings) -> list[str]:
    """Return the sentences that the first page shortened or left out."""
    sentences = [*found.warnings, *found.limits]
    is_whole = len(sentences) <= MOST_WARNINGS and all(len(each) <= _LONGEST for each in sentences)
    return [] if is_whole else sentences


def _cut(sentence: str) -> str:
    """Return a sentence that is short enough for the first page, cut between words."""
    if len(sentence) <= _LONGEST:
        return sentence
    return f"{sentence[:_LONGEST].rpartition(' ')[0].rstrip(',;: ')} …"


def _few(conditions: Sequence[ReportedCondition]) -> Iterator[str]:
    """State that runs are too few for verdicts, if no configuration has enough."""
    runs = [each.row.runs for condition in conditions for each in condition.configurations]
    if len(runs) > 2 and 0 < max(runs) < RUNS_FOR_A_VERDICT:  # of two, the answer says it
        sentence = tr("No verdict yet. A verdict needs {least} runs of each configuration.")
        yield sentence.format(least=RUNS_FOR_A_VERDICT)


def _seconds(configurations: Sequence[ReportedConfiguration]) -> Iterator[str]:
    """State which runs stalled and which drifted from start to end: a mean hides both."""
    stalls, changes = [], []
    if len(configurations) < 2:
        return
    for configuration in configurations:
        shape = configuration.shown.compared.shape
        if shape is None or configuration.shown.compared.tps is None:
            continue
        name, found = configuration.full_name, shape.jitter
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
    for sentence, those in (
        (tr("Stalled (below 10 % of the rate nearby): {runs}."), stalls),
        (tr("TPS changed from the first to the last tenth of a run: {runs}."), changes),
    ):
        if those:
            worst = [result for _, result in sorted(those)]
            yield sentence.format(runs=some(worst, _MOST_NAMES))
