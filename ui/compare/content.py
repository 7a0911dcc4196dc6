"""The content of the compare page: runs with their data and facts, and their comparison."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, safety_warning, with_warning
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.factors import Dimension, find_dimensions
from app.comparison.groups import ComparedGroup, ComparedRun
from app.comparison.label_shortening import RunIdentity, name_runs
from app.comparison.matrix import Matrix, lay_out
from app.comparison.overall.answer import Answer, find_answer
from app.comparison.overall.phases import ComparedPhase, compare_phases
from app.domain.text import tr
from app.library.spreads import KnownSpread
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.series import RunData
from app.statistics.verdict import run_interval
from ui.charts.data.registry import RunTrace, named_traces
from ui.theme import SERIES

NOT_YET: Final = tr("Reading the runs …")
NO_RUN: Final = tr("No run is shown.")
_SHOWN_FIRST: Final = tr("Shown first: {condition}.")
MOST_SHOWN: Final = 12
"""Most lines that can be told apart."""


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """One run.

    Attributes:
        path: of its file; identifies the run.
        colour: number of its configuration and colour, the same as in the library.
        name: as listed, in one line.
        data: its series; None if unreadable.
        facts: from its file; None until read.
        problem: why it cannot be shown; empty if it can.
    """

    path: str
    colour: int
    name: str
    data: RunData | None = field(default=None, repr=False)
    facts: RunFacts | None = field(default=None, repr=False)
    problem: str = ""


@dataclass(frozen=True)
class Content:
    """All content at one moment.

    Attributes:
        runs: the readable ones, in the order of ticking.
        comparison: None until the facts are read.
        matrix: tables of the comparison; None without two crossed factors.
        answer: with its reservations and verdicts.
        dimensions: in which the configurations differ.
        phases: each compared separately, if runs measured several.
        focus: path of the run in focus, empty for none.
        filters: properties that limit the runs, in words; empty for all runs.
    """

    runs: tuple[LoadedRun, ...]
    comparison: RunComparison | None = None
    matrix: Matrix | None = None
    answer: Answer = field(default_factory=lambda: Answer(()))
    dimensions: tuple[Dimension, ...] = ()
    focus: str = ""
    phases: tuple[ComparedPhase, ...] = ()
    filters: str = ""

    @property
    def has_series(self) -> bool:
        """Whether the series for charts over time were read."""
        return all(run.data is not None for run in self.runs)

    @property
    def described(self) -> tuple[ComparedRun, ...]:
        """The runs that are described in sentences: a few, and the one in focus."""
        runs = () if self.comparison is None else self.comparison.runs
        return (*runs[:MOST_SHOWN], *(run for run in runs[MOST_SHOWN:] if run.facts.path == self.focus))

    @property
    def why_empty(self) -> str:
        """Why there is no comparison to show yet; empty if there is."""
        if self.comparison is None:
            return NOT_YET
        if self.runs:
            return ""
        return tr("No run matches all: {filters}.").format(filters=self.filters) if self.filters else NO_RUN

    @cached_property
    def traces(self) -> tuple[RunTrace, ...]:
        """The runs for charts."""
        return self._traces_of(range(len(self.runs)))

    @cached_property
    def first_traces(self) -> tuple[tuple[RunTrace, ...], str]:
        """The runs for charts beside each other, of many the first condition, and a sentence about that."""
        parts = () if self.comparison is None else self.comparison.parts
        if len(parts) < 2 or not self.left_out[0]:
            return self.traces, ""
        first = sorted(run.index for group in parts[0].groups for run in group.runs)
        return self._traces_of(first), _SHOWN_FIRST.format(condition=parts[0].condition)

    def _traces_of(self, places: Iterable[int]) -> tuple[RunTrace, ...]:
        found = [(self.runs[place], self.colours[place]) for place in places]
        return named_traces([(run.path, run.data, colour) for run, colour in found if run.data is not None])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A short name for each run, with its warning, without common words."""
        found = [run.facts for run in self.runs if run.facts is not None]
        if len(found) < len(self.runs):
            return tuple(run.name for run in self.runs)
        named = name_runs([_identity_of(facts) for facts in found])
        return tuple(with_warning(name.run, name.warning) for name in named)

    @cached_property
    def colours(self) -> tuple[int, ...]:
        """The number of each run's colour; with a matrix that of its column, marked for row and condition."""
        found = [run.colour for run in self.runs]
        if self.matrix is not None and self.comparison is not None:
            rows = list(dict.fromkeys(row for block in self.matrix.blocks for row in block.rows))
            layers = 1 + (len(self.matrix.levels) - 1) // SERIES
            for number, block in enumerate(self.matrix.blocks):
                for (row, column), cell in block.cells.items():
                    layer, colour = divmod(self.matrix.levels.index(column), SERIES)
                    mark = (number * len(rows) + rows.index(row)) * layers + layer
                    for run in (run for each in cell.rows for run in each.group.runs):
                        found[run.index] = colour + SERIES * mark
        return tuple(found)

    @cached_property
    def left_out(self) -> tuple[Collection[str], str]:
        """Paths of the runs that charts hide at first, and which they show, a sentence; none of a few.

        Of many configurations those of the first condition are shown, of more than `MOST_SHOWN` the highest
        and the lowest mean and those that stalled most; and the run in focus.
        """
        if self.comparison is None or len(self.comparison.groups) <= MOST_SHOWN:
            return (), ""
        part = self.comparison.parts[0]
        shown, why = list(part.groups), _SHOWN_FIRST.format(condition=part.condition)
        if len(shown) > MOST_SHOWN:
            why = tr("Shown first: the highest mean, the lowest, and the longest stalls.")
            by_mean = sorted(shown, key=lambda group: run_interval(tuple(group.values("tps"))).mean or 0.0)
            stalled = sorted(by_mean[1:-1], key=lambda group: -_stalled_s(group))
            shown = [by_mean[-1], by_mean[0], *filter(_stalled_s, stalled)][:MOST_SHOWN]
        kept = {self.focus, *(self.runs[run.index].path for group in shown for run in group.runs)}
        return {run.path for run in self.runs} - kept, why

    def group_colour(self, group: ComparedGroup) -> int:
        """Return the number of a group's colour: that of its column in the matrix, else of its first run."""
        return self._columns.get(group.name, self.colours[group.runs[0].index])

    @cached_property
    def _columns(self) -> dict[str, int]:
        if self.matrix is None:
            return {}
        return {
            each.group.name: self.matrix.levels.index(column)
            for block in self.matrix.blocks
            for (_, column), cell in block.cells.items()
            for each in cell.rows
        }

    def paths_of(self, condition: str, place: tuple[str, str]) -> tuple[str, ...]:
        """Return the paths of the runs of a cell of the matrix."""
        blocks = () if self.matrix is None else self.matrix.blocks
        cells = (each.cells[place] for each in blocks if each.part.condition == condition)
        rows = (row for cell in cells for row in cell.rows)
        return tuple(self.runs[run.index].path for row in rows for run in row.group.runs)

    def with_focus(self, focus: str) -> Content:
        """Return the same content with another run in focus."""
        return replace(self, focus=focus)


