"""The preferences of a user: what stands in the file counts only where nobody else could have written it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.hosts.preferences import Preferences, preferences_path, read_preferences

TEXT = 'when_done = "systemctl suspend"\nnotify = false\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    made = tmp_path / "preferences.toml"
    made.write_text(TEXT)
    made.chmod(0o600)
    return made


def test_what_stands_in_the_file_is_preferred(path: Path) -> None:
    assert read_preferences(path) == (Preferences("systemctl suspend", notify=False), "")


def test_no_file_is_no_preference_and_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_preferences(tmp_path / "gone") == (Preferences(), "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert preferences_path() == tmp_path / "pgfooting/preferences.toml"
    assert read_preferences() == (Preferences(), "")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_does_not_count(path: Path, mode: int) -> None:
    path.chmod(mode)
    preferences, reason = read_preferences(path)
    assert preferences == Preferences()
    assert "others could change" in reason


def test_a_folder_that_others_can_write_does_not_count(path: Path) -> None:
    path.parent.chmod(0o777)
    assert "others could change" in read_preferences(path)[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_does_not_count_for_root(path: Path) -> None:
    os.chown(path, 65534, 65534)
    preferences, reason = read_preferences(path)
    assert (preferences.when_done, "others could change" in reason) == ("", True)


def test_links_and_what_is_no_file_do_not_count(path: Path, tmp_path: Path) -> None:
    link, fifo = tmp_path / "link", tmp_path / "fifo"
    link.symlink_to(path)
    os.mkfifo(fifo, 0o600)
    for each in (link, fifo, tmp_path):
        preferences, reason = read_preferences(each)
        assert preferences == Preferences()
        assert "do not count" in reason


@pytest.mark.parametrize(
    "text",
    ["when_done = 3", "later = true", 'notify = "yes"', "[when_done]", "when_done = ", "\xff", "a." * 9],
)
def test_a_damaged_file_is_told_and_counts_for_nothing(path: Path, text: str) -> None:
    path.write_bytes(text.encode("latin-1"))
    preferences, reason = read_preferences(path)
    assert preferences == Preferences()
    assert reason.startswith(f"The preferences in {path} do not count: ")
