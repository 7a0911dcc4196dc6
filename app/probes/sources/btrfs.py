"""Commits and device errors of the btrfs below the data directory.

From /sys/fs/btrfs/UUID, without root: `commit_stats` (Linux 6.0), `devinfo/ID/error_stats` (Linux 5.14), the
same counters as ``btrfs device stats``. `block_devices` counts the devices themselves.
Source: fs/btrfs/sysfs.c; btrfs-device(8).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, resolve_backing
from app.probes.base.probe import (
    Clock,
    Counters,
    FileProbe,
    MissingMetric,
    ProbeContext,
    ProbeUnavailable,
    RawFile,
)


def parse_numbers(text: bytes) -> Mapping[str, int]:
    """Return the counters of a file of lines with a name and a number."""
    found = {}
    for line in text.decode("ascii").splitlines():
        name, _, number = line.partition(" ")
        if number.strip().isdigit():
            found[name] = int(number)
    return found


class BtrfsProbe(FileProbe):
    """Commits, their mean time, and errors of each device since the start of the run."""

    id = "btrfs"
    label = tr("btrfs")

    def __init__(
        self,
        resolve: Callable[[str], Backing] = resolve_backing,
        sys: str = "/sys",
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self._resolve = resolve
        self._root = Path(sys, "fs/btrfs")
        self._clock = clock
        self._commits: RawFile | None = None
        self._errors: dict[str, tuple[RawFile, int]] = {}
        self._counters = Counters(clock)

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._commits, self._errors = None, {}
        backing = self._resolve(context.server.data_folder)
        if backing.mount.filesystem != "btrfs":
            raise ProbeUnavailable(tr("the data directory is not on btrfs"))
        folder = self._filesystem(backing)
        omissions: list[MissingMetric] = []
        try:
            self._commits = self._keep_open(folder / "commit_stats")
        except FileNotFoundError:
            reason = tr("this kernel does not count btrfs commits; Linux 6.0 or newer does")
            omissions += [MissingMetric(metric, reason) for metric in ("btrfs.commits", "btrfs.commit_time")]
        for path in sorted(folder.glob("devinfo/*/error_stats")):
            file = self._keep_open(path)
            self._errors[path.parent.name] = (file, sum(parse_numbers(file.read()).values()))
        if not self._errors:
            reason = tr("this kernel does not report errors of btrfs devices; Linux 5.14 or newer does")
            omissions.append(MissingMetric("btrfs.device_errors", reason))
        self.omissions = tuple(omissions)
        self._counters = Counters(self._clock)

    def _filesystem(self, backing: Backing) -> Path:
        """Return the sysfs folder of the filesystem, found by one of its devices."""
        names = {device.name for device in backing.devices}
        for folder in sorted(self._root.glob("*-*/devices")):
            for link in folder.iterdir():
                if link.name in names or link.resolve().parent.name in names:  # a partition: its disk
                    return folder.parent
        raise ProbeUnavailable(tr("{folder} does not show the filesystem").format(folder=self._root))

    @override
    def read(self) -> list[Sample]:
        samples: list[Sample] = []
        if self._commits is not None:
            stats = parse_numbers(self._commits.read())
            difference = self._counters.step((stats["commits"], stats["total_commit_ms"]))
            if difference is not None:
                commits, spent_ms = difference.deltas
                samples.append(Sample("btrfs.commits", difference.rate(0)))
                if commits:  # the mean time of no commit is unknown, not zero
                    samples.append(Sample("btrfs.commit_time", round(spent_ms / commits, 3)))
        for device, (file, before) in self._errors.items():
            if gained := sum(parse_numbers(file.read()).values()) - before:
                samples.append(Sample("btrfs.device_errors", gained, device))
        return samples
