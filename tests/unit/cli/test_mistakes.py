"""Mistakes on the command line: each of a table is told, with what is allowed and what is near."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from app.arguments.completion import command_summaries
from app.arguments.declared import build_parser
from app.cli.main import main
from app.report.options import Section
from tests.cases import each_case
from tests.made_runs import finished_run, write_run

COMMANDS = [each.name for each in command_summaries(build_parser())]
TABLE = Path(__file__).resolve().parents[2] / "data" / "command_line" / "mistakes.tsv"


def rows() -> Iterator[tuple[str, int, str]]:
    """Yield what is typed, the exit status and what is told, of each line that is no remark."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            typed, status, sentence_expected = line.split("\t")
            yield typed, int(status), sentence_expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of two runs, a text file and a campaign that is none."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "lib").mkdir()
    finished_run(folder / "lib" / "a.footing")
    write_run(folder / "lib" / "b.footing", values={"id": "ab12ffff00001111"}).close()
    (folder / "there.csv").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    (folder / "empty").mkdir()
    return folder


def sentence(expected: str, folder: Path) -> str:
    """Return what is told before the usage, as one line."""
    lines = takewhile(lambda line: not line.startswith("usage: "), map(str.strip, expected.splitlines()))
    text = " ".join(lines).removeprefix("pgfooting: ").replace(str(folder), "{folder}")
    text = text.replace(f"Commands: {', '.join(COMMANDS)}.", "Commands: {commands}.")
    return text.replace(f"use one of {', '.join(Section)}.", "use one of {sections}.")


@each_case("typed status expected", list(rows()))
def test_mistake_sentence_and_status(
    typed: str,
    status: int,
    expected: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def never(*_: object) -> None:
        raise AssertionError(typed)

    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setattr(os, "execve", never)
    assert main(shlex.split(typed)) == status
    assert sentence(capsys.readouterr().err, folder) == expected


def test_table_size() -> None:
    typed = [each for each, _, _ in rows()]
    assert len(typed) == len(set(typed)) >= 150
