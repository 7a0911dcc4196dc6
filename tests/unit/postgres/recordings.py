"""Access to what pgbench 13 to 19 printed and logged (tests/data/pgbench/README.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

FOLDER = Path(__file__).resolve().parents[2] / "data" / "pgbench"
MAJORS = (13, 14, 15, 16, 17, 18, 19)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run of pgbench."""

    major: int
    name: str
    exit_code: int
    arguments: tuple[str, ...]

    @property
    def output(self) -> str:
        return self._path("out").read_text()

    @property
    def errors(self) -> str:
        return self._path("err").read_text()

    @property
    def logs(self) -> tuple[bytes, ...]:
        """One per thread."""
        return tuple(path.read_bytes() for path in sorted(self._path("").parent.glob(f"{self.name}.log*")))

    @override
    def __str__(self) -> str:
        return f"{self.major}-{self.name}"

    def _path(self, suffix: str) -> Path:
        return FOLDER / str(self.major) / f"{self.name}.{suffix}"


def recordings(*names: str) -> tuple[Recording, ...]:
    """Every recorded run, or those of these names, of all versions that have them."""
    found = []
    for major in MAJORS:
        for line in (FOLDER / str(major) / "scenarios.tsv").read_text().splitlines():
            name, exit_code, arguments = line.split("\t")
            if not names or name in names:
                found.append(Recording(major, name, int(exit_code), tuple(arguments.split())))
    return tuple(found)


def recording(major: int, name: str) -> Recording:
    """One recorded run."""
    return next(found for found in recordings(name) if found.major == major)
