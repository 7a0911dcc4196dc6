"""The options of a report: the author's own texts, the sections and their order. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from app.domain.errors import UsageError, did_you_mean
from app.domain.text import tr

_WORDS: Final = ("title", "author", "purpose", "conclusion", "baseline")


class Section(StrEnum):
    """A part of a report after its first page; its value is its name in arguments."""

    TIME = "time"
    PHASES = "phases"
    COSTS = "costs"
    CONFIGURATIONS = "configurations"
    TAKE_WITH_YOU = "take-with-you"
    DIFFERENCES = "differences"
    METHOD = "method"
    ENVIRONMENT = "environment"
    VERDICTS = "verdicts"
    RUNS = "runs"
    COMMANDS = "commands"


SECTION_LABELS: Final = MappingProxyType(
    {
        Section.TIME: tr("Tables, bars and runs over time"),
        Section.PHASES: tr("Each phase separately"),
        Section.COSTS: tr("Latency and cost per transaction"),
        Section.CONFIGURATIONS: tr("Each configuration"),
        Section.TAKE_WITH_YOU: tr("Winning setup"),
        Section.DIFFERENCES: tr("Differences"),
        Section.METHOD: tr("Method"),
        Section.ENVIRONMENT: tr("Machine, server and settings"),
        Section.VERDICTS: tr("Pairs and caveats"),
        Section.RUNS: tr("List of runs"),
        Section.COMMANDS: tr("Exact commands"),
    }
)
"""Visible names of the sections."""

DEFAULT_SECTIONS: Final = tuple(each for each in Section if each is not Section.COMMANDS)
"""Sections by default: commands fill pages, and are in a file attached to the PDF anyway."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The options of a report; the defaults add no texts.

    Attributes:
        title: replaces the campaign's name; empty for that name.
        author: under the title, and in the properties of the file; empty for none.
        purpose: of the measurement, in the author's words; empty for none.
        conclusion: the author's recommendation, one line per paragraph; empty for pgFooting's draft.
        sections: after the first page, in order, each at most once.
        anonymous: whether to replace serials, host, user, folders and other names.
        baseline: configuration to compare with, or a level across the tables; empty for the first one.
    """

    title: str = ""
    author: str = ""
    purpose: str = ""
    conclusion: str = ""
    sections: tuple[Section, ...] = DEFAULT_SECTIONS
    anonymous: bool = False
    baseline: str = ""


DEFAULT_OPTIONS: Final = ReportOptions()


def read_sections(words: Iterable[str]) -> tuple[Section, ...]:
    """Return the sections by name, each once.

    Raises:
        UsageError: there is no such section.
    """
    known = [each.value for each in Section]
    found: dict[Section, None] = {}
    for word in words:
        if word not in known:
            message = tr("“{word}” is not allowed here; use one of {known}.")
            sentence = message.format(word=word, known=", ".join(known))
            raise UsageError(sentence, hint=did_you_mean(word, known))
        found[Section(word)] = None
    return tuple(found)


# --- As arguments: declare, read, and pass to the painter's process.


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the author's texts and the choice of sections."""
    parser.add_argument("--title", default="", help=tr("title (default: the campaign's name)"))
    parser.add_argument("--author", default="", help=tr("author, under the title and in file metadata"))
    parser.add_argument("--purpose", default="", help=tr("purpose of the measurement, in your words"))
    parser.add_argument(
        "--conclusion", default="", help=tr("your recommendation (default: pgFooting's draft)")
    )
    parser.add_argument(
        "--baseline",
        default="",
        metavar="NAME",
        help=tr("your current configuration, or a column of the tables: the baseline of all comparisons"),
    )
    words = tr(
        "sections after the first page, in this order, separated by commas (default: all but commands): "
        "{known}. The list of runs is always included"
    )
    parser.add_argument(
        "--sections",
        default=",".join(DEFAULT_SECTIONS),
        metavar="NAME,...",
        help=words.format(known=", ".join(Section)),
    )


def read_report_options(arguments: argparse.Namespace) -> ReportOptions:
    """Return the options from parsed arguments.

    Raises:
        UsageError: there is no such section.
    """
    sections = (word.strip() for word in arguments.sections.split(","))
    return ReportOptions(
        **{name: getattr(arguments, name) for name in _WORDS},
        sections=read_sections(filter(None, sections)),
        anonymous=arguments.anonymous,
    )


def report_argv(options: ReportOptions) -> list[str]:
    """Return arguments that `read_report_options` reads as the same options, except `anonymous`."""
    return [
        *(f"--{name}={getattr(options, name)}" for name in _WORDS),
        f"--sections={','.join(options.sections)}",
    ]
