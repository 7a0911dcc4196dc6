"""A clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Stands for `time`: it goes on when a test says so or sleeps, and something may happen then."""

    now_s: float = 1000.0
    happens: Callable[[], object] = field(default=lambda: None)
    waits: int = 0

    def __call__(self) -> float:
        return self.now_s

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.waits += 1
        assert self.waits < 50_000, "nothing ends this"
        self.happens()
