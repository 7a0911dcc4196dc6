"""Attributes of files on btrfs, on a loop device: what nodatacow and chattr +C do to files made later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.campaign.configuration import GroupChoice
from app.domain.errors import TargetError
from app.domain.options.raid import Level
from app.domain.text import MIB
from app.hosts.own_server import check_file_attributes
from app.probes.facts.files import attributes_of
from app.storage.inspect.snapshot import Policy
from tests.disks.workshop import Workshop, attach, images

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

BTRFS = GroupChoice(("A",), Level.SINGLE, "btrfs")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with ExitStack() as devices, ExitStack() as state:
        files = images(tmp_path, 640 * MIB)
        yield Workshop(attach(devices, next(files)), tmp_path, lambda: "", Policy(), state)


def made(folder: Path) -> list[Path]:
    """Make a file in a folder in a folder, as a server makes those of its tables."""
    place = folder / "data/base"
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / str(number) for number in range(len(list(place.iterdir())), 4)]
    for path in paths:
        path.write_bytes(os.urandom(8192))
    return paths


def test_inherited_attributes_and_false_claims(shop: Workshop) -> None:
    shop.run("mkfs.btrfs", "--quiet", shop.path)
    mounted = shop.mount(shop.path)
    apart = GroupChoice(("A",), Level.SINGLE, "btrfs", options=(("nocow_attribute", True),))
    plain = made(mounted)
    assert [attributes_of(path) for path in plain] == [frozenset()] * 4
    assert check_file_attributes(BTRFS, plain) == ()
    with pytest.raises(TargetError, match="4 files on btrfs have the attributes “-” instead of “C”"):
        check_file_attributes(apart, plain)
    marked = mounted / "marked"
    marked.mkdir()
    shop.run("chattr", "+C", str(marked))
    inside = made(marked)
    assert [attributes_of(path) for path in (marked, marked / "data", *inside)] == [frozenset("C")] * 6
    assert check_file_attributes(apart, inside) == ()
    with pytest.raises(TargetError, match="4 files on btrfs have the attributes “C” instead of “-”"):
        check_file_attributes(BTRFS, inside)
    shop.run("mount", "-o", "remount,nodatacow", str(mounted))
    later = mounted / "later"
    later.mkdir()
    in_place = GroupChoice(("A",), Level.SINGLE, "btrfs", options=(("datacow", False),))
    assert check_file_attributes(in_place, made(later)) == ()
    with pytest.raises(TargetError, match="such as 0"):
        check_file_attributes(in_place, plain)


def test_filesystem_without_attributes() -> None:
    with pytest.raises(OSError, match="Inappropriate ioctl|not supported"):
        attributes_of(Path("/proc/self/status"))
    (found,) = check_file_attributes(BTRFS, [Path("/proc/self/status")])
    assert "cannot be verified" in found
