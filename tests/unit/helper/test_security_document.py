"""What packaging/SECURITY.md says of tests and of the amount of code is so."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house import SERVICE, closure, modules, packages_of, total

MOST_SLACK = 50
"""Lines of code by which the document may be wrong."""
PROJECT = Path(__file__).parents[3]
TEXT = (PROJECT / "packaging" / "SECURITY.md").read_text(encoding="utf-8")
_ROW = r"^\| `(app\.[\w.]+)` \| ([\d,]+) \| ([\d,]+) \|"
NAMED = frozenset(re.findall(r"`(test_\w+)`", TEXT))


def test_every_item_of_the_list_is_there() -> None:
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)] == list(range(1, 37))


def test_every_test_that_is_named_is_there() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (PROJECT / "tests").rglob("test_*.py")]
    there = {name for text in texts for name in re.findall(r"^ *def (test_\w+)\(", text, re.MULTILINE)}
    assert len(NAMED) > 200
    assert sorted(NAMED - there) == []


def test_amount_of_code() -> None:
    """What root imports, by package: a table of all of them, each at most 50 lines from the truth."""
    service = closure(SERVICE)
    sizes = {
        package: total(modules()[name] for name in service if packages_of((name,)) == {package})
        for package in packages_of(service)
    }
    said = {
        name: [int(lines.replace(",", "")) for lines in numbers]
        for name, *numbers in re.findall(_ROW, TEXT, re.MULTILINE)
    }
    assert said.keys() == sizes.keys()
    for name, size in sizes.items():
        for lines, found in zip(said[name], (size.code, size.physical), strict=True):
            assert abs(lines - found) <= MOST_SLACK, name
