"""What packaging/SECURITY.md says of tests and of the amount of code is so."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
TEXT = (PROJECT / "packaging" / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(test_\w+)`", TEXT)))
MOST_LINES = 2_500
"""Of code that only root executes in app/helper."""


def test_every_item_of_the_list_is_there() -> None:
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)] == list(range(1, 30))


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_is_there(name: str) -> None:
    files = (PROJECT / "tests").rglob("test_*.py")
    assert any(f"def {name}(" in file.read_text(encoding="utf-8") for file in files)


def lines_of_code(source: str) -> int:
    """Without blank lines, comments and docstrings."""
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


def test_the_helper_is_as_small_as_it_says() -> None:
    files = list((PROJECT / "app" / "helper").glob("*.py"))
    code = sum(lines_of_code(file.read_text(encoding="utf-8")) for file in files)
    said = re.search(r"`app/helper` ([\d,]+) \(([\d,]+)\)", TEXT)
    assert said is not None
    assert abs(code - int(said[1].replace(",", ""))) <= 100, f"write {code} into packaging/SECURITY.md"
    assert code <= MOST_LINES
