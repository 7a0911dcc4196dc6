from __future__ import annotations

import re
from dataclasses import replace
from typing import TypedDict

import pytest
from typing_extensions import Unpack

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.checks import RULES, check, implied, preset_problems
from app.domain.options.conflicts import Action, Circumstances, ConflictFinding, ConflictRule, DiskSetFacts
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level
from app.domain.units import GIB, KIB
from app.domain.versions import KERNEL, Component, Versions


class Facts(TypedDict, total=False):
    level: Level
    disks: tuple[DiskSetFacts, ...]
    versions: Versions
    page_bytes: int
    server: dict[str, str]
    zfs_log_disks: int
    preconditioned: bool
    server_page_bytes: int


ALL: list[tuple[ConflictRule, FilesystemSpec | None]] = [
    *((rule, None) for rule in RULES),
    *((rule, spec) for spec in FILESYSTEMS for rule in spec.rules),
]
NOT_EXPRESSIBLE = {
    "C16": "lazy-count, attr2 and ikeep of XFS are not offered",
    "C19": "compression of f2fs is not offered: it does nothing for PostgreSQL",
    "C22": "special and dedup devices of ZFS are not offered",
    "C23": "several log devices of a pool are always mirrored, cache devices are not offered",
    "C28": "several disks below f2fs are always an md array, never its own concatenation",
}
ELSEWHERE = {
    "C02": "ZFS lacks the option",
    "C10": "ext3 lacks the options",
    "C29": "app.domain.options.checks: unknown, duplicate and hostile words",
    "C31": "app.domain.options.checks: versions",
}
OF_ALL = {"level", "disks", "fsync", "full_page_writes"}

Options = dict[str, OptionValue]
Side = tuple[Options, Facts]

KERNEL_6_1 = {KERNEL: (6, 1)}
EVEN = (DiskSetFacts(GIB), DiskSetFacts(GIB))


def circumstances(name: str, options: Options, **facts: Unpack[Facts]) -> Circumstances:
    for option, value in options.items():
        assert filesystem(name).option(option).kind.accepts(value)
    facts.setdefault("server", {})
    return Circumstances(filesystem(name), options, **facts)


def found(rule: str, name: str, options: Options, **facts: Unpack[Facts]) -> list[ConflictFinding]:
    return [item for item in check(circumstances(name, options, **facts)) if item.rule == rule]


