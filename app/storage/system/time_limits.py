"""How long it is waited for others in all: for locks, for readers, for the kernel to let go."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

WITHOUT_END_S: Final = float("inf")


@dataclass(slots=True)
class Patience:
    """What may still be waited, by everything that one execution waits for.

    Attributes:
        left_s: seconds; each wait has its own limit besides.
    """

    left_s: float = WITHOUT_END_S

    def pause(self, seconds: float) -> bool:
        """Wait, and return True; or return False at once where it was waited long enough."""
        if self.left_s <= 0:
            return False
        time.sleep(min(seconds, self.left_s))
        self.left_s -= seconds
        return True

    def limit(self, seconds: float) -> float:
        """Return how long something with a limit of its own may wait."""
        return max(0.0, min(seconds, self.left_s))

    def spent(self, seconds: float) -> None:
        """Count what was waited elsewhere."""
        self.left_s -= seconds
