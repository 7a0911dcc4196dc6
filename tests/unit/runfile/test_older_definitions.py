"""What a recorded file of before calls steady and stalled is judged anew, wherever it is shown."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.analysis.stability import read_shape
from app.cli.main import main
from app.domain.run import RunState
from app.export.runs import run_as_json
from app.library.entries import read_entry
from app.runfile.disturbance import marks_of
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data
from app.runfile.summary import DEFINITIONS, NOT_STEADY, figures_of

EXAMPLES = Path(__file__).parents[3] / "resources" / "examples" / "folder-against-memory"
RECORDED = sorted(EXAMPLES.glob("*.footing"))
CALLED_UNSTEADY = EXAMPLES / "04-folder-on-a-virtual-disk-r2.footing"
"""It was called not steady by chance: its rounds lie less apart than its unevenness explains."""


def kinds(marks: tuple[tuple[str, str], ...]) -> set[str]:
    return {kind for kind, _ in marks}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_figures_redefined(path: Path) -> None:
    with RunFile(path) as run:
        shape, stored, figures = read_shape(run), run.summary(), figures_of(run)
        assert shape is not None
        steady = shape.steady.steady
        assert figures["steady"] == (None if steady is None else float(steady))
        assert (figures["stall_s"], figures["longest_stall_s"]) == (
            shape.jitter.stall_seconds,
            shape.jitter.longest_stall_s,
        )
        assert (NOT_STEADY in kinds(marks_of(run))) is (steady is False)
        judged = {"steady", "stall_s", "longest_stall_s", "checkpoint_share"}
        for name in stored.keys() - judged:
            # NumPy sums in another order from one version to the next.
            same = None if stored[name] is None else pytest.approx(stored[name], rel=1e-14, abs=0)
            assert figures[name] == same, name


def test_the_recorded_files_were_called_otherwise() -> None:
    """Else the test above could not fail."""
    changed = 0
    for path in RECORDED:
        with RunFile(path) as run:
            changed += run.summary()["steady"] != figures_of(run)["steady"]
    assert changed == 5


def test_stored_not_steady_shown_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    with RunFile(CALLED_UNSTEADY) as run:
        assert NOT_STEADY in kinds(run.marks())  # as stored
        document = json.loads(json.dumps(run_as_json(run)))
    assert NOT_STEADY not in {each["kind"] for each in document["marks"]}
    assert document["summary"]["steady"] == 1.0
    facts, data = read_run_facts(CALLED_UNSTEADY), load_run_data(CALLED_UNSTEADY)
    assert NOT_STEADY not in kinds(facts.marks) | set(data.marks) | set(read_entry(CALLED_UNSTEADY).marks)
    assert (facts.summary["steady"], data.summary["steady"]) == (1.0, 1.0)
    assert main(["show", str(CALLED_UNSTEADY)]) == 0
    assert "not steady" not in capsys.readouterr().out.lower()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copy(CALLED_UNSTEADY, tmp_path / "copied.footing"))


def execute(path: Path, command: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(command)


def test_current_definitions_taken_as_stored(copied: Path) -> None:
    with RunFile(copied) as run:
        summary = run.summary()
    finish_run_file(copied, RunState.DONE, summary, is_durable=False)
    with RunFile(copied) as run:
        assert run.metadata.figure_definitions == DEFINITIONS
        assert figures_of(run) == summary
        assert NOT_STEADY in kinds(marks_of(run))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM sample WHERE series IN (SELECT id FROM series WHERE metric = 'pgbench.tps')",
        "UPDATE sample SET value = -1 WHERE series IN (SELECT id FROM series WHERE metric = 'pgbench.tps')",
        "DELETE FROM phase",
    ],
    ids=["no seconds", "impossible seconds", "no phases"],
)
def test_unreadable_seconds_keep_stored(copied: Path, damage: str) -> None:
    execute(copied, damage)
    with RunFile(copied) as run:
        assert figures_of(run)["steady"] == run.summary()["steady"] == 0.0
        assert NOT_STEADY in kinds(marks_of(run))


def test_invalid_definitions_count_as_older(copied: Path) -> None:
    execute(copied, "INSERT INTO run VALUES ('figure_definitions', '\"many\"')")
    with RunFile(copied) as run:
        assert figures_of(run)["steady"] == 1.0
