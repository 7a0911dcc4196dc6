"""`pgfooting import` as people and scripts see it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from typing_extensions import override

from app.cli.commands.import_results import _ProgressLine
from app.cli.main import main
from tests.unit.importers.made_logs import summary_text, write_log

VONDRA = Path(__file__).resolve().parents[2] / "data" / "import" / "vondra-2022"


def made_run(folder: Path) -> Path:
    made = write_log(folder, [100] * 12)
    (folder / "pgbench.log").write_text(made.summary)
    return folder


def test_imported_missing_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_run(tmp_path / "run")
    (folder / "notes").write_text("buy milk\n")
    assert main(["import", str(folder), "--output", str(tmp_path / "library")]) == 0
    printed = capsys.readouterr()
    assert "Imported into" in printed.out
    assert "100.0  pgbench --log" in printed.out
    assert "filesystem: no file contains it" in printed.out
    assert "notes: was not written by pgbench or a known benchmark" in printed.out
    assert printed.err == ""  # no terminal, no progress


def test_import_again_succeeds_with_location(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["import", str(made_run(tmp_path / "run")), "--output", str(tmp_path / "library")]
    assert main(arguments) == 0
    capsys.readouterr()
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "In the library already" in output
    assert ".footing" in output
    assert "Imported" not in output


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(VONDRA), "--output", str(tmp_path), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert len(output["imported"]) == 30
    assert {each["reason"] for each in output["left"]} == {
        "is empty",
        "was not written by pgbench or a known benchmark",
    }


def test_many_means_are_counted_and_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(VONDRA), "--output", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "28 more runs have only a mean" in output
    assert "7,649.9" in output


def test_unreadable_file_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_run(tmp_path / "run")
    (folder / "more.tgz").write_bytes(b"\x1f\x8bnothing")
    assert main(["import", str(folder), "--output", str(tmp_path / "library")]) == 1
    output = capsys.readouterr().out
    assert "Cannot be read" in output
    assert f"{folder}/more.tgz is" in output


def test_nothing_to_import_fails_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["import", str(tmp_path / "empty"), "--output", str(tmp_path / "library")]) == 1
    assert "Nothing was imported" in capsys.readouterr().out


def test_wrong_path_is_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(tmp_path / "nowhere"), "--output", str(tmp_path)]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_control_characters_in_names_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_run(tmp_path / "run\x1b[2Jname")
    assert main(["import", str(folder), "--output", str(tmp_path / "library")]) == 0
    assert "\x1b" not in capsys.readouterr().out


class _Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_ends_empty() -> None:
    terminal = _Terminal()
    line = _ProgressLine(terminal)
    line(0, 0, "/some/file")
    line(0, 3, "/some/" + "long/" * 40 + "folder")
    line.close()
    parts = terminal.getvalue().split("\r")
    assert parts[1] == "Checking … /some/file"
    assert parts[2].startswith("Run 1 of 3: …")
    assert parts[2].endswith("/folder")
    assert max(map(len, parts)) <= 79
    assert parts[-1] == ""
    assert parts[-2].strip() == ""


def test_f24_list_shows_few_tps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out.txt").write_text(summary_text(5, 0.08, seconds=60))
    assert main(["import", str(tmp_path / "run"), "--output", str(tmp_path / "library")]) == 0
    assert main(["list", "--library", str(tmp_path / "library")]) == 0
    assert capsys.readouterr().out.count("0.08") == 2
