"""What the disks below a folder do while a program of the baseline runs, as a run's charts count it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from app.domain.io_baseline import LIMITED, BaselineDevice, DeviceRates
from app.domain.virtual_disks import played_by
from app.probes.base.backing_devices import resolve_backing
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sources.block_devices import BlockDevicesProbe

_SECOND_S: Final = 1.0


class DeviceCounters:
    """The series ``storage.*`` of one folder; nothing where its disks cannot be seen or do not count."""

    def __init__(self, sources: ServerSources) -> None:
        self._probe = BlockDevicesProbe()
        self._read_s = 0.0
        self._fastest: dict[str, float] = {}
        try:
            self._probe.open(ProbeContext(sources))
        except (ProbeUnavailable, OSError):
            self._is_open = False
        else:
            self._is_open = True
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._fastest = {}
        self._step()

    def look(self) -> None:
        """Take note of the second that has passed, once it has."""
        if time.monotonic() - self._read_s >= _SECOND_S:
            rates, _ = self._step()
            self._fastest = {name: max(rate, self._fastest.get(name, 0.0)) for name, rate in rates.items()}

    def fastest_second(self) -> DeviceRates:
        """Return the highest rates of a second since `begin`, each for itself."""
        return DeviceRates(**self._fastest)

    def mean(self, seconds: float) -> DeviceRates:
        """Return what was done since the last look, as rates over the time that a program worked.

        Args:
            seconds: how long it worked; starting and ending it is not counted.
        """
        rates, passed_s = self._step()
        if seconds <= 0:
            return DeviceRates()
        return DeviceRates(**{name: rate * passed_s / seconds for name, rate in rates.items()})

    def close(self) -> None:
        """Release the files."""
        self._probe.close()

    def _step(self) -> tuple[dict[str, float], float]:
        """Return rates since the last step, by attribute of `DeviceRates`, and how long that was."""
        if not self._is_open:
            return {}, 0.0
        try:
            samples = self._probe.read()
        except OSError:  # a disk is gone: who looks after the target tells it
            self._is_open = False
            return {}, 0.0
        now_s = time.monotonic()
        passed_s, self._read_s = now_s - self._read_s, now_s
        return {LIMITED[each.metric]: each.value for each in samples if each.metric in LIMITED}, passed_s


def disks_below(folder: str, sys: Path = Path("/sys")) -> tuple[BaselineDevice, ...]:
    """Return the disks below a folder; none where they cannot be seen, or where there are none."""
    try:
        disks = resolve_backing(folder).counted
    except ProbeUnavailable:
        return ()
    return tuple(_device(each.name, each.kind, sys) for each in disks)


def _device(name: str, kind: str, sys: Path) -> BaselineDevice:
    queue, identity = sys / "block" / name / "queue", sys / "block" / name / "device"
    rotational = _text(queue / "rotational")
    return BaselineDevice(
        name=name,
        kind=kind,
        is_rotating=None if rotational not in {"0", "1"} else rotational == "1",
        write_cache=_text(queue / "write_cache"),
        played_by=played_by(name, _text(identity / "vendor"), _text(identity / "model")),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
