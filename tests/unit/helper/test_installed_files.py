"""Root's own copy holds every module that the service imports, and of the user's side of D-Bus none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).parents[3]
WHOLE = ("app/helper/", "app/domain/", "app/storage/")
"""Packages that packaging/helper installs whole."""
ASKING_OTHERS = {"udisks.py", "login.py", "service_status.py", "helper_client.py", "connection.py"}
"""Of app/dbus: what asks UDisks2, logind, systemd or the service itself for the user."""


def imported_by(first: str) -> set[str]:
    """Return the files of app that a module imports, and what these import."""
    seen: set[str] = set()
    waiting = [first]
    while waiting:
        name = waiting.pop()
        place = PROJECT / name.replace(".", "/")
        path = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
        if not path.exists() or str(path.relative_to(PROJECT)) in seen:
            continue
        seen.add(str(path.relative_to(PROJECT)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("app"):
                waiting += [str(node.module), *(f"{node.module}.{each.name}" for each in node.names)]
    return seen


def test_exactly_what_the_service_imports_is_installed() -> None:
    script = (PROJECT / "packaging" / "helper").read_text(encoding="utf-8")
    names = re.search(r"app/dbus/\{([\w,]+)\}\.py", script)
    assert names is not None
    installed = {"app/__init__.py", *(f"app/dbus/{name}.py" for name in names[1].split(","))}
    needed = {path for path in imported_by("app.helper.__main__") if not path.startswith(WHOLE)}
    assert needed | {"app/dbus/__init__.py"} == installed
    assert not {path.rpartition("/")[2] for path in installed} & ASKING_OTHERS
