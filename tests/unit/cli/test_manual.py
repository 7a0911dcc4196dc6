"""`pgfooting manual`: the list of chapters, and one of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app import TOP
from app.arguments.declared import filled_text
from app.cli.main import main
from app.domain.errors import ExitStatus
from app.manual.chapters import CHAPTERS, chapter_title, find_chapter


def test_without_a_name_the_chapters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual"]) == ExitStatus.DONE
    output = capsys.readouterr().out
    assert all(each.id in output and chapter_title(each) in output for each in CHAPTERS)


def test_chapter_piped_verbatim(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual", "method"]) == ExitStatus.DONE
    assert capsys.readouterr().out == filled_text(find_chapter("method"))


def test_on_a_terminal_marks_are_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["manual", "verdicts"]) == ExitStatus.DONE
    output = capsys.readouterr().out
    assert "A and B are practically equal" in output
    assert "**" not in output


def test_unknown_chapter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual", "wrods"]) == ExitStatus.USAGE
    assert "words" in capsys.readouterr().err


def test_hint_names_command_as_called() -> None:
    environment = {**os.environ, "PGFOOTING_COMMAND": "packaging/run"}
    argv = [sys.executable, "-m", "app", "manual"]
    output = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, cwd=TOP).stdout
    assert "“packaging/run manual CHAPTER”" in output
