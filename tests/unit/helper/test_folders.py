"""A folder of root's is root's alone, or nothing of it is believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.helper.base.audit import make_private_folder
from app.helper.storage.journal import Journal

NOBODY = 65534


@pytest.mark.parametrize("mode", [0o700, 0o711])
def test_folder_is_made_with_its_mode(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        make_private_folder(folder, mode)
        assert folder.stat().st_mode & 0o7777 == mode
        folder.chmod(0o755)


@pytest.mark.parametrize("how", ["a link", "of somebody else", "writable by a group", "writable by all"])
def test_folder_writable_by_others_is_refused(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "folder"
    match how:
        case "a link":
            (tmp_path / "other").mkdir()
            folder.symlink_to(tmp_path / "other")
        case "of somebody else":
            if os.geteuid() != 0:
                pytest.skip("only root can give a folder away")
            folder.mkdir()
            os.chown(folder, NOBODY, -1)
        case _:
            folder.mkdir()
            folder.chmod(0o770 if how == "writable by a group" else 0o707)
    for use in (lambda: make_private_folder(folder, 0o700), Journal(folder).entries):
        with pytest.raises(PermissionError, match="not root's alone"):
            use()
