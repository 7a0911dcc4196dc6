"""`pgfooting list`, `show` and `export`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.tables import print_table
from app.domain.errors import ExitStatus
from app.domain.text import tr
from app.domain.units import format_duration
from app.runs.abandoned import sweep_abandoned
from app.runs.export import describe_run, export_runs
from app.runs.library import LibraryEntry, default_library, find_run, list_runs
from app.runs.runfile_reader import RunFile
from app.runs.summary import FIGURES


def library_of(arguments: argparse.Namespace) -> Path:
    """Return the library that the command line names, or the user's."""
    chosen: Path | None = arguments.library
    return chosen if chosen is not None else default_library()


def print_json(value: object) -> None:
    """Print a JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _started(epoch_s: float | None) -> str:
    if epoch_s is None:
        return ""
    return datetime.fromtimestamp(epoch_s).astimezone().strftime("%Y-%m-%d %H:%M")


def _row(entry: LibraryEntry) -> tuple[str, ...]:
    return (
        (entry.id or "")[:8],
        entry.name or "",
        entry.state + (f" [{', '.join(entry.marks)}]" if entry.marks else ""),
        " ".join(part for part in (entry.target, entry.filesystem) if part),
        entry.workload or "",
        "" if entry.clients is None else str(entry.clients),
        "" if entry.scale is None else str(entry.scale),
        "" if entry.tps is None else f"{entry.tps:,.0f}",
        _started(entry.started),
    )


def list_command(arguments: argparse.Namespace) -> int:
    """List the library's runs, newest first."""
    sweep_abandoned()
    library = library_of(arguments)
    entries = list_runs(library)
    if arguments.json:
        print_json([asdict(entry) for entry in entries])
        return ExitStatus.DONE
    console = Console()
    if not entries:
        console.print(tr("No runs in {library} yet.").format(library=library), markup=False, soft_wrap=True)
        return ExitStatus.DONE
    headings = (
        tr("id"),
        tr("run"),
        tr("state"),
        tr("target"),
        tr("workload"),
        tr("clients"),
        tr("scale"),
        tr("TPS"),
        tr("started"),
    )
    print_table(console, headings, [_row(entry) for entry in entries], left=frozenset({0, 1, 2, 3, 4, 8}))
    for entry in entries:
        if entry.problem:
            console.print(entry.problem, style="yellow", markup=False, soft_wrap=True)
    return ExitStatus.DONE


def show_command(arguments: argparse.Namespace) -> int:
    """Show one run."""
    sweep_abandoned()
    path = find_run(arguments.run, library_of(arguments))
    with RunFile(path) as run:
        if arguments.json:
            print_json(describe_run(run))
            return ExitStatus.DONE
        _show(run, Console())
    return ExitStatus.DONE


def _section(console: Console, title: str) -> None:
    console.print(f"\n[bold]{escape(title)}[/bold]")


def _show(run: RunFile, console: Console) -> None:
    described = describe_run(run)
    console.print(f"[bold]{escape(str(described.get('name')))}[/bold]  {described['state']}")
    console.print(str(run.path), markup=False, soft_wrap=True)
    error = described.get("error")
    if isinstance(error, dict):
        console.print(str(error.get("message")), style="red", markup=False, soft_wrap=True)
    for kind, reason in run.marks():
        console.print(f"{kind}: {reason}", style="yellow", markup=False, soft_wrap=True)

    _section(console, tr("Figures of the measured phase"))
    figures = Table.grid(padding=(0, 2))
    figures.add_column(justify="right")
    summary = run.summary()
    for figure in FIGURES:
        value = summary.get(figure.name)
        if value is not None:
            figures.add_row(f"{value:,.6g}", f"{figure.unit}", escape(figure.label))
    console.print(figures)

    _section(console, tr("Phases"))
    phases = Table.grid(padding=(0, 2))
    for times in run.phases():
        length = "" if times.ended_ms is None else format_duration((times.ended_ms - times.started_ms) / 1000)
        phases.add_row(times.phase.value, length)
    console.print(phases)

    _section(console, tr("Commands"))
    for command in run.commands():
        line = f"{command.duration_ms / 1000:8.2f} s  {command.account}$ {shlex.join(command.argv)}"
        suffix = "" if command.exit_code == 0 else f"  -> {command.exit_code}"
        console.print(line + suffix, markup=False, soft_wrap=True, highlight=False)

    if run.events():
        _section(console, tr("Events"))
        for event in run.events():
            text = f"{event.t_ms / 1000:8.1f} s  {event.kind}: {event.message}"
            console.print(text, markup=False, soft_wrap=True, highlight=False)
    for _, source, reason in run.unavailable():
        console.print(f"{source}: {reason}", style="dim", markup=False, soft_wrap=True)


def export_command(arguments: argparse.Namespace) -> int:
    """Write runs as CSV or JSON."""
    sweep_abandoned()
    library = library_of(arguments)
    paths = [find_run(name, library) for name in arguments.runs]
    export_runs(paths, arguments.output, anonymous=arguments.anonymous)
    return ExitStatus.DONE
