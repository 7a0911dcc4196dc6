"""Every command that README and manual print is run: on shipped runs, campaigns only as a dry run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import TOP
from app.cli.main import main
from app.domain.errors import ExitStatus
from app.library.entries import find_examples
from app.manual.chapters import CHAPTERS
from app.runfile.reader import RunFile

TYPED = re.compile(r"(?:^|`)(?:\$ )?(?:pgfooting|packaging/run) ([a-z][^`#\n]*)", re.MULTILINE)
CAMPAIGN = 'name = "two"\n[target.memory]\n[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'
PLACEHOLDERS = {
    "FILE": "campaign.toml",
    "FILE.toml": "campaign.toml",
    "CAMPAIGN.toml": "campaign.toml",
    "FILE.pdf": "out.pdf",
    "FILESYSTEM": "zfs",
    "FOLDER": "runs",
    "RUN": "runs",
    "RUNS": "runs",
    "BASE": "base",
    "NEW": "new",
    "SERIAL": "S1",
    "SERIAL,SERIAL": "S1,S2",
    "fs:xfs scale:250": "scale:1000",
    "scale:250": "scale:1000",
}
"""Words that a reader replaces, and by what here."""

REFUSED_HERE = {
    "disks --read SERIAL",
    "disks --release SERIAL",
    "run barriers --disks SERIAL --dry-run",
    "run barriers --disks SERIAL --quick",
    "run filesystems-two-disks --disks SERIAL,SERIAL",
    "run filesystems-two-disks --disks SERIAL,SERIAL --dry-run",
    "compare FOLDER --rows RAID --columns filesystem",
    "compare ID ID --again FILE",
    "compare BASE NEW --worse-than 3%",
}
"""What needs disks, several RAID levels, runs of pgFooting's own or three campaigns, which are not here."""


def typed() -> Iterator[str]:
    """Yield each command once, without the program's name and remarks."""
    paths = [TOP / "README.md", *(each.path for each in CHAPTERS)]
    found = (each.strip() for path in paths for each in TYPED.findall(path.read_text(encoding="utf-8")))
    yield from dict.fromkeys(each for each in found if each not in {"run", "report", "import"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the manual's commands name."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("runs", "base", "new", "data/pgfooting/runs/hour"):
        (folder / name).mkdir(parents=True)
        for path in find_examples():
            shutil.copyfile(path, folder / name / path.name)
    (folder / "campaign.toml").write_text(CAMPAIGN)
    output = TOP / "tests" / "data" / "pgbench" / "17" / "aggregate.out"
    for name in ("results", "pg-fs-benchmark"):
        (folder / name).mkdir()
        shutil.copyfile(output, folder / name / "pgbench.out")
    shutil.copyfile(output, folder / "pgbench.out")
    with tarfile.open(folder / "run.tar.gz", "w:gz") as archive:
        archive.add(output, "pgbench.out")
    (folder / "resources").symlink_to(TOP / "resources")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("command", list(typed()))
def test_written_command_runs(
    qapp: object,
    command: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def replaced(path: str, argv: list[str], environment: dict[str, str]) -> None:
        raise SystemExit(ExitStatus.DONE)  # as the window's process would end

    monkeypatch.chdir(place)
    for written in place.glob("out.*"):
        written.unlink()
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(place / name.lower()))
    monkeypatch.setattr(os, "execve", replaced)
    ids = []
    for path in find_examples():
        with RunFile(path) as run:
            ids.append(str(run.values["id"]))
    words = [PLACEHOLDERS.get(each, each) for each in shlex.split(command.partition(" > ")[0])]
    if "--again" in words:
        words[-1] = "again.toml"
    words = [ids.pop() if each == "ID" else each for each in words]
    if words[:2] == ["run", "quick"] and os.geteuid() == 0:
        pytest.skip("postgres may not enter the folders of root's tests")
    dry = ["--dry-run"] if words[0] == "run" and "--dry-run" not in words else []
    try:
        status = main([*words, *dry])
    except SystemExit as ended:
        status = int(str(ended.code))
    error = capsys.readouterr().err
    assert "usage:" not in error
    allowed = {ExitStatus.USAGE} if command in REFUSED_HERE else {ExitStatus.DONE}
    if command == "doctor":  # whatever this machine can do
        allowed.add(ExitStatus.FAILED)
    assert status in allowed, error
