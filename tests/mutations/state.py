"""What is known of the changes of one tree: kept in a folder, so that a run goes on where another ended."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutations.changes import Change

Name = tuple[str, str, str]
_IMPORTED: Final = re.compile(rb"^from (tests[.\w]*\.test_\w+) import", re.MULTILINE)


class Outcome(NamedTuple):
    """What came of a change.

    Attributes:
        kind: found (a test failed), hangs, dies (the process did), survived, not executed (by no test here).
        test: the test that failed or ran then.
    """

    kind: str
    test: str

    @property
    def module(self) -> str:
        """File of the test; empty where there is none."""
        return self.test.partition("::")[0]


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
    """The folder of one tree: its code, and all of its tests but the modules that hold them.

    What a test found stays known while its module is as it was then; that none found a change, while all are.
    """

    def __init__(self, folder: Path, root: Path, tests: Sequence[str]) -> None:
        """Use a folder for the tree below `root`, with the modules of tests in or below these paths."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._outcomes = folder, folder / "outcomes.jsonl"
        self._digests = {
            str(path.relative_to(root)): _digest(root, path) for path in test_modules(root, tests)
        }
        self._all = hashlib.sha256("".join(sorted(self._digests.values())).encode()).hexdigest()

    def learned(self, module: str) -> Tests | None:
        """Return what was learned of the tests of a module as it is now; None before."""
        path = self._folder / f"{self._digests[module]}.json"
        if not path.exists():
            return None
        seconds, bad, lines = json.loads(path.read_text(encoding="utf-8"))
        return Tests(
            seconds, bad,
            {file: {int(line): names for line, names in found.items()} for file, found in lines.items()},
        )  # fmt: skip

    def learn(self, module: str, tests: Tests) -> None:
        """Remember what was learned of the tests of a module."""
        text = json.dumps([tests.seconds, tests.bad, tests.lines])
        new = self._folder / "new"
        new.write_text(text, encoding="utf-8")
        new.replace(self._folder / f"{self._digests[module]}.json")

    @property
    def tests(self) -> Tests:
        """What was learned of all tests as they are now."""
        every = Tests({}, [], {})
        for module in self._digests:
            if learned := self.learned(module):
                every.seconds.update(learned.seconds)
                every.bad.extend(learned.bad)
                for file, lines in learned.lines.items():
                    for line, names in lines.items():
                        every.lines.setdefault(file, {}).setdefault(line, []).extend(names)
        return every

    @property
    def outcomes(self) -> dict[Name, Outcome]:
        """What came of each change that was tried, by its name, as far as the tests are as they were."""
        if not self._outcomes.exists():
            return {}
        return {
            name: outcome
            for name, outcome, digest in _read(self._outcomes)
            if digest == self._digests.get(outcome.module, self._all)
        }

    def finders(self) -> dict[Name, str]:
        """Return which test found a change in the trees that were tried before this one, the last of them."""
        files = self._folder.parent.glob(f"*/{self._outcomes.name}")
        return {
            name: outcome.test
            for file in sorted(files, key=lambda path: path.stat().st_mtime)
            for name, outcome, _ in _read(file)
            if outcome.kind in {"found", "dies"}
        }

    def add(self, change: Change, outcome: Outcome) -> None:
        """Remember what came of a change."""
        digest = self._digests.get(outcome.module, self._all)
        with self._outcomes.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*change.name, *outcome, digest]) + "\n")


def test_modules(root: Path, tests: Sequence[str]) -> list[Path]:
    """Return the modules with tests in or below some paths of a tree."""
    return sorted(path for each in tests for path in (root / each).rglob("test_*.py"))


def _digest(root: Path, path: Path) -> str:
    """Of a module with tests, and of those that it imports something of."""
    content = path.read_bytes()
    used = [root / f"{name.decode().replace('.', '/')}.py" for name in _IMPORTED.findall(content)]
    return hashlib.sha256(
        b"".join((f"{path.relative_to(root)}\0".encode(), content, *(each.read_bytes() for each in used)))
    ).hexdigest()


def _read(path: Path) -> Iterator[tuple[Name, Outcome, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        file, function, what, kind, test, digest = json.loads(line)
        yield (file, function, what), Outcome(kind, test), digest
