"""No test escapes its tier: what it uses marks it, wherever it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fix_chosen import TIER_OF_FIXTURE
from tests.unit.packaging.test_tiers import TIERS

PROJECT = Path(__file__).resolve().parents[3]


def test_the_marks_of_fixtures_are_tiers() -> None:
    assert set(TIER_OF_FIXTURE.values()) == set(TIERS) - {"unit"}


@pytest.mark.long
def test_tier_from_fixture(tmp_path: Path) -> None:
    """Also where another fixture lies between; nothing is run."""
    direct = [f"def test_{name}({name}): pass" for name in TIER_OF_FIXTURE]
    rests = (
        "def test_workbench(workbench): pass\ndef test_qtbot(qtbot): pass\ndef test_none(tmp_path): pass\n"
    )
    (tmp_path / "test_tiers_of_fixtures.py").write_text("\n".join([*direct, rests]))
    named = {**{name: {name} for name in TIER_OF_FIXTURE}, "installation": {"installation", "workbench"}}
    named["qapp"] = {"qapp", "qtbot"}
    expected = {tier: {f"test_{each}" for each in named[name]} for name, tier in TIER_OF_FIXTURE.items()}
    code = f"""
import pytest, sys
class Tell:
    def pytest_collection_finish(self, session):
        for item in session.items:
            print("TEST", item.name, *(m.name for m in item.iter_markers()))
sys.exit(pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir",
    {str(PROJECT)!r}, "-c", {str(PROJECT / "pyproject.toml")!r}, "--confcutdir", {str(PROJECT)!r},
    "-p", "tests.conftest", {str(tmp_path)!r}], plugins=[Tell()]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: dict[str, set[str]] = {tier: set() for tier in expected}
    for line in ended.stdout.splitlines():
        if line.startswith("TEST "):
            _, name, *marks = line.split()
            for mark in set(marks) & set(found):
                found[mark].add(name)
    assert found == expected


@pytest.mark.long
def test_tier_from_folder() -> None:
    recipe = PROJECT / "tests" / "postgres" / "test_recipe.py"
    assert "mark.postgres" not in recipe.read_text()
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(recipe)]
    ended = [
        subprocess.run([*argv, "-m", mark], cwd=PROJECT, capture_output=True, check=False).returncode
        for mark in ("postgres", "not postgres")
    ]
    assert ended == [0, 5]  # 5: nothing was collected
