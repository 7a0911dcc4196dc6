"""Represent compared runs and their configurations, with all that a comparison uses of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.analysis import stability
from app.analysis.facts import RunFacts
from app.analysis.labels import safety_warning, with_warning
from app.analysis.properties import KIND, TARGET
from app.analysis.stability import OwnInterval, RunStability, describe_disturbances, describe_shape
from app.domain.campaign.configuration import MemoryTarget
from app.domain.disturbances import DisturbanceKind
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.run_metadata import IMPORTED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

# Exclude disturbed runs if enough others are left; else give no verdict.
#
# A run counts as disturbed if it is not known whether other processes disturbed it.
#
# Disturbance is judged by the activity of other processes (`app.runfile.disturbance`), never by TPS: the
# choice then favours neither fast nor slow runs, and the error rates of a verdict on the others remain valid.


_ALL_CPUS: Final = 0.99


def is_disturbed(run: RunFacts) -> bool:
    """Whether other processes disturbed a run, according to its file."""
    return any(kind == DISTURBED for kind, _ in run.marks)


def is_weak(run: RunFacts) -> bool:
    """Whether a run was or may have been disturbed, or most of its seconds are unknown."""
    return stability.is_weak(run.marks, run.disturbances, run.shape)


def runs_to_exclude(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str]
) -> frozenset[int]:
    """Return the indices of the disturbed runs to exclude: of configurations with enough others.

    Unknown counts as disturbed.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
    """
    found: set[int] = set()
    for members in groups:
        complete = [place for place in members if not left_out[place]]
        disturbed = [place for place in complete if is_weak(runs[place])]
        if len(complete) - len(disturbed) >= RUNS_FOR_A_VERDICT:
            found.update(disturbed)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class WeakRuns:
    """Runs that other processes disturbed, or may have, among some runs.

    Attributes:
        weak: these runs.
        runs: number of all, including these.
    """

    weak: tuple[RunFacts, ...]
    runs: int


@dataclass(frozen=True, slots=True)
class OthersCpu:
    """CPU use by others that could explain a verdict.

    Attributes:
        percents: mean during each group, in percent, in the order of `could_be_others`.
        limit: of the ratio of speeds that it could have crossed.
    """

    percents: tuple[float, ...]
    limit: float


def without_verdict(comparison: Comparison) -> Comparison:
    """Return a comparison of disturbed runs: only indicative, regardless of its interval."""
    if comparison.verdict in {Verdict.INCONCLUSIVE, Verdict.IMPOSSIBLE}:
        return comparison
    return replace(
        comparison,
        verdict=Verdict.INDICATIVE,
        interval=None,
        narrow=None,
        p_value=None,
        equivalent=False,
        more_runs=None,
    )


def what_others_took(groups: Sequence[Sequence[RunFacts]], found: Comparison) -> OthersCpu | None:
    """Return CPU use by others that could explain a verdict; None if it could not.

    Args:
        groups: as in `could_be_others`.
        found: the verdict: a difference, or no relevant difference.
    """
    intervals = [(found.interval, 1.0)] if found.verdict in {Verdict.LOWER, Verdict.HIGHER} else []
    if found.equivalent:
        intervals += [(found.narrow, 1 + found.effect), (found.narrow, 1 / (1 + found.effect))]
    reservations = (could_be_others(groups, each, limit) for each, limit in intervals if each is not None)
    return next(filter(None, reservations), None)


def could_be_others(
    groups: Sequence[Sequence[RunFacts]], interval: Interval, limit: float = 1.0
) -> OthersCpu | None:
    """Return the CPU use by others if only that may keep a ratio from a limit; else None.

    Below the threshold of a disturbance others may still use more CPU during one configuration than during
    the other. A server that needs all CPUs loses at most the share of its speed that others take.

    Args:
        groups: included runs of the first configuration and of the second; between campaigns also of the
            reference in the first one's campaign and in the second's.
        interval: of the ratio of their speeds, second to first; on one side of the limit.
        limit: of that ratio.
    """
    means = []
    for runs in groups:
        shares = [run.disturbances.amount(DisturbanceKind.OTHERS_CPU) for run in runs]
        known = [share / 100 for share in shares if share is not None]
        if not known or len(known) < len(shares):
            return None
        means.append(min(sum(known) / len(known), _ALL_CPUS))
    left = [1 - mean for mean in means]
    taken = left[1] / left[0]  # the ratio that this alone would cause
    if len(left) > 2:
        taken *= left[2] / left[3]
    without = interval.low / taken, interval.high / taken
    if not (interval.high < limit <= without[1] or without[0] <= limit < interval.low):
        return None
    return OthersCpu(tuple(100 * mean for mean in means), limit)


def measured_again(
    runs: Sequence[RunFacts], groups: Sequence[Sequence[int]], left_out: Sequence[str]
) -> Mapping[int, int]:
    """Return the indices of excluded attempts, each with the index of the included attempt.

    The first attempt at a repeat that is known to be undisturbed counts; if none is, the first attempt.

    Args:
        runs: the compared ones.
        groups: indices of the runs of each configuration.
        left_out: why each run is excluded anyway; empty if it is not.
    """
    found: dict[int, int] = {}
    for members in groups:
        attempts: dict[int, list[int]] = {}
        for place in members:
            if not left_out[place]:
                attempts.setdefault(runs[place].repeat, []).append(place)
        for places in attempts.values():
            if all(runs[place].attempt <= 1 for place in places):  # other sources may number differently
                continue
            ordered = sorted(places, key=lambda place: runs[place].attempt)
            quiet = [place for place in ordered if not is_weak(runs[place])]
            counts = quiet[0] if quiet else ordered[0]
            found.update({place: counts for place in ordered if place != counts})
    return found


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
