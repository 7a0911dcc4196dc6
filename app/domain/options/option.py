"""Options of a filesystem: one frozen object each.

Wizard page, validation, command line, commands, verification and documentation iterate these objects; nothing
here knows a particular filesystem. An option's `Spelling` converts its value to the argument of a program,
and to the token that verifies it. Root looks up both here: identifiers and typed values cross the bus, never
tokens.
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
from app.domain.text import tr
from app.domain.units import KIB
from app.domain.versions import Requirement


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


class Safety(StrEnum):
    """Risk of an option's value (classes S L X C T R E B of the storage reference)."""

    SAFE = "safe"
    LOSES_COMMITS_WITHOUT_PLP = "loses-commits-without-plp"
    LOSES_COMMITS = "loses-commits"
    STALE_DATA = "stale-data"
    NO_CHECKSUMS = "no-checksums"
    TORN_PAGES = "torn-pages"
    LESS_REDUNDANCY = "less-redundancy"
    EXPERIMENTAL = "experimental"
    DISTORTS = "distorts"

    @property
    def label(self) -> str:
        """Return two or three words for tables and marks."""
        return _SAFETY_WORDS[self][0]

    @property
    def sentence(self) -> str:
        """Return its meaning, one sentence."""
        return _SAFETY_WORDS[self][1]


_SAFETY_WORDS: Final = {
    Safety.SAFE: (tr("safe"), tr("Costs no safety.")),
    Safety.LOSES_COMMITS_WITHOUT_PLP: (
        tr("needs PLP"),
        tr(
            "A power cut loses acknowledged commits or the whole filesystem, unless every disk's write cache "
            "survives it (power-loss protection, battery)."
        ),
    ),
    Safety.LOSES_COMMITS: (
        tr("loses commits"),
        tr("A power cut or crash of the machine loses acknowledged commits, whatever the disks are."),
    ),
    Safety.STALE_DATA: (
        tr("stale data"),
        tr(
            "After a crash files can show what lay on the disk before: PostgreSQL repairs its own from the "
            "WAL, but old data can be read by others."
        ),
    ),
    Safety.NO_CHECKSUMS: (
        tr("no checksums"),
        tr("Data has no checksums: what a disk returns wrong is not noticed and not repaired."),
    ),
    Safety.TORN_PAGES: (
        tr("torn pages"),
        tr("A crash can leave half-written pages: full_page_writes has to stay on."),
    ),
    Safety.LESS_REDUNDANCY: (
        tr("less redundancy"),
        tr("Fewer copies than the level promises: some damage cannot be repaired."),
    ),
    Safety.EXPERIMENTAL: (
        tr("experimental"),
        tr("Its own developers call it unstable or not for production."),
    ),
    Safety.DISTORTS: (
        tr("distorts"),
        tr("Changes what a benchmark shows without a change for everyday use: compare with care."),
    ),
}

NOT_DURABLE: Final = frozenset({Safety.LOSES_COMMITS_WITHOUT_PLP, Safety.LOSES_COMMITS})
"""Classes that mark a result as not durable (rule C24)."""


USUAL_PAGE_BYTES: Final = 8 * KIB
"""Default page size of PostgreSQL (configure --with-blocksize; manual 17.3.3.5)."""
SMALLEST_PAGE_BYTES: Final = KIB
"""The smallest possible page size (configure --with-blocksize: 1 to 32 kB)."""


BY_NAME: Final = Spelling("={value}")
"""Stands for the default of `OptionSpec.spelling` and `OptionSpec.shown`."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a filesystem.

    Attributes:
        id: stable name, unique within its filesystem; stored, sent, and written in campaign files.
        label: for users.
        stage: when it is applied.
        kind: type and allowed values.
        default: of the tool or kernel; None if that depends on the machine.
        effect: on PostgreSQL, one sentence.
        source: of the facts.
        spelling: how a value is written; by default as ``id=value``.
        flag: flag of the mkfs program; empty for other stages.
        shown: how verification shows a value; None if nothing shows it directly. By default as it is written,
            but never for mkfs programs and the server, nor where `unseen` says why.
        unseen: why it cannot be verified, one clause; empty if it can: by `shown`, by the filesystem's
            expected tokens (`FilesystemSpec.expected`), or as a setting of the server.
        on_files: how new files on the filesystem show a value, in letters of `lsattr`; None if they do not.
            Checked after loading.
        risks: (value, classes) for risky values.
        written_whole: whether it is the number of bytes that are written atomically: below the server's page
            size, pages can be half written.
        since: all requirements for the option to exist.
        removed: versions that no longer have it.
        of_wal: for the server stage: whether it concerns the WAL instead of the data.
        tried: values worth comparing, if there are many: those in published comparisons and manuals.
        word: its program's name for it, if the spelling does not contain one.
        untested: its effect was never seen on a real kernel or tool: newer than Linux 6.1 and 6.18, OpenZFS
            2.1.11 and the tools of Debian 12 and 13.
    """

    id: str
    label: str
    stage: Stage
    kind: Kind
    default: OptionValue | None
    effect: str
    source: str
    spelling: Spelling = BY_NAME
    flag: str = ""
    shown: Spelling | None = BY_NAME
    unseen: str = ""
    on_files: Spelling | None = None
    risks: tuple[tuple[OptionValue, tuple[Safety, ...]], ...] = ()
    written_whole: bool = False
    since: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    of_wal: bool = False
    tried: tuple[OptionValue, ...] = ()
    word: str = ""
    untested: bool = False

    def __post_init__(self) -> None:
        """Replace the defaults of spelling and shown, which depend on the other fields."""
        if self.spelling is BY_NAME:
            object.__setattr__(self, "spelling", Spelling(f"{self.id}={{value}}"))
        if self.shown is BY_NAME:
            is_shown = not self.unseen and self.stage not in {Stage.MKFS, Stage.SERVER}
            object.__setattr__(self, "shown", self.spelling if is_shown else None)

    def safety_of(self, value: OptionValue, server_page_bytes: int = USUAL_PAGE_BYTES) -> tuple[Safety, ...]:
        """Return the risks of a value; (SAFE,) for none.

        Args:
            value: a legal one.
            server_page_bytes: of a data page of the server.
        """
        if self.written_whole and isinstance(value, int) and value < server_page_bytes:
            return (Safety.TORN_PAGES,)
        for risky, classes in self.risks:
            if risky == value and type(risky) is type(value):
                return classes
        return (Safety.SAFE,)

    @property
    def safety(self) -> tuple[Safety, ...]:
        """Return the risks of all values together; (SAFE,) for none."""
        classes = dict.fromkeys(item for _, items in self.risks for item in items)
        if self.written_whole:
            classes[Safety.TORN_PAGES] = None
        return tuple(classes) or (Safety.SAFE,)

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
