"""packaging/run --install-command: what it puts in place, that it asks once, and that it all goes again."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pasted import MARK, paste
from tests.unit.packaging.conftest import PROJECT, Scripts

FILES = (
    ".local/bin/pgfooting",
    ".local/share/applications/org.pgfooting.Footing.desktop",
    ".local/share/icons/hicolor/scalable/apps/org.pgfooting.Footing.svg",
    ".local/share/mime/packages/org.pgfooting.Footing.xml",
)

PROGRAMS = (
    "bash env sed cut cat mkdir mv rm chmod sha256sum sort grep dirname readlink stat getent flock date "
    "uname paste touch find sync cp head tee basename python3"
)


@pytest.fixture
def run(scripts: Scripts) -> Path:
    """packaging/run, whose program prints how it was called and with what."""
    (scripts.checkout / "app").mkdir()
    (scripts.checkout / "app" / "__init__.py").touch()
    program = "import os, sys; print(os.environ['PGFOOTING_COMMAND'], *sys.argv[1:])"
    (scripts.checkout / "app" / "__main__.py").write_text(program)
    (scripts.checkout / "resources" / "icons").mkdir(parents=True)
    icon = "resources/icons/org.pgfooting.Footing.svg"
    shutil.copy(PROJECT / icon, scripts.checkout / icon)
    # Without what the machine of the test may have: a command of that name, and the desktop's databases.
    programs = scripts.fake / "bin"
    programs.mkdir()
    for name in PROGRAMS.split():
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    scripts.environment["PATH"] = str(programs)
    return scripts.checkout / "packaging" / "run"


def there(scripts: Scripts) -> list[str]:
    found = [path for folder in ("bin", "share") for path in (scripts.home / ".local" / folder).rglob("*")]
    return sorted(str(path.relative_to(scripts.home)) for path in found if path.is_file())


def test_command_starts_checkout(scripts: Scripts, run: Path) -> None:
    outcome = scripts.run([str(run), "--install-command"])
    assert outcome.returncode == 0, outcome.stderr
    assert there(scripts) == sorted(FILES)
    assert "is not on your PATH" in outcome.stderr
    command = scripts.home / FILES[0]
    assert scripts.run([str(command), "list", "a b"]).stdout == "pgfooting list a b\n"
    entry = (scripts.home / FILES[1]).read_text()
    assert f'Exec="{command}" open %F\n' in entry
    original = (PROJECT / "packaging" / "org.pgfooting.Footing.desktop").read_text()
    assert entry.replace(f'"{command}"', "pgfooting") == original


ODD = f"a $(echo>{MARK}) `echo>{MARK}` 'it' ; echo>{MARK} #"


def test_hints_are_pasted_whole(scripts: Scripts, run: Path, tmp_path: Path) -> None:
    """With a home, and a checkout, whose names would be commands."""
    scripts.home = tmp_path / ODD
    scripts.home.mkdir()
    checkout = tmp_path / "checkouts" / ODD / "pgfooting"
    shutil.copytree(scripts.checkout, checkout, symlinks=True)
    errors = scripts.run([str(checkout / "packaging" / "run"), "--install-command"]).stderr
    path = errors.partition("or add it:  ")[2].strip()
    shutil.rmtree(scripts.home / ".local" / "bin")
    (scripts.home / ".local" / "bin").touch()
    errors = scripts.run([str(checkout / "packaging" / "run"), "--install-command"]).stderr
    without = errors.partition("without it:  ")[2].strip()
    (checkout.parent / "packages").mkdir()
    (checkout.parent / "packages" / "wanted").touch()
    (checkout.parent / "install").touch(0o755)
    bundle = scripts.call(f"CHECKOUT={shlex.quote(str(checkout))}; bundle_advice").stdout
    install = bundle.partition("bundle: ")[2].partition(" needs no network")[0]
    assert shlex.split(without) == [str(checkout / "packaging" / "run")]
    assert shlex.split(install) == [str(checkout.parent / "install")]
    assert paste((path, without, install), tmp_path) == []
    said = subprocess.run(
        ["sh", "-c", f"PATH=/usr/bin; {path}; echo $PATH"], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith(f"{scripts.home}/.local/bin:/usr/bin")


def test_commands_in_hints_are_quoted() -> None:
    """A path of a variable is a word of a command only where `quoted` prints it."""
    path = re.compile(r'"[^"$]*[a-z:,] +\$\{?(CHECKOUT|BUNDLE|bundle)\}?/|PATH=\\?"?\$\{?BIN')
    bare = [
        f"{script.name}: {line.strip()}"
        for script in sorted((PROJECT / "packaging").iterdir())
        if script.is_file() and script.read_bytes().startswith((b"#!/bin/bash", b"# shellcheck"))
        for line in script.read_text().splitlines()
        if path.search(re.sub(r"\$\((quoted|printf '%q') [^)]*\)", "", line))
    ]
    assert bare == []


def test_install_and_uninstall_command(scripts: Scripts, run: Path) -> None:
    for _ in range(2):
        assert scripts.run([str(run), "--install-command"]).returncode == 0
        assert scripts.run([str(run), "--install-command"]).returncode == 0, "again"
        assert there(scripts) == sorted(FILES)
        assert scripts.run([str(run), "--uninstall-command"]).returncode == 0
        assert there(scripts) == []
    assert "There is no command" in scripts.run([str(run), "--uninstall-command"]).stderr


def test_foreign_file_kept(scripts: Scripts, run: Path) -> None:
    foreign = scripts.home / FILES[0]
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    errors = scripts.refusal([str(run), "--install-command"])
    assert f"{foreign} is there and was not made by pgFooting. Nothing was changed." in errors
    assert there(scripts) == [FILES[0]]
    assert foreign.read_text() == "mine"


def test_what_was_changed_since_is_kept(scripts: Scripts, run: Path) -> None:
    scripts.run([str(run), "--install-command"])
    entry = scripts.home / FILES[1]
    entry.write_text("changed")
    assert f"Kept, because it was changed: {entry}" in scripts.run([str(run), "--uninstall-command"]).stderr
    assert there(scripts) == [FILES[1]]


def test_read_only_command_folder(scripts: Scripts, run: Path) -> None:
    (scripts.home / ".local").mkdir()
    (scripts.home / ".local" / "bin").write_text("a file, which root cannot write into either")
    errors = scripts.refusal([str(run), "--install-command"])
    assert f"Cannot write to {scripts.home}/.local/bin" in errors
    assert "Nothing was changed" in errors


def on_terminal(scripts: Scripts, run: Path, typed: str) -> str:
    """Start `list` with a terminal on which this is typed; return what the terminal shows."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    try:
        subprocess.run(
            [str(run), "list"],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            cwd=scripts.home,
            env=scripts.variables(),
            check=True,
            timeout=60,
        )
    finally:
        os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # all is read, and nobody is at the other end
        pass
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize(("typed", "files"), [("y\n", sorted(FILES)), ("n\n", []), ("\n", [])])
def test_it_is_offered_once_on_a_terminal(scripts: Scripts, run: Path, typed: str, files: list[str]) -> None:
    assert "[y/N]" in on_terminal(scripts, run, typed)
    assert there(scripts) == files
    assert "[y/N]" not in on_terminal(scripts, run, "")
    assert there(scripts) == files


def test_without_a_terminal_nobody_is_asked(scripts: Scripts, run: Path) -> None:
    assert "[y/N]" not in scripts.run([str(run), "list"]).stderr
    assert there(scripts) == []
    assert not (scripts.home / ".local" / "state" / "pgfooting" / "command").exists()
