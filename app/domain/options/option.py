"""Options of a filesystem as its programs know them: one frozen object each.

Nothing here knows a particular filesystem. An option's `Spelling` converts its value to the argument of a
program, and to the token that verifies it. Root looks up both here: identifiers and typed values cross the
bus, never tokens. Labels, reasons and risks are in `app.domain.options.option_spec`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.options.kinds import (
    ArgumentToken,
    Integer,
    Kind,
    OptionValue,
    ReadbackToken,
    ShownBy,
    Spelling,
    Toggle,
)


class Stage(StrEnum):
    """When an option is applied, and by what."""

    MKFS = "mkfs"
    MOUNT = "mount"
    POOL = "pool"
    DATASET = "dataset"
    ATTRIBUTE = "attribute"
    SERVER = "server"

    @property
    def shown_by(self) -> ShownBy:
        """Return where verification finds its options."""
        places = {
            Stage.MKFS: ShownBy.SUPERBLOCK,
            Stage.POOL: ShownBy.PROPERTIES,
            Stage.DATASET: ShownBy.PROPERTIES,
            Stage.ATTRIBUTE: ShownBy.ATTRIBUTES,
        }
        return places.get(self, ShownBy.MOUNTINFO)


BY_NAME: Final = Spelling("={value}")
"""Stands for the default of `FormatOption.spelling` and `FormatOption.shown`."""


@dataclass(frozen=True, slots=True)
class FormatOption:
    """One option of a filesystem, as far as it is passed to a program and read back.

    Attributes:
        id: stable name, unique within its filesystem; stored, sent, and written in campaign files.
        stage: when it is applied.
        kind: type and allowed values.
        default: of the tool or kernel; None if that depends on the machine.
        spelling: how a value is written; by default as ``id=value``.
        flag: flag of the mkfs program; empty for other stages.
        shown: how verification shows a value; None if nothing shows it directly. By default as it is written,
            but never for mkfs programs and the server. Where it is None, the filesystem's expected tokens
            (`FormatSpec.expected`) or a setting of the server show it, or `OptionText.unseen` says why not.
    """

    id: str
    stage: Stage
    kind: Kind
    default: OptionValue | None = None
    spelling: Spelling = BY_NAME
    flag: str = ""
    shown: Spelling | None = BY_NAME

    def __post_init__(self) -> None:
        """Replace the defaults of spelling and shown, which depend on the other fields."""
        if self.spelling is BY_NAME:
            object.__setattr__(self, "spelling", Spelling(f"{self.id}={{value}}"))
        if self.shown is BY_NAME:
            is_shown = self.stage not in {Stage.MKFS, Stage.SERVER}
            object.__setattr__(self, "shown", self.spelling if is_shown else None)

    def written(self, value: OptionValue) -> ArgumentToken | None:
        """Return the argument for a value; None for no argument."""
        token = self.spelling.token(value)
        return None if token is None else ArgumentToken(self.flag, token)

    def seen(self, value: OptionValue) -> ReadbackToken | None:
        """Return the tokens that verify a value; None if the option is never shown."""
        if self.shown is None:
            return None
        token = self.shown.token(value)
        if self.stage.shown_by is ShownBy.PROPERTIES and token is not None:
            # A property has one value: nothing else has to be absent. Blanks separate several properties.
            return ReadbackToken(tuple(token.split()))
        if isinstance(self.kind, Integer):
            prefix = self.shown.template.partition("{value}")[0]
            return ReadbackToken(absent=(prefix,)) if token is None else ReadbackToken(present=(token,))
        values: tuple[OptionValue, ...] = (True, False) if isinstance(self.kind, Toggle) else self.kind.ids
        others = {self.shown.token(other) for other in values} - {token, None}
        absent = tuple(sorted(other for other in others if other is not None))
        return ReadbackToken((token,) if token is not None else (), absent)
