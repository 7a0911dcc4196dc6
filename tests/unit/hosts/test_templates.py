"""Templates of data sets: what tells them apart, the stream that is copied, the folder that keeps them."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.domain.errors import RefusedError, TargetError
from app.hosts.folders import own_folders
from app.hosts.folders.targets import CheckedTarget
from app.hosts.templates.making import DataSetOrder, copy_template
from app.hosts.templates.store import (
    MANIFEST,
    WORKING_BYTES,
    Template,
    TemplateKey,
    TemplateStore,
    format_manifest,
    key_as_mapping,
    parse_manifest,
    read_key,
    template_name,
    why_no_room,
    why_not_beside,
)
from app.hosts.templates.tree import (
    DamagedTemplateError,
    copy_tree,
    digest_tree,
    empty_copy,
)
from app.postgres.installations.installation import Installation
from app.process.starter import current_account, unrecorded

KEY = TemplateKey(
    server="a" * 64,
    initdb="b" * 64,
    pgbench="c" * 64,
    version="15.18",
    page_bytes=8192,
    checksums=True,
    scale=10,
    compressibility=None,
    superuser=False,
    recipe="d" * 64,
)


# --- the key ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in fields(TemplateKey)])
def test_every_key_part_makes_another_template(name: str) -> None:
    value = getattr(KEY, name)
    other: Any = {str: f"{value}0", int: 2, bool: not value, type(None): 2.0}[type(value)]
    assert replace(KEY, **{name: other}).id != KEY.id
    assert template_name(replace(KEY, **{name: other})) != template_name(KEY)
    assert read_key(key_as_mapping(replace(KEY, **{name: other}))) == replace(KEY, **{name: other})


@pytest.fixture
def order(tmp_path: Path) -> DataSetOrder:
    for name in ("postgres", "initdb", "pgbench"):
        (tmp_path / name).write_text(name)
    installation = Installation(str(tmp_path), "15.18", 15, block_size=8192)
    return DataSetOrder(
        installation, checksums=True, scale=10, compressibility=None, superuser=False, data_bytes=1
    )


def _with_program(order: DataSetOrder, name: str) -> DataSetOrder:
    Path(order.installation.program(name)).write_text("another build")
    return order


def test_other_order_is_another_template(order: DataSetOrder) -> None:
    key = order.key()
    others: dict[str, object] = {
        "installation": replace(order.installation, block_size=4096),
        "checksums": False,
        "scale": 11,
        "compressibility": 2.0,
        "superuser": True,
    }
    assert set(others) == {each.name for each in fields(DataSetOrder)} - {"data_bytes"}
    for name, value in others.items():
        assert replace(order, **{name: value}).key().id != key.id, name  # type: ignore[arg-type]
    assert replace(order, data_bytes=2).key() == key
    for name in ("postgres", "initdb", "pgbench"):
        before = order.key().id
        assert _with_program(order, name).key().id != before, name


@pytest.mark.parametrize("name", [each.name for each in fields(TemplateKey)])
def test_key_with_missing_or_extra_parts(name: str) -> None:
    values = asdict(KEY)
    wrongs: list[object] = [[], {}, "x" if not isinstance(values[name], str) else 3]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"."):
            read_key({**values, name: wrong})
    with pytest.raises(ValueError, match="other fields"):
        read_key({key: value for key, value in values.items() if key != name})
    with pytest.raises(ValueError, match="other fields"):
        read_key({**values, "another": 1})


# --- the stream ------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "base" / "5").mkdir(parents=True)
    (folder / "base" / "5" / "16384").write_bytes(os.urandom(3_000_000))
    (folder / "base" / "5" / "empty").touch()
    (folder / "pg_wal" / "archive_status").mkdir(parents=True)
    (folder / "pg_wal" / f"{1:024X}").write_bytes(bytes(1_000_000))
    (folder / "PG_VERSION").write_text("15\n")
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir(mode=0o700)
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder, links followed: None for a folder."""
    found: dict[str, bytes | None] = {}
    for top, folders, names in os.walk(folder, followlinks=True):
        here = Path(top).relative_to(folder)
        found |= {str(here / name): None for name in folders}
        found |= {str(here / name): Path(top, name).read_bytes() for name in names}
    return found


def test_copy_is_complete_and_private(source: Path, target: Path) -> None:
    found = copy_tree(str(source), str(target))
    assert found == digest_tree(str(source)) == digest_tree(str(target))
    assert (found.files, found.size_bytes) == (4, 4_000_003)
    assert contents(target) == contents(source)
    for path in target.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_wal_folder_is_linked(source: Path, target: Path, tmp_path: Path) -> None:
    wal = tmp_path / "other" / "pg_wal"
    wal.parent.mkdir()
    found = copy_tree(str(source), str(target), str(wal))
    assert found == digest_tree(str(source))
    assert (target / "pg_wal").readlink() == wal
    assert contents(target) == contents(source)
    empty_copy(str(target), str(wal))
    assert list(target.iterdir()) == []
    assert not wal.exists()
    assert copy_tree(str(source), str(target), str(wal)) == found


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: _flip(folder / "base/5/16384"),
        lambda folder: os.truncate(folder / "PG_VERSION", 2),
        lambda folder: (folder / "base/5/empty").unlink(),
        lambda folder: (folder / "base/5/empty").rename(folder / "base/5/other"),
        lambda folder: (folder / "new").mkdir(),
        lambda folder: (folder / "new").touch(),
    ],
)
def test_any_change_is_another_digest(source: Path, damage: Any) -> None:  # noqa: ANN401
    before = digest_tree(str(source))
    damage(source)
    assert digest_tree(str(source)) != before


