"""`pgfooting disks --read`, and what is shown while disks are looked at."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable

import pytest
from rich.console import Console

from app.arguments.declared import build_parser
from app.cli.commands import disks as read_disk
from app.cli.commands.disks import inspection_progress, read_whole
from app.domain.disk import InspectionReport, SpareAnswer
from app.domain.disk_answers import Disk, ReadProgress
from app.domain.errors import UsageError
from app.draft.disks.table import InspectionResult
from tests.made_disks import SPARE

READ = InspectionReport(16 << 20, 1280, 65536, 2 << 30, read_s=1.8e9)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for root, who reads in three steps; what is returned are the disks that were read."""
    asked: list[str] = []

    def read(disk: Disk, progress: Callable[[ReadProgress], None]) -> InspectionResult:
        asked.append(disk.name)
        for done in (0, 10, 25):
            progress(ReadProgress(done, 100, done / 2.5))
        return InspectionResult(disk, SpareAnswer.SPARE, (), READ)

    monkeypatch.setattr(read_disk, "read_disk", read)
    return asked


@pytest.mark.parametrize("name", ["serial", "key"])
def test_disk_by_serial_or_key(root: list[str], capsys: pytest.CaptureFixture[str], name: str) -> None:
    identity = SPARE[2].identity
    found = read_whole(SPARE, identity.serial if name == "serial" else identity.key())
    assert root == [SPARE[2].name]
    assert (found.answer, found.looked) == (SpareAnswer.SPARE, READ)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0.0 % read"
    assert lines[-1] == "25.0 % read, about 00:30 left"


def test_absent_or_ambiguous_disk_not_read(root: list[str]) -> None:
    with pytest.raises(UsageError, match="No disk of this machine has the serial number or WWN NOBODY"):
        read_whole(SPARE, "NOBODY")
    twin = dataclasses.replace(SPARE[1], identity=SPARE[0].identity)
    with pytest.raises(UsageError, match="Several disks here"):
        read_whole((SPARE[0], twin), SPARE[0].identity.serial)
    assert root == []


def test_command_takes_one_serial_number() -> None:
    assert build_parser().parse_args(["disks", "--read", "X1"]).read == "X1"


def test_terminal_progress_cleared() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with inspection_progress(console) as progress:
        progress("sdb", 128, 1280)
        progress("sdc", 640, 4100)
    shown = file.getvalue()
    assert "sdb: parts read" in shown
    assert "640/4100" in shown


def test_pipe_is_silent() -> None:
    file = io.StringIO()
    with inspection_progress(Console(file=file)) as progress:
        progress("sdb", 128, 1280)
    assert file.getvalue() == ""
