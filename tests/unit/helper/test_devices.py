"""Which device a caller means: by number alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.helper.storage.devices import node_of


@pytest.mark.parametrize(
    "number",
    [
        "../../class/mem/null",
        "1:3/../../../class/mem/null",
        "/dev/null",
        "/sys/class/mem/null",
        "",
        ".",
        "7:0\n",
        " 7:0",
        "\N{ARABIC-INDIC DIGIT SEVEN}:0",
        "9" * 400 + ":0",
    ],
)
def test_only_numbers_become_paths(number: str) -> None:
    assert Path("/sys/class/mem/null").exists(), "so that a path would lead to a node"
    with pytest.raises(FileNotFoundError, match="no device number"):
        node_of(number)
