r"""What stands before every line of an output that was copied: indents, quotes, times, names of containers.

A prefix is found, never guessed: lines that pgbench prints and that nothing else looks like are searched for
behind it, whole. What may differ from line to line in a prefix is a time. Several prefixes in one file are
several sources, such as two containers, whose lines are kept apart.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TIME: Final = (
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d|[A-Z]{3,5}\b))?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"|\d{9,10}(?:\.\d{1,9})?"
    r"|(?<=\[) *\d{1,9}\.\d{1,9}(?=\]))"
)
_TIMES: Final = re.compile(_TIME)
_LINE: Final = re.compile(
    r"(?P<prefix>.{0,200}?)(?:"
    r"pgbench \([^()]+(?:\([^()]*\)[^()]*)*\)"
    r"|transaction type: \S.*"
    r"|scaling factor: \d+"
    r"|query mode: \w+"
    r"|number of (?:clients|threads): \d+"
    r"|number of transactions actually processed: \d+(?:/\d+)?"
    r"|tps = \d+\.\d+ \((?:with|in|ex)\w+ [a-z ]+\)"
    r"|progress: \d+\.\d+ s, \S+ tps, lat \S+ ms stddev [^\s,]+(?:, [^,]+)*"
    r")\s*",
    re.ASCII,
)
_MOST_SOURCES: Final = 16
_FEWEST_LINES: Final = 2
"""Behind the same prefix: one line of pgbench may stand in any text."""


def without_colours(line: str) -> str:
    """Return a line without the sequences that colour it on a terminal."""
    return _COLOURS.sub("", line) if "\x1b" in line else line


@dataclass(frozen=True, slots=True)
class LinePrefixes:
    """The prefixes of an output.

    Attributes:
        patterns: each with the text that it has in common, times left out; empty where lines have none.
    """

    patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()

    def split(self, line: str) -> tuple[str, str] | None:
        """Return (source, line as pgbench printed it); None for a line of something else."""
        line = without_colours(line)
        if not self.patterns:
            return "", line
        for source, pattern in self.patterns:
            if match := pattern.match(line):
                return source, line[match.end() :]
        return None


def find_prefixes(head: str) -> LinePrefixes | None:
    """Return the prefixes of an output, from how it begins; None where no line is one of pgbench's."""
    counts: Counter[str] = Counter()
    for line in map(without_colours, head.splitlines()):
        if match := _LINE.fullmatch(line):
            if not match["prefix"]:
                return LinePrefixes()
            counts[_TIMES.sub("\0", match["prefix"])] += 1
    sources = [source for source, count in counts.most_common(_MOST_SOURCES) if count >= _FEWEST_LINES]
    if not sources:
        return None
    patterns = ((source, re.compile(re.escape(source).replace("\0", _TIME))) for source in sources)
    return LinePrefixes(tuple(patterns))
