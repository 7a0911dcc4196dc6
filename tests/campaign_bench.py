"""Runs a campaign's order with runs that are written at once: nothing is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.domain.campaign.configuration import Campaign, PlannedRun
from app.domain.json_value import Json
from app.domain.run import RunState
from app.execution import campaign as executed
from app.execution.campaign import CampaignResult
from app.execution.control import StopRequestedError
from app.execution.design import rivals_of
from app.execution.resume.begun import begun_runs
from app.recording.events import RunResult
from app.runfile.disturbance import DISTURBED
from tests.fix_window import Trial, write_trial


@dataclass
class Bench:
    """Runs a campaign's order with runs that are written at once.

    Attributes:
        folder: of the campaign.
        fate: of an attempt, by (number, attempt): disturbed, unknown, failed, stopped, or nothing of that.
        order: (number, attempt) as they were executed.
        messages: what the listener heard.
        tps: of an attempt.
    """

    folder: Path
    campaign: Campaign
    fate: Callable[[int, int], str]
    order: list[tuple[int, int]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    stop: bool = False
    tps: Callable[[PlannedRun], float] = lambda _planned: 1.0

    def execute(self, _execution: object, planned: PlannedRun, _resolved: object) -> RunResult:
        self.order.append((planned.number, planned.attempt))
        fate = self.fate(planned.number, planned.attempt)
        marks = ((DISTURBED, "they did much"),) if fate == "disturbed" else ()
        state = {"failed": RunState.FAILED, "stopped": RunState.STOPPED}.get(fate, RunState.DONE)
        self.stop = fate == "stopped"
        path = self.folder / f"{planned.number:02}-{planned.configuration.name}-r{planned.repeat + 1}.footing"
        if path.exists():
            path = path.with_name(f"{path.stem}-{len(self.order)}{path.suffix}")
        # Files of a trial hold no CPU of programs: so what is stored is what counts.
        started = 1.8e9 + len(self.order)
        name, tps = planned.configuration.name, self.tps(planned)
        more: dict[str, Json] = {
            "number": planned.number,
            "attempt": planned.attempt,
            "design": self.campaign.design.value,
            "rivals": list(rivals_of(self.campaign, planned.configuration)),
        }
        trial = Trial(
            f"{name} #{planned.repeat + 1}",
            name,
            planned.repeat,
            tps,
            state=state,
            marks=marks,
            started=started,
            more=more,
            is_quiet=fate != "unknown",
        )
        write_trial(path, trial)
        is_weak = fate in {"disturbed", "unknown"}
        return RunResult(planned, state, str(path), {"tps": tps}, marks, measured=True, is_weak=is_weak)

    def check(self) -> None:
        if self.stop:
            raise StopRequestedError(cast("Any", None))

    def run(self, monkeypatch: pytest.MonkeyPatch) -> CampaignResult:
        monkeypatch.setattr(executed, "execute_run", self.execute)
        self.stop = False
        listener = SimpleNamespace(
            run_finished=lambda _result: None, reported=lambda _kind, message: self.messages.append(message)
        )
        bench = self

        class Switch:
            check = staticmethod(bench.check)

            @property
            def requested(self) -> object:
                return object() if bench.stop else None

        baselines = SimpleNamespace(is_open=lambda _configuration: False)
        execution = SimpleNamespace(switch=Switch(), listener=listener, disks=None, baselines=baselines)
        configurations = {
            each.name: SimpleNamespace(target=SimpleNamespace(plan=None))
            for each in self.campaign.configurations
        }
        resolved = SimpleNamespace(campaign=self.campaign, configurations=configurations)
        result = CampaignResult(self.campaign, self.folder)
        begun = begun_runs(self.folder, self.campaign)
        return executed._run_all(cast("Any", execution), cast("Any", resolved), result, begun)
