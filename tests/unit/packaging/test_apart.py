"""tests/system/apart: what runs beside others on this machine sees nothing of theirs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.packaging.conftest import PROJECT

APART = PROJECT / "tests" / "system" / "apart"
SHARED = ("/tmp", "/run/lock", "/dev/shm", "/var/lib/pgfooting")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if subprocess.run([APART, "--possible"], check=False).returncode:
        pytest.skip("only root makes such namespaces")
    made = tmp_path / "own"
    made.mkdir(mode=0o1777)
    return made


def run_apart(folder: Path, script: str) -> str:
    done = subprocess.run(
        [APART, folder, "bash", "-c", script], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return done.stdout


@pytest.mark.parametrize("place", SHARED)
def test_files_inside_hidden_outside(folder: Path, place: str) -> None:
    assert run_apart(folder, f"mktemp -d {place}/pgfooting-0123456789abcdef.XXXXXX").startswith(place)
    assert not list(Path(place).glob("pgfooting-0123456789abcdef.*"))


def test_hides_only_folders_of_another_run(folder: Path) -> None:
    others, results = Path("/tmp/pgfooting-fedcba9876543210"), Path("/tmp/pgfooting-test.apart")
    for each in (others, results):
        each.mkdir()
    try:
        ended = run_apart(folder, f"test -e {others} && echo others; echo kept >{results}/told; ls {results}")
        assert ended == "told\n"
        assert (results / "told").read_text() == "kept\n"
    finally:
        (results / "told").unlink(missing_ok=True)
        for each in (others, results):
            each.rmdir()


def test_only_own_processes_are_seen(folder: Path) -> None:
    assert run_apart(folder, "ls -d /proc/[0-9]* | wc -l").strip() in {"3", "4"}
