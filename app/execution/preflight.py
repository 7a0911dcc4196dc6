"""Find before the start what would spoil a campaign's measurement: the preflight over all its targets."""

from __future__ import annotations

from collections.abc import Iterator

from app.execution.resolve import ResolvedCampaign
from app.probes.preflight.checks import run_preflight
from app.probes.preflight.context import PreflightFinding, PreflightRequest, Severity

__all__ = ["PreflightFinding", "Severity", "find_disturbances"]


def find_disturbances(
    resolved: ResolvedCampaign, library: str | None, sleep_reason: str = ""
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second per target of a campaign; return what may spoil its runs.

    Args:
        resolved: the campaign; its folders exist.
        library: existing folder of the run files; None if it will be created.
        sleep_reason: why the machine could not be kept awake; empty if it is.
    """
    questions: dict[PreflightRequest, None] = {}  # configurations on the same target need the same checks
    for item in resolved.configurations.values():
        in_memory = item.configuration.target.kind == "memory"
        question = PreflightRequest(
            folder=item.target.path,
            library=library,
            memory_target=in_memory,
            needed_bytes=item.need_bytes if in_memory else 0,
            sleep_reason=sleep_reason,
        )
        questions[question] = None
    findings: dict[str, PreflightFinding] = {}  # by code: findings about the machine appear once
    for question in questions:
        for finding in run_preflight(question):
            findings.setdefault(finding.code, finding)
    return (*findings.values(), *_overruled(resolved))


def _overruled(resolved: ResolvedCampaign) -> Iterator[PreflightFinding]:
    """Yield the server settings advised by a filesystem's preset that this campaign overrides."""
    for name, item in resolved.configurations.items():
        for option in item.server_options:
            if option.note:
                yield PreflightFinding(
                    f"server-option-{option.fate}", Severity.NOTE, f"{name}: {option.note}"
                )
