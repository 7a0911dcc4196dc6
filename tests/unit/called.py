"""Functions that tests call as an account; standard library only, as `as_account` asks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum


class Side(Enum):
    """An enumeration to send there and back."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides."""

    first: Side
    second: Side | None


class WrongSideError(Exception):
    """An error of this module."""


def turn(pair: Pair, content: bytes, *, times: int = 1) -> tuple[Pair, str, int]:
    """Return what arrived, with the sides exchanged, and the user id."""
    other = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
    return Pair(other[pair.first], pair.second), content.hex() * times, os.geteuid()


def fail(kind: str) -> None:
    """Raise an error of this kind."""
    if kind == "own":
        raise WrongSideError("left", 2)
    if kind == "value":
        raise ValueError("not of this module")
    os.stat("absent")  # noqa: PTH116 - as within a folder
