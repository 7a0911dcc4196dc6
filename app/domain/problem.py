"""A problem of a user's choice: one form from the declarations to the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    Attributes:
        path: what it is about: a key dotted as in campaign files, such as ``workload.clients``, or below the
            value at hand, such as ``[2].weight``; empty for the whole.
        message: a sentence.
        hint: what would help, or what is allowed; may be empty.
        pending: not an error, only not known yet.
    """

    path: str
    message: str
    hint: str = ""
    pending: bool = False

    @property
    def sentence(self) -> str:
        """Message and hint in one line."""
        return f"{self.message} {self.hint}".strip()
