"""Runs that others disturbed are measured again: within the limit, after their round, also after a stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import Campaign, PlannedRun
from app.domain.campaign.matrix import RunOrder
from app.domain.errors import FootingError
from app.domain.run import RunState
from app.execution.resume.begun import is_complete, runs_to_repeat
from app.library.entries import CAMPAIGN_NAME
from app.library.files import mark_ended_run
from app.recording.events import RunResult
from app.runfile.disturbance import DISTURBED, REPEATED
from app.runfile.reader import RunFile
from tests.campaign_bench import Bench
from tests.fix_window import Trial, write_trial

FILE = 'name = "x"\norder = "AB BA"\nrepeats = 2\nrepeat_disturbed = {limit}\n[target.memory]\n'
TWO = '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'


def campaign_with(limit: int) -> Campaign:
    return parse_campaign(FILE.format(limit=limit) + TWO, base_directory="/", source_name="x")


def bench_of(folder: Path, limit: int, fate: Callable[[int, int], str]) -> Bench:
    campaign = campaign_with(limit)
    (folder / CAMPAIGN_NAME).write_text(state_campaign(campaign))
    return Bench(folder, campaign, fate)


def always(numbers: Sequence[int]) -> Callable[[int, int], str]:
    return lambda number, _attempt: "disturbed" if number in numbers else ""


def once(numbers: Sequence[int]) -> Callable[[int, int], str]:
    return lambda number, attempt: "disturbed" if number in numbers and attempt == 1 else ""


def marks_of(path: str | None) -> dict[str, str]:
    assert path is not None
    with RunFile(Path(path)) as run:
        return dict(run.marks())


def test_without_a_limit_nothing_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, 0, always([1, 2, 3, 4]))
    assert bench.run(monkeypatch).is_complete
    assert bench.order == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_disturbed_run_repeated_after_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, 4, once([1, 4]))
    result = bench.run(monkeypatch)
    assert bench.order == [(1, 1), (2, 1), (1, 2), (3, 1), (4, 1), (4, 2)]
    assert result.is_complete
    assert bench.messages[0] == "a, repeat 1, was disturbed and will be repeated. they did much"


def test_both_attempts_kept_with_successor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = bench_of(tmp_path, 4, once([1])).run(monkeypatch)
    first, again = (each for each in result.results if each.planned.number == 1)
    assert first.path != again.path
    assert marks_of(first.path) == {
        DISTURBED: "they did much",
        REPEATED: f"measured again as {Path(again.path or '').name}",
    }
    assert marks_of(again.path) == {}


def test_repeats_stop_at_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, 5, always([1]))
    result = bench.run(monkeypatch)
    assert bench.order == [(1, 1), (2, 1), (1, 2), (3, 1), (4, 1), (1, 3), (1, 4), (1, 5), (1, 6)]
    assert result.is_complete


def test_limit_per_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, 3, always([1, 2, 3, 4]))
    bench.run(monkeypatch)
    assert bench.order == [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (4, 1), (1, 3)]


def test_failed_repetition_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(
        tmp_path,
        5,
        lambda number, attempt: ("disturbed" if attempt == 1 else "failed") if number == 1 else "",
    )
    bench.run(monkeypatch)
    assert bench.order == [(1, 1), (2, 1), (1, 2), (3, 1), (4, 1)]


def test_stop_during_repeat_then_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(
        tmp_path,
        2,
        lambda number, attempt: ("disturbed" if attempt == 1 else "stopped") if number == 2 else "",
    )
    result = bench.run(monkeypatch)
    assert (result.stopped, result.is_complete) == (True, False)
    assert bench.order == [(1, 1), (2, 1), (2, 2)]
    again = Bench(tmp_path, bench.campaign, lambda _number, _attempt: "")
    result = again.run(monkeypatch)
    assert again.order == [(2, 2), (3, 1), (4, 1)]
    assert (result.stopped, result.is_complete) == (False, True)
    assert is_complete(tmp_path, campaign_with(2))


def test_resume_after_disturbed_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench_of(tmp_path, 0, once([3])).run(monkeypatch)
    assert is_complete(tmp_path, campaign_with(0))
    assert not is_complete(tmp_path, campaign_with(1))
    again = Bench(tmp_path, campaign_with(1), lambda _number, _attempt: "")
    again.run(monkeypatch)
    assert again.order == [(3, 2)]
    assert is_complete(tmp_path, campaign_with(1))


def test_earlier_attempts_count_towards_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench_of(tmp_path, 2, always([1])).run(monkeypatch)
    again = Bench(tmp_path, campaign_with(2), always([1]))
    again.run(monkeypatch)
    assert again.order == []


def test_moved_file_reported_and_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_of(tmp_path, 1, once([1]))
    execute = bench.execute

    def moved(execution: object, planned: PlannedRun, resolved: object) -> RunResult:
        result = execute(execution, planned, resolved)
        if planned.attempt > 1:
            (tmp_path / "01-a-r1.footing").rename(tmp_path / "elsewhere")
        return result

    bench.execute = moved  # type: ignore[method-assign,assignment]
    result = bench.run(monkeypatch)
    assert len(result.results) == 5
    assert any("01-a-r1.footing" in texts for texts in bench.messages[1:])


def test_label_written_once(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial())
    mark_ended_run(path, REPEATED, "measured again as b")
    mark_ended_run(path, REPEATED, "measured again as b")
    assert marks_of(str(path)) == {REPEATED: "measured again as b"}
    (tmp_path / "b.footing").write_text("no run file")
    with pytest.raises(FootingError):
        mark_ended_run(tmp_path / "b.footing", REPEATED, "x")


def test_only_done_runs_are_repeated() -> None:
    campaign = campaign_with(9)
    planned = PlannedRun(1, campaign.configurations[0], 0, 1)
    marks = ((DISTURBED, ""),)
    for state in RunState:
        found = runs_to_repeat(campaign, [RunResult(planned, state, None, {}, marks)])
        assert found == ([replace(planned, attempt=2)] if state is RunState.DONE else [])


def test_limit_saved_and_old_campaign_resumed() -> None:
    campaign = campaign_with(7)
    text = format_campaign(campaign)
    assert "repeat_disturbed = 7" in text
    assert parse_campaign(text, base_directory="/", source_name="x") == campaign
    none = campaign_with(0)
    before = "".join(
        line for line in state_campaign(none).splitlines(keepends=True) if "repeat_disturbed" not in line
    )
    assert changed_scripts(before, none) == ()
    assert changed_scripts(before, campaign) is None
    assert none.order is RunOrder.ALTERNATING