PAIRS: list[tuple[str, str, Side, Side]] = [
    (
        "C01",
        "xfs",
        ({"barrier": False}, {"versions": {KERNEL: (4, 19)}}),
        ({"barrier": False}, {"versions": {KERNEL: (4, 18)}}),
    ),
    (
        "C01",
        "xfs",
        ({"barrier": False}, {"versions": KERNEL_6_1}),
        ({"barrier": True}, {"versions": KERNEL_6_1}),
    ),
    (
        "C03",
        "btrfs",
        ({"datacow": False, "compress": "zstd:3"}, {}),
        ({"datacow": False, "compress": "off"}, {}),
    ),
    (
        "C03",
        "btrfs",
        ({"nocow_attribute": True, "compress_force": "lzo"}, {}),
        ({"compress_force": "lzo"}, {}),
    ),
    ("C04", "btrfs", ({"datacow": False}, {}), ({"datacow": True}, {})),
    (
        "C40",
        "btrfs",
        ({"compress": "zstd:3"}, {}),
        ({"compress": "zstd:3", "file_extend_method": "write_zeros"}, {}),
    ),
    (
        "C40",
        "btrfs",
        ({"compress_force": "lzo", "file_extend_method": "posix_fallocate"}, {}),
        ({"compress_force": "lzo"}, {"server": {"file_extend_method": "write_zeros"}}),
    ),
    ("C40", "btrfs", ({"compress": "lzo"}, {}), ({"compress": "off"}, {})),
    ("C04", "btrfs", ({"nocow_attribute": True}, {}), ({}, {})),
    ("C05", "btrfs", ({"datasum": False, "compress": "lzo"}, {}), ({"datasum": True, "compress": "lzo"}, {})),
    ("C06", "btrfs", ({"datacow": False, "datasum": True}, {}), ({"datacow": False, "datasum": False}, {})),
    ("C07", "btrfs", ({"datacow": False, "full_page_writes": False}, {}), ({"full_page_writes": False}, {})),
    (
        "C07",
        "ext4",
        ({}, {"server": {"full_page_writes": "off"}}),
        ({}, {"server": {"full_page_writes": "on"}}),
    ),
    ("C07", "xfs", ({}, {"server": {"full_page_writes": " OFF "}}), ({}, {})),
    ("C07-unverified", "btrfs", ({"full_page_writes": False}, {}), ({"full_page_writes": True}, {})),
    (
        "C08",
        "zfs",
        ({"recordsize": 4 * KIB, "full_page_writes": False}, {}),
        ({"recordsize": 8 * KIB, "full_page_writes": False}, {}),
    ),
    ("C08", "zfs", ({"recordsize": 512}, {"server": {"full_page_writes": "off"}}), ({"recordsize": 512}, {})),
    (
        "C08",
        "zfs",
        ({"recordsize": 4 * KIB, "full_page_writes": False}, {"server": {"full_page_writes": "o"}}),
        ({"recordsize": 4 * KIB, "full_page_writes": False}, {"server": {"full_page_writes": "yes"}}),
    ),
    (
        "C08",
        "zfs",
        ({"recordsize": 2 * KIB, "full_page_writes": False}, {"server_page_bytes": 4 * KIB}),
        ({"recordsize": 4 * KIB, "full_page_writes": False}, {"server_page_bytes": 4 * KIB}),
    ),
    (
        "C08",
        "zfs",
        ({"recordsize": 8 * KIB, "full_page_writes": False}, {"server_page_bytes": 16 * KIB}),
        ({"recordsize": 32 * KIB, "full_page_writes": False}, {"server_page_bytes": 32 * KIB}),
    ),
    ("C09", "ext4", ({"journal": False, "data": "writeback"}, {}), ({"journal": False}, {})),
    ("C09", "ext4", ({"journal": False, "commit": 30}, {}), ({"journal": True, "commit": 30}, {})),
    ("C09", "ext4", ({"journal": False, "fast_commit": True}, {}), ({"fast_commit": True}, {})),
    ("C11", "ext4", ({"cluster_bytes": 64 * KIB}, {}), ({"cluster_bytes": 64 * KIB, "bigalloc": True}, {})),
    (
        "C11-size",
        "ext4",
        ({"cluster_bytes": 4 * KIB, "bigalloc": True}, {}),
        ({"cluster_bytes": 8 * KIB, "bigalloc": True}, {}),
    ),
    (
        "C12",
        "ext4",
        ({"data": "journal", "delalloc": True}, {}),
        ({"data": "journal", "delalloc": False}, {}),
    ),
    ("C12", "ext4", ({"data": "journal", "dioread_nolock": True}, {}), ({"dioread_nolock": True}, {})),
    ("C12", "ext4", ({"data": "journal", "dax": True}, {}), ({"data": "writeback", "dax": True}, {})),
    ("C13", "ext4", ({"block_size": 8 * KIB}, {"page_bytes": 4 * KIB}), ({}, {"page_bytes": 4 * KIB})),
    (
        "C13",
        "ext3",
        ({"block_size": 64 * KIB}, {"page_bytes": 4 * KIB}),
        ({"block_size": 64 * KIB}, {"page_bytes": 64 * KIB}),
    ),
    (
        "C13",
        "xfs",
        ({"block_size": 16 * KIB}, {"page_bytes": 4 * KIB, "versions": KERNEL_6_1}),
        ({"block_size": 16 * KIB}, {"page_bytes": 4 * KIB, "versions": {KERNEL: (6, 12)}}),
    ),
    ("C14", "ext4", ({"stride": 16, "stripe_width": 65}, {}), ({"stride": 16, "stripe_width": 64}, {})),
    ("C15", "xfs", ({"su": 64 * KIB}, {}), ({"su": 64 * KIB, "sw": 4}, {})),
    ("C15", "xfs", ({"sw": 4}, {}), ({}, {})),
    (
        "C17",
        "xfs",
        ({"logbsize": 32 * KIB, "log_su": 64 * KIB}, {}),
        ({"logbsize": 64 * KIB, "log_su": 32 * KIB}, {}),
    ),
    ("C18", "xfs", ({"swalloc": True}, {"level": Level.MIRROR}), ({"swalloc": True}, {"level": Level.RAID5})),
    (
        "C18",
        "xfs",
        ({"swalloc": True}, {"level": Level.SINGLE}),
        ({"swalloc": True, "su": 64 * KIB, "sw": 3}, {"level": Level.SINGLE}),
    ),
    (
        "C18-largeio",
        "xfs",
        ({"largeio": True}, {"level": Level.SINGLE}),
        ({"largeio": True, "allocsize": 64 * KIB}, {"level": Level.SINGLE}),
    ),
    (
        "C20",
        "f2fs",
        ({"gc_merge": True, "background_gc": "off"}, {}),
        ({"gc_merge": True, "background_gc": "sync"}, {}),
    ),
    (
        "C20-nobarrier",
        "f2fs",
        ({"fsync_mode": "nobarrier", "barrier": False}, {}),
        ({"fsync_mode": "strict", "barrier": False}, {}),
    ),
    ("C21", "zfs", ({"logbias": "throughput"}, {"zfs_log_disks": 1}), ({"logbias": "throughput"}, {})),
    ("C24", "ext4", ({"barrier": False}, {}), ({"barrier": True}, {})),
    ("C24", "zfs", ({"sync": "disabled"}, {}), ({"sync": "always"}, {})),
    ("C24", "btrfs", ({"barrier": False}, {}), ({"datacow": False}, {})),
    (
        "C25",
        "ext4",
        ({"barrier": False}, {"server": {"fsync": "off"}}),
        ({"barrier": False}, {"server": {"fsync": "on"}}),
    ),
    ("C25", "zfs", ({}, {"server": {"fsync": "off"}, "zfs_log_disks": 2}), ({}, {"zfs_log_disks": 2})),
    ("C25-equal", "xfs", ({}, {"server": {"fsync": "off"}}), ({}, {"server": {}})),
    ("C26", "ext4", ({}, {"preconditioned": True}), ({"mkfs_discard": False}, {"preconditioned": True})),
    ("C26", "btrfs", ({"mkfs_discard": True}, {"preconditioned": True}), ({"mkfs_discard": True}, {})),
    ("C27", "btrfs", ({}, {"level": Level.RAID5}), ({}, {"level": Level.RAID10})),
    ("C30", "zfs", ({}, {"disks": (DiskSetFacts(GIB), DiskSetFacts(GIB, 4096))}), ({}, {"disks": EVEN})),
    (
        "C30-size",
        "ext4",
        ({}, {"disks": (DiskSetFacts(1000), DiskSetFacts(1011))}),
        ({}, {"disks": (DiskSetFacts(1000), DiskSetFacts(1010))}),
    ),
    (
        "C30-rotational",
        "ext4",
        ({}, {"disks": (DiskSetFacts(1), DiskSetFacts(1, 512, rotational=True))}),
        ({}, {"disks": EVEN}),
    ),
    (
        "C32",
        "ext4",
        ({"journal_async_commit": True}, {}),
        ({"journal_async_commit": True, "data": "writeback"}, {}),
    ),
    ("C33", "ext4", ({"stride": 16}, {"level": Level.RAID5}), ({"stride": 16}, {"level": Level.SINGLE})),
    ("C34", "f2fs", ({}, {"versions": {KERNEL: (6, 5)}}), ({}, {"versions": KERNEL_6_1})),
    (
        "C34",
        "f2fs",
        ({}, {"versions": {KERNEL: (6, 12)}}),
        ({"errors": "remount-ro"}, {"versions": {KERNEL: (6, 12)}}),
    ),
    (
        "C35",
        "btrfs",
        ({"compress": "lzo", "compress_force": "lzo"}, {}),
        ({"compress": "off", "compress_force": "lzo"}, {}),
    ),
    ("C36", "btrfs", ({"mirror_copies": "3"}, {"level": Level.RAID10}), ({"mirror_copies": "3"}, {})),
    (
        "C37",
        "btrfs",
        ({"mirror_copies": "3"}, {"disks": EVEN}),
        ({"mirror_copies": "2"}, {"disks": EVEN}),
    ),
    (
        "C37",
        "btrfs",
        ({"metadata_profile": "raid1c4"}, {"disks": EVEN}),
        ({"metadata_profile": "raid1"}, {"disks": EVEN}),
    ),
    ("C38", "btrfs", ({"autodefrag": True}, {}), ({"autodefrag": False}, {})),
    (
        "C39",
        "ext4",
        ({"min_batch_time": 20000}, {}),
        ({"min_batch_time": 20000, "max_batch_time": 20000}, {}),
    ),
]


