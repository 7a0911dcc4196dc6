"""A language that nobody speaks: longer by 40 %, with accents and brackets around each sentence.

Loaded by pytest before anything of the program (``-p tests.pseudo_language``), because texts are translated
where they are declared. Every Latin letter of a translated text is another one: two English words beside each
other have then not come through `tr`, and a bracket that is missing was cut off.
"""

from __future__ import annotations

import math
import re
from typing import Final

from typing_extensions import override

from app.domain import text
from app.domain.text import Catalogue, NumberFormat

OPEN: Final = "⟦"
CLOSE: Final = "⟧"
LONGER: Final = 0.4
_PLAIN: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED: Final = "áƀčďéƒğĥíĵķľɱñóƥɋřšťúṽŵẋýžÁɃČĎÉƑĞĤÍĴĶĽṀÑÓƤɊŘŠŤÚṼŴẊÝŽ"
_OTHER: Final = str.maketrans(_PLAIN, _ACCENTED)
_KEPT: Final = re.compile(r"(\{[^{}]*\}|`[^`]*`|</?[a-z][^<>]*>|&\w+;|&\w)")
_LONGEST_WORD: Final = 9


def _added(message: str) -> str:
    """Return what makes a message longer: one long word for a word, several for a sentence."""
    count = math.ceil(LONGER * len(message))
    if " " not in message:
        return "ō" * count
    words = [
        "ō" * min(_LONGEST_WORD, count - begin) for begin in range(0, max(1, count - 1), _LONGEST_WORD + 1)
    ]
    return " " + " ".join(words)


def pseudo(message: str) -> str:
    """Return a message in this language; values, keys of the keyboard and what is typed stay as they are."""
    inner = message.strip()
    if not re.search(r"[A-Za-z]{2}", re.sub(_KEPT, "", inner)):
        return message  # a mere form of values
    begin = message.index(inner)
    parts = (part if number % 2 else part.translate(_OTHER) for number, part in enumerate(_KEPT.split(inner)))
    words = f"{OPEN}{''.join(parts)}{_added(inner)}{CLOSE}"
    return message[:begin] + words + message[begin + len(inner) :]


class PseudoCatalogue(Catalogue):
    """Translates everything."""

    @override
    def gettext(self, message: str) -> str:
        return pseudo(message)

    @override
    def ngettext(self, one: str, many: str, count: int) -> str:
        return pseudo(one if count == 1 else many)


NUMBERS: Final = NumberFormat("\N{ARABIC DECIMAL SEPARATOR}", "\N{ARABIC THOUSANDS SEPARATOR}")
"""No other language of the program has these signs: a number without them was not written for its readers."""

setattr(text, "_numbers", NUMBERS)  # noqa: B010 - a constant of the process, before it is used
setattr(text, "_catalogue", PseudoCatalogue())  # noqa: B010 - a constant of the process, before it is used
