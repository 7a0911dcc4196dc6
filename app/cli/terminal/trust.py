"""Asking on the terminal whether a campaign file may do what it wants to do beyond measuring, or ``--trust``.

Everything goes to standard error, so that standard output stays what ``--progress`` says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from app.campaign_file.trust import Concern
from app.cli.terminal.plain_text import plain
from app.cli.terminal.terminal_agent import is_terminal
from app.domain.errors import CancelledError, RefusedError
from app.domain.text import tr

_YES: Final = "yes"
_MOST_LINES: Final = 200
"""Of one text; a longer one is named, and is to be read in its file."""

_LONGEST_LINE: Final = 2000


@dataclass(frozen=True, slots=True)
class TrustPrompt:
    """Shows what a campaign may do, and asks where the command line has not agreed.

    Attributes:
        trusted: ``--trust`` was given.
        ask: shows a prompt and returns the line that was typed; None for the terminal.
        can_ask: whether there is somebody to ask.
    """

    trusted: bool = False
    ask: Callable[[str], str] | None = None
    can_ask: Callable[[], bool] = is_terminal

    def __call__(self, concerns: tuple[Concern, ...]) -> None:
        """Return where a person agreed.

        Raises:
            RefusedError: nobody agreed; nothing was started.
            CancelledError: the person has left.
        """
        _show(concerns)
        if self.trusted:
            return
        if not self.can_ask():
            message = tr("This campaign file may run programs; nobody agreed. Nothing was started.")
            hint = tr(
                "What it may do is listed above. If you trust it, add --trust; in the window, open the "
                "review again: something has changed since it was ticked."
            )
            raise RefusedError(message, hint=hint)
        try:
            typed = (self.ask or _ask_terminal)(tr("Type yes to let it do that: "))
        except EOFError as error:
            raise CancelledError(tr("Stopped. Nothing was started.")) from error
        if typed.strip().lower() != _YES:
            raise RefusedError(tr("You did not agree. Nothing was started."))


def _ask_terminal(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _show(concerns: tuple[Concern, ...]) -> None:
    console = Console(stderr=True)

    def line(text: str, style: str = "") -> None:
        console.print(plain(text), style=style, soft_wrap=True, markup=False, highlight=False)

    line(tr("This campaign file wants to do more than measure:"), "bold red")
    shown: set[str] = set()
    for concern in concerns:
        line(concern.what, "bold")
        line(tr("  in: {names}").format(names=", ".join(concern.configurations)), "dim")
        if concern.text in shown:
            line(tr("  its text stands above"))
            continue
        shown.add(concern.text)
        lines = concern.text.splitlines()
        for number, each in enumerate(lines[:_MOST_LINES], start=1):
            line(f"  {number:4}  {each[:_LONGEST_LINE]}")
            if len(each) > _LONGEST_LINE:
                more = tr(
                    "  … and {count} more characters in this line: read the whole file before you agree."
                )
                line(more.format(count=len(each) - _LONGEST_LINE), "bold red")
        if len(lines) > _MOST_LINES:
            more = tr("  … and {count} more lines: read the whole file before you agree.")
            line(more.format(count=len(lines) - _MOST_LINES), "bold red")
