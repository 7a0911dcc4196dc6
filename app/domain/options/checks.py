"""Check that chosen options are known, legal, supported by these versions, and compatible.

`app.domain.options.refusals` has what is the same on every machine; the rules here apply to all filesystems,
each filesystem's own rules are in its declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from app.domain.errors import Problem, did_you_mean
from app.domain.options.filesystem_spec import Circumstances, FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import Choice, OptionValue, Stage, Toggle
from app.domain.options.option_spec import (
    NOT_DURABLE,
    USUAL_PAGE_BYTES,
    OptionSpec,
    Requirement,
    Safety,
    Versions,
    format_version,
    risks_of,
)
from app.domain.options.raid import Level, layout
from app.domain.options.refusals import (
    LONGEST_ECHO,
    REFUSALS,
    Action,
    ConflictFinding,
    ConflictRule,
    findings,
    legal_options,
    plain,
    shown,
    unknown_option,
    value_problems,
)
from app.domain.text import tr

_SIZES_DIFFER: Final = 1.01


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


RULES: Final[tuple[ConflictRule[Circumstances], ...]] = (
    ConflictRule(
        "C07",
        Action.REFUSE,
        ("full_page_writes",),
        lambda it: it.is_off("full_page_writes") and not it.writes_whole_pages(),
        tr("A crash can leave torn pages: full_page_writes must stay on."),
        "zfs docs; manual 19.5.1",
    ),
    ConflictRule(
        "C24",
        Action.WARN,
        (),
        _not_durable,
        tr("The result is always marked NOT DURABLE and is not ranked."),
        "storage reference, policy",
    ),
    ConflictRule(
        "C25",
        Action.REFUSE,
        ("fsync",),
        lambda it: (
            it.is_off("fsync") and (_not_durable(it) or it.zfs_log_disks > 0) and bool(it.filesystem.levels)
        ),
        tr("With fsync=off the server never requests durability, so this option has hardly any effect."),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C25-equal",
        Action.WARN,
        ("fsync",),
        lambda it: it.is_off("fsync") and bool(it.filesystem.levels),
        tr(
            "With fsync=off no filesystem has to make commits durable: the result does not show what that "
            "costs."
        ),
        "manual 19.5.1",
    ),
    ConflictRule(
        "C26",
        Action.IMPLY,
        ("mkfs_discard",),
        lambda it: it.preconditioned and it.value("mkfs_discard") is True,
        tr(
            "pgFooting runs mkfs without discard, because discarding would undo the device's preconditioning."
        ),
        "mke2fs(8); mkfs.xfs(8); mkfs.btrfs(8); mkfs.f2fs(8)",
        (("mkfs_discard", False),),
    ),
    ConflictRule(
        "C30",
        Action.REFUSE,
        ("disks",),
        lambda it: len({disk.logical_block_bytes for disk in it.disks}) > 1,
        tr("The disks have different block sizes: writes aligned on one can be unaligned on the other."),
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
        tr("The disks differ in size by more than 1 %; only the size of the smallest is used on each."),
        "mdadm(8); zpool-create(8)",
    ),
    ConflictRule(
        "C30-rotational",
        Action.WARN,
        ("disks",),
        lambda it: len({disk.rotational for disk in it.disks}) > 1,
        tr("Hard disks and SSDs together are limited by the hard disks."),
        "mdadm(8)",
    ),
    ConflictRule(
        "C08",
        Action.REFUSE,
        ("full_page_writes", "recordsize"),
        lambda it: it.is_off("full_page_writes") and it.cuts_pages(),
        tr(
            "Records smaller than a PostgreSQL page (normally 8 KiB) are written one by one. Full page "
            "writes must stay on."
        ),
        "zfs docs",
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
        "C21",
        Action.WARN,
        ("logbias",),
        lambda it: it.value("logbias") == "throughput" and it.zfs_log_disks > 0,
        tr("With logbias=throughput the log devices are not used."),
        "zfsprops(7)",
    ),
    *REFUSALS,
)
"""Rules for every filesystem; `FilesystemSpec.rules` come after them."""


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
    problems = list(value_problems(spec, pairs, partial(_unknown, spec)))
    if problems:
        return tuple(problems)
    circumstances = Circumstances(
        filesystem=spec, options=legal_options(spec, pairs), level=level, versions=versions or {}
    )
    return tuple(
        Problem(finding.field, finding.message)
        for finding in check(circumstances)
        if finding.action is Action.REFUSE
    )


def check(circumstances: Circumstances) -> tuple[ConflictFinding, ...]:
    """Apply the rules to legal options; return refusals, warnings and implications.

    Only the first refusal of a field is returned.
    """
    found = tuple(findings((*RULES, *circumstances.filesystem.rules), circumstances))
    refused = {finding.field for finding in found if finding.action is Action.REFUSE}
    return (*found, *(item for item in _version_findings(circumstances) if item.field not in refused))


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
        each.id: tr("{option}: removed in {need}.").format(option=each.label, need=each.removed[0].words)
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


def implied(found: Iterable[ConflictFinding]) -> dict[str, OptionValue]:
    """Return what the findings imply, by option or server setting."""
    return {option: value for finding in found for option, value in finding.implies}


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
    for item in option.values:
        if item.id == value:
            since += item.since
            removed += item.removed
    for need in since:
        if need.is_reached(versions) is False:
            return tr("needs {need} or newer; found {found}").format(
                need=need.words, found=_installed(need, versions)
            )
    for need in removed:
        if need.is_reached(versions):
            return tr("removed in {need}; found {found}").format(
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
        (option, plain(value), spec.option(option).safety_of(value, server_page_bytes))
        for option, value in options.items()
    ]
    costs.append(("filesystem", spec.id, spec.risks))
    if level is not None and level in spec.levels:
        costs.append(("level", level.value, risks_of(layout(level, spec.assembler(level)))))
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


def _version_findings(circumstances: Circumstances) -> Iterator[ConflictFinding]:
    for name, value in circumstances.options.items():
        option = circumstances.filesystem.option(name)
        reason = unavailable(option, circumstances.versions, value)
        if reason:
            what = option.label if isinstance(value, bool | int) else f"{option.label}: {value}"
            yield ConflictFinding("C31", Action.REFUSE, name, f"{what}: {reason}.")


_PROGRAMS: Final = {
    Stage.MOUNT: "mount",
    Stage.POOL: "zpool",
    Stage.DATASET: "zfs",
    Stage.ATTRIBUTE: "chattr",
    Stage.SERVER: "PostgreSQL",
}


def _unknown(spec: FilesystemSpec, name: object) -> Problem:
    """Return the problem of an unknown option with its reason, its other spelling or a similar one."""
    plain_one = unknown_option(spec, name)
    for lack in spec.lacks:
        if lack.option == name:
            return replace(plain_one, message=lack.why)
    if not isinstance(name, str) or len(name) > LONGEST_ECHO:
        return plain_one
    near = did_you_mean(name, [option.id for option in spec.options])
    return replace(plain_one, message=_spelling(spec, name) or f"{plain_one.message} {near}".strip())


def _spelling(spec: FilesystemSpec, word: str) -> str:
    """Return the option for a mount option or flag such as ``nobarrier``; empty if there is none."""
    for option in spec.options:
        values: tuple[OptionValue, ...] = (True, False) if isinstance(option.kind, Toggle) else ()
        if isinstance(option.kind, Choice):
            values = option.kind.ids
        for value in values:
            written = option.written(value)
            if written is not None and written.item == word:
                said = f'"{value}"' if isinstance(value, str) else shown(value)
                sentence = tr("“{word}” is an argument of {program}. Write {name} = {value}.")
                program = _PROGRAMS.get(option.stage, spec.mkfs)
                return sentence.format(word=word, program=program, name=option.id, value=said)
    return ""
