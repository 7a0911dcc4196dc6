"""Completion in shells: bash really completes; zsh and fish read what is made, where they are here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app import TOP
from app.arguments.completion import SHELLS
from app.arguments.declared import build_parser
from tests.fix_runs import Shape, write_run

PARSER = build_parser()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What each shell reads, as a file."""
    folder = tmp_path_factory.mktemp("completion")
    made = {}
    for shell, lines in SHELLS.items():
        made[shell] = folder / shell
        made[shell].write_text("\n".join(lines(PARSER)) + "\n")
    return made


def completed(scripts: dict[str, Path], *words: str, folder: Path) -> set[str]:
    """Return what bash offers for the last of these words, as readline asks for it."""
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pgfooting; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    outcome = subprocess.run(
        ["bash", "-euc", code, "bash", str(scripts["bash"]), "pgfooting", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stderr == ""
    return set(outcome.stdout.split("\n")) - {""}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files to offer, and a library with two runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    library = tmp_path / "data" / "pgfooting" / "runs"
    library.mkdir(parents=True)
    for run_id in ("ab12cd34ab12cd34", "c0ffee00c0ffee00"):
        write_run(library / f"{run_id}.footing", Shape(1, seed=int(run_id, 16)))
    command = tmp_path / "bin" / "pgfooting"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={TOP} exec {sys.executable} -m app "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    (tmp_path / "a run.footing").touch()
    (tmp_path / "quack.toml").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("re",), {"recipes", "report", "replay"}),
        (("--v",), {"--version"}),
        (("run", "--pro"), {"--progress"}),
        (("run", "--progress", ""), {"auto", "json", "none"}),
        (("run", "--progress", "=", "j"), {"json"}),
        (("run", "--progress", "="), {"auto", "json", "none"}),
        (("run", "qu"), {"quick", "quack.toml"}),
        (("run", "--disks", ""), set()),
        (("show", "a"), {"a run.footing", "ab12cd34ab12cd34"}),
        (("compare", "x", "c"), {"c0ffee00c0ffee00"}),
        (("export", "--o"), {"--output"}),
        (("manual", "fi"), {"filesystems", "first-hour"}),
        (("recipes", "qui"), {"quick"}),
        (("completion", ""), {"bash", "zsh", "fish", "-h", "--help"}),
        (("help", "tem"), {"templates"}),
        (("export", "x", "--output", "a"), {"a run.footing"}),
        (("list", "--anon"), set()),
    ],
)
def test_bash_offers_what_may_be_typed(
    scripts: dict[str, Path], folder: Path, words: tuple[str, ...], offered: set[str]
) -> None:
    assert completed(scripts, *words, folder=folder) == offered


def test_bash_commands_and_options(scripts: dict[str, Path], folder: Path) -> None:
    assert completed(scripts, "", folder=folder) >= set(PARSER.commands)
    for name, each in PARSER.commands.items():
        assert completed(scripts, name, "--", folder=folder) == {*each.listed_options, "--help"}, name


@pytest.mark.parametrize(("shell", "option"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_shell_parses_completion(scripts: dict[str, Path], shell: str, option: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    outcome = subprocess.run(
        [program, option, str(scripts[shell])], capture_output=True, text=True, check=False
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_fish_offers_what_may_be_typed(scripts: dict[str, Path], folder: Path) -> None:
    program = shutil.which("fish")
    if program is None:
        pytest.skip("fish is not installed")
    code = f"source {str(scripts['fish'])!r}; complete -C 'pgfooting run --progress '"
    outcome = subprocess.run(
        [program, "--no-config", "-c", code],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {line.split("\t")[0] for line in outcome.stdout.splitlines()} == {"auto", "json", "none"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_commands_and_options(scripts: dict[str, Path], shell: str) -> None:
    text = scripts[shell].read_text()
    for name, each in PARSER.commands.items():
        assert name in text
        for option in each.listed_options:
            assert (f"-l {option[2:]}" if shell == "fish" else option) in text
