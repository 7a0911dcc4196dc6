"""Facts of runs of a matrix without files: what was chosen, how fast it was, and whose campaign it was."""

from __future__ import annotations

from collections.abc import Mapping

from app.analysis.facts import RunFacts
from app.analysis.properties import KIND, SETTING, TARGET, WORKLOAD, Property
from app.domain.run import RunState
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad

TOPICS = {
    "filesystem": TARGET,
    "RAID": TARGET,
    "chunk size": TARGET,
    "scale": WORKLOAD,
    "transactions": WORKLOAD,
    "clients": WORKLOAD,
}
"""Of the properties; what is not among them is a setting of the server."""


def made_run(
    chosen: Mapping[str, str],
    tps: float | None,
    *,
    repeat: int = 0,
    campaign: str = "one",
    kind: str = "folder",
    marks: tuple[tuple[str, str], ...] = (),
    rate: bool = False,
    topics: Mapping[str, str] | None = None,
) -> RunFacts:
    """Return a run.

    Args:
        chosen: properties by their names.
        tps: its mean; None for a run that failed.
        repeat: 0-based.
        campaign: name and key.
        kind: of its target.
        marks: labels.
        rate: whether its load was offered at a rate.
        topics: of properties that are neither of `TOPICS` nor settings.
    """
    name = " ".join(chosen.values())
    of = TOPICS | dict(topics or {})
    return RunFacts(
        path=f"{campaign}/{name} {repeat}.footing",
        id=f"{campaign} {name} {repeat}",
        name=f"{name} #{repeat + 1}",
        campaign=campaign,
        campaign_key=campaign,
        configuration=name,
        repeat=repeat,
        state=RunState.DONE.value if tps is not None else RunState.FAILED.value,
        error="",
        started_epoch_s=None,
        marks=marks,
        properties=(
            Property(TARGET, KIND, kind),
            *(Property(of.get(key, SETTING), key, value) for key, value in chosen.items()),
        ),
        summary={"tps": tps},
        commands=(),
        environment=(),
        unavailable=(),
        load=OfferedLoad(LoadKind.RATE if rate else LoadKind.CLOSED, 300.0 if rate else None),
    )
