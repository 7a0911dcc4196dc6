"""packaging/bundle: what is in the file for machines without network, and what refuses to be installed."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.packaging.conftest import PROJECT, Scripts

PACKAGING = PROJECT / "packaging"


def made(folder: Path, *, release: str) -> Path:
    """A bundle for `release` that holds nothing but its index."""
    bundle = folder / "a bundle"
    (bundle / "packages").mkdir(parents=True)
    shutil.copy(PACKAGING / "install_bundle", bundle / "install")
    (bundle / "release").write_text(f"{release}\n")
    (bundle / "packages" / "wanted").write_text("a-package-that-nobody-has\n")
    names = ("install", "release", "packages/wanted")
    sums = [f"{hashlib.sha256((bundle / name).read_bytes()).hexdigest()}  ./{name}\n" for name in names]
    (bundle / "SHA256SUMS").write_text("".join(sums))
    return bundle


def installed(bundle: Path, text: str, release: str) -> subprocess.CompletedProcess[str]:
    """What the bundle's script says on a system whose release is `release`."""
    system = bundle.parent / "os-release"
    system.write_text(f'PRETTY_NAME="Something {release}"\nVERSION_CODENAME={release}\n')
    program = text.replace("/etc/os-release", str(system))
    assert program != text
    path = bundle / "install"
    path.write_text(program)
    return subprocess.run(
        ["bash", str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_a_bundle_of_another_release_changes_nothing(tmp_path: Path) -> None:
    bundle = made(tmp_path, release="trixie")
    outcome = installed(bundle, (bundle / "install").read_text(), "bookworm")
    assert outcome.returncode == 1
    assert (
        "This bundle is for the release trixie, and this is bookworm. Nothing was changed." in outcome.stderr
    )


def test_damaged_file_named_nothing_changed(tmp_path: Path) -> None:
    bundle = made(tmp_path, release="trixie")
    (bundle / "packages" / "wanted").write_text("another-package\n")
    outcome = installed(bundle, (bundle / "install").read_text(), "trixie")
    assert outcome.returncode == 1
    assert "The bundle is damaged, nothing was changed: " in outcome.stderr
    assert "./packages/wanted: FAILED" in outcome.stderr


@pytest.mark.parametrize("sudo", ["exit 1", None])
def test_refused_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sudo: str | None) -> None:
    bundle = made(tmp_path, release="trixie")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "dirname", "readlink", "sha256sum", "mktemp", "rm"):
        (programs / name).symlink_to(shutil.which(name) or name)
    if sudo:
        (programs / "sudo").write_text(f"#!/bin/bash\n{sudo}\n")
        (programs / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    text = (bundle / "install").read_text().replace("((EUID != 0))", "true")
    sums = (bundle / "SHA256SUMS").read_text().splitlines(keepends=True)
    (bundle / "SHA256SUMS").write_text("".join(sums[1:]))
    outcome = installed(bundle, text, "trixie")
    assert outcome.returncode == 1
    assert ("sudo was refused" if sudo else "there is no sudo here") in outcome.stderr
    advice = (
        "Nothing was changed. Let an administrator start the install of a copy of this bundle that nobody "
        "else can change, and start "
    )
    _, _, start = outcome.stderr.partition(advice)
    assert shlex.split(start)[0] == str(bundle / "install")


def test_each_release_has_package_list() -> None:
    text = (PACKAGING / "bundle").read_text()
    pythons = re.search(r"^declare -A PYTHONS=\((.*)\)$", text, re.MULTILINE)
    assert pythons is not None
    found = dict(re.findall(r"\[(\w+)\]=([\d.]+)", pythons[1]))
    assert sorted(found) == ["bookworm", "noble", "resolute", "trixie"]
    mirrors = (PACKAGING / "mirrors.sh").read_text()
    for release, python in found.items():
        assert f"[{release}]=" in mirrors
        assert (PACKAGING / "lock" / f"run-{python}.txt").is_file()


def test_packages_match_window_needs(scripts: Scripts) -> None:
    text = (PACKAGING / "bundle").read_text()
    function = re.search(r"^wanted_packages\(\) \{.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    assert function is not None
    found = scripts.call(f"{function[0]}wanted_packages").stdout.split()
    everything = "MISSING=($(needs_of window))\npackages_of 2"
    assert found == scripts.call(everything).stdout.split()
    assert {"python3-gi", "postgresql", "python3-venv", "libegl1"} <= set(found)


def test_index_digest_from_release_file(scripts: Scripts, tmp_path: Path) -> None:
    text = (PACKAGING / "bundle").read_text()
    function = re.search(r"^fetch_packages\(\) \{.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    assert function
    fakes = "sources() { :; }\nwanted_packages() { echo one; }\ndpkg-deb() { echo Package: one; }\n"
    fakes += 'bundle_apt() { echo "" >"$SCRATCH/apt/archives/one.deb"; }\n'
    scripts.call(f"{function[0]}{fakes}SCRATCH='{tmp_path}'\nfetch_packages bookworm '{tmp_path}/packages'")
    index = (tmp_path / "packages" / "Packages").read_bytes()
    release = (tmp_path / "packages" / "Release").read_text()
    assert release.startswith("Date: Thu, 01 Jan 1970 00:00:00 UTC\nSHA256:\n")
    assert f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n" in release


@pytest.mark.parametrize(
    "command", [["bundle", "sid"], ["bundle"], ["bundle", ""], ["prove-debian", "sid"], ["prove-debian", ""]]
)
def test_unknown_release_prints_usage(scripts: Scripts, command: list[str]) -> None:
    program, *arguments = command
    errors = scripts.refusal([str(scripts.checkout / "packaging" / program), *arguments], status=2)
    usage = {
        "bundle": "packaging/bundle bookworm|trixie|noble|resolute [FOLDER]",
        "prove-debian": "packaging/prove-debian RELEASE [--as root|user]",
    }
    assert usage[program] in errors
    assert "bad array subscript" not in errors


@pytest.mark.parametrize("release", ["bookworm", "noble"])
def test_no_checks_without_pyside(scripts: Scripts, release: str) -> None:
    program = str(scripts.checkout / "packaging" / "prove-debian")
    errors = scripts.refusal([program, release, "--packages"])
    assert f"{release} has no PySide6: no packages are built for it." in errors


def test_ubuntu_universe_and_archive_keys(scripts: Scripts) -> None:
    scripts.program(scripts.fake / "apt-get", "#!/bin/sh\n")
    scripts.environment["PATH"] = f"{scripts.fake}:{os.environ['PATH']}"
    code = '. "$CHECKOUT/packaging/mirrors.sh"\nkeyring() { printf %s "keys of $1"; }\nsources '
    output = scripts.call(f"{code}resolute").stdout.splitlines()
    where = "deb [signed-by=keys of resolute] http://archive.ubuntu.com/ubuntu"
    assert output == [
        f"{where} {pocket} main universe" for pocket in ("resolute", "resolute-updates", "resolute-security")
    ]
    output = scripts.call(f"{code}trixie").stdout.splitlines()
    assert [line.split()[-2:] for line in output] == [
        ["trixie", "main"],
        ["trixie-updates", "main"],
        ["trixie-security", "main"],
    ]


@pytest.mark.parametrize(
    ("release", "package"),
    [("trixie", "debian-archive-keyring"), ("noble", "ubuntu-keyring (Debian has it since release 13)")],
)
def test_missing_archive_keyring_named(scripts: Scripts, tmp_path: Path, release: str, package: str) -> None:
    code = f'. "$CHECKOUT/packaging/mirrors.sh"\nKEYRINGS={tmp_path}\nkeyring {release}'
    assert f"install the package {package}. Nothing was written." in scripts.call(code).stderr


def test_missing_python_names_package(scripts: Scripts, tmp_path: Path) -> None:
    for name in ("apt-get", "dpkg-deb"):
        scripts.program(scripts.fake / name, "#!/bin/sh\n")
    scripts.environment["PATH"] = f"{scripts.fake}:{os.environ['PATH']}"
    with (scripts.checkout / "packaging" / "system.sh").open("a") as system:
        system.write("SYSTEM_PYTHON=/nowhere/python3\n")
    folder = tmp_path / "dist"
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "bundle"), "trixie", str(folder)])
    text = "/nowhere/python3 is missing here: apt-get install python3-venv. Nothing was written.\n"
    assert errors.endswith(text)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("fails", "sentence"),
    [
        ("update", "apt could not fetch the lists of packages of trixie: the lines above say why."),
        ("install", "apt could not fetch the packages of trixie: the lines above say why."),
    ],
)
def test_what_apt_cannot_fetch_is_told(scripts: Scripts, tmp_path: Path, fails: str, sentence: str) -> None:
    programs = {
        "apt-get": f"case \" $* \" in *' {fails} '*) echo no network >&2; exit 100 ;; esac",
        "dpkg": "echo amd64",
        "dpkg-deb": "",
    }
    for name, text in programs.items():
        scripts.program(scripts.fake / name, f"#!/bin/sh\n{text}\n")
    scripts.environment["PATH"] = f"{scripts.fake}:{os.environ['PATH']}"
    (scripts.checkout / "app").mkdir()
    (scripts.checkout / "app" / "__init__.py").write_text('VERSION = "0.1.0"\n')
    (tmp_path / "debian-archive-keyring.gpg").touch()
    with (scripts.checkout / "packaging" / "mirrors.sh").open("a") as mirrors:
        mirrors.write(f"KEYRINGS={str(tmp_path)!r}\n")
    errors = scripts.refusal(
        [str(scripts.checkout / "packaging" / "bundle"), "trixie", str(tmp_path / "dist")]
    )
    assert f"{sentence} Nothing was written." in errors
    assert list((tmp_path / "dist").iterdir()) == []


