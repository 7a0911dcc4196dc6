"""What users read about an option, where it exists and what it risks. Root imports none of it.

Wizard page, validation, command line and documentation iterate `OptionSpec`: a `FormatOption` of
`app.domain.formats` joined with its `OptionText` of `app.domain.option_texts`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from typing import Final

from app.domain.options.kinds import OptionValue, Spelling
from app.domain.options.option import FormatOption
from app.domain.text import tr
from app.domain.units import KIB
from app.domain.versions import Requirement


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
            "A power cut can lose acknowledged commits or the whole filesystem, unless every disk's write "
            "cache survives it (power-loss protection, battery)."
        ),
    ),
    Safety.LOSES_COMMITS: (
        tr("loses commits"),
        tr("A power cut or crash of the machine loses acknowledged commits, on any disk."),
    ),
    Safety.STALE_DATA: (
        tr("stale data"),
        tr(
            "After a crash files can contain old disk content. PostgreSQL repairs its own from the WAL, but "
            "others may read old data."
        ),
    ),
    Safety.NO_CHECKSUMS: (
        tr("no checksums"),
        tr("Data has no checksums: wrong data from a disk is not detected and not repaired."),
    ),
    Safety.TORN_PAGES: (
        tr("torn pages"),
        tr("A crash can leave torn pages: full_page_writes must stay on."),
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
        tr("Changes the benchmark but not everyday use: compare with care."),
    ),
}

NOT_DURABLE: Final = frozenset({Safety.LOSES_COMMITS_WITHOUT_PLP, Safety.LOSES_COMMITS})
"""Classes that mark a result as not durable (rule C24)."""


USUAL_PAGE_BYTES: Final = 8 * KIB
"""Default page size of PostgreSQL (configure --with-blocksize; manual 17.3.3.5)."""
SMALLEST_PAGE_BYTES: Final = KIB
"""The smallest possible page size (configure --with-blocksize: 1 to 32 kB)."""


@dataclass(frozen=True, slots=True)
class ChoiceValue:
    """One value of a `Choice`.

    Attributes:
        id: the value.
        effect: on PostgreSQL; empty if the value or the option says it.
        since: requirements of this value in addition to the option's own.
        removed: versions that no longer have it.
        untested: newer than every kernel or tool in the tests.
    """

    id: str
    effect: str = ""
    since: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    untested: bool = False


@dataclass(frozen=True)
class OptionText:
    """What users read about one option; see `OptionSpec`.

    Attributes:
        label: for users.
        effect: on PostgreSQL, one sentence.
        source: of the facts.
        values: each value of a `Choice`, in its order; may be missing if there is nothing to say of any.
        unseen: why it cannot be verified, one clause; empty if it can: by `FormatOption.shown`, by the
            filesystem's expected tokens (`FormatSpec.expected`), or as a setting of the server.
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

    label: str
    effect: str
    source: str
    _: KW_ONLY
    values: tuple[ChoiceValue, ...] = ()
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


@dataclass(frozen=True, slots=True)
class OptionSpec(FormatOption, OptionText):
    """One option of a filesystem, with what users read about it."""

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


def explained(option: FormatOption, text: OptionText) -> OptionSpec:
    """Return an option with its text."""
    values = text.values or tuple(map(ChoiceValue, getattr(option.kind, "ids", ())))
    of_format = {each.name: getattr(option, each.name) for each in fields(option)}
    return OptionSpec(**of_format, **{**vars(text), "values": values})
