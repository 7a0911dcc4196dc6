"""What is known of the changes of one tree: kept in a folder, so that a run goes on where another ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.mutations.changes import Change

Name = tuple[str, str, str]


class Outcome(NamedTuple):
    """What came of a change.

    Attributes:
        kind: found (a test failed), hangs, dies (the process did), survived, not executed (by no test here).
        test: the test that failed or ran then.
    """

    kind: str
    test: str


@dataclass(frozen=True, slots=True)
class Tests:
    """Which tests execute which lines.

    Attributes:
        seconds: how long each took, of those that passed without a change.
        bad: those that did not.
        lines: of each file the tests of each line.
    """

    seconds: dict[str, float]
    bad: list[str]
    lines: dict[str, dict[int, list[str]]]

    def of(self, file: str, lines: tuple[int, int]) -> list[str]:
        """Return the tests that execute any of these lines, the shortest first."""
        names = {
            name
            for line, names in self.lines.get(file, {}).items()
            if lines[0] <= line <= lines[1]
            for name in names
        }
        return sorted(names, key=lambda name: (self.seconds[name], name))


class State:
    """The folder of one tree."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._tests, self._outcomes = folder / "tests.json", folder / "outcomes.jsonl"

    @property
    def tests(self) -> Tests | None:
        """What was learned of the tests; None before."""
        if not self._tests.exists():
            return None
        seconds, bad, lines = json.loads(self._tests.read_text(encoding="utf-8"))
        return Tests(
            seconds, bad,
            {file: {int(line): names for line, names in found.items()} for file, found in lines.items()},
        )  # fmt: skip

    @tests.setter
    def tests(self, tests: Tests) -> None:
        text = json.dumps([tests.seconds, tests.bad, tests.lines])
        new = self._tests.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self._tests)

    @property
    def outcomes(self) -> dict[Name, Outcome]:
        """What came of each change that was tried, by its name."""
        return _read(self._outcomes) if self._outcomes.exists() else {}

    def finders(self) -> dict[Name, str]:
        """Return which test found a change in the trees that were tried before this one, the last of them."""
        files = self._outcomes.parent.parent.glob(f"*/{self._outcomes.name}")
        return {
            name: outcome.test
            for file in sorted(files, key=lambda path: path.stat().st_mtime)
            for name, outcome in _read(file).items()
            if outcome.kind in {"found", "dies"}
        }

    def add(self, change: Change, outcome: Outcome) -> None:
        """Remember what came of a change."""
        with self._outcomes.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*change.name, *outcome]) + "\n")


def _read(path: Path) -> dict[Name, Outcome]:
    found: dict[Name, Outcome] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        file, function, what, kind, test = json.loads(line)
        found[file, function, what] = Outcome(kind, test)
    return found
