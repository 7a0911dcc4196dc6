"""What whoever writes a report wants of it: words of their own, which sections in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr


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
