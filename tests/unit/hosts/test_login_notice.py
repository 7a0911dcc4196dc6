"""The notice at login: asked for, written, taken back, following an update, left alone where it is off."""

from __future__ import annotations

import configparser
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.main import main
from app.domain.errors import ExitStatus, UsageError
from app.hosts import login_notice
from app.hosts.login_notice import (
    notice_path,
    notice_text,
    renew_notice,
    tell_at_login,
    tell_no_more,
    tells_at_login,
)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("app.hosts.login_notice.shutil.which", lambda _name: None)
    return tmp_path / "config"


def keys() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keys of desktop entries have capitals
    parser.read_string(notice_path().read_text())
    return parser["Desktop Entry"]


def test_it_is_off_as_long_as_nobody_asks_for_it(config: Path) -> None:
    assert not tells_at_login()
    assert not renew_notice()
    assert not config.exists()


def test_it_is_written_for_this_account_alone_and_taken_back(config: Path) -> None:
    path = tell_at_login()
    assert path == config / "autostart" / "org.pgfooting.Footing.Unfinished.desktop"
    assert tells_at_login()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys()["Type"] == "Application"
    assert keys()["X-GNOME-Autostart-enabled"] == "true"
    assert tell_no_more() == path
    assert not tells_at_login()
    assert list((config / "autostart").iterdir()) == []
    assert tell_no_more() == path  # also where it is gone already


def test_what_it_starts_is_the_list_of_what_waits_and_nothing_else() -> None:
    tell_at_login()
    words = shlex.split(keys()["Exec"])
    assert words[-2:] == ["unfinished", "--notify"]
    assert words[2] == sys.executable
    shown = subprocess.run(
        [*words[:-1], "--help"], cwd="/", capture_output=True, text=True, check=True, timeout=60
    )
    assert "--at-login" in shown.stdout


def test_an_installed_program_is_named_as_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.hosts.login_notice.shutil.which", lambda _name: "/usr/bin/pgfooting")
    tell_at_login()
    assert keys()["Exec"] == "/usr/bin/pgfooting unfinished --notify"


def test_a_path_with_blanks_and_signs_is_quoted_as_desktops_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.hosts.login_notice.shutil.which", lambda _name: '/my $dir/50%/"x"/pgfooting')
    tell_at_login()
    # Of the file first the escapes of strings, then the quotes of Exec, then the field codes are undone.
    assert keys()["Exec"] == '"/my \\\\$dir/50%%/\\\\"x\\\\"/pgfooting" unfinished --notify'
    monkeypatch.setattr("app.hosts.login_notice.shutil.which", lambda _name: "/my\ndir/pgfooting")
    with pytest.raises(UsageError, match="no desktop can start"):
        notice_text()


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled=false"])
def test_what_the_desktop_has_switched_off_is_off_and_stays_so(line: str) -> None:
    path = tell_at_login()
    text = path.read_text().replace("X-GNOME-Autostart-enabled=true", line) + f"{line}\n"
    path.write_text(text)
    assert not tells_at_login()
    assert not renew_notice()
    assert path.read_text() == text


def test_after_an_update_it_names_the_program_of_now() -> None:
    path = tell_at_login()
    path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    assert renew_notice()
    assert sys.executable in path.read_text()
    assert not renew_notice()


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, other = notice_path(), tmp_path / "other"
    other.write_text("mine")
    path.parent.mkdir(parents=True)
    path.symlink_to(other)
    path.with_name(f".{path.name}").symlink_to(other)
    with pytest.raises(UsageError, match="could not be written"):
        tell_at_login()  # what is written first is never a link
    path.with_name(f".{path.name}").unlink()
    tell_at_login()
    assert not path.is_symlink()
    assert other.read_text() == "mine"


def test_what_cannot_be_written_or_removed_is_told(config: Path) -> None:
    config.write_text("a file where a folder is wanted")
    with pytest.raises(UsageError, match="could not be written"):
        tell_at_login()
    with pytest.raises(UsageError, match="could not be removed"):
        tell_no_more()
    config.unlink()
    os.makedirs(notice_path())  # noqa: PTH103 - a folder in the place of the file
    with pytest.raises(UsageError, match="could not be removed"):
        tell_no_more()


def test_a_copy_without_the_packaging_folder_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(login_notice, "_TEMPLATE", tmp_path / "gone")
    with pytest.raises(UsageError, match="does not know what to write"):
        tell_at_login()


def test_the_command_switches_it_on_and_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["unfinished", "--at-login", "on"]) == ExitStatus.DONE
    assert "it starts none" in " ".join(capsys.readouterr().out.split())
    assert tells_at_login()
    assert main(["unfinished", "--at-login", "off"]) == ExitStatus.DONE
    assert "says nothing at login any more" in " ".join(capsys.readouterr().out.split())
    assert not tells_at_login()
