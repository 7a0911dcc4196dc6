"""`pgfooting report` and `export`, as their caller sees them; Qt paints in their process."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from argparse import Namespace
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from pypdf import PdfReader

from app.cli.commands.runs import report as painter
from app.domain.errors import UsageError
from tests.fix_forked import Command
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.hostile_files import INSIDE, REFUSED

STARTS = {".pdf": b"%PDF-", ".png": b"\x89PNG", ".svg": b"<?xml", ".csv": b"run,name", ".json": b"{"}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder"
    write_cases(folder, [Case(name, 0, Shape(12, 5000)) for name in ("ext4", "xfs")])
    return folder


@pytest.fixture
def call(command: Command, tmp_path: Path) -> Command:
    """The command without a display, in another folder than the project's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR"}
    }
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "STATE", "CACHE")}
    return partial(command, environment={**kept, **folders, "PYTHONWARNINGS": "error"}, folder=tmp_path)


@pytest.mark.parametrize("ending", STARTS)
def test_format_by_extension_folder_expands(runs: Path, tmp_path: Path, call: Command, ending: str) -> None:
    command = "report" if ending == ".pdf" else "export"
    ended = call(command, "a folder", "-o", f"out{ending}", "--anonymous")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / f"out{ending}").read_bytes().startswith(STARTS[ending])


def test_json_each_run_once(runs: Path, tmp_path: Path, call: Command) -> None:
    assert call("export", "a folder", "a folder/00.footing", "-o", "out.json").returncode == 0
    assert len(json.loads((tmp_path / "out.json").read_text())["runs"]) == 2


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("report", "a folder", "-o", "out.png"), 2, "must be one of: .pdf"),
        (("report", "a folder", "-o", "no/out.pdf"), 2, "does not exist"),
        (("report", "nothing", "-o", "out.pdf"), 2, "nothing"),
        (("report", "a folder", "-o", "out.pdf", "--paper", "a3"), 2, "--paper"),
        (("report", "a folder", "-o", "out.pdf", "--sections", "time,metod"), 2, "Did you mean “method”?"),
        (("report", "a folder/text.footing", "-o", "out.pdf"), 1, "not a pgFooting run file"),
        (("report", "a folder/loop.footing", "-o", "out.pdf"), 2, "does not exist"),
        (("report", "a folder", "-o", "there.pdf"), 3, "--force"),
        (("export", "a folder", "-o", "there.pdf"), 2, "must be one of: .csv, .json, .png, .svg"),
        (("export", "a folder", "-o", "there.csv"), 3, "not touched"),
        (("export", "a folder", "-o", "there.svg"), 3, "not touched"),
        (("export", "a folder/text.footing", "-o", "out.svg"), 1, "not a pgFooting run file"),
    ],
)
def test_unwritable_output_changes_nothing(
    runs: Path, tmp_path: Path, call: Command, arguments: tuple[str, ...], status: int, words: str
) -> None:
    (runs / "text.footing").write_text("no run file " * 20)
    for name in ("there.pdf", "there.csv", "there.svg"):
        (tmp_path / name).write_text("mine")
    before = sorted(path.name for path in tmp_path.iterdir())
    if "text" not in arguments[1]:
        (runs / "text.footing").unlink()
    if "loop" in arguments[1]:
        (runs / "loop.footing").symlink_to(runs / "loop.footing")
    ended = call(*arguments)
    assert ended.returncode == status
    assert ended.stderr.startswith("pgfooting: ")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    after = [path.name for path in tmp_path.iterdir() if path.name not in {"DATA", "STATE", "CACHE"}]
    assert sorted(after) == before
    assert {(tmp_path / name).read_text() for name in before if name.startswith("there")} == {"mine"}


@pytest.mark.long
@pytest.mark.parametrize("ending", STARTS)
def test_unreadable_runs_named_others_written(runs: Path, tmp_path: Path, call: Command, ending: str) -> None:
    for bad, name in (("a view instead of the runs", "aaa-view"), ("samples in words", "aab-words")):
        hostile = shutil.copyfile(runs / "00.footing", runs / f"{name}.footing")
        {**REFUSED, **INSIDE}[bad](hostile)
    command = "report" if ending == ".pdf" else "export"
    ended = call(command, "a folder", "-o", f"out{ending}")
    assert (ended.returncode, ended.stdout) == (1, "")
    lines = ended.stderr.splitlines()
    assert all(line.startswith("pgfooting: Skipped: ") for line in lines)
    for name, line in zip(("aaa-view", "aab-words"), lines, strict=True):
        assert f"{name}.footing" in line
    content = (tmp_path / f"out{ending}").read_bytes()
    assert content.startswith(STARTS[ending])
    if ending in {".csv", ".json"}:
        assert b"ext4" in content
        assert b"xfs" in content


def test_no_readable_run_writes_nothing(runs: Path, tmp_path: Path, call: Command) -> None:
    for path in runs.glob("*.footing"):
        REFUSED["a trigger"](path)
    ended = call("export", "a folder", "-o", "out.csv")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "its trigger “t” is not part of format 1" in ended.stderr
    assert not (tmp_path / "out.csv").exists()


def test_force_replaces(runs: Path, tmp_path: Path, call: Command) -> None:
    (tmp_path / "out.pdf").write_text("mine")
    assert call("report", "a folder", "-o", "out.pdf", "--force").returncode == 0
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.long
def test_self_link_named_beside_folder_runs(runs: Path, call: Command) -> None:
    (runs / "loop.footing").symlink_to(runs / "loop.footing")
    ended = call("report", "a folder", "-o", "out.pdf")
    assert "loop.footing" in ended.stderr
    assert "mistake" not in ended.stderr


@pytest.mark.long
def test_report_words_and_sections(runs: Path, tmp_path: Path, call: Command) -> None:
    own = ("--title", "Disks for 2027", "--author=Jo", "--conclusion=-5 % is nothing.", "--sections=method")
    ended = call("report", "a folder", "-o", "out.pdf", *own)
    assert (ended.returncode, ended.stderr) == (0, "")
    reader = PdfReader(tmp_path / "out.pdf")
    first = " ".join(reader.pages[0].extract_text().split())
    assert "Disks for 2027" in first
    assert "-5 % is nothing." in first
    titles = [str(entry.title) for entry in reader.outline if not isinstance(entry, list)]
    assert titles == ["Summary", "Method", "Runs"]


def test_missing_package_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == "pypdf" else ModuleSpec(name, None)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(UsageError, match="pypdf"):
        painter.paint([], painter_arguments(tmp_path))


def painter_arguments(folder: Path) -> Namespace:
    return Namespace(output=folder / "out.pdf", paper="a4", anonymous=False, force=False)
