"""How far the looking at disks is, on a terminal, where it takes longer than a moment: disks that rotate."""

from __future__ import annotations

import threading
import time
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from app.cli.terminal.plain_text import plain
from app.domain.text import tr

_MOMENT_S: Final = 0.7


class InspectionProgress:
    """Told by several threads how many places of each disk were looked at; a bar each, gone in the end."""

    def __init__(self, console: Console | None = None, moment_s: float = _MOMENT_S) -> None:
        console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()
        self._shown_s = time.monotonic() + moment_s
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._bars.stop()

    def __call__(self, name: str, done: int, whole: int) -> None:
        """Show how far a disk is."""
        if time.monotonic() < self._shown_s:
            return
        with self._lock:
            if not self._is_shown:
                self._is_shown = True
                self._bars.start()
            if name not in self._tasks:
                words = tr("places of {name}").format(name=plain(name))
                self._tasks[name] = self._bars.add_task(words, total=whole)
            self._bars.update(self._tasks[name], completed=done)
