"""What the helper's processes leave and show to others: modes of files, arguments of programs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.domain.text import GIB
from app.helper.base.audit import STATE, make_private_folder
from app.helper.storage.control_groups import hierarchy
from tests.disks.helper_owner import NOBODY, Owner, client, plan_of
from tests.fix_helper import Running, journaled

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")


@contextmanager
def open_umask() -> Iterator[None]:
    """Let what is started now begin with a umask that forbids nothing."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    found = path.lstat()
    assert found.st_uid == 0, path
    return stat.S_IMODE(found.st_mode)


CAMPAIGNS = "state"
"""Where campaigns that root starts keep theirs: nothing of the helper's (tests before this one may have)."""


def files_of_root(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def test_file_modes_under_any_umask(installed_helper: None, make_loop: Callable[..., str]) -> None:
    disk = make_loop(1 * GIB, partscan=True)
    with open_umask():
        running = Running()
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    assert "\nUmask:\t0077\n" in status
    began_s = running.log.stat().st_mtime
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        storage = Path(owner.make())
        session = storage.parent
        assert [mode(path) for path in (RUN, session)] == [0o711, 0o755]
        assert mode(RUN / "lock") == 0o600
        assert [mode(path) for path in journaled()] == [0o600]
        for path in (storage, session / "private"):
            found = path.stat()
            assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (NOBODY, 0o700)
        owner.release()
    running.end()
    ours = [folder for folder in STATE.iterdir() if folder.name != CAMPAIGNS]
    written = [path for path in files_of_root(*ours) if path.lstat().st_mtime >= began_s - 60]
    folders = {path.parent.name for path in written}
    assert {"disks", "signatures"} <= folders, "a record of the release, and what was wiped"
    assert {mode(path) for path in written} == {0o600}
    assert mode(STATE / "journal") == 0o700


def test_handles_absent_from_arguments_and_environment(
    installed_helper: None, make_loop: Callable[..., str], tmp_path: Path
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    started = tmp_path / "started"
    running = Running(environment={"TEST_STARTED_PROGRAMS": str(started)})
    with client() as connection:
        owner = Owner(connection)
        plan_id, _, digest = owner.describe(plan_of(disk))
        (owner.session,) = connection.call("Execute", "(ssu)", plan_id, digest, NOBODY)
        owner.make()
        server = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "--no-new-privs", "sleep", "1000"]
        )
        try:
            if hierarchy() is not None:
                owner.call("Adopt", "su", "server", server.pid)
        finally:
            server.kill()
            server.wait()
        owner.call("DropCaches")
        owner.call("Health")
        owner.unmake()
        owner.release()
    running.end()
    programs = [json.loads(line) for line in started.read_text().splitlines()]
    names = {Path(argv[0]).name for argv, _ in programs}
    assert {"sfdisk", "mkfs.ext4", "mount", "umount", "sync", "wipefs"} <= names, names
    words = [word for argv, environment in programs for word in (*argv, *environment)]
    for secret in (owner.session, plan_id):
        assert not [word for word in words if secret in word]


def test_shared_folder_holds_no_root_files(tmp_path: Path) -> None:
    inner = tmp_path / "made" / "new"
    make_private_folder(inner, 0o711)
    assert mode(inner) == 0o711
    for name, spoil in (
        ("another's", lambda path: os.chown(path, NOBODY, 0)),
        ("writable", lambda path: path.chmod(0o777)),
        ("of a group", lambda path: path.chmod(0o775)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        spoil(folder)
        with pytest.raises(PermissionError):
            make_private_folder(folder, 0o700)
    (tmp_path / "link").symlink_to(inner)
    with pytest.raises(PermissionError):
        make_private_folder(tmp_path / "link", 0o700)
    assert mode(inner) == 0o711, "nor changed"
