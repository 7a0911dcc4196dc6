"""The steps of the workflow, and what CONTRIBUTING.md says of them, are commands that are there."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator

import pytest

from app.arguments.declared import build_parser
from tests.unit.packaging.conftest import PROJECT, Scripts

GITHUB = PROJECT / ".github"
WORKFLOW = GITHUB / "workflows" / "tests.yml"
FOREIGN = {"apt-get", "git", "lintian", "python3"}
"""Programs of the system that steps call."""


def choices(text: str) -> dict[str, list[str]]:
    """The values of each key that a matrix of the workflow lists."""
    found: dict[str, list[str]] = {}
    for key, values in re.findall(r"^ +(\w+): \[(.+)\]$", text, re.MULTILINE):
        found.setdefault(key, []).extend(re.findall(r'"([^"]+)"', values))
    for row in re.findall(r"- \{ (.+) \}$", text, re.MULTILINE):
        for pair in row.split(", "):
            key, _, value = pair.partition(": ")
            found.setdefault(key, []).append(value.strip('"'))
    return found


def steps() -> Iterator[list[str]]:
    """Each command of the workflow, once for each value that its matrix puts in."""
    text = WORKFLOW.read_text()
    lines = re.findall(r"^ +- run: (.*)$", text, re.MULTILINE)
    assert len(lines) == len(re.findall(r"\brun:", text)), "a step that is no plain command in one line"
    values = choices(text)
    for line in lines:
        names = re.findall(r"\$\{\{ matrix\.(\w+) \}\}", line)
        for chosen in itertools.product(*(values[name] for name in names)):
            command = line
            for name, value in zip(names, chosen, strict=True):
                command = command.replace(f"${{{{ matrix.{name} }}}}", value)
            words = shlex.split(command)
            yield words[1:] if words[0] == "sudo" else words


def documented() -> list[list[str]]:
    """The commands of the table in CONTRIBUTING.md."""
    text = (GITHUB / "CONTRIBUTING.md").read_text()
    return [shlex.split(each) for each in re.findall(r"^\| `(packaging/[^`]+)` \|", text, re.MULTILINE)]


def test_every_command_of_the_workflow_is_there() -> None:
    found = list(steps())
    assert len(found) > 25
    subcommands = build_parser().format_help()
    for words in found:
        if words[0].startswith("packaging/"):
            assert os.access(PROJECT / words[0], os.X_OK), words
            header = (PROJECT / words[0]).read_text().partition("\nset -e")[0]
            for option in words[1:]:
                assert not option.startswith("--") or option.partition("=")[0] in header, words
        elif words[0] == "pgfooting":
            assert words[1] == "--version" or re.search(rf"^ +{words[1]}\b", subcommands, re.MULTILINE), words
        else:
            assert words[0] in FOREIGN, words


def test_step_options_understood(scripts: Scripts) -> None:
    asked = [words[1:] for words in [*steps(), *documented()] if words[0] == "packaging/test"]
    assert len(asked) > 12
    program = (PROJECT / "packaging" / "test").read_text()
    functions = program.partition('ROOT="" MACHINE')[2].rpartition('main "$@"')[0]
    code = 'ROOT="" MACHINE' + functions + "\n"
    for options in asked:
        outcome = scripts.call(f"{code}read_arguments {shlex.join(options)}\necho ${{#ARGUMENTS[@]}}")
        assert (outcome.returncode, outcome.stdout) == (0, "0\n"), (options, outcome.stderr)


def test_contributing_matches_workflow() -> None:
    found, done = documented(), list(steps())
    assert len(found) > 6
    assert [words for words in found if words not in done] == []


def test_every_safe_tier_is_step() -> None:
    tiers = {
        tier
        for words in steps()
        for word in words
        if word.startswith("--only=")
        for tier in word.partition("=")[2].split(",")
    }
    assert tiers == {"lint", "unit", "gui", "bus", "postgres", "machine"}


@pytest.mark.parametrize("end", ["lowest", "newest"])
def test_both_ends_of_the_bounds_are_tried(end: str) -> None:
    assert ["packaging/test", f"--bounds={end}", "--only=unit,gui"] in list(steps())


def test_every_path_that_contributing_names_is_there() -> None:
    text = (GITHUB / "CONTRIBUTING.md").read_text()
    links = re.findall(r"\]\((\S+?)\)", text)
    assert links
    assert [link for link in links if not (GITHUB / link).exists()] == []
    named = re.findall(r"`((?:app|packaging|tests|ui|resources)(?:/[\w./-]+)?)[` ]", text)
    assert len(named) > 10
    assert [path for path in named if not (PROJECT / path).exists()] == []


def test_issue_form_commands_exist() -> None:
    form = (GITHUB / "ISSUE_TEMPLATE" / "mistake.yml").read_text()
    commands = re.findall(r"`pgfooting (\w+)[^`]*`", form)
    help_text = build_parser().format_help()
    assert commands
    assert [name for name in commands if not re.search(rf"^ +{name}\b", help_text, re.MULTILINE)] == []
