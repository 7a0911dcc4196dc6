"""The content of the compare page: runs with their data and facts, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.analysis.facts import RunFacts
from app.comparison.comparison import RunComparison, compare_runs
from app.comparison.factors import Dimension, find_dimensions
from app.comparison.groups import ComparedGroup
from app.comparison.overall.factor_verdicts import FactorVerdicts, judge_factors
from app.comparison.overall.fastest import fastest_sentences
from app.comparison.overall.phases import ComparedPhase, compare_phases
from app.domain.text import tr
from app.library.spreads import KnownSpread
from app.runfile.series import RunData
from ui.charts.data.plotted_run import RunTrace, named_traces


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
        dimensions: in which the configurations differ.
        factors: verdicts over the cells of a matrix.
        phases: each compared separately, if runs measured several.
        fastest: configurations that may be the fastest under each condition, as sentences.
        focus: path of the run in focus, empty for none.
        has_series: whether the series for charts over time were read; else they are, in the background.
    """

    runs: tuple[LoadedRun, ...]
    comparison: RunComparison | None = None
    dimensions: tuple[Dimension, ...] = ()
    focus: str = ""
    factors: FactorVerdicts = field(default_factory=FactorVerdicts)
    phases: tuple[ComparedPhase, ...] = ()
    fastest: tuple[str, ...] = ()
    has_series: bool = True

    @cached_property
    def traces(self) -> tuple[RunTrace, ...]:
        """The runs for charts."""
        return named_traces([(run.path, run.data, run.colour) for run in self.runs if run.data is not None])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A short name for each run, with its warning, without common words."""
        labels = {trace.run_id: trace.label for trace in self.traces}
        return tuple(labels.get(run.path, run.name) for run in self.runs)

    def group_colour(self, group: ComparedGroup) -> int:
        """Return the number of a group's colour: that of its first run."""
        return self.runs[group.runs[0].index].colour

    def with_focus(self, focus: str) -> Content:
        """Return the same content with another run in focus."""
        return replace(self, focus=focus)


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
    dimensions = find_dimensions(comparison)
    return replace(
        content,
        comparison=comparison,
        dimensions=dimensions,
        factors=judge_factors(comparison),
        phases=compare_phases(comparison),
        fastest=fastest_sentences(comparison),
    )


NOT_YET = tr("Reading the runs …")
