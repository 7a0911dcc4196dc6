"""Tests that run inside of guests: which share a guest, what the short tier leaves out, how they are run."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.machine.rig import PROJECT, SHARE, Guest

MARK = "\x1f"
"""Stands before each report that `guest_reports` sends."""

_GUEST_MEMORY_MIB = 2048
# What QEMU needs beside its guest's memory, mostly for translated code.
_QEMU_MEMORY_MIB = 900
# Another guest costs one to two minutes of a processor: its start, pytest in it, what fixtures install.
_LEAST_PART_S = 240.0
# What a test takes that never ran here.
_USUAL_S = 10.0
_LIMIT_S = 3500.0
# Parts of the matrix take up to a quarter of an hour.
_TEST_LIMIT_S = 1200.0
GUEST_PYTEST: Final = (  # in the guest's root, also where a container has it
    # Without the plugins that announce themselves: pytest would rewrite all of hypothesis, 20 s in a guest.
    *("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "python3", "-m", "pytest", "--confcutdir", "tests/machine"),
    *("-p", "pytest_timeout", "-p", "no:cacheprovider"),
    *("-p", "tests.fix_log_records", "-p", "tests.fix_machine"),
    *("-o", "addopts=", "-o", "faulthandler_timeout=900", "-o", "timeout=900", "-o", "qt_api="),
    *("--strict-markers", "--import-mode=importlib", "-W", "ignore::pytest.PytestConfigWarning"),
)


@dataclass(frozen=True, slots=True)
class Inside:
    """Arguments of the marker `inside`: what a guest must be like for a test."""

    disks: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Tests (node ids) that one guest runs."""

    inside: Inside
    tests: tuple[str, ...]


def guests_at_once() -> int:
    """Return how many guests this machine has processors and free memory for; at least one.

    An emulated guest keeps one processor busy. packaging/test sets their number where others run beside.
    """
    with Path("/proc/meminfo").open() as file:
        fields = dict(line.split(":") for line in file)
    available_mib = int(fields["MemAvailable"].split()[0]) // 1024
    processors = int(os.environ.get("PGFOOTING_GUESTS") or os.cpu_count() or 1)
    return max(1, min(processors, available_mib // (_GUEST_MEMORY_MIB + _QEMU_MEMORY_MIB)))


def _usual(seconds: Mapping[str, float]) -> float:
    return sum(seconds.values()) / len(seconds) if seconds else _USUAL_S


def parts(wanted: Mapping[Inside, Sequence[str]], seconds: Mapping[str, float], guests: int) -> list[Part]:
    """Divide the tests of each kind of guest into parts of about equal time, the longest part first.

    Args:
        wanted: node ids by what their guest must be like.
        seconds: what tests took earlier; one that is not known counts as the mean of those that are.
        guests: how many run at once.
    """
    usual = _usual(seconds)
    found: list[tuple[float, Part]] = []
    for inside, tests in wanted.items():
        whole = sum(seconds.get(test, usual) for test in tests)
        bins: list[list[str]] = [
            [] for _ in range(max(1, min(guests, len(tests), int(whole / _LEAST_PART_S))))
        ]
        loads = [0.0] * len(bins)
        for test in sorted(tests, key=lambda test: -seconds.get(test, usual)):
            least = loads.index(min(loads))
            bins[least].append(test)
            loads[least] += seconds.get(test, usual)
        found += [
            (load, Part(inside, tuple(sorted(chosen, key=list(tests).index))))
            for load, chosen in zip(loads, bins, strict=True)
        ]
    return [part for _, part in sorted(found, key=lambda each: -each[0])]


def smallest_cover(covers: Mapping[str, Iterable[Hashable]], seconds: Mapping[str, float]) -> set[str]:
    """Return tests that together cover each word that any test covers.

    Chosen greedily: again and again the test that adds most new words for the root of its seconds, as one of
    several words makes others needless, which are left out at the end. That is not always the least possible
    choice, but never leaves a word out.
    """
    left = {word for words in covers.values() for word in words}
    chosen: set[str] = set()
    usual = _usual(seconds)

    def gain(test: str) -> tuple[float, str]:
        return len(left & set(covers[test])) / seconds.get(test, usual) ** 0.5, test

    while left:
        best = max(covers, key=gain)
        chosen.add(best)
        left -= set(covers[best])
    for test in sorted(chosen, key=lambda test: (-seconds.get(test, usual), test)):
        if not set(covers[test]).difference(*(covers[other] for other in chosen - {test})):
            chosen.remove(test)
    return chosen


class ReportReader:
    """Tells the reports from the other output of a job."""

    def __init__(self, receive: Callable[[dict[str, Any]], None]) -> None:
        self._receive = receive
        self._unread = b""
        self.other = bytearray()

    def feed(self, text: bytes) -> None:
        """Take the next piece of output; whole reports are handed to `receive`."""
        mark = MARK.encode()
        self._unread += text
        while True:
            before, found, after = self._unread.partition(mark)
            self.other += before
            self._unread = found + after
            line, end, rest = after.partition(b"\n")
            if not end:
                return
            self._unread = rest
            self._receive(json.loads(line))


def guest_for(part: Part, image: Path) -> Guest:
    """Return the guest that a part needs, not started; `image` is the folder of the built guest."""
    return Guest(part.inside.disks, folder=image, memory_mib=_GUEST_MEMORY_MIB)


def run_part(part: Part, guest: Guest, receive: Callable[[dict[str, Any]], None]) -> str:
    """Boot a guest, run the part's tests in it and return what was printed beside the reports.

    Args:
        part: the tests.
        guest: as `guest_for` makes it.
        receive: called with ``{"started_test": nodeid}`` and with each report, as
            ``pytest_report_to_serializable`` gives it.

    Raises:
        GuestError: the guest died or time is over; reports that came before have been handed on.
    """
    reader = ReportReader(receive)
    with guest:
        disks = [
            {"serial": disk.serial, "size_bytes": disk.size_bytes, "kind": disk.kind.value}
            for disk in guest.disks
        ]
        (guest.share / "disks.json").write_text(json.dumps(disks))
        (guest.share / "tests").write_text("".join(f"{test}\n" for test in part.tests))
        settings = (
            f"PYTHONPATH={PROJECT}",
            "PYTHONSAFEPATH=1",
            "PYTHONDONTWRITEBYTECODE=1",
            "PGFOOTING_GUEST=yes",
            f"PGFOOTING_MACHINE_TESTS={os.environ.get('PGFOOTING_MACHINE_TESTS', '')}",
        )
        command = ("env", *settings, *GUEST_PYTEST, "-p", "tests.machine.guest_reports", f"@{SHARE}/tests")
        guest.run(command, limit_s=max(_LIMIT_S, _TEST_LIMIT_S * len(part.tests)), output=reader.feed)
    return reader.other.decode(errors="replace")


def group_by_guest(tests: Iterable[tuple[str, Inside]]) -> dict[Inside, list[str]]:
    """Return the node ids by what their guest must be like, in order."""
    found: dict[Inside, list[str]] = defaultdict(list)
    for test, inside in tests:
        found[inside].append(test)
    return dict(found)
