"""What pip installs as `pgfooting`: the command, which starts the program's own tree below this folder.

The tree's packages are called `app` and `ui`, names too general for a folder that all of Python shares. So
they lie below this package, and only the processes of pgFooting have that folder on their search path, as in
its Debian package.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

TOP = Path(__file__).resolve().parent
"""The folder that holds `app`, `ui` and `resources`."""


def program_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` with the tree before everything else on Python's search path.

    Raises:
        SystemExit: no search path can name the folder.
    """
    top = str(TOP)
    if os.pathsep in top:
        sys.exit(
            f"pgfooting: {top} has a colon in its name, so Python cannot search it. Install it elsewhere."
        )
    others = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part and part != top]
    return {**environment, "PYTHONPATH": os.pathsep.join([top, *others])}


def main() -> NoReturn:
    """Become `python -m app` with the arguments of this process."""
    argv = [sys.executable, "-P", "-m", "app", *sys.argv[1:]]
    os.execve(sys.executable, argv, program_environment(os.environ))  # noqa: S606
