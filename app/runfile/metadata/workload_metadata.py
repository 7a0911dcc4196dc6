"""What a run file says of the workload of its run, and of its phases where it has several.

As all metadata: a field that a file lacks is not known (`typed_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.maintenance import WorkEnd
from app.domain.text import tr
from app.probes.base.fact_tree import Fact
from app.runfile.metadata.typed_json import NOT_KNOWN, Known


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptMetadata:
    """A script of pgbench: name, relative frequency, the user's own file and its text."""

    label: str = ""
    weight: int = 1
    path: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadMetadata:
    """What pgbench did; fields as in `app.domain.campaign.configuration.Workload`.

    Attributes:
        label: labels of the scripts, joined.
        scripts: each with its text.
        clients: concurrent connections.
        threads: of pgbench, as resolved on that machine.
        duration_s: of the measured phase; None where transactions decide.
        transactions: per client; None where the duration decides.
        warmup_s: 0 for none.
        caches: a `Caches`.
        protocol: a `Protocol`.
        rate_tps: None for a closed loop.
        latency_limit_ms: None for no limit.
        size: class or bytes as the campaign states it; None where it states the scale.
        compressibility: that the loaded rows were to have; None for pgbench's own rows.
        data_set: a `DataSet`, as it was stated; `DataSetMetadata` has what became of it.
        phases: in words, everything that they say, where it has several; not told of one phase.
    """

    label: Known[str] = NOT_KNOWN
    scripts: Known[tuple[ScriptMetadata, ...]] = NOT_KNOWN
    clients: Known[int] = NOT_KNOWN
    threads: Known[int] = NOT_KNOWN
    duration_s: Known[float | None] = NOT_KNOWN
    transactions: Known[int | None] = NOT_KNOWN
    warmup_s: Known[float] = NOT_KNOWN
    caches: Known[str] = NOT_KNOWN
    protocol: Known[str] = NOT_KNOWN
    rate_tps: Known[float | None] = NOT_KNOWN
    latency_limit_ms: Known[float | None] = NOT_KNOWN
    size: Known[str | None] = NOT_KNOWN
    compressibility: Known[float | None] = NOT_KNOWN
    data_set: Known[str] = NOT_KNOWN
    phases: Known[str] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceMetadata:
    """What was done before a phase.

    Attributes:
        name: in campaign files.
        duration_s: how long it took.
        how: a `app.domain.maintenance.WorkEnd`; files of before have only what was done to its end.
        reason: why it failed; else empty.
    """

    name: str = ""
    duration_s: float = 0.0
    how: str = WorkEnd.DONE.value
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTurn:
    """One time of what was done beside a phase.

    Attributes:
        started_ms: on the clock of the run.
        ended_ms: likewise.
        how: a `app.domain.maintenance.WorkEnd`; the last one is mostly ended with the phase.
        reason: why it failed; else empty.
    """

    started_ms: int = 0
    ended_ms: int = 0
    how: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundMetadata:
    """What was done beside a phase.

    Attributes:
        name: in campaign files; empty for nothing.
        every_s: from one begin to the next; None for again as soon as it had ended.
        max_rate_bytes: a second, that a base backup read at most; None for no limit.
        turns: every time of it, in order.
    """

    name: str = ""
    every_s: int | None = None
    max_rate_bytes: int | None = None
    turns: tuple[BackgroundTurn, ...] = ()

    @property
    def done(self) -> int:
        """How often it was done to its end."""
        return sum(turn.how == WorkEnd.DONE for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMetadata:
    """One time of one phase of a workload that has several.

    Attributes:
        number: its place among all of them, from 1.
        name: of the phase.
        time: which time of this phase it is, from 1.
        times: of the phase.
        counts: its figures are compared.
        is_own: the figures of the run as a whole are those of this one: it is the phase `measure`.
        workload: what pgbench did; a rate as the number that it became.
        rate_percent: of what another phase reached, where the rate was stated so; None where it was not.
        rate_of: name of that phase; None likewise.
        transaction_log_one_in: as in `RunMetadata`.
        maintenance: what was done before it.
        background: what was done beside it.
        pgbench: figures as pgbench printed them.
    """

    number: int = 0
    name: str = ""
    time: int = 1
    times: int = 1
    counts: bool = True
    is_own: bool = False
    workload: WorkloadMetadata = WorkloadMetadata()
    rate_percent: Known[float | None] = NOT_KNOWN
    rate_of: Known[str | None] = NOT_KNOWN
    transaction_log_one_in: Known[float] = NOT_KNOWN
    maintenance: tuple[MaintenanceMetadata, ...] = ()
    background: BackgroundMetadata = BackgroundMetadata()
    pgbench: Known[Mapping[str, Fact]] = NOT_KNOWN

    @property
    def label(self) -> str:
        """What people call it: the name of the phase, and which time of several it is."""
        if self.times == 1:
            return self.name
        return tr("{name} ({time} of {times})").format(name=self.name, time=self.time, times=self.times)
