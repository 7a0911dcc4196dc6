"""The command line: what may be left out, what may stand anywhere, and which words still work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.arguments.declared import build_parser
from app.arguments.parser import MEANT
from app.cli.main import with_command
from app.domain.errors import UsageError

COMMANDS = list(build_parser().commands)


@pytest.mark.parametrize("word", ["a.footing", "no/where.footing", "ab12", "0123456789abcdef"])
def test_a_run_file_or_an_id_alone_is_opened(word: str) -> None:
    assert with_command([word], COMMANDS) == ["open", word]
    assert with_command([word, "b.footing"], COMMANDS) == ["open", word, "b.footing"]


def test_a_folder_alone_is_opened_but_where_its_name_is_nearly_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("measured", "reports"):
        (tmp_path / name).mkdir()
    assert with_command(["measured"], COMMANDS) == ["open", "measured"]
    assert with_command(["./reports"], COMMANDS) == ["open", "./reports"]
    assert with_command(["reports"], COMMANDS) == ["reports"]


@pytest.mark.parametrize("given", [[], ["list"], ["--help"], ["run", "ab12"], ["nonsense"]])
def test_what_names_a_command_or_no_run_stays_as_it_is(given: list[str]) -> None:
    assert with_command(given, COMMANDS) == given


def test_a_campaign_alone_is_not_measured_unasked() -> None:
    with pytest.raises(UsageError, match="run quick"):
        with_command(["quick"], COMMANDS)


def test_options_stand_before_between_and_after_what_they_belong_to() -> None:
    for typed in (
        "--quick a b --progress json",
        "a --progress json b --quick",
        "--progress=json --quick a b",
    ):
        found = build_parser().parse_args(["run", *typed.split()])
        assert (found.campaigns, found.quick, found.progress) == (["a", "b"], True, "json")


def test_words_behind_two_dashes_are_no_options() -> None:
    found = build_parser().parse_args(["list", "--json", "fs:xfs", "--", "-state:failed", "--json"])
    assert found.words == ["fs:xfs", "-state:failed", "--json"]
    assert found.json


def test_an_option_whose_value_may_be_left_out_takes_no_other_option_for_it() -> None:
    assert build_parser().parse_args(["doctor", "--options", "--json"]).options == "all"
    assert build_parser().parse_args(["doctor", "--options", "zfs", "--json"]).options == "zfs"


@pytest.mark.parametrize("command", [["run", "a"], ["import", "a"]])
def test_the_library_is_called_so_by_all_commands_and_its_old_name_is_understood(command: list[str]) -> None:
    assert build_parser().parse_args([*command, "--library", "x"]).library == Path("x")
    assert build_parser().parse_args([*command, "--output", "x"]).library == Path("x")
    assert "--output" not in build_parser().commands[command[0]].format_help()


def test_every_command_that_reads_or_writes_runs_takes_the_library() -> None:
    without = {name for name, each in build_parser().commands.items() if "--library" not in each.told_options}
    assert without == {"recipes", "disks", "templates", "doctor", "manual", "completion", "help"}


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser()
    assert parser.parse_args(["help"]).command(parser.parse_args(["help"])) == 0
    assert "commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parser.parse_args(["help", "list"]).command(parser.parse_args(["help", "list"]))
    assert "usage: pgfooting list" in capsys.readouterr().out


def test_what_is_meant_by_a_word_begins_with_a_command_that_there_is_and_the_word_is_none() -> None:
    commands = build_parser().commands
    assert {each.split()[0] for each in MEANT.values()} <= commands.keys()
    assert not MEANT.keys() & commands.keys()


def test_what_to_type_first_is_named() -> None:
    assert "`pgfooting run quick`" in build_parser().format_help()
    with pytest.raises(UsageError, match=re.escape("Did you mean “run quick”?")):
        build_parser().parse_args(["--headless"])


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        (["report", "a", "-o", "b.pdf", "--author="], "author", ""),
        (["report", "a", "-o", "b.pdf", "--title", ""], "title", ""),
        (["run", "quick", "--when-done", ""], "when_done", ""),
    ],
)
def test_words_of_a_person_and_what_is_switched_off_by_it_may_be_empty(
    typed: list[str], name: str, value: str
) -> None:
    assert vars(build_parser().parse_args(typed))[name] == value
