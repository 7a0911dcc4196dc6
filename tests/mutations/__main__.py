"""Takes out every check of what runs as root, one after the other, and tells which no test misses.

    python -m tests.mutations --cache FOLDER --scratch FOLDER [--minutes MINUTES] [FILE...]

``packaging/test --mutations[=MINUTES]`` starts it. It works in a copy of the project below SCRATCH; what is
known of this very tree is kept below CACHE, and the next call goes on where one ended, also where tests were
added or changed meanwhile (`tests.mutations.state`). FILES (of app/) limit it to these. Tried are the tests
of `unit` and `bus` that execute the check. Where it runs as root, no disk of the machine is within reach of
code that lacks a check (``without-disks``); tests of `disks` and `machine`, which need some, are not tried at
all. Status 1: a survivor that ``known.toml`` does not explain, or an explanation of a change that is not
there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.mutations.changes import Change
from tests.mutations.files import changes_in_order, tried_files
from tests.mutations.known import Known, read_known
from tests.mutations.state import Outcome, State

PROJECT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ("tests/unit/helper", "tests/unit/storage", "tests/bus")
IGNORED: Final = shutil.ignore_patterns(".git", "__pycache__", ".*_cache")
MEASURING: Final = """
import os
if "MUTATIONS_TEST" in os.environ:
    import atexit, coverage
    measured = coverage.Coverage(
        data_file=os.environ["MUTATIONS_DATA"], data_suffix=True, context=os.environ["MUTATIONS_TEST"],
        config_file=False, include=[os.environ["MUTATIONS_SOURCE"]],
    )
    measured.set_option("run:sigterm", True)
    measured.start()
    atexit.register(lambda: (measured.stop(), measured.save()))
"""


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    until = time.monotonic() + options.minutes * 60
    os.nice(10)
    files = [str(Path(file).resolve().relative_to(PROJECT)) for file in options.files] or tried_files(PROJECT)
    folder = options.cache.resolve() / _digest()[:16]
    status = _try_changes(options.scratch.resolve(), folder, files, until)
    return status or _print_report(files, State(folder, PROJECT, TESTS))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutations")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("files", nargs="*")
    return parser.parse_args(arguments)


def _digest() -> str:
    """Of all code and of what tests use, but not of modules with tests and of what is known of survivors."""
    digest = hashlib.sha256()
    for folder in ("app", "tests", "packaging"):
        for path in sorted((PROJECT / folder).rglob("*")):
            is_test = folder == "tests" and path.name.startswith("test_")
            if path.is_file() and path.suffix not in {".pyc", ".toml"} and not is_test:
                digest.update(
                    f"{path.relative_to(PROJECT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest()
                )
    return digest.hexdigest()


def _try_changes(scratch: Path, folder: Path, files: Sequence[str], until: float) -> int:
    """Try what is not known yet in a copy of the project; return 0, or 1 where that cannot be done."""
    tree = scratch / "tree"
    shutil.copytree(PROJECT, tree, symlinks=True, ignore=IGNORED)
    site = scratch / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(MEASURING, encoding="utf-8")
    (scratch / "t").mkdir()
    environment = {
        "TMPDIR": str(scratch / "t"),
        "PYTHONPATH": f"{site}:{tree}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MUTATIONS_SOURCE": str(tree / "app/*"),
    }
    command = [
        sys.executable, "-m", "pytest", "-p", "tests.mutations.trial", "-p", "no:randomly",
        "-p", "no:cacheprovider",
        "--quiet", "--no-header", "-s", f"--basetemp={scratch / 'b'}", f"--mutations-state={folder}",
        f"--mutations-until={until}", f"--mutations-files={','.join(files)}", *TESTS,
    ]  # fmt: skip
    if os.geteuid() == 0:
        command = [str(tree / "tests/mutations/without-disks"), *command]
    return subprocess.run(command, cwd=tree, env={**os.environ, **environment}, check=False).returncode


# --- what came of it


def _print_report(files: Sequence[str], state: State) -> int:
    """Print what came of the changes; return the status."""
    changes = changes_in_order(PROJECT, files)
    outcomes, known = state.outcomes, read_known()
    kinds = Counter(
        outcomes[change.name].kind if change.name in outcomes else "not tried" for change in changes
    )
    _print_lines(
        f"{len(changes)} checks: " + ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    )
    for kind, said in (
        ("not executed", "Executed by no test of unit and bus (disks and machine are not tried)"),
        ("not tried", "Not tried: there was no time left"),
    ):
        of_kind = [change for change in changes if _kind(outcomes, change) == kind]
        _print(said, (f"{file}: {number}" for file, number in Counter(each.file for each in of_kind).items()))
    _print("Tests that fail without any change and were not tried", state.tests.bad)
    survivors = [change for change in changes if _kind(outcomes, change) == "survived"]
    _print("Explained in known.toml, but found now", _found_now(changes, outcomes, known))
    _print("Survivors that are explained", _lines([each for each in survivors if each.name in known], known))
    unexplained = [each for each in survivors if each.name not in known]
    _print("SURVIVORS WITHOUT AN EXPLANATION", _lines(unexplained, known))
    there = {change.name for change in changes}
    stale = [f"{': '.join(name)}" for name in known if name[0] in files and name not in there]
    _print("EXPLAINED IN known.toml, BUT NO SUCH CHECK IS THERE", stale)
    return 1 if unexplained or stale else 0


def _kind(outcomes: dict[tuple[str, str, str], Outcome], change: Change) -> str:
    return outcomes[change.name].kind if change.name in outcomes else "not tried"


def _lines(changes: Sequence[Change], known: Known) -> Iterator[str]:
    for change in changes:
        reason = f"\n      {known[change.name]}" if change.name in known else ""
        yield f"{change.file}:{change.lines[0]}: {change.function}: {change.what}{reason}"


def _found_now(
    changes: Sequence[Change], outcomes: dict[tuple[str, str, str], Outcome], known: Known
) -> Iterator[str]:
    for change in changes:
        outcome = outcomes.get(change.name)
        if outcome and change.name in known and outcome.kind not in {"survived", "not executed"}:
            yield f"{change.file}:{change.lines[0]}: {change.what}: {outcome.kind} by {outcome.test}"


def _print(heading: str, lines: Iterator[str] | Sequence[str]) -> None:
    texts = list(lines)
    if texts:
        _print_lines(f"\n{heading} ({len(texts)}):", *(f"  {line}" for line in texts))


def _print_lines(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
