"""Asking whether a campaign file may run programs: on a terminal by a yes, else by --trust."""

from __future__ import annotations

import pytest

from app.campaign_file.trust import Concern
from app.cli.terminal.consent import TrustPrompt
from app.domain.errors import CancelledError, ExitStatus, RefusedError

SCRIPT = "\\shell touch x\n\x1b[2JSELECT 1;"
CONCERNS = (
    Concern("The setting archive_command ...", "archive_command = 'touch x'", ("one", "two")),
    Concern("The script /x.sql runs programs", SCRIPT, ("one",)),
    Concern("The script /x.sql wants a superuser", SCRIPT, ("one",)),
)


def _asked(*lines: str) -> TrustPrompt:
    given = iter(lines)

    def ask(_prompt: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    return TrustPrompt(ask=ask, can_ask=lambda: True)


@pytest.mark.parametrize("typed", ["yes\n", " YES "])
def test_everything_shown_yes_agrees(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    _asked(typed)(CONCERNS)
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("archive_command = 'touch x'", "in: one, two", "\\shell touch x", "SELECT 1;", "wants a"):
        assert words in shown.err
    assert "\x1b[2J" not in shown.err
    assert shown.err.count("touch x\n") == 1  # the script's text stands there once


@pytest.mark.parametrize("typed", ["", "\n", "y", "no", "yes please", "ja"])
def test_anything_else_is_a_no(typed: str) -> None:
    with pytest.raises(RefusedError, match="Nothing was done") as caught:
        _asked(typed)(CONCERNS)
    assert caught.value.exit_status == ExitStatus.REFUSED


def test_who_leaves_has_cancelled() -> None:
    with pytest.raises(CancelledError):
        _asked()(CONCERNS)


def test_no_terminal_refused_names_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RefusedError) as caught:
        TrustPrompt(can_ask=lambda: False)(CONCERNS)
    assert "--trust" in caught.value.hint
    assert "touch x" in capsys.readouterr().err


def test_option_agrees_and_still_shows(capsys: pytest.CaptureFixture[str]) -> None:
    TrustPrompt(trusted=True, can_ask=lambda: False)(CONCERNS)
    assert "touch x" in capsys.readouterr().err


def test_long_text_states_hidden_part(capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT 1;" + " " * 3000 + "\\shell hidden\n" + "SELECT 1;\n" * 300 + "\\shell hidden\n"
    TrustPrompt(trusted=True)((Concern("The script", text, ("one",)),))
    shown = capsys.readouterr().err
    assert "hidden" not in shown
    assert "102 more lines" in shown
    assert "1022 more characters" in shown
