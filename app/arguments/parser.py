"""An argument parser with helpful messages: the mistake, the allowed values, the nearest one.

Options and arguments may come in any order. argparse reports most mistakes only as an English sentence; known
ones are recognised here, others are shown unchanged. Words that users try as commands are mapped to their
meaning.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

from typing_extensions import override

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr

_NUMBER: Final = re.compile(r"-\d*\.?\d+")
_LONGEST: Final = 80
"""Greatest number of typed characters in a message."""


class Parser(argparse.ArgumentParser):
    """An argument parser with our own error messages."""

    @property
    def commands(self) -> dict[str, Parser]:
        """The parsers of its commands, by name; empty without commands."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other way
                return dict(action.choices)
        return {}

    @property
    def listed_options(self) -> list[str]:
        """The long names of the options in its help, except help itself."""
        return [
            action.option_strings[-1]
            for action in self._actions
            if action.option_strings and action.help != argparse.SUPPRESS and action.dest != "help"
        ]

    @override
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        given = list(sys.argv[1:] if args is None else args)
        if self.commands:
            self._refuse_unknown(given[: _first_word(given)])
            return super().parse_known_args(given, namespace)
        options, words = self._parted(given)
        found, left = super().parse_known_args([*options, *words], namespace)
        if left:
            self._refuse_left(left)
        return found, []

    def _parted(self, given: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the options with their values, and the other words, which argparse needs together."""
        end = given.index("--") if "--" in given else len(given)
        options: list[str] = []
        words: list[str] = []
        rest = deque(given[:end])
        while rest:
            word = rest.popleft()
            if not _is_option(word):
                words.append(word)
                continue
            self._refuse_unknown([word])
            options.append(word)
            name, sign, value = word.partition("=")
            action = self._option_string_actions.get(name) or self._abbreviated(name)
            if sign:
                self._refuse_empty(action, value)
            elif action is not None:
                options += self._values(action, rest)
        # The dashes separate words from options that take several values.
        return options, ["--", *words, *given[end + 1 :]] if words or end < len(given) else []

    def _values(self, action: argparse.Action, rest: deque[str]) -> Iterator[str]:
        """Take the values of an option from the following words, and yield them."""
        most = {"+": len(rest), "*": len(rest), None: 1, "?": 1}.get(action.nargs, 0)  # type: ignore[arg-type]
        if action.nargs is None and (not rest or _is_option(rest[0])):
            raise UsageError(_without_value(self, action.option_strings[-1]), hint=self._usage())
        while most and rest and not _is_option(rest[0]):
            self._refuse_empty(action, rest[0])
            most -= 1
            yield rest.popleft()

    def _refuse_empty(self, action: argparse.Action | None, value: str) -> None:
        """Refuse an empty value of an option that names something: an empty variable of a script causes one.

        Free text (no metavar) may be empty, and so may a value if that differs from omitting the option.
        """
        if value or action is None or action.metavar is None:
            return
        if action.type is not None or action.default == "":
            raise UsageError(_without_value(self, action.option_strings[-1]), hint=self._usage())

    def _abbreviated(self, word: str) -> argparse.Action | None:
        """Return the option that a word abbreviates; None unless there is exactly one."""
        found = {
            id(each): each for name, each in self._option_string_actions.items() if name.startswith(word)
        }
        return next(iter(found.values())) if len(found) == 1 and word.startswith("--") else None

    def _knows(self, word: str) -> bool:
        name = word.partition("=")[0]
        known = self._option_string_actions
        if name.startswith("--"):
            return any(each.startswith(name) for each in known)
        return name in known or (word[:2] in known and known[word[:2]].nargs is None)

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        for word in words:
            if _is_option(word) and not self._knows(word):
                self._refuse_option(word.partition("=")[0][:_LONGEST])

    def _near_option(self, word: str) -> str:
        """Return a sentence naming the nearest option; the dashes, which all have, do not count."""
        names = {each.lstrip("-"): each for each in self.listed_options}
        near = difflib.get_close_matches(word.lstrip("-").casefold(), names, n=1, cutoff=0.6)
        return tr("Did you mean “{word}”?").format(word=names[near[0]]) if near else ""

    def _refuse_option(self, option: str) -> NoReturn:
        having = [name for name, each in self.commands.items() if option in each.listed_options]
        if having:
            message = tr("{option} must follow its command ({commands}).")
            sentence = message.format(option=option, commands=", ".join(having))
            raise UsageError(sentence, hint=self._usage())
        message = tr("“{command}” has no option {option}; its options are {known}.")
        if ":" in option:
            message = tr("To exclude runs, write the word after two dashes: {command} -- {option!q}.")
        sentence = message.format(command=self.prog, option=option, known=", ".join(self.listed_options))
        near = self._near_option(option)
        raise UsageError(_with(sentence, near), hint=self._usage())

    def _refuse_left(self, left: Sequence[str]) -> NoReturn:
        word = next(each for each in [*left, ""] if each != "--")[:_LONGEST]
        takes = ", ".join(_name(each) for each in self._get_positional_actions())
        if takes:
            message = tr("“{command}” takes {takes} and nothing more: “{word}” was not expected.")
        else:
            message = tr("“{command}” takes only options: “{word}” was not expected.")
        near = self._near_option(word)
        sentence = message.format(command=self.prog, takes=takes, word=word)
        raise UsageError(_with(sentence, near), hint=self._usage())

    @override
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        shown, known = str(value)[:_LONGEST], [str(each) for each in action.choices]
        near = did_you_mean(shown, known)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            message = tr("There is no command “{word}”. Commands: {known}.")
            near = near or self._near_option(shown)
        else:
            message = tr("{option} cannot be “{word}”. Allowed: {known}.")
        sentence = message.format(word=shown, known=", ".join(known), option=_name(action))
        raise UsageError(_with(sentence, near), hint=self._usage())

    @override
    def error(self, message: str) -> NoReturn:
        for pattern, reword in _REWORDED:
            found = pattern.fullmatch(message)
            if found is not None:
                raise UsageError(reword(self, *found.groups()), hint=self._usage())
        raise UsageError(message[:1].upper() + message[1:] + ".", hint=self._usage())

    def _usage(self) -> str:
        return self.format_usage().strip()

    def named(self, name: str) -> argparse.Action | None:
        """Return the option or argument with this name in argparse's messages."""
        parts = set(name.split("/"))
        for action in self._actions:
            if parts & {*action.option_strings, _name(action)}:
                return action
        return None


def _first_word(given: Sequence[str]) -> int:
    return next((at for at, word in enumerate(given) if not _is_option(word)), len(given))


def _is_option(word: str) -> bool:
    """Return whether argparse treats a word as an option."""
    if len(word) < 2 or word[0] != "-" or _NUMBER.fullmatch(word):
        return False
    return " " not in word.partition("=")[0]  # the value after the sign may have blanks


def _name(action: argparse.Action) -> str:
    if action.option_strings:
        return action.option_strings[-1]
    return action.metavar if isinstance(action.metavar, str) else action.dest


def _with(sentence: str, another: str) -> str:
    return f"{sentence} {another}".rstrip()


def _explained(parser: Parser, names: Sequence[str]) -> Iterator[str]:
    """Yield names with their help."""
    for name in names:
        action = parser.named(name)
        if action is None:
            yield name
            continue
        words = action.help % {"default": action.default} if action.help else ""
        value = action.metavar if action.option_strings and isinstance(action.metavar, str) else ""
        text = " ".join(filter(None, (_name(action), value)))
        yield f"{text}: {words}" if words else text


def _required(parser: Parser, names: str) -> str:
    message = tr("“{command}” needs {names}.")
    return message.format(command=parser.prog, names="; ".join(_explained(parser, names.split(", "))))


def _without_value(parser: Parser, name: str) -> str:
    action = parser.named(name)
    if action is not None and action.choices is not None:
        known = ", ".join(map(str, action.choices))
        return tr("{option} needs a value: {known}.").format(option=_name(action), known=known)
    return tr("A value is missing: {option}.").format(option=next(iter(_explained(parser, [name]))))


def _with_value(_parser: Parser, name: str, value: str) -> str:
    message = tr("{option} takes no value; write it without “{value}”.")
    return message.format(option=name.rpartition("/")[2], value=value[:_LONGEST])


def _excluded(_parser: Parser, one: str, other: str) -> str:
    return tr("{one} and {other} cannot be used together.").format(one=one, other=other)


def _ambiguous(_parser: Parser, option: str, known: str) -> str:
    message = tr("{option} is ambiguous: {known}.")
    return message.format(option=option, known=known)


def _wrong(_parser: Parser, name: str, sentence: str) -> str:
    end = "" if sentence.endswith(("?", ".")) else "."
    return f"{name.rpartition('/')[2]}: {sentence}{end}"


_REWORDED: Final[tuple[tuple[re.Pattern[str], Callable[..., str]], ...]] = (
    (re.compile(r"the following arguments are required: (.+)"), _required),
    (re.compile(r"argument (\S+): expected (?:one|at least one) argument"), _without_value),
    (re.compile(r"argument (\S+): ignored explicit argument '(.*)'"), _with_value),
    (re.compile(r"argument (\S+): not allowed with argument (\S+)"), _excluded),
    (re.compile(r"ambiguous option: (\S+) could match (.+)"), _ambiguous),
    (re.compile(r"argument (\S+): (.+)"), _wrong),
)
"""Messages of argparse (Lib/argparse.py), and the functions that replace them."""


# Parse values of options; invalid ones are explained.


def _number(text: str) -> float:
    """Return a number, or NaN for other text (and a typed "nan"), which fails every comparison."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def speed(text: str) -> float:
    """Return the recorded seconds that a replay shows per second."""
    value = _number(text)
    if not 0 < value < float("inf"):
        sentence = tr("“{text}” is not a speed; use a number above 0, such as 60")
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value


def percent(text: str) -> float:
    """Return a difference in percent; the sign is optional."""
    value = _number(text.removesuffix("%"))
    if not 0 < value <= 100:
        sentence = tr("“{text}” is not a difference; use a percentage above 0 and at most 100, such as 3%")
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value


def cut_s(text: str) -> float:
    """Return the seconds to exclude."""
    value = 0.0 if text == "none" else _number(text)
    if not 0 <= value < float("inf"):
        sentence = tr("“{text}” is not a duration; use seconds (0 or more), such as 30")
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value
