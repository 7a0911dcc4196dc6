"""`pgfooting list` and `show`."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from app import COMMAND
from app.analysis.bottleneck import read_bottleneck
from app.analysis.cannot_show import Limit, describe_limitations, read_limitations
from app.analysis.data_set import describe_data_set
from app.analysis.facts import PHASE_COLUMNS, read_phase_figures
from app.analysis.io_baseline import JOB_COLUMNS, read_used_shares, sync_sentences
from app.analysis.labels import DISK_MARKS, WHOLE_RUN_TPS, at_least, format_tps
from app.analysis.stability import CLOSED_LOOP_NOTE, describe_disturbances, is_closed_loop
from app.cli.terminal.tables import print_grid, print_line, print_pairs, print_sentence, print_table
from app.comparison.offered_load import describe_rate, kept_rate
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, UsageError
from app.domain.json_value import Json
from app.domain.quoting import shell_line, shell_word
from app.domain.run import Phase, RunState
from app.domain.text import format_duration, format_size, number_text, titled, tr, trn
from app.execution.recovery import finish_incomplete, sweep_abandoned
from app.export.runs import describe_run, finite
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent
from app.library.entries import LibraryEntry, default_library, effective_state, read_entry, run_paths
from app.library.query import dimensions, haystack, matches, parse_query, query_mistakes, query_remarks
from app.library.scan import find_run, list_runs
from app.postgres.pgbench.scale import ratio_words
from app.runfile.disturbance import marks_of, read_disturbances
from app.runfile.figures import FIGURES, Figure
from app.runfile.metadata.environment import EnvironmentFacts, counted_devices
from app.runfile.metadata.offered_load import offered_load
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import figures_of, is_lower_bound, summarise
from app.statistics.verdict import run_interval
from app.terminal.plain_text import json_text, plain

# Find the runs named on a command line, and finish abandoned ones before they are read.


def library_of(arguments: argparse.Namespace) -> Path:
    """Return the library that the command line names, or the user's."""
    chosen: Path | None = arguments.library
    return chosen if chosen is not None else default_library()


def print_left_over(events: Sequence[SweepEvent]) -> None:
    """Print on standard error the remains of dead campaigns that could not be cleaned up."""
    for event in events:
        if event.action in {CleanupAction.KEPT, CleanupAction.UNREADABLE}:
            sys.stderr.write(f"{COMMAND}: {plain(event.text)}\n")


def is_query(name: str) -> bool:
    """Return whether an argument is a query, such as ``filesystem:xfs scale:250``, and no name of runs."""
    return not os.path.lexists(name) and any(term.field for term in parse_query(name))


def entries_found(words: Sequence[str], entries: Sequence[LibraryEntry]) -> list[LibraryEntry]:
    """Return the entries that match a query; print remarks about values that none has.

    Raises:
        UsageError: the query cannot match any run.
    """
    terms = tuple(term for word in words for term in parse_query(_as_one(word)))
    if mistakes := list(query_mistakes(terms, entries)):
        raise UsageError("\n".join(mistakes))
    for remark in query_remarks(terms, entries):
        sys.stderr.write(f"{COMMAND}: {plain(remark)}\n")
    return [entry for entry in entries if matches(terms, entry, haystack(entry))]


def _as_one(word: str) -> str:
    """Return an argument as one query term unless it has several fields: the shell has split the words."""
    is_one = " " in word and '"' not in word and not all(term.field for term in parse_query(word))
    return f'"{word}"' if is_one else word


def select_runs(names: Sequence[str], library: Path) -> list[list[Path]]:
    """Return the run files of each folder, path or id; queries choose among them, or of the library.

    Raises:
        UsageError: there is no such run.
    """
    queries = [name for name in names if is_query(name)]
    named = [name for name in names if name not in queries]
    if not queries:
        return [runs_named(name, library) for name in named]
    sides = [_entries_named(name, library) for name in named] or [list_runs(library)]
    found = {entry.path for entry in entries_found(queries, [entry for side in sides for entry in side])}
    if not found:
        sentence = tr("None of the {count} runs in {library} matches: {words}")
        folders = ", ".join(named) or library
        raise UsageError(
            sentence.format(count=sum(map(len, sides)), library=folders, words=plain(" ".join(queries)))
        )
    return [sorted(Path(entry.path) for entry in side if entry.path in found) for side in sides]


def _entries_named(name: str, library: Path) -> list[LibraryEntry]:
    return list_runs(Path(name)) if Path(name).is_dir() else [read_entry(find_run(name, library))]


