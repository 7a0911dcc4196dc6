from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.arguments.declared import build_parser
from app.cli.commands import window
from app.cli.main import main
from app.domain.errors import UsageError

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The argument lists for which the process would have become the window."""
    seen: list[list[str]] = []

    def replace(path: str, argv: list[str], environment: dict[str, str]) -> None:
        seen.append(argv)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", replace)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    return seen


def test_no_command_becomes_window(become: list[list[str]]) -> None:
    main([])
    assert become == [[sys.executable, "-P", "-m", "ui", "--"]]


def test_runs_passed_as_paths(become: list[list[str]], tmp_path: Path) -> None:
    main(["open", "a.footing", "b.footing", "--library", str(tmp_path)])
    assert become[0][4:] == ["--library", str(tmp_path), "--", "a.footing", "b.footing"]


def test_replay_passed_with_speed(become: list[list[str]]) -> None:
    main(["replay", "abc", "--speed", "60"])
    assert become[0][4:] == ["--replay", "abc", "--speed", "60.0", "--"]


def test_replay_of_several_runs_is_their_race(become: list[list[str]]) -> None:
    main(["replay", "abc", "def", "--talk"])
    assert become[0][4:] == ["--replay", "abc", "def", "--talk", "--"]


@pytest.mark.parametrize("speed", ["0", "-1", "inf", "nan", "fast"])
def test_invalid_speed(speed: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "abc", f"--speed={speed}"]) == 2
    assert "speed" in capfd.readouterr().err


def test_missing_qt_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="PySide6, pyqtgraph") as caught:
        window.become_window([])
    assert "packaging/run" in caught.value.hint


def test_window_imports_from_any_folder(tmp_path: Path) -> None:
    environment = window.window_environment({"PYTHONPATH": f"{TOP}:/elsewhere"})
    assert environment["PYTHONPATH"] == f"{TOP}:/elsewhere"
    argv = [*window.window_argv(["--version"])]
    done = subprocess.run(
        argv, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pgfooting ")


def test_every_command_has_a_function() -> None:
    parser: Any = build_parser()
    assert parser.parse_args(["open"]).command is parser.parse_args([]).command
