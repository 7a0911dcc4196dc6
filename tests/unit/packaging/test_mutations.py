"""The run that takes checks out (`packaging/test --mutations`): what it changes, and what it finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.changes import Change, changes_of, functions_that_refuse
from tests.mutations.known import read_known
from tests.mutations.state import State
from tests.unit.packaging.conftest import PROJECT, Scripts
from tests.unit.packaging.test_tiers import TIER, summary

SOURCE = '''
import os

def demand(number: int) -> None:
    """Refuse zero.

    Raises:
        ValueError: it is zero.
    """
    if number == 0:  # "Größe"
        raise ValueError("zero")

def opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)

class Guard:
    def allows(self, user: int, number: int) -> str:
        demand(number)
        if user != 7 or number < 0 and (
            number != -5
        ):
            raise PermissionError(
                user,
            ) from None
        try:
            return {1: "one"}[number]
        except KeyError:
            raise LookupError("unknown") from None
'''.encode()
REFUSING = functions_that_refuse([SOURCE])
CHANGES = {change.what: change for change in changes_of("thing.py", SOURCE, REFUSING)}


def answer(change: Change | None, user: int, number: int) -> str:
    names: dict[str, Any] = {}
    exec(compile(change.apply(SOURCE) if change else SOURCE, "thing.py", "exec"), names)  # noqa: S102
    try:
        return str(names["Guard"]().allows(user, number))
    except Exception as err:  # noqa: BLE001 - whatever it is, it is the answer
        return type(err).__name__


def test_every_check_removed_once() -> None:
    assert sorted(CHANGES) == [
        "and without: number != -5",
        "and without: number < 0",
        "bound: number < 0",
        "if always: number == 0",
        "if always: user != 7 or (number < 0 and number != -5)",
        "if never: number == 0",
        "if never: user != 7 or (number < 0 and number != -5)",
        "not called: demand(number)",
        "not raised: LookupError('unknown')",
        "or without: number < 0 and number != -5",
        "or without: user != 7",
        "without flag: O_NOFOLLOW",
    ]
    for change in CHANGES.values():
        assert change.apply(SOURCE).count(b"\n") == SOURCE.count(b"\n")


@pytest.mark.parametrize(
    ("what", "user", "number", "before", "after"),
    [
        ("if never: number == 0", 7, 0, "ValueError", "LookupError"),
        ("not called: demand(number)", 7, 0, "ValueError", "LookupError"),
        ("or without: user != 7", 8, 1, "PermissionError", "one"),
        ("or without: number < 0 and number != -5", 7, -1, "PermissionError", "LookupError"),
        ("and without: number != -5", 7, -5, "LookupError", "PermissionError"),
        ("if always: user != 7 or (number < 0 and number != -5)", 7, 1, "one", "PermissionError"),
        ("not raised: LookupError('unknown')", 7, 2, "LookupError", "None"),
    ],
)
def test_removed_check_decides_nothing(what: str, user: int, number: int, before: str, after: str) -> None:
    assert (answer(None, user, number), answer(CHANGES[what], user, number)) == (before, after)


VALUES = b"""
KEPT_S: Final = 31 * 86400.0
WAIT_S: Final = 3.0
MOST: Final[int] = 64
NAME: Final = "x"

def zero(device, areas, now_s):
    for area in areas:
        device.save(area)
    for area in areas:
        device.zero(area,
                    MOST)
    audit.note("zeroed")
    device.flush()
    if device.age > KEPT_S or now_s > WAIT_S:
        return NAME
"""


def test_values_bounds_and_order() -> None:
    found = {each.what: each for each in changes_of("values.py", VALUES, frozenset())}
    assert [what for what in found if what.startswith(("half", "bound", "order"))] == [
        "order: for area in areas: device.zero(area, MOST) before: for area in areas: device.save(area)",
        "half of: MOST",
        "bound: device.age > KEPT_S",
        "half of: KEPT_S",
    ]
    order = next(iter(found.values())).apply(VALUES).decode()
    assert order.index("device.zero") < order.index("device.save") < order.index("audit")
    assert order.count("\n") == VALUES.count(b"\n")
    assert b"((MOST) // 2)" in found["half of: MOST"].apply(VALUES)
    assert b"((device.age) >= (KEPT_S))" in found["bound: device.age > KEPT_S"].apply(VALUES)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one check that has a test, one that has none, and one that no test executes."""
    for name in ("app", "unit", "t"):
        (tmp_path / name).mkdir()
    for name in ("RUNTIME_DIR", "STATE_HOME", "DATA_HOME", "CONFIG_HOME", "CACHE_HOME"):
        (tmp_path / f"XDG_{name}").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "app" / "thing.py").write_text(
        "def half(number):\n    if number < 0:\n        raise ValueError\n    if number % 2:\n"
        "        raise TypeError\n    return number // 2\n\n\ndef unused(number):\n    return number == 0\n"
    )
    (tmp_path / "unit" / "test_thing.py").write_text(
        "import subprocess, sys\nimport pytest\nfrom app.thing import half\n\n"
        "def test_odd():\n    with pytest.raises(TypeError):\n        half(3)\n\n"
        "def test_half():\n    assert half(4) == 2\n\n"
        "def test_in_a_process():\n    code = 'from app.thing import half; print(half(8))'\n"
        "    assert subprocess.check_output([sys.executable, '-c', code]) == b'4\\n'\n\n"
        "def test_that_fails_anyway():\n    assert half(2) == 3\n"
    )
    return tmp_path


