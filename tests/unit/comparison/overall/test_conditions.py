"""Roles of properties: every one has one, and conditions follow from them."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import pytest

from app.analysis.facts import RunFacts
from app.analysis.properties import LABELS, MACHINE, SETTING, TARGET, WORKLOAD, Property, properties_of
from app.campaign_file.fields import WORKLOAD_FIELDS
from app.comparison.overall.conditions import (
    PropertyRole,
    asked_by,
    condition_of,
    footing_of,
    name_conditions,
    role_of,
)
from app.domain.disk import DiskIdentity
from app.domain.filesystems import FILESYSTEMS
from app.domain.storage_plan.plan import Group
from app.runfile.metadata.environment import REPORTED, EnvironmentFacts
from app.runfile.metadata.run_metadata import RunMetadata, WorkloadMetadata
from app.runfile.metadata.typed_json import NotKnown
from tests.made_matrix import made_run
from tests.vondra_runs import published_facts


def filled(kind: typing.Any) -> typing.Any:  # noqa: ANN401, PLR0911 - of any annotation
    """Return a value of a type of which every field is told."""
    if isinstance(kind, typing.TypeVar):
        return filled(DiskIdentity)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        return filled(next(each for each in arguments if each not in {type(None), NotKnown}))
    if origin is not None and origin is not tuple:
        arguments = arguments or (str, str)
        return {} if issubclass(origin, Mapping) else filled(arguments[0])
    if origin is tuple:
        return (filled(arguments[0]),)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{each.name: filled(hints[each.name]) for each in dataclasses.fields(kind) if each.init})
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    return {str: "text", int: 4096, float: 2.0, bool: True}[kind]


def of_each_run() -> Iterator[Iterator[Property]]:
    """Yield all that `properties_of` can return: every field told, on every target and filesystem."""
    printed = {"tps": 1.0, "tps_with_connecting": 1.0, "max_tries": 2, "partitions": 8}
    run = replace(filled(RunMetadata), pgbench=printed)
    environment = replace(
        filled(EnvironmentFacts),
        reported=dict.fromkeys(REPORTED, "text"),
        dataset={"recordsize": "8K"},
        in_memory=False,
        server_settings={"work_mem": "4MB"},
    )
    target, plan = run.target, run.target.plan
    for spec in FILESYSTEMS:
        group = replace(filled(Group), filesystem=spec.id, options=())
        groups = {each.name: group for each in dataclasses.fields(plan) if each.name != "zfs_log"}
        found = replace(run, target=replace(target, plan=replace(plan, **groups), server=None))
        yield properties_of(found, environment)
    run = replace(run, target=replace(target, plan=None))
    yield properties_of(run, environment)
    yield properties_of(RunMetadata(), replace(environment, processor="", kernel=""))
    rate = replace(run.workload, rate_tps=NotKnown.NOT_KNOWN)
    yield properties_of(replace(run, workload=rate), environment)


def every_property() -> Iterator[Property]:
    return chain.from_iterable(of_each_run())


def test_no_run_has_two_properties_of_one_name() -> None:
    for found in of_each_run():
        keys = Counter(item.key for item in found)
        assert [key for key, count in keys.items() if count > 1] == []


def test_run_file_says_every_key_of_workload() -> None:
    kept = {each.name for kind in (RunMetadata, WorkloadMetadata) for each in dataclasses.fields(kind)}
    assert [field.name for field in WORKLOAD_FIELDS if field.attribute not in kept] == []


def test_workload_key_has_declared_role() -> None:
    for field in WORKLOAD_FIELDS:
        if field.condition:
            name = LABELS.get(field.attribute, field.attribute)
            assert role_of(Property(WORKLOAD, name, "")) is PropertyRole(field.condition), field.name


def test_every_property_has_a_role() -> None:
    lacking = {item.key for item in every_property() if role_of(item) is None}
    assert not lacking, f"without a role in app/comparison/overall/conditions.py: {sorted(lacking)}"


def test_every_property_is_asked_for() -> None:
    found = {item.key for item in every_property()}
    assert len(found) > 100
    assert {topic for topic, _ in found} >= {"Target", "Workload", "PostgreSQL", "Setting", "Machine"}


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("target rate", "2000", "rate 2000"),
        ("target rate", "not known", "rate not known"),
        ("latency limit, ms", "7", "latency limit 7 ms"),
    ],
)
def test_condition_at_rate_has_plain_name(key: str, value: str, name: str) -> None:
    closed = made_run({"scale": "10"}, 900.0)
    at_rate = replace(closed, properties=(*closed.properties, Property(WORKLOAD, key, value)))
    assert name_conditions([closed, at_rate]) == ("the other runs", name)


def test_unanswered_detect_virt_is_no_condition() -> None:
    answered = made_run({"scale": "10"}, 900.0)
    answered = replace(
        answered, properties=(*answered.properties, Property(MACHINE, "virtual machine", "qemu"))
    )
    late = made_run({"scale": "10"}, 900.0)
    assert condition_of(answered) == condition_of(late)


def test_unknown_property_has_no_role() -> None:
    assert role_of(Property(WORKLOAD, "moon phase", "full")) is None
    assert role_of(Property(MACHINE, "moon phase", "full")) is None


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ((WORKLOAD, "transactions"), PropertyRole.TRANSACTIONS),
        ((WORKLOAD, "script 2"), PropertyRole.TRANSACTIONS),
        ((WORKLOAD, "measured time"), PropertyRole.DURATION),
        ((MACHINE, "memory"), PropertyRole.MACHINE),
        ((TARGET, "memory limit"), PropertyRole.MACHINE),
        ((TARGET, "WAL: filesystem"), PropertyRole.FACTOR),
        ((TARGET, "TABLES: ext4 Barriers"), PropertyRole.FACTOR),
        ((TARGET, "device sda"), PropertyRole.FACTOR),
        ((SETTING, "work_mem"), PropertyRole.FACTOR),
        ((TARGET, "system identifier"), PropertyRole.REPEAT),
    ],
)
def test_role(key: tuple[str, str], role: PropertyRole) -> None:
    assert role_of(Property(*key, "value")) is role


def run_of(number: int = 0, campaign: str = "c", **values: str) -> RunFacts:
    """Return a run; underscores of names stand for blanks."""
    topics = {"filesystem": TARGET, "name": MACHINE, "memory": MACHINE}
    found = tuple(
        Property(topics.get(name, WORKLOAD), name.replace("_", " "), value) for name, value in values.items()
    )
    first = published_facts()[number]
    return replace(first, properties=found, campaign_key=campaign)


def test_condition_without_factor() -> None:
    one, other = run_of(filesystem="ext4", scale="2"), run_of(filesystem="xfs", scale="2")
    assert condition_of(one) == condition_of(other)
    assert footing_of(one) != footing_of(other)
    assert condition_of(one) != condition_of(run_of(filesystem="ext4", scale="10"))


def test_not_known_is_another_condition() -> None:
    known = run_of(scale="2")
    unknown = replace(known, properties=(), others=(Property(WORKLOAD, "scale", "", is_known=False),))
    assert condition_of(known) != condition_of(unknown)


def test_asked_condition_holds_factors() -> None:
    runs = [run_of(filesystem=each, clients=n, scale="2") for each in ("ext4", "xfs") for n in ("1", "4")]
    found = [condition_of(each, PropertyRole.CLIENTS) for each in runs]
    assert found[0] == found[1] != found[2] == found[3]


def test_campaign_asks_about_its_only_condition() -> None:
    runs = [run_of(filesystem="ext4", clients=n, threads=n) for n in ("1", "4", "16")]
    assert asked_by(runs) is PropertyRole.CLIENTS
    assert asked_by([*runs, run_of(filesystem="xfs", clients="1", threads="1")]) is None
    assert asked_by([*runs, run_of(campaign="d", filesystem="ext4", clients="64", threads="4")]) is None
    assert asked_by(runs[:1] * 2) is None
    assert asked_by([run_of(transactions=each) for each in ("select-only", "tpcb-like")]) is None


def test_names_of_conditions() -> None:
    runs = [
        run_of(transactions=kind, scale=scale, clients="16", data=f"{scale} MiB")
        for kind in ("select-only", "tpcb-like")
        for scale in ("2", "10")
    ]
    assert name_conditions(runs) == (
        "select-only, scale 2",
        "select-only, scale 10",
        "tpcb-like, scale 2",
        "tpcb-like, scale 10",
    )
    assert name_conditions(runs[:1]) == ("",)


def test_names_of_conditions_are_unique() -> None:
    alike = [run_of(scale="2", data="20 MiB"), run_of(scale="2", data="30 MiB")]
    assert len(set(name_conditions(alike))) == 2


def test_published_conditions_are_one_workload_each() -> None:
    names = ("name", "transactions", "scale")
    kinds = [tuple(item.value for item in run.properties if item.name in names) for run in published_facts()]
    pairs = {(condition_of(run), kind) for run, kind in zip(published_facts(), kinds, strict=True)}
    assert len(pairs) == len(set(kinds)) == 16
