"""What the Debian packages name covers what packaging/run installs and what doctor would ask for."""

from __future__ import annotations

import re

from app.domain.filesystems import FILESYSTEMS
from app.storage.layout.disk_target import MDADM, PARTITION_PROGRAMS
from tests.unit.packaging.conftest import PROJECT, Scripts

ESSENTIAL = {"util-linux"}
"""Every Debian has it."""


def named(package: str, *fields: str) -> set[str]:
    """The packages in these fields of a control file, without their versions."""
    text = (PROJECT / "packaging" / "debian" / f"{package}.control").read_text()
    lists = [re.search(rf"^{field}: (.*)$", text, re.MULTILINE) for field in fields]
    return {entry.split()[0] for found in lists if found for entry in found[1].split(", ")}


def test_recommended_packages_satisfy_program(scripts: Scripts) -> None:
    wanted = set(scripts.call("MISSING=($(needs_of engine))\npackages_of 2").stdout.split())
    assert {"postgresql", "fio", "python3-pydbus"} <= wanted
    assert wanted - ESSENTIAL - {"python3-venv"} <= named("pgfooting", "Depends", "Recommends")


def test_recommended_packages_partition_disks() -> None:
    wanted = {program.package for program in PARTITION_PROGRAMS} - ESSENTIAL
    assert wanted <= named("pgfooting-helper", "Depends", "Recommends")


def test_service_packages_cover_every_filesystem() -> None:
    wanted = {program.package for each in FILESYSTEMS for program in each.programs} | {MDADM.package}
    assert {"xfsprogs", "mdadm", "zfsutils-linux"} <= wanted
    assert wanted <= named("pgfooting-helper", "Recommends", "Suggests")
