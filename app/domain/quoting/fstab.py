"""Quote a text as one field of a line of fstab(5). Pure."""

from __future__ import annotations


def fstab_field(text: str) -> str:
    """Write blanks, control characters and the special characters of fstab in octal."""
    return "".join(sign if "!" <= sign <= "~" and sign not in "\\#" else _octal(sign) for sign in text)


def _octal(sign: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))