@pytest.mark.parametrize(
    ("rule", "name", "wrong", "right"), PAIRS, ids=[f"{n}-{p[0]}-{p[1]}" for n, p in enumerate(PAIRS)]
)
def test_rule_applies_on_wrong_side_only(
    rule: str,
    name: str,
    wrong: Side,
    right: Side,
) -> None:
    findings = found(rule, name, wrong[0], **wrong[1])
    assert len(findings) == 1
    assert found(rule, name, right[0], **right[1]) == []


def test_every_rule_has_a_test() -> None:
    assert {rule.id for rule, _ in ALL} == {pair[0] for pair in PAIRS}


def test_reference_rules_all_covered() -> None:
    numbered = {rule.id.partition("-")[0] for rule, _ in ALL} | set(NOT_EXPRESSIBLE) | set(ELSEWHERE)
    assert {f"C{number:02}" for number in range(1, 41)} == numbered


@pytest.mark.parametrize(("rule", "spec"), ALL, ids=[rule.id for rule, _ in ALL])
def test_rule_message_source_and_fields(rule: ConflictRule, spec: FilesystemSpec | None) -> None:
    assert re.fullmatch(r"C\d\d(-[a-z]+)?", rule.id)
    assert rule.message.endswith((".", "”."))
    assert rule.source
    assert bool(rule.implies) is (rule.action is Action.IMPLY)
    chosen_on = [spec] if spec else [each for each in FILESYSTEMS if set(rule.fields) & _options(each)]
    assert chosen_on or set(rule.fields) <= OF_ALL
    for each in chosen_on:
        assert set(rule.fields) & (_options(each) | OF_ALL)
        for option, value in rule.implies:
            assert each.option(option).kind.accepts(value)


