"""Running Python where mounts are its own: nothing is mounted on the machine itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_TREE = Path(__file__).resolve().parents[3]


def _can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(
    not _can_mount(), reason="needs root that may mount in a namespace of its own"
)


def in_own_mounts(code: str, *arguments: str) -> str:
    """Return what Python `code` prints in a mount namespace of its own."""
    done = subprocess.run(
        ("unshare", "--mount", sys.executable, "-c", code, *arguments),
        cwd=_TREE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
