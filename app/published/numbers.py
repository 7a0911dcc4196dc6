"""Numbers as people write them in texts: ``~7.5k``, ``14,8 tps``, ``between 5k and 9k``, ``1/2 hour``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = re.compile(r"(\d+)/(\d+)|(\d+(?:[.,]\d+)?)(k\b)?", re.ASCII)
_WORDS: Final = {"two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0}
_ROUGH: Final = re.compile(r"~|\b(?:about|approximately|around|almost|roughly|close to|less than|up to)\b")
_GROUPED: Final = re.compile(r"\d,\d{3}\b", re.ASCII)
_UNITS: Final = (
    (re.compile(r"\d\s*(?:MB|MByte)\b", re.ASCII), {"MB/s"}),
    (re.compile(r"\d\s*(?:KB|KByte|kB)\b", re.ASCII), {"kB/s"}),
    (re.compile(r"\d\s*GB\b", re.ASCII), {"GB"}),
    (re.compile(r"\d\s*%", re.ASCII), {"%"}),
    (re.compile(r"\d\s*x\b|\btimes\b|\bfactor\b", re.ASCII), {"x"}),
    (re.compile(r"\d\s*(?:sec|seconds)\b", re.ASCII), {"s"}),
    (re.compile(r"\d\s*hours?\b", re.ASCII), {"h"}),
    (re.compile(r"\d\s*tps\b", re.ASCII), {"1/s"}),
)


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number of a text.

    Attributes:
        value: or the lower end of a range.
        high: upper end of a range, else None.
        is_rough: the text says about, almost, less than ...
    """

    value: float
    high: float | None
    is_rough: bool


def read_number(text: str, unit: str) -> WrittenNumber:
    """Return what a text says.

    Args:
        text: one number or a range of two, with or without its unit.
        unit: in which it is meant; must agree with what the text names.

    Raises:
        ValueError: no number, more than two, a comma that may group thousands, or another unit.
    """
    if _GROUPED.search(text):
        raise ValueError(f"a comma before three digits may mean anything: {text}")
    wrong = [units for pattern, units in _UNITS if pattern.search(text) and unit not in units]
    if wrong:
        raise ValueError(f"{text} is not in {unit}")
    values = [_value(match) for match in _NUMBER.finditer(text)]
    values = values or [value for word, value in _WORDS.items() if word in text.split()]
    if len(values) == 1:
        return WrittenNumber(values[0], None, bool(_ROUGH.search(text)))
    if len(values) == 2 and values[0] < values[1]:
        return WrittenNumber(values[0], values[1], bool(_ROUGH.search(text)))
    raise ValueError(f"neither one number nor a range: {text}")


def _value(match: re.Match[str]) -> float:
    if match[1]:
        return int(match[1]) / int(match[2])
    return float(match[3].replace(",", ".")) * (1000 if match[4] else 1)
