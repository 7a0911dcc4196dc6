"""What an explanation of the quiet panel is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Help:
    """One explanation.

    Attributes:
        text: two sentences or three.
        source: where that is from; empty for pgFooting's own ways.
    """

    text: str
    source: str = ""
