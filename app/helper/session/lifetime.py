"""How long a session lives of which nobody makes use: one password is not for ever.

The owner renews it by Make, and by Renew while something is measured for longer. While the helper itself is
at work (making, unmaking) it does not age.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from app.domain.errors import FootingError
from app.domain.messages.message import say

LIFETIME_S: Final = 12 * 3600.0
TOLD_S: Final = 3600.0
"""How long before its end the owner is told."""


class SessionExpiredError(FootingError):
    """A session ended because nobody made use of it."""

    code = "expired"


def expired() -> SessionExpiredError:
    """Return why a session that is too old ends."""
    hours = f"{LIFETIME_S / 3600:g}"
    return SessionExpiredError(say("session-expired", hours=hours))


class LifetimeAction(Enum):
    """What is to be done now."""

    NOTHING = auto()
    TELL = auto()
    END = auto()


@dataclass(slots=True)
class Lifetime:
    """See the module; times are of the monotonic clock.

    Attributes:
        renewed_s: when it was last made use of.
        is_told: whether the owner was told since.
    """

    renewed_s: float
    is_told: bool = False

    def renew(self, now_s: float) -> None:
        """Begin anew."""
        self.renewed_s = now_s
        self.is_told = False

    def left_s(self, now_s: float) -> float:
        """Return how long it lives yet."""
        return max(0.0, self.renewed_s + LIFETIME_S - now_s)

    def due(self, now_s: float) -> LifetimeAction:
        """Return what is to be done; that the owner is to be told comes once."""
        left_s = self.left_s(now_s)
        if left_s == 0:
            return LifetimeAction.END
        if left_s <= TOLD_S and not self.is_told:
            self.is_told = True
            return LifetimeAction.TELL
        return LifetimeAction.NOTHING


@dataclass(slots=True)
class RateLimit:
    """How often something may be done.

    Attributes:
        every_s: so long after the last time.
        done_s: when that was; None for never.
    """

    every_s: float
    done_s: float | None = None

    def wait_s(self, now_s: float) -> float:
        """Return how long to wait before it may be done."""
        return 0.0 if self.done_s is None else max(0.0, self.done_s + self.every_s - now_s)
