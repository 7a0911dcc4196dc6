from __future__ import annotations

import os
from pathlib import Path

from app.postgres.server import read_tail, reports_ready, size_of

DATA = Path(__file__).parents[2] / "data/postgres"
PID_FILE = (DATA / "postmaster-pid-15.18.txt").read_text()
PID = 27918


def test_ready_by_own_pid_file(tmp_path: Path) -> None:
    file = tmp_path / "postmaster.pid"
    file.write_text(PID_FILE)
    assert reports_ready(str(tmp_path), PID)
    assert not reports_ready(str(tmp_path), PID + 1)  # a file that another server left behind
    for status in ("starting", "stopping", "standby "):
        file.write_text(PID_FILE.replace("ready   ", status))
        assert not reports_ready(str(tmp_path), PID)
    file.write_text("".join(PID_FILE.splitlines(keepends=True)[:7]))
    assert not reports_ready(str(tmp_path), PID)
    file.unlink()
    assert not reports_ready(str(tmp_path), PID)


def test_only_new_end_of_file_read(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("0123456789")
    assert read_tail(str(file), 4, 100) == "456789"
    assert read_tail(str(file), 0, 3) == "789"
    assert read_tail(str(file), 50, 3) == ""
    assert size_of(str(file)) == 10


def test_links_and_pipes_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    assert read_tail(str(tmp_path / "link"), 0, 100) == ""
    assert read_tail(str(tmp_path / "pipe"), 0, 100) == ""
    assert read_tail(str(tmp_path / "nothing"), 0, 100) == ""
    assert size_of(str(tmp_path / "nothing")) == 0