def try_all(project: Path, minutes: int = 10) -> State:
    folders = {name: str(project / name) for name in sorted(path.name for path in project.glob("XDG_*"))}
    environment = {
        **os.environ, **folders, "TMPDIR": str(project / "t"), "PYTHONPATH": f"{project}:{PROJECT}",
        "MUTATIONS_SOURCE": str(project / "app/*"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    code = (
        "import sys, time, pytest\nfrom tests.mutations import trial\ntrial.PATIENCE_S = 8.0\n"
        "sys.exit(pytest.main(["
        "'-p', 'tests.mutations.trial', '-p', 'no:randomly', '-p', 'no:cacheprovider', '-s', '--quiet', "
        "'--import-mode=importlib', '--rootdir=.', '-c', '/dev/null', '--basetemp=b', "
        f"'--mutations-state=state', f'--mutations-until={{time.monotonic() + {minutes * 60}}}', "
        "'--mutations-files=app/thing.py', 'unit']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return State(project / "state", project, ["unit"])


@pytest.mark.long
def test_untested_check_survives(project: Path) -> None:
    before = (project / "app" / "thing.py").read_text()
    state = try_all(project)
    kinds = {what: outcome.kind for (_, _, what), outcome in state.outcomes.items()}
    assert kinds == {
        "if always: number < 0": "found",
        "if never: number < 0": "survived",
        "bound: number < 0": "survived",
        "if always: number % 2": "found",
        "if never: number % 2": "found",
        "return always: number == 0": "not executed",
        "return never: number == 0": "not executed",
    }
    assert (
        state.outcomes["app/thing.py", "half", "if never: number % 2"].test == "unit/test_thing.py::test_odd"
    )
    assert state.finders()["app/thing.py", "half", "if never: number % 2"] == "unit/test_thing.py::test_odd"
    assert ("app/thing.py", "half", "if never: number < 0") not in state.finders()
    assert state.tests.bad == ["unit/test_thing.py::test_that_fails_anyway"]
    assert (project / "app" / "thing.py").read_text() == before


@pytest.mark.longest
def test_resume_interrupted_run(project: Path) -> None:
    assert try_all(project, minutes=0).outcomes == {}
    tests = project / "unit" / "test_thing.py"
    tests.write_text(tests.read_text().replace("raises(TypeError)", "raises(Exception)"))
    state = try_all(project)
    assert len(state.outcomes) == 7
    known = (project / "state" / "outcomes.jsonl").read_text()
    try_all(project)
    assert (project / "state" / "outcomes.jsonl").read_text() == known, "nothing is tried twice"
    (project / "unit" / "test_more.py").write_text(
        "import pytest\nfrom app.thing import half\n\n"
        "def test_less():\n    with pytest.raises(ValueError):\n        half(-1)\n"
    )
    state = try_all(project)
    assert state.outcomes["app/thing.py", "half", "if never: number < 0"].kind == "found"
    tried = (project / "state" / "outcomes.jsonl").read_text().splitlines()
    assert len(tried) == 7 + 4, "what a test had found was not tried again"


def test_known_survivors_have_reasons() -> None:
    known = read_known()
    assert all(len(reason) > 10 for reason in known.values())
    assert all((PROJECT / file).is_file() for file, _, _ in known)


@pytest.mark.parametrize(("status", "colour"), [(0, "green"), (1, "RED")])
def test_unexplained_survivor_fails(scripts: Scripts, status: int, colour: str) -> None:
    python = scripts.fake / "environment" / "bin" / "python"
    scripts.program(python, f'#!/bin/bash\necho "$*" >"$FAKE/calls"\nexit {status}\n')
    lines = summary(scripts, f"{TIER}MUTATIONS=5\nrun_mutations app/thing.py")
    assert any(line.split()[:2] == ["mutations", colour] for line in lines)
    assert (scripts.fake / "calls").read_text().endswith("--minutes 5 -- app/thing.py\n")
