"""ZFS below the data directory: the ARC, the dataset's own reads and writes, and the intent log.

From the kstats of OpenZFS in /proc/spl/kstat/zfs, which need no root: `arcstats`, `POOL/objset-0x*` of the
dataset and, for the intent log, the dataset's `zil_*` (OpenZFS 2.2 and newer) or `zil` of the whole module
(before). `block_devices` counts the disks of the pool. Source: OpenZFS, module/zfs/arc.c, dataset_kstats.c,
zil.c; zfs(4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Mount, mount_of
from app.probes.base.probe import (
    Clock,
    Counters,
    FileProbe,
    MissingMetric,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
)

_RATES: Final = {
    "arcstats": (
        ("zfs.arc_hits", ("hits",)),
        ("zfs.arc_misses", ("misses",)),
        ("zfs.arc_demand_data_misses", ("demand_data_misses",)),
    ),
    "dataset": (
        ("zfs.reads", ("reads",)),
        ("zfs.writes", ("writes",)),
        ("zfs.read_bytes", ("nread",)),
        ("zfs.write_bytes", ("nwritten",)),
    ),
    "zil": (
        ("zfs.log_commits", ("zil_commit_count",)),
        ("zfs.log_bytes", ("zil_itx_metaslab_normal_bytes", "zil_itx_metaslab_slog_bytes")),
        ("zfs.log_device_bytes", ("zil_itx_metaslab_slog_bytes",)),
    ),
}
_GAUGES: Final = (("zfs.arc_size", "size"), ("zfs.arc_target", "c"))
_HEADER_LINES: Final = 2


def parse_kstat(text: bytes) -> Mapping[str, str]:
    """Return names and values of a named kstat (spl-kstat.c): two lines of header, then name, type, data."""
    found: dict[str, str] = {}
    for line in text.decode("utf-8", errors="replace").splitlines()[_HEADER_LINES:]:
        words = line.split(None, 2)
        if len(words) == 3:
            found[words[0]] = words[2]
    return found


class ZfsProbe(FileProbe):
    """Size and hits of the ARC, I/O of the dataset, commits and bytes of the intent log."""

    id = "zfs"
    label = tr("ZFS")

    def __init__(
        self,
        find_mount: Callable[[str], Mount] = mount_of,
        folder: str = "/proc/spl/kstat/zfs",
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self._find_mount = find_mount
        self._folder = Path(folder)
        self._clock = clock
        self._files: dict[str, RawFile] = {}
        self._counters: dict[str, Counters] = {}

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._files = {}
        try:
            mount = self._find_mount(context.server.data_folder)
        except LookupError as err:
            raise ProbeUnavailable(tr("the mount of {path} cannot be found").format(path=err)) from err
        if mount.filesystem != "zfs":
            raise ProbeUnavailable(tr("the data directory is not on ZFS"))
        self._files["arcstats"] = self._keep_open(self._folder / "arcstats")
        omissions: list[MissingMetric] = []
        dataset = self._dataset_file(mount.source)
        if dataset is None:
            reason = tr("ZFS shows no statistics of dataset {name}").format(name=mount.source)
            omissions += [MissingMetric(metric, reason) for metric, _ in _RATES["dataset"]]
        else:
            self._files["dataset"] = dataset
        if dataset is None or "zil_commit_count" not in parse_kstat(dataset.read()):
            try:
                self._files["zil"] = self._keep_open(self._folder / "zil")
            except FileNotFoundError:
                reason = tr("this OpenZFS shows no statistics of its intent log")
                omissions += [MissingMetric(metric, reason) for metric, _ in _RATES["zil"]]
        self.omissions = tuple(omissions)
        self._counters = {part: Counters(self._clock) for part in _RATES}

    def _dataset_file(self, dataset: str) -> RawFile | None:
        """Return the opened statistics of a dataset, found by its name inside the files."""
        for path in sorted((self._folder / dataset.partition("/")[0]).glob("objset-*")):
            file = self._keep_open(path)
            if parse_kstat(file.read()).get("dataset_name") == dataset:
                return file
            file.close()
        return None

    @override
    def read(self) -> list[Sample]:
        values = {part: parse_kstat(file.read()) for part, file in self._files.items()}
        values.setdefault("zil", values.get("dataset", {}))
        samples: list[Sample] = []
        for part, wanted in _RATES.items():
            known = values.get(part, {})
            if not all(name in known for _, names in wanted for name in names):
                continue
            totals = [sum(int(known[name]) for name in names) for _, names in wanted]
            difference = self._counters[part].step(totals)
            if difference is not None:
                samples += [
                    Sample(metric, difference.rate(place)) for place, (metric, _) in enumerate(wanted)
                ]
        arc = values.get("arcstats", {})
        samples += [Sample(metric, int(arc[name])) for metric, name in _GAUGES if name in arc]
        return samples
