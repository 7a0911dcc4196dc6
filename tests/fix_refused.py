"""The table of refused disks - kind, rule, evidence - from every layer: printed at the end and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

PROPERTY = "refused"
"""Name under which tests record a row: layer, kind of disk, rule, evidence, separated by tabs."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = {
        tuple(str(value).split("\t"))
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY and report.when == "call"
    }
    if not rows:
        return
    terminalreporter.section("refused disks: layer, kind, rule, evidence")
    for row in sorted(rows):
        terminalreporter.write_line("  ".join((f"{row[0]:7}", f"{row[1]:46}", f"{row[2]:5}", *row[3:])))
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    if cache is not None:
        file = Path(cache.mkdir("refused")) / "table.tsv"
        file.write_text("".join("\t".join(row) + "\n" for row in sorted(rows)))
        terminalreporter.write_line(f"This table is kept in {file}")
