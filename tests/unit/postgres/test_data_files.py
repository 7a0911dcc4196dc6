from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from app.postgres import data_files


@pytest.fixture
def data_directory(tmp_path: Path) -> Path:
    (tmp_path / "postgresql.conf").write_text("max_connections = 100\n# ümläut\n", encoding="utf-8")
    (tmp_path / "pg_hba.conf").write_text("host all all 0.0.0.0/0 trust\n")
    return tmp_path


def _main(monkeypatch: pytest.MonkeyPatch, folder: Path, content: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(content))
    return data_files.main([str(folder)])


def test_files_replaced_own_read_last(monkeypatch: pytest.MonkeyPatch, data_directory: Path) -> None:
    files = {"pgfooting.conf": "fsync = 'on'\n", "pg_hba.conf": "local\n"}
    for _ in range(2):  # again changes nothing
        assert _main(monkeypatch, data_directory, json.dumps(files)) == 0
        assert (data_directory / "pg_hba.conf").read_text() == "local\n"
        assert (data_directory / "pgfooting.conf").stat().st_mode & 0o777 == 0o600
        lines = (data_directory / "postgresql.conf").read_text(encoding="utf-8").splitlines()
        assert lines == ["max_connections = 100", "# ümläut", "", "include 'pgfooting.conf'"]
    assert sorted(path.name for path in data_directory.iterdir()) == [
        "pg_hba.conf",
        "pgfooting.conf",
        "postgresql.conf",
    ]


def test_a_link_is_replaced_and_not_followed(
    monkeypatch: pytest.MonkeyPatch, data_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("victim") / "file"
    victim.write_text("mine")
    (data_directory / "pg_hba.conf").unlink()
    (data_directory / "pg_hba.conf").symlink_to(victim)
    (data_directory / "pg_hba.conf.new").symlink_to(victim)
    assert _main(monkeypatch, data_directory, json.dumps({"pg_hba.conf": "local\n"})) == 0
    assert victim.read_text() == "mine"
    assert (data_directory / "pg_hba.conf").read_text() == "local\n"


@pytest.mark.parametrize("content", ['{"../escape": "x"}', "not json", '{"postgresql.auto.conf": ""}'])
def test_refuses_other_files_and_other_input(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data_directory: Path,
    content: str,
) -> None:
    assert _main(monkeypatch, data_directory, content) == 1
    assert capsys.readouterr().err
    assert "include" not in (data_directory / "postgresql.conf").read_text(encoding="utf-8")


def test_folder_without_data_directory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _main(monkeypatch, tmp_path, "{}") == 1
    assert "postgresql.conf" in capsys.readouterr().err