@pytest.mark.parametrize("program", ["bundle", "deb"])
def test_read_only_folder(scripts: Scripts, program: str) -> None:
    """A file stands for the checkout of somebody else: root may write everywhere."""
    (scripts.home / "file").touch()
    folder = scripts.home / "file" / "dist"
    outcome = scripts.call(f"make_folder {folder} packaging/{program}; echo made")
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert f"Cannot write to the folder {folder}. Nothing was changed." in outcome.stderr
    assert f"Name one that you can write to:  packaging/{program} FOLDER" in outcome.stderr
    assert 'make_folder "$folder" ' in (PACKAGING / program).read_text()


@pytest.mark.parametrize("status", [0, 1])
def test_root_files_removed_by_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Also where apt fails: the account itself cannot delete it."""
    bundle = made(tmp_path, release="trixie")
    programs = tmp_path / "programs"
    programs.mkdir()
    said = tmp_path / "said"
    sudo = f"""#!/bin/bash
[[ $3 != APT_CONFIG=* ]] || cat "${{3#*=}}" >>'{said}'
echo "$@" >>'{said}'
[[ " $* " != *' env '* ]] || exit {status}
"""
    (programs / "sudo").write_text(sudo)
    (programs / "sudo").chmod(0o755)
    (bundle / "pgfooting" / "packaging").mkdir(parents=True)
    (bundle / "pgfooting" / "packaging" / "run").write_text("#!/bin/sh\n")
    (bundle / "pgfooting" / "packaging" / "run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    text = (bundle / "install").read_text().replace("((EUID != 0))", "true")
    sums = (bundle / "SHA256SUMS").read_text().splitlines(keepends=True)
    (bundle / "SHA256SUMS").write_text("".join(sums[1:]))
    outcome = installed(bundle, text, "trixie")
    assert outcome.returncode == status
    assert ("apt could not install the packages: the lines above say why." in outcome.stderr) is (status == 1)
    assert "rm --recursive --force -- " in said.read_text().splitlines()[-1]
    # Else apt calls it an error, eight times, that nobody translated the bundle.
    assert 'Acquire::Languages "none";' in said.read_text()
