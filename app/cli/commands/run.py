"""`pgfooting run`: measure campaigns, show their progress, print a table and the run files' paths.

With `--dry-run`, print each campaign's plan for this machine and start nothing. Several campaigns run one
after the other: all are confirmed before the first, and summarised in one table at the end.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from app import COMMAND
from app.analysis.facts import read_run_facts
from app.campaign_file.reader import CampaignFile, read_campaign_file
from app.campaign_file.recipes.adapt import named_servers
from app.campaign_file.trust import Ask, Concern, check_trust, foreign_programs
from app.cli.commands.recipes import campaign_to_run, refuse_mistaken_recipe
from app.cli.commands.runs.compare import print_result
from app.cli.commands.runs.show import print_left_over
from app.cli.commands.when_done import EndedCampaign, notify_desktop, run_when_done
from app.cli.terminal.consent import ErasureQuestion, LoadQuestion, TrustPrompt, terminal_agent
from app.cli.terminal.progress import Progress
from app.cli.terminal.tables import print_line, print_sentence, print_table
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.matrix import lay_out
from app.domain.columns import CellKind, Column
from app.domain.errors import CancelledError, ExitStatus, FootingError, RunFileError, UsageError
from app.domain.run import RunState
from app.domain.storage_plan.words import place_words
from app.domain.text import MIB, format_size, number_text, titled, tr
from app.draft.review import plan_sentences
from app.execution.campaign import CampaignRequest, CampaignResult, run_campaign
from app.execution.control import Cancellable
from app.execution.disks.session import DiskConsent
from app.execution.recovery import sweep_abandoned
from app.execution.resolve import ResolvedConfiguration, resolve_campaign
from app.execution.servers import LoadConsent
from app.export.runs import with_readable
from app.hosts.folders.own_folders import server_account
from app.library.entries import CAMPAIGN_NAME, default_library
from app.library.trusted_campaigns import is_trusted
from app.preferences import Preferences, read_preferences
from app.process.starter import CommandOutcome
from app.recording.events import RunResult
from app.runfile.disturbance import DISTURBED
from app.terminal.error_boundary import drop_output
from app.terminal.plain_text import plain, print_left_out

_MOST_ROWS: Final = 40
"""Limit on a terminal; a pipe gets all rows."""


def plan_command(file: CampaignFile, ask: Ask) -> int:
    """Print what a campaign would measure, how long that takes, and what it writes; start nothing.

    Args:
        file: of the campaign.
        ask: asks the user about programs that must run to report their versions.
    """
    if foreign_programs(file.campaign):
        check_trust(file, ask, is_trusted=is_trusted)
    commands: list[CommandOutcome] = []
    resolved = resolve_campaign(file.campaign, server_account(commands.append), commands.append)
    console = Console()
    print_line(console, file.campaign.name, style="bold")
    rows = list(resolved.configurations.values())
    shown = rows[:_MOST_ROWS] if console.is_terminal else rows
    print_table(console, PLAN_COLUMNS, shown)
    if len(shown) < len(rows):
        more = tr("… and {count} more; output to a file or pipe lists them all.")
        print_line(console, more.format(count=len(rows) - len(shown)), style="dim")
    console.print()
    for sentence in plan_sentences(resolved):
        print_sentence(console, sentence)
    print_sentence(console, tr("Nothing was started."))
    return ExitStatus.DONE


def _place(each: ResolvedConfiguration) -> str:
    if each.target.plan is not None:
        return place_words(each.target.plan).replace("\n", "; ")
    return each.target.path


PLAN_COLUMNS: Final = (
    Column[ResolvedConfiguration](
        "configuration", titled(tr("configuration")), lambda each: each.configuration.name, CellKind.WORDS
    ),
    Column[ResolvedConfiguration]("place", tr("Data in"), _place, CellKind.WORDS, optional=1),
    Column[ResolvedConfiguration](
        "postgresql", "PostgreSQL", lambda each: each.installation.version, CellKind.LABEL, optional=2
    ),
    Column[ResolvedConfiguration](
        "scale", titled(tr("scale")), lambda each: number_text(each.scale.scale, ",")
    ),
    Column[ResolvedConfiguration](
        "data", titled(tr("data")), lambda each: format_size(each.scale.data_bytes)
    ),
    Column[ResolvedConfiguration](
        "clients", titled(tr("clients")), lambda each: str(each.configuration.workload.clients)
    ),
)
"""Columns of the configurations in a plan."""


@dataclass(frozen=True, slots=True)
class CampaignSource:
    """Source of a campaign.

    Attributes:
        path: of a campaign file, or folder of a started campaign; for a recipe its name.
        given: the recipe's campaign on this machine; None to use the file.
    """

    path: Path
    given: CampaignFile | None = None

    def read(self) -> CampaignFile:
        """Return the campaign.

        Raises:
            CampaignError: it cannot be read, or is invalid.
        """
        path = self.path / CAMPAIGN_NAME if self.path.is_dir() else self.path
        return self.given or read_campaign_file(path)


@dataclass(frozen=True, slots=True)
class QueuedEnd:
    """How one of several campaigns ended.

    Attributes:
        source: of the campaign.
        result: None if it did not start.
        error: why it could not start; None if it started, or its turn did not come.
        status: its exit status, if it started.
    """

    source: CampaignSource
    result: CampaignResult | None = None
    error: FootingError | None = None
    status: ExitStatus = ExitStatus.DONE

    @property
    def name(self) -> str:
        """The campaign's name, else its file."""
        return self.source.path.name if self.result is None else self.result.campaign.name

    @property
    def runs(self) -> str:
        """Number of its done runs, and of all."""
        if self.result is None:
            return ""
        done = {each.planned.number for each in self.result.results if each.state is RunState.DONE}
        return tr("{number} of {count}").format(number=len(done), count=self.result.campaign.total_runs)

    @property
    def failed(self) -> str:
        """Number of failed runs; empty for none."""
        count = 0
        if self.result is not None:
            count = sum(each.state is RunState.FAILED for each in self.result.results)
        return str(count) if count else ""

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.error is not None:
            return tr("did not start: {reason}").format(reason=self.error.message)
        if self.result is None:
            return tr("not reached")
        if self.result.is_complete:
            return tr("all runs are done")
        return tr("stopped") if self.result.stopped else tr("runs are missing")

    @property
    def folder(self) -> str:
        """Folder of its run files."""
        return "" if self.result is None else str(self.result.folder)


