"""Reads ``known.toml``: the changes that no test finds, each with its reason."""

from __future__ import annotations

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")
Known = dict[tuple[str, str, str], str]


def read_known(path: Path = FILE) -> Known:
    """Return the reason of each change, by its name.

    Raises:
        KeyError: a line of the file is not as it must be.
    """
    with path.open("rb") as file:
        groups = tomllib.load(file).get("survivors", [])
    return {
        (group["file"], group["function"], change): group["reason"]
        for group in groups
        for change in group["changes"]
    }
