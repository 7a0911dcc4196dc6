"""Digests of campaigns that a person agreed to: kept in the user's own folder, believed from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.domain.errors import UsageError
from app.library.trusted_campaigns import is_trusted, trust, trusted_folder

ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def _mode(path: Path) -> int:
    return path.lstat().st_mode & 0o7777


def test_trusted_digest_only(data_home: Path) -> None:
    assert not is_trusted(ONE)
    assert not data_home.exists()  # asking makes nothing
    trust(ONE)
    trust(ONE)
    assert is_trusted(ONE)
    assert not is_trusted(TWO)
    assert trusted_folder() == data_home / "pgfooting" / "trusted"
    assert [_mode(path) for path in (trusted_folder().parent, trusted_folder())] == [0o700, 0o700]
    assert [_mode(path) for path in trusted_folder().iterdir()] == [0o600]


@pytest.mark.parametrize(
    "digest", ["", "..", "../x", ".", "1" * 63, "1" * 65, "A" * 64, "1" * 63 + "\n", "1" * 64 + "\n"]
)
def test_what_is_no_digest_is_never_known(digest: str) -> None:
    trust(ONE)
    assert not is_trusted(digest)


def _folder() -> Path:
    trusted_folder().mkdir(mode=0o700, parents=True)
    return trusted_folder()


def _symlink_to_file(folder: Path) -> None:
    (folder / "other").touch(mode=0o600)
    (folder / ONE).symlink_to("other")


def _hard_link(folder: Path) -> None:
    (folder / "other").touch(mode=0o600)
    (folder / ONE).hardlink_to(folder / "other")


def _a_folder(folder: Path) -> None:
    (folder / ONE).mkdir(mode=0o700)


def _a_fifo(folder: Path) -> None:
    os.mkfifo(folder / ONE, 0o600)


def _readable_by_others(folder: Path) -> None:
    (folder / ONE).touch()
    (folder / ONE).chmod(0o644)


def _writable_by_others(folder: Path) -> None:
    (folder / ONE).touch()
    (folder / ONE).chmod(0o622)


def _of_another_user(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (folder / ONE).touch(mode=0o600)
    os.chown(folder / ONE, 65534, 65534)


PLANTED = [
    _symlink_to_file,
    _hard_link,
    _a_folder,
    _a_fifo,
    _readable_by_others,
    _writable_by_others,
    _of_another_user,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_consent_ignored(plant: Callable[[Path], None]) -> None:
    plant(_folder())
    assert not is_trusted(ONE)


@pytest.mark.parametrize("plant", [plant for plant in PLANTED if plant is not _a_folder])
def test_consent_replaces_what_was_planted(plant: Callable[[Path], None]) -> None:
    plant(_folder())
    trust(ONE)
    assert is_trusted(ONE)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o750, 0o705])
def test_reachable_folder_not_trusted(mode: int) -> None:
    folder = _folder()
    trust(ONE)
    folder.chmod(mode)
    assert not is_trusted(ONE)
    with pytest.raises(UsageError, match="cannot be stored"):
        trust(TWO)
    assert [path.name for path in folder.iterdir()] == [ONE]


def test_symlinked_folder_not_followed(tmp_path: Path) -> None:
    trust(ONE)
    trusted_folder().rename(tmp_path / "elsewhere")
    trusted_folder().symlink_to(tmp_path / "elsewhere")
    assert not is_trusted(ONE)
    with pytest.raises(UsageError, match="cannot be stored"):
        trust(TWO)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == [ONE]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_foreign_folder_not_trusted_by_root() -> None:
    trust(ONE)
    os.chown(trusted_folder(), 65534, 65534)
    assert not is_trusted(ONE)
    with pytest.raises(UsageError, match="cannot be stored"):
        trust(TWO)


def test_file_instead_of_folder(data_home: Path) -> None:
    data_home.mkdir()
    (data_home / "pgfooting").touch()
    assert not is_trusted(ONE)
    with pytest.raises(UsageError, match="cannot be stored"):
        trust(ONE)


def test_many_agree_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(trust, [ONE, TWO] * 20))
    assert (is_trusted(ONE), is_trusted(TWO)) == (True, True)
