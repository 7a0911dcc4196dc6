"""Collect all problems of a campaign file to report them at once.

The author of a file wants all mistakes in one answer, so readers report problems and continue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.errors import CampaignError, Problem, did_you_mean
from app.domain.text import quoted, tr

_MOST_LISTED: Final = 20
"""Problems reported in full; a file of garbage would otherwise fill the screen."""

_LONGEST: Final = 60
"""Characters of a found value shown to the user."""


def printable(text: str) -> str:
    """Return `text` shortened and with control characters escaped: a file must not control the terminal."""
    head = text[:_LONGEST]
    return _escaped(head) + ("…" if len(text) > _LONGEST else "")


def printable_path(path: Path) -> str:
    """Return a path in full, with control characters and undecodable bytes escaped."""
    return _escaped(str(path))


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def found_text(value: object) -> str:
    """Return a value of a TOML file as text: 7, “7”, true, a list."""
    match value:
        case bool():
            text = "true" if value else "false"
        case int():
            text = str(value) if abs(value) < 10**20 else tr("a very large number")
        case float():
            text = repr(value)
        case str():
            text = quoted(printable(value)) if value else tr("an empty text")
        case list():
            text = tr("a list of {count}").format(count=len(value)) if value else tr("an empty list")
        case dict():
            text = tr("a table") if value else tr("an empty table")
        case _:
            text = tr("a date or time")
    return text


class InvalidValueError(Exception):
    """A value that a field does not accept; never leaves the reader of campaign files.

    Attributes:
        problems: with paths from the field to the faulty part, such as ``[2].weight``; mostly empty.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*(problem.message for problem in problems))
        self.problems = problems


def refusal(value: object, allowed: str) -> str:
    """Return the sentence that refuses `value`: the value found, and the `allowed` ones."""
    return tr("found {found}; allowed: {allowed}.").format(found=found_text(value), allowed=allowed)


def unfit(value: object, allowed: str, *, remark: str = "") -> InvalidValueError:
    """Return the refusal of one `value` as an error."""
    return InvalidValueError(Problem("", f"{refusal(value, allowed)} {remark}".rstrip()))


@dataclass(frozen=True, slots=True)
class KeyPath:
    """A place in the file.

    Attributes:
        path: dotted, such as ``configuration[2].workload.clients``; empty for the whole file.
        configuration: name of the configuration, if there is one.
    """

    path: str = ""
    configuration: str = ""

    def __truediv__(self, key: str) -> KeyPath:
        """Return the place of `key` below this place."""
        word = printable(key)
        return KeyPath(f"{self.path}.{word}" if self.path else word, self.configuration)

    def within(self, suffix: str) -> KeyPath:
        """Return the place of a part of this value."""
        return KeyPath(self.path + suffix, self.configuration)

    @override
    def __str__(self) -> str:
        return f"{self.path} (“{self.configuration}”)" if self.configuration else self.path


@dataclass(slots=True)
class Problems:
    """The problems of one campaign file, in the order found.

    Attributes:
        source: the file's name as given by the user.
        most: limit of kept problems.
        found: each problem with its place as text.
        unlisted: number of further problems.
    """

    source: str = ""
    most: int = _MOST_LISTED
    found: dict[Problem, str] = field(default_factory=dict)
    unlisted: int = 0

    @property
    def count(self) -> int:
        """The number of problems, kept or not."""
        return len(self.found) + self.unlisted

    def add(self, place: KeyPath, sentence: str) -> None:
        """Add a problem; duplicates (from the common start of configurations) count once."""
        problem = Problem(place.path, sentence)
        if problem in self.found:
            return
        if len(self.found) < self.most:
            self.found[problem] = str(place)
        else:
            self.unlisted += 1

    def add_unknown(self, place: KeyPath, key: str, known: Iterable[str], *, belongs: str = "") -> None:
        """Add a problem for an unknown key, with the most similar known one.

        Args:
            place: the table of the key.
            key: the unknown key.
            known: the keys of this table.
            belongs: a sentence with the right place, if another table has it.
        """
        if (
            len(self.found) >= self.most
        ):  # searching for similar words is expensive, and a hundred thousand keys are possible
            self.unlisted += 1
            return
        known = tuple(known)
        remark = belongs or did_you_mean(key[:_LONGEST], known)
        sentence = tr("is not a known key; allowed: {known}.").format(known=", ".join(known))
        self.add(place / key, f"{sentence} {remark}".rstrip())

    def raise_if_any(self) -> None:
        """Raise an error if there are problems.

        Raises:
            CampaignError: all problems, one per line; `field` is the first one's.
        """
        if not self.found:
            return
        source = printable(self.source)
        lines = [
            f"{place}: {each.message}" if each.path else each.message for each, place in self.found.items()
        ]
        if self.unlisted:
            lines.append("… " + tr("and {count} more").format(count=self.unlisted) + ".")
        if len(lines) == 1:
            message = tr("{source}: {problem} Nothing was started.").format(source=source, problem=lines[0])
        else:
            count = len(self.found) + self.unlisted
            head = tr("{source} has {count} problems; nothing was started.").format(
                source=source, count=count
            )
            message = "\n".join([head, *(f"  {line}" for line in lines)])
        hint = tr(
            "Every key is shown and explained in the recipe “example” (resources/recipes/example.toml)."
        )
        raise CampaignError(message, field=next(iter(self.found)).path, hint=hint)
