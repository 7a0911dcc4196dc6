"""Runs with known truth: what the statistics must find again. Seeded, no files, no clock.

A run's seconds are a level, times a shape (checkpoint saw-tooth, drift), times an effect of the run
(lognormal, with a given variation from run to run), plus an AR(1) noise of the seconds. Runs of one campaign
are interleaved: what drifts on the machine shifts neighbours alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.analysis.stability import RunStability
from app.statistics.verdict import Samples

Array = NDArray[np.float64]
LEVEL = 5000.0


@dataclass(frozen=True, slots=True)
class Truth:
    """What is simulated.

    Attributes:
        between: variation from run to run, as a share.
        within: variation of the seconds of a run, as a share.
        phi: likeness of neighbouring seconds.
        seconds: of a run.
        runs: of each configuration.
        ratio: of the second configuration by the first.
        warm_up_s: seconds in which a run rises from a third.
        checkpoint_s: between checkpoints, 0 for none; each costs 30 % that recovers over 15 s.
        drift: change over a run, as a share.
        campaign_drift: change of the machine over the whole campaign, as a share.
    """

    between: float = 0.04
    within: float = 0.1
    phi: float = 0.6
    seconds: int = 200
    runs: int = 5
    ratio: float = 1.0
    warm_up_s: int = 0
    checkpoint_s: int = 0
    drift: float = 0.0
    campaign_drift: float = 0.0

    def shape(self) -> Array:
        """Return what every run's mean would be at each second without any chance."""
        t_s = np.arange(self.seconds, dtype=np.float64)
        shape = LEVEL * (1 + self.drift * (t_s / self.seconds - 0.5))
        if self.warm_up_s:
            shape *= np.minimum(1.0, 1 / 3 + 2 / 3 * t_s / self.warm_up_s)
        if self.checkpoint_s:
            shape *= 1 - 0.3 * np.exp(-(t_s % self.checkpoint_s) / 15)
        return shape

    def checkpoints(self) -> tuple[tuple[float, float], ...]:
        """Return when they were written."""
        if not self.checkpoint_s:
            return ()
        starts = range(self.checkpoint_s, self.seconds, self.checkpoint_s)
        return tuple((float(start), min(start + 30.0, float(self.seconds))) for start in starts)


def autocorrelated(random: np.random.Generator, rows: int, truth: Truth) -> Array:
    """Return AR(1) noise of variance 1, a row a run."""
    return autocorrelated_noise(random, rows, truth.seconds, truth.phi)


def autocorrelated_noise(random: np.random.Generator, rows: int, seconds: int, phi: float) -> Array:
    """Return AR(1) noise of variance 1.

    Args:
        random: where chance comes from.
        rows: series.
        seconds: of each.
        phi: likeness of neighbours.
    """
    noise = random.standard_normal((rows, seconds))
    values = np.empty_like(noise)
    values[:, 0] = noise[:, 0]
    scale = np.sqrt(1 - phi**2)
    for second in range(1, seconds):
        values[:, second] = phi * values[:, second - 1] + scale * noise[:, second]
    return values


@dataclass(frozen=True, slots=True)
class SimulatedCampaign:
    """One campaign: what is compared, and what is true of it after the cut.

    Attributes:
        samples: run means as the program takes them.
        mean: true mean of the first configuration over what was kept.
        shapes: of all runs, those of the first configuration first.
    """

    samples: Samples
    mean: float
    shapes: tuple[RunStability, ...]


def campaigns(truth: Truth, count: int, seed: int, *, paired: bool) -> Iterator[SimulatedCampaign]:
    """Yield simulated campaigns of two configurations."""
    random = np.random.default_rng(seed)
    ends_s = np.arange(1.0, truth.seconds + 1)
    sigma = np.sqrt(np.log1p(truth.between**2))
    for _ in range(count):
        effects = np.exp(sigma * random.standard_normal(2 * truth.runs))
        # ABBA BAAB ...: the machine's drift shifts both halves alike.
        slots = np.arange(2 * truth.runs).reshape(truth.runs, 2)
        slots[1::2] = slots[1::2, ::-1]
        place = np.concatenate((slots[:, 0], slots[:, 1])) / max(1, 2 * truth.runs - 1) - 0.5
        levels = effects * (1 + truth.campaign_drift * place)
        levels[truth.runs :] *= truth.ratio
        noise = autocorrelated(random, 2 * truth.runs, truth)
        seconds = np.maximum(0.0, levels[:, None] * truth.shape() * (1 + truth.within * noise))
        shapes = tuple(
            RunStability(ends_s, row, float(truth.seconds), truth.checkpoints()) for row in seconds
        )
        means = [shape.mean or 0.0 for shape in shapes]
        yield SimulatedCampaign(
            Samples(tuple(means[: truth.runs]), tuple(means[truth.runs :]), paired),
            float(truth.shape().mean()),
            shapes,
        )
