"""Parse values of options; invalid ones are explained."""

from __future__ import annotations

import argparse

from app.domain.text import tr


def _number(text: str) -> float:
    """Return a number, or NaN for other text (and a typed "nan"), which fails every comparison."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def speed(text: str) -> float:
    """Return the recorded seconds that a replay shows per second."""
    value = _number(text)
    if not 0 < value < float("inf"):
        sentence = tr("“{text}” is no speed; a speed is a number above 0, such as 60")
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value


def percent(text: str) -> float:
    """Return a difference in percent; the sign is optional."""
    value = _number(text.removesuffix("%"))
    if not 0 < value <= 100:
        sentence = tr(
            "“{text}” is no difference; a difference is above 0 and at most 100 percent, such as 3%"
        )
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value


def cut_s(text: str) -> float:
    """Return the seconds to exclude."""
    value = 0.0 if text == "none" else _number(text)
    if not 0 <= value < float("inf"):
        sentence = tr("“{text}” is not a time; seconds from 0 on are allowed, such as 30")
        raise argparse.ArgumentTypeError(sentence.format(text=text[:80]))
    return value
