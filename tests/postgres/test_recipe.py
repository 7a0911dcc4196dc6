"""A recipe from its name to its PDF."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import TOP
from app.cli.main import main
from app.domain.errors import ExitStatus
from app.library.scan import list_runs


def test_quick_recipe_comparison_and_pdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "library"
    run = ["run", "checksums", "--quick", "--output", str(library), "--progress", "none"]
    assert main(run) == ExitStatus.DONE
    runs = list_runs(library)
    assert len(runs) == 6
    assert {str(each.name).partition(" #")[0] for each in runs} == {"with checksums", "without checksums"}
    (folder,) = {str(Path(each.path).parent) for each in runs}
    assert 'name = "Data checksums (quick)"' in (Path(folder) / "campaign.toml").read_text()
    capsys.readouterr()
    assert main(["compare", folder, "--library", str(library)]) == ExitStatus.DONE
    assert "without checksums" in capsys.readouterr().out
    pdf = tmp_path / "recipe.pdf"
    command = [sys.executable, "-m", "app", "report", folder, "-o", str(pdf), "--library", str(library)]
    painted = subprocess.run(
        command, cwd=TOP, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, check=False
    )
    assert painted.returncode == ExitStatus.DONE
    assert pdf.read_bytes().startswith(b"%PDF-")
