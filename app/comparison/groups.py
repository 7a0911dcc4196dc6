"""Represent compared runs and their configurations, with all that a comparison uses of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.analysis.facts import RunFacts
from app.analysis.labels import safety_warning, with_warning
from app.analysis.properties import KIND, TARGET
from app.analysis.sentences import describe_disturbances, describe_shape
from app.analysis.stability import OwnInterval, RunStability
from app.comparison.disturbed_runs import is_weak
from app.domain.campaign.configuration import MemoryTarget
from app.runfile.metadata.run_metadata import IMPORTED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run in a comparison.

    Attributes:
        facts: from its file.
        name: unique among the compared runs, in one line.
        index: its position among all runs of the comparison.
        tps: mean TPS that is compared; None if the run is excluded.
        left_out: why it is excluded, a clause; empty if it is not.
        cut_s: seconds excluded at its start.
        figures: as `RunFacts.summary`, over the compared seconds; over all seconds if the run is excluded.
        shape: stability of those seconds.
        is_excluded: it is excluded because other processes disturbed it.
    """

    facts: RunFacts
    name: str
    index: int
    tps: float | None
    left_out: str = ""
    cut_s: float = 0.0
    figures: Mapping[str, float | None] = field(default_factory=dict, repr=False)
    shape: RunStability | None = field(default=None, repr=False, compare=False)
    is_excluded: bool = False

    @property
    def own_interval(self) -> OwnInterval | None:
        """The confidence interval of the compared seconds alone, as `RunStability.own_interval`."""
        return None if self.shape is None else self.shape.own_interval()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on its compared seconds, its bottleneck, and disturbances."""
        sentence = describe_shape(self.shape, self.figures.get("tps"), self.cut_s)
        more = (
            self.facts.bottleneck.sentence if sentence else "",
            describe_disturbances(self.facts.disturbances),
        )
        return (*sentence, *filter(None, more))

    def value(self, figure: str) -> float | None:
        """Return a figure; None if it is unknown or the run is excluded."""
        value = self.tps if figure == "tps" else self.figures.get(figure)
        is_known = self.tps is not None and value is not None and math.isfinite(value) and value >= 0
        return value if is_known else None


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """A configuration of one campaign with its repeats.

    Attributes:
        name: unique among the groups, in one line.
        campaign: the same for groups with interleaved runs.
        runs: in the order given; at least one if it is compared.
        marks: kinds of the marks of its runs, such as "unsafe" or "client-bound", ascending.
        contest: the same for configurations that competed in a sequential campaign; else empty.
        left_out: when and why the campaign dropped it early, a clause; empty if it did not.
        short: its name below the heading of its condition; empty if it is the same.
    """

    name: str
    campaign: str
    runs: tuple[ComparedRun, ...]
    marks: tuple[str, ...] = ()
    contest: str = ""
    left_out: str = ""
    short: str = ""

    @property
    def facts(self) -> RunFacts:
        """Content of the file of its first run."""
        return self.runs[0].facts

    @property
    def included_runs(self) -> tuple[ComparedRun, ...]:
        """Its included runs."""
        return tuple(run for run in self.runs if run.tps is not None)

    @property
    def disturbed(self) -> tuple[RunFacts, ...]:
        """Its included runs that other processes disturbed, or may have."""
        return tuple(run.facts for run in self.included_runs if is_weak(run.facts))

    @property
    def origin(self) -> str:
        """A key common to groups of one campaign, see `campaign_of`."""
        return campaign_of(self.facts, self.campaign)

    @property
    def unsafe(self) -> bool:
        """Whether its options trade safety for speed."""
        return UNSAFE in self.marks

    @property
    def not_durable(self) -> bool:
        """Whether it may lose acknowledged commits; it is listed separately and not ranked."""
        return NOT_DURABLE in self.marks

    @property
    def in_memory(self) -> bool:
        """Whether its data are in memory."""
        return all(kind_of(run.facts) == MemoryTarget.kind for run in self.runs)

    @property
    def name_in_sentences(self) -> str:
        """The group's name in sentences about its condition."""
        return self.short or self.name

    @property
    def warning(self) -> str:
        """The warning shown with its name everywhere; empty for a safe configuration."""
        return safety_warning(unsafe=self.unsafe, not_durable=self.not_durable)

    @property
    def label(self) -> str:
        """The group's name, with its warning if it is not durable, for places that show no mark."""
        return with_warning(self.name, self.warning) if self.not_durable else self.name

    def values(self, figure: str) -> list[float]:
        """Return a figure of each included run that has it."""
        return [value for run in self.runs if (value := run.value(figure)) is not None]

    def by_repeat(self, figure: str = "tps") -> dict[int, float]:
        """Return a figure of the included runs by repeat; runs of the same repeat in two groups are a pair.

        Files from elsewhere may repeat a number; such runs are not pairs, and have negative keys.
        """
        known = [(run, value) for run in self.runs if (value := run.value(figure)) is not None]
        repeats = {run.facts.repeat: value for run, value in known}
        return repeats if len(repeats) == len(known) else {-1 - run.index: value for run, value in known}

    def with_runs(self, runs: Sequence[ComparedRun]) -> ComparedGroup:
        """Return the same configuration with its runs taken from another selection of all runs."""
        return replace(self, runs=tuple(runs[run.index] for run in self.runs))


def kind_of(run: RunFacts) -> str:
    """Return the kind of a run's target; empty if unknown."""
    return next((item.value for item in run.properties if item.key == (TARGET, KIND)), "")


def campaign_of(run: RunFacts, campaign: str) -> str:
    """Return a key common to groups of one campaign; imported groups are keyed by their source folder.

    Imported runs are not pairs, because their order is unknown; but they share any change from one folder of
    results to the next.

    Args:
        run: of the group.
        campaign: of the group.
    """
    if run.campaign and any(kind == IMPORTED for kind, _ in run.marks):
        return f"{IMPORTED}: {run.campaign}"
    return campaign
