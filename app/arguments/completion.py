"""Generate completion for bash, zsh and fish from the parser: commands, options, and their values.

Sources: bash(1) “Programmable Completion”, zshcompsys(1) “_arguments”, fish complete(1). The generated
scripts run pgfooting only where the id of a run can follow: the run files contain the ids.

Also lists the parser's commands and arguments for manual page and manual. Pure.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import COMMAND, TOP
from app.arguments.parser import Parser
from app.domain.text import tr
from app.manual.markdown import marked_markdown, plain_markdown

_HELP: Final = "-h, --help"
"""An option of every command; the manual lists it once."""


@dataclass(frozen=True, slots=True)
class CommandSummary:
    """A command shown in the help.

    Attributes:
        name: as typed.
        help: its description in the help: without a capital and a full stop.
        parser: of its arguments.
    """

    name: str
    help: str
    parser: Parser

    @property
    def sentence(self) -> str:
        """Its description, as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:]}."


def command_summaries(parser: Parser) -> Iterator[CommandSummary]:
    """Yield the commands in the order of the help."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {each.dest: each.help or "" for each in action._choices_actions}  # noqa: SLF001
            yield from (
                CommandSummary(name, helps[name], each)
                for name, each in action.choices.items()
                if name in helps
            )


def argument_summaries(parser: Parser) -> Iterator[tuple[str, str]]:
    """Yield each argument as typed, with its help, which may be empty."""
    helper = parser._get_formatter()  # noqa: SLF001
    for action in parser._actions:  # noqa: SLF001
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        name = helper._format_action_invocation(action)  # noqa: SLF001
        yield name, helper._expand_help(action) if action.help else ""  # noqa: SLF001


def commands_as_markdown(parser: Parser) -> str:
    """Return every command with its arguments, a heading for each."""
    every = tr("Before every command")
    parts = [f"## {every}", _as_list(parser)]
    for each in command_summaries(parser):
        parts += [f"## {plain_markdown(f'{COMMAND} {each.name}')}", marked_markdown(each.sentence)]
        for text in (each.parser.description, _as_list(each.parser), each.parser.epilog):
            if text:
                parts.append(text if text.startswith("- ") else marked_markdown(text))
    if parser.epilog:
        status = tr("Exit status and environment")
        parts += [f"## {status}", marked_markdown(parser.epilog)]
    return "\n\n".join(parts)


def _as_list(parser: Parser) -> str:
    listed = {name: words for name, words in argument_summaries(parser) if name != _HELP or parser.commands}
    return "\n".join(
        f"- `{name}`: {marked_markdown(words)}" if words else f"- `{name}`" for name, words in listed.items()
    )


_RECIPES: Final = TOP / "resources" / "recipes"
_MANUAL: Final = TOP / "resources" / "manual"
_ID: Final = r's/^ *"id": "\([0-9a-f]*\)".*/\1/p'
_IDS: Final = f"timeout 5 {COMMAND} list --json 2>/dev/null | sed -n '{_ID}'"
"""Shell command that lists the ids of the runs."""


@dataclass(frozen=True, slots=True)
class Word:
    """An option, or a positional argument.

    Attributes:
        names: of an option; empty for a positional argument.
        help: its help.
        takes: whether a value follows.
        values: possible ones.
        files: whether file names are possible.
        runs: whether ids of runs are possible.
    """

    names: tuple[str, ...]
    help: str
    takes: bool
    values: tuple[str, ...] = ()
    files: bool = False
    runs: bool = False


def _words(parser: Parser, commands: tuple[str, ...]) -> Iterator[Word]:
    """Yield a command's options and arguments."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        values = tuple(map(str, action.choices or ()))
        metavar = str(action.metavar)
        if "RECIPE" in metavar:
            values = tuple(sorted(path.stem for path in _RECIPES.glob("*.toml")))
        elif metavar == "CHAPTER":
            values = tuple(sorted(path.stem for path in _MANUAL.glob("*.md")))
        elif metavar == "COMMAND" and not action.option_strings:
            values = commands
        files = action.type is Path or metavar in {"RUN", "CAMPAIGN.toml|RECIPE"}
        help_text = (action.help or "") % {"default": action.default}
        runs = metavar == "RUN"
        yield Word(tuple(action.option_strings), help_text, action.nargs != 0, values, files, runs)


def _options(words: list[Word]) -> list[str]:
    return [name for word in words for name in word.names]


