from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from app.domain.errors import InstallationError
from app.postgres.installations import installation as examination
from app.postgres.installations import installation as installations
from app.postgres.installations.installation import (
    Family,
    Installation,
    choose_installation,
    describe_installation,
    family_of,
    find_installations,
    fingerprint,
    install_hint,
    parse_version,
)
from app.process.starter import Account, CommandOutcome, current_account, named_account


@pytest.fixture
def account() -> Account:
    """Who is asked to run what is found: this user, and for root somebody else."""
    return named_account("nobody") if os.geteuid() == 0 else current_account()


def _program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def _tree(folder: Path, version: str, *, pgbench: str | None = "", missing: Sequence[str] = ()) -> Path:
    """Make programs that answer like those of a version; the folders are as open as a package's."""
    answers = {
        "postgres": f'case "$1" in -C) echo 8192;; *) echo "postgres (PostgreSQL) {version}";; esac',
        "initdb": "exit 1",
        "pgbench": f'echo "pgbench (PostgreSQL) {pgbench or version}"',
    }
    for name, script in answers.items():
        if name not in missing:
            _program(folder, name, script)
    return folder


@pytest.fixture
def root(open_folder: Path) -> Path:
    """A root folder that the account can enter."""
    open_folder.chmod(0o755)
    return open_folder


