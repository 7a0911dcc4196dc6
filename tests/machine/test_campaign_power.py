"""A disk or the plug is pulled while a campaign runs on the rig's disks: driven from the host."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.machine.rig import Guest, built_guest

pytestmark = [pytest.mark.machine, pytest.mark.campaigns]

PATIENCE_S = 900
PULLED = ("RIGVIRTIO1", "RIGVIRTIO2")
CUT_OFF = ("RIGVIRTIO3", "RIGVIRTIO4")
SENTINEL = "/dev/disk/by-id/virtio-RIGVIRTIO5"


def in_guest(guest: Guest, function: str, *arguments: str) -> str:
    """Call a function of outside_campaign in the guest and return what is printed."""
    code = f"from tests.machine.outside_campaign import {function}; {function}(*{arguments!r})"
    return guest.output_of("env", "PYTHONPATH=.", "python3", "-P", "-c", code, limit_s=PATIENCE_S)


def sentinel(guest: Guest) -> str:
    return guest.output_of("sha256sum", SENTINEL)


def wait_for(
    guest: Guest, serials: Sequence[str], wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Ask what was told and what is left on these disks until it is as wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while not wanted(found := json.loads(in_guest(guest, "print_seconds", *serials).splitlines()[-1])):
        assert time.monotonic() < deadline, found
    return dict(found)


def measure(guest: Guest, serials: Sequence[str]) -> dict[str, Any]:
    """Run a campaign on a mirror of these disks until three seconds are measured; return what was told."""
    in_guest(guest, "start_outside", *serials)
    return wait_for(guest, serials, lambda found: len(found["told"]) >= 3 or found["finished"])


def check_kept(found: dict[str, Any], seconds: list[float]) -> None:
    """Every second that was told is in the run file, in order; so slow a machine does not tell every one."""
    left = iter(found["kept"])
    for tps in seconds:
        assert any(value == pytest.approx(tps) for value in left), found


@pytest.fixture(scope="module")
def booted() -> Iterator[Guest]:
    with Guest(["virtio:1G"] * 4 + ["virtio:16M"], folder=built_guest()) as guest:
        guest.output_of("dd", "if=/dev/urandom", f"of={SENTINEL}", "bs=1M", "count=16", "conv=fsync")
        in_guest(guest, "install")
        yield guest


@pytest.fixture
def guest(booted: Guest) -> Iterator[Guest]:
    """The guest of both tests; its sentinel is unchanged after each."""
    before = sentinel(booted)
    yield booted
    assert sentinel(booted) == before


def test_pulled_disk_keeps_seconds_frees_other(
    guest: Guest,
) -> None:
    measure(guest, PULLED)
    guest.remove_disk(1)
    # The array goes on without it, as it should: what is left of it must come apart all the same.
    seconds = len(wait_for(guest, PULLED, lambda found: bool(found["told"]))["told"])
    wait_for(guest, PULLED, lambda found: len(found["told"]) > seconds + 1 or found["finished"])
    # In a slow guest the runner may have ended before.
    assert guest.run(("pkill", "--signal", "INT", "--full", "^python3 -P -m app run")) in {0, 1}
    found = wait_for(guest, PULLED, lambda found: bool(found["finished"]) and not found["left"])
    assert found["disks"] == 1
    check_kept(found, found["told"])


def test_disks_are_offered_after_a_power_cut(guest: Guest) -> None:
    seconds = measure(guest, CUT_OFF)["told"]
    guest.cut_power()
    guest.boot()
    offered = json.loads(in_guest(guest, "release_outside", *CUT_OFF).splitlines()[-1])
    assert (offered["ours"], offered["wiped"]) == ([True, True], [True, True])
    assert offered["held"] == [["ext4"], ["ext4"]], "what the mirror holds is shown on each of its disks"
    assert all("D18" in rules for rules in offered["refused"])
    found = wait_for(guest, CUT_OFF, lambda found: not found["left"])
    assert (found["disks"], found["state"]) == (2, "incomplete")
    check_kept(found, seconds[:-1])  # the last one may have been on its way to the disk