def bash_completion(parser: Parser) -> Iterator[str]:
    """Yield the lines for bash."""
    commands = parser.commands
    yield f"# bash completion of {COMMAND}; made by `{COMMAND} completion bash`."
    yield f"""_{COMMAND}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command="" word known="" files=""
  # bash parts --option=value at the sign.
  if [[ $current == = ]]; then
    current=""
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    if [[ $word != -* ]]; then command=$word && break; fi
  done
  COMPREPLY=()
  case $command:$before in"""
    for name, each in commands.items():
        for word in _words(each, tuple(commands)):
            if word.names and word.takes:
                patterns = " | ".join(f"{name}:{option}" for option in word.names)
                files = "yes" if word.files else "no"
                yield f'    {patterns}) known="{" ".join(word.values)}" files={files} ;;'
    yield "  esac"
    yield "  if [[ -z $files ]]; then"
    yield "    case $command in"
    top = " ".join([*commands, *_options(list(_words(parser, ())))])
    yield f'      "") known="{top}" files=no ;;'
    for name, each in commands.items():
        words = list(_words(each, tuple(commands)))
        beside = [word for word in words if not word.names]
        known = " ".join([*_options(words), *(value for word in beside for value in word.values)])
        files = "yes" if any(word.files for word in beside) else "no"
        ids = f' && [[ $current == -* ]] || known+=" $({_IDS})"' if any(word.runs for word in beside) else ""
        yield f'      {name}) known="{known}" files={files}{ids} ;;'
    yield f"""    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$known" -- "$current")
  if [[ $files == yes && $current != -* ]]; then
    compopt -o filenames 2>/dev/null || true # not where a test calls this
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _{COMMAND} {COMMAND}"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_spec(word: Word) -> Iterator[str]:
    """Yield a word's specification for `_arguments`."""
    help_text = word.help.replace("\\", "\\\\")
    for sign in "[]:":
        help_text = help_text.replace(sign, f"\\{sign}")
    action = f"({' '.join(word.values)})" if word.values else ""
    if word.files:
        values = f"$({_IDS})" if word.runs else " ".join(word.values)
        action = f"{{compadd {values}; _files}}" if values else "_files"
    if not word.names:
        yield _quoted(f"*:value:{action}")
    for name in word.names:
        yield _quoted(f"{name}[{help_text}]" + (f":value:{action}" if word.takes else ""))


def zsh_completion(parser: Parser) -> Iterator[str]:
    """Yield the lines for zsh."""
    commands = parser.commands
    yield f"#compdef {COMMAND}"
    yield f"# zsh completion; made by `{COMMAND} completion zsh`."
    yield f"_{COMMAND}() {{"
    yield "  local -a commands=("
    yield from (f"    {_quoted(f'{each.name}:{each.help}')}" for each in command_summaries(parser))
    yield "  )"
    yield "  if (( CURRENT == 2 )); then"
    options = " ".join(spec for word in _words(parser, ()) for spec in _zsh_spec(word))
    yield f"    _describe command commands; _arguments {options}; return"
    yield "  fi"
    yield "  local command=$words[2]; shift words; (( CURRENT-- ))"
    yield "  case $command in"
    for name, each in commands.items():
        specs = " ".join(spec for word in _words(each, tuple(commands)) for spec in _zsh_spec(word))
        yield f"    {name}) _arguments {specs} ;;"
    yield "  esac"
    yield "}"
    yield f'if [[ $funcstack[1] == _{COMMAND} ]]; then _{COMMAND} "$@"; else compdef _{COMMAND} {COMMAND}; fi'


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_lines(condition: str, word: Word) -> Iterator[str]:
    line = f"complete -c {COMMAND} -n {_fish_quoted(condition)}"
    offered = f"({_IDS})" if word.runs else " ".join(word.values)
    values = f" -a {_fish_quoted(offered)}" if offered else ""
    if not word.names:
        yield f"{line}{' -F' if word.files else ' -f'}{values}"
        return
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in word.names)
    takes = (" -r -F" if word.files else " -x") if word.takes else " -f"
    yield f"{line}{names}{takes}{values} -d {_fish_quoted(word.help)}"


def fish_completion(parser: Parser) -> Iterator[str]:
    """Yield the lines for fish."""
    yield f"# fish completion of {COMMAND}; made by `{COMMAND} completion fish`."
    for command in command_summaries(parser):
        summary = _fish_quoted(command.help)
        yield f"complete -c {COMMAND} -n __fish_use_subcommand -f -a {command.name} -d {summary}"
    for word in _words(parser, ()):
        yield from _fish_lines("__fish_use_subcommand", word)
    for name, each in parser.commands.items():
        for word in _words(each, tuple(parser.commands)):
            yield from _fish_lines(f"__fish_seen_subcommand_from {name}", word)


SHELLS: Final[dict[str, Callable[[Parser], Iterator[str]]]] = {
    "bash": bash_completion,
    "zsh": zsh_completion,
    "fish": fish_completion,
}
