"""Values of a campaign file that have a unit: durations and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from typing_extensions import override

from app.campaign_file.kinds import ValueKind, quote
from app.campaign_file.problems import unfit
from app.domain.errors import did_you_mean
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB, TIB, format_size, parse_duration, parse_size


@dataclass(frozen=True, slots=True)
class WholeSeconds(ValueKind):
    """A duration in whole seconds: 60, "60s", "5 min" (pgbench's ``--time`` takes nothing finer)."""

    low: int
    high: int

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('whole seconds from {low} to {high}, such as 60, "60s", "5 min" or "1h"')
        return sentence.format(low=self.low, high=self.high)

    @override
    def read(self, value: object, folder: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise unfit(value, self.allowed)
        try:
            seconds = float(value) if isinstance(value, int) else round(parse_duration(value), 6)
        except ValueError as err:
            raise unfit(value, self.allowed) from err
        if not self.low <= seconds <= self.high or not seconds.is_integer():
            raise unfit(value, self.allowed)
        return int(seconds)

    @override
    def write(self, value: int) -> str:
        return quote(f"{value}s")


@dataclass(frozen=True, slots=True)
class Milliseconds(ValueKind):
    """A short duration with its unit, kept in milliseconds to the microsecond (pgbench's resolution)."""

    low_ms: float
    high_ms: float

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('a duration with its unit from {low} ms to {high} ms, such as "50ms" or "1.5s"')
        return sentence.format(low=f"{self.low_ms:g}", high=f"{self.high_ms:.0f}")

    @override
    def read(self, value: object, folder: Path) -> float:
        if not isinstance(value, str) or not value.strip()[-1:].isalpha():
            raise unfit(value, self.allowed)
        try:
            milliseconds = round(parse_duration(value) * 1000, 3)
        except ValueError as err:
            raise unfit(value, self.allowed) from err
        if not self.low_ms <= milliseconds <= self.high_ms:
            raise unfit(value, self.allowed)
        return milliseconds

    @override
    def write(self, value: float) -> str:
        return quote(f"{value:.3f}".rstrip("0").rstrip(".") + "ms")


@dataclass(frozen=True, slots=True)
class SizeKind(ValueKind):
    """A size with its unit, or one of a few words.

    Attributes:
        low: bytes at least.
        high: bytes at most.
        words: an enumeration whose members are allowed as well; None for no words.
    """

    low: int
    high: int
    words: type[StrEnum] | None = None

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('a size with its unit from {low} to {high}, such as "3 GiB"')
        sized = sentence.format(low=format_size(self.low), high=format_size(self.high))
        words = ", ".join(quote(member.value) for member in self.words or ())
        return tr("{words} or {sized}").format(words=words, sized=sized) if words else sized

    @override
    def read(self, value: object, folder: Path) -> int | StrEnum:
        if not isinstance(value, str):
            raise unfit(value, self.allowed)
        known = {member.value: member for member in self.words or ()}
        if value in known:
            return known[value]
        try:
            size_bytes = parse_size(value)
        except ValueError as err:
            raise unfit(value, self.allowed, remark=did_you_mean(value[:80], known)) from err
        if not self.low <= size_bytes <= self.high or not value.strip()[-1:].isalpha():
            raise unfit(value, self.allowed)
        return size_bytes

    @override
    def write(self, value: int | StrEnum) -> str:
        if isinstance(value, StrEnum):
            return quote(value.value)
        for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
            if value % factor == 0:
                return quote(f"{value // factor} {unit}")
        return quote(f"{value} B")


@dataclass(frozen=True, slots=True)
class BytesOrNone(SizeKind):
    """A size as in `SizeKind`, a whole number of bytes, or 0 for none."""

    @property
    @override
    def allowed(self) -> str:
        return tr("{sized}, the same as whole bytes, or 0").format(
            sized=SizeKind(self.low, self.high).allowed
        )

    @override
    def read(self, value: object, folder: Path) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            number = int(value[:20])
        else:
            return int(SizeKind.read(self, value, folder))
        if number and not self.low <= number <= self.high:
            raise unfit(value, self.allowed)
        return number

    @override
    def write(self, value: int | StrEnum) -> str:
        return SizeKind.write(self, value) if value else "0"
