"""What sentences call the commands: as whoever reads them can type them."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache, partial
from pathlib import Path

import pytest

from app.arguments.declared import build_parser
from app.domain import text as command_names
from app.domain.text import (
    CALLED_VARIABLE,
    PACKAGED,
    PIPX_MARK,
    SPOKEN,
    called,
    name_commands,
    wheel_installer,
)
from tests.house import modules, source_of, tree_of

TOP = Path(__file__).resolve().parents[3]
TRANSLATED = {"tr", "trn"}
NAMES = re.compile(f"{SPOKEN.pattern}|packaging/(?:helper|run)")
LIST = "`pgfooting list` shows them, and sudo packaging/helper install, or `packaging/run`."


@cache
def spoken() -> tuple[tuple[str, str, bool], ...]:
    """Return where a sentence names a command, the sentence, and whether it goes through `tr`."""
    said = []
    for path in modules().values():
        if not NAMES.search(source_of(path)):
            continue
        tree = tree_of(path)
        skipped = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
        }  # documentation of code
        through = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TRANSLATED
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            found = node.value if isinstance(node, ast.Constant) and id(node) not in skipped else None
            if isinstance(node, ast.Constant) and isinstance(found, str) and NAMES.search(found):
                said.append((f"{path.relative_to(TOP)}:{node.lineno}", found, id(node) in through))
    return tuple(said)


def test_command_sentences_use_called_name() -> None:
    own = "app/domain/text.py"  # which says what is replaced
    unsaid = [where for where, _, through in spoken() if not through and not where.startswith(own)]
    assert unsaid == []


def test_named_commands_and_options_exist() -> None:
    known = {*build_parser().commands, "help", "version"}
    named = {(where, found["word"]) for where, text, _ in spoken() for found in SPOKEN.finditer(text)}
    assert len(named) > 15
    assert {each for each in named if each[1] not in known} == set()


def test_packaging_run_named() -> None:
    say = name_commands({CALLED_VARIABLE: "../checkout/packaging/run"}, Path("/srv/checkout"))
    assert say(LIST) == (
        "`../checkout/packaging/run list` shows them, and sudo ../checkout/packaging/helper install, "
        "or `../checkout/packaging/run`."
    )


def test_user_install_names_checkout() -> None:
    say = name_commands({CALLED_VARIABLE: "pgfooting"}, Path("/srv/check out"))
    assert say(LIST) == (
        "`pgfooting list` shows them, and sudo '/srv/check out/packaging/helper' install, "
        "or `'/srv/check out/packaging/run'`."
    )


def test_as_a_package_the_packages_are_named() -> None:
    say = name_commands({}, PACKAGED)
    assert say(LIST) == (
        "`pgfooting list` shows them, and sudo apt-get install pgfooting-helper, "
        "or `apt-get install pgfooting`."
    )
    assert say("See: sudo packaging/helper status") == "See: systemctl status pgfooting-helper"
    launcher = (TOP / "packaging" / "debian" / "pgfooting.launcher").read_text()
    assert f"PYTHONPATH={PACKAGED}" in launcher


class _Wheel:
    """What Python knows of pgFooting where pip put it in place."""

    requires = ("numpy<3,>=1.26", 'pypdf<8,>=5.4; extra == "window"', 'ruff; extra == "development"')


@pytest.mark.parametrize("by", ["pipx inject pgfooting", f"{sys.executable} -m pip install"])
def test_wheel_names_extras_and_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by.startswith("pipx"):
        (tmp_path / PIPX_MARK).touch()
    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: _Wheel())
    monkeypatch.setattr(command_names, "wheel_installer", partial(wheel_installer.__wrapped__, str(tmp_path)))
    say = name_commands({}, tmp_path)
    assert say(LIST) == (
        f"`pgfooting list` shows them, and sudo apt-get install pgfooting-helper, or `{by} 'pypdf<8,>=5.4'`."
    )
    assert say("See: sudo packaging/helper status") == "See: systemctl status pgfooting-helper"


def test_braces_in_python_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/srv/{name}/bin/python3")
    assert wheel_installer.__wrapped__(str(tmp_path)).startswith("python3 -m pip install")


def test_nobody_said_how_it_was_started() -> None:
    assert name_commands({})(LIST) == LIST
    assert called({}) == called({CALLED_VARIABLE: ""}) == "pgfooting"


@pytest.mark.parametrize("hostile", ["a{b}/packaging/run", "a\x1b[2J/packaging/run"])
def test_hostile_command_name_ignored(hostile: str) -> None:
    assert called({CALLED_VARIABLE: hostile}) == "pgfooting"
    assert "pgfooting list" in name_commands({CALLED_VARIABLE: hostile})(LIST)


@pytest.mark.parametrize(
    "text", ["~/.config/pgfooting/x", "pgfooting-helper is", "pgfooting: A", "apgfooting list"]
)
def test_what_only_looks_like_the_command_stays(text: str) -> None:
    assert name_commands({CALLED_VARIABLE: "x/run"})(text) == text
