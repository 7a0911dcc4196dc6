"""What loading took: the last line of ``pgbench --initialize``, and of several programs together. Pure.

The line names every step with its seconds, to the hundredth (pgbench.c of 13 to 19, runInitSteps; recorded in
tests/data/pgbench).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_DONE: Final = re.compile(r"^done in \d+\.\d\d s \((?P<steps>[^()]+)\)\.$", re.MULTILINE | re.ASCII)
_STEP: Final = re.compile(r"(?P<name>[a-z][a-z -]*) (?P<seconds>\d{1,9}\.\d\d) s", re.ASCII)
_ROWS: Final = ("client-side generate", "server-side generate")
_VACUUM: Final = "vacuum"
_INDEX: Final = "primary keys"


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Seconds of the steps that write data; None where nobody told one.

    Attributes:
        rows_s: of the rows of all tables.
        vacuum_s: of vacuuming and analysing them.
        index_s: of their primary keys.
    """

    rows_s: float | None = None
    vacuum_s: float | None = None
    index_s: float | None = None


def load_steps(stderr: str) -> dict[str, float]:
    """Return the seconds of each step by its name; nothing where pgbench told none.

    Args:
        stderr: of a ``pgbench --initialize`` that has ended well.
    """
    done = _DONE.search(stderr)
    found = [_STEP.fullmatch(part) for part in done["steps"].split(", ")] if done else []
    return {step["name"]: float(step["seconds"]) for step in found if step}


def load_times(programs: Iterable[tuple[str, float]]) -> LoadTimes:
    """Return what loading took.

    Args:
        programs: what each pgbench that loaded wrote on standard error, with the seconds that it ran; one
            that tells no steps executed a script that inserts rows.
    """
    steps: dict[str, float] = {}
    rows_s: float | None = None
    for stderr, seconds in programs:
        told = load_steps(stderr)
        steps |= told
        made = [told[name] for name in _ROWS if name in told] if told else [seconds]
        rows_s = sum(made, rows_s or 0.0) if made else rows_s
    return LoadTimes(rows_s, steps.get(_VACUUM), steps.get(_INDEX))
