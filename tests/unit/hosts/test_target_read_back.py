"""What was chosen for a target is read back on the server's process and on its files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.domain.campaign.configuration import GroupChoice
from app.domain.errors import TargetError
from app.domain.options.raid import Level
from app.domain.text import GIB, MIB
from app.hosts import own_server
from app.hosts.own_server import check_file_attributes, check_memory_limit, check_wal_directory
from app.probes.facts.files import attributes_of

SCOPE = "pgfooting.slice/pgfooting-1.slice/pgfooting-1-server.scope"
PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose process 77 is in the scope of a run."""
    (tmp_path / "proc/77").mkdir(parents=True)
    (tmp_path / "proc/77/cgroup").write_text(f"0::/{SCOPE}\n")
    (tmp_path / "sys/fs/cgroup" / SCOPE).mkdir(parents=True)
    limit(tmp_path, SCOPE, "max")
    return tmp_path


def limit(root: Path, group: str, text: str) -> None:
    (root / "sys/fs/cgroup" / group / "memory.max").write_text(f"{text}\n")


@pytest.mark.parametrize("asked", [GIB, GIB + 1, GIB + PAGE - 1])
def test_session_limit_in_whole_pages(root: Path, asked: int) -> None:
    limit(root, "pgfooting.slice/pgfooting-1.slice", str(GIB))
    check_memory_limit(asked, 77, root)


@pytest.mark.parametrize(
    ("group", "text", "expected"),
    [
        ("pgfooting.slice/pgfooting-1.slice", "max", "any amount of memory instead of 1 GiB"),
        ("pgfooting.slice/pgfooting-1.slice", str(2 * GIB), "2 GiB"),
        ("pgfooting.slice/pgfooting-1.slice", str(GIB + PAGE), f"({GIB + PAGE} bytes) of memory instead of"),
        ("pgfooting.slice/pgfooting-1.slice", str(GIB - PAGE), f"({GIB - PAGE} bytes) of memory instead of"),
        ("", str(512 * MIB), "512 MiB"),
        ("pgfooting.slice/pgfooting-1.slice", "nonsense", "any amount"),
    ],
)
def test_another_limit_is_told_with_both_values(root: Path, group: str, text: str, expected: str) -> None:
    if group == "":
        limit(root, "pgfooting.slice/pgfooting-1.slice", str(GIB))
    limit(root, group, text)
    with pytest.raises(TargetError) as caught:
        check_memory_limit(GIB, 77, root)
    assert expected in caught.value.message
    assert f"1 GiB ({GIB} bytes). Nothing was measured." in caught.value.message


def test_server_outside_of_limited_group(root: Path) -> None:
    limit(root, "pgfooting.slice/pgfooting-1.slice", str(GIB))
    (root / "proc/77/cgroup").write_text("0::/user.slice/session-2.scope\n")
    with pytest.raises(TargetError, match="any amount"):
        check_memory_limit(GIB, 77, root)


@pytest.mark.parametrize("gone", ["proc/77/cgroup", f"sys/fs/cgroup/{SCOPE}/memory.max"])
def test_unreadable_limit_proves_nothing(root: Path, gone: str) -> None:
    (root / gone).unlink()
    with pytest.raises(TargetError, match="any amount"):
        check_memory_limit(GIB, 77, root)


# --- where the WAL lies


def test_the_wal_lies_where_it_was_to(tmp_path: Path) -> None:
    data, apart = tmp_path / "data", tmp_path / "wal/pg_wal"
    data.mkdir()
    apart.mkdir(parents=True)
    (data / "pg_wal").symlink_to(apart)
    check_wal_directory(str(data), str(apart))
    with pytest.raises(TargetError, match=rf"found in {apart} instead of {data}/pg_wal"):
        check_wal_directory(str(data), "")
    (data / "pg_wal").unlink()
    with pytest.raises(FileNotFoundError):
        check_wal_directory(str(data), "")
    (data / "pg_wal").mkdir()
    check_wal_directory(str(data), "")
    with pytest.raises(TargetError, match=rf"found in {data}/pg_wal instead of {apart}"):
        check_wal_directory(str(data), str(apart))


# --- attributes of files


def btrfs(**options: bool | str) -> GroupChoice:
    return GroupChoice(("A",), Level.SINGLE, "btrfs", options=tuple(options.items()))


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What files have, by name; the test says it."""
    found: dict[str, str] = {}
    monkeypatch.setattr(own_server, "attributes_of", lambda path: frozenset(found[path.name]))
    return found


FILES = (Path("/data/base/5/16384"), Path("/data/base/5/16385"))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, ""),
        ({"nocow_attribute": True}, "C"),
        ({"datacow": False}, "C"),
        ({"datacow": False, "nocow_attribute": False}, "C"),
        ({"datacow": True, "nocow_attribute": False}, ""),
        ({"compress": "zstd:3"}, ""),
    ],
)
def test_file_attributes_against_options(
    letters: dict[str, str], options: dict[str, bool | str], wanted: str
) -> None:
    letters |= dict.fromkeys(("16384", "16385"), wanted)
    assert check_file_attributes(btrfs(**options), FILES) == ()
    other = "" if wanted else "C"
    letters["16385"] = other
    with pytest.raises(TargetError) as caught:
        check_file_attributes(btrfs(**options), FILES)
    text = f"1 files on btrfs have the attributes “{other or '-'}” instead of “{wanted or '-'}”"
    assert text in caught.value.message
    assert "such as 16385. Nothing was measured." in caught.value.message


def test_a_preset_counts_as_its_options(letters: dict[str, str]) -> None:
    letters |= dict.fromkeys(("16384", "16385"), "")
    group = GroupChoice(("A",), Level.SINGLE, "btrfs", preset="2011-nodatacow")
    with pytest.raises(TargetError, match="instead of “C”"):
        check_file_attributes(group, FILES)


def test_filesystem_without_attribute_options(letters: dict[str, str]) -> None:
    assert not letters
    assert check_file_attributes(GroupChoice(("A",), Level.SINGLE, "ext4"), FILES) == ()


def test_unknown_attributes_are_not_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> frozenset[str]:
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY), str(path))

    monkeypatch.setattr(own_server, "attributes_of", refuse)
    (found,) = check_file_attributes(btrfs(datacow=False), FILES)
    assert found.startswith("File attributes on btrfs cannot be verified (Inappropriate ioctl")


def test_links_and_non_files_have_no_attributes(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for name, number in (("link", errno.ELOOP), ("pipe", errno.EINVAL), ("none", errno.ENOENT)):
        with pytest.raises(OSError, match=name) as caught:
            attributes_of(tmp_path / name)
        assert caught.value.errno == number, name
