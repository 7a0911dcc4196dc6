"""State and synchronisation of the md arrays below the data directory, from /sys/block/mdX/md.

A synchronisation takes bandwidth, and a missing member changes the measured storage: the run must record
both. Source: Documentation/admin-guide/md.rst; `sync_completed` counts sectors of 512 bytes, `sync_speed` KiB
per second.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, resolve_backing
from app.probes.base.probe import FileProbe, ProbeContext, ProbeUnavailable, RawFile

_SECTOR_BYTES: Final = 512
_KIB: Final = 1024
_FILES: Final = ("degraded", "sync_action", "sync_completed", "sync_speed")


def parse_sync_remaining(text: str) -> int:
    """Return the remaining bytes of a synchronisation; 0 for ``none`` and ``delayed``."""
    done, separator, total = text.partition(" / ")
    if not separator:
        return 0
    return max(0, int(total) - int(done)) * _SECTOR_BYTES


class ArraysProbe(FileProbe):
    """Missing members of md arrays, and remaining bytes and speed of a synchronisation."""

    id = "arrays"
    label = tr("Arrays")

    def __init__(self, resolve: Callable[[str], Backing] = resolve_backing, sys: str = "/sys") -> None:
        super().__init__()
        self._resolve = resolve
        self._sys = sys
        self._arrays: dict[str, dict[str, RawFile]] = {}

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._arrays = {}
        backing = self._resolve(context.server.data_folder)
        names = [device.name for device in backing.devices if device.kind == "md"]
        for name in names:
            folder = Path(self._sys, "block", name, "md")
            # Arrays without redundancy have none of these files: nothing can be missing or out of step.
            present = [file for file in _FILES if (folder / file).exists()]
            if present:
                self._arrays[name] = {file: self._keep_open(folder / file) for file in present}
        if not self._arrays:
            raise ProbeUnavailable(tr("no redundant md array is below the data directory"))

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        for name, files in self._arrays.items():
            texts = {file: opened.read().decode("ascii").strip() for file, opened in files.items()}
            if missing := int(texts.get("degraded", "0")):
                samples.append(Sample("array.missing_members", missing, name))
            if texts.get("sync_action", "idle") not in {"idle", "frozen"}:
                remaining = parse_sync_remaining(texts.get("sync_completed", "none"))
                speed = texts.get("sync_speed", "none")
                samples.append(Sample("array.sync_remaining", remaining, name))
                samples.append(Sample("array.sync_speed", int(speed) * _KIB if speed.isdigit() else 0, name))
        return samples
