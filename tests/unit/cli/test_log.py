"""PGFOOTING_LOG: what is told of which rooms, to whom."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import UsageError
from app.terminal import log
from app.terminal.log import EVERYTHING, parse_levels, rooms
from tests.fix_forked import Command

TOP = Path(__file__).resolve().parents[3]
DEBUG, INFO, ERROR = logging.DEBUG, logging.INFO, logging.ERROR
HOSTILE = "a\x1b]0;owned\x07.footing"


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", {}),
        (" , ", {}),
        ("debug", {EVERYTHING: DEBUG}),
        ("DEBUG", {EVERYTHING: DEBUG}),
        ("storage", {"app.storage": DEBUG}),
        ("storage,execution:debug", {"app.storage": DEBUG, "app.execution": DEBUG}),
        ("storage, execution:info , dbus", {"app.storage": INFO, "app.execution": INFO, "app.dbus": DEBUG}),
        ("error,library:info", {EVERYTHING: ERROR, "app.library": INFO}),
        ("wizard:info", {"ui.wizard": INFO}),
        ("report:info", {"app.report": INFO, "ui.report": INFO}),
    ],
)
def test_words_are_levels_and_rooms_with_levels(text: str, levels: dict[str, int]) -> None:
    assert parse_levels(text) == levels


@pytest.mark.parametrize(
    "text", ["loud", "runs:debug", "storage:loud", "storage:", ":debug", "storage=debug"]
)
def test_unknown_room_or_level_lists_known(text: str) -> None:
    with pytest.raises(UsageError, match="PGFOOTING_LOG") as caught:
        parse_levels(text)
    assert "debug, info, warning, error" in caught.value.hint
    assert "execution" in caught.value.hint


def test_every_logger_in_a_room() -> None:
    """A logger is named after its module, so that the name of its room chooses it."""
    loggers = {name for names in rooms().values() for name in names}
    for path in {*TOP.glob("app/*/**/*.py"), *TOP.glob("ui/**/*.py")} - {Path(log.__file__)}:
        text = path.read_text(encoding="utf-8")
        if "getLogger(" in text:
            assert "getLogger(__name__)" in text or "pgfooting.audit" in text, path
            room = ".".join(path.relative_to(TOP).with_suffix("").parts[:2])
            assert room in loggers, path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / HOSTILE).write_text("no run file " * 20)
    return folder


def listed(command: Command, library: Path, asked: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PGFOOTING_LOG"}
    folders = {f"XDG_{name}_HOME": str(library.parent / name) for name in ("DATA", "STATE", "CACHE")}
    chosen = {} if asked is None else {"PGFOOTING_LOG": asked}
    return command(
        "list", "--json", "--library", str(library), environment={**environment, **folders, **chosen}
    )


@pytest.mark.parametrize("asked", ["debug", "library", "analysis,library:debug"])
def test_chosen_rooms_log_to_stderr(command: Command, library: Path, asked: str) -> None:
    ended = listed(command, library, asked)
    assert ended.returncode == 0
    assert " DEBUG app.library.entries: " in ended.stderr
    assert "\\x1b]0;owned" in ended.stderr
    assert "\x1b" not in ended.stderr
    assert ended.stdout == listed(command, library, None).stdout


@pytest.mark.parametrize("asked", [None, "", "info", "library:error", "storage,dbus:debug"])
def test_other_rooms_are_silent(command: Command, library: Path, asked: str | None) -> None:
    assert listed(command, library, asked).stderr == ""


def test_started_program_logged_with_exit(caplog: pytest.LogCaptureFixture) -> None:
    from app.process.starter import current_account, run_command, spawn  # noqa: PLC0415

    caplog.set_level(DEBUG, "app.process")
    run_command(("true", "a b"), account=current_account(), timeout_s=60, record=lambda _: None)
    assert "true 'a b', as " in caplog.messages[-1]
    assert ": 0, " in caplog.messages[-1]
    process = spawn(("true",), account=current_account(), death_signal=9)  # type: ignore[arg-type]
    process.wait()
    assert caplog.messages[-1].endswith(f": process {process.pid}")


@pytest.mark.parametrize("program", [["app", "list"], ["ui"], ["ui", "--version"]])
def test_window_and_cli_refuse_unknown(program: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", *program],
        cwd=TOP, env={**os.environ, "PGFOOTING_LOG": "loud"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("pgfooting: PGFOOTING_LOG contains “loud”")
