"""Check that chosen options are known, legal, supported by these versions, and compatible.

Options may come from a campaign file, a command line or the bus, so nothing is assumed about them: every
answer names the field and what is allowed, and repeats only a little of the input. The rules here apply to
all filesystems; each filesystem's own rules are in its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from app.domain.errors import did_you_mean
from app.domain.options.conflicts import Action, Circumstances, ConflictFinding, ConflictRule
from app.domain.options.filesystem_spec import STRIPE_OPTIONS, FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import Choice, ChoiceValue, OptionValue, Toggle
from app.domain.options.option import NOT_DURABLE, USUAL_PAGE_BYTES, OptionSpec, Safety, Stage
from app.domain.options.raid import Level, layout
from app.domain.problem import Problem
from app.domain.text import tr
from app.domain.versions import Requirement, Versions, format_version

_SIZES_DIFFER: Final = 1.01
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


def _not_durable(it: Circumstances) -> bool:
    classes = {
        item for option, value in it.options.items() for item in it.filesystem.option(option).safety_of(value)
    }
    return bool(NOT_DURABLE & (classes | set(it.filesystem.risks)))


def _exceeds_page(it: Circumstances) -> bool:
    if it.page_bytes is None or it.number("block_size") <= it.page_bytes:
        return False
    since = it.filesystem.large_blocks_since
    return since is None or since.is_reached(it.versions) is not True


RULES: Final = (
    ConflictRule(
        "C07",
        Action.REFUSE,
        ("full_page_writes",),
        lambda it: it.is_off("full_page_writes") and not it.writes_whole_pages(),
        tr("A crash can leave half-written pages here, which only full page writes repair."),
        "zfs docs; manual 19.5.1",
    ),
    ConflictRule(
        "C24",
        Action.WARN,
        (),
        _not_durable,
        tr("The result is marked NOT DURABLE wherever it is shown and is not ranked among the others."),
        "storage reference, policy",
    ),
    ConflictRule(
        "C25",
        Action.REFUSE,
        ("fsync",),
        lambda it: (
            it.is_off("fsync") and (_not_durable(it) or it.zfs_log_disks > 0) and bool(it.filesystem.levels)
        ),
        tr("With fsync=off the server never asks for durability: this option would have nothing to change."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C25-equal",
        Action.WARN,
        ("fsync",),
        lambda it: it.is_off("fsync") and bool(it.filesystem.levels),
        tr("With fsync=off all filesystems look alike: nothing is said about how they make commits durable."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C26",
        Action.IMPLY,
        ("mkfs_discard",),
        lambda it: it.preconditioned and it.value("mkfs_discard") is True,
        tr("Discarding the device would undo its preconditioning: the mkfs program is told not to."),
        "mke2fs(8); mkfs.xfs(8); mkfs.btrfs(8); mkfs.f2fs(8)",
        (("mkfs_discard", False),),
    ),
    ConflictRule(
        "C30",
        Action.REFUSE,
        ("disks",),
        lambda it: len({disk.logical_block_bytes for disk in it.disks}) > 1,
        tr("The disks address blocks of different sizes: what is aligned on one is not on the other."),
        "mdadm(8); zpool-create(8)",
    ),
    ConflictRule(
        "C30-size",
        Action.WARN,
        ("disks",),
        lambda it: (
            len(it.disks) > 1
            and max(disk.size_bytes for disk in it.disks)
            > _SIZES_DIFFER * min(disk.size_bytes for disk in it.disks)
        ),
        tr("The disks differ in size by more than 1 %: all are used as if as small as the smallest."),
        "mdadm(8); zpool-create(8)",
    ),
    ConflictRule(
        "C30-rotational",
        Action.WARN,
        ("disks",),
        lambda it: len({disk.rotational for disk in it.disks}) > 1,
        tr("Disks that turn and SSDs together run at the speed of those that turn."),
        "mdadm(8)",
    ),
    ConflictRule(
        "C33",
        Action.REFUSE,
        STRIPE_OPTIONS,
        lambda it: it.level is not None and it.level is not Level.SINGLE and bool(it.chosen(*STRIPE_OPTIONS)),
        tr("An array of md is aligned by itself; this is for a RAID controller that looks like one disk."),
        "mke2fs(8); mkfs.xfs(8)",
        idle=True,
    ),
    ConflictRule(
        "C08",
        Action.REFUSE,
        ("full_page_writes", "recordsize"),
        lambda it: it.is_off("full_page_writes") and it.cuts_pages(),
        tr(
            "Records smaller than a page of PostgreSQL (8 KiB where it was not built otherwise) are written "
            "one by one: full page writes have to stay on."
        ),
        "zfs docs",
    ),
    ConflictRule(
        "C09",
        Action.REFUSE,
        _JOURNALLED,
        lambda it: it.value("journal") is False and bool(it.chosen(*_JOURNALLED)),
        tr("Without a journal this option has nothing to change; the kernel refuses most of them."),
        "mke2fs(8); tested (“fs mounted w/o journal”)",
        idle=True,
    ),
    ConflictRule(
        "C11",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: "cluster_bytes" in it.options and it.value("bigalloc") is not True,
        tr("A cluster size needs allocation in clusters (bigalloc)."),
        "mke2fs(8); tested",
        idle=True,
    ),
    ConflictRule(
        "C11-size",
        Action.REFUSE,
        ("cluster_bytes",),
        lambda it: (  # mke2fs chooses 16 blocks where nobody says a size
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
        tr("data=journal turns this off or refuses the mount; direct I/O is off with it too."),
        "ext4.rst; tested (delalloc is refused, dioread_nolock silently dropped)",
    ),
    ConflictRule(
        "C13",
        Action.REFUSE,
        ("block_size",),
        _exceeds_page,
        tr("Blocks larger than the machine's memory page cannot be mounted here (XFS: since Linux 6.12)."),
        "mke2fs(8); mkfs.xfs(8); tested",
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
        "C21",
        Action.WARN,
        ("logbias",),
        lambda it: it.value("logbias") == "throughput" and it.zfs_log_disks > 0,
        tr("With logbias=throughput the log devices are not used."),
        "zfsprops(7)",
    ),
    ConflictRule(
        "C32",
        Action.REFUSE,
        ("journal_async_commit",),
        lambda it: it.value("journal_async_commit") is True and it.value("data") == "ordered",
        tr("The kernel refuses this while data is ordered: choose data=writeback or data=journal with it."),
        "tested (“can't mount with journal_async_commit in data=ordered mode”)",
    ),
    ConflictRule(
        "C39",
        Action.REFUSE,
        ("min_batch_time", "max_batch_time"),
        lambda it: it.number("min_batch_time") > it.number("max_batch_time"),
        tr("The shortest wait for other commits is longer than the longest."),
        "ext4.rst",
    ),
)
"""Rules for every filesystem; `FilesystemSpec.rules` come after them."""


_LONGEST_ECHO: Final = 40


def echo(text: object) -> str:
    """Escape foreign text for display on one line, at most 40 characters."""
    shown = ascii(text) if not isinstance(text, str) else ascii(text)[1:-1]
    return shown if len(shown) <= _LONGEST_ECHO else shown[: _LONGEST_ECHO - 1] + "…"


def validate_options(
    spec: FilesystemSpec,
    options: Mapping[str, object] | Iterable[tuple[str, object]],
    *,
    level: Level | None = None,
    versions: Versions | None = None,
) -> tuple[Problem, ...]:
    """Return all problems of options, each with the field and what is allowed.

    Args:
        spec: filesystem.
        options: as received; pairs if one may be repeated.
        level: RAID level, if known.
        versions: of kernel and tools, if known.
    """
    pairs = tuple(options.items()) if isinstance(options, Mapping) else tuple(options)
    problems = list(_value_problems(spec, pairs))
    if problems:
        return tuple(problems)
    circumstances = Circumstances(spec, legal_options(spec, pairs), level=level, versions=versions or {})
    return tuple(
        Problem(finding.field, finding.message)
        for finding in check(circumstances)
        if finding.action is Action.REFUSE
    )


def legal_options(spec: FilesystemSpec, pairs: Iterable[tuple[str, object]]) -> dict[str, OptionValue]:
    """Return the options that are known and have a legal value."""
    known = {option.id: option for option in spec.options}
    return {
        name: value
        for name, value in pairs
        if isinstance(value, bool | int | str) and name in known and known[name].kind.accepts(value)
    }


def check(circumstances: Circumstances) -> tuple[ConflictFinding, ...]:
    """Apply the rules to legal options; return refusals, warnings and implications.

    Only the first refusal of a field is returned.
    """
    findings = [
        ConflictFinding(rule.id, rule.action, _field(rule, circumstances), rule.message, rule.implies)
        for rule in (*RULES, *circumstances.filesystem.rules)
        if rule.applies(circumstances)
    ]
    refused = {finding.field for finding in findings if finding.action is Action.REFUSE}
    return (*findings, *(item for item in _version_findings(circumstances) if item.field not in refused))


def idle_options(
    spec: FilesystemSpec, options: Mapping[str, OptionValue], level: Level | None = None
) -> dict[str, str]:
    """Return the options without any possible value in combination with the others, each with the reason.

    Includes those that current kernels no longer have.

    Args:
        spec: filesystem.
        options: legal options.
        level: RAID level, if known.
    """
    it = Circumstances(spec, options, level=level)
    found = {
        each.id: tr("{option}: gone since {need}.").format(option=each.label, need=each.removed[0].words)
        for each in spec.options
        if each.removed
    }
    for rule in (*RULES, *spec.rules):
        if rule.idle and rule.applies(it):
            found |= dict.fromkeys(it.chosen(*rule.fields), rule.message)
    return found


def is_of_today(spec: FilesystemSpec, preset: FilesystemPreset) -> bool:
    """Return whether current kernels support all options of a preset."""
    options = ((spec.option(name), value) for name, value in preset.options.items())
    return not any(option.removed and option.written(value) is not None for option, value in options)


def implied(findings: Iterable[ConflictFinding]) -> dict[str, OptionValue]:
    """Return what the findings imply, by option or server setting."""
    return {option: value for finding in findings for option, value in finding.implies}


def unavailable(option: OptionSpec, versions: Versions, value: OptionValue | None = None) -> str:
    """Return why an option, or a value of it, does not exist in these versions; empty if it does.

    Components that are not installed are ignored. A switch value without an argument exists in every version.

    Args:
        option: the option.
        versions: of kernel and tools.
        value: also checked if given.
    """
    if isinstance(value, bool) and option.written(value) is None:
        return ""
    since, removed = list(option.since), list(option.removed)
    for item in _alternatives(option):
        if item.id == value:
            since += item.since
            removed += item.removed
    for need in since:
        if need.is_reached(versions) is False:
            return tr("exists since {need}; here is {found}").format(
                need=need.words, found=_installed(need, versions)
            )
    for need in removed:
        if need.is_reached(versions):
            return tr("gone since {need}; here is {found}").format(
                need=need.words, found=_installed(need, versions)
            )
    return ""


def unsafe_options(
    spec: FilesystemSpec,
    options: Mapping[str, OptionValue],
    level: Level | None = None,
    server_page_bytes: int = USUAL_PAGE_BYTES,
) -> tuple[tuple[str, str, str], ...]:
    """Return (what, value, sentence) for every choice that risks data loss; a run with any is marked.

    Args:
        spec: filesystem.
        options: legal options.
        level: RAID level, if there is one.
        server_page_bytes: of a data page of the server.
    """
    costs = [
        (option, _plain(value), spec.option(option).safety_of(value, server_page_bytes))
        for option, value in options.items()
    ]
    costs.append(("filesystem", spec.id, spec.risks))
    if level is not None and level in spec.levels:
        costs.append(("level", level.value, layout(level, spec.assembler(level)).risks))
    return tuple(
        (what, value, item.sentence)
        for what, value, classes in costs
        for item in classes
        if item is not Safety.SAFE
    )


def preset_problems(
    spec: FilesystemSpec, preset: FilesystemPreset, versions: Versions
) -> tuple[Problem, ...]:
    """Return why a preset cannot be used with these versions; empty if it can."""
    return validate_options(spec, preset.options, versions=versions)


def _installed(need: Requirement, versions: Versions) -> str:
    return format_version(versions[need.component])


def _alternatives(option: OptionSpec) -> tuple[ChoiceValue, ...]:
    return option.kind.values if isinstance(option.kind, Choice) else ()


def _field(rule: ConflictRule, circumstances: Circumstances) -> str:
    chosen = circumstances.chosen(*rule.fields)
    return chosen[0] if chosen else (rule.fields or ("",))[0]


def _version_findings(circumstances: Circumstances) -> Iterator[ConflictFinding]:
    for name, value in circumstances.options.items():
        option = circumstances.filesystem.option(name)
        reason = unavailable(option, circumstances.versions, value)
        if reason:
            what = option.label if isinstance(value, bool | int) else f"{option.label}: {value}"
            yield ConflictFinding("C31", Action.REFUSE, name, f"{what}: {reason}.")


def _value_problems(spec: FilesystemSpec, pairs: tuple[tuple[object, object], ...]) -> Iterator[Problem]:
    known = {option.id: option for option in spec.options}
    seen: set[object] = set()
    for name, value in pairs:
        if not isinstance(name, str) or name not in known:
            yield _unknown(spec, name)
            continue
        if name in seen:
            yield Problem(name, tr("{name} is given twice.").format(name=name), tr("once"))
        seen.add(name)
        kind = known[name].kind
        if not kind.accepts(value):
            yield Problem(
                name,
                tr("{name} cannot be {value}.").format(name=name, value=_shown(value)),
                kind.allowed,
            )


_TOLD: Final = {
    Stage.MOUNT: "mount",
    Stage.POOL: "zpool",
    Stage.DATASET: "zfs",
    Stage.ATTRIBUTE: "chattr",
    Stage.SERVER: "PostgreSQL",
}


def _plain(value: OptionValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return _plain(value)
    return f"“{echo(value)}”" if isinstance(value, str) else echo(value)


def _unknown(spec: FilesystemSpec, name: object) -> Problem:
    """Return the problem of an unknown option: with its reason, its other spelling or a similar one."""
    shown = echo(name)
    allowed = ", ".join(option.id for option in spec.options)
    for lack in spec.lacks:
        if lack.option == name:
            return Problem(shown, lack.why, allowed)
    message = tr("{label} has no option {name}.").format(label=spec.label, name=f"“{shown}”")
    if isinstance(name, str) and len(name) <= _LONGEST_ECHO:
        spelling = _spelling(spec, name)
        near = "" if spelling else did_you_mean(name, allowed.split(", "))
        message = spelling or f"{message} {near}".strip()
    return Problem(shown, message, allowed)


def _spelling(spec: FilesystemSpec, word: str) -> str:
    """Return the option for a mount option or flag such as ``nobarrier``; empty if there is none."""
    for option in spec.options:
        values: tuple[OptionValue, ...] = (True, False) if isinstance(option.kind, Toggle) else ()
        if isinstance(option.kind, Choice):
            values = option.kind.ids
        for value in values:
            written = option.written(value)
            if written is not None and written.item == word:
                shown = f'"{value}"' if isinstance(value, str) else _shown(value)
                sentence = tr("“{word}” is what {program} is told. Say {name} = {value}.")
                program = _TOLD.get(option.stage, spec.mkfs)
                return sentence.format(word=word, program=program, name=option.id, value=shown)
    return ""
