"""How long runs take: as those of the same configuration took so far, else as they are planned. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from app.domain.campaign.configuration import Campaign, Configuration
from app.domain.campaign.phases import measured_seconds


def benchmark_seconds(configuration: Configuration) -> float | None:
    """Return the planned length of warm-up and measurement; None where transactions decide."""
    workload = configuration.workload
    measured_s = measured_seconds(workload)
    return None if measured_s is None else float(measured_s + workload.warmup_s)


class RunLengths:
    """What runs of a campaign took so far, and what the next ones will take by that."""

    def __init__(self, campaign: Campaign, done: Iterable[tuple[str, float | None]]) -> None:
        """Take what was seen.

        Args:
            campaign: that the runs are of.
            done: configuration and seconds from begin to end of each done run; None where nobody knows.
        """
        self._configurations = {each.name: each for each in campaign.configurations}
        self._lengths: dict[str, list[float]] = {}
        for name, seconds in done:
            if seconds is not None and seconds > 0 and name in self._configurations:
                self._lengths.setdefault(name, []).append(seconds)

    def expected_seconds(self, name: str) -> float | None:
        """Return how long the next run of a configuration takes, from its preparation to its teardown.

        The mean of its done runs, which knows what its filesystem and its server cost. Before there is one:
        what is planned, and what runs of others took besides.

        Returns:
            None where nothing was seen yet, or where transactions decide and none of its runs is done.
        """
        own = self._lengths.get(name)
        if own:
            return sum(own) / len(own)
        planned_s = self.planned_seconds(name)
        return None if planned_s is None or self._besides_s is None else planned_s + self._besides_s

    def planned_seconds(self, name: str) -> float | None:
        """Return the planned length of warm-up and measurement; None where transactions decide."""
        return benchmark_seconds(self._configurations[name])

    @cached_property
    def _besides_s(self) -> float | None:
        """What a run takes besides warm-up and measuring, in the mean; None where no run tells."""
        besides = [
            max(0.0, seconds - planned_s)
            for name, lengths in self._lengths.items()
            if (planned_s := self.planned_seconds(name)) is not None
            for seconds in lengths
        ]
        return sum(besides) / len(besides) if besides else None
