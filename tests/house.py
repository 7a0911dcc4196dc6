"""Figures about the house: folders, importers, names, lines. ``python -m tests.house`` prints them."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[1]
TOPS: Final = ("app", "ui")
MOST_MODULES: Final = 17
"""In one folder; declarations apart."""
DECLARATIONS: Final = ("app/domain/filesystems", "app/probes/sources")
"""Folders in which every file is one of a kind."""
DECLARED_OPTIONS: Final = ("app.domain.filesystems", "app.domain.options")
"""Packages of data: what filesystems and their options are."""


@cache
def source_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file parsed."""
    return ast.parse(source_of(path))


@cache
def modules() -> Mapping[str, Path]:
    """Return every module of app and ui by its dotted name."""
    found = {}
    for top in TOPS:
        for path in sorted((PROJECT / top).rglob("*.py")):
            name = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the modules of app and ui that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(tree_of(modules()[name])):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                found.add(inner if inner in modules() else node.module)
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return frozenset(found & modules().keys() - {name})


def closure(first: str) -> frozenset[str]:
    """Return every module that is imported with one, packages on the way included."""
    seen: set[str] = set()
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += imports_of(name)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return frozenset(seen)


ROOT_EXECUTES: Final = (
    "app.dbus",
    "app.domain",
    "app.domain.filesystems",
    "app.domain.messages",
    "app.domain.options",
    "app.domain.quoting",
    "app.domain.storage_plan",
    "app.helper",
    "app.helper.base",
    "app.helper.session",
    "app.helper.storage",
    "app.storage",
    "app.storage.checks",
    "app.storage.inspect",
    "app.storage.layout",
    "app.storage.spare",
    "app.storage.system",
    "app.storage.wiping",
)
"""Every package of which root's service imports a module."""


def packages_of(names: Iterable[str]) -> frozenset[str]:
    """Return the packages in which modules lie; a package is its own."""
    is_package = {name: path.name == "__init__.py" for name, path in modules().items()}
    return frozenset(name if is_package[name] else name.rpartition(".")[0] for name in names) - {"app"}


def folders() -> Mapping[str, int]:
    """Return how many modules each folder holds, without ``__init__``."""
    return Counter(
        str(path.parent.relative_to(PROJECT)) for path in modules().values() if path.name != "__init__.py"
    )


def single_importers() -> tuple[int, int]:
    """Return how many modules are imported by exactly one other, and how many there are."""
    importers = Counter(target for name in modules() for target in imports_of(name))
    real = [name for name, path in modules().items() if path.name != "__init__.py"]
    return sum(importers[name] == 1 for name in real), len(real)


def repeated_class_names(top: str = "app") -> Mapping[str, Sequence[str]]:
    """Return public classes of one name that several modules have, with the modules."""
    found = defaultdict(list)
    for name, path in modules().items():
        if name.partition(".")[0] == top:
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(name)
    return {name: places for name, places in found.items() if len(places) > 1}


def lines_of_code(source: str) -> int:
    """Return the lines of a source without blank lines, comments and docstrings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in {*blank, tokenize.ENDMARKER}:
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - texts)


def lines(names: Iterable[str]) -> tuple[int, int]:
    """Return the lines of code of modules, and all their lines."""
    sources = [source_of(modules()[name]) for name in names]
    return sum(map(lines_of_code, sources)), sum(source.count("\n") for source in sources)


def report() -> str:
    """Return all figures as text."""
    told = []
    for top in TOPS:
        code, every = lines(name for name in modules() if name.partition(".")[0] == top)
        told.append(f"{top}: {code:,} lines of code ({every:,} in all)")
    service = closure("app.helper.__main__")
    for room in sorted(packages_of(service)):
        inside = [name for name in service if packages_of((name,)) == {room}]
        code, every = lines(inside)
        told.append(f"  root executes of {room}: {len(inside)} modules, {code:,} lines of code ({every:,})")
    code, every = lines(service)
    told.append(f"root executes {len(service)} modules: {code:,} lines of code ({every:,} in all)")
    code, every = lines(name for name in service if not name.startswith(DECLARED_OPTIONS))
    told.append(f"  without filesystems and options as declared: {code:,} lines of code ({every:,})")
    one, whole = single_importers()
    told.append(f"modules with a single importer: {one} of {whole} ({100 * one / whole:.0f} %)")
    told.append(f"public class names used twice in app: {len(repeated_class_names())}")
    told.append("folders with the most modules:")
    for folder, count in sorted(folders().items(), key=lambda each: -each[1])[:8]:
        told.append(f"  {count} {folder}")
    return "\n".join(told)


if __name__ == "__main__":
    sys.stdout.write(f"{report()}\n")
