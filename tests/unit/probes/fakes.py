"""Stand-ins for tests of probes: a clock that is moved by hand, and folders like procfs and sysfs."""

from __future__ import annotations

from pathlib import Path

from app.domain.metrics import Sample
from app.probes.base.probe import ProbeContext, ServerSources

CONTEXT = ProbeContext(ServerSources(data_directory="/"))


class HandClock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def write(path: Path, text: str) -> Path:
    """Write a file in place, so that an open descriptor sees the new text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def values(samples: list[Sample]) -> dict[str, float]:
    """Return samples as a dict with keys like ``device.reads vda``."""
    return {f"{sample.metric} {sample.instance}".strip(): sample.value for sample in samples}


def process_stat(pid: int, name: str, parent: int, times: tuple[int, int, int, int]) -> str:
    """Return a line like /proc/PID/stat with user, system and the ended children's times."""
    before = f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 100 200 0 0"
    return f"{before} {' '.join(map(str, times))} 20 0 1 0 24 0 0 18446744073709551615 0 0 0 0 0 0 0\n"


def add_process(
    proc: Path, pid: int, name: str, parent: int, times: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> None:
    """Make or change a process in a folder like procfs."""
    write(proc / str(pid) / "stat", process_stat(pid, name, parent, times))


def set_children(proc: Path, pid: int, children: list[int]) -> None:
    write(proc / str(pid) / "task" / str(pid) / "children", "".join(f"{child} " for child in children))
