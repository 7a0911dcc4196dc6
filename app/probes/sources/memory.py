"""Memory of the machine from /proc/meminfo, in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.probe import Probe, ProbeContext, ProbeUnavailable, RawFile

_DIRECT: Final = (
    ("memory.available", b"MemAvailable"),
    ("memory.shared", b"Shmem"),
    ("memory.dirty", b"Dirty"),
    ("memory.writeback", b"Writeback"),
)


def parse_meminfo(text: bytes) -> dict[bytes, int]:
    """Return the fields of /proc/meminfo in bytes (the file says kB and means KiB, proc(5)).

    Fields without a unit, such as HugePages_Total, are returned unchanged.
    """
    fields: dict[bytes, int] = {}
    for line in text.splitlines():
        name, separator, rest = line.partition(b":")
        words = rest.split()
        if separator and words and words[0].isdigit():
            fields[name] = int(words[0]) * (1024 if words[1:] == [b"kB"] else 1)
    return fields


def memory_samples(fields: Mapping[bytes, int]) -> list[Sample]:
    """Return the samples from the fields of `parse_meminfo`."""
    samples = [Sample(metric, fields[name]) for metric, name in _DIRECT if name in fields]
    if b"Cached" in fields:
        samples.append(Sample("memory.cached", fields[b"Cached"] + fields.get(b"Buffers", 0)))
    if b"SwapTotal" in fields:
        samples.append(Sample("memory.swap_used", fields[b"SwapTotal"] - fields.get(b"SwapFree", 0)))
    return samples


class MemoryProbe(Probe):
    """Available, cached, shared, dirty and written-back memory, and swap in use."""

    id = "memory"
    label = tr("Memory")

    def __init__(self, path: str = "/proc/meminfo") -> None:
        self._path = path
        self._file: RawFile | None = None

    @override
    def open(self, context: ProbeContext) -> None:
        try:
            self._file = RawFile(self._path)
        except FileNotFoundError as err:
            raise ProbeUnavailable(
                tr("{path} does not exist, so memory is unknown").format(path=self._path)
            ) from err

    @override
    def read(self) -> list[Sample]:
        if self._file is None:
            return []
        return memory_samples(parse_meminfo(self._file.read()))

    @override
    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
