"""The method of a report: three rules in plain words, with an example; the manual has the rest. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.analysis.labels import format_tps
from app.comparison.run_order import describe_order
from app.domain.text import tr
from app.domain.units import format_duration
from app.report.blocks import Block, Text, TextRole
from app.report.findings import Findings
from app.statistics.sample_size import RUNS_FOR_A_VERDICT

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
            "Formulas, simulation results and a glossary are in the manual: `pgfooting manual method`, "
            "`pgfooting manual verdicts`, `pgfooting manual words`."
        ),
    )


def _measuring(found: Findings) -> Iterator[str]:
    shapes = [run.facts.shape for run in found.comparison.runs if run.facts.shape is not None]
    if shapes:
        lengths = sorted(shape.duration_s for shape in shapes)
        sentence = format_duration(lengths[0])
        if round(lengths[0]) != round(lengths[-1]):
            sentence = tr("{short} to {long}").format(short=sentence, long=format_duration(lengths[-1]))
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
        tr(
            "“26 % faster (95 % CI 17 to 35 %)”: the true difference is between 17 and 35 %, with that "
            "confidence. An interval that includes zero is inconclusive; one within ±{effect:g} % is "
            "practically equal. All statements together err in 5 of 100 campaigns. A verdict needs {runs} "
            "runs."
        ).format(effect=100 * found.comparison.effect, runs=RUNS_FOR_A_VERDICT),
    )
    yield (
        tr("3. Only like is compared with like"),
        tr(
            "Runs that differ in transactions, scale, clients, rate or machine are never compared or "
            "averaged. Disturbed runs are excluded if enough others remain. A configuration that may lose "
            "commits is not ranked."
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
