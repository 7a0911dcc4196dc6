"""`pgfooting compare`: what differs, the table of verdicts, costs per transaction, facts of each run.

With `BASE NEW --worse-than PERCENT` it is a gate for upgrades, with an exit status.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from app.analysis.facts import read_run_facts
from app.analysis.labels import one_line
from app.analysis.stability import WITHIN_RUN_NOTE
from app.cli.commands.runs.show import is_query, library_of, print_json, print_left_over, select_runs
from app.cli.terminal.tables import print_sentence, print_table
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.differences import describe_sameness, describe_values, what_differs
from app.comparison.figures import COSTS, LATENCIES, LOADING, FigureComparison, compare_figures, format_mean
from app.comparison.matrix import NOT_RANKED, Matrix, block_columns, lay_out, standing_columns
from app.comparison.overall.answer import find_answer
from app.comparison.overall.conditions import ASKABLE, PropertyRole
from app.comparison.overall.gate import (
    GATE_COLUMNS,
    GATE_EXPLANATION,
    GATE_STATUS,
    GATE_WORDS,
    describe_gate,
    judge_sides,
)
from app.comparison.overall.phases import EXPLANATION as PHASES_EXPLANATION
from app.comparison.overall.phases import compare_phases, phase_columns, phase_rows
from app.comparison.table import COMPARISON_COLUMNS, columns_for
from app.comparison.warnings import (
    EXPLANATION,
    STORAGE_COLUMNS,
    comparison_notes,
    storage_rows,
    storage_sentences,
)
from app.comparison.wording import format_difference
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, RunFileError, UsageError, did_you_mean
from app.domain.text import CALLED, titled, tr, trn
from app.execution.recovery import sweep_abandoned
from app.export.comparison import comparison_as_json, gate_as_json
from app.export.runs import with_readable
from app.library.spreads import read_spreads
from app.runfile.output_file import check_output, write_output
from app.terminal.plain_text import print_left_out


def check_gate(arguments: argparse.Namespace, sides: Sequence[Sequence[Path]]) -> None:
    """Check the arguments of a gate.

    Args:
        arguments: of the command.
        sides: run files of each argument.

    Raises:
        UsageError: there are not two sides, they share a run, or another option contradicts a gate.
    """
    for name, given in (("--again", arguments.again), ("--baseline", arguments.baseline)):
        if given:
            message = tr("{option} cannot be used with --worse-than.").format(option=name)
            raise UsageError(message, hint=tr("The first folder is always the baseline."))
    if len(sides) != 2:
        message = tr("--worse-than needs two folders, the baseline and the new side; you gave {count}.")
        hint = tr("A folder means all runs in it and in its subfolders.")
        raise UsageError(message.format(count=len(sides)), hint=hint)
    common = set(map(Path.resolve, sides[0])) & set(map(Path.resolve, sides[1]))
    if common:
        message = tr("“{name}” is on both sides.").format(name=min(common))
        raise UsageError(message, hint=tr("Each run is either before the change or after it."))


def print_gate(
    comparison: RunComparison, base: Sequence[Path], worse_by: float, *, as_json: bool
) -> ExitStatus:
    """Judge the new side, print the findings, and return the verdict as exit status.

    Raises:
        UsageError: the sides cannot be compared.
    """
    gate = judge_sides(comparison, {str(path) for path in base}, worse_by)
    if as_json:
        print_json(gate_as_json(gate))
        return GATE_STATUS[gate.verdict]
    console = Console()
    for sentence in describe_gate(gate):
        print_sentence(console, sentence)
    console.print()
    print_table(console, GATE_COLUMNS, gate.configurations)
    console.print()
    print_sentence(console, GATE_EXPLANATION)
    print_sentence(console, tr("Overall: {verdict}.").format(verdict=GATE_WORDS[gate.verdict]))
    return GATE_STATUS[gate.verdict]


_MOST_RUNS_SHOWN: Final = 12
"""Facts of more runs than this are shown only with ``--details``."""

_MOST_VERDICTS: Final = 12
"""More verdicts than this are printed only with ``--details``: the table has them."""


def compare_command(arguments: argparse.Namespace) -> int:
    """Compare runs; unreadable ones are reported and skipped.

    Raises:
        UsageError: fewer than two runs, or the baseline is not one of them.
        RunFileError: fewer than two can be read.
        RefusedError: the campaign file to write exists.
    """
    print_left_over(sweep_abandoned())
    library = library_of(arguments)
    sides = select_runs(arguments.runs, library)
    if arguments.worse_than is not None:
        check_gate(arguments, sides)
    paths = list(dict.fromkeys(path for side in sides for path in side))
    if len(paths) < 2:
        message = tr("A comparison needs at least two runs, but only one was given.")
        raise UsageError(message, hint=tr("You can pass a folder to use all runs in it."))
    left_out: list[str] = []
    facts = with_readable(
        paths, lambda readable: [read_run_facts(path, whole=False) for path in readable], left_out.append
    )
    for sentence in left_out:
        print_left_out(sentence)
    if len(facts) < 2:
        raise RunFileError(tr("A comparison needs at least two runs, but only one was given."))
    comparison = compare_runs(
        facts,
        effect=arguments.effect / 100,
        cut_s=arguments.cut,
        baseline=arguments.baseline,
        shorten=True,
        spreads=read_spreads(library),
        as_given=not any(Path(name).is_dir() or is_query(name) for name in arguments.runs),
        across=_asked(arguments.across),
    )
    if arguments.worse_than is not None:
        return print_gate(comparison, sides[0], arguments.worse_than / 100, as_json=arguments.json)
    _check_baseline(comparison, arguments.baseline)
    if arguments.again is not None:
        _write_again(comparison, arguments.again)
        return ExitStatus.FAILED if left_out else ExitStatus.DONE
    if arguments.json:
        print_json(comparison_as_json(comparison))
    else:
        matrix = None if arguments.details else lay_out(comparison, arguments.columns, arguments.rows)
        _print(comparison, matrix, Console(), all_runs=arguments.details)
    return ExitStatus.FAILED if left_out else ExitStatus.DONE


def _asked(condition: str) -> PropertyRole | None:
    """Return the requested condition; None for none.

    Raises:
        UsageError: it is not a condition, or its levels cannot be compared.
    """
    if not condition:
        return None
    found = next((each for each in ASKABLE if each == condition), None)
    if found is None:
        message = tr("“{name}” is not a condition whose levels can be compared.").format(name=condition)
        raise UsageError(message, hint=tr("Known: {names}.").format(names=", ".join(ASKABLE)))
    return found


def _write_again(comparison: RunComparison, path: Path) -> None:
    """Write a campaign that repeats the runs at one rate, and print the command that starts it."""
    from app.comparison.again_at_rate import campaign_again  # noqa: PLC0415 - with all of campaign files

    check_output(path, replace=None)
    file = campaign_again(comparison)
    write_output(path, lambda stream: stream.write(file.text.encode()))
    sentence = tr("Wrote “{name}” ({count} runs) to {path}. To start it: {command} run {path!q}")
    message = sentence.format(
        name=file.campaign.name, count=file.campaign.total_runs, path=path, command=CALLED
    )
    print_sentence(Console(), message)


def _check_baseline(comparison: RunComparison, baseline: str) -> None:
    names = [group.name for group in comparison.groups]
    if baseline and baseline not in names:
        message = tr("None of these runs has the configuration “{name}”.").format(name=baseline)
        guess = did_you_mean(baseline, names)
        hint = guess or tr("Known: {names}.").format(names=", ".join(names))
        raise UsageError(message, hint=hint)
    if baseline and all(part.groups[0].name != baseline for part in comparison.parts):
        message = tr("“{name}” is NOT DURABLE, so it is not ranked and cannot be the baseline.")
        ranked = [row.group.name for row in comparison.ranked]
        hint = tr("Known: {names}.").format(names=", ".join(ranked))
        raise UsageError(message.format(name=baseline), hint=hint)


def _print(comparison: RunComparison, matrix: Matrix | None, console: Console, *, all_runs: bool) -> None:
    print_result(comparison, matrix, console, all_verdicts=all_runs)
    if matrix is not None:
        return
    _print_differences(comparison, console)
    for part in comparison.parts:
        _print_figures_of(part, console)
    _print_phases(comparison, console)
    _print_storages(comparison, console)
    _print_runs(comparison, console, all_runs=all_runs)


def print_result(
    comparison: RunComparison, matrix: Matrix | None, console: Console, *, all_verdicts: bool = False
) -> None:
    """Print the answers, the ranking and what weakens them: the end of `run`, and the beginning of `compare`.

    Args:
        comparison: of the runs.
        matrix: its tables; None if it has none.
        console: to print to.
        all_verdicts: whether to print the verdicts of many configurations too.
    """
    answer = find_answer(comparison, matrix)
    for sentence in answer.sentences:
        print_sentence(console, sentence, style="bold")
    if matrix is not None:
        console.print()
        print_table(console, standing_columns(matrix), matrix.compared)
    else:
        for part in comparison.parts:
            console.print()
            columns = columns_for(COMPARISON_COLUMNS, part.rows)
            print_table(console, columns, part.rows, title=part.condition)
    console.print()
    if all_verdicts or len(answer.verdicts) <= _MOST_VERDICTS:
        for verdict in answer.verdicts:
            print_sentence(console, verdict)
    for warning in answer.weakened_by:
        print_sentence(console, warning, style="yellow")
    for note in comparison_notes(comparison):
        print_sentence(console, note)
    if matrix is None:
        for sentence in answer.limits:
            print_sentence(console, sentence)
    else:
        _print_blocks(matrix, comparison, console)


def _print_blocks(matrix: Matrix, comparison: RunComparison, console: Console) -> None:
    """Print a table for each condition, and the meaning of its marks."""
    for block in matrix.blocks:
        title = block.part.condition or comparison.measured("TPS")
        print_table(console, block_columns(block), block.rows, title=title)
    cells = (cell for block in matrix.blocks for cell in block.cells.values())
    if any(not cell.is_ranked for cell in cells):
        sentence = tr("{mark} NOT DURABLE: not ranked.")
        print_sentence(console, sentence.format(mark=NOT_RANKED), style="dim")
    if matrix.others:
        sentence = trn(
            "{count} more condition has a fixed rate or too few configurations for a table; see --details.",
            "{count} more conditions have a fixed rate or too few configurations for a table; see --details.",
            len(matrix.others),
        )
        print_sentence(console, sentence.format(count=len(matrix.others)), style="dim")


def _print_figures_of(part: RunComparison, console: Console) -> None:
    """Print the ranking of levels in one condition, and its tables besides that of TPS."""
    under_it = "{title}: {condition}" if part.condition else "{title}"
    if (matrix := lay_out(part)) is not None:
        _title(console, under_it.format(title=tr("Ranking"), condition=part.condition))
        print_table(console, standing_columns(matrix), matrix.compared)
    for title, names in (
        (titled(tr("latency")), LATENCIES),
        (tr("Costs per transaction"), COSTS),
        (tr("Loading"), LOADING),
    ):
        heading = under_it.format(title=title, condition=part.condition)
        _print_figures(console, heading, part, compare_figures(part, names))


def _print_phases(comparison: RunComparison, console: Console) -> None:
    phases = compare_phases(comparison)
    rows = phase_rows(phases)
    if not rows:
        return
    _title(console, tr("Each phase separately"))
    print_table(console, phase_columns(rows), rows)
    for sentence in (*(text for phase in phases for text in phase.verdicts), PHASES_EXPLANATION):
        print_sentence(console, sentence)


def _print_storages(comparison: RunComparison, console: Console) -> None:
    rows = storage_rows(comparison)
    if not rows:
        return
    _title(console, tr("Raw storage benchmarks"))
    print_table(console, STORAGE_COLUMNS, rows)
    for sentence in (EXPLANATION, *storage_sentences(rows)):
        print_sentence(console, sentence)


def _title(console: Console, text: str) -> None:
    console.print()
    print_sentence(console, text, style="bold")


def _print_differences(comparison: RunComparison, console: Console) -> None:
    _title(console, tr("Differences"))
    found = what_differs([run.facts for run in comparison.runs])
    if not found.differences:
        print_sentence(console, describe_sameness(found))
    names = [run.facts.configuration or run.name for run in comparison.runs]
    for difference in found.differences:
        values = describe_values(difference, names)
        print_sentence(console, f"{difference.topic}, {one_line(difference.name)}: {values}")


def _print_figures(
    console: Console, title: str, part: RunComparison, figures: Sequence[FigureComparison]
) -> None:
    """Print figures of one condition, a row for each configuration."""
    if not figures:
        return
    _title(console, title)
    columns = (
        Column[int](
            "", titled(tr("configuration")), lambda at: part.groups[at].name_in_sentences, CellKind.WORDS
        ),
        *(
            Column[int](
                found.figure.name,
                found.figure.heading or found.figure.label,
                partial(_with_difference, found),
                CellKind.NUMBERS,
            )
            for found in figures
        ),
    )
    print_table(console, columns, range(len(part.groups)))


def _with_difference(found: FigureComparison, place: int) -> str:
    """Return a mean, with its difference if that is significant."""
    mean = format_mean(found, place)
    comparison = found.comparisons[place]
    if comparison is None or found.better(place) is None:
        return mean
    return f"{mean} ({format_difference(comparison)})"


def _print_runs(comparison: RunComparison, console: Console, *, all_runs: bool) -> None:
    _title(console, tr("Each run separately"))
    print_sentence(console, WITHIN_RUN_NOTE, style="dim")
    listed = comparison.runs if all_runs else comparison.runs[:_MOST_RUNS_SHOWN]
    for run in listed:
        sentences = " ".join(run.sentences) or tr("No per-second data.")
        print_sentence(console, f"{run.name}: {sentences}")
    if len(listed) < len(comparison.runs):
        more = tr("{count} more; --details shows all.").format(count=len(comparison.runs) - len(listed))
        print_sentence(console, more, style="dim")
