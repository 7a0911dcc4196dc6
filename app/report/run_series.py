"""The series of a run, read from its file when they are first needed: most runs of a report are not drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.runfile.series import RunData, load_run_data


@dataclass(frozen=True)  # without slots: its property is cached
class RunSeries:
    """The series of a run file."""

    path: Path

    @cached_property
    def data(self) -> RunData:
        """Its series.

        Raises:
            RunFileError: the file cannot be read, or not any more.
        """
        return load_run_data(self.path)
