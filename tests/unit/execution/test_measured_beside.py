"""A campaign beside somebody who holds the lock of all users: told, and in every run's file."""

from __future__ import annotations

from app.execution.campaign import Severity, _beside
from app.hosts.machine_lock import MachineLock


def test_runs_beside_a_holder_are_marked() -> None:
    (finding,) = _beside(MachineLock([], held_by="process 7 holds it"))
    assert (finding.code, finding.severity) == ("measured-beside", Severity.WARNING)
    assert finding.message == "process 7 holds it"
    assert _beside(MachineLock([])) == ()
