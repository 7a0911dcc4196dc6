from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from typing_extensions import Unpack

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.formats import format_of
from app.domain.options.checks import RULES, check, implied, preset_problems, validate_options
from app.domain.options.filesystem_spec import Circumstances, DiskSetFacts, FilesystemSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.option_spec import KERNEL, Component, Versions
from app.domain.options.raid import Level
from app.domain.options.refusals import Action, ConflictFinding, ConflictRule, option_problems
from tests.cases import each_case


class Facts(TypedDict, total=False):
    level: Level
    disks: tuple[DiskSetFacts, ...]
    versions: Versions
    page_bytes: int
    server: dict[str, str]
    zfs_log_disks: int
    preconditioned: bool
    server_page_bytes: int


TABLE = Path(__file__).resolve().parents[2] / "data" / "storage" / "conflicts.tsv"
ALL: list[tuple[ConflictRule[Circumstances], FilesystemSpec | None]] = [
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


def circumstances(name: str, options: Options, **facts: Unpack[Facts]) -> Circumstances:
    for option, value in options.items():
        assert filesystem(name).option(option).kind.accepts(value)
    facts.setdefault("server", {})
    return Circumstances(filesystem(name), options, **facts)


def found(rule: str, name: str, options: Options, **facts: Unpack[Facts]) -> list[ConflictFinding]:
    return [item for item in check(circumstances(name, options, **facts)) if item.rule == rule]


def side(options: str, facts: str) -> Side:
    """Return a side of a line: options, and the facts of the machine that they meet."""
    found = json.loads(facts or "{}")
    if "versions" in found:
        found["versions"] = {name: tuple(version) for name, version in found["versions"].items()}
    if "level" in found:
        found["level"] = Level(found["level"])
    if "disks" in found:
        found["disks"] = tuple(DiskSetFacts(*each) for each in found["disks"])
    return json.loads(options or "{}"), found


def pairs() -> Iterator[tuple[str, str, Side, Side]]:
    """Yield rule, filesystem, what it finds, and what it leaves alone, of each line that is no remark."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            rule, name, options, facts, more_options, more_facts = line.split("\t")
            yield rule, name, side(options, facts), side(more_options, more_facts)


PAIRS = list(pairs())


@each_case("rule name wrong right", PAIRS)
def test_rule_applies_on_wrong_side_only(
    rule: str,
    name: str,
    wrong: Side,
    right: Side,
) -> None:
    findings = found(rule, name, wrong[0], **wrong[1])
    assert len(findings) == 1
    assert found(rule, name, right[0], **right[1]) == []


@each_case("rule name wrong right", PAIRS)
def test_root_refuses_the_same(rule: str, name: str, wrong: Side, right: Side) -> None:
    """Root has fewer rules: those that it lacks need facts of machine or server, which no plan has."""
    for options, facts in (wrong, right):
        result = validate_options(filesystem(name), options, level=facts.get("level"))
        assert option_problems(format_of(name), options.items(), facts.get("level")) == result, rule


def test_every_rule_has_a_test() -> None:
    assert {rule.id for rule, _ in ALL} == {pair[0] for pair in PAIRS}


def test_reference_rules_all_covered() -> None:
    numbered = {rule.id.partition("-")[0] for rule, _ in ALL} | set(NOT_EXPRESSIBLE) | set(ELSEWHERE)
    assert {f"C{number:02}" for number in range(1, 41)} == numbered


@each_case("rule spec", ALL)
def test_rule_message_source_and_fields(
    rule: ConflictRule[Circumstances], spec: FilesystemSpec | None
) -> None:
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
        "Age extent cache: needs Linux 6.2 or newer; found 6.1.192."
    ]
    assert found("C31", "f2fs", {"age_extent_cache": True}, versions={KERNEL: (6, 2)}) == []
    assert found("C31", "f2fs", {"age_extent_cache": True}) == []  # nobody knows the version yet


def test_value_newer_than_option() -> None:
    old, new = {KERNEL: (6, 14)}, {KERNEL: (6, 15)}
    findings = found("C31", "btrfs", {"compress": "zstd:-3"}, versions=old)
    assert findings[0].message == "Compression: zstd:-3: needs Linux 6.15 or newer; found 6.14."
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
