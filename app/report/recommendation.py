"""Draft the recommendation of a report in one sentence, for its author to edit. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from app.comparison.matrix import Matrix, Standing, either, find_leaders
from app.comparison.wording import describe_change
from app.domain.text import number_text, tr
from app.report.findings import Findings, ReportedCondition
from app.report.report_data import ReportedConfiguration
from app.report.take_with_you import is_proved_fastest, winners
from app.statistics.verdict import Comparison, Verdict

_SAME: Final = 0.9995


def recommend(found: Findings) -> str:
    """Return what to use, by how much it is better than the baseline, and whether it is safe.

    Empty for a single configuration, and without a result.
    """
    if found.matrix is not None:
        return _of_matrix(found, found.matrix)
    won = winners(found)
    if not won or len(found.configurations) < 2:
        return ""
    if len({chosen.name for _, chosen in won}) > 1:
        sentence = tr("Choose by workload: none is among the fastest under all {count} conditions.")
        return sentence.format(count=len(won))
    return " ".join(dict.fromkeys(_of_condition(*each) for each in won[:1]))


def _of_condition(condition: ReportedCondition, chosen: ReportedConfiguration) -> str:
    baseline = next(each for each in condition.configurations if each.is_baseline)
    compared, is_kept = chosen.row.comparison, any(each.withdraws for each in chosen.row.judged.reservations)
    sentence = tr("Keep {baseline} for now: {name} is not proven to be faster.")
    if chosen is baseline:
        sentence = tr("Keep {name}: none of the others is significantly faster. {safety}")
        if not is_proved_fastest(condition, chosen):
            sentence = tr("Keep {name} for now: it has the highest mean, but no verdict yet. {safety}")
    elif compared is not None and compared.verdict is Verdict.HIGHER and not is_kept:
        sentence = tr("Use {name}: {difference}. {safety}")
    return sentence.format(
        name=chosen.name,
        baseline=baseline.name,
        difference="" if compared is None else describe_change(compared, baseline.name),
        safety=_safety(is_safe=not chosen.warning),
    )


def _of_matrix(found: Findings, matrix: Matrix) -> str:
    """Return the leading levels across the tables, compared with the chosen level."""
    leaders = find_leaders(matrix.columns, found.comparison.effect)
    if not leaders:
        return ""
    worst = min(leaders, key=lambda each: each.worst).worst
    chosen = next((each for each in matrix.columns if each.level == found.baseline), None)
    against = chosen.against if chosen is not None else {}
    sentence = tr("Use {name}: at most {percent} % behind the best in every table. {safety}")
    if chosen in leaders:
        sentence = tr("Keep {baseline}: none of the others is faster. {safety}")
    elif against:
        sentence = tr("Use {name}: {difference}. {safety}")
    elif worst > _SAME:
        sentence = tr("Use {name}: the best in every table. {safety}")
    differences = {
        kind: describe_change(_turned(each.comparison), found.baseline) for kind, each in against.items()
    }
    named = tr("{difference} ({kind})")
    return sentence.format(
        name=either([each.level for each in leaders]),
        baseline=found.baseline,
        difference="; ".join(
            named.format(difference=words, kind=kind) if kind else words
            for kind, words in differences.items()
        ),
        percent=number_text(100 * (1 - worst), ".0f"),
        safety=_safety(is_safe=_is_safe(matrix, leaders)),
    )


def _is_safe(matrix: Matrix, leaders: tuple[Standing, ...]) -> bool:
    levels = {each.level for each in leaders}
    cells = (
        cell
        for block in matrix.blocks
        for (_, column), cell in block.cells.items()
        if column in levels and cell.is_ranked
    )
    return not any(row.group.unsafe for cell in cells for row in cell.rows)


def _turned(found: Comparison) -> Comparison:
    """Return the comparison seen from the other side."""
    ratio, interval = found.ratio, found.interval
    if interval is not None and interval.low:
        interval = replace(interval, low=1 / interval.high, high=1 / interval.low)
    return replace(found, ratio=1 / ratio if ratio else None, interval=interval)


def _safety(*, is_safe: bool) -> str:
    return tr("Nothing unsafe.") if is_safe else tr("A crash or power failure can lose data.")
