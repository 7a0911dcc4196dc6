"""Print what an environment of tests holds at one end of the bounds of pyproject.toml, for pip.

Usage: ``bounds.py lowest|newest CHECKOUT PYTHON``. lowest: each library of the program in the lowest version
that pyproject.toml allows, and what runs tests as the list of packaging/lock for that Python (such as 3.11)
has it. newest: the bounds themselves, of which pip takes the newest of today.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # not there where Python is told to be safe (-P)

from requirements import requirements

PROGRAM = ("window",)
TOOLS = ("development", "servers")
"""Groups of pyproject.toml: of the program, and of its tests."""

LINT = ("import-linter", "mypy", "ruff")
"""Not run at the lower end, and import-linter needs a newer rich than that."""


def name_of(requirement: str) -> str:
    """Return the canonical name of a requirement, without extras and versions."""
    return re.split(r"[\[<>=!~;@ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def lowest(requirement: str) -> str:
    """Return `requirement` as its lowest version.

    Raises:
        ValueError: it has none.
    """
    match = re.fullmatch(r"(?P<name>[\w.\[\]-]+)>=(?P<version>[\d.]+)(,.*)?", requirement)
    if match is None:
        raise ValueError(f"“{requirement}” has no lowest version")
    return f"{match['name']}=={match['version']}"


def pins(lock: str) -> dict[str, str]:
    """Return the versions of a list of packaging/lock by canonical name."""
    found = re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)
    return {name_of(name): version for name, version in found}


def bounds(end: str, checkout: Path, python: str) -> list[str]:
    """Return the requirements at one end.

    Raises:
        ValueError: no such end, or a requirement without a lowest version.
    """
    pyproject = checkout / "pyproject.toml"
    if end == "newest":
        return requirements(pyproject, [*PROGRAM, *TOOLS])
    if end != "lowest":
        raise ValueError(f"no end of bounds: {end}")
    program = requirements(pyproject, [*PROGRAM])
    known = pins((checkout / "packaging" / "lock" / f"test-{python}.txt").read_text(encoding="utf-8"))
    tools = [name_of(each) for each in requirements(pyproject, [*TOOLS]) if each not in program]
    return [lowest(each) for each in program] + [
        f"{name}=={known[name]}" for name in dict.fromkeys(tools) if name not in LINT
    ]


if __name__ == "__main__":
    print("\n".join(bounds(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
