"""Limit the lifetime of an unused session: one password is not for ever.

The owner renews it by Make, and by Renew during longer measurements. While the helper itself is at work
(making, unmaking) it does not age.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from app.domain.errors import FootingError
from app.domain.messages.message import say

LIFETIME_S: Final = 12 * 3600.0
WARNING_S: Final = 3600.0
"""How long before its end the owner is warned."""


class SessionExpiredError(FootingError):
    """A session ended because it was not used."""

    code = "expired"


def expired() -> SessionExpiredError:
    """Return the reason for ending a session that is too old."""
    hours = f"{LIFETIME_S / 3600:g}"
    return SessionExpiredError(say("session-expired", hours=hours))


class LifetimeAction(Enum):
    """Next action on a session."""

    NOTHING = auto()
    WARN = auto()
    END = auto()


@dataclass(slots=True)
class Lifetime:
    """Lifetime of a session; times are of the monotonic clock.

    Attributes:
        renewed_s: time of its last use.
        is_reported: whether the owner was warned since.
    """

    renewed_s: float
    is_reported: bool = False

    def renew(self, now_s: float) -> None:
        """Restart the lifetime."""
        self.renewed_s = now_s
        self.is_reported = False

    def left_s(self, now_s: float) -> float:
        """Return the seconds left."""
        return max(0.0, self.renewed_s + LIFETIME_S - now_s)

    def due(self, now_s: float) -> LifetimeAction:
        """Return the next action; the warning is returned once."""
        left_s = self.left_s(now_s)
        if left_s == 0:
            return LifetimeAction.END
        if left_s <= WARNING_S and not self.is_reported:
            self.is_reported = True
            return LifetimeAction.WARN
        return LifetimeAction.NOTHING


@dataclass(slots=True)
class RateLimit:
    """Limit the frequency of an action.

    Attributes:
        every_s: shortest time between two.
        done_s: time of the last one; None for never.
    """

    every_s: float
    done_s: float | None = None

    def wait_s(self, now_s: float) -> float:
        """Return the seconds to wait before the next one."""
        return 0.0 if self.done_s is None else max(0.0, self.done_s + self.every_s - now_s)
