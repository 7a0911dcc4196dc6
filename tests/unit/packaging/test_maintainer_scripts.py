"""What dpkg runs of the packages' own: what is refused, what is unmade, what stays when a package goes."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import pytest

from tests.unit.packaging.conftest import PROJECT

DEBIAN = PROJECT / "packaging" / "debian"
FOLDERS = (
    "/usr/lib/pgfooting",
    "/usr/libexec/",
    "/usr/share/pgfooting",
    "/var/lib/pgfooting",
    "/run/systemd",
)


def ran(script: str, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of the packages with the system's folders below `root`, which has no systemd."""
    text = (DEBIAN / script).read_text()
    for folder in FOLDERS:
        text = text.replace(folder, f"{root}{folder}")
    return subprocess.run(
        ["/bin/sh", "-c", text, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )


def made(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def helper(root: Path, status: int) -> Path:
    """A service below `root` that notes how it is called and ends with `status`; the note's path."""
    program = made(
        root / "usr/libexec/pgfooting-helper", f'#!/bin/sh\necho "$@" >>{root}/called\nexit {status}\n'
    )
    program.chmod(0o755)
    return root / "called"


@pytest.mark.parametrize("name", ["MANIFEST", "MANIFEST.new"])
def test_refused_over_checkout_copy(tmp_path: Path, name: str) -> None:
    made(tmp_path / "usr/lib/pgfooting/helper" / name)
    outcome = ran("pgfooting-helper.preinst", tmp_path, "install")
    assert outcome.returncode == 1
    assert "sudo packaging/helper uninstall" in outcome.stderr


def test_without_such_a_copy_nothing_is_refused(tmp_path: Path) -> None:
    outcome = ran("pgfooting-helper.preinst", tmp_path, "install")
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_removing_unmakes_what_sessions_left(tmp_path: Path) -> None:
    called = helper(tmp_path, 0)
    made(tmp_path / "var/lib/pgfooting/journal/one.json")
    assert ran("pgfooting-helper.prerm", tmp_path, "remove").returncode == 0
    assert called.read_text() == "--recover\n"


def test_what_cannot_be_unmade_keeps_the_package(tmp_path: Path) -> None:
    helper(tmp_path, 3)
    made(tmp_path / "var/lib/pgfooting/journal/one.json")
    assert ran("pgfooting-helper.prerm", tmp_path, "remove").returncode == 3


@pytest.mark.parametrize(("argument", "left"), [("upgrade", True), ("remove", False)])
def test_upgrade_without_recovery(
    tmp_path: Path,
    argument: str,
    left: bool,  # noqa: FBT001
) -> None:
    called = helper(tmp_path, 0)
    if left:
        made(tmp_path / "var/lib/pgfooting/journal/one.json")
    assert ran("pgfooting-helper.prerm", tmp_path, argument).returncode == 0
    assert not called.exists()


def test_purge_removes_only_empty_folders(tmp_path: Path) -> None:
    folder = tmp_path / "var/lib/pgfooting"
    (folder / "journal/old").mkdir(parents=True)
    kept = made(folder / "kept/one.json")
    assert ran("pgfooting-helper.postrm", tmp_path, "remove").returncode == 0
    assert (folder / "journal/old").is_dir()
    assert ran("pgfooting-helper.postrm", tmp_path, "purge").returncode == 0
    assert (kept.is_file(), (folder / "journal").exists()) == (True, False)
    kept.unlink()
    assert ran("pgfooting-helper.postrm", tmp_path, "purge").returncode == 0
    assert not folder.exists()


def test_byte_code_removed_with_program(tmp_path: Path) -> None:
    tree = tmp_path / "usr/share/pgfooting"
    made(tree / "app/domain/__pycache__/units.cpython-313.pyc")
    foreign = made(tree / "ui/notes.txt")
    assert ran("pgfooting.postrm", tmp_path, "upgrade").returncode == 0
    assert (tree / "app/domain/__pycache__").is_dir()
    assert ran("pgfooting.postrm", tmp_path, "remove").returncode == 0
    assert (foreign.is_file(), (tree / "app").exists()) == (True, False)
    foreign.unlink()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0
    assert not tree.exists()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0


def test_purge_removes_lock_keeps_journal(tmp_path: Path) -> None:
    folder = tmp_path / "var/lib/pgfooting"
    lock = made(folder / "state/machine.lock")
    journal = made(folder / "journal/one.json")
    (folder / "bench").mkdir()
    assert ran("pgfooting.postrm", tmp_path, "remove").returncode == 0
    assert lock.is_file()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0
    assert [path.name for path in folder.iterdir()] == ["journal"]
    journal.unlink()
    journal.parent.rmdir()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0
    assert not folder.exists()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0


def test_purge_keeps_lock_of_running_campaign(tmp_path: Path) -> None:
    """One from a checkout, of root's: without its file a second campaign would measure beside it."""
    lock = made(tmp_path / "var/lib/pgfooting/state/machine.lock")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0
        assert lock.is_file()
    assert ran("pgfooting.postrm", tmp_path, "purge").returncode == 0
    assert not lock.parent.exists()


@pytest.mark.parametrize("package", ["pgfooting", "pgfooting-helper"])
def test_lintian_overrides_have_reasons(package: str) -> None:
    lines = (DEBIAN / f"{package}.lintian-overrides").read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        assert line.startswith("# ") or (line.startswith(f"{package}: ") and before.startswith("# ")), line
