"""Which checks a module has, and its text without one of them.

A change never moves a line and evaluates whatever was evaluated before, but ignores what came of it: so it is
told by its line, has the same free variables, and stands for "nobody looks at this" and for nothing else.

Beside checks three more things are changed: the *value* of a constant that is a number is halved where it is
used (how long something is kept, how much of a disk is looked at; not how long somebody is waited for), the
*bound* of a comparison is moved by one, the *order* of two steps that follow each other is turned round.

What only words for a person depend on is no check: whatever is put into a sentence of tr() or say(), which
sentence of several is said, what an f-string says where a value is missing, what a line of the log says. Nor
is the empty text, list or the like that a missing value counts as: ignored, it is what it was.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from typing_extensions import override

NEVER: Final = "never"
ALWAYS: Final = "always"
_VALUE_OF: Final = {NEVER: "({} and False)", ALWAYS: "({} or True)"}
_STRICTNESS: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_CONSTANT: Final = re.compile(r"_?[A-Z][A-Z0-9_]*")
_PATIENCE: Final = re.compile(r"(?!_?KEPT).*_S|_?AGAIN.*")
"""Constants that say how long somebody is waited for: half of it is as right."""
_HARMLESS_FLAGS: Final = {"O_RDONLY", "O_CLOEXEC"}
"""The one is 0; the other Python sets by itself."""
_SENTENCES: Final = {"tr", "say", "joined", "without_full_stop"}


@dataclass(frozen=True, slots=True)
class Change:
    """One check that is taken out.

    Attributes:
        file: below the project's folder.
        function: its qualified name in there.
        what: what was done, with the text of the check; different for each change of a function.
        lines: first and last line of the statement's text that is changed.
        start: where the text that is replaced begins, in bytes of the file.
        end: where it ends.
        replacement: what stands there instead.
    """

    file: str
    function: str
    what: str
    lines: tuple[int, int]
    start: int
    end: int
    replacement: str

    @property
    def name(self) -> tuple[str, str, str]:
        """What stays the same when other lines of the file change."""
        return self.file, self.function, self.what

    def apply(self, source: bytes) -> bytes:
        """Return the text of the file with this change."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]


def functions_that_refuse(sources: Iterable[bytes]) -> frozenset[str]:
    """Return the names of functions that raise an error by themselves or are documented to."""
    return frozenset(
        node.name
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and (
            "Raises:" in (ast.get_docstring(node) or "")
            or any(isinstance(e, ast.Raise) for e in ast.walk(node))
        )
    )


def changes_of(file: str, source: bytes, refusing: frozenset[str]) -> list[Change]:
    """Return every change of a file, in the order of its text.

    Args:
        file: its path below the project's folder.
        source: its text.
        refusing: functions whose calls are checks where nothing is done with their answer.
    """
    finder = _Finder(file, source, refusing)
    finder.visit(ast.parse(source))
    return sorted(_without_duplicates(finder.found), key=lambda change: (change.start, change.what))