@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe"])
def test_template_with_links_or_devices(source: Path, target: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(source / "x")
    else:
        (source / "x").symlink_to("/etc/passwd" if kind == "link" else "/etc")
    with pytest.raises(DamagedTemplateError, match="x: neither a file nor a folder"):
        digest_tree(str(source))
    with pytest.raises(DamagedTemplateError, match="x: neither a file nor a folder"):
        copy_tree(str(source), str(target))


def test_missing_template_is_reported_as_template(tmp_path: Path, target: Path) -> None:
    with pytest.raises(DamagedTemplateError, match="No such file"):
        copy_tree(str(tmp_path / "none"), str(target))


def test_nothing_is_cloned(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("shares extents")

    for name in ("copy_file_range", "sendfile", "splice"):
        monkeypatch.setattr(os, name, refuse, raising=False)
    monkeypatch.setattr("fcntl.ioctl", refuse)
    copy_tree(str(source), str(target))


# --- as the account --------------------------------------------------------------------------------


def template_of(folder: Path) -> Template:
    """A template in a store, as `TemplateMaker` leaves one."""
    made = folder / template_name(KEY)
    (made / "data" / "base").mkdir(parents=True)
    (made / "data" / "base" / "1").write_bytes(os.urandom(100_000))
    found = Template(str(made), KEY, digest_tree(str(made / "data")), 1.8e9, 12.5)
    (made / MANIFEST).write_bytes(format_manifest(found))
    return found


def copied(template: Template, target: Path) -> float:
    return copy_template(template, str(target), "", current_account(), unrecorded).seconds


def test_damaged_template_leaves_nothing(tmp_path: Path, target: Path) -> None:
    template = template_of(tmp_path)
    assert copied(template, target) >= 0
    empty_copy(str(target))
    _flip(Path(template.data_directory, "base", "1"))
    with pytest.raises(DamagedTemplateError, match="its content has changed"):
        copied(template, target)
    assert list(target.iterdir()) == []
    Path(template.data_directory, "base", "2").symlink_to("/etc/passwd")
    with pytest.raises(DamagedTemplateError, match="neither a file nor a folder"):
        copied(template, target)
    assert list(target.iterdir()) == []


def test_full_target_is_reported_as_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("app.hosts.templates.making.as_account", lambda *_: full)
    with pytest.raises(TargetError, match=r"could not be copied to .*: No space left on device"):
        copied(template_of(tmp_path), tmp_path)


# --- the folder ------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> TemplateStore:
    folder = tmp_path / "templates"
    folder.mkdir(mode=0o700)
    return TemplateStore(str(folder), current_account(), unrecorded)


def test_kept_templates_found_listed_and_removed(store: TemplateStore) -> None:
    assert store.find(KEY) is None
    template = template_of(Path(store.folder))
    assert store.find(KEY) == template
    assert store.all() == (template,)
    assert store.unknown() == ()
    store.remove(template.folder)
    assert store.all() == ()
    assert list(Path(store.folder).iterdir()) == []


def test_what_is_being_made_counts_as_nothing(store: TemplateStore) -> None:
    template = template_of(Path(store.folder))
    Path(template.folder).rename(f"{store.folder}/pgfooting-{'0' * 16}")
    assert store.find(KEY) is None
    assert (store.all(), store.unknown()) == ((), ())
    with pytest.raises(RefusedError, match="is not a template"):
        store.remove(f"{store.folder}/pgfooting-{'0' * 16}")


@pytest.mark.parametrize("outside", ["/etc", "/", "..", "data-0123456789abcdef"])
def test_nothing_else_is_removed(store: TemplateStore, outside: str, tmp_path: Path) -> None:
    (tmp_path / "data-0123456789abcdef").mkdir()
    with pytest.raises(RefusedError, match="is not a template"):
        store.remove(outside if outside.startswith("/") else str(tmp_path / outside))
    assert (tmp_path / "data-0123456789abcdef").is_dir()


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"[",
        lambda _: b"[]",
        lambda _: b"3",
        lambda _: b"\xff\xfe",
        lambda values: {**values, "format": 2},
        lambda values: {**values, "sha256": "0"},
        lambda values: {**values, "files": -1},
        lambda values: {**values, "files": True},
        lambda values: {**values, "size_bytes": 1.5},
        lambda values: {**values, "seconds": float("nan")},
        lambda values: {**values, "key": []},
        lambda values: {**values, "key": {**values["key"], "scale": 11}},
        lambda values: {name: value for name, value in values.items() if name != "made_epoch_s"},
    ],
)
def test_unidentified_template_can_be_removed(
    store: TemplateStore,
    change: Any,  # noqa: ANN401
) -> None:
    template = template_of(Path(store.folder))
    manifest = Path(template.folder, MANIFEST)
    changed = change(json.loads(manifest.read_text()))
    manifest.write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())
    assert store.find(KEY) is None
    assert store.unknown() == (template.folder,)
    with pytest.raises(ValueError, match=r"."):
        parse_manifest(template.folder, manifest.read_bytes())
    store.remove(template.folder)
    assert store.unknown() == ()


