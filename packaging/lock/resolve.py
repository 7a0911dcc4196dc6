"""Write the lists of packages with their hashes; called by packaging/lock/renew with the Python of a venv.

pip says what it would install for another Python and another machine (``--dry-run --report``), with the
hashes that the index gives, but it judges conditions such as ``python_version < "3.13"`` by the Python in
which it runs. So what a list needs under its own Python is worked out again from what the packages say, until
nothing is missing.

Usage: ``resolve.py CHECKOUT SCRATCH [PYTHON...]``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
GROUPS = {"run": ("window",), "test": ("window", "development", "servers")}
"""The optional groups of pyproject.toml that an environment holds."""

ENGINE = "engine"
"""The environment without a window: of the list of `run` what is needed without optional groups."""

OLDEST_GLIBC = {"x86_64": 34, "aarch64": 39}
"""Minor version of the oldest glibc 2 that wheels may need, by architecture; they run on newer ones as well.
2.34 is that of Red Hat Enterprise Linux 9, Debian 12 has 2.36; Qt for aarch64 needs that of Debian 13."""

PYDBUS = "pydbus>=0.6,<0.7"
"""Not in pyproject.toml: it comes from the distribution where that has it (packaging/environment.sh)."""


@dataclass(frozen=True)
class Package:
    """A package as the index has it.

    Attributes:
        name: canonical.
        version: chosen.
        sha256: of its wheel.
        requires: what it says that it needs.
    """

    name: str
    version: str
    sha256: str
    requires: tuple[Requirement, ...]


def wanted(checkout: Path, groups: Iterable[str]) -> list[str]:
    """Return the requirements of pyproject.toml for these groups."""
    script, project = checkout / "packaging" / "requirements.py", checkout / "pyproject.toml"
    argv = [sys.executable, "-I", str(script), str(project), *groups]
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def resolve(scratch: Path, requirements: Iterable[str], python: str, architecture: str) -> dict[str, Package]:
    """Return what pip would install, by canonical name.

    Raises:
        CalledProcessError: something has no wheel for this Python on this architecture.
    """
    report, listed = scratch / "report.json", scratch / "wanted.txt"
    listed.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    tags = [f"manylinux_2_{minor}" for minor in range(5, OLDEST_GLIBC[architecture] + 1)]
    platforms = [
        f"{tag}_{architecture}" for tag in (*tags, "manylinux1", "manylinux2010", "manylinux2014", "linux")
    ]
    subprocess.run(
        [
            *(sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-input", "--dry-run"),
            *(
                "--ignore-installed",
                "--only-binary=:all:",
                "--implementation=cp",
                f"--python-version={python}",
            ),
            *(f"--platform={platform}" for platform in platforms),
            *(f"--target={scratch / 'target'}", f"--report={report}", f"--requirement={listed}"),
        ],
        check=True,
    )
    found = map(_package, json.loads(report.read_text(encoding="utf-8"))["install"])
    return {package.name: package for package in found}


def _package(item: dict[str, Any]) -> Package:
    method, _, digest = item["download_info"]["archive_info"]["hash"].partition("=")
    if method != "sha256":
        raise ValueError(item["metadata"]["name"])
    told = item["metadata"]
    requires = tuple(map(Requirement, told.get("requires_dist", [])))
    return Package(canonicalize_name(told["name"]), told["version"], digest, requires)


def needed(
    packages: dict[str, Package], requirements: Iterable[str], python: str
) -> tuple[set[str], list[str]]:
    """Return the names that these requirements need under a Python, and requirements that are not met."""
    seen: set[tuple[str, str]] = set()
    missing: list[str] = []
    left = [(Requirement(text), "") for text in requirements]
    while left:
        requirement, extra = left.pop()
        if requirement.marker is not None and not requirement.marker.evaluate(_environment(python, extra)):
            continue
        name = canonicalize_name(requirement.name)
        package = packages.get(name)
        if package is None or not requirement.specifier.contains(package.version, prereleases=True):
            requirement.marker = None
            missing.append(str(requirement))
            continue
        for chosen in ("", *requirement.extras):
            if (name, chosen) not in seen:
                seen.add((name, chosen))
                left += [(each, chosen) for each in package.requires]
    return {name for name, _ in seen}, missing


def _environment(python: str, extra: str) -> dict[str, str]:
    return {"python_version": python, "python_full_version": f"{python}.0", "extra": extra}


def complete(scratch: Path, requirements: list[str], python: str, architecture: str) -> dict[str, Package]:
    """Return everything that these requirements need under a Python, and nothing else."""
    asked = list(requirements)
    while True:
        packages = resolve(scratch, asked, python, architecture)
        names, missing = needed(packages, requirements, python)
        if not missing:
            return {name: packages[name] for name in sorted(names)}
        if set(missing) <= set(asked):
            raise ValueError(missing)
        asked += missing


def lines(title: str, requirements: list[str], machines: dict[str, dict[str, Package]]) -> Iterator[str]:
    """Yield the lines of a list."""
    yield f"# {title}. Made by packaging/lock/renew, never by hand."
    yield f"# architectures: {' '.join(machines)}"
    yield from (f"# wanted: {requirement}" for requirement in requirements)
    for name, package in next(iter(machines.values())).items():
        hashes = sorted({packages[name].sha256 for packages in machines.values()})
        yield " \\\n".join(
            (f"{name}=={package.version}", *(f"    --hash=sha256:{digest}" for digest in hashes))
        )


def write_list(
    scratch: Path, path: Path, title: str, requirements: list[str], python: str
) -> dict[str, dict[str, Package]]:
    """Write one list, for the architectures on which everything has a wheel; return what is in it."""
    first, *others = OLDEST_GLIBC
    machines = {first: complete(scratch, requirements, python, first)}
    pins = [f"{package.name}=={package.version}" for package in machines[first].values()]
    for architecture in others:
        try:
            found = resolve(scratch, pins, python, architecture)
        except subprocess.CalledProcessError:
            print(f"{path.name}: not for {architecture}, for which something has no wheel", file=sys.stderr)
        else:
            machines[architecture] = {name: found[name] for name in machines[first]}
    path.write_text("\n".join(lines(title, requirements, machines)) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(pins)} packages for {', '.join(machines)}", file=sys.stderr)
    return machines


def part(
    machines: dict[str, dict[str, Package]], requirements: list[str], python: str
) -> dict[str, dict[str, Package]]:
    """Return of a list what these requirements need: the same versions in both environments."""
    names, _ = needed(next(iter(machines.values())), requirements, python)
    return {
        machine: {name: found[name] for name in found if name in names} for machine, found in machines.items()
    }


def write_engine(
    folder: Path, run: dict[str, dict[str, Package]], requirements: list[str], python: str
) -> None:
    """Write the list of the environment without a window."""
    title = f"Python {python}, environment {ENGINE}"
    text = "\n".join(lines(title, requirements, part(run, requirements, python))) + "\n"
    (folder / f"{ENGINE}-{python}.txt").write_text(text, encoding="utf-8")


def main(checkout: Path, scratch: Path, pythons: list[str]) -> None:
    """Write every list."""
    folder = checkout / "packaging" / "lock"
    for python in pythons or PYTHONS:
        for group, optional in GROUPS.items():
            title = f"Python {python}, environment {group}"
            requirements = wanted(checkout, optional)
            listed = write_list(scratch, folder / f"{group}-{python}.txt", title, requirements, python)
            if group == "run":
                write_engine(folder, listed, wanted(checkout, ()), python)
    write_list(scratch, folder / "pydbus.txt", "Any Python", [PYDBUS], PYTHONS[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
