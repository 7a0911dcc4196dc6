"""`pgfooting run --dry-run`: what a campaign comes to on this machine, before anything is started."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from app.campaign_file.reader import CampaignFile
from app.campaign_file.trust import Ask, check_trust, foreign_programs
from app.cli.terminal.tables import print_line, print_sentence, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus
from app.domain.storage_plan.words import place_words
from app.domain.text import number_text, tr
from app.domain.units import format_size
from app.draft.review import plan_sentences
from app.execution.resolve import ResolvedConfiguration, resolve_campaign
from app.hosts.folders.account import server_account
from app.library.trusted_campaigns import is_trusted
from app.process.starter import CommandOutcome

_MOST_ROWS: Final = 40
"""On a terminal; a pipe gets all of them."""


def plan_command(file: CampaignFile, ask: Ask) -> int:
    """Tell what a campaign would measure, how long that takes, and what it writes; start nothing.

    Args:
        file: of the campaign.
        ask: asks a person about programs that have to be run to know what they are.
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
        more = tr("… and {count} more, which all stand in what a pipe gets.")
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
        "configuration", tr("Configuration"), lambda each: each.configuration.name, CellKind.WORDS
    ),
    Column[ResolvedConfiguration]("place", tr("Data in"), _place, CellKind.WORDS, optional=1),
    Column[ResolvedConfiguration](
        "postgresql", tr("PostgreSQL"), lambda each: each.installation.version, CellKind.LABEL, optional=2
    ),
    Column[ResolvedConfiguration]("scale", tr("Scale"), lambda each: number_text(each.scale.scale, ",")),
    Column[ResolvedConfiguration]("data", tr("Data"), lambda each: format_size(each.scale.data_bytes)),
    Column[ResolvedConfiguration](
        "clients", tr("Clients"), lambda each: str(each.configuration.workload.clients)
    ),
)
"""What is told of each configuration."""
