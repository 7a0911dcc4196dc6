"""Shorten names by removing the words that all of them share. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from app.analysis.labels import one_line, safety_warning
from app.domain.text import tr
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.metadata.typed_json import known
from app.runfile.series import RunData

_SHORT: Final = 16
"""Names up to this many letters are short enough."""
_VALUE: Final = re.compile(
    r"[-+]?[\d.,]+ ?\w*|on|off|with|without|yes|no|none|default|true|false|[^a-z]*", re.IGNORECASE
)
"""Values, which mean nothing without the word before or after."""
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the words that all have in the same position, unless that leaves nothing.

    Names with equally many words lose every common word, others common words at either end. Names that are
    short, or would become identical, stay unchanged.
    """
    if len(names) < 2 or max(map(len, names)) <= _SHORT:
        return tuple(names)
    words = [name.split(" ") for name in names]
    if len({len(each) for each in words}) == 1:
        kept = [place for place, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
        shortened = [" ".join(each[place] for place in kept) for each in words]
    else:
        shortened = [" ".join(each) for each in _without_ends(words)]
    shortened = [_without_loose_brackets(each) for each in shortened]
    alike = len(set(shortened)) < len(set(names))
    return tuple(names) if alike or not all(shortened) else tuple(shortened)


def _without_loose_brackets(text: str) -> str:
    """Return a text without unmatched brackets and without stray separators."""
    kept, opened = list(text), []
    for place, letter in enumerate(text):
        if letter in _BRACKETS:
            opened.append(place)
        elif letter in _BRACKETS.values():
            if opened and _BRACKETS[text[opened[-1]]] == letter:
                opened.pop()
            else:
                kept[place] = ""
    for place in opened:
        kept[place] = ""
    return "".join(kept).strip(" ,;:")


def telling_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return `short_names` for sentences; if only values would remain of a name, shorten nothing.

    For names in parts, separated by commas, common parts are removed, and the others stay whole.
    """
    parts = [name.split(", ") for name in names]
    if len(set(map(len, parts))) == 1 and len(parts[0]) > 1:
        kept = [place for place, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1]
        return tuple(", ".join(each[place] for place in kept) for each in parts) if kept else tuple(names)
    shortened = short_names(names)
    return tuple(names) if any(_VALUE.fullmatch(name) for name in shortened) else shortened


def _without_ends(words: Sequence[list[str]]) -> list[list[str]]:
    """Return lists of words without the words common to all at either end."""
    begin = _shared(words)
    rest = [each[begin:] for each in words]
    end = _shared([each[::-1] for each in rest])
    return [each[: len(each) - end] for each in rest]


def _shared(words: Sequence[list[str]]) -> int:
    """Return how many leading words all lists share."""
    columns = zip(*words, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def unique_names(names: Sequence[str], campaigns: Sequence[str]) -> list[str]:
    """Return unique names of runs or groups: with their campaign if names repeat, else numbered."""
    unique = list(names)
    for wider in (
        [
            f"{name} ({campaign})" if campaign else name
            for name, campaign in zip(unique, campaigns, strict=True)
        ],
        None,
    ):
        repeated = {name for name in unique if unique.count(name) > 1}
        if not repeated:
            break
        if wider is not None:
            unique = [
                longer if name in repeated else name for name, longer in zip(unique, wider, strict=True)
            ]
            continue
        numbers: dict[str, int] = {}
        for place, name in enumerate(unique):
            if name in repeated:
                numbers[name] = numbers.get(name, 0) + 1
                unique[place] = f"{name} [{numbers[name]}]"
    return unique


# --- Names of runs in every view: the difference between the configurations, then the number of the repeat.


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The input for the name of a run.

    Attributes:
        name: of the run: configuration and repeat.
        configuration: its name; empty if there is none.
        campaign: name of its campaign.
        campaign_key: the same for runs of one campaign only.
        warning: shown with its name everywhere; empty for a safe one.
    """

    name: str
    configuration: str
    campaign: str
    campaign_key: str
    warning: str = ""

    @property
    def group(self) -> tuple[str, str]:
        """A key common to the repeats of a configuration in one campaign."""
        return self.campaign_key, self.configuration or self.name


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a run among the others that are shown.

    Attributes:
        configuration: shortest name that distinguishes its configuration.
        repeat: suffix of its own name, such as #2; empty without repeats.
        warning: shown with the name, never shortened.
    """

    configuration: str
    repeat: str
    warning: str = ""

    @property
    def run(self) -> str:
        """Name of the run, without the warning."""
        return f"{self.configuration} {self.repeat}".strip()


def identity_of(run: RunData) -> RunIdentity:
    """Return the input for the name of a run, each text in one line."""
    metadata = run.metadata
    return RunIdentity(
        one_line(run.name) or run.path.name,
        one_line(known(metadata.configuration, "")),
        one_line(run.campaign),
        known(metadata.campaign_folder, "") or str(run.path.parent),
        safety_warning(unsafe=UNSAFE in run.marks, not_durable=NOT_DURABLE in run.marks),
    )


def name_runs(runs: Sequence[RunIdentity]) -> tuple[RunName, ...]:
    """Return the shortest names that distinguish runs; the same runs get the same names in every view."""
    members: dict[tuple[str, str], list[int]] = {}
    for place, run in enumerate(runs):
        members.setdefault(run.group, []).append(place)
    names = telling_names(
        unique_names(
            [name or tr("(no name)") for _, name in members],
            [runs[places[0]].campaign for places in members.values()],
        )
    )
    found = [RunName("", "")] * len(runs)
    for name, places in zip(names, members.values(), strict=True):
        added = [_added(runs[place]) for place in places]
        if len(set(added)) < len(added):
            added = [f"#{number}" for number in range(1, len(added) + 1)]
        for place, repeat in zip(places, added, strict=True):
            found[place] = RunName(name, repeat if len(places) > 1 else "", runs[place].warning)
    return tuple(found)


def _added(run: RunIdentity) -> str:
    """Return the suffix that a run's name adds to that of its configuration."""
    return run.name.removeprefix(run.configuration).strip() if run.configuration else ""


def cut_words(name: str, fits: Callable[[str], bool]) -> str:
    """Return a name that fits: whole words from both ends, with an ellipsis for the omitted ones.

    Configurations differ at the start, repeats at the end, so words in the middle go first. A first word that
    does not fit by itself is cut.
    """
    if fits(name):
        return name
    words = name.split(" ")
    for kept in range(len(words) - 1, 0, -1):
        head = (kept + 1) // 2
        text = " ".join((*words[:head], "\N{HORIZONTAL ELLIPSIS}", *words[len(words) - (kept - head) :]))
        if fits(text):
            return text
    word = words[0]
    for length in range(len(word) - 1, 0, -1):
        if fits(f"{word[:length]}\N{HORIZONTAL ELLIPSIS}"):
            return f"{word[:length]}\N{HORIZONTAL ELLIPSIS}"
    return "\N{HORIZONTAL ELLIPSIS}"
