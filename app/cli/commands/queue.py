"""Several campaigns one after the other: agreed to before the first, and told in one table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from app.campaign_file.reader import CampaignFile, read_campaign_file
from app.campaign_file.trust import Ask, Concern, check_trust
from app.cli.terminal.tables import print_line, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, FootingError
from app.domain.text import tr
from app.execution.campaign import CampaignResult
from app.library.entries import CAMPAIGN_NAME
from app.library.trusted_campaigns import is_trusted
from app.runfile.writer import RunState


@dataclass(frozen=True, slots=True)
class CampaignSource:
    """What is measured.

    Attributes:
        path: of a campaign file, or folder of a campaign that was begun; of a recipe its name.
        given: what a recipe becomes on this machine; None for what stands in the file.
    """

    path: Path
    given: CampaignFile | None = None

    def read(self) -> CampaignFile:
        """Return the campaign.

        Raises:
            CampaignError: it cannot be read, or something in it is wrong.
        """
        path = self.path / CAMPAIGN_NAME if self.path.is_dir() else self.path
        return self.given or read_campaign_file(path)


@dataclass(frozen=True, slots=True)
class QueuedEnd:
    """How one of several campaigns ended.

    Attributes:
        source: what was to be measured.
        result: None where it did not begin.
        error: why it could not begin; None where it began, or its turn did not come.
        status: its exit status, where it began.
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
        """How many of its runs are done."""
        if self.result is None:
            return ""
        done = {each.planned.number for each in self.result.results if each.state is RunState.DONE}
        return tr("{done} of {total}").format(done=len(done), total=self.result.campaign.total_runs)

    @property
    def failed(self) -> str:
        """How many runs failed; empty for none."""
        count = 0
        if self.result is not None:
            count = sum(each.state is RunState.FAILED for each in self.result.results)
        return str(count) if count else ""

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.error is not None:
            return tr("did not begin: {reason}").format(reason=self.error.message)
        if self.result is None:
            return tr("its turn did not come")
        if self.result.is_complete:
            return tr("all runs are done")
        return tr("stopped") if self.result.stopped else tr("runs are missing")

    @property
    def folder(self) -> str:
        """Where its run files are."""
        return "" if self.result is None else str(self.result.folder)


_COLUMNS: Final = (
    Column[QueuedEnd]("campaign", tr("campaign"), lambda each: each.name, CellKind.LABEL),
    Column[QueuedEnd]("runs", tr("runs done"), lambda each: each.runs),
    Column[QueuedEnd]("failed", tr("failed"), lambda each: each.failed),
    Column[QueuedEnd]("end", tr("end"), lambda each: each.end, CellKind.WORDS),
    Column[QueuedEnd]("folder", tr("folder"), lambda each: each.folder, CellKind.WORDS),
)


def agree_to_all(sources: Sequence[CampaignSource], ask: Ask) -> Ask:
    """Read all campaigns and ask what has to be asked of each; return who agrees to just that later.

    Args:
        sources: all of them.
        ask: asks a person.

    Raises:
        CampaignError: one cannot be read, or something in it is wrong; none was begun.
        RefusedError: nobody agreed to one.
    """
    agreed: list[tuple[Concern, ...]] = []

    def remember(concerns: tuple[Concern, ...]) -> None:
        ask(concerns)
        agreed.append(concerns)

    for source in sources:
        check_trust(source.read(), remember, is_trusted=is_trusted)

    def again(concerns: tuple[Concern, ...]) -> None:
        if concerns not in agreed:  # the file, or a script, was changed meanwhile
            ask(concerns)

    return again


def show_queue(ends: Sequence[QueuedEnd], console: Console) -> None:
    """Print what became of each of several campaigns."""
    console.print()
    print_line(console, tr("All campaigns"), style="bold")
    print_table(console, _COLUMNS, ends)


def worst_status(ends: Sequence[QueuedEnd]) -> int:
    """Return the exit status of the worst: the highest one; campaigns whose turn did not come have none."""
    return max((int(each.error.exit_status if each.error else each.status) for each in ends), default=0)
