"""No run is begun that would not end within the time budget; complete rounds are preferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import Campaign, PlannedRun, interleaved_order
from app.domain.errors import CampaignError
from app.domain.run import RunState
from app.execution.campaign import CampaignResult
from app.execution.resume.begun import RunLengths, TimeBudget
from app.library.campaign_end import CampaignEnd
from app.recording.events import RunResult
from tests.hand_clock import Clock

FILE = """
name = "x"
order = "AB BA"
repeats = 3
time_budget = "10min"
[workload]
warmup = "10s"
duration = "50s"
[target.memory]
[[configuration]]
name = "a"
[[configuration]]
name = "b"
"""
CAMPAIGN = parse_campaign(FILE, base_directory="/", source_name="x")
RUNS = interleaved_order(CAMPAIGN)


def result(run: PlannedRun, length_s: float | None, state: RunState = RunState.DONE) -> RunResult:
    return RunResult(run, state, None, {}, length_s=length_s)


def take(lengths: Sequence[float], campaign: Campaign = CAMPAIGN) -> tuple[list[int], str]:
    """Take runs of these true lengths as the runner does; return which were begun, and why it ended."""
    clock = Clock()
    budget = TimeBudget(campaign, clock)
    results: list[RunResult] = []
    for number, run in enumerate(RUNS):
        block = [each for each in RUNS[number:] if each.repeat == run.repeat]
        reason = ""
        if len(block) == len(campaign.configurations):
            reason = budget.refuses(block, results, is_round=True)
        reason = reason or budget.refuses([run], results)
        if reason:
            return [each.planned.number for each in results], reason
        clock.now_s += lengths[number]
        results.append(result(run, lengths[number]))
    return [each.planned.number for each in results], ""


def test_fitting_rounds_begin_others_do_not() -> None:
    assert take([100] * 6) == ([1, 2, 3, 4, 5, 6], "")
    begun, reason = take([130] * 6)
    assert begun == [1, 2, 3, 4], "a fifth would fit, a third round does not"
    assert "the next round of 2 runs needs about 04:20, and 01:20 are left" in reason
    assert "time budget of 10:00" in reason


def test_first_round_begins_run_by_run() -> None:
    begun, reason = take([560, 1, 1, 1, 1, 1])
    assert begun == [1], "b takes 60 s as planned, beside what a took besides"
    assert "the next run needs about 09:20, and 00:40 are left" in reason


def test_run_estimated_from_its_configuration() -> None:
    begun, _ = take([300, 70, 70, 70, 70, 70])
    assert begun == [1, 2], "a round is 370 s as seen, 230 s are left"


def test_budget_ends_within_slower_round() -> None:
    begun, reason = take([100, 100, 100, 250, 1, 1])
    assert begun == [1, 2, 3, 4]
    assert "left" in reason
    begun, reason = take([150, 150, 200, 1, 1, 1])
    assert begun == [1, 2, 3]
    assert "the next run needs" in reason


def test_first_run_needs_planned_time() -> None:
    assert take([1] * 6, replace(CAMPAIGN, time_budget_s=59))[0] == []
    assert take([1] * 6, replace(CAMPAIGN, time_budget_s=60))[0] != []


def test_without_a_budget_everything_is_begun() -> None:
    assert take([10**6] * 6, replace(CAMPAIGN, time_budget_s=None)) == ([1, 2, 3, 4, 5, 6], "")


def test_unknown_lengths_and_failed_runs_ignored() -> None:
    clock = Clock()
    budget = TimeBudget(CAMPAIGN, clock)
    results = [result(RUNS[0], None), result(RUNS[1], 10_000, RunState.FAILED)]
    assert budget.refuses([RUNS[2]], results) == ""
    assert not budget.is_spent
    clock.now_s += 541
    assert budget.refuses([RUNS[2]], results)
    assert budget.is_spent


def test_campaign_states_budget_end(tmp_path: Path) -> None:
    ended = CampaignResult(CAMPAIGN, tmp_path)
    ends = [ended.end]
    ended.budget.is_spent = True
    ends.append(ended.end)
    ended.results = [result(run, 1.0) for run in RUNS]
    ends.append(ended.end)
    assert ends == [CampaignEnd.FAILED, CampaignEnd.BUDGET, CampaignEnd.FINISHED]


def test_budget_saved_without_changing_identity() -> None:
    assert parse_campaign(format_campaign(CAMPAIGN), base_directory="/", source_name="x") == CAMPAIGN
    for other in (None, 60, 7200):
        assert changed_scripts(state_campaign(CAMPAIGN), replace(CAMPAIGN, time_budget_s=other)) == ()
        assert changed_scripts(state_campaign(replace(CAMPAIGN, time_budget_s=other)), CAMPAIGN) == ()


@pytest.mark.parametrize("text", ['"59s"', '"31 days"', "0", '"tonight"', "true", '"1.5s"'])
def test_invalid_budget(text: str) -> None:
    with pytest.raises(CampaignError, match="time_budget"):
        parse_campaign(FILE.replace('"10min"', text), base_directory="/", source_name="x")


def test_next_run_uses_measured_not_planned() -> None:
    lengths = RunLengths(CAMPAIGN, [("a", 100.0), ("a", 140.0), ("a", None), ("a", -5.0), ("gone", 7.0)])
    assert lengths.expected_seconds("a") == 120
    assert lengths.expected_seconds("b") == 60 + 60, "planned, and what runs took besides"
    assert RunLengths(CAMPAIGN, []).expected_seconds("a") is None
    assert RunLengths(CAMPAIGN, [("b", 20.0)]).expected_seconds("b") == 20