def test_description_is_not_read_through_link(store: TemplateStore, tmp_path: Path) -> None:
    template = template_of(Path(store.folder))
    manifest = Path(template.folder, MANIFEST)
    manifest.rename(tmp_path / "elsewhere")
    manifest.symlink_to(tmp_path / "elsewhere")
    assert store.find(KEY) is None
    manifest.unlink()
    os.mkfifo(manifest)
    assert store.find(KEY) is None


def test_command_lists_and_removes(
    store: TemplateStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(own_folders.TEMPLATES_VARIABLE, store.folder)
    monkeypatch.setattr("app.cli.commands.templates.server_account", lambda _: current_account())
    monkeypatch.setattr("app.cli.commands.templates.sweep_abandoned", lambda: ())
    template = template_of(Path(store.folder))
    (Path(store.folder) / f"data-{'0' * 16}").mkdir()
    assert main(["templates", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in output["templates"]] == [KEY.id]
    assert output["unknown"] == [f"{store.folder}/data-{'0' * 16}"]
    assert main(["templates"]) == 0
    assert KEY.id in capsys.readouterr().out
    assert main(["templates", "--remove", "f" * 16]) == 2
    assert "There is no data set ffffffffffffffff" in capsys.readouterr().err
    with store.locked():
        assert main(["templates", "--remove", KEY.id]) == 1
    assert "A campaign is using" in capsys.readouterr().err
    assert store.find(KEY) == template
    assert main(["templates", "--remove", KEY.id]) == 0
    assert store.find(KEY) is None
    assert main(["templates", "--remove", "all"]) == 0
    assert list(Path(store.folder).iterdir()) == []


def test_only_one_holds_the_folder(store: TemplateStore) -> None:
    with store.locked() as first:
        assert first
        with store.locked() as second:
            assert not second
    with store.locked() as third:
        assert third


# --- where it lies ---------------------------------------------------------------------------------


def test_template_folder_on_tested_storage(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    found = why_not_beside(str(tmp_path), CheckedTarget(str(beside), "", 1))
    assert "is on the storage under test" in found
    assert why_not_beside("/dev/shm", CheckedTarget("/dev/shm", "", 1))
    assert why_not_beside(str(tmp_path), CheckedTarget("/dev/shm", "", 1)) == ""
    gone = why_not_beside(str(tmp_path / "none"), CheckedTarget(str(beside), "", 1))
    assert "cannot be determined" in gone


def test_room_for_data_and_its_creation(tmp_path: Path) -> None:
    volume = os.statvfs(tmp_path)
    free = volume.f_bavail * volume.f_frsize
    assert why_no_room(str(tmp_path), 0) == "" or free < WORKING_BYTES
    assert "a template needs" in why_no_room(str(tmp_path), 2 * free)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's folder needs root")
@pytest.mark.parametrize("spoiled", ["theirs", "writable", "link", "link inside"])
def test_templates_of_root_below_anothers_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: str
) -> None:
    theirs, victim = tmp_path / "theirs", tmp_path / "victim"
    victim.mkdir(mode=0o700)
    if spoiled == "link":
        theirs.symlink_to(tmp_path)
    else:
        theirs.mkdir(mode=0o700)
    if spoiled == "theirs":
        os.chown(theirs, 65534, 65534)
    elif spoiled == "writable":
        theirs.chmod(0o777)
    elif spoiled == "link inside":
        (theirs / "new").symlink_to(victim)
    monkeypatch.setenv(own_folders.TEMPLATES_VARIABLE, str(theirs / "new"))
    with pytest.raises((RefusedError, OSError)):
        own_folders.create_templates_folder(replace(current_account(), uid=101, gid=101))
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o777) == (0, 0o700)
    assert not (theirs / "new").is_dir() or spoiled == "link inside"


def test_folder_private_refused_if_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own_folders.TEMPLATES_VARIABLE, str(tmp_path / "a" / "b"))
    path = own_folders.create_templates_folder(current_account())
    assert path == own_folders.templates_folder(current_account()) == str(tmp_path / "a" / "b")
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o700
    Path(path).chmod(0o770)
    with pytest.raises(RefusedError, match="does not belong to"):
        own_folders.create_templates_folder(current_account())
    monkeypatch.setenv(own_folders.TEMPLATES_VARIABLE, "relative")
    assert "relative" not in own_folders.templates_folder(current_account())
