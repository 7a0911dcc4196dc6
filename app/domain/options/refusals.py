"""Refuse options that are unknown, illegal, or cannot go together on any machine.

Options may come from a campaign file, a command line or the bus, so nothing is assumed about them: every
answer names the field and what is allowed, and repeats only a little of the input. Root decides by this alone
(`app.domain.storage_plan.reader`); what depends on versions, disks and the server is in
`app.domain.options.checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final, Generic, TypeVar

from app.domain.errors import Problem
from app.domain.options.format_spec import STRIPE_OPTIONS, FormatSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.text import quoted, tr

# Conflicts and implications of options, and warnings about them: rules as data.
#
# Ids C01 to C31 are those of the storage reference, section 1.8; those from C32 on were found by trying
# options on real kernels. Rules about choices that this program cannot express are in its test. A rule names
# no filesystem: it is about options and attributes, or is in the file of its filesystem. An unknown fact
# (None) decides nothing: the rules are applied again when it is known.


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


C = TypeVar("C", bound=Choices)

_JOURNALLED: Final = (
    "data",
    "commit",
    "journal_async_commit",
    "journal_ioprio",
    "journal_bytes",
    "fast_commit",
    "max_batch_time",
    "min_batch_time",
)

REFUSALS: Final[tuple[ConflictRule[Choices], ...]] = (
    ConflictRule(
        "C33",
        Action.REFUSE,
        STRIPE_OPTIONS,
        lambda it: it.level is not None and it.level is not Level.SINGLE and bool(it.chosen(*STRIPE_OPTIONS)),
        tr(
            "md arrays are aligned automatically; this option is for a RAID controller that looks like one "
            "disk."
        ),
        "mke2fs(8); mkfs.xfs(8)",
        idle=True,
    ),
    ConflictRule(
        "C09",
        Action.REFUSE,
        _JOURNALLED,
        lambda it: it.value("journal") is False and bool(it.chosen(*_JOURNALLED)),
        tr("Without a journal this option has no effect; the kernel refuses most such options."),
        "mke2fs(8); tested (“fs mounted w/o journal”)",
        idle=True,
    ),
    ConflictRule(
        "C11",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: "cluster_bytes" in it.options and it.value("bigalloc") is not True,
        tr("A cluster size needs clustered allocation (bigalloc)."),
        "mke2fs(8); tested",
        idle=True,
    ),
    ConflictRule(
        "C11-size",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: (  # mke2fs chooses 16 blocks without a size
            "cluster_bytes" in it.options
            and it.value("bigalloc") is True
            and not 2 * it.number("block_size")
            <= it.number("cluster_bytes")
            <= 32768 * it.number("block_size")
        ),
        tr("A cluster has 2 to 32768 blocks."),
        "mke2fs(8)",
    ),
    ConflictRule(
        "C12",
        Action.REFUSE,
        ("dax", "delalloc", "dioread_nolock"),
        lambda it: (
            it.value("data") == "journal"
            and any(it.options.get(option) is True for option in ("dax", "delalloc", "dioread_nolock"))
        ),
        tr("With data=journal the kernel turns this off or refuses the mount, and direct I/O is off too."),
        "ext4.rst; tested (delalloc is refused, dioread_nolock silently dropped)",
    ),
    ConflictRule(
        "C14",
        Action.REFUSE,
        ("stripe_width", "stride"),
        lambda it: (
            len(it.chosen("stripe_width", "stride")) == 2
            and bool(it.number("stripe_width") % it.number("stride"))
        ),
        tr("The stripe width has to be a multiple of the stride; mke2fs only warns."),
        "mke2fs.c; tested",
    ),
    ConflictRule(
        "C32",
        Action.REFUSE,
        ("journal_async_commit",),
        lambda it: it.value("journal_async_commit") is True and it.value("data") == "ordered",
        tr("The kernel refuses this with data=ordered: choose data=writeback or data=journal."),
        "tested (“can't mount with journal_async_commit in data=ordered mode”)",
    ),
    ConflictRule(
        "C39",
        Action.REFUSE,
        ("min_batch_time", "max_batch_time"),
        lambda it: it.number("min_batch_time") > it.number("max_batch_time"),
        tr("min_batch_time is larger than max_batch_time."),
        "ext4.rst",
    ),
)
"""Rules for every format that only need options and level; `FormatSpec.refusals` come after them."""

LONGEST_ECHO: Final = 40


def echo(text: object) -> str:
    """Escape foreign text for display on one line, at most 40 characters."""
    shown = ascii(text) if not isinstance(text, str) else ascii(text)[1:-1]
    return shown if len(shown) <= LONGEST_ECHO else shown[: LONGEST_ECHO - 1] + "…"


def option_problems(
    spec: FormatSpec, pairs: Iterable[tuple[str, object]], level: Level | None = None
) -> tuple[Problem, ...]:
    """Return the problems of options that are the same on every machine, each with its field.

    Args:
        spec: format of the filesystem.
        pairs: options as received; one may be repeated.
        level: RAID level, if known.
    """
    pairs = tuple(pairs)
    problems = tuple(value_problems(spec, pairs, partial(unknown_option, spec)))
    if problems:
        return problems
    choices = Choices(spec, legal_options(spec, pairs), level)
    found = findings((*REFUSALS, *spec.refusals), choices)
    return tuple(Problem(each.field, each.message) for each in found)


def legal_options(spec: FormatSpec, pairs: Iterable[tuple[str, object]]) -> dict[str, OptionValue]:
    """Return the options that are known and have a legal value."""
    known = {option.id: option for option in spec.options}
    return {
        name: value
        for name, value in pairs
        if isinstance(value, bool | int | str) and name in known and known[name].kind.accepts(value)
    }


def findings(rules: Iterable[ConflictRule[C]], choices: C) -> Iterator[ConflictFinding]:
    """Yield what rules say of legal options."""
    for rule in rules:
        if rule.applies(choices):
            field = (*choices.chosen(*rule.fields), *rule.fields, "")[0]
            yield ConflictFinding(rule.id, rule.action, field, rule.message, rule.implies)


def value_problems(
    spec: FormatSpec, pairs: Iterable[tuple[object, object]], unknown: Callable[[object], Problem]
) -> Iterator[Problem]:
    """Yield the problems of unknown options and of illegal values.

    Args:
        spec: format of the filesystem.
        pairs: options as received.
        unknown: says of a name that there is no such option.
    """
    known = {option.id: option for option in spec.options}
    seen: set[object] = set()
    for name, value in pairs:
        if not isinstance(name, str) or name not in known:
            yield unknown(name)
            continue
        if name in seen:
            yield Problem(name, tr("{name} is given twice.").format(name=name), tr("once"))
        seen.add(name)
        kind = known[name].kind
        if not kind.accepts(value):
            yield Problem(
                name,
                tr("{name} cannot be {value}").format(name=name, value=shown(value)) + ".",
                kind.allowed,
            )


def unknown_option(spec: FormatSpec, name: object) -> Problem:
    """Return the problem of an unknown option."""
    message = tr("{label} has no option {name}.").format(label=spec.label, name=quoted(echo(name)))
    return Problem(echo(name), message, ", ".join(option.id for option in spec.options))


def plain(value: OptionValue) -> str:
    """Return a value as campaign files spell it, without quotes."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def shown(value: object) -> str:
    """Return a value, escaped, as campaign files spell it."""
    if isinstance(value, bool):
        return plain(value)
    return quoted(echo(value)) if isinstance(value, str) else echo(value)
