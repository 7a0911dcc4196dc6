from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.text import GIB
from app.probes.base.backing_devices import Backing, BackingDevice, Mount
from app.probes.preflight.checks import (
    WRITTEN_EPOCH_S,
    BusyProcess,
    CgroupLimits,
    Load,
    PreflightContext,
    PreflightRequest,
    Severity,
    findings_of,
    run_preflight,
)

MOUNT = Mount(1, "8:1", "/", "/data", (), "ext4", "/dev/sda1", ())
DISK = BackingDevice("sda", "disk", is_leaf=True)
NO_LIMITS = CgroupLimits(None, None)
QUIET = Load(8, 0.05, 0.0, {"io_some": 0.01, "memory_some": 0.0})
MEMORY = {"MemTotal": 16 * GIB, "MemAvailable": 12 * GIB, "SwapTotal": 0, "SwapFree": 0, "HugePages_Total": 0}
GOOD = PreflightContext(
    load=QUIET,
    processor={"governor": "performance", "online": 8, "allowed": 8},
    memory={"info": MEMORY, "transparent_huge_pages": {"enabled": "madvise"}},
    power={"sleep_states": "freeze mem", "supplies": {}},
    battery=None,
    clock_source="tsc",
    limits=NO_LIMITS,
    mount=MOUNT,
    backing=Backing("/data", MOUNT, (DISK,)),
)


def with_memory(**changes: int) -> dict[str, object]:
    return {"info": {**MEMORY, **changes}, "transparent_huge_pages": {"enabled": "madvise"}}


def test_a_quiet_machine_has_no_findings() -> None:
    assert findings_of(GOOD) == ()


CASES: list[tuple[str, dict[str, object], str]] = [
    (
        "foreign-load",
        {"load": replace(QUIET, foreign_cores=1.5, busiest=(BusyProcess("rsync", 7, 1.4),))},
        "rsync",
    ),
    (
        "foreign-load",
        {"load": replace(QUIET, foreign_cores=1.5, busiest=())},
        "programs that have ended or run outside this container",
    ),
    ("io-pressure", {"load": replace(QUIET, pressure={"io_some": 0.3})}, "30%"),
    ("memory-pressure", {"load": replace(QUIET, pressure={"memory_some": 0.3})}, "memory"),
    ("steal", {"load": replace(QUIET, steal_share=0.04)}, "4.0%"),
    ("governor", {"processor": {"governor": "powersave", "online": 8, "allowed": 8}}, "powersave"),
    ("governor", {"processor": {"governor": ["ondemand", "performance"], "online": 8}}, "ondemand"),
    ("battery", {"battery": True}, "battery"),
    ("swap-in-use", {"memory": with_memory(SwapTotal=2 * GIB, SwapFree=GIB)}, "1 GiB"),
    ("low-memory", {"memory": with_memory(MemAvailable=GIB)}, "1 GiB"),
    ("low-memory", {"needed_bytes": 14 * GIB}, "12 GiB"),
    ("no-huge-pages", {"memory": with_memory(MemTotal=64 * GIB)}, "normal pages"),
    (
        "transparent-huge-pages",
        {"memory": {"info": MEMORY, "transparent_huge_pages": {"enabled": "always"}}},
        "always",
    ),
    ("sleep-possible", {"sleep_reason": "no logind."}, "no logind"),
    ("cpu-quota", {"limits": CgroupLimits(1.5, None)}, "1.50 CPUs"),
    ("memory-limit", {"limits": CgroupLimits(None, 2 * GIB)}, "2 GiB"),
    ("cpu-affinity", {"processor": {"governor": "performance", "online": 8, "allowed": 4}}, "4 of 8"),
    ("slow-clock", {"clock_source": "hpet"}, "hpet"),
    ("network-filesystem", {"mount": replace(MOUNT, filesystem="nfs4")}, "nfs4"),
    ("folder-in-memory", {"mount": replace(MOUNT, filesystem="tmpfs")}, "tmpfs"),
    ("overlay-filesystem", {"mount": replace(MOUNT, filesystem="overlay")}, "overlay"),
    (
        "loop-device",
        {"backing": Backing("/data", MOUNT, (BackingDevice("loop3", "loop", is_leaf=False), DISK))},
        "loop3",
    ),
    ("library-on-target", {"library_devices": frozenset({"sda"})}, "sda"),
]


@pytest.mark.parametrize(("code", "changes", "words"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES])
def test_what_would_spoil_a_measurement_is_found(code: str, changes: dict[str, object], words: str) -> None:
    findings = findings_of(replace(GOOD, **changes))  # type: ignore[arg-type]
    assert [finding.code for finding in findings] == [code]
    assert words in findings[0].message
    assert findings[0].evidence


@pytest.mark.parametrize(
    "changes",
    [
        {"load": None},
        {"load": replace(QUIET, pressure={})},
        {"processor": {"governor": {"unreadable": "does not exist"}, "online": 8, "allowed": 8}},
        {"processor": {}},
        {"memory": {}},
        {"memory": {"info": {"unreadable": "x"}, "transparent_huge_pages": {"unreadable": "x"}}},
        {"sleep_reason": "no logind", "power": {"sleep_states": ""}},
        {"sleep_reason": "no logind", "power": {"sleep_states": {"unreadable": "does not exist"}}},
        {"limits": CgroupLimits(None, 32 * GIB)},
        {"mount": replace(MOUNT, filesystem="tmpfs"), "memory_target": True},
        {"mount": None, "backing": None},
        {"library_devices": frozenset({"sdb"})},
        {"clock_source": {"unreadable": "does not exist"}},
        {"battery": False},
    ],
)
def test_unknown_or_harmless_gives_no_finding(changes: dict[str, object]) -> None:
    assert findings_of(replace(GOOD, **changes)) == ()  # type: ignore[arg-type]


def test_warnings_come_before_notes() -> None:
    found = findings_of(replace(GOOD, library_devices=frozenset({"sda"}), battery=True))
    assert [finding.severity for finding in found] == [Severity.WARNING, Severity.NOTE]


def test_this_machine_can_be_looked_at(tmp_path: Path) -> None:
    for finding in run_preflight(PreflightRequest(str(tmp_path), library=str(tmp_path))):
        assert finding.code
        assert finding.message


@pytest.mark.parametrize(("now_s", "codes"), [(0.0, ["wrong-date"]), (WRITTEN_EPOCH_S, []), (4e9, [])])
def test_a_date_of_the_past(monkeypatch: pytest.MonkeyPatch, now_s: float, codes: list[str]) -> None:
    monkeypatch.setattr("time.time", lambda: now_s)
    found = findings_of(GOOD)
    assert [finding.code for finding in found] == codes
    assert all("1970-01-01" in finding.message for finding in found)
