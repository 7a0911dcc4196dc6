"""Names that differ in a word or two, without the words that all of them share. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_SHORT: Final = 16
"""Names of so many letters are short enough."""
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
    """Return `short_names` for sentences: where a number alone would be left, nothing is left out."""
    shortened = short_names(names)
    return shortened if all(any(map(str.isalpha, name)) for name in shortened) else tuple(names)


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