def _stalled_s(group: ComparedGroup) -> float:
    return max(group.values("stall_s"), default=0.0)


def _identity_of(run: RunFacts) -> RunIdentity:
    marks = {kind for kind, _ in run.marks}
    return RunIdentity(
        one_line(run.name),
        one_line(run.configuration),
        one_line(run.campaign),
        run.campaign_key,
        safety_warning(unsafe=UNSAFE in marks, not_durable=NOT_DURABLE in marks),
    )


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's choices for the comparison.

    Attributes:
        effect: smallest difference of interest, a share.
        cut_s: seconds excluded from the start of every run.
        baseline: name of the group to compare with; empty for the first.
    """

    effect: float = 0.02
    cut_s: float = 0.0
    baseline: str = ""


def compare_content(
    content: Content, choices: Choices, spreads: Mapping[str, KnownSpread] | None = None
) -> Content:
    """Return the content with its comparison; all facts must be loaded.

    Args:
        content: runs with their facts.
        choices: of the user.
        spreads: variation of the library's repeats, by kind of target.

    Raises:
        ValueError: facts are missing.
    """
    facts = [run.facts for run in content.runs if run.facts is not None]
    if len(facts) != len(content.runs):
        raise ValueError(content)
    comparison = compare_runs(
        facts,
        effect=choices.effect,
        cut_s=choices.cut_s,
        baseline=choices.baseline,
        shorten=True,
        spreads=spreads,
    )
    matrix = lay_out(comparison)
    found = replace(
        content,
        comparison=comparison,
        matrix=matrix,
        answer=find_answer(comparison, matrix),
        dimensions=find_dimensions(comparison),
        phases=compare_phases(comparison),
    )
    _ = [run.sentences for run in found.described]  # not in the GUI thread
    return found
