"""The command “Compare” of the window."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ui.compare.page import ComparePage
from ui.window.commands.tools import ToolContext


def open_compare(context: ToolContext) -> None:
    """Show the ticked runs on the compare page, which is made once."""
    page = context.page
    if not isinstance(page, ComparePage):
        page = ComparePage(context.theme)
        page.told.connect(context.tell)
    page.go_back = partial(context.open_files, [Path(run.entry.path) for run in context.runs])
    context.show_page(page)
    page.show_runs(context.runs, context.colours, context.focus)
