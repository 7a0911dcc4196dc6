"""A campaign on a spare disk, and the machine that is rebooted in the middle of it: driven from the host."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine.rig import Guest, built_guest

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, pytest.mark.timeout(2400)]

PATIENCE_S = 900
RUNS = 3
DISK, SENTINEL = "RIGVIRTIO1", "/dev/disk/by-id/virtio-RIGVIRTIO2"
RUNNER = "^python3 -P -m app run"


def in_guest(guest: Guest, function: str, *arguments: str) -> str:
    """Call a function of outside_campaign in the guest and return what it prints."""
    code = f"from tests.machine.outside_campaign import {function}; {function}(*{arguments!r})"
    return guest.output_of("env", "PYTHONPATH=.", "python3", "-P", "-c", code, limit_s=PATIENCE_S)


def kill_and_reboot(guest: Guest) -> None:
    guest.output_of("pkill", "--signal", "KILL", "--full", RUNNER)
    guest.reboot()


def kill_and_cut_power(guest: Guest) -> None:
    guest.output_of("pkill", "--signal", "KILL", "--full", RUNNER)
    guest.cut_power()
    guest.boot()


def reboot(guest: Guest) -> None:
    guest.reboot()


@pytest.fixture
def guest() -> Iterator[Guest]:
    with Guest(["virtio:1G", "virtio:16M"], folder=built_guest()) as booted:
        booted.output_of("dd", "if=/dev/urandom", f"of={SENTINEL}", "bs=1M", "count=16", "conv=fsync")
        in_guest(booted, "install")
        yield booted


@pytest.mark.parametrize("end", [kill_and_reboot, kill_and_cut_power, reboot], ids=lambda end: end.__name__)
def test_campaign_continues_after_reboot(guest: Guest, end: Callable[[Guest], None]) -> None:
    before = guest.output_of("sha256sum", SENTINEL)
    boot = guest.output_of("cat", "/proc/sys/kernel/random/boot_id")
    in_guest(guest, "begin_rounds", DISK)
    end(guest)
    assert guest.output_of("cat", "/proc/sys/kernel/random/boot_id") != boot
    (waiting,) = json.loads(in_guest(guest, "print_waiting", DISK))
    assert (waiting["done"], waiting["runs"]) == (1, RUNS)
    ended: dict[str, Any] = json.loads(in_guest(guest, "go_on", DISK, waiting["folder"]))
    assert ended["status"] == 0, ended
    assert ended["measured"] == RUNS - 1
    done = Counter(number for _, number, state in ended["runs"] if state == "done")
    assert done == Counter(range(1, RUNS + 1))
    # what was killed is kept and does not count
    assert [(number, state) for _, number, state in ended["runs"] if state != "done"] in (
        [(2, "incomplete")],
        [(2, "stopped")],
    )
    assert ended["asked"] == 1
    assert (ended["left"], ended["waiting"]) == ([], [])
    assert guest.output_of("sha256sum", SENTINEL) == before
