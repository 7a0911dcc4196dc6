"""What a run file's own evidence says of safety: unsafe, unverified, not durable."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.labels import MARK_WORDS, mark_words
from app.domain.filesystems import FILESYSTEMS
from app.domain.json_value import Json
from app.domain.options.kinds import OptionValue
from app.domain.options.option_spec import NOT_DURABLE as LOSING
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import KIB
from app.postgres.settings import Setting
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, TargetMetadata
from app.runfile.metadata.safety import (
    MOST_PAGE_BYTES,
    NOT_DURABLE,
    UNSAFE,
    UNVERIFIED,
    PageWrites,
    judged_marks,
    page_writes,
)
from app.runfile.reader import RunFile
from tests.fix_window import Trial, write_trial
from tests.unit.importers.imports import VONDRA, bring_in

STORED = (UNSAFE, "full_page_writes = off: a crash of the machine can leave half-written pages")


def facts(filesystem: str, *options: str, page: int | None = 8192, **dataset: Json) -> dict[str, Any]:
    environment: dict[str, Any] = {"storage": {"mount": {"filesystem": filesystem, "options": list(options)}}}
    if dataset:
        environment["storage"]["filesystem"] = {"dataset": dataset}
    if page is not None:
        environment["server"] = {"settings": {"block_size": {"value": str(page)}}}
    return environment


def run(*settings: tuple[str, str], kind: str = "folder", plan: StoragePlan | None = None) -> RunMetadata:
    chosen = tuple(Setting(name=name, value=value) for name, value in settings)
    return RunMetadata(settings=chosen, target=TargetMetadata(kind=kind, plan=plan))


def judged(metadata: RunMetadata, environment: dict[str, Any], *stored: tuple[str, str]) -> list[str]:
    return [kind for kind, _ in judged_marks(stored, metadata, read_environment_facts(environment))]


@pytest.mark.parametrize(
    ("environment", "kinds"),
    [
        (facts("zfs", recordsize="8K"), []),
        (facts("zfs", recordsize=8192), []),
        (facts("zfs", recordsize="128K"), []),
        (facts("zfs", recordsize="128K", page=None), []),
        (facts("zfs", recordsize="8K", page=None), [UNVERIFIED]),
        (facts("zfs", recordsize="8K", page=16 * KIB), [UNSAFE]),
        (facts("zfs", recordsize="4K"), [UNSAFE]),
        (facts("zfs", recordsize="4K", page=4 * KIB), []),
        (facts("zfs", recordsize="many"), [UNVERIFIED]),
        (facts("zfs"), [UNVERIFIED]),
        (facts("btrfs"), [UNVERIFIED]),
        (facts("btrfs", "rw", "nodatacow"), [UNSAFE]),
        (facts("ext4"), [UNSAFE]),
        (facts("xfs", page=None), [UNSAFE]),
        (facts("bcachefs"), [UNVERIFIED]),
        ({}, [UNVERIFIED]),
    ],
)
def test_full_page_writes_off_judged(environment: dict[str, Any], kinds: list[str]) -> None:
    off = run(("full_page_writes", "off"))
    assert judged(off, environment) == kinds
    assert judged(off, environment, STORED) == kinds  # what an earlier version stored is judged again
    assert judged(run(("full_page_writes", "on")), environment) == []


def test_stored_mark_without_settings() -> None:
    assert judged(RunMetadata(), facts("zfs", recordsize="8K"), STORED) == [UNSAFE]
    assert judged(RunMetadata(), {}, ("client-bound", "x")) == ["client-bound"]


@given(
    st.sampled_from([*(each.id for each in FILESYSTEMS), "", "ntfs"]),
    st.none() | st.integers(1, 1 << 24),
    st.none() | st.sampled_from([4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB]),
)
def test_whole_pages_are_never_claimed_without_evidence(
    name: str, record: int | None, page: int | None
) -> None:
    found = page_writes(name, record_bytes=record, page_bytes=page)
    if found is PageWrites.WHOLE and name != "tmpfs":
        assert name == "zfs"
        assert record is not None
        assert record >= (page or MOST_PAGE_BYTES)
    assert page_writes(name, record_bytes=record, page_bytes=page, in_place=True) is not PageWrites.WHOLE


@pytest.mark.parametrize(
    ("metadata", "environment", "what"),
    [
        (run(("fsync", "off")), facts("ext4"), "fsync = off"),
        (run(("Synchronous_Commit", "off")), facts("ext4"), "synchronous_commit = off"),
        (run(), facts("zfs", sync="disabled"), "sync = disabled"),
        (run(), facts("ext4", "rw", "nobarrier"), "nobarrier"),
        (run(), facts("xfs", "barrier=0"), "barrier=0"),
        (run(), facts("tmpfs"), "the data is in memory"),
        (run(kind="memory"), {}, "the data is in memory"),
    ],
)
def test_what_loses_acknowledged_commits_is_not_durable(
    metadata: RunMetadata, environment: dict[str, Any], what: str
) -> None:
    [(kind, reason)] = judged_marks((), metadata, read_environment_facts(environment))
    assert kind == NOT_DURABLE
    assert reason.startswith(f"{what}: ")


@pytest.mark.parametrize(
    ("metadata", "environment"),
    [
        (run(("fsync", "on"), ("synchronous_commit", "local")), facts("ext4", "rw", "barrier")),
        (run(), facts("zfs", sync="standard", recordsize="8K")),
        (RunMetadata(), {}),
    ],
)
def test_what_keeps_commits_has_no_mark(metadata: RunMetadata, environment: dict[str, Any]) -> None:
    assert judged(metadata, environment) == []


LOSERS = [
    (spec.id, option.id, value)
    for spec in FILESYSTEMS
    for option in spec.options
    for value, classes in option.risks
    if LOSING.intersection(classes)
]


@pytest.mark.parametrize(("name", "option", "value"), LOSERS)
def test_options_losing_commits_not_durable(name: str, option: str, value: OptionValue) -> None:
    group = Group((), Level.SINGLE, name, ((option, value),))
    safe = replace(group, options=())
    for plan in (StoragePlan(group), StoragePlan(replace(safe, filesystem="ext4"), group)):
        reasons = [reason for _, reason in judged_marks((), run(plan=plan), read_environment_facts({}))]
        assert any(reason.startswith(f"{option} = ") for reason in reasons)


def test_losing_options_and_mark_words_exist() -> None:
    assert {name for name, _, _ in LOSERS} >= {"ext4", "zfs", "f2fs"}
    assert mark_words(NOT_DURABLE) == "NOT DURABLE"
    assert {UNSAFE, UNVERIFIED, NOT_DURABLE} <= MARK_WORDS.keys()


def test_older_file_judged_when_read(tmp_path: Path) -> None:
    trial = Trial(filesystem="zfs", settings=(("fsync", "off"), ("full_page_writes", "off")), marks=(STORED,))
    with RunFile(write_trial(tmp_path / "a.footing", trial)) as found:
        assert [kind for kind, _ in found.marks()] == [NOT_DURABLE, UNVERIFIED]


def test_published_tuned_zfs_not_unsafe(tmp_path: Path) -> None:
    folder = tmp_path / "zfs"
    shutil.copytree(VONDRA / "i5" / "20220903-zfs", folder)
    (path,) = folder.rglob("settings.log")
    # Two rows of the published settings.log of i5/20220903-zfs/mirror/no-fpw, whose records have 8K as well.
    rows = "name|setting|unit|source\nblock_size|8192||default\nfull_page_writes|off||configuration file\n"
    path.write_text(rows)
    found = bring_in(tmp_path / "library", folder).imported
    assert len(found) == 10
    assert not any({UNSAFE, UNVERIFIED} & set(each.marks) for each in found)
    for each in folder.rglob("zfs*.log"):
        each.unlink()
    found = bring_in(tmp_path / "other", folder).imported
    assert [UNVERIFIED in each.marks for each in found].count(True) == 1
    assert not any(UNSAFE in each.marks for each in found)
