"""One key of a campaign file."""

from __future__ import annotations

from dataclasses import dataclass

from app.campaign_file.kinds import ValueKind


@dataclass(frozen=True, slots=True)
class CampaignField:
    """One key of a campaign file.

    Attributes:
        name: the key.
        kind: what it accepts.
        attribute: where the domain's class holds the value.
        sentence: what it is for, for documentation.
        instead_of: attribute of the key that may not stand beside it and that it replaces.
    """

    name: str
    kind: ValueKind
    attribute: str
    sentence: str
    instead_of: str = ""
