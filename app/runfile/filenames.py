"""Names of files made from names that people gave."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str, limit: int = 40) -> str:
    """Return a text as part of a file name: lower case, a to z, digits, hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")[:limit].strip("-") or "campaign"
