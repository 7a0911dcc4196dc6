"""Print ``passed failed skipped`` of a JUnit file that pytest wrote, then each test that failed in a line.

Usage: ``tally.py FILE``. A file that is missing or torn (the interpreter died) prints ``0 1 0``: something
failed that nobody counted. xfail counts as skipped, as pytest writes it.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

_LONGEST: Final = 200
"""Characters of a name."""


def tally(path: Path) -> tuple[int, int, int, tuple[str, ...]]:
    """Return passed, failed (with errors) and skipped tests, and the names of the failed ones.

    A file that cannot be read is one failure.
    """
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - our own pytest wrote it a moment ago
    except (OSError, ET.ParseError):
        return 0, 1, 0, ()
    passed = failed = skipped = 0
    for suite in root.iter("testsuite"):
        tests, errors, failures, skips = (
            int(suite.get(key, "0")) for key in ("tests", "errors", "failures", "skipped")
        )
        failed += errors + failures
        skipped += skips
        passed += max(0, tests - errors - failures - skips)
    red = (
        each
        for each in root.iter("testcase")
        if each.find("failure") is not None or each.find("error") is not None
    )
    names = (f"{each.get('classname')}::{each.get('name')}" for each in red)
    return passed, failed, skipped, tuple(" ".join(name.split())[:_LONGEST] for name in dict.fromkeys(names))


if __name__ == "__main__":
    *numbers, red = tally(Path(sys.argv[1]))
    print(" ".join(map(str, numbers)), *red, sep="\n")
