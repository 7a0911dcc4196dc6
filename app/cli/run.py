"""`pgfooting run`: a campaign with a progress display, a table at the end and the paths of the run files."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from app.allocator import keep_freed_memory
from app.cli.progress import TerminalProgress, choose_listener
from app.cli.tables import print_table
from app.domain.errors import ExitStatus
from app.runs.campaign import CampaignRequest, CampaignResult, run_campaign
from app.runs.comparison_table import HEADINGS, MeasuredConfiguration, MeasuredRun, build_rows
from app.runs.library import default_library
from app.runs.progress import RunResult
from app.runs.runfile import RunState
from app.runs.stop import StopSwitch


def run_command(arguments: argparse.Namespace) -> int:
    """Measure a campaign and show its table."""
    level = os.environ.get("PGFOOTING_LOG", "error").upper()
    logging.basicConfig(level=level if level in logging.getLevelNamesMapping() else "ERROR")
    keep_freed_memory()
    request = CampaignRequest(
        source=arguments.campaign,
        library=arguments.output if arguments.output is not None else default_library(),
        resume=arguments.resume,
    )
    listener = choose_listener(arguments.progress, sys.stdout)
    switch = StopSwitch()
    try:
        result = run_campaign(request, listener, switch)
    finally:
        if isinstance(listener, TerminalProgress):
            listener.close()
        switch.close()
    if arguments.progress == "auto":
        _show_table(result, Console())
    if result.stopped:
        return ExitStatus.CANCELLED
    return ExitStatus.FAILED if result.failed else ExitStatus.DONE


def measured_configurations(result: CampaignResult) -> tuple[MeasuredConfiguration, ...]:
    """Return the campaign's runs as the table wants them, in the campaign's order."""
    return tuple(
        _measured(item.name, [run for run in result.results if run.planned.configuration.name == item.name])
        for item in result.campaign.configurations
    )


def _measured(name: str, results: Sequence[RunResult]) -> MeasuredConfiguration:
    runs = tuple(
        MeasuredRun(
            repeat=result.planned.repeat,
            # A run that was stopped early is kept, but it is another measurement than the others.
            tps=result.summary.get("tps") if result.state is RunState.DONE else None,
            p99_ms=result.summary.get("latency_p99_ms"),
            jitter=result.summary.get("jitter_cv"),
        )
        for result in results
    )
    marks = tuple(sorted({kind for result in results for kind, _ in result.marks}))
    return MeasuredConfiguration(name, runs, marks)


def _show_table(result: CampaignResult, console: Console) -> None:
    rows = build_rows(measured_configurations(result))
    console.print()
    console.print(Text(result.campaign.name, style="bold"), soft_wrap=True)
    print_table(console, HEADINGS, [row.cells() for row in rows], left=frozenset({0, len(HEADINGS) - 1}))
    for row in rows:
        if row.verdict:
            console.print(row.verdict, markup=False, highlight=False, soft_wrap=True)
    for reason in sorted({text for run in result.results for text in _mark_sentences(run)}):
        console.print(reason, style="yellow", markup=False, highlight=False, soft_wrap=True)
    console.print()
    for run in result.results:
        if run.error is not None:
            words = f"{run.planned.configuration.name}: {run.error.message} {run.error.hint}".strip()
            console.print(words, style="red", markup=False, highlight=False, soft_wrap=True)
        if run.path is not None:
            console.print(run.path, markup=False, highlight=False, soft_wrap=True)


def _mark_sentences(run: RunResult) -> list[str]:
    return [f"{kind}: {reason}" for kind, reason in run.marks if reason]