_COLUMNS: Final = (
    Column[QueuedEnd]("campaign", tr("Campaign"), lambda each: each.name, CellKind.LABEL),
    Column[QueuedEnd]("runs", tr("Runs done"), lambda each: each.runs),
    Column[QueuedEnd]("failed", titled(tr("failed")), lambda each: each.failed),
    Column[QueuedEnd]("end", tr("Outcome"), lambda each: each.end, CellKind.WORDS),
    Column[QueuedEnd]("folder", titled(tr("folder")), lambda each: each.folder, CellKind.WORDS),
)


def agree_to_all(sources: Sequence[CampaignSource], ask: Ask) -> Ask:
    """Read all campaigns and ask about each; return an `Ask` that accepts exactly these answers later.

    Args:
        sources: all of them.
        ask: asks the user.

    Raises:
        CampaignError: one cannot be read, or is invalid; none was started.
        RefusedError: the user did not agree to one.
    """
    agreed: list[tuple[Concern, ...]] = []

    def remember(concerns: tuple[Concern, ...]) -> None:
        ask(concerns)
        agreed.append(concerns)

    for source in sources:
        check_trust(source.read(), remember, is_trusted=is_trusted)

    def again(concerns: tuple[Concern, ...]) -> None:
        if concerns not in agreed:  # the file or a script has changed since
            ask(concerns)

    return again


def show_queue(ends: Sequence[QueuedEnd], console: Console) -> None:
    """Print how each of several campaigns ended."""
    console.print()
    print_line(console, tr("All campaigns"), style="bold")
    print_table(console, _COLUMNS, ends)


def worst_status(ends: Sequence[QueuedEnd]) -> int:
    """Return the highest exit status; campaigns that did not get their turn have none."""
    return max((int(each.error.exit_status if each.error else each.status) for each in ends), default=0)


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""Constants of glibc's malloc.h, which are part of its interface; see mallopt(3)."""

_LARGEST_IN_HEAP_BYTES: Final = 16 * MIB
_KEPT_BYTES: Final = 32 * MIB