def _without_duplicates(changes: list[Change]) -> Iterator[Change]:
    seen: Counter[tuple[str, str, str]] = Counter()
    for change in changes:
        seen[change.name] += 1
        number = seen[change.name]
        what = change.what if number == 1 else f"{change.what} ({number})"
        yield Change(
            change.file, change.function, what, change.lines, change.start, change.end, change.replacement
        )


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes, refusing: frozenset[str]) -> None:
        self.found: list[Change] = []
        self._file, self._source, self._refusing = file, source, refusing
        self._names: list[str] = []
        self._numbers = _numeric_constants(ast.parse(source))
        self._functions = self._texts = 0
        self._done: set[ast.stmt] = set()
        lengths = [len(line) for line in source.splitlines(keepends=True)]
        self._starts = [sum(lengths[:number]) for number in range(len(lengths) + 1)]

    # --- where it is

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        self.generic_visit(node)
        self._names.pop()

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if _gives_words(node):
            return
        self._names.append(node.name)
        self._functions += 1
        self._turned_round(node.body)
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1
        self._names.pop()

    # --- values, bounds and order

    @override
    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self._numbers:
            self._replace(node, f"half of: {node.id}", "({} // 2)")

    @override
    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1 and (other := _STRICTNESS.get(type(node.ops[0]))) and not _is_about_time(node):
            left, right = self._text(node.left), self._text(node.comparators[0])
            lost = self._text(node).count("\n") - f"{left}{right}".count("\n")
            text = f"(({left}) {other} ({right})" + "\n" * lost + ")"
            self._add(node, f"bound: {_text(node)}", text)
        self.generic_visit(node)

    def _turned_round(self, body: list[ast.stmt]) -> None:
        for first, second in pairwise(body):
            if _is_effect(first) and _is_effect(second):
                between = self._source[self._place(first)[1] : self._place(second)[0]].decode()
                whole = ast.copy_location(ast.Pass(), first)
                whole.end_lineno, whole.end_col_offset = second.end_lineno, second.end_col_offset
                what = f"order: {_text(second)} before: {_text(first)}"
                self._add(whole, what, f"{self._text(second)}{between}{self._text(first)}")

    @override
    def visit_For(self, node: ast.For) -> None:
        self._turned_round(node.body)
        self.generic_visit(node)

    @override
    def visit_With(self, node: ast.With) -> None:
        self._turned_round(node.body)
        self.generic_visit(node)

    # --- what decides

    @override
    def visit_If(self, node: ast.If) -> None:
        self._decided(node.test, "if")
        self._turned_round(node.body)
        self._turned_round(node.orelse)
        if not node.orelse:  # the condition that never holds is the same as the error that is not raised
            self._done |= {statement for statement in node.body[:1] if isinstance(statement, ast.Raise)}
        self.generic_visit(node)

    @override
    def visit_IfExp(self, node: ast.IfExp) -> None:
        if not self._are_words(node.body, node.orelse):
            self._decided(node.test, "if")
        self.generic_visit(node)

    @override
    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._decided(test, "if")
        self.generic_visit(node)

    @override
    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and self._is_decision(node.value):
            self._decided(node.value, "return")
        self.generic_visit(node)

    @override
    def visit_Assign(self, node: ast.Assign) -> None:
        if self._is_decision(node.value):
            self._decided(node.value, f"{ast.unparse(node.targets[0])} =")
        self.generic_visit(node)

    @override
    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        joined, value = ("and", ALWAYS) if isinstance(node.op, ast.And) else ("or", NEVER)
        parts = node.values[:-1] if _is_empty(node.values[-1]) else node.values
        for part in parts if not self._are_words(node.values[-1]) else ():
            self._replace(part, f"{joined} without: {_text(part)}", _VALUE_OF[value])
        self.generic_visit(node)

    @override
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._texts += 1
        self.generic_visit(node)
        self._texts -= 1

    @override
    def visit_Call(self, node: ast.Call) -> None:
        if not _is_sentence(node) and not _is_logging(node):
            self.generic_visit(node)

    def _are_words(self, *nodes: ast.expr) -> bool:
        """Whether one of these is nothing but words for a person."""
        return any(
            _is_sentence(each) or (self._texts > 0 and isinstance(each, ast.Constant)) for each in nodes
        )

    def _is_decision(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BoolOp):
            return not (_is_empty(node.values[-1]) or self._are_words(node.values[-1]))
        return isinstance(node, ast.Compare) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ) or (isinstance(node, ast.Call) and _name_of(node.func) in {"any", "all"})  # fmt: skip

    def _decided(self, test: ast.expr, by: str) -> None:
        for value, form in _VALUE_OF.items():
            self._replace(test, f"{by} {value}: {_text(test)}", form)

    # --- what refuses

    @override
    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None and node not in self._done:
            lost = self._text(node).count("\n") - self._text(node.exc).count("\n")
            text = f"({self._text(node.exc)})" + "\n" * lost
            self._add(node, f"not raised: {_text(node.exc)}", text)
        self.generic_visit(node)

    @override
    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call) and _name_of(call.func) in self._refusing:
            self._replace(call, f"not called: {_text(call)}", "(True or {})")
        self.generic_visit(node)

    @override
    def visit_BinOp(self, node: ast.BinOp) -> None:
        for part in (node.left, node.right):
            name = _name_of(part)
            if isinstance(node.op, ast.BitOr) and name.startswith("O_") and name not in _HARMLESS_FLAGS:
                self._replace(part, f"without flag: {name}", "(0 and {})")
        self.generic_visit(node)

    # --- the text

    def _replace(self, node: ast.expr, what: str, form: str) -> None:
        self._add(node, what, form.format(f"({self._text(node)})"))

    def _add(self, node: ast.expr | ast.stmt, what: str, text: str) -> None:
        if self._functions:
            start, end = self._place(node)
            lines = (node.lineno, node.end_lineno or node.lineno)
            self.found.append(Change(self._file, ".".join(self._names), what, lines, start, end, text))

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._place(node)
        return self._source[start:end].decode()

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset


def _numeric_constants(module: ast.Module) -> frozenset[str]:
    """Return the constants of a module that are numbers, those that only say how long is waited left out."""
    found = set()
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            parts = [part for part in ast.walk(node.value) if isinstance(part, ast.expr)]
            is_number = all(
                isinstance(part, ast.BinOp | ast.Name)
                or (isinstance(part, ast.Constant) and type(part.value) in {int, float})
                for part in parts
            )
            name = node.target.id
            if is_number and _CONSTANT.fullmatch(name) and not _PATIENCE.fullmatch(name):
                found.add(name)
    return frozenset(found)


def _is_about_time(node: ast.Compare) -> bool:
    """Whether it asks for how long something lasts."""
    names = {_name_of(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)}
    return any(name == "monotonic" or name.endswith("_s") or _PATIENCE.fullmatch(name) for name in names)


def _is_effect(node: ast.stmt) -> bool:
    """Whether a statement does something and gives nothing a name: a call, or a loop of such."""
    if isinstance(node, ast.For):
        return all(_is_effect(each) for each in node.body) and not node.orelse
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not _is_logging(node.value)


def _is_empty(node: ast.expr) -> bool:
    """Whether it is a constant that is false in a condition, but no False."""
    if isinstance(node, ast.Constant):
        return not node.value and node.value is not False
    return (isinstance(node, ast.List | ast.Tuple) and not node.elts) or (
        isinstance(node, ast.Dict) and not node.keys
    )


def _is_sentence(node: ast.expr | None) -> bool:
    """Whether it is ``tr("...")`` or ``tr("...").format(...)``, or a message of root's."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _is_sentence(node.func.value)
    return _name_of(node.func) in _SENTENCES


def _is_logging(node: ast.Call) -> bool:
    """Whether it is ``audit.note(...)`` or ``_log.error(...)`` and the like."""
    return isinstance(node.func, ast.Attribute) and _name_of(node.func.value) in {"audit", "_log"}


def _gives_words(function: ast.FunctionDef) -> bool:
    """Whether a function does nothing but choose a sentence."""
    parts = list(ast.walk(function))
    answers = [part for part in parts if isinstance(part, ast.Return)]
    return (
        bool(answers)
        and all(_is_sentence(answer.value) for answer in answers)
        and not any(isinstance(part, ast.Raise | ast.Expr) for part in function.body[1:])
    )


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr | ast.stmt) -> str:
    return " ".join(ast.unparse(node).split())
