"""build-guest: once, whole or not at all, nothing left of what was killed. Debian and ZFS are pretended."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="only root can build the guest")]

# Sourced last. A half is built as soon as its pipe, where there is one, is written to.
PRETENDED = """
provide_system_packages() { :; }
prepare_environment() { ENVIRONMENT=/nowhere; }
look_at_mirror() { :; }
look_at_system() { PYTHON_VERSION=3.11; }
half() {
  echo "$1" >>"$FAKE/built"
  [[ -p $FAKE/$1.wait ]] || return 0
  read -r answer <"$FAKE/$1.wait"
  [[ $answer != fail ]] || { echo "$1 fails"; return 1; }
}
build_kernel() { half kernel && echo 6.1 >"$1/release"; }
build_root() { half root && mkdir "$1"; }
assemble_guest() { cp "$3/release" "$1/root.img"; }
"""


@dataclass(slots=True)
class Builder:
    checkout: Path
    cache: Path
    fake: Path

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.checkout / "tests/machine/build-guest")],
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache.parent), "FAKE": str(self.fake)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def build(self) -> Path:
        process = self.start()
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        folder = Path(output.strip())
        assert (folder / "complete").exists()
        assert (folder / "root.img").read_text() == "6.1\n"
        return folder

    def wait_in(self, half: str) -> None:
        os.mkfifo(self.fake / f"{half}.wait")

    def answer(self, half: str, text: str) -> None:
        """Let a half that waits go on."""
        (self.fake / f"{half}.wait").write_text(f"{text}\n")
        (self.fake / f"{half}.wait").unlink()

    @property
    def built(self) -> list[str]:
        file = self.fake / "built"
        return file.read_text().split() if file.exists() else []

    def wait_for(self, halves: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.built) < halves:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def folders(self) -> list[str]:
        return sorted(path.name.split("-")[1].split(".")[0] for path in self.cache.glob("guest-*/"))


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    checkout = tmp_path / "a checkout with spaces"
    shutil.copytree(PROJECT / "packaging", checkout / "packaging")
    # The guest's links lead nowhere on a machine without systemd.
    shutil.copytree(PROJECT / "tests/machine", checkout / "tests/machine", symlinks=True)
    shutil.copy(PROJECT / "pyproject.toml", checkout)
    with (checkout / "tests/machine/guest/root.sh").open("a") as file:
        file.write(PRETENDED)
    fake = tmp_path / "fake"
    fake.mkdir()
    return Builder(checkout, tmp_path / "a cache" / "pgfooting", fake)


def processes_of(builder: Builder) -> list[str]:
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if str(builder.checkout) in line]


def end(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=60)
    return errors


def test_it_is_built_once(builder: Builder) -> None:
    first = builder.build()
    assert sorted(builder.built) == ["kernel", "root"]
    assert builder.build() == first
    assert len(builder.built) == 2


def test_python_environment_kept_from_guest(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "/elsewhere")
    with (builder.checkout / "tests/machine/guest/root.sh").open("a") as file:
        file.write('build_root() { half root && mkdir "$1" && env >"$FAKE/environment"; }\n')
    builder.build()
    settings = (builder.fake / "environment").read_text().splitlines()
    assert [setting for setting in settings if setting.startswith("PYTHON")] == []


def test_two_starts_at_once_build_once(builder: Builder) -> None:
    builder.wait_in("root")
    first = builder.start()
    builder.wait_for(2)
    second = builder.start()
    assert second.stderr is not None
    assert "waiting for it" in second.stderr.readline()
    builder.answer("root", "go on")
    assert first.communicate(timeout=60)[0] == second.communicate(timeout=60)[0] != ""
    assert len(builder.built) == 2


def test_kill_leaves_no_process_and_restarts(builder: Builder) -> None:
    builder.wait_in("root")
    killed = builder.start()
    builder.wait_for(2)
    killed.kill()
    end(killed)
    deadline = time.monotonic() + 60
    while processes_of(builder):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "building" in builder.folders()
    (builder.fake / "root.wait").unlink()
    builder.build()
    assert "building" not in builder.folders()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signal_leaves_nothing_partial(builder: Builder, number: signal.Signals) -> None:
    builder.wait_in("root")
    builder.wait_in("kernel")
    ended = builder.start()
    builder.wait_for(2)
    ended.send_signal(number)
    end(ended)
    assert ended.returncode != 0
    assert builder.folders() == []
    assert processes_of(builder) == []


@pytest.mark.parametrize("half", ["kernel", "root"])
def test_failed_half_ends_the_other(builder: Builder, half: str) -> None:
    for each in ("kernel", "root"):
        builder.wait_in(each)
    process = builder.start()
    builder.wait_for(2)
    builder.answer(half, "fail")
    errors = end(process)
    assert process.returncode == 1
    assert f"{half} fails" in errors
    assert "The guest cannot be built" in errors
    assert builder.folders() == []


def test_other_packages_same_kernel(builder: Builder) -> None:
    first = builder.build()
    with (builder.checkout / "tests/machine/guest/packages").open("a") as file:
        file.write("xfsdump\n")
    assert builder.build() != first
    assert sorted(builder.built) == ["kernel", "root", "root"]


def test_recent_and_used_guests_kept(builder: Builder) -> None:
    guests = []
    held = None
    for number in range(5):
        (builder.checkout / "tests/machine/guest/packages").write_text(f"package{number}\n")
        guests.append(builder.build())
        os.utime(guests[-1] / "complete", (number, number))
        if number == 0:
            held = (guests[0] / "complete").open()
            fcntl.flock(held, fcntl.LOCK_SH)
    assert held is not None
    held.close()
    assert [guest.exists() for guest in guests] == [True, False, True, True, True]


PIP = """#!/bin/sh
printf '%s\\n' "$@" >"$FAKE/arguments"
for last; do :; done
cp "$last" "$FAKE/installed"
"""
"""Stands for the Python of the environment."""


def test_only_locked_hashes_reach_guest(builder: Builder) -> None:
    python = builder.fake / "environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP)
    python.chmod(0o755)
    with (builder.checkout / "tests/machine/guest/root.sh").open("a") as file:
        file.write(
            "chroot() { :; }\n"
            'build_root() { half root && mkdir "$1" && ENVIRONMENT=$FAKE/environment '
            'install_python_packages "$1"; }\n'
        )
    builder.build()
    assert "--require-hashes" in (builder.fake / "arguments").read_text().splitlines()
    installed = (builder.fake / "installed").read_text().replace("\\\n", "").splitlines()
    locked = (PROJECT / "packaging/lock/test-3.11.txt").read_text().replace("\\\n", "").splitlines()
    assert set(installed) <= set(locked)
    assert all(" --hash=sha256:" in line for line in installed)
    names = {line.partition("==")[0] for line in installed}
    assert {"pytest", "psycopg", "psycopg-binary", "numpy", "hypothesis"} <= names
    assert not {"ruff", "pyside6-essentials", "mypy"} & names


def test_other_lock_file_same_kernel(builder: Builder) -> None:
    first = builder.build()
    lock = builder.checkout / "packaging/lock/test-3.11.txt"
    lock.write_text(lock.read_text().replace("\npytest==", "\npytest==1"))
    assert builder.build() != first
    assert sorted(builder.built) == ["kernel", "root", "root"]