def runs_named(name: str, library: Path) -> list[Path]:
    """Return the run files that a name denotes: those of a folder, or one."""
    folder = Path(name)
    if folder.is_dir():
        found = sorted(run_paths(folder))
        if not found:
            raise UsageError(tr("No runs in {library}.").format(library=folder))
        return found
    return [find_run(name, library)]


def named_paths(arguments: argparse.Namespace) -> list[Path]:
    """Return the run files that the command line names, each once.

    Raises:
        UsageError: there is no such run.
    """
    print_left_over(sweep_abandoned())
    sides = select_runs(arguments.runs, library_of(arguments))
    return list(dict.fromkeys(path for side in sides for path in side))


_MEASURED: Final = frozenset({Phase.PART, Phase.MEASURE})


def print_json(value: Json) -> None:
    """Print a JSON document."""
    text = json.dumps(finite(value), ensure_ascii=False, indent=1, allow_nan=False)
    sys.stdout.write(json_text(text) + "\n")


def _started(epoch_s: float | None, pattern: str = "%Y-%m-%d %H:%M") -> str:
    if epoch_s is None:
        return ""
    try:
        return datetime.fromtimestamp(epoch_s).astimezone().strftime(pattern)
    except (ValueError, OverflowError, OSError):  # no date has such a year
        return ""


def _place(entry: LibraryEntry) -> str:
    return " ".join(part for part in (entry.target, entry.filesystem) if part)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


LIST_COLUMNS: Final[tuple[Column[LibraryEntry], ...]] = (
    Column("id", tr("Id"), lambda entry: (entry.id or "")[:8], CellKind.LABEL),
    Column("run", tr("Run"), lambda entry: entry.name or "", CellKind.WORDS),
    Column("state", tr("State"), lambda entry: entry.state, CellKind.LABEL),
    Column("target", tr("Target"), _place, CellKind.WORDS),
    Column("workload", tr("Workload"), lambda entry: entry.workload or "", CellKind.WORDS, optional=3),
    Column("clients", titled(tr("clients")), lambda entry: _number(entry.clients), optional=2),
    Column("scale", titled(tr("scale")), lambda entry: _number(entry.scale), optional=1),
    Column("tps", WHOLE_RUN_TPS, lambda entry: format_tps(entry.tps)),
    Column("started", tr("Started"), lambda entry: _started(entry.started), CellKind.LABEL, optional=4),
    Column("marks", tr("Marks"), lambda entry: ", ".join(entry.marks), CellKind.WORDS, optional=5),
)
"""Columns of the list of the library's runs."""


def list_command(arguments: argparse.Namespace) -> int:
    """List the library's runs, newest first; searched fields that no run has are reported.

    Raises:
        UsageError: the query cannot match any run.
    """
    print_left_over(sweep_abandoned())
    library = library_of(arguments)
    entries = list_runs(library)
    if finish_incomplete(entries):
        entries = list_runs(library)
    picked = entries_found(arguments.words, entries)
    if arguments.json:
        print_json([{**asdict(entry), "dimensions": dict(dimensions(entry))} for entry in picked])
        return ExitStatus.DONE
    console = Console()
    if entries and not picked:
        sentence = tr("None of the {count} runs in {library} matches: {words}")
        words = plain(" ".join(arguments.words))
        print_line(console, sentence.format(count=len(entries), library=library, words=words))
        return ExitStatus.DONE
    entries = picked
    if not entries:
        print_line(console, tr("No runs in {library}.").format(library=library))
        return ExitStatus.DONE
    print_table(console, LIST_COLUMNS, entries)
    for entry in entries:
        if entry.problem:
            print_line(console, entry.problem, style="yellow")
    return ExitStatus.DONE


def show_command(arguments: argparse.Namespace) -> int:
    """Show one run."""
    print_left_over(sweep_abandoned())
    path = find_run(arguments.run, library_of(arguments))
    with RunFile(path) as run:
        if arguments.json:
            print_json(describe_run(run))
            return ExitStatus.DONE
        _show(run, Console())
    return ExitStatus.DONE


def _section(console: Console, title: str) -> None:
    console.print()
    print_line(console, title, style="bold")


