"""Memory of the machine from /proc/meminfo, in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import FileProbe, ProbeContext, ProbeUnavailable
from app.process.memory import parse_meminfo

_DIRECT: Final = (
    ("memory.available", "MemAvailable"),
    ("memory.shared", "Shmem"),
    ("memory.dirty", "Dirty"),
    ("memory.writeback", "Writeback"),
)


def memory_samples(fields: Mapping[str, int]) -> list[Sample]:
    """Return the samples from the fields of `parse_meminfo`."""
    samples = [Sample(metric, fields[name]) for metric, name in _DIRECT if name in fields]
    if "Cached" in fields:
        samples.append(Sample("memory.cached", fields["Cached"] + fields.get("Buffers", 0)))
    if "SwapTotal" in fields:
        samples.append(Sample("memory.swap_used", fields["SwapTotal"] - fields.get("SwapFree", 0)))
    return samples


class MemoryProbe(FileProbe):
    """Available, cached, shared, dirty and written-back memory, and swap in use."""

    id = "memory"
    label = tr("Memory")

    def __init__(self, path: str = "/proc/meminfo") -> None:
        super().__init__()
        self._path = path

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        try:
            self._keep_open(self._path)
        except FileNotFoundError as err:
            raise ProbeUnavailable(
                tr("{path} does not exist, so memory is unknown").format(path=self._path)
            ) from err

    @override
    def read(self) -> list[Sample]:
        return [each for file in self._opened for each in memory_samples(parse_meminfo(file.read()))]
