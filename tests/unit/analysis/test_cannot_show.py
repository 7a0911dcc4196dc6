"""What the figures of a run cannot show: each said where the file has its evidence, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.analysis.cannot_show import Limit, Limitation, describe_limitations, find_limitations
from app.analysis.stability import RunStability
from app.domain.json_value import Json
from app.domain.text import GIB
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, TargetMetadata, WorkloadMetadata
from tests.known_runs import DATA, DISKS, PLAN

MADE = RunMetadata(
    target=TargetMetadata(kind="disks", plan=PLAN, memory_limit_bytes=None),
    workload=WorkloadMetadata(label="tpcb-like", clients=8, rate_tps=None),
    data_bytes=2 * GIB,
)
FACTS: dict[str, Json] = {
    "memory": {"info": {"MemTotal": 16 * GIB}},
    "storage": {
        "mount": {"filesystem": "ext4"},
        "devices": {
            "sda": {
                "kind": "disk",
                "is_leaf": True,
                "is_counted": True,
                "size_bytes": 8 * GIB,
                "queue": {"rotational": 0},
            }
        },
    },
}


def shape(seconds: int, *checkpoints: float) -> RunStability:
    ends = np.arange(1.0, seconds + 1)
    return RunStability(
        ends, np.full(seconds, 1000.0), float(seconds), tuple((at, at + 5) for at in checkpoints)
    )


LONG = shape(1200, 100, 400, 700, 1000)


def unshown(
    metadata: RunMetadata = MADE, facts: dict[str, Json] | None = None, how: RunStability | None = LONG
) -> dict[Limit, str]:
    known = FACTS if facts is None else facts
    return {
        each.limit: each.words
        for each in find_limitations(metadata, read_environment_facts(known), known, how)
    }


def of_device(**changed: Json) -> dict[str, Json]:
    device = {**FACTS["storage"]["devices"]["sda"], **changed}  # type: ignore[index,call-overload,dict-item]
    return {**FACTS, "storage": {"devices": {"sda": device}}}


def test_data_in_memory_show_no_reads() -> None:
    assert unshown()[Limit.MEMORY] == ("reads from storage (2 GiB of data fit in 16 GiB of memory)")
    assert Limit.MEMORY not in unshown(replace(MADE, data_bytes=40 * GIB))
    limited = replace(MADE.target, memory_limit_bytes=GIB)
    assert Limit.MEMORY not in unshown(replace(MADE, target=limited))
    assert Limit.MEMORY not in unshown(facts={})


def test_cold_data_show_few_reads() -> None:
    cold = replace(MADE, workload=replace(MADE.workload, caches="cold"))
    words = "sustained reads from storage (2 GiB of data fit in 16 GiB of memory, cold at the start)"
    assert unshown(cold)[Limit.MEMORY] == words
    assert Limit.MEMORY not in unshown(replace(cold, data_bytes=40 * GIB))


@pytest.mark.parametrize(("limit", "fits"), [(GIB, False), (4 * GIB, True), (0, True), ("1", True)])
def test_memory_of_control_group_is_the_memory(limit: Json, *, fits: bool) -> None:
    finding: Json = {"code": "memory-limit", "evidence": {"bytes": limit}}
    facts: dict[str, Json] = {**FACTS, "preflight": [{"code": "steal", "evidence": {"bytes": 1}}, finding]}
    assert (Limit.MEMORY in unshown(facts=facts)) is fits


def test_data_in_memory_show_no_storage() -> None:
    found = unshown(replace(MADE, target=TargetMetadata(kind="memory", plan=None)))
    assert Limit.NO_DEVICE in found
    assert Limit.MEMORY not in found  # it goes without saying
    assert Limit.NO_DEVICE in unshown(
        facts={"storage": {"mount": {"filesystem": "tmpfs", "in_memory": True}}}
    )
    assert Limit.NO_DEVICE not in unshown()


def test_new_filesystem() -> None:
    assert "new one" in unshown()[Limit.FRESH_FILESYSTEM]
    folder = replace(MADE, target=TargetMetadata(kind="folder", plan=None))
    assert Limit.FRESH_FILESYSTEM not in unshown(folder)


def test_fresh_ssd_and_bytes_written() -> None:
    words = unshown()[Limit.FRESH_SSD]
    assert "a partition of 2 GiB on 8 GiB" in words
    assert "total bytes written are not known" in words
    values = {**FACTS, "disk_health": {"8:0": {"status": "ok", "bytes_written": str(2 * GIB)}}}
    assert "total writes to sda are 25 % of its size" in unshown(facts=values)[Limit.FRESH_SSD]
    values = {**FACTS, "disk_health": {"8:0": {"status": "ok", "bytes_written": str(80 * GIB)}}}
    assert "ever written" not in unshown(facts=values)[Limit.FRESH_SSD]
    whole = replace(PLAN, data=replace(DATA, partition_bytes=None, disks=DISKS[:1]))
    target = replace(MADE.target, plan=whole)
    assert "partition" not in unshown(replace(MADE, target=target))[Limit.FRESH_SSD]


def test_rotational_or_loop_no_fresh_ssd() -> None:
    assert Limit.FRESH_SSD not in unshown(facts=of_device(queue={"rotational": 1}))
    assert Limit.FRESH_SSD not in unshown(facts=of_device(kind="loop"))
    assert Limit.FRESH_SSD not in unshown(facts=of_device(queue={}))


def test_virtual_disks_and_machines_hide_the_hardware() -> None:
    assert Limit.VIRTUAL not in unshown()
    assert "sda (loop device)" in unshown(facts=of_device(kind="loop"))[Limit.VIRTUAL]
    virtual: list[Json] = [{"machine": "kvm"}, {"machine": {"unknown": "x"}, "hypervisor_flag": True}]
    hardware: list[Json] = [{"machine": "none", "hypervisor_flag": True}, {"hypervisor_flag": False}, {}]
    for known in virtual:
        found = unshown(facts={**FACTS, "virtualisation": known})
        assert found[Limit.VIRTUAL] == "the hardware underneath a virtual machine"
    for known in hardware:
        assert Limit.VIRTUAL not in unshown(facts={**FACTS, "virtualisation": known})


def test_closed_loop() -> None:
    assert "closed loop" in unshown()[Limit.CLOSED_LOOP]
    assert Limit.CLOSED_LOOP not in unshown(replace(MADE, workload=replace(MADE.workload, rate_tps=500.0)))
    # What nobody tells is not known to be one.
    assert Limit.CLOSED_LOOP not in unshown(replace(MADE, workload=WorkloadMetadata(label="tpcb-like")))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (shape(60), "the cost of checkpoints (none began within 60 s)"),
        (shape(1200), "the cost of checkpoints"),
        (shape(600, 100, 400), "effects that appear after 10 min"),
        (LONG, ""),
    ],
)
def test_short_run(how: RunStability, words: str) -> None:
    assert unshown(how=how).get(Limit.SHORT, "")[: len(words)] == words


def test_one_workload_is_one_workload() -> None:
    assert unshown()[Limit.ONE_WORKLOAD] == "other workloads than tpcb-like"


def test_unmeasured_run_nothing_unshown() -> None:
    assert unshown(how=None) == {}


def test_empty_metadata_only_short() -> None:
    assert set(unshown(RunMetadata(), {}, shape(60))) == {Limit.SHORT}


def test_line_unique_ordered_two_reasons() -> None:
    one = (Limitation(Limit.MEMORY, "a"), Limitation(Limit.SHORT, "z"))
    others = [(Limitation(Limit.SHORT, word), Limitation(Limit.MEMORY, "a")) for word in ("y", "x")]
    assert describe_limitations([one, *others]) == "These figures cannot show: a; z; y."
    assert describe_limitations([(), ()]) == ""
    virtual = [(Limitation(Limit.VIRTUAL, words),) for words in ("below a", "below a, b", "below c")]
    assert describe_limitations(virtual) == "These figures cannot show: below a, b; below c."


@pytest.mark.parametrize(
    "facts",
    [
        {"storage": []},
        {"storage": {"devices": []}},
        {"storage": {"devices": {"sda": 1}}},
        {"disk_health": 3, **of_device(size_bytes="big")},
        {"disk_health": {"8:0": 1, "8:1": {"bytes_written": "many"}}, **FACTS},
        of_device(queue=7),
    ],
)
def test_hostile_facts_are_no_error(facts: dict[str, Json]) -> None:
    assert unshown(facts=facts)


def test_remote_server_without_local_machine() -> None:
    there = RunMetadata(target=TargetMetadata(kind="server"), data_bytes=GIB, workload=MADE.workload)
    here: dict[str, Json] = {"memory": {"info": {"MemTotal": 8 * GIB}}, "virtualisation": {"machine": "kvm"}}
    found = unshown(there, here, shape(600))
    assert Limit.MEMORY not in found
    assert "the server's machine" in found[Limit.VIRTUAL]
    assert "kvm" not in found[Limit.VIRTUAL]


def test_remote_server_with_queried_machine() -> None:
    there = RunMetadata(target=TargetMetadata(kind="server"), data_bytes=GIB, workload=MADE.workload)
    asked: dict[str, Json] = {
        "reached": {"over": "ssh", "system": "Linux"},
        "memory": {"info": {"MemTotal": 8 * GIB}},
        "virtualisation": {"machine": "kvm"},
    }
    found = unshown(there, asked, shape(600))
    assert Limit.MEMORY in found
    assert "a virtual machine" in found[Limit.VIRTUAL]
    in_vain: dict[str, Json] = {**asked, "reached": {"over": "ssh", "unreadable": "it refused"}}
    assert "the server's machine" in unshown(there, in_vain, shape(600))[Limit.VIRTUAL]
