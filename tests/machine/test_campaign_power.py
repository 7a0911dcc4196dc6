"""A disk or the plug is pulled while a campaign runs on the rig's disks: driven from the host."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine.rig import Guest, built_guest

pytestmark = pytest.mark.machine

PATIENCE_S = 900
SERIALS = ("RIGVIRTIO1", "RIGVIRTIO2")
SENTINEL = "/dev/disk/by-id/virtio-RIGVIRTIO3"


def in_guest(guest: Guest, function: str) -> str:
    code = f"from tests.machine.outside_campaign import {function}; {function}(*{SERIALS!r})"
    return guest.output_of("env", "PYTHONPATH=.", "python3", "-P", "-c", code, limit_s=PATIENCE_S)


def sentinel(guest: Guest) -> str:
    return guest.output_of("sha256sum", SENTINEL)


def wait_for(guest: Guest, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask what was told and what is left until it is as wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while not wanted(found := json.loads(in_guest(guest, "tell_outside").splitlines()[-1])):
        assert time.monotonic() < deadline, found
    return dict(found)


def check_kept(found: dict[str, Any], told: list[float]) -> None:
    """Every second that was told is in the run file, in order; so slow a machine does not tell every one."""
    left = iter(found["kept"])
    for tps in told:
        assert any(value == pytest.approx(tps) for value in left), found


@pytest.fixture
def guest() -> Iterator[Guest]:
    """A guest in which a campaign on a mirror of two disks has measured three seconds."""
    with Guest(["virtio:1G", "virtio:1G", "virtio:16M"], folder=built_guest()) as guest:
        guest.output_of("dd", "if=/dev/urandom", f"of={SENTINEL}", "bs=1M", "count=16", "conv=fsync")
        before = sentinel(guest)
        in_guest(guest, "start_outside")
        wait_for(guest, lambda found: len(found["told"]) >= 3 or found["finished"])
        yield guest
        assert sentinel(guest) == before


def test_a_disk_that_is_pulled_while_it_is_measured_leaves_the_other_free_and_all_seconds(
    guest: Guest,
) -> None:
    guest.remove_disk(1)
    # The array goes on without it, as it should: what is left of it must come apart all the same.
    told = len(wait_for(guest, lambda found: bool(found["told"]))["told"])
    wait_for(guest, lambda found: len(found["told"]) > told + 1 or found["finished"])
    guest.output_of("pkill", "--signal", "INT", "--full", "^python3 -P -m app run")
    found = wait_for(guest, lambda found: bool(found["finished"]) and not found["left"])
    assert found["disks"] == 1
    check_kept(found, found["told"])


def test_a_power_cut_leaves_free_disks_after_the_next_boot_and_all_whole_seconds(guest: Guest) -> None:
    told = wait_for(guest, lambda found: bool(found["told"]))["told"]
    guest.cut_power()
    guest.boot()
    found = wait_for(guest, lambda found: not found["left"])
    assert (found["disks"], found["state"]) == (2, "incomplete")
    check_kept(found, told[:-1])  # the last one may have been on its way to the disk
