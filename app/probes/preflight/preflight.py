"""What would spoil a measurement, found before it starts; told, stored, and never in the way."""

from __future__ import annotations

from app.probes.facts.environment import FactSources
from app.probes.preflight.checks import CHECKS
from app.probes.preflight.context import (
    PreflightContext,
    PreflightFinding,
    PreflightRequest,
    Severity,
    observe,
)

__all__ = ["PreflightFinding", "PreflightRequest", "Severity", "findings_of", "run_preflight"]


def run_preflight(
    questions: PreflightRequest, places: FactSources | None = None
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second and return what may spoil a measurement."""
    return findings_of(observe(questions, places or FactSources()))


def findings_of(situation: PreflightContext) -> tuple[PreflightFinding, ...]:
    """Return the findings of all checks, warnings first."""
    found = [finding for check in CHECKS for finding in check(situation)]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.WARNING))
