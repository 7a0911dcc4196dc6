"""Every page in a language that is longer than any: nothing is cut in silence, nothing has stayed English."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gui.shown_texts import english_in

TOP = Path(__file__).resolve().parents[2]
PAGES = "tests/gui/pages_in_pseudo_language.py"


@pytest.mark.parametrize(
    "direction",
    ["", pytest.param("-reverse", marks=pytest.mark.long)],
    ids=["left to right", "right to left"],
)
def test_room_for_long_texts_and_none_untranslated(tmp_path: Path, direction: str) -> None:
    """In a process of its own: texts are translated where they are declared."""
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(TOP),
    }
    argv = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:randomly"]
    argv += ["-p", "tests.pseudo_language", PAGES]
    if direction:
        environment["PAGES_FROM_RIGHT"] = "1"
    ended = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2000:]


SCREEN = {"name": "one", "x": 0, "y": 0, "width": 1280, "height": 800, "logicalDpi": 96, "dpr": 1}


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"PAGES_LARGE": "1"}, id="type"),
        pytest.param(
            {"QT_SCALE_FACTOR": "2", "PAGES_LARGE": "0"}, id="everything", marks=pytest.mark.longest
        ),
    ],
)
def test_room_for_what_is_twice_as_large(tmp_path: Path, more: dict[str, str]) -> None:
    """On a screen of 1280 x 800 of its pixels, in style and typeface of the program."""
    scale = int(more.get("QT_SCALE_FACTOR", "1"))
    screen = SCREEN | {"width": scale * 1280, "height": scale * 800}
    (tmp_path / "screen.json").write_text(json.dumps({"screens": [screen]}))
    environment = os.environ | {
        "QT_QPA_PLATFORM": f"offscreen:configfile={tmp_path / 'screen.json'}",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(TOP),
    }
    argv = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:randomly"]
    ended = subprocess.run(
        [*argv, PAGES], cwd=TOP, env=environment | more, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("⟦ťĥé řúñ ext4 ōō⟧", []),
        ("⟦ťĥé řúñ ext4⟧ at least", ["at least"]),
        ("/srv/a/file of-mine `typed words here` “quoted words here”", []),
        ("Nothing yet", ["Nothing yet"]),
        ("ext4, xfs #2 and", []),
        ("disks of db7", []),
    ],
)
def test_english_is_two_words_beside_each_other(text: str, found: list[str]) -> None:
    assert english_in(text, ("disks of db7",)) == found
