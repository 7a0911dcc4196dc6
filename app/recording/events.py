"""Events of a runner for listeners in the same process, without formatting."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.campaign.configuration import PlannedRun
from app.domain.errors import FootingError
from app.domain.run import Phase, RunState


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The newest second of a phase with pgbench.

    Attributes:
        phase: warm-up or measure.
        elapsed_s: since the start of the phase.
        tps: transactions per second as pgbench reports them.
        latency_mean_ms: as pgbench reports it.
        p99_ms: from the transaction log, of the newest complete second; None if not yet known.
    """

    phase: Phase
    elapsed_s: float
    tps: float
    latency_mean_ms: float
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        planned: the run in the plan.
        state: done, stopped or failed.
        path: of the run file; None if it was discarded or never created.
        summary: figures, see app/runfile/summary.py.
        marks: (kind, reason) labels.
        error: why it failed.
        measured: whether the phase `measure` was reached.
        length_s: from start to end, seconds; None if unknown.
        is_weak: disturbed, or possibly so (`app.analysis.stability.is_weak`): it does not count in decisions.
    """

    planned: PlannedRun
    state: RunState
    path: str | None
    summary: dict[str, float | None]
    marks: tuple[tuple[str, str], ...] = ()
    error: FootingError | None = None
    measured: bool = False
    length_s: float | None = None
    is_weak: bool = False


class CampaignListener:
    """Watches a campaign and ignores everything; called in the runner's main thread, so it must be quick."""

    def campaign_started(self, folder: str, total: int) -> None:
        """The campaign folder exists; `total` runs are planned."""

    def run_started(self, planned: PlannedRun, path: str) -> None:
        """A run starts; its file grows at `path`."""

    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        """A phase starts; `planned_s` is its length if known."""

    def second(self, second: ProgressReport) -> None:
        """A second of warm-up or measurement has passed."""

    def reported(self, kind: str, message: str) -> None:
        """A warning or another event for the user."""

    def step(self, text: str, fraction: float | None) -> None:
        """A step of a long phase; `fraction` of it, 0 to 1, is done, or None if unknown."""

    def run_finished(self, result: RunResult) -> None:
        """A run ended, for any reason."""
