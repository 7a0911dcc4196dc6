"""Identities, answers and what `pgfooting disks --json` promises."""

from __future__ import annotations

import dataclasses
import json

import pytest

from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.domain.disk_answers import Disk

NVME = DiskIdentity(
    serial="S5GXNX0T123456A",
    wwn="eui.0025385b21404a3c",
    model="Samsung SSD 980 PRO 1TB",
    size_bytes=1_000_204_886_016,
    device_number="259:0",
    diskseq=9,
)


def test_the_world_wide_name_is_the_key() -> None:
    assert NVME.key() == "eui.0025385b21404a3c"


@pytest.mark.parametrize(
    ("serial", "key"),
    [
        ("WD-WCC4N0001", "WD-WCC4N0001"),
        ("  padded by the maker   ", "padded_by_the_maker"),
        ('a"b\n[c]\x1b[2J', "a_b_c_2J"),
        ("", ""),
    ],
)
def test_key_from_serial_without_wwn(serial: str, key: str) -> None:
    assert dataclasses.replace(NVME, wwn=None, serial=serial).key() == key


def test_tail_of_serial() -> None:
    assert NVME.tail() == "456A"
    assert dataclasses.replace(NVME, serial="").tail() == "4a3c"


@pytest.mark.parametrize(
    ("field", "value"),
    [("serial", "other"), ("wwn", None), ("model", "x"), ("size_bytes", 1), ("device_number", "8:0")],
)
def test_every_field_that_changed_is_named(field: str, value: object) -> None:
    now = dataclasses.replace(NVME, **{field: value})  # type: ignore[arg-type]
    assert NVME.differs_from(now) == (field,)


def test_reattached_disk_differs_by_diskseq() -> None:
    assert NVME.differs_from(dataclasses.replace(NVME, diskseq=10)) == ("diskseq",)
    assert NVME.differs_from(dataclasses.replace(NVME)) == ()


def test_json_keeps_reasons_and_remedies() -> None:
    disk = Disk(
        identity=NVME,
        name="nvme0n1",
        bus="nvme",
        rotational=False,
        removable=False,
        read_only=False,
        logical_block_bytes=512,
        physical_block_bytes=512,
        refusals=(DiskRefusal("D05", "It is mounted.", "259:1 at /srv", "Unmount it."),),
        answer=SpareAnswer.NOT_SPARE,
    )
    shown = json.loads(json.dumps(disk.as_mapping()))
    assert shown["answer"] == "not spare"
    assert shown["key"] == NVME.key()
    assert shown["refusals"] == [
        {"rule": "D05", "message": "It is mounted.", "evidence": "259:1 at /srv", "remedy": "Unmount it."}
    ]
    assert disk.path == "/dev/nvme0n1"
