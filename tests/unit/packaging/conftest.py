"""A copy of packaging with a Python that only pretends to install, and a way to call its functions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]

# Stands for /usr/bin/python3 and, copied by "venv", for the environment's python. Everything but venv and pip
# is handed to the real interpreter. $FAKE holds: pip.calls (one line each), pip.fail (what pip says before it
# fails, one line an attempt), pip.wait (a pipe from which pip reads before it goes on).
FAKE_PYTHON = """#!/bin/bash
set -eu
case "$*" in
  *"-m venv"*) mkdir -p "${!#}/bin"; cp "$0" "${!#}/bin/python" ;;
  *"-m pip"*)
    links="${PIP_NO_INDEX+only }${PIP_FIND_LINKS-}"
    echo "target=${PIP_TARGET-} index=${PIP_INDEX_URL-} links=$links $*" >>"$FAKE/pip.calls"
    [ ! -p "$FAKE/pip.wait" ] || read -r _ <"$FAKE/pip.wait"
    if [ -s "$FAKE/pip.fail" ]; then
      while [ $# -gt 0 ]; do [ "$1" != --log ] || head -n 1 "$FAKE/pip.fail" | tee -a "$2"; shift; done
      sed -i 1d "$FAKE/pip.fail"
      exit 1
    fi ;;
  *probe_system.py*) cat "$FAKE/facts" ;;
  *) exec "$REAL_PYTHON" "$@" ;;
esac
"""


@dataclass(slots=True)
class Scripts:
    """The scripts in a checkout of their own, with a home and a pretended system."""

    checkout: Path
    home: Path
    fake: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def environments(self) -> Path:
        return self.home / ".cache" / "pgfooting" / "environments"

    @property
    def pip_calls(self) -> list[str]:
        calls = self.fake / "pip.calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def variables(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "FAKE": str(self.fake),
            "REAL_PYTHON": sys.executable,
            **self.environment,
        }

    def call(self, code: str, *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `code` in a bash that has sourced all of packaging's functions."""
        sources = "\n".join(
            f'. "$CHECKOUT/packaging/{name}.sh"'
            for name in ("common", "system", "environment", "command", "devices", "tiers")
        )
        text = f"set -euo pipefail\nPROGRAM=test CHECKOUT={str(self.checkout)!r}\n{sources}\n{code}"
        return self.run(["bash", "-c", text], cwd=cwd)

    def run(self, command: list[str], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=cwd or self.home,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def refusal(self, command: str | list[str], *, status: int = 1, cwd: Path | None = None) -> str:
        """Return what code or a command says on stderr, which ends with this status."""
        outcome = self.call(command, cwd=cwd) if isinstance(command, str) else self.run(command, cwd=cwd)
        assert outcome.returncode == status, outcome.stderr
        return outcome.stderr

    def program(self, path: Path, text: str) -> None:
        """Put a program at a path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    checkout = tmp_path / "a checkout with spaces"
    shutil.copytree(PROJECT / "packaging", checkout / "packaging")
    shutil.copy(PROJECT / "pyproject.toml", checkout)
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "facts").write_text("3 11\n")
    (fake / "os-release").write_text("ID=debian\n")
    python = fake / "python3"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    with (checkout / "packaging" / "system.sh").open("a") as system:
        system.write(f"SYSTEM_PYTHON={str(python)!r}\nOS_RELEASE={str(fake / 'os-release')!r}\n")
        system.write("has() { [[ ! -e $FAKE/without/$1 ]]; }\n")
    with (checkout / "packaging" / "environment.sh").open("a") as environment:
        environment.write("PIP_PAUSE_S=0\nis_root() { false; }\n")
    return Scripts(checkout, home, fake)


def missing(scripts: Scripts, *names: str) -> None:
    """Let the pretended system lack these needs."""
    for name in names:
        (scripts.fake / "without").mkdir(exist_ok=True)
        (scripts.fake / "without" / name).touch()
