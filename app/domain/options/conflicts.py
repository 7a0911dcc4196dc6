"""Conflicts and implications of options, and warnings about them: rules as data.

Ids C01 to C31 are those of the storage reference, section 1.8; those from C32 on were found by trying options
on real kernels. Rules about choices that this program cannot express are in its test. A rule names no
filesystem: it is about options and attributes, or is in the file of its filesystem. An unknown fact (None)
decides nothing: the rules are applied again when it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level

C_contra = TypeVar("C_contra", bound="Choices", contravariant=True)
"""What a rule looks at."""


class Action(StrEnum):
    """Effect of a rule."""

    REFUSE = "refuse"
    WARN = "warn"
    IMPLY = "imply"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the rules of root look at.

    Attributes:
        filesystem: the chosen one.
        options: legal chosen values; others are missing.
        level: of the group; None if unknown.
    """

    filesystem: FormatSpec
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    level: Level | None = None

    def value(self, option: str) -> OptionValue | None:
        """Return the chosen value, else the default; None if that varies or there is no such option."""
        if option in self.options:
            return self.options[option]
        found = [item.default for item in self.filesystem.options if item.id == option]
        return found[0] if found else None

    def number(self, option: str) -> int:
        """Return the value of a number; 0 without a choice and a default."""
        value = self.value(option)
        return value if isinstance(value, int) else 0

    def chosen(self, *options: str) -> tuple[str, ...]:
        """Return the chosen ones of these options."""
        return tuple(option for option in options if option in self.options)

    def writes_whole_pages(self) -> bool:
        """Return whether pages are never half written: copy on write, or memory that is lost in a crash."""
        in_place = self.value("datacow") is False or self.value("nocow_attribute") is True
        return self.filesystem.whole_pages and not in_place


@dataclass(frozen=True, slots=True)
class ConflictRule(Generic[C_contra]):
    """One rule.

    Attributes:
        id: stable identifier, shown with the message.
        action: its effect.
        fields: options that it is about; the first chosen one names the finding.
        applies: the condition.
        message: one or two sentences, what and why.
        source: of the rule.
        implies: (option or server setting, value) that follow; shown to the user, and applied by the builder
            of a plan.
        idle: whether its options have no possible value there, so that a matrix skips them.
    """

    id: str
    action: Action
    fields: tuple[str, ...]
    applies: Callable[[C_contra], bool]
    message: str
    source: str
    implies: tuple[tuple[str, OptionValue], ...] = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class ConflictFinding:
    """A rule that applies.

    Attributes:
        rule: `ConflictRule.id`.
        action: its effect.
        field: option or setting that it is about.
        message: what and why.
        implies: consequences for other options and settings.
    """

    rule: str
    action: Action
    field: str
    message: str
    implies: tuple[tuple[str, OptionValue], ...] = ()
