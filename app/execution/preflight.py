"""What would spoil a campaign's measurement, found before it starts: the preflight over all its places."""

from __future__ import annotations

from collections.abc import Iterator

from app.execution.resolve import ResolvedCampaign
from app.probes.preflight.checks import run_preflight
from app.probes.preflight.context import PreflightFinding, PreflightRequest, Severity

__all__ = ["PreflightFinding", "Severity", "find_disturbances"]


def find_disturbances(
    resolved: ResolvedCampaign, library: str | None, sleep_reason: str = ""
) -> tuple[PreflightFinding, ...]:
    """Watch the machine for less than a second for each place of a campaign; return what may spoil its runs.

    Args:
        resolved: the campaign; its folders exist.
        library: folder of the run files, which exists; None where it will be made.
        sleep_reason: why the machine could not be kept awake; empty where it is.
    """
    questions: dict[PreflightRequest, None] = {}  # configurations of one place have the same ones
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
    findings: dict[str, PreflightFinding] = {}  # by code: what is true of the machine is told once
    for question in questions:
        for finding in run_preflight(question):
            findings.setdefault(finding.code, finding)
    return (*findings.values(), *_overruled(resolved))


def _overruled(resolved: ResolvedCampaign) -> Iterator[PreflightFinding]:
    """Yield what a filesystem's preset advises for the server and this campaign does not do."""
    for name, item in resolved.configurations.items():
        for option in item.server_options:
            if option.note:
                yield PreflightFinding(
                    f"server-option-{option.fate}", Severity.NOTE, f"{name}: {option.note}"
                )
