"""The command line: what may be left out, what may stand anywhere, and which words still work."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.arguments.declared import build_parser
from app.cli.main import with_command
from app.domain.errors import UsageError

COMMANDS = list(build_parser().commands)


@pytest.mark.parametrize("word", ["a.footing", "no/where.footing", "ab12", "0123456789abcdef"])
def test_bare_run_path_or_id_opens(word: str) -> None:
    assert with_command([word], COMMANDS) == ["open", word]
    assert with_command([word, "b.footing"], COMMANDS) == ["open", word, "b.footing"]


def test_bare_folder_opens_unless_near_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("measured", "reports"):
        (tmp_path / name).mkdir()
    assert with_command(["measured"], COMMANDS) == ["open", "measured"]
    assert with_command(["./reports"], COMMANDS) == ["open", "./reports"]
    assert with_command(["reports"], COMMANDS) == ["reports"]


@pytest.mark.parametrize("given", [[], ["list"], ["--help"], ["run", "ab12"], ["nonsense"]])
def test_command_or_unknown_word_unchanged(given: list[str]) -> None:
    assert with_command(given, COMMANDS) == given


def test_bare_recipe_suggests_run() -> None:
    with pytest.raises(UsageError, match="run quick"):
        with_command(["quick"], COMMANDS)


def test_options_before_between_and_after() -> None:
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


def test_optional_value_does_not_swallow_option() -> None:
    assert build_parser().parse_args(["doctor", "--options", "--json"]).options == "all"
    assert build_parser().parse_args(["doctor", "--options", "zfs", "--json"]).options == "zfs"


@pytest.mark.parametrize("command", [["run", "a"], ["import", "a"]])
def test_library_option_and_old_name(command: list[str]) -> None:
    assert build_parser().parse_args([*command, "--library", "x"]).library == Path("x")
    assert build_parser().parse_args([*command, "--output", "x"]).library == Path("x")
    assert "--output" not in build_parser().commands[command[0]].format_help()


def test_library_option_on_every_run_command() -> None:
    without = {
        name for name, each in build_parser().commands.items() if "--library" not in each.listed_options
    }
    assert without == {"recipes", "disks", "templates", "doctor", "manual", "completion", "help"}


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser()
    assert parser.parse_args(["help"]).command(parser.parse_args(["help"])) == 0
    assert "commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parser.parse_args(["help", "list"]).command(parser.parse_args(["help", "list"]))
    assert "usage: pgfooting list" in capsys.readouterr().out


def test_first_command_suggested() -> None:
    assert "`pgfooting run quick`" in build_parser().format_help()


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        (["report", "a", "-o", "b.pdf", "--author="], "author", ""),
        (["report", "a", "-o", "b.pdf", "--title", ""], "title", ""),
        (["run", "quick", "--when-done", ""], "when_done", ""),
    ],
)
def test_empty_value_of_text_and_negation(typed: list[str], name: str, value: str) -> None:
    assert vars(build_parser().parse_args(typed))[name] == value
