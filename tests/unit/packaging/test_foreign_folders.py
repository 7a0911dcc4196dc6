"""Root with the variables of a user (`sudo -E`): nothing of the user's is executed, followed or written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.process.account import forget_foreign_folders, is_roots
from tests.unit.packaging.conftest import PROJECT, Scripts
from tests.unit.packaging.test_environment import SHOW

USER = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led there")
ROOT = "is_root() { true; }\n"
"""The other tests of these scripts are nobody in particular."""
VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR", "HOME")


def of_user(path: Path) -> Path:
    """Return a folder of another account."""
    path.mkdir()
    os.chown(path, USER, USER)
    return path


def places(folder: Path) -> dict[str, tuple[Path, bool]]:
    """Return places by name, with whether they are root's."""
    folder.chmod(0o755)
    own, foreign = folder / "own", of_user(folder / "foreign")
    own.mkdir()
    for name, mode in (("group", 0o775), ("all", 0o777), ("sticky", 0o1777)):
        (folder / name).mkdir()
        (folder / name).chmod(mode)
    (folder / "sticky" / "own").mkdir()
    (foreign / "own").mkdir()
    (foreign / "link").symlink_to(own)
    (folder / "to-user").symlink_to(foreign)
    (folder / "to-own").symlink_to(own)
    of_user(folder / "sticky" / "user")
    return {
        "own": (own, True),
        "missing": (own / "a" / "b", True),
        "link to own": (folder / "to-own", True),
        "below sticky": (folder / "sticky" / "own", True),
        "foreign": (foreign, False),
        "root's below foreign": (foreign / "own", False),
        "missing below foreign": (foreign / "x", False),
        "a user's link to root's": (foreign / "link", False),
        "a link to a user's": (folder / "to-user", False),
        "back from foreign": (foreign / ".." / "own", False),
        "group": (folder / "group", True),
        "all": (folder / "all" / "x", True),
        "sticky": (folder / "sticky", True),
        "missing below sticky": (folder / "sticky" / "x", True),
        "user's below sticky": (folder / "sticky" / "user", False),
        "relative": (Path("x"), False),
    }


NAMES = [
    *("own", "missing", "link to own", "below sticky", "foreign", "root's below foreign"),
    *("missing below foreign", "a user's link to root's", "a link to a user's", "back from foreign"),
    *("group", "all", "sticky", "missing below sticky", "user's below sticky", "relative"),
]


@pytest.mark.parametrize("name", NAMES)
def test_both_functions_say_whose_a_place_is(name: str, tmp_path: Path, scripts: Scripts) -> None:
    found = places(tmp_path)
    assert sorted(found) == sorted(NAMES)
    path, is_own = found[name]
    assert is_roots(str(path)) is is_own
    outcome = scripts.call(f"if is_roots {str(path)!r}; then echo yes; else echo no; fi")
    assert outcome.stdout == ("yes\n" if is_own else "no\n"), outcome.stderr


def test_sticky_folder_is_temporary(tmp_path: Path, scripts: Scripts) -> None:
    sticky, foreign = str(places(tmp_path)["sticky"][0]), str(tmp_path / "foreign")
    assert is_roots(sticky)
    assert not is_roots(foreign)
    scripts.environment["TMPDIR"] = sticky
    assert scripts.call('echo "${TMPDIR:-}"').stdout == f"{sticky}\n"
    scripts.environment["TMPDIR"] = foreign
    assert scripts.call('echo "${TMPDIR:-}"').stdout == "\n"


def test_the_program_forgets_what_is_a_users(tmp_path: Path) -> None:
    foreign, own = of_user(tmp_path / "user"), tmp_path / "own"
    environment = dict.fromkeys(VARIABLES, str(foreign)) | {
        "XDG_DATA_DIRS": f"/usr/share:{foreign}",
        "LANG": "C",
    }
    assert set(forget_foreign_folders(environment)) == {*VARIABLES, "XDG_DATA_DIRS"}
    assert environment == {"HOME": "/root", "LANG": "C"}
    kept = dict.fromkeys(VARIABLES, str(own))
    assert forget_foreign_folders(kept) == ()
    assert kept == dict.fromkeys(VARIABLES, str(own))


@pytest.mark.parametrize("module", ["app", "ui"])
def test_both_programs_forget_before_anything_is_read(module: str) -> None:
    text = (PROJECT / module / "__main__.py").read_text(encoding="utf-8")
    assert text.index("forget_foreign_folders(os.environ)") < text.index("settle_language(os.environ)")


def test_the_library_of_root_is_roots(tmp_path: Path) -> None:
    foreign = of_user(tmp_path / "user")
    names = {name: str(foreign) for name in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-m", "app", "list"],
        env={**os.environ, **names},
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
    )
    assert "/root/.local/share/pgfooting/runs" in done.stdout + done.stderr
    assert list(foreign.iterdir()) == []


def test_root_runs_no_files_of_user(tmp_path: Path, scripts: Scripts) -> None:
    foreign = of_user(tmp_path / "user")
    scripts.environment["XDG_CACHE_HOME"] = str(foreign)
    outcome = scripts.call(f"{ROOT}{SHOW}")
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith(str(scripts.home))
    assert "XDG_CACHE_HOME is" in outcome.stderr
    assert list(foreign.iterdir()) == []


def test_cache_given_to_user_refused(scripts: Scripts) -> None:
    cache = scripts.home / ".cache" / "pgfooting"
    cache.mkdir(parents=True)
    os.chown(cache, USER, USER)
    errors = scripts.refusal(f"{ROOT}find_cache_folder")
    assert "is not root's: others could put programs there" in errors


def test_root_follows_no_planted_links(tmp_path: Path, scripts: Scripts) -> None:
    foreign = of_user(tmp_path / "user")
    (scripts.checkout / "resources" / "icons").mkdir(parents=True)
    (scripts.checkout / "resources" / "icons" / "org.pgfooting.Footing.svg").touch()
    precious = tmp_path / "precious"
    precious.write_text("root's")
    for name in (
        "pgfooting/command",
        "pgfooting/installed",
        "applications/org.pgfooting.Footing.desktop.new",
    ):
        (foreign / name).parent.mkdir(exist_ok=True)
        (foreign / name).symlink_to(precious)
    scripts.environment |= {"XDG_DATA_HOME": str(foreign), "XDG_STATE_HOME": str(foreign)}
    outcome = scripts.call(f"{ROOT}install_command; uninstall_command")
    assert outcome.returncode == 0, outcome.stderr
    assert precious.read_text() == "root's"
    assert len(list(foreign.rglob("*"))) == 5


def test_a_link_that_waits_is_not_followed(tmp_path: Path, scripts: Scripts) -> None:
    precious = tmp_path / "precious"
    precious.write_text("root's")
    (tmp_path / "file").symlink_to(precious)
    outcome = scripts.call(f"echo new | write_file {str(tmp_path / 'file')!r} 640")
    assert outcome.returncode == 0, outcome.stderr
    assert precious.read_text() == "root's"
    assert (tmp_path / "file").read_text() == "new\n"
    assert (tmp_path / "file").lstat().st_mode & 0o7777 == 0o640
    assert sorted(each.name for each in tmp_path.glob("file*")) == ["file"]