def _show(run: RunFile, console: Console) -> None:
    metadata = run.metadata
    state = effective_state(run.path, run.state).value
    print_line(console, f"{known(metadata.name, run.path.stem)}  {state}", style="bold")
    print_line(console, str(run.path))
    if not isinstance(metadata.error, NotKnown):
        for part in filter(None, metadata.error.sentences):
            print_line(console, part, style="red")
    judged = read_disturbances(run)
    for kind, reason in marks_of(run, judged):
        print_line(console, f"{kind}: {reason}", style="red" if kind in DISK_MARKS else "yellow")
    if judged.not_known:  # else a mark reports it
        print_line(console, describe_disturbances(judged), style="dim")
    _show_limits(run, console)
    _show_configuration(run, console)
    _show_figures(run, console)
    _show_workload_phases(run, console)
    _show_baseline(run, console)
    _show_phases(run, console)
    _section(console, titled(tr("commands")))
    for command in run.commands():
        took = number_text(command.duration_ms / 1000, "8.2f")
        line = f"{took} s  {shell_word(command.account)}$ {shell_line(command.argv)}"
        print_line(console, line if command.exit_code == 0 else f"{line}  -> {command.exit_code}")
    if run.events():
        _section(console, tr("Events"))
        for event in run.events():
            print_line(console, f"{number_text(event.t_ms / 1000, '8.1f')} s  {event.kind}: {event.message}")
    if run.unavailable():
        _section(console, tr("Not measured"))
        for _, source, reason in run.unavailable():
            print_line(console, f"{source}: {reason}", style="dim")


def _show_limits(run: RunFile, console: Console) -> None:
    """Print the bottleneck of the run, and the limits of its figures."""
    if run.phase(Phase.MEASURE) is None:
        return
    for sentence in filter(
        None, (read_bottleneck(run).sentence, describe_limitations([read_limitations(run)]))
    ):
        print_sentence(console, sentence)


def _show_configuration(run: RunFile, console: Console) -> None:
    environment = run.environment
    rows = [each for each in configuration_rows(run.metadata, environment) if each[1]]
    if rows:
        _section(console, tr("What was measured"))
        print_pairs(console, rows)


@dataclass(frozen=True, slots=True)
class _KnownFigure:
    figure: Figure
    value: float
    is_bound: bool


_FIGURE_COLUMNS: Final[tuple[Column[_KnownFigure], ...]] = (
    Column("figure", tr("Figure"), lambda known: known.figure.label, CellKind.LABEL),
    Column("value", tr("Value"), lambda known: at_least(figure_text(known.value), is_bound=known.is_bound)),
    Column("unit", tr("Unit"), lambda known: known.figure.unit, CellKind.LABEL),
)


def _show_figures(run: RunFile, console: Console) -> None:
    summary = figures_of(run)
    if not summary and effective_state(run.path, run.state) is not RunState.RUNNING:
        summary = summarise(run)
    rows = [
        _KnownFigure(figure, value, is_lower_bound(summary, figure.name))
        for figure in FIGURES
        if (value := summary.get(figure.name)) is not None
    ]
    if rows:
        _section(console, tr("Figures of the whole measured phase"))
        print_grid(console, _FIGURE_COLUMNS, rows)
    load = offered_load(run.metadata)
    is_reported = any(each.limit is Limit.CLOSED_LOOP for each in read_limitations(run))
    if is_closed_loop(load, summary) and not is_reported:
        print_sentence(console, CLOSED_LOOP_NOTE, style="dim")
    name = known(run.metadata.name, run.path.stem)
    tps = summary.get("tps") or 0.0
    mean = run_interval((tps,) if tps > 0 else ())
    if sentence := describe_rate(name, kept_rate(load, [summary]), mean, [summary]):
        print_sentence(console, f"{sentence}.")


def _show_baseline(run: RunFile, console: Console) -> None:
    baseline = or_none(run.metadata.io_baseline)
    if baseline is None:
        return
    _section(console, tr("Raw storage benchmarks"))
    if baseline.jobs:
        print_table(console, JOB_COLUMNS, baseline.jobs)
    for sentence in sync_sentences(baseline):
        print_line(console, sentence)
    for used in read_used_shares(run):
        print_line(console, used.sentence)
    for problem in baseline.problems:
        print_line(console, problem, style="yellow")


def figure_text(value: float) -> str:
    """Return a figure with four significant digits, whole numbers in full."""
    if not math.isfinite(value):
        return str(value)
    if value == round(value) or abs(value) >= 1000:
        return number_text(value, ",.0f")
    return number_text(value, ".4g")


def _show_workload_phases(run: RunFile, console: Console) -> None:
    figures = read_phase_figures(run)
    if figures:
        _section(console, tr("Run phases"))
        print_table(console, PHASE_COLUMNS, figures)


