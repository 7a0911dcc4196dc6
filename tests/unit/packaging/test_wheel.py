"""pip builds wheel and source archive of the tree; the installed command runs it below one package."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from app import VERSION

pytestmark = pytest.mark.long  # the packages are built for it

PROJECT = Path(__file__).parents[3]
PROGRAM_FOLDERS = ("app", "ui", "resources")


def built(tree: Path, folder: Path, kind: str) -> Path:
    """What the backend that pyproject.toml names builds of `tree`, as pip calls it."""
    system = tomllib.loads((tree / "pyproject.toml").read_text())["build-system"]
    (place,) = system["backend-path"]
    assert system["requires"] == []
    code = f"import {system['build-backend']} as backend, sys; print(backend.build_{kind}(sys.argv[1]))"
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(tree / place), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("SOURCE_DATE_EPOCH", None)
    argv = [sys.executable, "-P", "-c", code, str(folder)]
    ended = subprocess.run(argv, env=environment, cwd=tree, capture_output=True, text=True, check=True)
    return folder / ended.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(PROJECT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    packed = built(PROJECT, folder, "sdist")
    subprocess.run(["tar", "--extract", "--file", str(packed), "--directory", str(folder)], check=True)
    return folder / f"pgfooting-{VERSION}"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    argv = [
        sys.executable,
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
    ]
    subprocess.run([*argv, "--disable-pip-version-check", "--target", str(folder), str(wheel)], check=True)
    return folder


def started(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(installed / "bin" / "pgfooting"), *arguments]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


def member(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"pgfooting-{VERSION}.dist-info/{name}")


def metadata(wheel: Path) -> Message:
    return message_from_bytes(member(wheel, "METADATA"))


def test_only_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"pgfooting", f"pgfooting-{VERSION}.dist-info"}
    assert len(set(names)) == len(names)


def test_tree_equals_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.removeprefix("pgfooting/"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("pgfooting/") and name.count("/") > 1
        }
    tracked = {
        path.relative_to(PROJECT).as_posix(): path.read_bytes()
        for folder in PROGRAM_FOLDERS
        for path in (PROJECT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "screenshots" not in path.parts
    }
    assert packed == tracked


def test_record_digests_and_sizes(wheel: Path) -> None:
    rows = {
        name: (digest, size)
        for name, digest, size in csv.reader(member(wheel, "RECORD").decode().splitlines())
    }
    with zipfile.ZipFile(wheel) as archive:
        assert set(rows) == set(archive.namelist())
        for name, (digest, size) in rows.items():
            if not name.endswith("/RECORD"):
                content = archive.read(name)
                sha256 = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={sha256}", str(len(content)))


def test_the_metadata_are_those_of_pyproject(wheel: Path) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    found = metadata(wheel)
    assert (found["Name"], found["Version"], project["version"]) == ("pgfooting", VERSION, VERSION)
    assert found["Requires-Python"] == project["requires-python"]
    assert found["License-Expression"] == project["license"]
    assert found.get_all("License-File") == project["license-files"]
    extras = project["optional-dependencies"]
    assert found.get_all("Provides-Extra") == list(extras)
    wanted = [f'{each}; extra == "{extra}"' for extra, group in extras.items() for each in group]
    assert found.get_all("Requires-Dist") == [*project["dependencies"], *wanted]
    addresses = [f"{name}, {address}" for name, address in project["urls"].items()]
    assert found.get_all("Project-URL") == addresses
    assert found.get_payload() == (PROJECT / "README.md").read_text()
    for name in project["license-files"]:
        assert member(wheel, f"licenses/{name}") == (PROJECT / name).read_bytes()


def test_reproducible_wheel_and_sdist(wheel: Path, source: Path, tmp_path: Path) -> None:
    assert built(PROJECT, tmp_path / "again", "wheel").read_bytes() == wheel.read_bytes()
    assert built(source, tmp_path / "from-source", "wheel").read_bytes() == wheel.read_bytes()
    first = built(PROJECT, tmp_path / "first", "sdist")
    assert built(source, tmp_path / "second", "sdist").read_bytes() == first.read_bytes()


def test_no_byte_code_in_checkout(source: Path, tmp_path: Path) -> None:
    """pip imports the backend from where it lies, with byte code as every Python has it."""
    before = sorted(source.rglob("*"))
    code = "import backend, sys; backend.build_wheel(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": str(source / "packaging" / "wheel")}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        environment.pop(name, None)
    subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path)], env=environment, check=True)
    assert list(tmp_path.glob("*.whl"))
    assert sorted(source.rglob("*")) == before


def test_sdist_runs_and_tests(source: Path) -> None:
    for path in ("packaging/run", "packaging/test", ".ci/run"):
        assert os.access(source / path, os.X_OK), path
    assert (source / "tests" / "unit" / "packaging" / Path(__file__).name).is_file()
    assert not [path for path in source.rglob("*") if path.name == "__pycache__"]
    links = [path.readlink() for path in source.rglob("*") if path.is_symlink()]
    assert links
    assert not [link for link in links if link.is_absolute()]  # pip would not unpack it


def test_installed_command_finds_resources(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text(
        "raise RuntimeError('the folder in which the user stands')\n"
    )
    version = started(installed, tmp_path, "--version")
    assert (version.returncode, version.stdout.strip()) == (0, f"pgfooting {VERSION}"), version.stderr
    assert "quick" in started(installed, tmp_path, "recipes").stdout


def test_installed_command_exit_status(installed: Path, tmp_path: Path) -> None:
    outcome = started(installed, tmp_path, "run", "there-is-none.toml")
    assert outcome.returncode == 2
    assert "there-is-none" in outcome.stderr


def test_package_runs_as_module(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-P", "-m", "pgfooting", "--version"]
    outcome = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == f"pgfooting {VERSION}"


def test_folder_with_colon(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    (folder / "pgfooting").mkdir(parents=True)
    code = (installed / "pgfooting" / "__init__.py").read_text()
    (folder / "pgfooting" / "__init__.py").write_text(code)
    call = f"import sys; sys.path.insert(0, {str(folder)!r}); import pgfooting; pgfooting.main()"
    outcome = subprocess.run(
        [sys.executable, "-P", "-c", call], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 1
    assert "has a colon in its name" in outcome.stderr