@pytest.fixture(autouse=True)
def _package_modes() -> Iterator[None]:
    """Folders made by tests are as open as those of packages, whatever the umask."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _find(account: Account, root: Path, *extra: str, path: str = "") -> tuple[Installation, ...]:
    return find_installations(account, extra, root=root, search_path=path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", ("15.18", 15)),
        ("postgres (PostgreSQL) 18.4", ("18.4", 18)),
        ("pgbench (PostgreSQL) 16.14", ("16.14", 16)),
        ("postgres (PostgreSQL) 19devel", ("19devel", 19)),
        ("postgres (PostgreSQL) 18beta2", ("18beta2", 18)),
        ("postgres (PostgreSQL) 9.6.24", ("9.6", 9)),
        ("postgres (EnterpriseDB) 15.4.0", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_versions_are_read_as_programs_print_them(text: str, expected: tuple[str, int]) -> None:
    assert parse_version(text) == expected


@pytest.mark.parametrize(
    "place",
    [
        "usr/lib/postgresql/15/bin",
        "usr/pgsql-15/bin",
        "usr/lib/postgresql15/bin",
        "usr/lib64/postgresql-15/bin",
        "usr/bin",
        "usr/local/pgsql/bin",
        "opt/PostgreSQL/15/bin",
    ],
)
def test_every_distributions_place_is_looked_into(account: Account, root: Path, place: str) -> None:
    folder = _tree(root / place, "15.18")
    [found] = _find(account, root)
    assert found.usable, found.unusable
    assert (found.bin_directory, found.version, found.major) == (str(folder), "15.18", 15)
    assert found.block_size == 8192
    assert found.origin


def test_newest_first_betas_last(account: Account, root: Path) -> None:
    for version in ("13.23", "18beta1", "15.9", "15.18"):
        _tree(root / "usr/lib/postgresql" / version / "bin", version)
    assert [found.version for found in _find(account, root)] == ["18beta1", "15.18", "15.9", "13.23"]


def test_same_installation_listed_once(account: Account, root: Path) -> None:
    real = _tree(root / "usr/lib/postgresql15/bin", "15.18")
    links = root / "usr/bin"
    links.mkdir()
    (links / "postgres").symlink_to(real / "postgres")  # as openSUSE's alternatives do
    (root / "elsewhere").symlink_to(real)
    path = f"{links}:{root}/elsewhere:{real}:relative:"
    [found] = _find(account, root, str(root / "elsewhere"), path=path)
    assert found.bin_directory == str(real)
    assert found.origin == "given folder"


@pytest.mark.parametrize("part", ["", "/bin", "/", "/bin/"])
def test_named_prefix_or_programs_folder(account: Account, root: Path, part: str) -> None:
    _tree(root / "build/bin", "17.1")
    named = f"{root}/build{part}"
    found = _find(account, root, named)
    assert choose_installation(named, found).version == "17.1"


def test_path_is_looked_into(account: Account, root: Path) -> None:
    folder = _tree(root / "tools", "16.14")
    [found] = _find(account, root, path=f"/nowhere:{folder}")
    assert (found.bin_directory, found.origin) == (str(folder), "PATH")


@pytest.mark.parametrize("version", ["12.22", "9.6.24"])
def test_too_old_version_has_reason(account: Account, root: Path, version: str) -> None:
    _tree(root / "usr/bin", version)
    [found] = _find(account, root)
    assert not found.usable
    assert "13 and newer are" in found.unusable[0]


@pytest.mark.parametrize("version", ["19devel", "19rc1", "20.3", "31.0"])
def test_untested_newer_version_noted(account: Account, root: Path, version: str) -> None:
    _tree(root / "usr/lib/postgresql/19/bin", version)
    [found] = _find(account, root)
    assert found.usable, found.unusable
    assert found.notes == (f"PostgreSQL {version} is newer than the tested versions (13 to 18).",)
    assert choose_installation(str(found.major), [found]) is found


def test_newer_pgbench_noted(account: Account, root: Path) -> None:
    _tree(root / "usr/bin", "15.18", pgbench="19.1")
    [found] = _find(account, root)
    assert found.usable
    assert [note.partition(" is ")[0] for note in found.notes] == ["pgbench", "PostgreSQL 19.1"]


def test_a_missing_initdb_is_a_reason(account: Account, root: Path) -> None:
    _tree(root / "usr/lib/postgresql/15/bin", "15.18", missing=["initdb"])
    [found] = _find(account, root)
    assert "The program initdb is missing." in found.unusable[0]


def test_other_pgbench_version_noted(account: Account, root: Path) -> None:
    _tree(root / "usr/bin", "15.18", pgbench="18.4")
    [found] = _find(account, root)
    assert found.usable
    assert found.pgbench_version == "18.4"
    assert found.notes == ("pgbench is version 18.4, the server 15.18.",)


def test_too_old_pgbench_is_a_reason(account: Account, root: Path) -> None:
    _tree(root / "usr/bin", "15.18", pgbench="12.1")
    [found] = _find(account, root)
    assert "Its pgbench is" in found.unusable[0]


def test_program_of_another_architecture(account: Account, root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    (folder / "postgres").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    [found] = _find(account, root)
    assert "Exec format error" in found.unusable[0]


def test_program_not_executable(account: Account, root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    (folder / "postgres").chmod(0o644)
    [found] = _find(account, root)
    assert "Permission denied" in found.unusable[0]


def test_failing_program_in_its_own_words(account: Account, root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", "echo 'error while loading libpq.so' >&2; exit 127")
    [found] = _find(account, root)
    assert "error while loading libpq.so" in found.unusable[0]


def test_a_program_that_hangs_is_a_reason(
    account: Account, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "PROBE_TIMEOUT_S", 0.3)
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", "exec sleep 600")
    [found] = _find(account, root)
    assert "did not finish" in found.unusable[0]


def test_unexpected_version_output(account: Account, root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", "echo 'postgres, the fish'")
    [found] = _find(account, root)
    assert "postgres, the fish" in found.unusable[0]


def test_world_writable_folder_not_run(account: Account, root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", f"touch {root}/ran")
    root.chmod(0o777)
    folder.chmod(0o777)
    [found] = _find(account, root, str(folder))
    assert "Any user can change" in found.unusable[0]
    assert not (root / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_foreign_folder_run_only_if_named(account: Account, root: Path) -> None:
    folder = _tree(root / "theirs", "15.18")
    os.chown(folder, 12345, 12345)
    [found] = _find(account, root, path=str(folder))
    assert "belongs neither to root nor to nobody" in found.unusable[0]
    [found] = _find(account, root, str(folder))
    assert found.usable


def test_nothing_is_run_as_root(root: Path) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", f"touch {root}/ran")
    [found] = _find(Account("root", 0, 0, (0,), "/root"), root)
    assert found.unusable == ("PostgreSQL does not run as root.",)
    assert not (root / "ran").exists()


def test_named_folder_without_server(account: Account, root: Path) -> None:
    [nothing, missing] = _find(account, root, str(root), str(root / "missing"))
    assert "/bin contains the program postgres" in nothing.unusable[0]
    assert "is not a folder" in missing.unusable[0]


def test_every_command_is_recorded(account: Account, root: Path) -> None:
    _tree(root / "usr/bin", "15.18")
    outcomes: list[CommandOutcome] = []
    find_installations(account, root=root, search_path="", record=outcomes.append)
    assert [outcome.argv[1] for outcome in outcomes] == ["--version", "--version", "-C"]
    assert {outcome.account for outcome in outcomes} == {account.name}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo \"'--prefix=/x' '--with-blocksize=16'\"", 16384),
        ("echo \"'--prefix=/x'\"", 8192),
        ("exit 1", None),
    ],
)
def test_block_size_from_configure_line(
    account: Account, root: Path, script: str, expected: int | None
) -> None:
    folder = _tree(root / "usr/bin", "15.18")
    _program(folder, "postgres", 'case "$1" in -C) exit 1;; *) echo "postgres (PostgreSQL) 15.18";; esac')
    _program(folder, "pg_config", script)
    [found] = _find(account, root)
    assert found.block_size == expected
    assert found.usable


FOUND = (
    Installation("/x/19/bin", "19devel", 19, unusable=("Too new.",)),
    Installation("/x/17/bin", "17.2", 17),
    Installation("/x/15b/bin", "15.18", 15, unusable=("Broken.",)),
    Installation("/x/15/bin", "15.9", 15),
)


@pytest.mark.parametrize(
    ("choice", "version"), [("newest", "17.2"), ("17", "17.2"), ("15", "15.9"), ("/x/15", "15.9")]
)
def test_first_usable_match_chosen(choice: str, version: str) -> None:
    assert choose_installation(choice, FOUND).version == version


def test_unusable_choice_refused_with_reasons() -> None:
    with pytest.raises(InstallationError, match=r"PostgreSQL 19 cannot be used\. .*Too new\.") as caught:
        choose_installation("19", FOUND)
    assert "PostgreSQL 17.2 in /x/17/bin" in caught.value.hint


@pytest.mark.parametrize("choice", ["14", "/y", "", "15.18", "latest", "../bin", "\u0661\u0665"])
def test_absent_choice_refused_with_alternatives(choice: str) -> None:
    with pytest.raises(InstallationError, match="is not on this machine") as caught:
        choose_installation(choice, FOUND)
    assert "Usable here" in caught.value.hint


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (Family.DEBIAN, "apt-get install postgresql"),
        (Family.DEBIAN, "\nDebian then also starts a cluster (usually on port 5432)"),
        (Family.FEDORA, "dnf install postgresql-server postgresql-contrib"),
        (Family.SUSE, "zypper install"),
        (Family.ARCH, "pacman -S postgresql"),
        (Family.OTHER, "initdb and pgbench"),
    ],
)
def test_no_postgresql_hint_names_packages(
    family: Family, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installations, "this_family", lambda: family)
    with pytest.raises(InstallationError, match="PostgreSQL is not on this machine") as caught:
        choose_installation("newest", ())
    assert words in caught.value.hint
    assert words in install_hint(family)


@pytest.mark.parametrize(
    ("release", "family"),
    [
        ({"ID": "debian"}, Family.DEBIAN),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, Family.DEBIAN),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, Family.FEDORA),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, Family.SUSE),
        ({"ID": "nixos"}, Family.OTHER),
        ({}, Family.OTHER),
    ],
)
def test_distribution_from_os_release(release: dict[str, str], family: Family) -> None:
    assert family_of(release) is family


def test_a_description_holds_the_reasons() -> None:
    assert describe_installation(FOUND[1]) == "PostgreSQL 17.2 in /x/17/bin"
    assert describe_installation(FOUND[2]) == "PostgreSQL 15.18 in /x/15b/bin: Broken."
    assert describe_installation(Installation("/y")) == "PostgreSQL ? in /y"


def test_the_fingerprint_is_that_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "postgres").write_bytes(b"abc")
    installation = Installation(str(tmp_path))
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, example B.1
    assert fingerprint(installation) == known
    (tmp_path / "postgres").unlink()
    with pytest.raises(InstallationError, match="No such file"):
        fingerprint(installation)
