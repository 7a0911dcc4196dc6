"""Print ``passed failed skipped`` of a JUnit file that pytest wrote.

Usage: ``tally.py FILE``. A file that is missing or torn (the interpreter died) prints ``0 1 0``: something
failed that nobody counted. xfail counts as skipped, as pytest writes it.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def tally(path: Path) -> tuple[int, int, int]:
    """Return passed, failed (with errors) and skipped tests; one failure for a file that cannot be read."""
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - our own pytest wrote it a moment ago
    except (OSError, ET.ParseError):
        return 0, 1, 0
    passed = failed = skipped = 0
    for suite in root.iter("testsuite"):
        tests, errors, failures, skips = (
            int(suite.get(key, "0")) for key in ("tests", "errors", "failures", "skipped")
        )
        failed += errors + failures
        skipped += skips
        passed += max(0, tests - errors - failures - skips)
    return passed, failed, skipped


if __name__ == "__main__":
    print(*tally(Path(sys.argv[1])))
