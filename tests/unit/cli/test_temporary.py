"""`pgfooting --temp`: nothing of the user's is touched, and nothing is left, however it ends."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.hosts.folders.own_folders import TEMPORARY

TOP = Path(__file__).resolve().parents[3]
PATIENCE_S = 120
WITNESS = """import os, sys, time
folder, state = (os.environ[name] for name in ("PGFOOTING_TEMP", "XDG_STATE_HOME"))
print(folder, state, oct(os.stat(folder).st_mode & 0o777), flush=True)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Folders of this test alone, also for what is temporary; no display."""
    names = ("DATA", "STATE", "CONFIG", "CACHE")
    folders = {f"XDG_{name}_HOME": str(tmp_path / "mine" / name) for name in names}
    for path in (*folders.values(), str(tmp_path / "temporary")):
        Path(path).mkdir(parents=True)
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "PGFOOTING_LOG"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, **folders, "TMPDIR": str(tmp_path / "temporary"), "PYTHONWARNINGS": "error"}


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app", "--temp", *arguments],
        cwd=TOP, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


def left(tmp_path: Path) -> list[str]:
    """What lies in the folders of the user and among what is temporary."""
    return [str(path) for part in ("mine/*", "temporary") for path in tmp_path.glob(f"{part}/*")]


def test_the_library_is_another_one_and_is_gone_afterwards(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(environment, "list")
    told, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert errors.startswith(f"Library, state and settings lie in {tmp_path}/temporary/pgfooting-temp-")
    assert f"{tmp_path}/temporary/pgfooting-temp-" in told, "where it looked for runs"
    assert left(tmp_path) == []


def test_a_run_that_fails_leaves_nothing_and_its_status_is_ours(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(environment, "run", "/no/such.toml")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "/no/such.toml" in errors
    assert left(tmp_path) == []


def test_a_mistake_in_the_arguments_makes_no_folder(environment: dict[str, str], tmp_path: Path) -> None:
    process = start(environment, "frobnicate")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "thrown away" not in errors
    assert left(tmp_path) == []


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A Python in the place of this one: `-m app --temp wait` lies in wait, everything else is as it is.

    It tells its temporary folder and its state folder, and does what the test wants.
    """
    script = tmp_path / "python"
    wait = f"exec {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'waits.py'))}"
    real = f'exec {shlex.quote(sys.executable)} "$@"'
    script.write_text(f"#!/bin/bash\nif [[ -n ${{{TEMPORARY}:-}} ]]; then {wait}; fi\n{real}\n")
    script.chmod(0o755)
    return script


def begin(stand_in: Path, environment: dict[str, str], does: str) -> tuple[subprocess.Popen[str], Path]:
    """Start the command, whose child does this, and return it with the temporary folder."""
    (stand_in.parent / "waits.py").write_text(f"{WITNESS}{does}\n")
    code = f"import sys; sys.executable = {str(stand_in)!r}; from app.cli.main import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--temp", "list"],
        cwd=TOP, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    folder, state, mode = process.stdout.readline().split()
    assert Path(state).is_relative_to(folder)
    assert mode == "0o700"
    return process, Path(folder)


CAUGHT = "import signal; signal.signal({number}, lambda *_: sys.exit(7)); time.sleep(600)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_command_and_then_the_folder_goes(
    stand_in: Path, environment: dict[str, str], tmp_path: Path, number: int
) -> None:
    does = CAUGHT.format(number=int(number)).replace("time.sleep", "print('ready', flush=True); time.sleep")
    process, folder = begin(stand_in, environment, does)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 7
    assert not folder.exists()
    assert left(tmp_path) == []


def test_a_command_that_is_killed_leaves_nothing(
    stand_in: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    process, folder = begin(stand_in, environment, "os.kill(os.getpid(), 9)")
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 137
    assert not folder.exists()
    assert left(tmp_path) == []


def test_links_in_it_are_removed_and_not_what_they_lead_to(
    stand_in: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    does = f"os.symlink({str(tmp_path / 'precious')!r}, os.path.join(os.environ['XDG_STATE_HOME'], 'link'))"
    process, folder = begin(stand_in, environment, does)
    process.communicate(timeout=PATIENCE_S)
    assert not folder.exists()
    assert (tmp_path / "precious" / "file").read_text() == "mine"


def test_a_folder_that_took_its_place_is_left_alone(
    stand_in: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    does = (
        "t = os.environ['PGFOOTING_TEMP']; os.rename(t, t + '-moved'); os.makedirs(t + '/state/mine', 0o700)"
    )
    process, folder = begin(stand_in, environment, does)
    process.communicate(timeout=PATIENCE_S)
    assert (folder / "state" / "mine").is_dir()
    assert folder.with_name(f"{folder.name}-moved").is_dir()


def test_it_is_kept_while_it_says_what_is_left_of_a_campaign(
    stand_in: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    record = "os.path.join(os.environ['XDG_STATE_HOME'], 'pgfooting')"
    does = f"os.makedirs({record}, 0o700); open(os.path.join({record}, 'campaign-x.jsonl'), 'w').write('x')"
    process, folder = begin(stand_in, environment, does)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert f"{folder} is kept: it says what is left of a campaign" in errors
    assert len(list(folder.glob("state/pgfooting/campaign-*"))) == 1
