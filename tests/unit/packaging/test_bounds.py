"""packaging/test --bounds: libraries at one end of what pyproject.toml allows, and --only: chosen tiers."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib

import pytest

from tests.unit.packaging.conftest import PROJECT, Scripts
from tests.unit.packaging.test_tiers import suite, summary, write_pytest

PROGRAM = PROJECT / "packaging" / "bounds.py"


def bounds_at(end: str) -> list[str]:
    argv = [sys.executable, "-B", str(PROGRAM), end, str(PROJECT), "3.11"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def test_lowest_pins_every_library() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["window"]]
    found = bounds_at("lowest")
    assert found[: len(wanted)] == [each.split(",")[0].replace(">=", "==") for each in wanted]


def test_lowest_keeps_tool_versions() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    groups = project["optional-dependencies"]
    tools = {re.split(r"[>=]", each)[0] for each in [*groups["development"], *groups["servers"]]}
    tools -= {"import-linter", "mypy", "ruff"}  # lint does not run there
    lock = (PROJECT / "packaging" / "lock" / "test-3.11.txt").read_text()
    found = [each for each in bounds_at("lowest") if each.partition("==")[0] in tools]
    assert {each.partition("==")[0] for each in found} == tools
    assert all(re.search(rf"^{re.escape(each)} ", lock, re.MULTILINE) for each in found)


def test_newest_is_the_bounds_themselves() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    groups = project["optional-dependencies"]
    assert bounds_at("newest") == [
        *project["dependencies"], *groups["window"], *groups["development"], *groups["servers"]
    ]  # fmt: skip


def test_library_without_lowest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    spec = importlib.util.spec_from_file_location("bounds", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    bounds = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bounds)
    with pytest.raises(ValueError, match="no lowest version"):
        bounds.lowest("numpy<3")


def test_bounds_use_own_environment_without_hashes(scripts: Scripts) -> None:
    code = "find_cache_folder\nlook_at_system engine\nprepare_environment {}\necho $ENVIRONMENT\n"
    folders = {}
    for group in ("run", "lowest", "newest"):
        outcome = scripts.call(code.format(group))
        assert outcome.returncode == 0, outcome.stderr
        folders[group] = outcome.stdout.strip().rpartition("/")[2]
        assert folders[group].startswith(f"{group}-")
    calls = scripts.pip_calls
    assert len(calls) == 3
    assert [("--require-hashes" in call, "--no-deps" in call) for call in calls] == [(True, True)] + [
        (False, False)
    ] * 2
    assert all("--only-binary=:all:" in call for call in calls)
    held = (scripts.environments / folders["lowest"] / "requirements.txt").read_text()
    assert "PySide6-Essentials==6.8\n" in held
    assert scripts.call(code.format("lowest")).stdout.strip().endswith(folders["lowest"])
    assert len(scripts.pip_calls) == 3


def runs(scripts: Scripts, settings: str) -> list[str]:
    """What packaging/test says with these settings."""
    pretend = (
        "run_tier() { count $1 1 0 0; }\nbegin_tier() { run_tier $1; }\nbegin_unit() { run_tier unit; }\n"
    )
    pretend += (
        "begin_servers() { run_tier postgres; }\nbegin_in_lane() { run_tier $2; }\nend_beside() { :; }\n"
    )
    pretend += "plays_covering_matrix() { false; }\n"
    return summary(scripts, f"{settings}\n{pretend}heading all\nrun_tiers")


def green(lines: list[str]) -> list[str]:
    return sorted(line.split()[0] for line in lines if " green " in line)


@pytest.mark.parametrize(
    ("settings", "run", "left", "options"),
    [
        (
            "",
            "bus gui lint postgres unit",
            "bench disks long longest machine",
            ["--all", "--bench", "--machine", "--root"],
        ),
        ("ONLY=unit,gui", "gui unit", "bus disks lint machine postgres", [""]),
        (
            "BOUNDS=lowest",
            "bus gui postgres unit",
            "bench disks lint long longest machine",
            ["", "--all", "--bench", "--machine", "--root"],
        ),
    ],
)
def test_runs_and_reports_the_rest(
    scripts: Scripts, settings: str, run: str, left: str, options: list[str]
) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    lines = runs(scripts, settings)
    assert green(lines) == run.split()
    assert lines[-2] == f"Left out: {left.replace(' ', ', ')}."
    commands = ", ".join(f"packaging/test {option}".strip() for option in options)
    assert lines[-1] == f"To run them: {commands}."


FIRST = "0:postgres 1:lint 2:bus"
THEN = f"{FIRST} 2:matrix 2:unit 2:gui"
ROOT = "1:lint 2:bus 1:unit 2:unit 1:gui 2:gui 1:unit-root"
SERVERS = "1:postgres 2:postgres"


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("", [f"layouts {FIRST}", f"machine1 {THEN}", f"all {THEN} 1:unit 1:unit-root 1:gui {SERVERS}"]),
        ("asked", [f"all {ROOT}", "disks", f"matrix {SERVERS}", f"machine {SERVERS}", f"all {SERVERS}"]),
    ],
)
def test_tiers_in_lanes_around_devices(scripts: Scripts, root: str, expected: list[str]) -> None:
    pretend = """leave_for() { :; }; plays_covering_matrix() { true; }; can_measure_apart() { true; }
run_matrix() { echo matrix$BY; }; run_layouts() { echo layouts$BY; }; begin_unit() { begin_tier unit; }
run_device_tier() { [[ -z $3 ]] || echo $1${PGFOOTING_GUESTS-}$BY; }; begin_process() { begin_in_lane $1 $2; }
begin_in_lane() { BY+=" $1:$2"; BESIDE[$2]=1 BESIDE[$2$1]=1; }; begin_skipped() { begin_in_lane 1 unit-root; }
end_beside() { echo all$BY; BY=; }
"""
    settings = f"ROOT={root} MACHINE=short PROCESSES=2 BY= SCRATCH=$FAKE\nmkdir $FAKE/skipped\n"
    assert scripts.call(f"{settings}{pretend}run_tiers").stdout.splitlines() == expected


@pytest.mark.parametrize(
    "arguments", [["--only=nonsense"], ["--only=unit", "--bench"], ["--only=unit", "tests/unit"]]
)
def test_unknown_selection_fails_before_setup(scripts: Scripts, arguments: list[str]) -> None:
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "test"), *arguments], status=2)
    assert "these are: lint unit gui" in errors or "--only chooses" in errors
    assert scripts.pip_calls == []
