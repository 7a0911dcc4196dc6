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

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import OptionValue, parse_switch
from app.domain.options.option import USUAL_PAGE_BYTES
from app.domain.options.raid import Level
from app.domain.versions import KERNEL, Version, Versions


class Action(StrEnum):
    """Effect of a rule."""

    REFUSE = "refuse"
    WARN = "warn"
    IMPLY = "imply"


@dataclass(frozen=True, slots=True)
class DiskSetFacts:
    """Facts for rules about several disks.

    Attributes:
        size_bytes: of the disk.
        logical_block_bytes: smallest addressable unit.
        rotational: whether it is a hard disk.
    """

    size_bytes: int
    logical_block_bytes: int = 512
    rotational: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """All inputs of a rule.

    Attributes:
        filesystem: the chosen one.
        options: legal chosen values; others are missing.
        level: of the group; None if unknown.
        disks: of the group; empty if unknown.
        versions: of kernel and tools; missing if unknown.
        page_bytes: memory page of the machine; None if unknown.
        server: settings of the server by lower-case name, as in postgresql.conf; None if unknown.
        zfs_log_disks: number of log devices of a pool.
        preconditioned: whether the SSDs were preconditioned.
        server_page_bytes: of a data page of the server; the usual size if unknown.
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

    def kernel(self) -> Version | None:
        """Return the version of the kernel, or None."""
        return self.versions.get(KERNEL)

    def writes_whole_pages(self) -> bool:
        """Return whether pages are never half written: copy on write, or memory that is lost in a crash."""
        in_place = self.value("datacow") is False or self.value("nocow_attribute") is True
        return self.filesystem.whole_pages and not in_place

    def cuts_pages(self) -> bool:
        """Return whether a page is certainly written in several separate pieces; see `OptionSpec`."""
        sizes = [self.number(option.id) for option in self.filesystem.options if option.written_whole]
        return any(0 < size < self.server_page_bytes for size in sizes)

    def is_off(self, setting: str) -> bool:
        """Return whether a server setting is certainly off; it takes precedence over the option of that name.

        Unknown settings are not off: one of them may override the option.
        """
        if self.server is None:
            return False
        said = parse_switch(self.server.get(setting, ""))
        return self.options.get(setting) is False if said is None else not said


@dataclass(frozen=True, slots=True)
class ConflictRule:
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
