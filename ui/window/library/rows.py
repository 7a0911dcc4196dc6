"""The rows of the library panel: a heading for each campaign, its runs below, bad files last; no widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.domain.text import tr
from app.library.scan import ListedRun, folder_of, newest_first
from ui.widgets.formatting import moment, one_line


@dataclass(frozen=True, slots=True)
class Heading:
    """A campaign.

    Attributes:
        key: tells this row from every other.
        title: name of the campaign.
        when: its begin in words.
        paths: its runs that can be shown.
    """

    key: str
    title: str
    when: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run; `key` is the path of its file."""

    key: str
    run: ListedRun

    @property
    def readable(self) -> bool:
        """Whether it can be shown."""
        return self.run.entry.problem is None


Row = Heading | RunRow


def make_rows(runs: Sequence[ListedRun]) -> list[Row]:
    """Return the rows for runs in any order."""
    rows: list[Row] = []
    groups: dict[str, list[ListedRun]] = {}
    for run in newest_first(runs):
        bad = run.entry.problem is not None
        groups.setdefault("" if bad else folder_of(run), []).append(run)
    for folder, group in groups.items():
        rows.append(_heading(folder, group))
        rows += [RunRow(run.entry.path, run) for run in group]
    return rows


def _heading(folder: str, group: Sequence[ListedRun]) -> Heading:
    if not folder:
        return Heading("unreadable:", tr("Cannot be read"), "", ())
    names = {run.entry.campaign or "" for run in group}
    title = one_line(names.pop()) if len(names) == 1 else ""
    begun = min((run.entry.started for run in group if run.entry.started is not None), default=None)
    paths = tuple(run.entry.path for run in group)
    return Heading(f"campaign:{folder}", title or Path(folder).name, moment(begun), paths)
