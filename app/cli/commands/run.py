"""`pgfooting run`: a campaign with a progress display, a table at the end and the paths of the run files."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from app import COMMAND
from app.analysis.facts import read_run_facts
from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.on_servers import named_servers
from app.campaign_file.trust import Ask
from app.cli.commands.plan import plan_command
from app.cli.commands.queue import CampaignSource, QueuedEnd, agree_to_all, show_queue, worst_status
from app.cli.commands.recipes import campaign_to_run, refuse_mistaken_recipe
from app.cli.commands.runs.named_runs import tell_left_over
from app.cli.commands.when_done import EndedCampaign, run_when_done, tell_desktop
from app.cli.terminal.consent import ErasureQuestion, LoadQuestion, TrustPrompt
from app.cli.terminal.plain_text import plain
from app.cli.terminal.progress import BrokenPipeGuard, choose_listener
from app.cli.terminal.standard_streams import drop_output
from app.cli.terminal.tables import print_line, print_sentence, print_table
from app.cli.terminal.terminal_agent import terminal_agent
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.limits import describe_what_is_unshown
from app.comparison.overall.fastest import describe_fastest, find_fastest
from app.comparison.table import (
    COMPARISON_COLUMNS,
    MeasuredConfiguration,
    MeasuredRun,
    build_rows,
    columns_for,
)
from app.comparison.warnings import comparison_notes
from app.domain.campaign.configuration import Workload
from app.domain.errors import CancelledError, ExitStatus, FootingError, RunFileError, UsageError
from app.domain.text import tr
from app.domain.units import MIB
from app.draft.review import plan_sentences
from app.execution.campaign import CampaignRequest, CampaignResult, run_campaign
from app.execution.design import rivals_of
from app.execution.disks.session import DiskConsent
from app.execution.recovery import sweep_abandoned
from app.execution.servers import LoadConsent
from app.execution.stop import Cancellable
from app.hosts.preferences import Preferences, read_preferences
from app.library.entries import CAMPAIGN_NAME, default_library
from app.live.queue import goes_on_after
from app.recording.events import RunResult
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.runfile.writer import RunState

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""Numbers of malloc.h of glibc, which are part of its interface; see mallopt(3)."""

_LARGEST_IN_HEAP_BYTES: Final = 16 * MIB
_KEPT_BYTES: Final = 32 * MIB


