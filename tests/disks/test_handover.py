"""A fresh filesystem is handed to its user, and nothing else ever is: real mounts, in a namespace."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.helper.storage.ownership import give_folder
from tests.disks.helper_owner import NOBODY

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount and give away"),
]

OTHER = 1
Mount = Callable[..., Path]


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@pytest.fixture
def mount(system_namespace: None, tmp_path: Path) -> Iterator[Mount]:
    """A function that mounts a filesystem in a new folder and returns that."""
    with ExitStack() as stack:

        def mount(name: str, uid: int = 0) -> Path:
            folder = tmp_path / name
            folder.mkdir()
            run("mount", "-t", "tmpfs", "-o", f"uid={uid},mode=755", "tmpfs", str(folder))
            stack.callback(run, "umount", str(folder))
            return folder

        yield mount


def of(path: Path) -> tuple[int, int, int]:
    """Owner, group and mode."""
    found = path.lstat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def test_root_mount_folder_given_not_contents(mount: Mount) -> None:
    folder = mount("storage")
    below = folder / "lost+found"
    below.mkdir(mode=0o700)
    give_folder(str(folder), NOBODY, NOBODY)
    assert (of(folder), of(below)) == ((NOBODY, NOBODY, 0o700), (0, 0, 0o700))


def test_link_to_mount_not_followed(mount: Mount, tmp_path: Path) -> None:
    folder, link = mount("of the machine"), tmp_path / "storage"
    link.symlink_to(folder)
    before = of(folder), of(link)
    with pytest.raises(OSError, match="storage"):
        give_folder(str(link), NOBODY, NOBODY)
    assert (of(folder), of(link)) == before


def test_plain_folder_not_given(system_namespace: None, tmp_path: Path) -> None:
    folder = tmp_path / "storage"
    folder.mkdir(mode=0o755)
    before = of(folder)
    with pytest.raises(PermissionError):
        give_folder(str(folder), NOBODY, NOBODY)
    assert of(folder) == before


def test_owned_mount_not_given_to_another(mount: Mount) -> None:
    folder = mount("storage", uid=OTHER)
    before = of(folder)
    with pytest.raises(PermissionError):
        give_folder(str(folder), NOBODY, NOBODY)
    assert of(folder) == before
