"""`pgfooting unfinished`: which campaigns were interrupted and wait, for people, programs and the desktop."""

from __future__ import annotations

import argparse

from rich.console import Console

from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_line, print_sentence
from app.dbus.desktop.notifications import notify
from app.domain.errors import ExitStatus
from app.domain.quoting.shell import shell_word
from app.domain.text import CALLED, tr
from app.execution.recovery import sweep_abandoned
from app.execution.resume.unfinished import UnfinishedCampaign, interrupted_campaigns
from app.hosts.login_notice import tell_at_login, tell_no_more
from app.library.entries import default_library


def unfinished_command(arguments: argparse.Namespace) -> int:
    """List interrupted campaigns, or let the desktop say that one waits; nothing goes on by itself.

    Raises:
        UsageError: that it is said at login cannot be written, or taken back.
    """
    if arguments.at_login is not None:
        _switch(on=arguments.at_login == "on")
        return ExitStatus.DONE
    sweep_abandoned()
    library = arguments.library if arguments.library is not None else default_library()
    found = interrupted_campaigns(library)
    if arguments.notify:
        tell_waiting(found)
        return ExitStatus.DONE
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


def _switch(*, on: bool) -> None:
    """Let the desktop say it at login, or not any more."""
    if on:
        sentence = tr(
            "From the next login on the desktop says when a campaign waits ({path}); it starts none."
        )
        path = tell_at_login()
    else:
        sentence = tr("The desktop says nothing at login any more ({path} is gone).")
        path = tell_no_more()
    print_sentence(Console(), sentence.format(path=path))


def tell_waiting(found: tuple[UnfinishedCampaign, ...]) -> bool:
    """Let the desktop say that campaigns wait; return whether it has taken it. Nothing where none waits."""
    if not found:
        return False
    more = len(found) - 1
    words = [found[0].sentence]
    if more:
        words.append(tr("{count} more wait.").format(count=more))
    words.append(tr("The window of pgFooting offers to go on."))
    return notify(tr("A campaign waits"), " ".join(words))


def _described(each: UnfinishedCampaign) -> dict[str, str | int]:
    return {"name": each.name, "folder": str(each.folder), "done": each.done, "runs": each.total}
