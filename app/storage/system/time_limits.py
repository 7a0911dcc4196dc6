"""Limit the total time spent waiting for others: for locks, for readers, for the kernel to let go."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

WITHOUT_END_S: Final = float("inf")


@dataclass(slots=True)
class TimeBudget:
    """Remaining time for all waits of one execution.

    Attributes:
        left_s: seconds; each wait also has its own limit.
    """

    left_s: float = WITHOUT_END_S

    def pause(self, seconds: float) -> bool:
        """Wait, and return True; or return False at once if no time is left."""
        if self.left_s <= 0:
            return False
        time.sleep(min(seconds, self.left_s))
        self.left_s -= seconds
        return True

    def limit(self, seconds: float) -> float:
        """Return how long a wait with its own limit may take."""
        return max(0.0, min(seconds, self.left_s))

    def spent(self, seconds: float) -> None:
        """Count a wait made elsewhere."""
        self.left_s -= seconds
