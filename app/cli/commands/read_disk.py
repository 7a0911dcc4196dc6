"""`pgfooting disks --read SERIAL`: root reads every byte of one disk, with progress, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from app.cli.terminal.plain_text import plain
from app.cli.terminal.terminal_agent import terminal_agent
from app.domain.disk import Disk
from app.domain.errors import UsageError
from app.domain.inspection_report import ReadProgress
from app.domain.text import tr
from app.draft.root_answers import read_disk

_LINE_S: Final = 1.0


def read_whole(disks: Sequence[Disk], serial: str) -> Disk:
    """Have root read a disk; return it with root's answer.

    Args:
        disks: of this machine.
        serial: serial number or WWN of the disk.

    Raises:
        UsageError: no disk or several have it.
        FootingError: root cannot be asked.
    """
    disk = _named(disks, serial)
    with terminal_agent(), _telling(disk) as told:
        answer = read_disk(disk, told)
    return replace(disk, answer=answer.answer, refusals=answer.refusals, questions=(), looked=answer.looked)


@contextmanager
def _telling(disk: Disk) -> Iterator[Callable[[ReadProgress], None]]:
    """Give what shows how far it is: a bar on a terminal, else a line every second, for who starts us."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(plain(disk.name), total=1.0, words=tr("root is asked; Ctrl-C ends it"))
        yield lambda now: bars.update(task, completed=now.fraction, words=now.sentence())


@dataclass(slots=True)
class _Lines:
    told_s: float = -_LINE_S

    def __call__(self, now: ReadProgress) -> None:
        if now.seconds - self.told_s >= _LINE_S:
            self.told_s = now.seconds
            sys.stderr.write(f"{now.sentence()}\n")
            sys.stderr.flush()


def _named(disks: Sequence[Disk], serial: str) -> Disk:
    found = [
        disk for disk in disks if serial in {disk.identity.serial, disk.identity.wwn, disk.identity.key()}
    ]
    if len(found) == 1:
        return found[0]
    if found:
        message = tr("Several disks here have the serial number {serial}; name the WWN.")
    else:
        message = tr("No disk here has the serial number or WWN {serial}.")
    raise UsageError(message.format(serial=plain(serial)), hint=tr("“pgfooting disks” lists them."))
