"""A filesystem is a format and a declaration: a made-up one walks through every room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]
REGISTERED = """
import sys
import app.domain.filesystems as filesystems, app.domain.formats as formats
from tests.unit.made_up.filesystem import FORMAT, MADE_UP
formats.FORMATS = (*formats.FORMATS, FORMAT)
filesystems.FILESYSTEMS = (*filesystems.FILESYSTEMS, MADE_UP)
import pytest
options = ("--noconftest", "-p", "no:randomly", "-p", "no:cacheprovider", "-c", "/dev/null")
sys.exit(pytest.main([*options, sys.argv[1]]))
"""


def test_filesystem_needs_one_file_and_line() -> None:
    """In a process of its own: many modules hold what the registry was when they were imported."""
    walk = Path(__file__).with_name("walk.py")
    ended = subprocess.run(
        [sys.executable, "-c", REGISTERED, str(walk)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
