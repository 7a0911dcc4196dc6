"""The Debian packages are the same bytes twice, and root's part is what packaging/helper installs."""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from app.arguments.completion import SHELLS
from app.arguments.declared import build_parser
from app.manual.chapters import CHAPTERS
from tests.unit.packaging.conftest import Scripts, missing

pytestmark = pytest.mark.long  # the packages are built for it

PROJECT = Path(__file__).parents[3]
DEBIAN = PROJECT / "packaging" / "debian"
NAMES = {
    "PySide6-Essentials": "pyside6.qtwidgets",
    "typing_extensions": "typing-extensions",
    "psycopg[binary]": "psycopg",
}
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")


def build(folder: Path) -> dict[str, Path]:
    environment = {**os.environ, "PYTHON": sys.executable, "SOURCE_DATE_EPOCH": "1790000000"}
    program = str(PROJECT / "packaging" / "deb")
    subprocess.run([program, str(folder)], env=environment, check=True, capture_output=True)
    return {path.name.partition("_")[0]: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("packages"))


def unpacked(package: Path, folder: Path) -> Path:
    subprocess.run(["dpkg-deb", "--extract", str(package), str(folder)], check=True)
    return folder


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@needs_dpkg
def test_the_same_tree_gives_the_same_bytes(packages: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert sorted(again) == ["pgfooting", "pgfooting-helper"]
    for name, path in packages.items():
        assert (again[name].name, again[name].read_bytes()) == (path.name, path.read_bytes())


@needs_dpkg
def test_missing_build_tools_named(scripts: Scripts) -> None:
    """On a fresh Debian it ended in a traceback of Qt, or named a list of a Python without a version."""
    (scripts.checkout / "app").mkdir()
    (scripts.checkout / "app" / "__init__.py").write_text('VERSION = "0.1.0"\n')
    scripts.environment["SOURCE_DATE_EPOCH"] = "1790000000"
    missing(scripts, "venv", "qt")
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "deb")])
    command = "sudo apt-get install --no-install-recommends python3-venv libegl1 libgl1 "
    assert f"Nothing was changed. Install it and start this again:  {command}" in errors
    assert not scripts.environments.exists()
    assert not (scripts.checkout / "dist").exists()


@needs_dpkg
def test_commit_time_given(scripts: Scripts) -> None:
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "deb")])
    assert "Set SOURCE_DATE_EPOCH to the time that the packages shall have" in errors
    assert "invalid date" not in errors


@needs_dpkg
def test_without_git_what_to_install_is_said(scripts: Scripts) -> None:
    programs = scripts.fake / "programs"
    programs.mkdir()
    for name in ("bash", "dirname", "readlink", "stat", "dpkg-deb"):
        (programs / name).symlink_to(str(shutil.which(name)))
    scripts.environment["PATH"] = str(programs)
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "deb")])
    assert "sudo apt-get install --no-install-recommends git" in errors
    assert "SOURCE_DATE_EPOCH" not in errors


@needs_dpkg
def test_files_owned_by_root(packages: dict[str, Path]) -> None:
    for path in packages.values():
        ended = subprocess.run(
            ["dpkg-deb", "--contents", str(path)], capture_output=True, text=True, check=True
        )
        for line in ended.stdout.splitlines():
            mode, owner = line.split()[:2]
            assert owner == "root/root", line
            assert mode.startswith("l") or (mode[5], mode[8]) == ("-", "-"), line


@needs_dpkg
def test_the_service_is_what_packaging_helper_installs(packages: dict[str, Path], tmp_path: Path) -> None:
    found = unpacked(packages["pgfooting-helper"], tmp_path / "package")
    subprocess.run([str(PROJECT / "packaging" / "helper"), "stage", str(tmp_path / "staged")], check=True)
    staged = files(tmp_path / "staged")
    assert "usr/libexec/pgfooting-helper" in staged
    assert {name for name in files(found) if "/doc/" not in name and "/lintian/" not in name} == staged | {
        "usr/lib/systemd/system/basic.target.wants/pgfooting-recover.service"
    }
    assert all((found / name).read_bytes() == (tmp_path / "staged" / name).read_bytes() for name in staged)


@needs_dpkg
def test_program_and_manual_page(packages: dict[str, Path], tmp_path: Path) -> None:
    found = unpacked(packages["pgfooting"], tmp_path)
    page = gzip.decompress((found / "usr/share/man/man1/pgfooting.1.gz").read_bytes()).decode()
    commands = re.findall(r"^ {4}([a-z]+)\b", build_parser().format_help(), re.MULTILINE)
    assert len(commands) > 10
    assert re.findall(r"^\.SH\npgfooting (\S+)$", page, re.MULTILINE) == commands
    plain = re.sub(r"\\f[BR]|\\(?=-)", "", page)
    for name, parser in build_parser().commands.items():
        shown = [parser.description, *(each.help for each in parser._actions)]
        texts = [each.replace("`", "") for each in shown if each and each != argparse.SUPPRESS]
        assert texts, name
        assert [each for each in texts if "%" not in each and each.replace("\\", "\\e") not in plain] == [], (
            name
        )
    tree = found / "usr/share/pgfooting"
    assert not {"README.md", "LICENSE"} & {path.name for path in tree.rglob("*")}
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-P", "-m", "app", "recipes"]
    ended = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "quick" in ended.stdout
    copyright_file = (found / "usr/share/doc/pgfooting/copyright").read_text()
    assert "SIL OPEN FONT LICENSE" in copyright_file


