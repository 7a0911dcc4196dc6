"""Run files from anybody on the compare page: wrong types, huge values, damage in every table."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from app.analysis.latency_distribution import read_distribution
from app.analysis.stability import since_checkpoint
from app.comparison.warnings import comparison_warnings
from app.domain.errors import FootingError
from app.export.comparison import comparison_as_json
from app.export.runs import finite
from app.library.entries import read_entry
from tests.fix_runs import Shape, change_run, write_run
from tests.fix_window import Trial, write_trial
from ui.compare.content import Choices, Content, LoadedRun, compare_content
from ui.compare.figures import known_figures, make_bars
from ui.compare.page import load_facts, with_series

HUGE = "x" * 3_000_000

STATEMENTS = (
    *(
        f"INSERT OR REPLACE INTO run VALUES ('{key}', '{value}')"
        for key in (
            "workload",
            "target",
            "settings",
            "pgbench",
            "installation",
            "repeat",
            "name",
            "id",
            "scale",
        )
        for value in (
            "[]",
            '"text"',
            "17",
            "null",
            '{"clients": {"a": []}, "duration_s": "x", "version": 5}',
            "true",
        )
    ),
    "INSERT OR REPLACE INTO run VALUES ('name', 'no json at all')",
    f"INSERT OR REPLACE INTO run VALUES ('configuration', '\"{HUGE}\"')",
    "UPDATE summary SET value = 'many'",
    "UPDATE summary SET value = 1e308",
    "UPDATE summary SET value = -5",
    "INSERT OR REPLACE INTO summary VALUES ('tps', 9e999)",
    "UPDATE sample SET value = 'fast'",
    "UPDATE sample SET value = 1e300",
    "UPDATE sample SET value = -1",
    "UPDATE sample SET t_ms = 9000000000000000 WHERE t_ms = (SELECT max(t_ms) FROM sample)",
    "UPDATE phase SET started_ms = 'early'",
    "UPDATE phase SET ended_ms = -1",
    "UPDATE phase SET ended_ms = 9000000000000000000",
    "UPDATE histogram SET buckets = x'0102030405'",
    "UPDATE histogram SET buckets = zeroblob(2000000)",
    "UPDATE histogram SET t_ms = -t_ms",
    "UPDATE event SET data = '[1, 2'",
    "UPDATE event SET t_ms = -9000000000000000",
    "UPDATE event SET kind = 'checkpoint-start'",
    "UPDATE fact SET value = '17'",
    "DELETE FROM sample",
    "DELETE FROM phase",
    "DROP TABLE histogram",
    "DROP TABLE summary",
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    return write_run(folder / "good.footing", Shape(60, 5000, 1, checkpoint_every_s=20), "good")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: str(text)[:70])
def test_hostile_file_never_breaks_comparison(good: Path, tmp_path: Path, statement: str) -> None:
    path = tmp_path / "hostile.footing"
    path.write_bytes(good.read_bytes())
    change_run(path, statement)
    other = write_trial(tmp_path / "other.footing", Trial(seconds=30))
    assert [read_entry(each) for each in (path, other)]
    listed = [LoadedRun(str(each), number, each.stem) for number, each in enumerate((path, other))]
    drawn = with_series(listed, ("tps", "latency"), 2)
    loaded = load_facts([run for run in drawn if not run.problem])
    runs = tuple(run for run in loaded if not run.problem)
    assert any(run.path == str(other) for run in runs)
    assert all(len(run.problem) < 5000 for run in loaded)
    content = compare_content(Content(runs), Choices())
    assert content.comparison is not None
    assert all(len(warning) < 20_000 for warning in comparison_warnings(content.comparison))
    json.dumps(finite(comparison_as_json(content.comparison)), allow_nan=False)
    for name in known_figures(content.comparison.groups):
        assert make_bars(content, name) is not None
    for run in runs:
        if run.data is not None:
            _read_or_refuse(lambda data=run.data: since_checkpoint(data))  # type: ignore[misc]
            _read_or_refuse(lambda path=run.path: read_distribution(Path(path)))  # type: ignore[misc]


def _read_or_refuse(read: Callable[[], object]) -> None:
    with suppress(FootingError):  # any other exception fails the test
        read()
