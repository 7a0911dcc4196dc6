"""Names that differ in a word or two, without the words that all of them share. Pure."""

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
"""Names of so many letters are short enough."""
_VALUE: Final = re.compile(
    r"[-+]?[\d.,]+ ?\w*|on|off|with|without|yes|no|none|default|true|false|[^a-z]*", re.IGNORECASE
)
"""What says nothing without the word before or behind it."""
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the words that all of them have at the same place, where that leaves something.

    Names of equally many words lose every word that is the same in all, others the first and last ones. Names
    that are short, or would become alike, are left as they are.
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
    """Return a text without brackets whose other half was left out, and without what separated words."""
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
    """Return `short_names` for sentences: where only values would be left of a name, nothing is left out.

    Of names in parts, separated by commas, a part that all have is left out, and every other one is whole.
    """
    parts = [name.split(", ") for name in names]
    if len(set(map(len, parts))) == 1 and len(parts[0]) > 1:
        kept = [place for place, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1]
        return tuple(", ".join(each[place] for place in kept) for each in parts) if kept else tuple(names)
    shortened = short_names(names)
    return tuple(names) if any(_VALUE.fullmatch(name) for name in shortened) else shortened


def _without_ends(words: Sequence[list[str]]) -> list[list[str]]:
    """Return lists of words without those that all have at their begin, and at their end."""
    begin = _shared(words)
    rest = [each[begin:] for each in words]
    end = _shared([each[::-1] for each in rest])
    return [each[: len(each) - end] for each in rest]


def _shared(words: Sequence[list[str]]) -> int:
    """Return how many words all lists have at their begin."""
    columns = zip(*words, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def unique_names(names: Sequence[str], campaigns: Sequence[str]) -> list[str]:
    """Return names that tell runs or groups apart: with their campaign where names repeat, else numbered."""
    told = list(names)
    for wider in (
        [
            f"{name} ({campaign})" if campaign else name
            for name, campaign in zip(told, campaigns, strict=True)
        ],
        None,
    ):
        repeated = {name for name in told if told.count(name) > 1}
        if not repeated:
            break
        if wider is not None:
            told = [longer if name in repeated else name for name, longer in zip(told, wider, strict=True)]
            continue
        numbers: dict[str, int] = {}
        for place, name in enumerate(told):
            if name in repeated:
                numbers[name] = numbers.get(name, 0) + 1
                told[place] = f"{name} [{numbers[name]}]"
    return told


# --- The names of runs in every view: what differs between the configurations, then the number of the repeat.


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What the name of a run follows from.

    Attributes:
        name: of the run: configuration and repeat.
        configuration: its name; empty where there is none.
        campaign: name of its campaign.
        campaign_key: the same for runs of one campaign only.
        warning: what stands beside its name wherever that is shown; empty for a safe one.
    """

    name: str
    configuration: str
    campaign: str
    campaign_key: str
    warning: str = ""

    @property
    def group(self) -> tuple[str, str]:
        """The same for the repeats of a configuration in one campaign."""
        return self.campaign_key, self.configuration or self.name


@dataclass(frozen=True, slots=True)
class RunName:
    """How a run is called beside the others that are shown.

    Attributes:
        configuration: shortest name that tells its configuration from the others.
        repeat: what its own name adds, such as #2; empty where there are no repeats.
        warning: what stands beside the name and is never cut.
    """

    configuration: str
    repeat: str
    warning: str = ""

    @property
    def run(self) -> str:
        """Name of the run, without the warning."""
        return f"{self.configuration} {self.repeat}".strip()


def identity_of(run: RunData) -> RunIdentity:
    """Return what the name of a run follows from, all of it in one line."""
    told = run.metadata
    return RunIdentity(
        one_line(run.name) or run.path.name,
        one_line(known(told.configuration, "")),
        one_line(run.campaign),
        known(told.campaign_folder, "") or str(run.path.parent),
        safety_warning(unsafe=UNSAFE in run.marks, not_durable=NOT_DURABLE in run.marks),
    )


def name_runs(runs: Sequence[RunIdentity]) -> tuple[RunName, ...]:
    """Return the shortest names that tell runs apart; the same for the same runs wherever they are shown."""
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
    """Return what the name of a run adds to that of its configuration."""
    return run.name.removeprefix(run.configuration).strip() if run.configuration else ""


def cut_words(name: str, fits: Callable[[str], bool]) -> str:
    """Return a name that fits: whole words from both ends, an ellipsis for those that are left out.

    Configurations differ at the beginning, repeats at the end: words in the middle go first. A first
    word that does not fit by itself is cut.
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
