from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from app.domain.errors import FootingError, RefusedError, UsageError
from app.runfile.output_file import check_output, write_output


def write_new(stream: BinaryIO) -> None:
    stream.write(b"new")


def test_new_file_permissions(tmp_path: Path) -> None:
    write_output(tmp_path / "out", write_new)
    (tmp_path / "other").touch()
    assert (tmp_path / "out").read_bytes() == b"new"
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_existing_file_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(RefusedError, match="already") as caught:
        check_output(tmp_path / "out", replace=False)
    assert "--force" in caught.value.hint
    assert (tmp_path / "out").read_text() == "old"


def test_replaced_file_keeps_permissions(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    (tmp_path / "out").chmod(0o640)
    check_output(tmp_path / "out", replace=True)
    write_output(tmp_path / "out", write_new)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


@pytest.mark.parametrize("replace", [True, False])
def test_not_regular_file_refused(tmp_path: Path, *, replace: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a regular file"):
        check_output(tmp_path / "pipe", replace=replace)
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, replace=replace)
    with pytest.raises(UsageError, match="is not a regular file"):
        check_output(Path("/dev/null"), replace=replace)


def test_missing_folder_and_invalid_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        check_output(tmp_path / "no" / "out", replace=False)
    with pytest.raises(UsageError, match="cannot be written"):
        check_output(tmp_path / "nul\0", replace=False)
    with pytest.raises(FootingError, match="cannot be written"):
        check_output(tmp_path / ("x" * 300), replace=False)


def test_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")

    def fail(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FootingError, match="No space left"):
        write_output(tmp_path / "out", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_output(tmp_path / "link", write_new)
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()