def keep_freed_memory() -> bool:
    """Keep up to 32 MiB of freed memory instead of returning it to the kernel at once.

    The recorder parses a megabyte of transaction log a second in temporary arrays. By default glibc returns
    such memory each time, and gets it back page by page: measured 600 page faults a second, 4 ms of CPU on a
    virtual machine, more than all parsing.

    Returns:
        Whether the C library supports it; another one (musl) has other rules and nothing is changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP_BYTES), (_M_TRIM_THRESHOLD, _KEPT_BYTES))
    return all(mallopt(ctypes.c_int(name), ctypes.c_int(value)) == 1 for name, value in settings)


def run_command(arguments: argparse.Namespace) -> int:
    """Measure campaigns one after the other and print their tables."""
    print_left_over(sweep_abandoned())
    keep_freed_memory()
    sources = [_source_of(arguments, name) for name in arguments.campaigns]
    trust: Ask = TrustPrompt(trusted=arguments.trust)
    if arguments.dry_run:
        return _print_plans(sources, trust)
    preferences, refusal = read_preferences()
    if refusal:
        sys.stderr.write(f"{COMMAND}: {plain(refusal)}\n")
    when_done = preferences.when_done if arguments.when_done is None else arguments.when_done
    if len(sources) == 1:
        result = _run(arguments, sources[0], trust)
        ended = [QueuedEnd(sources[0], result, status=_status_of(result))]
        _announce_end(ended, preferences, when_done)
        return worst_status(ended)
    # Errors and questions come before the first campaign: the user may be away later.
    agreed = agree_to_all(sources, trust)
    ends: list[QueuedEnd] = []
    for source in sources:
        try:
            result = _run(arguments, source, agreed)
        except CancelledError as error:
            ends.append(QueuedEnd(source, error=error))
            break
        except FootingError as error:  # this campaign only: the others are still measured
            ends.append(QueuedEnd(source, error=error))
            sys.stderr.write(f"{COMMAND}: {plain(f'{source.path}: {error.message} {error.hint}'.strip())}\n")
            continue
        ends.append(QueuedEnd(source, result, status=_status_of(result)))
        if ends[-1].status is ExitStatus.CANCELLED:
            break
    ends += [QueuedEnd(source) for source in sources[len(ends) :]]
    if arguments.progress == "auto":
        show_queue(ends, Console())
    _announce_end(ends, preferences, when_done)
    return worst_status(ends)


def _print_plans(sources: Sequence[CampaignSource], trust: Ask) -> int:
    """Print the plan of each campaign; of a started one, the plan of the whole."""
    for source in sources:
        plan_command(source.read(), trust)
    return ExitStatus.DONE


def _announce_end(ends: Sequence[QueuedEnd], preferences: Preferences, when_done: str) -> None:
    """Notify the desktop and run the command when done; not if the user, who is present, stopped it."""
    if any(each.result is not None and each.result.stopped for each in ends):
        return
    campaigns = [
        EndedCampaign(
            each.name, f"{each.runs} {each.end}".strip(), None if each.result is None else each.result.folder
        )
        for each in ends
    ]
    notify_desktop(campaigns, preferences)
    sentence = run_when_done(when_done, campaigns, worst_status(ends))
    if sentence:
        sys.stderr.write(f"{COMMAND}: {plain(sentence)}\n")


def _source_of(arguments: argparse.Namespace, name: str) -> CampaignSource:
    """Return the source named by a word of the command line: a campaign file, a recipe, a campaign's folder.

    Raises:
        UsageError: a folder without --resume, options that do not apply to a started campaign, no such
            recipe.
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
        hint = tr("`pgfooting run --resume {path!q}` resumes the campaign in this folder.")
        raise UsageError(message.format(path=path), hint=hint.format(path=path))
    for option in ("library", "disks", "quick", "server", "as", "ssh", "room"):
        if getattr(arguments, "names" if option == "as" else option):
            message = tr(
                "The campaign in {path} resumes with its original settings; --{option} works only for new "
                "campaigns."
            )
            raise UsageError(message.format(path=path, option=option))
    return CampaignSource(path)


def _run(arguments: argparse.Namespace, source: CampaignSource, trust: Ask) -> CampaignResult:
    """Measure one campaign and print its table.

    Raises:
        FootingError: it could not start.
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
    listener = Progress(sys.stdout, arguments.progress)
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
            hint = tr("Stopped. Run the same command with --resume to measure the missing runs.")
            print_line(console, hint, style="yellow")
    else:
        _print_failures(result)
    return result


def _status_of(result: CampaignResult) -> ExitStatus:
    if result.stopped:
        return ExitStatus.CANCELLED
    return ExitStatus.FAILED if result.failed else ExitStatus.DONE


def judge_files(paths: Iterable[str | None], *, baseline: str = "") -> RunComparison | None:
    """Return the comparison of the readable run files, the same as in the window and the report.

    Args:
        paths: of the run files; None for a run without one.
        baseline: configuration to compare with.

    Returns:
        None if none can be read.
    """
    found = [Path(path) for path in paths if path is not None]
    try:
        facts = with_readable(
            found, lambda some: [read_run_facts(path, whole=False) for path in some], print_left_out
        )
    except RunFileError:
        return None
    return compare_runs(facts, baseline=baseline)


def show_table(result: CampaignResult, console: Console) -> None:
    """Print a campaign's results: the table, the verdicts, what weakens them, the run files."""
    comparison = judge_files(
        (run.path for run in result.results), baseline=result.campaign.configurations[0].name
    )
    console.print()
    print_line(console, result.campaign.name, style="bold")
    if comparison is not None:
        print_result(comparison, lay_out(comparison), console)
    for reason in sorted({text for run in result.results for text in _mark_sentences(run)}):
        print_line(console, reason, style="yellow")
    console.print()
    for run in result.results:
        if run.error is not None:
            print_line(console, _failure_words(run), style="red")
        if run.path is not None:
            print_line(console, run.path)


def _print_failures(result: CampaignResult) -> None:
    """Print failures on standard error, if standard output is for programs."""
    for run in result.results:
        if run.error is not None:
            sys.stderr.write(f"{COMMAND}: {plain(_failure_words(run))}\n")


def _failure_words(run: RunResult) -> str:
    if run.error is None:
        return ""
    return f"{run.planned.configuration.name}: {run.error.message} {run.error.hint}".strip()


def _mark_sentences(run: RunResult) -> list[str]:
    """Return the marks of a run with their reasons; the warnings say how runs were disturbed."""
    return [f"{kind}: {reason}" for kind, reason in run.marks if reason and kind != DISTURBED]
