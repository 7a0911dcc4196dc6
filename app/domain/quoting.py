"""Quote a text for a shell or a comment, show foreign text in a sentence: one line, nothing executed. Pure.

Sentences with a value in a command quote it themselves: ``tr("swapoff {area!q}")``, see
`app.domain.text`. Sources: POSIX.1-2024 2.2 "Quoting"; zshexpn(1), zshoptions(1).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./-_ ")
_OBEYED: Final = "`'\"$;&|<>()\\*?!~^{}"
_READ_INSTEAD: Final = str.maketrans(_OBEYED, "\N{PRIME}\N{PRIME}\N{DOUBLE PRIME}S,+/[][]/x..--[]")
"""Special characters of shells. zsh on a terminal has no comments: it executes them, and ``(e:…:)`` in
them.
"""


def shell_word(text: str) -> str:
    """Quote a text as one word of sh, bash and zsh.

    Unprintable characters are written in ``$'…'``, as bash and zsh read it; in other shells that is a
    harmless word.
    """
    if not text.isprintable():
        return f"$'{''.join(map(_escaped, text))}'"
    if text.startswith("="):  # zsh expands "=ls" to a path
        return f"'='{shlex.quote(text[1:])}"
    return shlex.quote(text)


def _escaped(sign: str) -> str:
    if sign in _SAFE or (sign.isprintable() and not sign.isascii()):
        return sign
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))


def shell_line(words: Iterable[str]) -> str:
    """Return a command as it can be typed."""
    return " ".join(map(shell_word, words))


def shell_option(option: str, value: str) -> str:
    """Return an option with its value; a value with a leading hyphen is not mistaken for another option."""
    return f"{option}{'=' if value.startswith('-') else ' '}{shell_word(value)}"


def comment(text: str) -> str:
    """Return a comment line that has no effect even in a shell without comments."""
    words = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return f"# {words.translate(_READ_INSTEAD)}"


# Show foreign text in a sentence: one line of limited length, special characters escaped. Pure.


FEW: Final = 400
"""Characters: a few lines of a terminal."""


def shown(text: object, most: int = FEW) -> str:
    """Escape line breaks, control characters and invisible characters as Python does.

    Args:
        text: any foreign value.
        most: maximum number of characters; a longer text is cut.
    """
    plain = str(text)
    escaped = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in plain[:most]
    )
    return escaped if len(plain) <= most and len(escaped) <= most else f"{escaped[:most]}…"
