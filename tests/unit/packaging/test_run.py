"""packaging/run: what it starts, with which arguments, and that it leaves the checkout as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app import VERSION
from app.arguments.declared import build_parser
from tests.unit.packaging.conftest import PROJECT, Scripts, missing

APP = """
import json, os, sys
said = {"arguments": sys.argv[1:], "cwd": os.getcwd(), "path": sys.path[:1], "prefix": sys.pycache_prefix}
print(json.dumps(said))
try:
    import decoy
except ModuleNotFoundError:
    pass
else:
    sys.exit(9)
sys.exit(int(os.environ.get("STATUS", "0")))
"""


@pytest.fixture
def start(scripts: Scripts) -> Path:
    (scripts.checkout / "app").mkdir()
    (scripts.checkout / "app" / "__init__.py").touch()
    (scripts.checkout / "app" / "__main__.py").write_text(APP)
    return scripts.checkout / "packaging" / "run"


def arguments(outcome: subprocess.CompletedProcess[str]) -> list[str]:
    assert outcome.returncode == 0, outcome.stderr
    found = json.loads(outcome.stdout)["arguments"]
    assert isinstance(found, list)
    return found


def make_window(scripts: Scripts) -> None:
    (scripts.checkout / "ui").mkdir()
    (scripts.checkout / "ui" / "__main__.py").touch()


def test_arguments_are_passed_on_as_they_are(scripts: Scripts, start: Path) -> None:
    given = ["run", "a campaign.toml", "--output", "", "*"]
    assert arguments(scripts.run([str(start), *given])) == given


def test_headless_runs_the_embedded_recipe(scripts: Scripts, start: Path) -> None:
    recipe = str(scripts.checkout / "resources" / "recipes" / "quick.toml")
    assert arguments(scripts.run([str(start), "--headless"])) == ["run", recipe]
    assert arguments(scripts.run([str(start), "--headless", "--output", "x"])) == [
        "run",
        recipe,
        "--output",
        "x",
    ]


def test_no_window_runs_embedded_recipe(scripts: Scripts, start: Path) -> None:
    scripts.environment["DISPLAY"] = ":0"
    assert arguments(scripts.run([str(start)]))[0] == "run"


def test_no_display_runs_embedded_recipe(scripts: Scripts, start: Path) -> None:
    make_window(scripts)
    assert arguments(scripts.run([str(start)]))[0] == "run"


@pytest.mark.parametrize("display", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_with_a_display_it_opens_the_window(scripts: Scripts, start: Path, display: str) -> None:
    make_window(scripts)
    scripts.environment[display] = "0"
    assert arguments(scripts.run([str(start)])) == []


def test_graphics_libraries_only_for_window(scripts: Scripts, start: Path) -> None:
    make_window(scripts)
    (scripts.fake / "os-release").write_text("ID=fedora")
    missing(scripts, "qt", "screen")
    scripts.environment["DISPLAY"] = ":0"
    for engine in ("--headless", "list", "export x -o y.csv"):
        assert scripts.run([str(start), *engine.split()]).returncode == 0, engine
    for picture in ("report x", "export x -o y.png"):
        outcome = scripts.run([str(start), *picture.split()])
        assert outcome.returncode == 1, picture
        assert "libglvnd-egl" in outcome.stderr
        assert "xcb" not in outcome.stderr, "nothing is shown on a screen"
    for window in ("", "open", "replay x", "a.footing", "ab12cd34"):
        outcome = scripts.run([str(start), *window.split()])
        assert outcome.returncode == 1, window
        assert "libglvnd-egl" in outcome.stderr
        assert "xcb-util-cursor" in outcome.stderr


@pytest.mark.parametrize("status", ["0", "1", "2", "3", "130"])
def test_the_exit_status_is_that_of_pgfooting(scripts: Scripts, start: Path, status: str) -> None:
    scripts.environment["STATUS"] = status
    assert scripts.run([str(start), "list"]).returncode == int(status)


def test_working_directory_not_on_path(scripts: Scripts, start: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "decoy.py").touch()
    outcome = scripts.run([str(start), "list"], cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads(outcome.stdout)["cwd"] == str(folder)
    assert json.loads(outcome.stdout)["path"] == [str(scripts.checkout)]


def test_python_variables_ignored(scripts: Scripts, start: Path, tmp_path: Path) -> None:
    (tmp_path / "decoy.py").touch()
    scripts.environment |= {
        "PYTHONPATH": str(tmp_path),
        "PYTHONHOME": "/nonsense",
        "VIRTUAL_ENV": "/nonsense",
    }
    assert scripts.run([str(start), "list"]).returncode == 0


def test_it_can_be_called_through_a_link(scripts: Scripts, start: Path, tmp_path: Path) -> None:
    link = tmp_path / "pgfooting"
    link.symlink_to(start)
    assert arguments(scripts.run([str(link), "list"])) == ["list"]


def test_standard_output_belongs_to_pgfooting(scripts: Scripts, start: Path) -> None:
    outcome = scripts.run([str(start), "list"])
    assert len(outcome.stdout.splitlines()) == 1
    assert "Installing" in outcome.stderr


def test_nothing_is_written_into_the_checkout(scripts: Scripts, start: Path) -> None:
    before = sorted(scripts.checkout.rglob("*"))
    outcome = scripts.run([str(start), "list"])
    assert sorted(scripts.checkout.rglob("*")) == before
    assert json.loads(outcome.stdout)["prefix"].startswith(str(scripts.environments))


def test_checkout_path_with_colon(scripts: Scripts, start: Path, tmp_path: Path) -> None:
    moved = tmp_path / "a:b"
    scripts.checkout.rename(moved)
    errors = scripts.refusal([str(moved / "packaging" / "run"), "list"])
    assert "a path with a colon" in errors
    assert not scripts.environments.exists()


def test_help_and_version_install_nothing(scripts: Scripts, start: Path) -> None:
    missing(scripts, "postgresql", "qt", "fio")
    for asked in ("--help", "-h", "--version", "help list", "run --help", "list -h"):
        outcome = scripts.run([str(start), *asked.split()])
        assert outcome.returncode == 0, outcome.stderr
        assert "Missing" not in outcome.stderr
        assert ("--headless" in outcome.stdout) == (asked in {"--help", "-h"})
    assert scripts.pip_calls == []
    assert not scripts.environments.exists()


def test_help_needs_no_package_of_python() -> None:
    """As on a fresh machine: nothing but the standard library (-S leaves installed packages out)."""
    script = str(PROJECT / "packaging" / "answer_help.py")
    for asked, words in (("--help", "commands:"), ("--version", VERSION), ("run --help", "--dry-run")):
        outcome = subprocess.run(
            [sys.executable, "-S", script, *asked.split()],
            env={"PYTHONPATH": str(PROJECT), "PYTHONSAFEPATH": "1", "HOME": "/nowhere"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 0, outcome.stderr
        assert words in outcome.stdout


def test_two_dashes_end_what_asks_for_help(scripts: Scripts, start: Path) -> None:
    assert arguments(scripts.run([str(start), "list", "--", "--help"])) == ["list", "--", "--help"]
    assert len(scripts.pip_calls) == 1


def test_help_without_python(scripts: Scripts, start: Path) -> None:
    (scripts.checkout / "app" / "__init__.py").write_text('VERSION = "9.9"\n')
    with (scripts.checkout / "packaging" / "system.sh").open("a") as file:
        file.write("SYSTEM_PYTHON=/nowhere\n")
    outcome = scripts.run([str(start), "--help"])
    assert outcome.returncode == 0
    assert "--headless" in outcome.stdout
    assert scripts.run([str(start), "--version"]).stdout == "pgfooting 9.9\n"


def use_of_system(scripts: Scripts, start: Path, *words: str) -> str:
    """Return what of the system packaging/run asks for: the engine alone, what pictures need, or a window."""
    code = start.read_text().replace('main "$@"', 'use_of_system "$@"')
    probe = start.with_name("probe")
    probe.write_text(code)
    return scripts.run(["bash", str(probe), *words]).stdout


def test_headless_commands_match_command_line(scripts: Scripts, start: Path) -> None:
    """A new command of the window stands in packaging/run, too, or its user gets no Qt."""
    make_window(scripts)
    uses = {"open": "window", "replay": "window", "report": "picture"}
    for name in build_parser().commands:
        assert use_of_system(scripts, start, name) == uses.get(name, "engine"), name


@pytest.mark.parametrize(
    ("words", "use"),
    [
        ((), "window"),
        (("a run.footing",), "window"),
        (("ab12",), "window"),
        (("/",), "window"),
        (("export", "ab12", "-o", "a.png"), "picture"),
        (("recipe",), "engine"),
        (("frobnicate",), "engine"),
        (("quick",), "engine"),
        (("--jsn",), "engine"),
    ],
)
def test_mistyped_command_fetches_no_window(
    scripts: Scripts, start: Path, words: tuple[str, ...], use: str
) -> None:
    make_window(scripts)
    assert use_of_system(scripts, start, *words) == use


def test_headless_uses_no_qt(scripts: Scripts, start: Path) -> None:
    make_window(scripts)
    scripts.run([str(start), "--headless"])
    assert [path.name[:6] for path in scripts.environments.iterdir() if path.name != "lock"] == ["engine"]
    scripts.environment["DISPLAY"] = ":0"
    scripts.run([str(start)])
    scripts.run([str(start), "list"])
    assert len(scripts.pip_calls) == 2


def test_bundle_installs_window(scripts: Scripts, start: Path) -> None:
    """What it leaves out cannot be fetched later: there is no network."""
    make_window(scripts)
    (line,) = (
        each
        for each in (start.parent / "install_bundle").read_text().splitlines()
        if "/run" in each and "PGFOOTING_USE" in each
    )
    code = f"BUNDLE={str(scripts.checkout)!r}; {line.replace('$BUNDLE/pgfooting/', '$BUNDLE/')}"
    outcome = scripts.run(["bash", "-c", code])
    assert outcome.returncode == 0, outcome.stderr
    assert [path.name[:3] for path in scripts.environments.iterdir() if path.name != "lock"] == ["run"]


def test_command_name_passed_on(scripts: Scripts, start: Path) -> None:
    (scripts.checkout / "app" / "__main__.py").write_text("import os; print(os.environ['PGFOOTING_COMMAND'])")
    scripts.environment["PGFOOTING_COMMAND"] = "of another start"
    assert scripts.run(["packaging/run", "list"], cwd=scripts.checkout).stdout == "packaging/run\n"
    scripts.environment["PGFOOTING_COMMAND"] = "pgfooting"
    assert scripts.run(["packaging/run", "list"], cwd=scripts.checkout).stdout == "pgfooting\n"
