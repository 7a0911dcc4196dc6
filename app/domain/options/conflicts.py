"""Which options do not go together, what one implies for another, and what has to be said: rules as data.

Ids C01 to C31 are those of the storage reference, section 1.8; those from C32 on were found when options
were tried on real kernels. Rules that forbid what this program cannot express are in its test.
A rule names no filesystem: it is about options and attributes, or stands in the file of the one it is about.
A fact that is not known (None) decides nothing here: the same rules are asked again where it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import OptionValue, parse_switch
from app.domain.options.option import USUAL_PAGE_BYTES
from app.domain.options.raid import Level
from app.domain.versions import KERNEL, Version, Versions


class Action(StrEnum):
    """What a rule does."""

    REFUSE = "refuse"
    WARN = "warn"
    IMPLY = "imply"


@dataclass(frozen=True, slots=True)
class DiskSetFacts:
    """What rules about several disks look at.

    Attributes:
        size_bytes: of the disk.
        logical_block_bytes: smallest unit that it addresses.
        rotational: whether it turns.
    """

    size_bytes: int
    logical_block_bytes: int = 512
    rotational: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Everything that a rule may look at.

    Attributes:
        filesystem: what is chosen.
        options: legal values that are chosen; what is not chosen is not here.
        level: of the group; None where not known.
        disks: of the group; empty where not known.
        versions: of kernel and tools; what is missing is not known.
        page_bytes: memory page of the machine; None where not known.
        server: settings of the server by lower-case name, as postgresql.conf has them; None where not known.
        zfs_log_disks: log devices of a pool.
        preconditioned: whether the SSDs were brought into their used state before.
        server_page_bytes: of a data page of the server; that of nearly every build where it is not known.
    """

    filesystem: FilesystemSpec
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    level: Level | None = None
    disks: tuple[DiskSetFacts, ...] = ()
    versions: Versions = field(default_factory=dict)
    page_bytes: int | None = None
    server: Mapping[str, str] | None = None
    zfs_log_disks: int = 0
    preconditioned: bool = False
    server_page_bytes: int = USUAL_PAGE_BYTES

    def value(self, option: str) -> OptionValue | None:
        """Return what is chosen, else the default; None where that depends or there is no such option."""
        if option in self.options:
            return self.options[option]
        found = [item.default for item in self.filesystem.options if item.id == option]
        return found[0] if found else None

    def number(self, option: str) -> int:
        """Return the value of a number; 0 where it is neither chosen nor has a default."""
        value = self.value(option)
        return value if isinstance(value, int) else 0

    def chosen(self, *options: str) -> tuple[str, ...]:
        """Return those of the options that are chosen."""
        return tuple(option for option in options if option in self.options)

    def kernel(self) -> Version | None:
        """Return the version of the kernel, or None."""
        return self.versions.get(KERNEL)

    def writes_whole_pages(self) -> bool:
        """Return whether no page is ever half written: copy on write, or memory that no crash leaves."""
        in_place = self.value("datacow") is False or self.value("nocow_attribute") is True
        return self.filesystem.whole_pages and not in_place

    def cuts_pages(self) -> bool:
        """Return whether a page is certainly written in several pieces, each for itself; see `OptionSpec`."""
        sizes = [self.number(option.id) for option in self.filesystem.options if option.written_whole]
        return any(0 < size < self.server_page_bytes for size in sizes)

    def is_off(self, setting: str) -> bool:
        """Return whether a server setting is certainly off; as a setting it counts over an option so called.

        Where the settings are not known, nobody knows: one of them may say otherwise.
        """
        if self.server is None:
            return False
        said = parse_switch(self.server.get(setting, ""))
        return self.options.get(setting) is False if said is None else not said


@dataclass(frozen=True, slots=True)
class ConflictRule:
    """One rule.

    Attributes:
        id: stable identifier, told with the message.
        action: what follows.
        fields: options that it is about; the first one that is chosen names the finding.
        applies: when.
        message: one or two sentences, what and why.
        source: where that is from.
        implies: (option or server setting, value) that follow; shown to the user, and applied by whoever
            builds a plan.
        idle: whether no value of its options is possible there. A matrix does not try them there.
    """

    id: str
    action: Action
    fields: tuple[str, ...]
    applies: Callable[[Circumstances], bool]
    message: str
    source: str
    implies: tuple[tuple[str, OptionValue], ...] = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class ConflictFinding:
    """A rule that applies.

    Attributes:
        rule: `ConflictRule.id`.
        action: what follows.
        field: option or setting that it is about.
        message: what and why.
        implies: what follows for other options and settings.
    """

    rule: str
    action: Action
    field: str
    message: str
    implies: tuple[tuple[str, OptionValue], ...] = ()
