from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.postgres.data_files import write_files


@pytest.fixture
def data_directory(tmp_path: Path) -> Path:
    (tmp_path / "postgresql.conf").write_text("max_connections = 100\n# ümläut\n", encoding="utf-8")
    (tmp_path / "pg_hba.conf").write_text("host all all 0.0.0.0/0 trust\n")
    return tmp_path


def test_files_replaced_own_read_last(data_directory: Path) -> None:
    files = {"pgfooting.conf": "fsync = 'on'\n", "pg_hba.conf": "local\n"}
    for _ in range(2):  # again changes nothing
        write_files(str(data_directory), json.dumps(files).encode())
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
    data_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("victim") / "file"
    victim.write_text("mine")
    (data_directory / "pg_hba.conf").unlink()
    (data_directory / "pg_hba.conf").symlink_to(victim)
    (data_directory / "pg_hba.conf.new").symlink_to(victim)
    write_files(str(data_directory), b'{"pg_hba.conf": "local\\n"}')
    assert victim.read_text() == "mine"
    assert (data_directory / "pg_hba.conf").read_text() == "local\n"


@pytest.mark.parametrize("content", [b'{"../escape": "x"}', b"not json", b'{"postgresql.auto.conf": ""}'])
def test_refuses_other_files_and_other_input(data_directory: Path, content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of JSON or of the names
        write_files(str(data_directory), content)
    assert "include" not in (data_directory / "postgresql.conf").read_text(encoding="utf-8")
    assert not (data_directory.parent / "escape").exists()


def test_folder_without_data_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"postgresql\.conf"):
        write_files(str(tmp_path), b"{}")