def _options(spec: FilesystemSpec) -> set[str]:
    return {option.id for option in spec.options}


def test_ids_of_rules_are_unique() -> None:
    assert len({rule.id for rule, _ in ALL}) == len(ALL)


def test_implied_values_with_reason() -> None:
    findings = check(circumstances("btrfs", {"datacow": False}))
    assert implied(findings) == {"datasum": False, "full_page_writes": True}
    finding = next(item for item in findings if item.rule == "C04")
    assert "full_page_writes" in finding.message
    assert finding.field == "datacow"


def test_finding_names_chosen_option() -> None:
    assert found("C05", "btrfs", {"datasum": False, "compress_force": "lzo"})[0].field == "compress_force"


def test_option_newer_than_kernel() -> None:
    old = {KERNEL: (6, 1, 192)}
    findings = found("C31", "f2fs", {"age_extent_cache": True}, versions=old)
    assert [item.message for item in findings] == [
        "Cache of update frequency: exists since Linux 6.2; here is 6.1.192."
    ]
    assert found("C31", "f2fs", {"age_extent_cache": True}, versions={KERNEL: (6, 2)}) == []
    assert found("C31", "f2fs", {"age_extent_cache": True}) == []  # nobody knows the version yet


def test_value_newer_than_option() -> None:
    old, new = {KERNEL: (6, 14)}, {KERNEL: (6, 15)}
    findings = found("C31", "btrfs", {"compress": "zstd:-3"}, versions=old)
    assert findings[0].message == "Compression: zstd:-3: exists since Linux 6.15; here is 6.14."
    assert found("C31", "btrfs", {"compress": "zstd:-3"}, versions=new) == []
    assert found("C31", "btrfs", {"compress": "zstd:3"}, versions=old) == []


def test_field_refused_for_best_reason() -> None:
    findings = check(circumstances("xfs", {"barrier": False}, versions={KERNEL: (6, 18)}))
    assert [item.rule for item in findings if item.action is Action.REFUSE] == ["C01"]


def test_presets_do_not_contradict_themselves() -> None:
    versions = {
        KERNEL: (6, 1),
        Component("OpenZFS"): (2, 1, 11),
        Component("e2fsprogs"): (1, 47),
        Component("btrfs-progs"): (6, 2),
    }
    refused = {
        (spec.id, preset.id): preset_problems(spec, preset, versions)
        for spec in FILESYSTEMS
        for preset in spec.presets
        if preset_problems(spec, preset, versions)
    }
    assert list(refused) == [("xfs", "2011-nobarrier")]
    assert "4.19" in refused["xfs", "2011-nobarrier"][0].message


def test_tmpfs_never_durable() -> None:
    assert [item.rule for item in check(circumstances("tmpfs", {}))] == ["C24"]
    assert check(circumstances("ext4", {})) == ()


def test_rule_reads_defaults() -> None:
    it = circumstances("ext4", {"barrier": False})
    assert it.value("barrier") is False
    assert it.value("data") == "ordered"
    assert it.value("stride") is None
    assert it.value("bogus") is None
    assert it.number("commit") == 5
    assert it.kernel() is None
    assert replace(it, versions=KERNEL_6_1).kernel() == (6, 1)
