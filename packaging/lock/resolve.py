"""Write the lists of packages with their hashes; packaging/lock/renew calls it, with uv installed.

uv says which wheel it would install for another Python and another machine, with the hash of the index.

Usage: ``resolve.py CHECKOUT SCRATCH [PYTHON...]``.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # not there where Python is isolated

from requirements import requirements

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
GROUPS = {"test": ("window", "development", "servers"), "run": ("window",), "engine": ()}
"""The optional groups of pyproject.toml by environment. Each has the versions of the one before it."""

PLATFORMS = {"x86_64": "x86_64-manylinux_2_34", "aarch64": "aarch64-manylinux_2_39"}
"""The oldest glibc that wheels may need, by architecture; they run on newer ones as well.
2.34 is that of Red Hat Enterprise Linux 9, Debian 12 has 2.36; Qt for aarch64 needs that of Debian 13."""

PYDBUS = "pydbus>=0.6,<0.7"
"""Not in pyproject.toml: it comes from the distribution where that has it (packaging/environment.sh)."""

Pins = Mapping[str, set[str]]
"""The hashes of the wheels that fit, by ``name==version``."""


def resolve(scratch: Path, wanted: list[str], pins: Pins, python: str, platform: str) -> Pins:
    """Return what uv would install.

    Args:
        scratch: folder for files.
        wanted: requirements.
        pins: versions that are settled already.
        python: version of Python.
        platform: in the words of uv.

    Raises:
        CalledProcessError: something has no wheel for this Python on this platform.
    """
    asked, settled, found = scratch / "asked.txt", scratch / "settled.txt", scratch / "pylock.toml"
    asked.write_text("\n".join(wanted), encoding="utf-8")
    settled.write_text("\n".join(pins), encoding="utf-8")
    found.unlink(missing_ok=True)  # uv keeps to the versions of a file that is there
    argv = [
        sys.executable,
        "-I",
        "-m",
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--no-config",
        "--only-binary=:all:",
    ]
    argv += [f"--python-version={python}", f"--python-platform={platform}", f"--constraint={settled}"]
    subprocess.run([*argv, f"--output-file={found}", str(asked)], check=True)
    packages = tomllib.loads(found.read_text(encoding="utf-8"))["packages"]
    return {
        f"{each['name']}=={each['version']}": {wheel["hashes"]["sha256"] for wheel in each["wheels"]}
        for each in packages
    }


def write_list(scratch: Path, path: Path, title: str, wanted: list[str], settled: Pins, python: str) -> Pins:
    """Write a list for the architectures on which everything has a wheel; return what is in it."""
    first, *others = PLATFORMS
    found = {first: resolve(scratch, wanted, settled, python, PLATFORMS[first])}
    for other in others:
        try:
            found[other] = resolve(scratch, wanted, found[first], python, PLATFORMS[other])
        except subprocess.CalledProcessError:
            print(f"{path.name}: not for {other}, for which something has no wheel", file=sys.stderr)
    lines = [
        f"# {title}. Made by packaging/lock/renew, never by hand.",
        f"# architectures: {' '.join(found)}",
    ]
    lines += [f"# wanted: {each}" for each in wanted]
    for pin in found[first]:
        hashes = sorted(set().union(*(pins[pin] for pins in found.values())))
        lines.append(" \\\n    ".join((pin, *(f"--hash=sha256:{each}" for each in hashes))))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(found[first])} packages for {', '.join(found)}", file=sys.stderr)
    return found[first]


def main(checkout: Path, scratch: Path, pythons: list[str]) -> None:
    """Write every list."""
    folder = checkout / "packaging" / "lock"
    for python in pythons or PYTHONS:
        pins: Pins = {}
        for group, optional in GROUPS.items():
            title = f"Python {python}, environment {group}"
            wanted = requirements(checkout / "pyproject.toml", list(optional))
            pins = write_list(scratch, folder / f"{group}-{python}.txt", title, wanted, pins, python)
    write_list(scratch, folder / "pydbus.txt", "Any Python", [PYDBUS], {}, PYTHONS[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
