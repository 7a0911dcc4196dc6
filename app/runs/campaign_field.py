"""One key of a campaign file."""

from __future__ import annotations

from dataclasses import dataclass

from app.runs.campaign_kinds import Kind


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a campaign file.

    Attributes:
        name: the key.
        kind: what it accepts.
        attribute: where the domain's class holds the value.
        sentence: what it is for, for documentation.
        instead_of: attribute of the key that may not stand beside it and that it replaces.
    """

    name: str
    kind: Kind
    attribute: str
    sentence: str
    instead_of: str = ""
