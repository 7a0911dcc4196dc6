"""Counts in messages: what may be 1 has a singular of its own (`trn`), in every language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.house import modules, said_in

TOP: Final = Path(__file__).resolve().parents[2]
PLURAL_ONLY: Final = TOP / "tests" / "data" / "plural_only.txt"
"""Messages whose count is never 1, such as a bound; one a line. A new message is not added, it uses `trn`."""
NOUNS: Final = """
    batches branches campaigns cells characters clients columns combinations configurations connections cores
    cycles databases datasets days devices disks errors extents fields files folders hours items kernels
    letters levels lines measurements members messages minutes options others packages pages pairs partitions
    phases pieces places points pools problems processes programs repeats reports reservations rounds rows
    runs samples scripts seconds servers sessions settings steps tables threads times transactions values
    warnings words workers
"""
_VALUE: Final = r"\{\w+(?:![a-z])?(?::,|:\.0f|:,\.0f|:g)?\}"
COUNT: Final = re.compile(
    rf"{_VALUE} (?:(?:more|other|ticked|kernel|whole) )?(?:{'|'.join(NOUNS.split())})\b"
)


def messages(calls: Iterable[ast.Call]) -> Iterator[str]:
    """Yield the texts of calls that have one form for every count."""
    for call in calls:
        text = call.args[-1] if call.args and getattr(call.func, "id", "") == "tr" else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value


def call_of(source: str) -> ast.Call:
    (statement,) = ast.parse(source).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return statement.value


def test_counts_have_a_singular() -> None:
    assert COUNT.search(next(messages([call_of('tr("with {clients:.0f} clients it takes {seconds} s")')])))
    assert not list(messages([call_of('trn("{count} run", "{count} runs", 1)')]))
    known = set(PLURAL_ONLY.read_text(encoding="utf-8").splitlines())
    texts = {text for path in modules().values() for text in messages(said_in(path))}
    found = {repr(text) for text in texts if COUNT.search(text)}
    assert sorted(found - known) == []
    assert sorted(known - found) == [], "no message any more"
