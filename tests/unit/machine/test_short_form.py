"""The short form of the machine tier: what was proved on loop devices is not done again in a guest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import TOP
from tests.disks import test_layout
from tests.disks.covered import record_covered, recorded_covered, words_of
from tests.machine.test_matrix import Case, cases

pytestmark = pytest.mark.slow


def chosen_layouts(covered: Path) -> set[str]:
    """Return the layouts that the short form would make in a guest."""
    environment = os.environ | {
        "PGFOOTING_MACHINE_TESTS": "short",
        "PGFOOTING_MATRIX": "here",
        "PGFOOTING_COVERED": str(covered),
    }
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-m",
        "machine",
    )
    listed = subprocess.run(
        (*command, "tests/machine/test_matrix.py"),
        cwd=TOP,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stdout + listed.stderr
    return {
        line.partition("[")[2].removesuffix("]")
        for line in listed.stdout.splitlines()
        if line.startswith("tests/machine/test_matrix.py::test_layout") and "[" in line
    }


def words(names: set[str]) -> Iterator[str]:
    for case in cases(short=True):
        if name_of(case) in names:
            yield from words_of(case.spec, case.level, case.preset)


def name_of(case: Case) -> str:
    return f"{case.spec.id}-{case.level.value}-{case.preset.id}-{case.count}"


ALL = set(words({name_of(case) for case in cases(short=True)}))


@pytest.mark.long
def test_all_storage_made_without_loop_devices(tmp_path: Path) -> None:
    assert set(words(chosen_layouts(tmp_path / "none"))) == ALL


@pytest.mark.long
def test_loop_device_results_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    covered = tmp_path / "covered"
    monkeypatch.setenv("PGFOOTING_COVERED", str(covered))
    proved = [case for case in test_layout.cases() if case[0].id in {"ext4", "btrfs"}]
    for case in proved:
        record_covered(words_of(*case))
    found = recorded_covered()
    assert found == {word for case in proved for word in words_of(*case)}
    names = chosen_layouts(covered)
    assert set(words(names)) | found == ALL
    assert not [name for name in names if name.startswith(("ext4-single", "btrfs"))]
    assert any(name.startswith("xfs-single") for name in names)


def test_covered_words_not_noted_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGFOOTING_COVERED", raising=False)
    record_covered(("filesystem ext4",))
    assert recorded_covered() == frozenset()
