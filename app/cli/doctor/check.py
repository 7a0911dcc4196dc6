"""One line of the doctor's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's.

    Attributes:
        topic: what was looked at.
        works: True, False, or None for what is only worth knowing.
        message: what was found.
        hint: what would help.
    """

    topic: str
    works: bool | None
    message: str
    hint: str = ""