@needs_dpkg
def test_icon_in_every_size(packages: dict[str, Path], tmp_path: Path) -> None:
    theme = unpacked(packages["pgfooting"], tmp_path) / "usr/share/icons/hicolor"
    sizes = {16, 22, 24, 32, 48, 64, 128, 256, 512}
    assert {path.name for path in theme.iterdir()} == {f"{size}x{size}" for size in sizes} | {"scalable"}
    for size in sizes:
        content = (theme / f"{size}x{size}" / "apps" / "org.pgfooting.Footing.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", content[16:24]) == (size, size)


@needs_dpkg
def test_metainfo_and_control_addresses(packages: dict[str, Path], tmp_path: Path) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    folder = unpacked(packages["pgfooting"], tmp_path) / "usr/share/metainfo"
    root = ET.fromstring((folder / "org.pgfooting.Footing.metainfo.xml").read_text())  # noqa: S314
    values = {url.get("type"): url.text for url in root.findall("url")}
    assert values == {"homepage": project["urls"]["Homepage"], "bugtracker": project["urls"]["Issues"]}
    for path in packages.values():
        control = subprocess.run(
            ["dpkg-deb", "--field", str(path)], capture_output=True, text=True, check=True
        )
        assert f"Homepage: {project['urls']['Homepage']}\n" in control.stdout
        (maintainer,) = project["maintainers"]
        assert f"Maintainer: {maintainer['name']} <{maintainer['email']}>\n" in control.stdout
    version = packages["pgfooting"].name.split("_")[1]
    (release,) = root.findall("releases/release")
    assert (release.get("version"), release.get("date")) == (version, "2026-09-21")


def made_metainfo(checkout: Path) -> ET.Element:
    argv = [
        sys.executable,
        "-P",
        str(PROJECT / "packaging" / "metainfo.py"),
        str(checkout),
        "0.3.0",
        "2027-02-03",
    ]
    made = subprocess.run(argv, capture_output=True, text=True, check=True)
    return ET.fromstring(made.stdout)  # noqa: S314


def test_metainfo_screenshots_and_releases(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    metainfo = "packaging/org.pgfooting.Footing.metainfo.xml"
    (tmp_path / metainfo).write_bytes((PROJECT / metainfo).read_bytes())
    text = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n\n## [0.1.0] - 2026-12-01\n"
    (tmp_path / "CHANGELOG.md").write_text(text)
    pyproject = (PROJECT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(pyproject)
    assert made_metainfo(tmp_path).find("screenshots") is None
    (tmp_path / "pyproject.toml").write_text(pyproject.replace("pgfooting.example", "pgfooting.test.org"))
    root = made_metainfo(tmp_path)
    pictures = [image.text or "" for image in root.findall("screenshots/screenshot/image")]
    assert len(pictures) > 2
    for address in pictures:
        start, _, name = address.rpartition("/")
        assert start == "https://pgfooting.test.org/screenshots"
        assert (PROJECT / "resources" / "screenshots" / name).is_file()
    versions = [release.get("version") for release in root.findall("releases/release")]
    assert versions == ["0.3.0", "0.2.0", "0.1.0"]


@needs_dpkg
def test_format_pages_and_manual_chapters(packages: dict[str, Path], tmp_path: Path) -> None:
    found = unpacked(packages["pgfooting"], tmp_path)
    pages = {name for name in files(found) if name.startswith("usr/share/man/")}
    made = {f"usr/share/man/man5/pgfooting-{name}.5.gz" for name in ("campaign", "run")}
    assert pages == {"usr/share/man/man1/pgfooting.1.gz", *made}
    for name in pages:
        argv = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z"]
        if shutil.which("groff"):
            page = gzip.decompress((found / name).read_bytes())
            assert subprocess.run(argv, input=page, capture_output=True, check=True).stderr == b"", name
    shipped = {path.stem for path in (found / "usr/share/pgfooting/resources/manual").iterdir()}
    assert shipped == {each.id for each in CHAPTERS}


@needs_dpkg
def test_shell_completions(packages: dict[str, Path], tmp_path: Path) -> None:
    share = unpacked(packages["pgfooting"], tmp_path) / "usr" / "share"
    places = {
        "bash": "bash-completion/completions/pgfooting",
        "zsh": "zsh/vendor-completions/_pgfooting",
        "fish": "fish/vendor_completions.d/pgfooting.fish",
    }
    for shell, lines in SHELLS.items():
        assert (share / places[shell]).read_text() == "\n".join(lines(build_parser())) + "\n"


def test_readme_command_installs_recommended() -> None:
    text = re.search(
        r"apt install --no-install-recommends \./dist/\*\.deb (.*)", (PROJECT / "README.md").read_text()
    )
    assert text is not None
    recommended = re.search(r"^Recommends: (.*)$", (DEBIAN / "pgfooting.control").read_text(), re.MULTILINE)
    assert recommended is not None
    of_helper = (DEBIAN / "pgfooting-helper.control").read_text()
    brought = {"pgfooting-helper", *text[1].split()}
    assert {name for name in recommended[1].split(", ") if f" {name}," not in of_helper} == brought


def test_bounds_match_pyproject() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["window"]]
    depends = (DEBIAN / "pgfooting.control").read_text()
    for each in wanted:
        name, lowest = re.fullmatch(r"([\w\[\]-]+)>=([\d.]+).*", each).groups()  # type: ignore[union-attr]
        package = f"python3-{NAMES.get(name, name)}"
        assert re.search(rf"{re.escape(package)} \(>= (1:)?{re.escape(lowest)}\)", depends), each


def test_refused_over_checkout_copy() -> None:
    script = (DEBIAN / "pgfooting-helper.preinst").read_text()
    manifest = re.search(r"^HOME_FOLDER=(\S+)$", (PROJECT / "packaging" / "helper").read_text(), re.MULTILINE)
    assert manifest is not None
    assert f"[ -e {manifest[1]}/MANIFEST ]" in script
    assert "sudo packaging/helper uninstall" in script