def keep_freed_memory() -> bool:
    """Keep up to 32 MiB of freed memory instead of giving it back to the kernel at once.

    The recorder parses a megabyte of transaction log a second in temporary arrays. By default glibc gives
    such memory back each time, and the kernel hands it out anew page by page: measured 600 page faults a
    second, 4 ms of CPU on a virtual machine, which is more than all parsing.

    Returns:
        Whether the C library can be told; another one (musl) has other rules and nothing is changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP_BYTES), (_M_TRIM_THRESHOLD, _KEPT_BYTES))
    return all(mallopt(ctypes.c_int(name), ctypes.c_int(value)) == 1 for name, value in settings)


def run_command(arguments: argparse.Namespace) -> int:
    """Measure campaigns one after the other and show their tables."""
    tell_left_over(sweep_abandoned())
    keep_freed_memory()
    sources = [_source_of(arguments, name) for name in arguments.campaigns]
    trust: Ask = TrustPrompt(trusted=arguments.trust)
    if arguments.dry_run:
        return _tell_plans(sources, trust)
    preferences, refusal = read_preferences()
    if refusal:
        sys.stderr.write(f"{COMMAND}: {plain(refusal)}\n")
    when_done = preferences.when_done if arguments.when_done is None else arguments.when_done
    if len(sources) == 1:
        result = _run(arguments, sources[0], trust)
        ended = [QueuedEnd(sources[0], result, status=_status_of(result))]
        _tell_end(ended, preferences, when_done)
        return worst_status(ended)
    # What is wrong with one, or has to be agreed to, is told before the first: nobody may be there later.
    agreed = agree_to_all(sources, trust)
    ends: list[QueuedEnd] = []
    for source in sources:
        try:
            result = _run(arguments, source, agreed)
        except CancelledError as error:
            ends.append(QueuedEnd(source, error=error))
            break
        except FootingError as error:  # of this one: the others are measured all the same
            ends.append(QueuedEnd(source, error=error))
            sys.stderr.write(f"{COMMAND}: {plain(f'{source.path}: {error.message} {error.hint}'.strip())}\n")
            continue
        ends.append(QueuedEnd(source, result, status=_status_of(result)))
        if not goes_on_after(ends[-1].status):
            break
    ends += [QueuedEnd(source) for source in sources[len(ends) :]]
    if arguments.progress == "auto":
        show_queue(ends, Console())
    _tell_end(ends, preferences, when_done)
    return worst_status(ends)


def _tell_plans(sources: Sequence[CampaignSource], trust: Ask) -> int:
    """Tell what each campaign comes to; of one that was begun, as a whole."""
    for source in sources:
        path = source.path / CAMPAIGN_NAME if source.path.is_dir() else source.path
        plan_command(source.given or read_campaign_file(path), trust)
    return ExitStatus.DONE


def _tell_end(ends: Sequence[QueuedEnd], preferences: Preferences, when_done: str) -> None:
    """Tell the desktop and run the command when done; not where a person has stopped it, who is there."""
    if any(each.result is not None and each.result.stopped for each in ends):
        return
    told = [
        EndedCampaign(
            each.name, f"{each.runs} {each.end}".strip(), None if each.result is None else each.result.folder
        )
        for each in ends
    ]
    tell_desktop(told, preferences)
    sentence = run_when_done(when_done, told, worst_status(ends))
    if sentence:
        sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")


def _source_of(arguments: argparse.Namespace, name: str) -> CampaignSource:
    """Return what a word of the command line names: a campaign file, a recipe, the folder of a campaign.

    Raises:
        UsageError: a folder where a campaign file is wanted, a library for a campaign that has its folder, no
            such recipe.
        CampaignError: a recipe of which nothing can be measured here.
    """
    path = Path(name)
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
        if path.suffix == ".toml" and not os.path.lexists(path) and not arguments.resume:
            refuse_mistaken_recipe(path)
        servers = named_servers(arguments.server, arguments.names, arguments.ssh, arguments.room)
        given = campaign_to_run(name, arguments.disks, quick=arguments.quick, servers=servers)
        return CampaignSource(path, given)
    if not arguments.resume:
        message = tr("{path} is a folder, not a campaign file.")
        hint = tr("`pgfooting run --resume {path!q}` goes on with the campaign that was begun in it.")
        raise UsageError(message.format(path=path), hint=hint.format(path=path))
    for option in ("library", "disks", "quick", "server", "as", "ssh", "room"):
        if getattr(arguments, "names" if option == "as" else option):
            message = tr(
                "The campaign goes on in {path} as it was begun: --{option} is for those that begin."
            )
            raise UsageError(message.format(path=path, option=option))
    return CampaignSource(path)


def _run(arguments: argparse.Namespace, source: CampaignSource, trust: Ask) -> CampaignResult:
    """Measure one campaign and show its table.

    Raises:
        FootingError: it could not begin.
    """
    question = LoadQuestion(tuple(arguments.load))
    request = CampaignRequest(
        source=source.path,
        given=source.given,
        library=arguments.library if arguments.library is not None else default_library(),
        wait=arguments.wait,
        resume=arguments.resume,
        trust=trust,
        describe=plan_sentences,
        consent=DiskConsent(ErasureQuestion(tuple(arguments.erase)), terminal_agent),
        load=LoadConsent(question, contact=question.contact),
    )
    listener = BrokenPipeGuard(choose_listener(arguments.progress, sys.stdout))
    switch = Cancellable()
    try:
        result = run_campaign(request, listener, switch)
    finally:
        listener.close()
        switch.close()
    if listener.lost:
        drop_output()
    elif arguments.progress == "auto":
        console = Console()
        show_table(result, console)
        if result.stopped and not result.is_complete:
            hint = tr("Stopped. The same command with --resume measures what is missing.")
            print_line(console, hint, style="yellow")
    else:
        _tell_failures(result)
    return result


def _status_of(result: CampaignResult) -> ExitStatus:
    if result.stopped:
        return ExitStatus.CANCELLED
    return ExitStatus.FAILED if result.failed else ExitStatus.DONE


def measured_configurations(result: CampaignResult) -> tuple[MeasuredConfiguration, ...]:
    """Return the campaign's runs as the table wants them, in the campaign's order."""
    by_name: dict[str, list[RunResult]] = {}
    for run in result.results:
        by_name.setdefault(run.planned.configuration.name, []).append(run)
    return tuple(
        replace(
            _measured(item.name, by_name.get(item.name, [])),
            load=_load(item.workload),
            contest="\n".join(rivals_of(result.campaign, item)),
        )
        for item in result.campaign.configurations
    )


def _load(workload: Workload) -> OfferedLoad:
    kind = LoadKind.CLOSED if workload.rate_tps is None else LoadKind.RATE
    return OfferedLoad(kind, workload.rate_tps, workload.latency_limit_ms, limit_is_known=True)


def _measured(name: str, results: Sequence[RunResult]) -> MeasuredConfiguration:
    runs = tuple(
        MeasuredRun(
            repeat=result.planned.repeat,
            # A run that was stopped early is kept, but it is another measurement than the others.
            tps=result.summary.get("tps") if result.state is RunState.DONE else None,
            figures=result.summary,
        )
        for result in results
    )
    marks = tuple(sorted({kind for result in results for kind, _ in result.marks}))
    return MeasuredConfiguration(name, runs, marks)


def judge_files(paths: Iterable[str | None], *, baseline: str = "") -> RunComparison | None:
    """Return the comparison of finished run files, the same that the window and the report make of them.

    Args:
        paths: of the files; None for a run that left none.
        baseline: name of the configuration to compare with.

    Returns:
        None where a file is missing or cannot be read: then only what is in memory can be told.
    """
    found = list(paths)
    try:
        facts = [read_run_facts(Path(path)) for path in found if path is not None]
    except RunFileError:
        return None
    return compare_runs(facts, baseline=baseline) if len(facts) == len(found) else None


def show_table(result: CampaignResult, console: Console) -> None:
    """Print what a campaign came to: the table, the verdicts, what weakens them, the run files."""
    comparison = judge_files(
        (run.path for run in result.results), baseline=result.campaign.configurations[0].name
    )
    console.print()
    print_line(console, result.campaign.name, style="bold")
    if comparison is None:  # of what is in memory only nobody knows under which conditions it was
        rows = [row for each in measured_configurations(result) for row in build_rows([each])]
        print_table(console, columns_for(COMPARISON_COLUMNS, rows), rows)
    else:
        for part in comparison.parts:
            _show_condition(part, console)
        for note in comparison_notes(comparison):
            print_sentence(console, note)
    for reason in sorted({text for run in result.results for text in _mark_sentences(run)}):
        print_line(console, reason, style="yellow")
    console.print()
    for run in result.results:
        if run.error is not None:
            print_line(console, _failure_words(run), style="red")
        if run.path is not None:
            print_line(console, run.path)


def _show_condition(part: RunComparison, console: Console) -> None:
    if part.condition:
        console.print()
        print_line(console, part.condition, style="bold")
    print_table(console, columns_for(COMPARISON_COLUMNS, part.rows), part.rows)
    told = (describe_fastest(part, find_fastest(part)), *(row.verdict for row in part.rows))
    for sentence in filter(None, (*told, describe_what_is_unshown(part))):
        print_sentence(console, sentence)


def _tell_failures(result: CampaignResult) -> None:
    """Say on standard error what failed, where standard output is not for people."""
    for run in result.results:
        if run.error is not None:
            sys.stderr.write(f"{COMMAND}: {plain(_failure_words(run))}\n")


def _failure_words(run: RunResult) -> str:
    if run.error is None:
        return ""
    return f"{run.planned.configuration.name}: {run.error.message} {run.error.hint}".strip()


def _mark_sentences(run: RunResult) -> list[str]:
    return [f"{kind}: {reason}" for kind, reason in run.marks if reason]
