"""Print the requirements of pyproject.toml, one a line, for ``pip install --requirement``.

pip installs a project's dependencies only together with the project, whose wheel a checkout does not need;
``pip install --group`` exists from pip 25.1, Debian 12 has 23.0. So the lists are read here.

Usage: ``requirements.py PYPROJECT [OPTIONAL-GROUP...]``.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path, groups: list[str]) -> list[str]:
    """Return the base dependencies and those of the optional `groups`, in the order of the file.

    Raises:
        KeyError: pyproject.toml has no such group.
    """
    with pyproject.open("rb") as file:
        project = tomllib.load(file)["project"]
    chosen = list(project["dependencies"])
    for group in groups:
        chosen += project["optional-dependencies"][group]
    return chosen


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]), sys.argv[2:])))
