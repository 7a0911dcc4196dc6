"""packaging/bundle: what is in the file for machines without network, and what refuses to be installed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

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
    return subprocess.run(["bash", str(path)], capture_output=True, text=True, check=False)


def test_a_bundle_of_another_release_changes_nothing(tmp_path: Path) -> None:
    bundle = made(tmp_path, release="trixie")
    outcome = installed(bundle, (bundle / "install").read_text(), "bookworm")
    assert outcome.returncode == 1
    assert "This bundle is for Debian's trixie, and this is bookworm. Nothing was changed." in outcome.stderr


def test_a_damaged_bundle_changes_nothing_and_says_which_file(tmp_path: Path) -> None:
    bundle = made(tmp_path, release="trixie")
    (bundle / "packages" / "wanted").write_text("another-package\n")
    outcome = installed(bundle, (bundle / "install").read_text(), "trixie")
    assert outcome.returncode == 1
    assert "The bundle is damaged, nothing was changed: " in outcome.stderr
    assert "./packages/wanted: FAILED" in outcome.stderr


def test_each_release_has_a_list_of_python_packages_for_its_python() -> None:
    text = (PACKAGING / "bundle").read_text()
    pythons = re.search(r"^declare -A PYTHONS=\((.*)\)$", text, re.MULTILINE)
    assert pythons is not None
    found = dict(re.findall(r"\[(\w+)\]=([\d.]+)", pythons[1]))
    assert sorted(found) == ["bookworm", "trixie"]
    for python in found.values():
        assert (PACKAGING / "lock" / f"run-{python}.txt").is_file()


def test_the_packages_are_those_that_the_window_needs_on_debian(scripts: Scripts) -> None:
    text = (PACKAGING / "bundle").read_text()
    function = re.search(r"^wanted_packages\(\) \{.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    assert function is not None
    found = scripts.call(f"{function[0]}wanted_packages").stdout.split()
    everything = "MISSING=($(needs_of window))\npackages_of 2"
    assert found == scripts.call(everything).stdout.split()
    assert {"python3-gi", "postgresql", "python3-venv", "libegl1"} <= set(found)


def test_a_release_that_is_not_known_is_no_bundle(scripts: Scripts) -> None:
    outcome = scripts.run([str(scripts.checkout / "packaging" / "bundle"), "sid"])
    assert outcome.returncode == 2
    assert "packaging/bundle bookworm|trixie [FOLDER]" in outcome.stderr


def test_pip_takes_the_wheels_of_a_bundle_whose_path_has_spaces(tmp_path: Path) -> None:
    bundle = made(tmp_path, release="trixie")
    line = re.search(r"PIP_NO_INDEX=1 PIP_FIND_LINKS=(\S+ /%20\}/wheels\")", (bundle / "install").read_text())
    assert line is not None
    code = f'BUNDLE="{bundle}"; printf %s {line[1]}'
    told = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == f"{bundle.as_uri()}/wheels"
