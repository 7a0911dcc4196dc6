"""Making, examining and deleting folders by descriptor."""

from __future__ import annotations

import ast
import errno
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import TOP
from app.hosts.folders.descriptors import (
    FileIdentity,
    Removal,
    identity_of,
    make_folder,
    opened,
    remove,
    strictly,
    write_file,
)
from app.hosts.folders.folder_access import FolderFacts, Obstacle, examine
from app.hosts.folders.own_folders import of_an_account
from tests.house import modules, source_of, tree_of
from tests.unit.hosts.mounts import in_own_mounts, needs_mounts

identities = st.builds(FileIdentity, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


def identity_at(path: Path) -> FileIdentity:
    with opened(str(path), os.O_RDONLY) as descriptor:
        return identity_of(descriptor)


def taken(path: Path, identity: FileIdentity | None) -> Removal:
    return remove(str(path), identity, same_boot=True, volatile=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A resolved folder with something in it."""
    path = Path(os.path.realpath(tmp_path)) / "ours"
    (path / "base" / "1").mkdir(parents=True)
    (path / "base" / "1" / "1259").write_bytes(b"x")
    (path / "postmaster.pid").write_bytes(b"1")
    return path


# --- identity


@given(one=identities, other=identities)
def test_same_boot_compares_device_and_inode(one: FileIdentity, other: FileIdentity) -> None:
    expected = (one.device, one.inode) == (other.device, other.inode)
    assert one.is_same(other, same_boot=True) is expected


@given(one=identities, other=identities)
def test_after_reboot_only_inode_must_match(one: FileIdentity, other: FileIdentity) -> None:
    same = one.is_same(other, same_boot=False)
    if one.inode != other.inode:
        assert not same
    elif one.device != other.device:
        assert same is (one.filesystem == other.filesystem != 0)
    else:
        assert same


# --- reaching


def test_symbolic_link_on_the_way(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    with pytest.raises(NotADirectoryError) as caught, strictly(str(link / "base")):
        pass
    assert caught.value.filename == str(link)


@pytest.mark.parametrize("path", ["relative", "/usr/../etc", ""])
def test_only_plain_absolute_paths_are_reached(path: str) -> None:
    with pytest.raises(OSError, match="not an absolute path"), strictly(path):
        pass


# --- making


def test_made_folder_is_private_despite_umask(tmp_path: Path) -> None:
    path = Path(os.path.realpath(tmp_path)) / "new"
    before = os.umask(0o277)
    try:
        identity = make_folder(str(path))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o700
    assert identity == identity_at(path)


def test_existing_folder_is_not_taken_over(folder: Path) -> None:
    with pytest.raises(FileExistsError):
        make_folder(str(folder))


def test_folder_not_made_through_symbolic_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    with pytest.raises(NotADirectoryError):
        make_folder(str(link / "new"))
    assert not (folder / "new").exists()


def test_written_file_is_private_and_never_overwrites(folder: Path) -> None:
    identity = identity_at(folder)
    write_file(str(folder), identity, "script1", b"SELECT 1;")
    assert (folder / "script1").read_bytes() == b"SELECT 1;"
    assert (folder / "script1").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_file(str(folder), identity, "script1", b"")


def test_no_write_into_a_replaced_folder(folder: Path) -> None:
    identity = identity_at(folder)
    folder.rename(folder.with_name("moved"))
    folder.mkdir()
    with pytest.raises(OSError, match="replaced") as caught:
        write_file(str(folder), identity, "script1", b"SELECT 1;")
    assert caught.value.errno == errno.ESTALE
    assert list(folder.iterdir()) == []


# --- removing


def test_folder_is_removed_with_its_content(folder: Path) -> None:
    (folder / "pipe").parent.joinpath("dangling").symlink_to("/nonexistent")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s"))
    assert taken(folder, identity_at(folder)) is Removal.REMOVED
    assert not folder.exists()


def test_symbolic_link_targets_are_untouched(folder: Path) -> None:
    decoy = folder.parent / "decoy"
    decoy.mkdir()
    (decoy / "mine").write_bytes(b"mine")
    (folder / "pg_wal").symlink_to(decoy)
    (folder / "base" / "file").symlink_to(decoy / "mine")
    assert taken(folder, identity_at(folder)) is Removal.REMOVED
    assert (decoy / "mine").read_bytes() == b"mine"


def test_symbolic_link_in_place_of_folder(folder: Path) -> None:
    identity = identity_at(folder)
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.symlink_to(moved)
    assert taken(folder, identity) is Removal.FOREIGN
    assert folder.is_symlink()
    assert (moved / "base" / "1" / "1259").exists()


def test_another_folder_of_same_name_is_left(folder: Path) -> None:
    identity = identity_at(folder)
    folder.rename(folder.with_name("moved"))
    folder.mkdir()
    (folder / "mine").write_bytes(b"mine")
    assert taken(folder, identity) is Removal.FOREIGN
    assert (folder / "mine").exists()
    assert (folder.with_name("moved") / "postmaster.pid").exists()


def test_file_in_place_of_folder_is_left(folder: Path) -> None:
    identity = identity_at(folder)
    folder.rename(folder.with_name("moved"))
    folder.write_bytes(b"mine")
    assert taken(folder, identity) is Removal.FOREIGN
    assert folder.read_bytes() == b"mine"


def test_parent_replaced_by_symbolic_link(folder: Path) -> None:
    inner = folder / "base"
    identity = identity_at(inner)
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.symlink_to(moved)
    assert taken(inner, identity) is Removal.FOREIGN
    assert (moved / "base" / "1").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_owner_is_left(folder: Path) -> None:
    identity = identity_at(folder)
    os.chown(folder, 65534, 65534)
    assert taken(folder, identity) is Removal.FOREIGN
    assert (folder / "postmaster.pid").exists()


def test_a_folder_that_is_gone_is_gone(folder: Path) -> None:
    identity = identity_at(folder)
    assert taken(folder / "base" / "none", identity) is Removal.GONE
    assert taken(folder / "no" / "parent", identity) is Removal.GONE


def test_missing_on_unmounted_filesystem_is_absent(folder: Path) -> None:
    elsewhere = replace(identity_at(folder), device=1, filesystem=1)
    assert taken(folder / "none", elsewhere) is Removal.ABSENT


def test_missing_in_memory_is_gone(folder: Path) -> None:
    elsewhere = replace(identity_at(folder), device=1, filesystem=1)
    found = remove(str(folder / "none"), elsewhere, same_boot=False, volatile=True)
    assert found is Removal.GONE


def test_unfinished_folder_removed_only_if_empty(folder: Path) -> None:
    assert taken(folder, None) is Removal.FOREIGN
    assert (folder / "postmaster.pid").exists()
    empty = folder / "empty"
    empty.mkdir()
    assert taken(empty, None) is Removal.REMOVED
    assert taken(empty, None) is Removal.GONE
    assert taken(folder / "postmaster.pid", None) is Removal.FOREIGN


def test_non_folder_with_recorded_identity_is_left(folder: Path) -> None:
    file = folder / "postmaster.pid"
    assert taken(file, identity_at(file)) is Removal.FOREIGN
    assert file.exists()


def test_too_deeply_nested_folder_is_an_error(folder: Path) -> None:
    deep = folder
    for _ in range(120):
        deep /= "d"
        deep.mkdir()
    with pytest.raises(OSError, match="too deep"):
        taken(folder, identity_at(folder))


MOUNTED = """
import os, subprocess, sys
from app.hosts.folders.descriptors import identity_of, opened
from app.hosts.folders.descriptors import remove
folder = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", f"{folder}/base/1"], check=True)
open(f"{folder}/base/1/mine", "w").close()
with opened(folder, os.O_RDONLY) as descriptor:
    identity = identity_of(descriptor)
try:
    remove(folder, identity, same_boot=True, volatile=False)
except OSError as err:
    print(err.strerror, os.listdir(f"{folder}/base/1"))
"""


@needs_mounts
def test_filesystem_mounted_inside_is_not_emptied(folder: Path) -> None:
    assert in_own_mounts(MOUNTED, str(folder)) == "another filesystem is mounted there ['mine']\n"
    assert (folder / "base" / "1" / "1259").exists()


# --- examining


def test_a_reachable_folder_tells_its_facts(folder: Path) -> None:
    found = examine(str(folder))
    assert isinstance(found, FolderFacts)
    assert found.identity == identity_at(folder)
    assert found.writable
    assert not found.read_only
    assert 0 < found.free_bytes <= found.total_bytes
    assert found.cluster is None


def test_missing_component_is_named(folder: Path) -> None:
    assert examine(str(folder / "a" / "b")) == Obstacle(errno.ENOENT, str(folder / "a"))


def test_component_that_is_no_folder_is_named(folder: Path) -> None:
    found = examine(str(folder / "postmaster.pid" / "x"))
    assert isinstance(found, Obstacle)
    assert (found.number, found.component) == (errno.ENOTDIR, str(folder / "postmaster.pid"))


def test_a_data_directory_is_recognised_from_inside(folder: Path) -> None:
    (folder / "PG_VERSION").write_text("15\n", encoding="ascii")
    found = examine(str(folder / "base" / "1"))
    assert isinstance(found, FolderFacts)
    assert found.cluster == str(folder)


@pytest.mark.parametrize(("uid", "hint"), [(0, "free some space"), (1000, "set XDG_STATE_HOME")])
def test_f24_hint_of_root(monkeypatch: pytest.MonkeyPatch, uid: int, hint: str) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    assert of_an_account("set XDG_STATE_HOME", root="free some space") == hint


def test_f24_hints_that_name_variables() -> None:
    """Each of them goes through `of_an_account`."""
    named = {
        (path.name, node.value)
        for path in (TOP / "app").rglob("*.py")
        if "XDG_" in source_of(path)
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.keyword) and call.arg == "hint"
        for node in ast.walk(call.value)
        if isinstance(node, ast.Constant) and "XDG_" in str(node.value)
        if "of_an_account" not in ast.unparse(call.value)
    }
    assert named == set()


# --- who calls them


FOR_OTHERS = {
    "app.hosts.folders": ("descriptors.remove", "descriptors.make_folder", "descriptors.write_file"),
    "app.hosts": ("folders.folder_access.examine", "folders.leftover_servers.end_servers"),
    "app.hosts.templates.tree": ("timed_copy", "copy_tree", "digest_stopped", "empty_copy", "publish"),
    "app.postgres": ("data_files.write_files",),
}


def test_called_only_as_their_account() -> None:
    """Root would act where a link of the folder's owner leads: `as_account` alone calls these."""
    functions = {f"{where}.{name}" for where, names in FOR_OTHERS.items() for name in names}
    named: set[tuple[str, str]] = set()
    called: set[tuple[str, str]] = set()
    for name, path in modules().items():
        if not any(each.rsplit(".", 2)[1] in source_of(path) for each in functions):  # the others import none
            continue
        nodes = list(ast.walk(tree_of(path)))
        origins = {
            each.asname or each.name: f"{one.module}.{each.name}"
            for one in nodes
            if isinstance(one, ast.ImportFrom)
            for each in one.names
        }
        for node in nodes:
            if isinstance(node, ast.Call):
                for each in (node.func, *node.args[:1]):
                    head, dot, rest = ast.unparse(each).partition(".")
                    if (found := f"{origins.get(head)}{dot}{rest}") in functions:
                        (called if each is node.func else named).add((found, name))
    assert not called
    assert {function for function, _ in named} == functions - {"app.hosts.templates.tree.copy_tree"}
