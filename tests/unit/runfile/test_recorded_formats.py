"""A run file of each format, recorded by the program of its time (tests/data/runfile), is read by this one.

Whoever makes a new format keeps the schema of the old one (`app.runfile.writer.SCHEMAS`) and records a file
of the new one: the first test asks for both.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest

from app.library.entries import UNREADABLE, read_entry
from app.runfile.metadata.typed_json import NotKnown
from app.runfile.reader import RunFile
from app.runfile.writer import SCHEMAS
from tests.fix_forked import Command
from tests.made_runs import finished_run

RECORDED = Path(__file__).resolve().parents[2] / "data" / "runfile"
FILES = sorted(RECORDED.glob("*.footing"))
MOST_BYTES = 150_000


def version_of(path: Path) -> int:
    """SQLite's user version: "Database File Format", section 1.3."""
    return int.from_bytes(path.read_bytes()[60:64], "big")


def test_one_small_file_per_format() -> None:
    assert {version_of(path) for path in FILES} == set(SCHEMAS)
    assert all(path.stat().st_size <= MOST_BYTES for path in FILES)


@pytest.fixture(params=FILES, ids=lambda path: str(path.stem))
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy that whoever is not root may not write either, alone in its folder."""
    path: Path = tmp_path / "library" / request.param.name
    path.parent.mkdir()
    path.write_bytes(request.param.read_bytes())
    path.chmod(0o400)
    return path


def test_it_is_opened_and_read(recorded: Path) -> None:
    with RunFile(recorded) as run:
        assert run.state.value == "done"
        assert (run.summary()["tps"] or 0) > 0
        assert any(each.metric == "pgbench.tps" for each in run.series())
        assert run.commands()
        assert run.metadata.configuration == "memory"
    entry = read_entry(recorded)
    assert entry.state != UNREADABLE
    assert entry.workload


ANSWERED_ELSEWHERE = {"phases"}
"""Keys of the workload that only runs with several phases have."""


def test_keys_of_the_workload_in_older_runs(recorded: Path) -> None:
    with RunFile(recorded) as run:
        workload = run.metadata.workload
    unknown = {key.name for key in fields(workload) if isinstance(getattr(workload, key.name), NotKnown)}
    assert unknown <= ANSWERED_ELSEWHERE, "is_later is missing in app/campaign_file/fields.py"


def test_recorded_listed_shown_compared_unchanged(command: Command, recorded: Path, tmp_path: Path) -> None:
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "STATE", "CACHE")}
    environment = {**os.environ, **folders}
    before = recorded.read_bytes()
    today = finished_run(tmp_path / "today.footing")
    listed = command("list", "--json", "--library", str(recorded.parent), environment=environment)
    assert [run["state"] for run in json.loads(listed.stdout)] == ["done"]
    for arguments in (("show", str(recorded)), ("compare", str(recorded), str(today))):
        ended = command(*arguments, environment=environment)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "memory" in ended.stdout
    assert recorded.read_bytes() == before
    assert [path.name for path in recorded.parent.iterdir()] == [recorded.name]
