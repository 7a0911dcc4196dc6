"""Figures of the code: lines by room, imports, what root executes. ``python -m tests.house`` prints them."""

from __future__ import annotations

import ast
import gc
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[1]
TOPS: Final = ("app", "ui")
BUDGETS: Final = PROJECT / "tests" / "budgets.toml"
SERVICE: Final = "app.helper.__main__"
IDIOLECT: Final = ("told", "nobody", "somebody", "whoever", "anew")
"""Words that the models of this code never use in a docstring, see `idiolect`."""
ROOT_EXECUTES: Final = (
    "app.dbus",
    "app.domain",
    "app.domain.formats",
    "app.domain.messages",
    "app.domain.options",
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


@cache
def source_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, kept for who asks again."""
    return _parsed(path)


def _parsed(path: Path) -> ast.Module:
    gc.disable()  # which else looks at every node that is there, again and again
    try:
        return ast.parse(source_of(path))
    finally:
        gc.enable()


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement, also inside others; `ast.walk` takes ten times as long for all the nodes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                waiting += inner


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
def said_in(path: Path) -> tuple[ast.Call, ...]:
    """Return the calls of `tr` and `trn` in a file."""
    if not re.search(r"\btrn?\(", source_of(path)):
        return ()
    calls = (each for each in ast.walk(tree_of(path)) if isinstance(each, ast.Call))
    return tuple(each for each in calls if getattr(each.func, "id", "") in {"tr", "trn"})


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the modules of app and ui that a module imports, also inside functions."""
    found = set()
    for node in statements(tree_of(modules()[name])):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                found.add(inner if inner in modules() else node.module)
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return frozenset(found & modules().keys() - {name})


def closure(first: str) -> frozenset[str]:
    """Return every module that is imported with `first`, including the packages above each."""
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


def packages_of(names: Iterable[str]) -> frozenset[str]:
    """Return the packages that hold these modules; a package holds itself."""
    is_package = {name: path.name == "__init__.py" for name, path in modules().items()}
    return frozenset(name if is_package[name] else name.rpartition(".")[0] for name in names) - {"app"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much some files hold.

    Attributes:
        modules: files, without ``__init__.py``.
        code: lines without blank lines, comments and docstrings.
        physical: all lines.
        imports: lines of import statements.
    """

    modules: int = 0
    code: int = 0
    physical: int = 0
    imports: int = 0

    def __add__(self, other: Size) -> Size:
        """Return the sum."""
        return Size(
            modules=self.modules + other.modules,
            code=self.code + other.code,
            physical=self.physical + other.physical,
            imports=self.imports + other.imports,
        )


def lines_of_code(source: str, tree: ast.Module) -> int:
    """Return the lines of a source without blank lines, comments and docstrings."""
    lines = dict(enumerate(map(str.strip, source.splitlines()), 1))
    for node in statements(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number in _lines_of(node):
                lines.pop(number, None)
    found = {number for number, line in lines.items() if line and not line.startswith("#")}
    if any('"""' in line or line.endswith("\\") for line in lines.values()):
        for each in ast.walk(tree):  # lines of a text count, whatever they hold
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and "\n" in each.value:
                found |= lines.keys() & set(_lines_of(each))
    return len(found)


def _lines_of(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


@cache
def size_of(path: Path) -> Size:
    """Return the size of one file; of a shell script only its lines."""
    source = source_of(path)
    if path.suffix != ".py":
        code = sum(bool(line.strip()) and not line.strip().startswith("#") for line in source.splitlines())
        return Size(modules=1, code=code, physical=source.count("\n"))
    tree = tree_of(path) if path.relative_to(PROJECT).parts[0] in TOPS else _parsed(path)
    imports = [each for each in statements(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    return Size(
        modules=int(path.name != "__init__.py"),
        code=lines_of_code(source, tree),
        physical=source.count("\n"),
        imports=sum(len(_lines_of(each)) for each in imports),
    )


def total(paths: Iterable[Path]) -> Size:
    """Return the size of all these files together."""
    return sum(map(size_of, paths), start=Size())


def rooms() -> Mapping[str, Size]:
    """Return the size of each room.

    A room is a folder of app, ui, tests or tests/unit; the files directly in one of these four are rooms
    called ``app/*.py`` and so on. ``packaging`` is one room, with its shell scripts, and ``root`` is what
    the service of root executes, which lies in other rooms as well.
    """
    found: dict[str, Size] = {}
    for path in _files():
        room = _room_of(path.relative_to(PROJECT))
        found[room] = found.get(room, Size()) + size_of(path)
    found["root"] = total(modules()[name] for name in closure(SERVICE))
    return dict(sorted(found.items()))


def _files() -> Iterable[Path]:
    for top in (*TOPS, "tests", "packaging"):
        yield from (PROJECT / top).rglob("*.py")
    packaging = (
        path for path in (PROJECT / "packaging").rglob("*") if path.is_file() and path.suffix != ".py"
    )
    yield from (path for path in packaging if path.suffix == ".sh" or path.read_bytes()[:2] == b"#!")


def _room_of(path: Path) -> str:
    parts = path.parts
    if parts[0] == "packaging":
        return "packaging"
    depth = 3 if parts[:2] == ("tests", "unit") else 2
    return "/".join(parts[:depth]) if len(parts) > depth else f"{'/'.join(parts[:-1])}/*.py"


def budgets() -> Mapping[str, int]:
    """Return how many lines of code each room may have: ``tests/budgets.toml``."""
    read = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
    return {str(room): int(lines) for room, lines in read.items()}


def idiolect() -> float:
    """Return how often a word of `IDIOLECT` is in the docstrings of app and ui, per 10,000 words."""
    words: list[str] = []
    for path in modules().values():
        for node in statements(tree_of(path)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                words += re.findall(r"[a-z]+", str(node.value.value).lower())
    return 10_000 * sum(map(words.count, IDIOLECT)) / len(words)


def words_of_a_test() -> float:
    """Return the mean number of words in the name of a test, without ``test``."""
    names: list[str] = []
    for path in (PROJECT / "tests").rglob("test_*.py"):
        source = source_of(path)
        names += re.findall(r"^ *def test_(\w+)\(", source, re.MULTILINE)
    return sum(name.count("_") + 1 for name in names) / len(names)


def report() -> str:
    """Return all figures as text."""
    sizes = rooms()
    allowed = budgets()
    rows = [f"{'room':<24}{'modules':>9}{'code':>9}{'budget':>9}{'lines':>9}{'imports':>9}"]

    def add(name: str, size: Size, budget: int | None = None) -> None:
        share = size.imports / size.code if size.code else 0
        limit = "" if budget is None else f"{budget:,}"
        rows.append(f"{name:<24}{size.modules:>9}{size.code:>9,}{limit:>9}{size.physical:>9,}{share:>9.1%}")

    for room, size in sizes.items():
        add(room, size, allowed.get(room))
    for name, tops in (("app + ui", TOPS), ("tests", ("tests",))):
        sums = (size for room, size in sizes.items() if room.partition("/")[0] in tops)
        add(name, sum(sums, start=Size()))
    service = closure(SERVICE)
    for package in sorted(packages_of(service)):
        inside = (modules()[name] for name in service if packages_of((name,)) == {package})
        add(f"root: {package}", total(inside))
    rows.append(f"words of {', '.join(IDIOLECT)} per 10,000 words of docstrings: {idiolect():.1f}")
    rows.append(f"mean words in the name of a test: {words_of_a_test():.1f}")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(f"{report()}\n")
