"""The arguments that say what is wanted of a report: added, read, and handed on to the painter's process."""

from __future__ import annotations

import argparse
from typing import Final

from app.domain.text import tr
from app.report.wishes import DEFAULT_SECTIONS, ReportWishes, Section, read_sections

_WORDS: Final = ("title", "author", "purpose", "conclusion")


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
