"""`pgfooting compare` as its caller sees it."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest

from app.cli import main as command
from app.library.scan import LibraryIndex, LibraryScan, index_path
from tests.fix_window import Trial, write_bad_files, write_campaign, write_matrix, write_trial
from tests.hostile_files import REFUSED

pytestmark = pytest.mark.usefixtures("own_folders")

Capture = pytest.CaptureFixture[str]


def call(*arguments: object) -> int:
    return command.main(["compare", *map(str, arguments)])


def test_compare_campaign_folder(tmp_path: Path, capsys: Capture) -> None:
    paths = write_campaign(tmp_path)
    assert call(paths[0].parent) == 0
    output = capsys.readouterr().out
    assert "Target, filesystem: ext4 (ext4); xfs (xfs)" in output
    assert "xfs is 10 % faster than ext4 (95 % CI" in output
    assert output.index("xfs is") < output.index("Differences") < output.index("Each run separately")
    assert "p99 ms" in output
    assert "4.25 ms" in output


def test_runs_by_path_baseline_by_name(tmp_path: Path, capsys: Capture) -> None:
    paths = write_campaign(tmp_path)
    assert call(*paths, "--baseline", "xfs", "--effect", "5", "--cut", "none") == 0
    assert "ext4 is 9.1 % slower than xfs" in capsys.readouterr().out


def test_single_run_matrix_table_and_sentences(tmp_path: Path, capsys: Capture) -> None:
    assert call(write_matrix(tmp_path)[0].parent, "--details") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert output.index("Which") < output.index("Ranking") < output.index("Each run separately")
    assert "btrfs -20 %" in output


def test_matrix_begins_with_answers(tmp_path: Path, capsys: Capture) -> None:
    folder = write_matrix(tmp_path)[0].parent
    assert call(folder) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Which filesystem? ext4")
    assert len(lines) < 40
    assert any("no verdict" in line.casefold() for line in lines), "verdicts of few conditions"
    heads = [line.split() for line in lines if line.split()[1:] and line.split()[0] == "ext4"]
    assert heads


def test_query_chooses_from_folder_or_library(tmp_path: Path, capsys: Capture) -> None:
    folder = write_matrix(tmp_path)[0].parent
    assert call(folder, "filesystem:ext4 fs:btrfs max_wal_size:10GB", "--json") == 0
    of_folder = [run["name"] for run in json.loads(capsys.readouterr().out)["runs"]]
    assert call("fs:ext4", "fs:btrfs", "max_wal_size:10GB", "--library", tmp_path, "--json") == 0
    assert [run["name"] for run in json.loads(capsys.readouterr().out)["runs"]] == of_folder
    assert len(of_folder) == 2


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("fs:zfs", "No run here has fs:zfs; runs here have"),
        ("max_wal_sise:10GB", "Did you mean “max_wal_size:”?"),
        ("fs:ext4 max_wal_size:10GB", "needs at least two runs"),
    ],
)
def test_query_without_two_runs(tmp_path: Path, capsys: Capture, query: str, words: str) -> None:
    assert call(write_matrix(tmp_path)[0].parent, query) == 2
    assert words in capsys.readouterr().err


def test_single_runs_beside_library_spread(tmp_path: Path, capsys: Capture) -> None:
    library = tmp_path / "library"
    write_campaign(library, repeats=5)
    list(LibraryScan(library, index=LibraryIndex(index_path(library))).read())
    assert call(write_matrix(tmp_path)[0].parent, "--library", library, "--details") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "10 similar runs of 2 configurations in this library vary by" in output


def test_json_is_one_object(tmp_path: Path, capsys: Capture) -> None:
    assert call(*write_campaign(tmp_path), "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["version"], output["configurations"][1]["verdict"]) == (1, "higher")


def test_hostile_names_are_plain_text(tmp_path: Path, capsys: Capture) -> None:
    name = "[red]x[/red] \x1b]0;owned\x07<b>"
    one = write_trial(tmp_path / "a.footing", Trial(name, name, campaign=name))
    assert call(one, write_trial(tmp_path / "b.footing", Trial())) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "[red]x[/red]" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["A", "A"], "needs at least two runs"),
        (["A", "B", "--baseline", "zfs"], "has the configuration “zfs”"),
    ],
)
def test_usage_errors_suggest_remedy(
    tmp_path: Path, capsys: Capture, arguments: list[str], words: str
) -> None:
    a, b, *_ = write_campaign(tmp_path)
    stands_for = {"A": str(a), "B": str(b)}
    assert call(*(stands_for.get(word, word) for word in arguments)) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("bad", ["text", "cut", "newer"])
def test_unreadable_file_named(tmp_path: Path, capsys: Capture, bad: str) -> None:
    good = write_campaign(tmp_path / "good")[0]
    path = write_bad_files(tmp_path / "bad")[bad]
    assert call(good, path) == 1
    assert bad in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_bad_file_named_others_compared(tmp_path: Path, capsys: Capture, arguments: tuple[str, ...]) -> None:
    folder = write_campaign(tmp_path)[0].parent
    os.mkfifo(folder / "00-a.footing")
    REFUSED["a trigger"](write_trial(folder / "00-b.footing", Trial()))
    assert call(folder, *arguments) == 1
    printed = capsys.readouterr()
    assert [line.split(": ")[1] for line in printed.err.splitlines()] == ["Skipped", "Skipped"]
    assert "00-a.footing is not a regular file" in printed.err
    assert "its trigger “t” is not part of format 1" in printed.err
    assert "xfs is 10 % faster than ext4" in printed.out or '"higher"' in printed.out


def test_read_only_library(tmp_path: Path, capsys: Capture) -> None:
    paths = write_campaign(tmp_path)
    for path in paths:
        path.chmod(0o400)
    paths[0].parent.chmod(0o500)
    try:
        assert call(paths[0].parent) == 0
    finally:
        paths[0].parent.chmod(0o700)
    assert "xfs is 10 % faster" in capsys.readouterr().out


def write_conditions(folder: Path, **clients: tuple[int, ...]) -> None:
    """Write three runs of each filesystem with each number of clients, of one campaign."""
    for repeat, (filesystem, numbers) in product(range(3), clients.items()):
        for number in numbers:
            name = f"{filesystem} {number:02}"
            trial = Trial(
                f"{name} #{repeat + 1}",
                name,
                repeat,
                tps=(1000 if filesystem == "ext4" else 1100) * number + repeat,
                filesystem=filesystem,
                more={"workload": {"label": "tpcb-like", "clients": number, "threads": 1}},
            )
            write_trial(folder / f"{name} {repeat}.footing", trial)


def test_conditions_are_told_apart(tmp_path: Path, capsys: Capture) -> None:
    write_conditions(tmp_path, ext4=(4, 16), xfs=(4, 16))
    assert call(tmp_path) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "clients 4: xfs 04 is 10 % faster" in output
    assert "clients 16: xfs 16 is 10 % faster" in output
    assert "times as fast" not in output
    assert call(tmp_path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["conditions"]] == ["clients 4", "clients 16"]
    assert [each["configurations"] for each in found["conditions"]] == [[0, 1], [2, 3]]
    assert (found["asked"], found["fastest"]) == (None, None)
    assert ["verdict" in each for each in found["configurations"]] == [False, True, False, True]


def test_requested_condition_compared(tmp_path: Path, capsys: Capture) -> None:
    write_conditions(tmp_path, ext4=(4, 16), xfs=(4, 16))
    assert call(tmp_path, "--across", "clients") == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "ext4 16 is 4.0 times as fast as ext4 04" in output
    assert "xfs 16 is 4.0 times as fast as xfs 04" in output
    assert "xfs 16 is 4.4 times" not in output


def test_one_footing_compares_condition_levels(tmp_path: Path, capsys: Capture) -> None:
    write_conditions(tmp_path, ext4=(4, 16))
    assert call(tmp_path) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "The configurations differ in one condition, clients" in output
    assert "ext4 16 is 4.0 times as fast as ext4 04" in output


def test_transactions_are_no_condition_to_ask_about(tmp_path: Path, capsys: Capture) -> None:
    write_conditions(tmp_path, ext4=(4,))
    assert call(tmp_path, "--across", "transactions") == 2
    assert "Known: scale, machine, clients" in capsys.readouterr().err
