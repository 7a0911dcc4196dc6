"""What was read of the run files of a campaign, kept between two attempts: a cache that may be deleted.

Reading a run file takes some 5 ms, five thousand of them half a minute. An entry holds as long as its file is
what it was (time, size, inode) and the code that reads it, too; it says nothing that the file does not say.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from app.library.index import index_format, index_path

_SUFFIX: Final = ".done.jsonl"


@dataclass(frozen=True, slots=True)
class DoneRun:
    """What a run file that is done says of its run.

    Attributes:
        configuration: its name.
        figures: of the summary.
        marks: kinds of labels, each once.
        length_s: from its begin to its end; None where that is not known.
        is_weak: others disturbed it, or may have.
    """

    configuration: str
    figures: dict[str, float | None]
    marks: tuple[str, ...]
    length_s: float | None
    is_weak: bool


def _signature(path: Path) -> list[int] | None:
    """Return what changes when a file is written; None where it is not there, or has a journal beside it."""
    name = os.fspath(path)
    with suppress(OSError):
        found = os.stat(name)  # noqa: PTH116 - thousands of Paths would cost more than what they are asked
        if not os.path.lexists(name + "-wal"):
            return [found.st_mtime_ns, found.st_size, found.st_ino]
    return None


@dataclass(slots=True)
class KnownRuns:
    """The entries of one campaign folder. Whatever goes wrong with them costs time and nothing else.

    Attributes:
        path: of the cache; None where this user has none.
        format: of entries that this program reads.
        entries: as kept, by name of the run file.
    """

    path: Path | None
    format: int
    entries: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return what is known of a folder; nothing where the cache is another version's."""
        known = cls.without_entries(folder)
        with suppress(OSError, ValueError):
            lines = known.path.read_text(encoding="utf-8").splitlines() if known.path is not None else []
            for line in lines:
                with suppress(ValueError, TypeError, KeyError):  # a line that a power cut left
                    entry = json.loads(line)
                    if entry["format"] == known.format:
                        known.entries[entry["name"]] = entry
        return known

    @classmethod
    def without_entries(cls, folder: Path) -> Self:
        """Return the cache of a folder without reading it, for who only keeps something."""
        index = index_path(folder)
        return cls(None if index is None else index.with_suffix(_SUFFIX), index_format())

    def find(self, path: Path) -> DoneRun | None:
        """Return what is known of a run file as it is now."""
        entry = self.entries.get(path.name)
        if entry is None or (signature := _signature(path)) is None or entry.get("signature") != signature:
            return None
        try:
            return DoneRun(**{**entry["run"], "marks": tuple(entry["run"]["marks"])})
        except (TypeError, KeyError):
            return None

    def keep(self, path: Path, run: DoneRun) -> None:
        """Keep what was read of a run file."""
        signature = _signature(path)
        if self.path is None or signature is None:
            return
        entry = {"format": self.format, "name": path.name, "signature": signature, "run": asdict(run)}
        with suppress(OSError, ValueError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
