"""What packaging/SECURITY.md says of tests and of the amount of code is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house import lines_of_code

PROJECT = Path(__file__).parents[3]
TEXT = (PROJECT / "packaging" / "SECURITY.md").read_text(encoding="utf-8")
NAMED = frozenset(re.findall(r"`(test_\w+)`", TEXT))


def test_every_item_of_the_list_is_there() -> None:
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)] == list(range(1, 37))


def test_every_test_that_is_named_is_there() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (PROJECT / "tests").rglob("test_*.py")]
    there = {name for text in texts for name in re.findall(r"^ *def (test_\w+)\(", text, re.MULTILINE)}
    assert len(NAMED) > 200
    assert sorted(NAMED - there) == []


def installed(folder: str) -> list[Path]:
    """Return what root executes of a folder of app: all of it, of dbus the side of the service."""
    if folder != "dbus":
        return sorted((PROJECT / "app" / folder).rglob("*.py"))
    script = (PROJECT / "packaging" / "helper").read_text(encoding="utf-8")
    names = re.search(r"app/dbus/\{([\w,]+)\}", script)
    assert names is not None
    return [PROJECT / "app" / "dbus" / f"{name}.py" for name in names[1].split(",")]


@pytest.mark.parametrize("folder", ["helper", "dbus", "storage", "domain"])
def test_amount_of_code(folder: str) -> None:
    code = sum(lines_of_code(file.read_text(encoding="utf-8")) for file in installed(folder))
    said = re.search(rf"`app/{folder}`,? ([\d,]+) \(([\d,]+)\)", TEXT)
    assert said is not None
    assert abs(code - int(said[1].replace(",", ""))) <= 200, f"write {code} into packaging/SECURITY.md"
