"""Values of a run file of somebody else: of the kind that was expected, and no longer than anybody needs."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from app.domain.text import tr
from app.runfile.bounds import TooMuchError
from app.runfile.writer import Json

NAME_CHARS: Final = 1_000
"""Of a name, which stands in every row of an export. Names that are given here have at most 200."""

TEXT_CHARS: Final = 100_000
"""Of a sentence, a reason or a source."""

JSON_CHARS: Final = 4 << 20
JSON_DEPTH: Final = 60
"""How deep lists and objects may lie in each other: what walks them stays far from Python's limit."""

_SLOW: Final = re.compile(r"[0-9]{16}|[0-9][eE]\+?[0-9]{3}|\\u[dD][89a-fA-F]")
"""Numbers that might be too large, and halves of a character: everything else takes the quick way."""

_HALVES: Final = re.compile("[\ud800-\udfff]")
"""Halves of a character without the other half, which no encoding has: they are shown as they stand."""

_MOST_WHOLE: Final = 2**63


def _nothing(_constant: str) -> None:
    """NaN and Infinity, which Python writes and JSON does not have."""


def _whole(digits: str) -> int | None:
    value = int(digits) if len(digits) < 25 else _MOST_WHOLE
    return value if abs(value) < _MOST_WHOLE else None


def _fraction(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


_QUICK: Final = json.JSONDecoder(parse_constant=_nothing)
_CAREFUL: Final = json.JSONDecoder(parse_constant=_nothing, parse_int=_whole, parse_float=_fraction)


def json_value(text: object) -> Json:
    """Return what a JSON text says; numbers that nothing can be done with are None.

    Raises:
        TooMuchError: it is too long or nested too deeply.
        ValueError: it is no JSON.
        TypeError: it is no text.
    """
    if not isinstance(text, str):
        raise TypeError(tr("a value is no text"))
    if len(text) > JSON_CHARS:
        raise TooMuchError(tr("a value of it has {count:,} characters").format(count=len(text)))
    try:
        if _SLOW.search(text) is None:
            value = _QUICK.decode(text)
        else:
            careful = json.dumps(_CAREFUL.decode(text), ensure_ascii=False)
            value = _QUICK.decode(_HALVES.sub(lambda half: f"\\\\u{ord(half[0]):04x}", careful))
    except RecursionError as error:
        raise TooMuchError(_too_deep()) from error
    if text.count("[") + text.count("{") > JSON_DEPTH and not _is_flat(value):
        raise TooMuchError(_too_deep())
    found: Json = value
    return found


def _too_deep() -> str:
    return tr("lists and objects in it are nested deeper than {most}").format(most=JSON_DEPTH)


def _is_flat(value: Json) -> bool:
    level: list[Any] = [value]
    for _ in range(JSON_DEPTH):
        inside: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inside.extend(each.values())
            elif isinstance(each, list):
                inside.extend(each)
        if not inside:
            return True
        level = inside
    return False


def json_object(text: object) -> dict[str, Json]:
    """Return a JSON object.

    Raises:
        TooMuchError, ValueError, TypeError: see `json_value`; it is something else.
    """
    value = json_value(text)
    if not isinstance(value, dict):
        raise TypeError(tr("a value is no object"))
    return value


def json_words(text: object) -> tuple[str, ...]:
    """Return a JSON array of texts.

    Raises:
        TooMuchError, ValueError, TypeError: see `json_value`; it is something else.
    """
    value = json_value(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(tr("a value is no list of words"))
    return tuple(str(item) for item in value)


def text_value(value: object, most: int = TEXT_CHARS) -> str:
    """Return a text.

    Raises:
        TooMuchError: it has more characters than `most`.
        TypeError: it is something else.
    """
    if not isinstance(value, str):
        raise TypeError(tr("a value is no text"))
    if len(value) > most:
        message = tr("a text of it has {count:,} characters; at most {most:,} are read")
        raise TooMuchError(message.format(count=len(value), most=most))
    return value


def name_value(value: object) -> str:
    """Return a name.

    Raises:
        TooMuchError, TypeError: see `text_value`.
    """
    return text_value(value, NAME_CHARS)


def whole_value(value: object) -> int:
    """Return a whole number.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, int):
        raise TypeError(tr("a value is no whole number"))
    return value


def number_value(value: object) -> float:
    """Return a number.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, int | float):
        raise TypeError(tr("a value is no number"))
    return float(value)
