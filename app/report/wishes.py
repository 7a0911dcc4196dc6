"""What whoever writes a report wants of it: words of their own, which sections in which order. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr

_WORDS: Final = ("title", "author", "purpose", "conclusion")


class Section(StrEnum):
    """A part of a report behind its first page; its value is the word that asks for it."""

    DIFFERENCES = "differences"
    VERDICTS = "verdicts"
    PHASES = "phases"
    TIME = "time"
    COSTS = "costs"
    CONFIGURATIONS = "configurations"
    RUNS = "runs"
    METHOD = "method"
    ENVIRONMENT = "environment"
    COMMANDS = "commands"
    TAKE_WITH_YOU = "take-with-you"


SECTION_LABELS: Final = MappingProxyType(
    {
        Section.DIFFERENCES: tr("What differs"),
        Section.VERDICTS: tr("All verdicts and reservations"),
        Section.PHASES: tr("Each phase for itself"),
        Section.TIME: tr("All runs over time"),
        Section.COSTS: tr("Latency and cost of a transaction"),
        Section.CONFIGURATIONS: tr("Each configuration"),
        Section.RUNS: tr("List of runs"),
        Section.METHOD: tr("Method and words"),
        Section.ENVIRONMENT: tr("Machine, server and settings"),
        Section.COMMANDS: tr("Exact commands"),
        Section.TAKE_WITH_YOU: tr("Take it with you"),
    }
)
"""What people read of each section."""

DEFAULT_SECTIONS: Final = tuple(each for each in Section if each is not Section.COMMANDS)
"""Commands fill pages, and are in a file that the PDF carries anyway."""


@dataclass(frozen=True, slots=True)
class ReportWishes:
    """What is wanted of a report; as it comes it has the words of the program only.

    Attributes:
        title: instead of the campaign's name; empty for that.
        author: under the title, and in the properties of the file; empty for none.
        purpose: why it was measured, in the author's words; empty for none.
        conclusion: what follows from it, in the author's words, a paragraph a line; empty for none.
        sections: behind the first page, in order, each at most once.
        anonymous: whether serials, host, user, folders and other names are replaced.
    """

    title: str = ""
    author: str = ""
    purpose: str = ""
    conclusion: str = ""
    sections: tuple[Section, ...] = DEFAULT_SECTIONS
    anonymous: bool = False


AS_IT_COMES: Final = ReportWishes()


def read_sections(words: Iterable[str]) -> tuple[Section, ...]:
    """Return the sections by the words that ask for them, each once.

    Raises:
        UsageError: there is no such section.
    """
    known = [each.value for each in Section]
    found: dict[Section, None] = {}
    for word in words:
        if word not in known:
            message = tr("“{word}” is no section of a report; known are {known}.")
            told = message.format(word=word, known=", ".join(known))
            raise UsageError(told, hint=did_you_mean(word, known))
        found[Section(word)] = None
    return tuple(found)


# --- As arguments: added, read, and handed on to the painter's process.


def add_wishes(parser: argparse.ArgumentParser) -> None:
    """Add the words of the author and the choice of sections."""
    parser.add_argument("--title", default="", help=tr("instead of the campaign's name"))
    parser.add_argument("--author", default="", help=tr("under the title, and in the properties of the file"))
    parser.add_argument("--purpose", default="", help=tr("why it was measured, in your words"))
    parser.add_argument("--conclusion", default="", help=tr("what follows from it, in your words"))
    words = tr(
        "behind the first page, in this order, with commas: {known}; all but commands as it comes; the "
        "list of runs is always there"
    )
    parser.add_argument(
        "--sections",
        default=",".join(DEFAULT_SECTIONS),
        metavar="NAME,...",
        help=words.format(known=", ".join(Section)),
    )


def wishes_of(arguments: argparse.Namespace) -> ReportWishes:
    """Return what was asked for.

    Raises:
        UsageError: there is no such section.
    """
    sections = (word.strip() for word in arguments.sections.split(","))
    return ReportWishes(
        **{name: getattr(arguments, name) for name in _WORDS},
        sections=read_sections(filter(None, sections)),
        anonymous=arguments.anonymous,
    )


def wish_argv(wishes: ReportWishes) -> list[str]:
    """Return the arguments that `add_wishes` and `wishes_of` read as the same wishes, but for `anonymous`."""
    return [
        *(f"--{name}={getattr(wishes, name)}" for name in _WORDS),
        f"--sections={','.join(wishes.sections)}",
    ]
