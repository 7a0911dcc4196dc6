"""What `pgfooting compare` prints on terminals of any width, of few runs and of many, of any name."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.analysis.facts import RunFacts, read_run_facts
from app.cli import main as command
from app.cli.commands.runs import compare
from app.terminal.plain_text import plain
from tests.fix_window import write_matrix
from tests.made_matrix import made_run

pytestmark = pytest.mark.usefixtures("own_folders")

STYLE = re.compile(r"\x1b\[[0-9;]*m")
Printed = Callable[..., list[str]]


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return what prints the comparison of made-up runs on a terminal of a width, and returns its lines."""

    def compared(facts: Sequence[RunFacts], width: int = 100, *options: str) -> list[str]:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        by_name = {f"{number:04}": run for number, run in enumerate(facts)}
        for name in by_name:
            (tmp_path / f"{name}.footing").touch()
        monkeypatch.setattr(compare, "read_run_facts", lambda path, **_: by_name[path.stem])
        assert command.main(["compare", str(tmp_path), *options]) == 0
        lines = STYLE.sub("", capsys.readouterr().out).splitlines()
        assert max(cell_len(line) for line in lines if " " in line) <= width, "but paths are not broken"
        return lines

    return compared


def made(*levels: Sequence[str], names: Sequence[str] = ("filesystem", "RAID", "scale")) -> list[RunFacts]:
    return [
        made_run(dict(zip(names, values, strict=False)), 1000.0 + 10 * number)
        for number, values in enumerate(product(*levels))
    ]


def numbered(word: str, count: int) -> list[str]:
    return [f"{word}{number}" for number in range(count)]


def test_110_configurations_fit_60_lines(printed: Printed) -> None:
    facts = made(numbered("fs", 5), numbered("raid", 11), ("10", "100"))
    assert len(facts) == 110
    assert len(printed(facts)) <= 60


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_wider_than_the_terminal(printed: Printed, width: int) -> None:
    facts = made(numbered("filesystem", 12), ("mirror", "stripe"), ("10", "100"))
    text = "\n".join(printed(facts, width))
    assert all(f"{run.summary['tps']:,.0f}" in text for run in facts), "no number is cut or left out"


def test_list_of_many_configurations(printed: Printed) -> None:
    assert printed(made(numbered("filesystem", 20), ("10", "100"), names=("filesystem", "scale")), 60)


@pytest.mark.parametrize("options", [(), ("--details",)])
def test_300_characters_of_a_name(printed: Printed, options: tuple[str, ...]) -> None:
    words = "a name of many words " * 15
    assert printed(made((words, "x" * 300), ("mirror", "stripe")), 60, *options)


def test_seven_factors_in_one_table(printed: Printed) -> None:
    names = ("filesystem", "RAID", "wal_level", "wal_compression", "fsync", "jit", "work_mem")
    lines = printed(made(*(("a", "b"),) * 7, names=names), 80)
    assert lines[0].startswith("Which ")


@pytest.mark.long
def test_1000_configurations(printed: Printed) -> None:
    facts = made(numbered("fs", 10), numbered("raid", 10), numbered("", 10))
    assert len(facts) == 1000
    assert len(printed(facts)) <= 160


def test_conditions_with_nothing_in_common(printed: Printed) -> None:
    facts = [made_run({"filesystem": "ext4", "scale": str(scale)}, 1000.0 + scale) for scale in (1, 2, 3)]
    assert any("condition" in line for line in printed(facts, 60))


def test_holes_and_thirty_runs_beside_one(printed: Printed) -> None:
    facts = made(("ext4", "xfs", "zfs"), ("mirror", "stripe", "raid10"))[:-1]
    many = [made_run({"filesystem": "zfs", "RAID": "mirror"}, 900.0 + at, repeat=at) for at in range(1, 30)]
    lines = printed([*facts, *many], 60)
    [row] = [line.split() for line in lines if line.startswith("raid10")]
    assert len(row) == 3, "the name and the two that were measured"


def test_query_that_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_matrix(tmp_path)[0].parent
    assert command.main(["compare", str(folder), "scale:777"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "None of the 8 runs" in told
    assert "matches: scale:777" in told


def test_two_runs_of_one_configuration(printed: Printed) -> None:
    facts = [made_run({"filesystem": "ext4"}, 1000.0, repeat=repeat) for repeat in range(2)]
    assert printed(facts, 60)


def test_best_of_a_row_bold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(write_matrix(tmp_path)[0].parent)
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    assert command.main(["compare", folder]) == 0
    output = capsys.readouterr().out
    assert re.search(r"\x1b\[1m *[\d,]+\x1b\[0m", output)
    monkeypatch.setenv("TERM", "dumb")
    assert command.main(["compare", folder]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_terminal_without_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write_matrix(tmp_path)[0].parent
    for name, value in (("LC_ALL", "C"), ("NO_COLOR", "1"), ("COLUMNS", "60")):
        monkeypatch.setenv(name, value)
    assert command.main(["compare", str(folder)]) == 0
    assert capfd.readouterr().out.startswith("Which filesystem? ext4")


@pytest.mark.parametrize("left", [0, 1, 7])
def test_runs_vanish_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], left: int
) -> None:
    paths = write_matrix(tmp_path)

    def read(path: Path, *, whole: bool) -> RunFacts:
        for gone in paths[left:]:
            gone.unlink(missing_ok=True)
        return read_run_facts(path, whole=whole)

    monkeypatch.setattr(compare, "read_run_facts", read)
    assert command.main(["compare", str(paths[0].parent)]) == 1
    printed = capsys.readouterr()
    assert "cannot be read" in printed.err
    assert bool(printed.out) is (left > 1)


def test_empty_folder_has_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["compare", str(tmp_path)]) == 2
    assert "No runs in" in capsys.readouterr().err


def test_sentences_without_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "“Chance” \N{EN DASH} 5\u00a0%, ≥ 2 \N{MULTIPLICATION SIGN} …"
    assert plain(said) == said
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="iso-8859-1"))
    assert plain(said) == '"Chance" - 5 %, >= 2 x ...'
