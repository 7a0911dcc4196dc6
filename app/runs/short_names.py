"""Names that differ in a word or two, without the words that all of them share. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHORT: Final = 16
"""Names of so many letters are short enough."""


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the words that all of them have, where that leaves something of each.

    The order of words stays; names that are short, or would become alike, are left as they are.
    """
    if len(names) < 2 or max(map(len, names)) <= _SHORT:
        return tuple(names)
    words = [name.split(" ") for name in names]
    common = set(words[0]).intersection(*map(set, words[1:]))
    shortened = [" ".join(word for word in each if word not in common) for each in words]
    alike = len(set(shortened)) < len(set(names))
    return tuple(names) if alike or not all(shortened) else tuple(shortened)