def _show_phases(run: RunFile, console: Console) -> None:
    phases = known(run.metadata.phases, ())
    labels = {each.number: each.label for each in phases}
    own = next((each.number for each in phases if each.is_own), 0)
    rows = [
        (
            labels.get(times.number or own, times.name.text) if times.phase in _MEASURED else times.name.text,
            "" if times.ended_ms is None else format_duration((times.ended_ms - times.started_ms) / 1000),
        )
        for times in run.phases()
    ]
    if rows:
        _section(console, titled(tr("phases")))
        print_pairs(console, rows)


# --- The measured configuration, in a few lines for users.


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _server(run: RunMetadata) -> str:
    version, folder = known(run.installation.version, ""), known(run.installation.folder, "")
    return f"PostgreSQL {version}{_bracketed(folder)}" if version or folder else ""


def _settings(run: RunMetadata) -> str:
    chosen = run.postgresql
    if isinstance(chosen.preset, NotKnown):
        return ""
    if (has_checksums := or_none(chosen.checksums)) is None:
        return tr("preset") + f" {chosen.preset}"
    checksums = tr("on") if has_checksums else tr("off")
    return tr("preset {preset}, checksums {checksums}").format(preset=chosen.preset, checksums=checksums)


def _by_filesystem(run: RunMetadata) -> str:
    """Return the server settings that come from the filesystem's preset or options."""
    given = (each for each in known(run.settings, ()) if each.origin == "filesystem")
    return ", ".join(f"{each.name}={each.value}" for each in given)


def _workload(run: RunMetadata) -> str:
    label, protocol = known(run.workload.label, ""), known(run.workload.protocol, "")
    if not protocol:
        return label
    return tr("{label}, protocol {protocol}").format(label=label, protocol=protocol)


def _scale(run: RunMetadata) -> str:
    scale, size = or_none(run.scale), or_none(run.data_bytes)
    if scale is None:
        return "" if size is None else format_size(size)
    return f"{scale}{_bracketed('' if size is None else format_size(size))}"


def _rows(run: RunMetadata) -> str:
    ratio = or_none(run.workload.compressibility)
    return "" if ratio is None else tr("compressible {ratio}").format(ratio=ratio_words(ratio))


def _clients(run: RunMetadata) -> str:
    clients, threads = or_none(run.workload.clients), or_none(run.workload.threads)
    if clients is None or threads is None:
        return "" if clients is None else str(clients)
    return trn("{clients} in {threads} thread", "{clients} in {threads} threads", threads).format(
        clients=clients, threads=threads
    )


def _length(run: RunMetadata) -> str:
    seconds, count = or_none(run.workload.duration_s), or_none(run.workload.transactions)
    if seconds is not None:
        return format_duration(seconds)
    if count is None:
        return ""
    return trn("{count} transaction per client", "{count} transactions per client", count).format(count=count)


def configuration_rows(run: RunMetadata, environment: EnvironmentFacts) -> tuple[tuple[str, str], ...]:
    """Return (label, value) of target, server and workload; an unknown value is empty."""
    warmup_s = or_none(run.workload.warmup_s)
    return (
        (tr("Campaign"), known(run.campaign, "")),
        (tr("Started"), _started(or_none(run.started_epoch_s))),
        (tr("Target"), f"{known(run.target.kind, '')} {known(run.target.path, '')}".strip()),
        (titled(tr("existing server")), _existing_server(run)),
        (titled(tr("filesystem")), environment.filesystem),
        (tr("Devices counted"), counted_devices(environment)),
        (titled(tr("server")), _server(run)),
        (tr("Settings"), _settings(run)),
        (tr("Settings for the filesystem"), _by_filesystem(run)),
        (tr("Workload"), _workload(run)),
        (titled(tr("scale")), _scale(run)),
        (tr("Rows"), _rows(run)),
        (titled(tr("data set")), describe_data_set(or_none(run.data_set))),
        (titled(tr("clients")), _clients(run)),
        (tr("Length"), _length(run)),
        (titled(tr("warm-up")), "" if warmup_s is None else format_duration(warmup_s)),
        (tr("Caches"), known(run.workload.caches, "")),
    )


def _existing_server(run: RunMetadata) -> str:
    """Return the description of an existing server; empty for other targets."""
    server = run.target.server
    if isinstance(server, NotKnown):
        return ""
    trip = "?" if server.round_trip_ms is None else number_text(server.round_trip_ms, ".2f")
    words = tr("{name} as {role}, TLS {tls}, round trip {trip} ms")
    sentence = words.format(
        name=server.host_name, role=server.user_name, tls=server.tls or tr("none"), trip=trip
    )
    return ", ".join(filter(None, (sentence, server.managed_service)))
