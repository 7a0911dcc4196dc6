"""What would spoil a measurement, found before it starts; told, stored, and never in the way."""

from __future__ import annotations

from app.probes.environment import Places
from app.probes.preflight_checks import CHECKS
from app.probes.situation import Finding, Questions, Severity, Situation, observe

__all__ = ["Finding", "Questions", "Severity", "findings_of", "run_preflight"]


def run_preflight(questions: Questions, places: Places | None = None) -> tuple[Finding, ...]:
    """Watch the machine for less than a second and return what may spoil a measurement."""
    return findings_of(observe(questions, places or Places()))


def findings_of(situation: Situation) -> tuple[Finding, ...]:
    """Return the findings of all checks, warnings first."""
    found = [finding for check in CHECKS for finding in check(situation)]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.WARNING))
