"""Volumes of clouds that may have burst credit are told wherever the facts of a run are shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.analysis.cannot_show import BURST_CREDIT, Limit, burst_sentence, bursting, find_limitations
from app.analysis.labels import mark_words
from app.analysis.properties import properties_of
from app.analysis.stability import RunStability
from app.domain.disk_answers import cloud_of, may_have_burst_credit
from app.domain.json_value import Json
from app.execution.servers import OpenServer, marks_of_server
from app.postgres.existing.look import SERVICES, look_rows, managed_service, not_known
from app.runfile.metadata.environment import EnvironmentFacts, machine_rows, read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, ServerMetadata, TargetMetadata
from tests.unit.postgres.test_existing import ADDRESS, LOOK


def machine(name: str, model: str, vendor: str = "", maker: str = "", product: str = "") -> EnvironmentFacts:
    """Return the facts of a machine with one disk."""
    disk: dict[str, Json] = {
        "kind": "disk",
        "is_counted": True,
        "identity": {"model": model, "vendor": vendor},
    }
    facts: dict[str, Json] = {
        "storage": {"devices": {name: disk}},
        "virtualisation": {"product": {"sys_vendor": maker, "product_name": product}},
    }
    return read_environment_facts(facts)


EBS = machine("nvme1n1", "Amazon Elastic Block Store")


@pytest.mark.parametrize(
    ("name", "vendor", "model", "cloud", "bursts"),
    [
        ("nvme1n1", "", "Amazon Elastic Block Store", "", True),
        ("nvme1n1", "", "Amazon EC2 NVMe Instance Storage", "Amazon EC2", False),
        ("nvme0n1", "", "nvme_card-pd", "Google Cloud", False),
        ("nvme0n1", "", "MSFT NVMe Accelerator v1.0", "", True),
        ("sda", "Msft", "Virtual Disk", "", True),
        ("sda", "DO", "Volume", "", True),
        ("vda", "0x1af4", "", "", False),
        ("vda", "0x1af4", "", "Alibaba Cloud", True),
        ("xvdf", "", "", "Amazon EC2", True),
        ("sda", "QEMU", "QEMU HARDDISK", "Hetzner Cloud", True),
        ("sda", "QEMU", "QEMU HARDDISK", "", False),
        ("nvme0n1", "", "Samsung SSD 990 PRO 2TB", "Amazon EC2", False),
    ],
)
def test_may_burst_by_model_or_cloud(name: str, vendor: str, model: str, cloud: str, *, bursts: bool) -> None:
    assert may_have_burst_credit(name, vendor, model, cloud) is bursts


@pytest.mark.parametrize(
    ("vendor", "product", "cloud"),
    [
        ("Amazon EC2", "m7i.large", "Amazon EC2"),
        ("Google", "Google Compute Engine", "Google Cloud"),
        ("Alibaba Cloud", "Alibaba Cloud ECS", "Alibaba Cloud"),
        ("DigitalOcean", "Droplet", "DigitalOcean"),
        ("Hetzner", "vServer", "Hetzner Cloud"),
        ("OpenStack Foundation", "OpenStack Nova", "OpenStack"),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", ""),
        ("", "", ""),
    ],
)
def test_cloud_by_firmware(vendor: str, product: str, cloud: str) -> None:
    assert cloud_of(vendor, product) == cloud


def test_facts_name_bursting_volume() -> None:
    assert bursting(EBS) == "nvme1n1 (Amazon EBS)"
    assert bursting(machine("vda", "", "0x1af4", "Alibaba Cloud")) == "vda (virtio)"
    assert bursting(machine("vda", "", "0x1af4", "QEMU")) == ""
    (device,) = EBS.devices
    assert "virtual disk (Amazon EBS)" in device.words
    assert device.words.endswith("may have burst credits")
    values = {each.name: each.value for each in properties_of(RunMetadata(), EBS)}
    assert values["device nvme1n1"] == device.words, "in the window, the comparison and the report"
    assert any("may have burst credits" in value for _, value in machine_rows(EBS)), "before load starts"


def test_figures_cannot_show_exhausted_credit() -> None:
    shape = RunStability(np.array([]), np.array([]), 30.0, ())
    clauses = {each.limit: each.words for each in find_limitations(RunMetadata(), EBS, {}, shape)}
    assert clauses[Limit.BURST_CREDIT].startswith(
        "the speed of nvme1n1 (Amazon EBS) after any burst credits are used"
    )
    here = machine("sda", "ST4000VN008-2DR1", "ATA")
    assert Limit.BURST_CREDIT not in {each.limit for each in find_limitations(RunMetadata(), here, {}, shape)}
    metadata = RunMetadata(target=TargetMetadata(server=ServerMetadata(managed_service="Neon")))
    clauses = {each.limit: each.words for each in find_limitations(metadata, here, {}, shape)}
    assert "the volume of Neon" in clauses[Limit.BURST_CREDIT]


def test_managed_service_by_parameters() -> None:
    assert managed_service(()) == ""
    assert managed_service({"plpgsql", "pg_stat_statements"}) == ""
    assert managed_service({"cloudsql", "alloydb"}) == "Google AlloyDB"
    for word, name in SERVICES.items():
        assert managed_service({word}) == name


def test_managed_service_before_load_and_marked() -> None:
    look = replace(LOOK, managed_service="Amazon RDS or Aurora")
    assert ("Managed service", "Amazon RDS or Aurora") in look_rows(look, ADDRESS)
    assert "Managed service" not in dict(look_rows(LOOK, ADDRESS))
    (result,) = (each for each in not_known(look) if "burst credit" in each)
    assert result.startswith("Managed by Amazon RDS or Aurora")
    ((kind, reason),) = marks_of_server(OpenServer(ADDRESS, look))
    assert kind == BURST_CREDIT
    assert reason == burst_sentence("the volume of Amazon RDS or Aurora")
    assert mark_words(kind) == "may have burst credits"
    assert marks_of_server(OpenServer(ADDRESS, LOOK)) == []
    target = TargetMetadata(server=ServerMetadata(managed_service=look.managed_service))
    found = {each.name: each.value for each in properties_of(RunMetadata(target=target), None)}
    assert found["managed service"] == "Amazon RDS or Aurora"
