"""`pgfooting --temp` with the real window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.gui

TOP = Path(__file__).resolve().parents[2]
PATIENCE_S = 200


def test_the_window_keeps_its_settings_in_the_folder_that_is_thrown_away(tmp_path: Path) -> None:
    names = ("DATA", "STATE", "CONFIG", "CACHE")
    folders = {f"XDG_{name}_HOME": str(tmp_path / "mine" / name) for name in names}
    (tmp_path / "temporary").mkdir()
    environment = {
        **os.environ,
        **folders,
        "TMPDIR": str(tmp_path / "temporary"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--temp"],
        cwd=TOP, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not window_of(process.pid):
            assert time.monotonic() < deadline_s
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors
    assert list((tmp_path / "temporary").iterdir()) == []
    assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == []


def window_of(parent: int) -> int:
    """The process of the window once it handles SIGTERM itself, else 0."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        status = Path(f"/proc/{child}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return int(child)
    return 0
