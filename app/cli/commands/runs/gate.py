"""`pgfooting compare BASE NEW --worse-than PERCENT`: a gate for upgrades, told and as an exit status."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_sentence, print_table
from app.comparison.comparison import RunComparison
from app.comparison.overall.gate import (
    GATE_COLUMNS,
    GATE_EXPLANATION,
    GATE_STATUS,
    GATE_WORDS,
    describe_gate,
    judge_sides,
)
from app.domain.errors import ExitStatus, UsageError
from app.domain.text import tr
from app.export.gate import gate_as_json


def check_gate(arguments: argparse.Namespace, sides: Sequence[Sequence[Path]]) -> None:
    """Make sure that a gate is asked for as it can be.

    Args:
        arguments: of the command.
        sides: run files of each argument.

    Raises:
        UsageError: there are not two sides, they share a run, or another option asks for something else.
    """
    for name, given in (("--again", arguments.again), ("--baseline", arguments.baseline)):
        if given:
            message = tr("{option} does not go with --worse-than.").format(option=name)
            raise UsageError(message, hint=tr("What is compared with is the first folder."))
    if len(sides) != 2:
        message = tr("--worse-than takes two folders, the base and what may be worse; these are {count}.")
        hint = tr("A folder stands for all runs in it and in the folders below.")
        raise UsageError(message.format(count=len(sides)), hint=hint)
    common = set(map(Path.resolve, sides[0])) & set(map(Path.resolve, sides[1]))
    if common:
        message = tr("The run {run} is on both sides.").format(run=min(common))
        raise UsageError(message, hint=tr("Each run was made before what changed, or after it."))


def print_gate(
    comparison: RunComparison, base: Sequence[Path], worse_by: float, *, as_json: bool
) -> ExitStatus:
    """Judge the new side, print what was found, and return the exit status that says it.

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
    print_sentence(console, tr("Altogether: {verdict}.").format(verdict=GATE_WORDS[gate.verdict]))
    return GATE_STATUS[gate.verdict]
