"""`pgfooting unfinished`: the interrupted campaigns, for users and programs."""

from __future__ import annotations

import argparse

from rich.console import Console

from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_line, print_sentence
from app.domain.errors import ExitStatus
from app.domain.quoting import shell_word
from app.domain.text import CALLED, tr
from app.execution.recovery import sweep_abandoned
from app.execution.resume.begun import UnfinishedCampaign, interrupted_campaigns
from app.library.entries import default_library


def unfinished_command(arguments: argparse.Namespace) -> int:
    """List interrupted campaigns; none continues automatically."""
    sweep_abandoned()
    library = arguments.library if arguments.library is not None else default_library()
    found = interrupted_campaigns(library)
    if arguments.json:
        print_json([_described(each) for each in found])
        return ExitStatus.DONE
    console = Console()
    if not found:
        print_line(console, tr("No campaign in {library} was interrupted.").format(library=library))
    for each in found:
        print_sentence(console, each.sentence)
        print_line(console, f"  {CALLED} run --resume {shell_word(str(each.folder))}")
    return ExitStatus.DONE


def _described(each: UnfinishedCampaign) -> dict[str, str | int]:
    return {"name": each.name, "folder": str(each.folder), "done": each.done, "runs": each.total}
